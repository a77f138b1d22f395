"""The program that kills runs at random: what it draws, what it sees, a short form."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from conftest import GUARD, ROOT

sys.path.append(str(ROOT / "benchmarks"))
import kills

SHORT = {"count": 5, "seed": 1250}


@pytest.mark.parametrize("ways", range(1, 10))
def test_each_way_meets_each_signal(ways):
    drawn = list(kills.kills(4 * ways, 1, list(range(ways))))
    pairs = {(kill.way, kill.signal) for kill in drawn}
    assert pairs == {(w, number) for w in range(ways) for number in kills.SIGNALS}


def test_the_short_form_holds_what_matters():
    drawn = list(kills.kills(**SHORT, ways=kills.all_ways()))
    assert {kill.signal for kill in drawn} == set(kills.SIGNALS)
    assert {kill.own for kill in drawn} == {False, True}
    assert {kill.runs for kill in drawn} == {False, True}
    assert {kill.target for kill in drawn} == {"0", "1", "mpirun", "launcher"}
    assert "shared" in {kill.way.exchange for kill in drawn}


def test_random_kills_end_in_order():
    """A short form of what is done by the hundred."""
    words = [f"--kills={SHORT['count']}", f"--seed={SHORT['seed']}", "--deadline=2"]
    words.append(f"--each={SHORT['count']}")  # one good run, at the end
    done = subprocess.run(
        [sys.executable, kills.__file__, *words],
        capture_output=True,
        text=True,
        timeout=GUARD,
    )
    assert done.returncode == 0, done.stdout + done.stderr


ENDS = "trap 'echo hpccfpga: interrupted >&2; exit 130' INT"


@pytest.mark.parametrize(
    ("script", "wrong"),
    [
        (ENDS, ""),
        (f"{ENDS}; echo 'Warning: Unknown host CPU.' >&2", ""),
        ("trap '' INT", "it did not end"),
        ("trap 'exit 0' INT", "its code is 0"),
        ("trap 'exit 130' INT", "its code is 130, expected 130, and it said ''"),
        (f"{ENDS}; sleep 60 &", "left running: sleep"),
        (f'{ENDS}; > "$TMPDIR/a"', "left behind: {folder}/a"),
        (f"{ENDS}; > {{outside}}", "left behind: {outside}"),
    ],
)
def test_what_does_not_end_in_order_is_a_miss(script, wrong, monkeypatch, tmp_path):
    outside = tmp_path.parent / "outside"  # kills of other tests see no such file
    text = script.replace("{outside}", shlex.quote(str(outside)))
    begins = f"{text}\necho 'b_eff '; while :; do sleep 0.02; done"
    monkeypatch.setattr(kills, "words_of", lambda *job: ["sh", "-c", begins])
    monkeypatch.setattr(kills, "OUTSIDE", [outside])  # other tests leave theirs
    kill = kills.Kill(False, kills.Way(""), 2, "launcher", signal.SIGINT, True, 0.0)
    found, _, _ = kills.take(kill, 0.1, 3.0, 0.0, tmp_path)
    outside.unlink(missing_ok=True)
    assert found == wrong.format(folder=tmp_path, outside=outside)


def test_what_another_run_uses_is_not_left_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(kills, "OUTSIDE", [tmp_path / "hpccfpga-pipes-*"])
    before = kills.outside()
    path = tmp_path / "hpccfpga-pipes-1"
    with path.open("w"):
        assert path in kills.outside() - before
        assert path not in kills.left_outside(before, 0.0)
    assert path in kills.left_outside(before, 0.0)
    path.unlink()


def test_segments_that_another_run_left_are_not_ours():
    before = kills.outside()
    path = kills.SHARED_MEMORY / f"vader_segment.test.{os.getpid()}"
    path.touch()
    found = kills.left_outside(before, 0.0)
    path.unlink()
    assert path not in found
