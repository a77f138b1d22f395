"""Scaling: several numbers of ranks as one result, and the suite as one table."""

import importlib
import re
from types import SimpleNamespace

import numpy as np
import pytest

import hpccfpga as hf
from example_result import measured
from hpccfpga import _core
from hpccfpga.result import Column, Quantity

MODULE = importlib.import_module("hpccfpga.scaling")
SMALL = {"sizes": 4096, "reps": 3, "loop_upper": 4}


@pytest.fixture
def launched(monkeypatch):
    """Ranks that need no mpirun: what was asked for, and results with known rates."""
    asked = []

    def run(benchmark, *, ranks, sizes, **rest):
        asked.append((ranks, sizes))
        result = measured(sizes=(1, sizes), ranks=ranks)
        rate = Column("B/s", np.array([1.0, 100.0 * ranks**0.5]))
        result.columns["bandwidth"] = rate
        return result

    monkeypatch.setattr(MODULE, "measure", run)
    return asked


def work(monkeypatch, power, shared):
    """Let b_eff's `sizes` count as said."""
    true = _core.quantities

    def quantities(name):
        problem = {"parameter": "sizes", "power": power, "shared": shared}
        return {**true(name), "problem": problem}

    monkeypatch.setattr(_core, "quantities", quantities)


# ---- scaling ----


def test_scaling_measures_each_number_of_ranks():
    r = hf.scaling("b_eff", ranks=[1, 2], board="520n", **SMALL)
    assert (r.kind, r.benchmark, r.ranks, r.verified) == ("measured", "b_eff", 2, True)
    assert r.labels == ["ranks", "message_size"]
    assert r["ranks"].tolist() == [1, 2]
    assert r["message_size"].tolist() == [4096, 4096]
    assert r["samples"].shape == (2, 3, 2)
    assert np.isnan(r["samples"][0, :, 1]).all(), "one rank has no second one"
    assert np.allclose(np.nanmax(r["samples"], axis=2).min(axis=1), r["time"])
    gain = r["bandwidth"] / r["bandwidth"][0]
    assert np.allclose(r["speedup"], gain)
    assert np.allclose(r["efficiency"], gain / [1, 2])
    for ranks, expected in zip([1, 2], r["bandwidth_model"], strict=True):
        model = hf.model("b_eff", board="520n", sizes=[4096], ranks=ranks)
        assert expected == model["bandwidth"][0]
    assert r.summary["efficiency"] == Quantity("1", r["efficiency"][1])
    assert [run["command"] for run in r.provenance["runs"]]
    assert "b_eff, measured, exchange pcie" in str(r).splitlines()[0]
    assert "weak scaling on 1, 2 ranks" in str(r).splitlines()[0]
    assert "speedup and efficiency: 2 ranks against 1 rank" in r.provenance["notes"]
    assert "model: 520n" in r.provenance["notes"]
    again = hf.Result.from_json(r.to_json())
    assert np.array_equal(again["samples"], r["samples"], equal_nan=True)


@pytest.mark.parametrize(
    ("mode", "power", "shared", "sizes", "kept"),
    [
        ("weak", 1, False, [4096, 4096, 4096], "each rank is kept; sizes of each rank"),
        ("strong", 1, False, [4096, 2048, 1024], "sizes of each rank: 4096 / ranks"),
        ("weak", 1, True, [4096, 8192, 16384], "sizes of all ranks: 4096 x ranks"),
        ("strong", 1, True, [4096, 4096, 4096], "all ranks together is kept; sizes of"),
        ("weak", 2, True, [4096, 5792, 8192], "4096 x ranks^(1/2)"),
        ("strong", 3, False, [4096, 3248, 2576], "4096 / ranks^(1/3)"),
    ],
)
def test_what_is_kept(launched, monkeypatch, mode, power, shared, sizes, kept):
    work(monkeypatch, power, shared)
    r = hf.scaling("b_eff", ranks=[1, 2, 4], mode=mode, sizes=[4096])
    assert launched == list(zip([1, 2, 4], sizes, strict=True))
    assert r["message_size"].tolist() == sizes
    assert np.allclose(r["speedup"], [1, 2**0.5, 2])
    assert np.allclose(r["efficiency"], [1, 2**-0.5, 0.5])
    assert kept in r.table()
    assert r.parameters["mode"] == mode


def test_a_share_that_is_not_whole_has_eight_binary_digits(launched, monkeypatch):
    work(monkeypatch, 1, False)
    r = hf.scaling("b_eff", ranks=[1, 2, 3, 49], mode="strong", sizes=4_900_147)
    assert launched == [(1, 4_900_147), (2, 2_457_600), (3, 1_630_208), (49, 100_003)]
    assert "4900147 / ranks, some rounded" in r.provenance["notes"][0]
    launched.clear()
    r = hf.scaling("b_eff", ranks=[1, 3, 5000], mode="strong", sizes=300_000)
    assert launched == [(1, 300_000), (3, 100_000), (5000, 60)]
    assert r.provenance["notes"][0].endswith("300000 / ranks")


@pytest.mark.parametrize(
    ("ranks", "given", "sizes"),
    [
        ([2, 16], {"size": 10_000_000}, [5_000_000, 626_688]),  # 625000 is 8 x 78125
        ([3], {"size": 960_000, "replications": 5, "vector": 64}, [320_000]),
        ([3], {"size": 1 << 20}, [350_208]),
        ([3], {"size": 1 << 20, "vector": 64, "unroll": 16}, [350_208]),
        (
            [3],
            {"size": 1 << 20, "vector": 64, "unroll": 16, "replications": 4},
            [348_160],
        ),
    ],
)
def test_a_share_that_no_run_takes_is_rounded(monkeypatch, ranks, given, sizes):
    asked = []

    def run(benchmark, *, ranks, size, **rest):
        asked.append(size)
        if len(asked) == len(sizes):
            raise hf.Error("enough")

    monkeypatch.setattr(MODULE, "measure", run)
    with pytest.raises(hf.Error, match="enough"):
        hf.scaling("stream", ranks=ranks, mode="strong", **given)
    assert asked == sizes


@pytest.mark.parametrize(
    ("mode", "size", "share"),
    [("strong", 48, 24), ("strong", 100_001, 100_001), ("weak", 100_001, 100_001)],
)
def test_what_stays_wrong_is_refused_before_the_first_run(launched, mode, size, share):
    with pytest.raises(ValueError, match=rf"^size: {share} is not a multiple of .* 16"):
        hf.scaling("stream", ranks=[1, 2], mode=mode, size=size)
    assert not launched


def test_speedup_is_against_the_first_entry(launched):
    r = hf.scaling("b_eff", ranks=[4, 1], sizes=64)
    assert np.allclose(r["speedup"], [1, 0.5])
    assert np.allclose(r["efficiency"], [1, 2])


def test_without_a_size_the_last_of_a_run_is_taken(launched):
    r = hf.scaling("b_eff", ranks=[1])
    assert launched == [(1, 1048576)]
    assert "weak scaling on 1 rank," in str(r).splitlines()[0]


@pytest.mark.parametrize(
    ("change", "error", "line"),
    [
        ({"ranks": []}, ValueError, "ranks: no number given"),
        ({"ranks": [0]}, ValueError, "ranks: 0 is not a number from 1 up"),
        ({"ranks": [1, 2, 2]}, ValueError, "ranks: 1, 2, 2 has one twice"),
        ({"mode": "lazy"}, ValueError, "no mode 'lazy'; known: weak, strong"),
        ({"sizes": [1, 2]}, ValueError, "sizes: scaling takes one, not 2"),
        ({"sizes": 1.5}, ValueError, "sizes: 1.5 is not an integer"),
        ({"sizes": "x"}, ValueError, 'sizes: "x" is not a number'),
        ({"sizes": 1, "mode": "strong"}, ValueError, "sizes: 1 cannot be shared by 2"),
        ({"board": "cardboard"}, LookupError, "no board 'cardboard'; known: 520n"),
        (
            {"benchmark": "linpack", "exchange": "channel"},
            NotImplementedError,
            "the grid is 1x2; 1 or 4 ranks can be a square",
        ),
        (
            {"benchmark": "randomaccess", "ranks": [1, 2, 3]},
            ValueError,
            "3 ranks are not a power of two",
        ),
        ({"benchmark": "nbody"}, LookupError, 'no benchmark "nbody"; known: b_eff'),
    ],
)
def test_bad_scaling_is_refused_before_anything_runs(launched, change, error, line):
    with pytest.raises(error, match=re.escape(line)):
        hf.scaling(**({"benchmark": "b_eff", "ranks": [1, 2, 4]} | change))
    assert launched == []


def test_wrong_data_has_no_gain(monkeypatch):
    def run(benchmark, *, ranks, **rest):
        wrong = measured(sizes=(64,), ranks=ranks, failed=0 if ranks == 2 else None)
        wrong.columns["bandwidth"].values[wrong.failed] = np.nan
        return wrong

    monkeypatch.setattr(MODULE, "measure", run)
    r = hf.scaling("b_eff", ranks=[1, 2], sizes=64)
    assert r.verified is False
    assert np.isnan(r["speedup"][1])
    assert "failed" in r.table()


def test_scaling_on_the_command_line(call, tmp_path):
    words = ["--ranks=1,2", "--sizes=4096", "--reps=6", "--quiet", "--board=520n"]
    outputs = [f"--json={tmp_path}/s.json", f"--plot={tmp_path}/s.png"]
    code, out, err = call("scaling", "b_eff", "--mode=strong", *words, *outputs)
    assert (code, err) == (0, "")
    assert "note: strong scaling: the work of all ranks together is kept" in out
    r = hf.Result.from_json(tmp_path / "s.json")
    assert r["message_size"].tolist() == [4096, 2048]
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    assert call("show", "s.json")[1].splitlines()[0] in out
    assert "nothing changed" in call("compare", "s.json", "s.json")[1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--ranks=1,x"], '--ranks: "x" is not a number such as 1024'),
        (["--ranks=0"], "ranks: 0 is not a number from 1 up"),
        (["--mode=lazy"], "no mode 'lazy'; known: weak, strong"),
        (["--colour=1"], "b_eff has no parameter --colour; known: "),
        (["--sizes=1,2"], "sizes: scaling takes one, not 2"),
        (["--json=gone/s.json"], "cannot write gone/s.json"),
        (["--board=cardboard"], "no board 'cardboard'"),
        (["--ranks=1,100000"], "ranks: 100000 are more than the"),
    ],
)
def test_bad_scaling_on_the_command_line(refused, words, line):
    refused(["scaling", "b_eff", "--quiet", *words], line)


def test_scaling_under_mpirun_is_refused(mpirun):
    answer = mpirun(2, ["scaling", "b_eff"])
    assert answer.returncode == 2
    assert "scaling starts its ranks itself" in answer.stderr


def test_every_benchmark_says_what_its_work_is():
    for name, _ in _core.components("bench"):
        problem = _core.quantities(name)["problem"]
        (entry,) = (
            e for e in _core.parameters(name) if e["name"] == problem["parameter"]
        )
        assert problem["power"] in (1, 2, 3), name
        value = MODULE._Work(name, "weak", {}).value
        if entry["kind"] == "text":
            assert re.fullmatch(r"\w+:\d+", value), name
        else:
            assert entry["kind"] in ("int", "ints"), name
            assert value >= entry["low"], name


def test_a_graph_grows_with_the_ranks_or_stays():
    weak = MODULE._Work("graph", "weak", {"graph": "kron:10:8"})
    assert [weak.share(n, "pcie", {})["graph"] for n in (1, 2, 8)] == [
        "kron:10:8",
        "kron:11:8",
        "kron:13:8",
    ]
    strong = MODULE._Work("graph", "strong", {"graph": "some.mtx"})
    assert strong.share(3, "pcie", {}) == {"graph": "some.mtx"}
    for text, count in (("some.mtx", 2), ("kron:10", 3), (f"kron:{'9' * 5000}", 2)):
        with pytest.raises(ValueError, match="graph: weak scaling takes one such as"):
            MODULE._Work("graph", "weak", {"graph": text}).share(count, "pcie", {})


def test_scaling_says_which_operation_it_looks_at():
    r = hf.scaling("stream", ranks=[1], size=4096, reps=1)
    assert r["operation"].tolist() == ["triad"]
    said = "of each run the last point: operation triad; copy, scale, add are left out"
    assert said in r.provenance["notes"]


def test_scaling_says_whose_a_note_is():
    runs = [SimpleNamespace(provenance={"notes": n}) for n in (["a", "b"], ["c", "a"])]
    assert MODULE._notes([2, 1], runs) == ["a", "2 ranks: b", "1 rank: c"]


def test_scaling_says_where_points_differ():
    """Each graph has sources of its own."""
    r = hf.scaling("graph", ranks=[1, 2], graph="kron:6", sources=3, reps=1)
    said = "of each run the last of 3 points, each with its source"
    assert said in r.provenance["notes"]


class _Sources(dict):
    labels = ("source",)


def test_scaling_says_that_only_the_last_points_differ():
    runs = [_Sources(source=[3, 5]), _Sources(source=[3, 7])]
    said = "of each run the last of 2 points, each with its source"
    assert MODULE._looked_at(runs) == said


def test_a_line_over_ranks_goes_from_left_to_right(tmp_path):
    r = hf.scaling("b_eff", ranks=[2, 1], **SMALL)
    rate = hf.plot(r, path=tmp_path / "s.png").axes[0]
    lines = [line.get_xdata().tolist() for line in rate.lines]
    assert [1, 2] in lines
