"""exchange="auto": by the length of messages the scheme expected to be the fastest."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

import hpccfpga as hf
from hpccfpga import _core, choice, commands, formulas, job, options, suite
from hpccfpga.choice import Expected
from hpccfpga.result import Column

SIZES = [1, 1024, 1 << 20]
SMALL = {"reps": 2, "loop_upper": 4, "loop_lower": 2}


def calibration(**slow):
    """A calibration of all schemes; `pcie=[0, 1, 0]` makes it slow in the middle."""
    columns = {"message_size": Column("B", np.array(SIZES))}
    for n, scheme in enumerate(formulas.schemes("b_eff", calibrated=True)):
        factor = np.where(slow.get(scheme, [0, 0, 0]), 100, 1)
        for part in ("copies", "exchange"):
            times = factor * (1 + n / 10) * np.array([1e-6, 2e-6, 1e-3])
            columns[f"{scheme}_{part}_time"] = Column("s", times)
    columns["verified"] = Column("1", np.ones(3, bool))
    return hf.Result(
        kind="measured",
        benchmark="calibration",
        exchange=None,
        device="planted",
        emulated=False,
        ranks=1,
        verified=True,
        columns=columns,
    )


PLANTED = calibration(pcie=[0, 1, 1], pipelined=[0, 1, 0], shared=[1, 0, 1])
CHOSEN = ["pcie", "shared", "pipelined"]
REASON = (
    "exchange auto by a calibration on 1 rank of planted: "
    "pcie, shared from 1024 B, pipelined from 1048576 B"
)


def test_runs_take_what_a_calibration_expects_to_be_fastest(tmp_path):
    with hf.open(exchange="auto", calibration=PLANTED) as session:
        assert session.exchange == "auto"
        found = session.run("b_eff", sizes=SIZES, **SMALL)
        # Not of each length that is asked for: between those that are known.
        between = session.run("transfer", part="step", sizes=[20, 500], **SMALL)
        alone = session.run("transfer", part="read", sizes=[40], **SMALL)
    assert found.verified
    assert found.exchange == "auto"
    assert found["scheme"].tolist() == CHOSEN
    assert REASON in found.provenance["notes"]
    assert found.provenance["expected"]["times"]["shared"][1] < 1e-5
    assert "auto (pcie, shared, pipelined)" in found.label
    assert REASON in found.table()
    assert "shared" in found.table().partition("note:")[0]
    assert between["scheme"].tolist() == ["pcie", "shared"]
    assert "scheme" not in alone.columns
    found.to_npz(tmp_path / "r.npz")
    for read in (
        hf.Result.from_json(found.to_json()),
        hf.Result.from_npz(tmp_path / "r.npz"),
    ):
        assert read["scheme"].tolist() == CHOSEN
        assert read.provenance == found.provenance
        assert read.label == found.label


def test_the_choice_follows_the_calibration_on_2_ranks(call, tmp_path):
    turned = calibration(pcie=[1, 0, 1], pipelined=[1, 1, 0], shared=[0, 1, 1])
    turned.to_json(tmp_path / "c.json")
    words = ["run", "b_eff", "--exchange=auto", "--ranks=2", "--quiet", "--json=r.json"]
    words += ["--sizes=1,1024,1048576", "--reps=2", "--loop-upper=4", "--loop-lower=2"]
    code, out, err = call(*words, "--calibration=c.json")
    assert (code, err) == (0, "")
    found = hf.Result.from_json("r.json")
    assert found.verified
    assert found.ranks == 2
    assert found["scheme"].tolist() == ["shared", "pcie", "pipelined"]
    assert "note: exchange auto by a calibration on 1 rank of planted: shared, " in out


def test_a_session_calibrates_once_by_itself(monkeypatch):
    monkeypatch.setattr(
        choice, "SHORT", {"sizes": [1, 256], "reps": 1, "loop_upper": 2}
    )
    seen = []
    own = hf.Session._calibrate
    monkeypatch.setattr(
        hf.Session, "_calibrate", lambda self, *a: seen.append(a) or own(self, *a)
    )
    with hf.open(device="host", exchange="auto") as session:
        assert not seen
        assert session.exchange == "auto"
        gemm = session.run("gemm", sizes=[8], reps=1)
        assert not seen, "it sends nothing"
        found = session.run("b_eff", sizes=[64], **SMALL, deadline=77)
        assert seen[0][-1]["deadline"] == 77, "of the run that it is for"
        assert session.exchange == "auto"
        assert len(seen) == 1
        session.calibrate(sizes=[64], reps=1, loop_upper=2)
        again = session.run("b_eff", sizes=[64], **SMALL)
        assert len(seen) == 2
    assert gemm.verified
    assert gemm.exchange == "auto"
    assert "scheme" not in gemm.columns
    assert "expected" not in gemm.provenance
    assert found["scheme"] == again["scheme"]
    assert set(found.provenance["expected"]["times"]) == {"pcie", "pipelined", "shared"}
    assert any(
        "auto by a short calibration before: " in n for n in found.provenance["notes"]
    )


def test_a_benchmark_that_is_no_text_is_one_line():
    line = "is no text; known: b_eff"
    with (
        hf.open(device="host", exchange="auto") as session,
        pytest.raises(TypeError, match=line),
    ):
        session.run(np.zeros((3, 3)))


def test_of_schemes_that_are_as_fast_it_is_the_last():
    """It is the fastest for longer messages, mostly: so they change seldom."""
    nearly = calibration(shared=[1, 1, 1])
    for part in ("copies", "exchange"):
        own = nearly.columns[f"pcie_{part}_time"].values * [1.02, 1.1, 0.98]
        nearly.columns[f"pipelined_{part}_time"] = Column("s", own)
    modelled = hf.model("b_eff", exchange="auto", calibration=nearly)
    with hf.open(device="host", exchange="auto", calibration=nearly) as session:
        found = session.run("b_eff", sizes=SIZES, **SMALL)
    assert found["scheme"].tolist() == ["pipelined", "pcie", "pipelined"]
    assert modelled["scheme"].tolist() == found["scheme"].tolist()


def test_a_calibration_of_the_same_command_chooses(call):
    words = [
        "run",
        "b_eff",
        "--exchange=auto",
        "--device=host",
        "--sizes=1,4096",
        "--quiet",
    ]
    words += ["--calibrate", "--save-calibration=c.json", "--json=r.json"]
    code, out, _ = call(*words, "--reps=2", "--loop-upper=4", "--plot=p.svg")
    assert code == 0
    found, parts = hf.Result.from_json("r.json"), hf.Result.from_json("c.json")
    expected = replace(choice.expected("auto", parts, None), option="")
    assert found.provenance["expected"] == asdict(expected)
    assert "model auto" in out


def test_ptrans_and_all_over_auto(monkeypatch):
    monkeypatch.setattr(suite, "benchmarks", lambda: ["ptrans", "stream"])
    few = {"ptrans": {"sizes": [512]}, "stream": {"size": 64}}
    found = hf.run_all(
        device="host", exchange="auto", calibration=PLANTED, reps=1, **few
    )
    assert found.verified, found
    assert found.results["ptrans"]["scheme"].tolist() in (["pcie"], ["shared"])
    assert "scheme" not in found.results["stream"].columns
    assert "exchange auto" in str(found)
    scaled = hf.scaling(
        "b_eff",
        ranks=[1],
        device="host",
        exchange="auto",
        calibration=PLANTED,
        sizes=1,
        **SMALL,
    )
    assert scaled["scheme"].tolist() == ["pcie"]


def test_the_model_over_auto_is_that_of_the_fastest():
    found = hf.model("b_eff", exchange="auto", calibration=PLANTED)
    assert found["scheme"].tolist() == CHOSEN
    each = [hf.model("b_eff", exchange=s, calibration=PLANTED)["time"] for s in CHOSEN]
    assert np.array_equal(found["time"], np.min(each, axis=0))
    assert found.summary["b_eff"].value == pytest.approx(found["bandwidth"].mean())
    assert "auto (pcie, shared, pipelined), calibrated" in found.label
    board = hf.model("b_eff", exchange="auto", board="u280")
    assert set(board["scheme"]) == {"shared"}
    assert sum("no source" in note for note in board.provenance["notes"]) == 1
    assert hf.model("gemm", exchange="auto", board="520n").exchange is None


def test_boards_choose():
    found = choice.expected("auto", None, "520n")
    assert found.source == "the data of board 520n"
    assert (
        found.times["pcie"][0] == hf.model("b_eff", board="520n", sizes=[1])["time"][0]
    )
    with pytest.raises(ValueError, match=r"auto by a board: .* which board u250 lacks"):
        choice.expected("auto", None, "u250")


@pytest.mark.parametrize(
    ("given", "error", "line"),
    [
        ({"calibration": PLANTED, "exchange": "pcie"}, ValueError,
         "calibration: it chooses the exchange where that is auto, not 'pcie'"),
        ({"board": "520n"}, ValueError, "board: it chooses the exchange where that is"),
        ({"exchange": "auto", "calibration": 3}, TypeError, "can be one, not 3"),
        ({"exchange": "auto", "calibration": PLANTED, "board": "520n"}, ValueError,
         "calibration, board: one of them chooses"),
        ({"exchange": "auto", "board": "5xx"}, LookupError, "no board '5xx'; "),
        ({"exchange": "auto", "chunk_size": 4096, "calibration": PLANTED}, ValueError,
         'chunk_size: 4096 is for other exchanges than "auto"; auto, or an'),
    ],
)  # fmt: skip
def test_what_cannot_choose_is_refused(given, error, line):
    for ranks in (None, 2) if "chunk_size" not in given else (None,):
        with pytest.raises(error) as refused:
            hf.run("b_eff", device="host", ranks=ranks, sizes=[8192], **given)
        assert line in str(refused.value)
        assert "\n" not in str(refused.value)


def test_chunks_are_refused_before_anything_is_calibrated(monkeypatch):
    monkeypatch.delattr(hf.Session, "_calibrate")
    with hf.open("host", "auto") as session:
        with pytest.raises(
            ValueError, match=r'^chunk_size: 4096 is for .* than "auto"'
        ):
            session.run("b_eff", sizes=[8192], chunk_size=4096)
        with pytest.raises(ValueError, match="chunk_depth: 0 is neither auto nor an"):
            session.run("b_eff", sizes=[8192], chunk_depth=0)


def test_chunks_are_refused_where_they_do_nothing():
    with pytest.raises(ValueError, match="chunk_size: 4096, but part read exchanges"):
        hf.run("transfer", exchange="shared", part="read", chunk_size=4096)
    with pytest.raises(ValueError, match="4097 is no multiple of 4096; auto, 4096"):
        hf.model("b_eff", exchange="shared", board="520n", chunk_size=4097)


@pytest.mark.parametrize("part", ["both", "step"])
def test_pageable_memory_is_refused_where_it_is_not_used(part):
    told = f"^memory: pageable, but part {part} .* pinned, or part write or read"
    with pytest.raises(ValueError, match=told):
        hf.run("transfer", part=part, memory="pageable")


def test_a_calibration_is_of_its_chunks(call):
    words = ["--device=host", "--exchange=shared", "--chunk-size=4096", "--sizes=16384"]
    words += ["--reps=1", "--loop-upper=2", "--quiet", "--save-calibration=c.json"]
    code, out, _ = call("run", "b_eff", *words)
    assert code == 0
    assert "model shared, calibrated" in out
    made = hf.Result.from_json("c.json")
    assert made.parameters["chunk_size"] == "4096"
    assert made.parameters["chunk_depth"] == "auto"
    given = {"exchange": "shared", "calibration": made}
    assert hf.model("b_eff", chunk_size=4096, **given)["time"] > 0
    with pytest.raises(
        ValueError, match="was made with 4096, not with 8192: calibrate"
    ):
        hf.model("b_eff", chunk_size=8192, **given)
    with pytest.raises(ValueError, match="made with chunk_size 4096; exchange auto"):
        choice.expected("auto", made, None)


def test_a_calibration_that_lacks_what_it_needs_is_refused(refused, tmp_path):
    old = calibration()
    del old.columns["shared_copies_time"]
    wrong = calibration()
    wrong.verified = False
    wrong.columns["verified"] = Column("1", np.zeros(3, bool))
    for bad, line in (
        (old, "has no shared_copies_time: it lacks this part, or is"),
        (wrong, "has no verified pcie_copies_time"),
        (
            hf.model("gemm", board="520n"),
            "c.json: a result of gemm is no calibration; `hpccfpga calibrate --json",
        ),
    ):
        bad.to_json(tmp_path / "c.json")
        refused(["run", "b_eff", "--exchange=auto", "--calibration=c.json"], line)
    refused(["run", "b_eff", "--calibration=c.json"], "where that is auto, not 'pcie'")
    refused(["run", "b_eff", "--exchange=auto", "--calibration=no.json"], "no.json")


def test_a_board_chooses_nothing_for_what_sends_nothing():
    words = ["run", "gemm", "--exchange=auto", "--sizes=8", "--board"]
    for board in ("520n", "ac510"):
        assert commands.job_of(options.parse([*words, board])).expected is None


@pytest.mark.parametrize("option", ["--board=520n", "--calibration=c.json"])
def test_the_command_of_ranks_says_what_chose(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PLANTED.to_json("c.json")
    words = ["run", "b_eff", "--exchange=auto", "--sizes=1", option]
    made = commands.job_of(options.parse(words))
    assert option in made.command(2)
    assert commands.job_of(options.parse(made.command(2)[1:])) == made


def test_a_job_takes_what_is_expected():
    told = choice.expected("auto", PLANTED, None)
    task = job.run_task("b_eff", None, {})
    made = job.job("auto", None, task, expected=told)
    assert job.read(json.dumps(made.document())) == made
    assert made.expected == told
    for broken, error, line in (
        ({"exchange": "pcie"}, ValueError, "expected: only exchange auto takes it"),
        (
            {"expected": {"source": "x"}},
            ValueError,
            "expected: has not source, sizes, times, option",
        ),
        (
            {"expected": asdict(told) | {"times": 3}},
            TypeError,
            "times are of no schemes",
        ),
        (
            {"expected": asdict(told) | {"sizes": [-1]}},
            ValueError,
            "expected sizes: -1",
        ),
    ):
        with pytest.raises(error, match=line):
            job.Job.of(made.document() | broken)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (Expected("x", [1.0], {"pcie": [1.0, 2.0]}), r"times are \[1, 2\]"),
        (Expected("x", [2.0, 1.0], {"pcie": [1.0, 2.0]}), "lengths rise"),
        (Expected("x", [1.0], {"channel": [1.0]}), '"channel" moves no blocks'),
    ],
)
def test_times_that_are_none_are_refused_by_the_core(expected, line):
    with (
        hf.open(device="host") as session,
        pytest.raises(ValueError, match=line),
    ):
        session.expect(expected)
    assert _core.scheme("auto")["kernels"] == "memory"


def test_a_calibration_in_any_order_chooses():
    """Sizes that fall, or are there twice, are no other calibration."""
    told = choice.expected("auto", PLANTED, None)
    order = [2, 1, 1, 0]
    columns = {n: Column(c.unit, c.values[order]) for n, c in PLANTED.columns.items()}
    assert choice.expected("auto", replace(PLANTED, columns=columns), None) == told


def test_times_of_no_scheme_are_refused():
    with pytest.raises(ValueError, match="times of no scheme"):
        _core.fastest(np.zeros((3, 0)))
