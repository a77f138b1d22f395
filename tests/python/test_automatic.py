"""How many devices a run takes when it chooses by itself."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import hpccfpga as hf
from hpccfpga import automatic, cli


class Trial(SimpleNamespace):
    """A result, as far as a choice looks at it."""

    def __getitem__(self, name):
        return np.array([getattr(self, name)], float)


def chosen(monkeypatch, seconds, kind="gpu", there=4, **changes):
    """Choose among `there` devices or cores, where trials take `seconds`."""
    own = {"runtime": "opencl", "platform": "p", "name": "n", "type": kind}
    others = [own] * there + [{**own, "name": "another"}]
    monkeypatch.setattr(automatic, "survey", lambda: (others, {}))
    monkeypatch.setattr(automatic, "cpus", lambda: range(there))
    asked = []

    def measure(*, ranks, **params):
        asked.append((ranks, params))
        facts = {"verified": True, "traversed": 8e6, "supersteps": 10} | changes
        time = seconds[ranks - 1]
        return Trial(ranks=ranks, time=time, provenance={"device": own}, **facts)

    found = automatic.choose("graph", "pcie", {"source": [4, 5, 6]}, measure)
    assert all(params["source"] == [4, 5] for _, params in asked)
    assert [ranks for ranks, _ in asked] == [1, 2][:there]
    return found


def test_devices_that_gain_are_taken(monkeypatch):
    n, why = chosen(monkeypatch, [0.8, 0.41])
    assert n == 4
    # Each superstep ends 1 ms late on two: 8e6 edges in 0.8 / 4 + 10 * 1 ms.
    assert why == (
        "chosen: 4 of 4 devices, by rates: 1: 10 million/s; 2: 19.51 million/s; "
        "3: 28.92 million/s by the model; 4: 38.10 million/s by the model"
    )


def test_of_rates_that_are_as_high_the_fewest_ranks_are_taken(monkeypatch):
    assert chosen(monkeypatch, [0.8, 0.78], "cpu", 2)[0] == 1
    assert chosen(monkeypatch, [0.8, 0.7], "cpu", 2)[0] == 2
    assert chosen(monkeypatch, [0.8, 0.9], "cpu", 2)[0] == 1
    assert chosen(monkeypatch, [0.8, 2.0])[0] == 1  # supersteps that end late
    assert chosen(monkeypatch, [0.8], there=1)[0] == 1


def test_ranks_on_one_cpu_share_its_cores(monkeypatch):
    n, why = chosen(monkeypatch, [0.8, 0.81], "cpu", 3)
    assert n == 1
    assert "3 ranks on the cores of one CPU" in why
    assert "3: 9.877 million/s by the model" in why


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"verified": False}, "a trial is not verified: ranks 1"),
        ({"traversed": 0}, "goes along no edges"),
    ],
)
def test_trials_that_tell_nothing_choose_nothing(monkeypatch, changes, text):
    with pytest.raises(ValueError, match=text):
        chosen(monkeypatch, [0.8, 0.4], **changes)


def test_a_run_says_why(monkeypatch):
    monkeypatch.setattr(automatic, "choose", lambda *_: (1, "chosen: 1"))
    result = hf.run("graph", graph="kron:8", sources=1, reps=1, devices="auto")
    assert (result.ranks, result.provenance["notes"][-1]) == (1, "chosen: 1")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"devices": 3}, ValueError, "devices: 3 is not auto; ranks gives"),
        ({"devices": "auto", "ranks": 2}, ValueError, "auto chooses .*; give none"),
    ],
)
def test_choices_that_are_none(options, error, text):
    with pytest.raises(error, match=text):
        hf.run("graph", **options)
    with pytest.raises(
        LookupError, match=r"auto chooses .* for graph only, not for 'gemm'; ranks "
    ):
        hf.run("gemm", devices="auto")


def test_the_help_says_for_what_devices_are_chosen(capsys):
    with pytest.raises(SystemExit):
        cli.main(["run", "gemm", "--help"])
    out = capsys.readouterr().out
    assert re.search(r"--devices auto\s+graph only, in place of --ranks", out)


def test_a_run_chooses_by_itself(command, refused):
    """On ranks that it starts: real trials have all that the choice looks at."""
    words = ["run", "graph", "--graph=kron:8", "--source=3,5", "--reps=2"]
    answer = command(*words, "--devices=auto")
    assert answer.returncode == 0, answer.stderr
    assert re.search(
        "chosen: [12] of [0-9]+ ranks on the cores of one CPU, by rates: 1: ",
        answer.stdout,
    )
    for more, told in (
        (["--devices=3"], "devices: '3' is not auto; ranks gives their number"),
        (["--devices=auto", "--ranks=2"], "devices: auto chooses the number of ranks"),
    ):
        refused([*words, *more], told)
