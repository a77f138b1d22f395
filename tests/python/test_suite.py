"""All benchmarks as one run: one table, one document, one exit code."""

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from conftest import ours

import hpccfpga as hf
from example_result import measured
from hpccfpga import _core, commands, formats, sources, suite
from hpccfpga.perform import result_read
from hpccfpga.result import Quantity
from hpccfpga.suite import Suite

TINY = {
    "b_eff": {"sizes": [1, 64, 1024], "loop_upper": 4},
    "stream": {"size": 4096},
    "graph": {"graph": "kron:6", "sources": 1},
    "randomaccess": {"sizes": [4096]},
    "fft": {"batch": 4},
    "gemm": {"sizes": [64]},
    "linpack": {"sizes": [64]},
    "ptrans": {"sizes": [64], "block_size": 32},
}
"""Parameters of benchmarks that make a run of all of them a short one."""


def tiny():
    names = suite.benchmarks()
    return {name: TINY[name] for name in names}


def options():
    return [
        f"--{name}.{key.replace('_', '-')}=" + ",".join(map(str, np.atleast_1d(value)))
        for name, params in tiny().items()
        for key, value in params.items()
    ]


def example(**errors):
    """Two results with known figures, a model of one, and errors."""
    b_eff = measured(ranks=4)
    b_eff.summary = {
        "b_eff": Quantity("B/s", 8e9),
        "b_eff_median": Quantity("B/s", 7e9),
        "latency": Quantity("s", 5e-6),
    }
    model = measured(kind="modelled", ranks=4)
    model.summary = {"b_eff": Quantity("B/s", 1e10)}
    gemm = measured(benchmark="gemm", ranks=4, failed=0)
    gemm.summary = {"flops": Quantity("FLOP/s", float("nan"))}
    return Suite({"b_eff": b_eff, "gemm": gemm}, {"b_eff": model}, errors)


def test_the_suite_is_every_benchmark_with_a_model():
    names = {name for name, _ in _core.components("bench")}
    assert {*suite.benchmarks()} == names - {"transfer"}


def test_figures_per_device_and_in_total_beside_the_model():
    first, second, third = example().figures
    assert first == ("b_eff", "b_eff", "B/s", 8e9, 2e9, 1e10)
    assert second[:4] == ("b_eff", "latency", "s", 5e-6)
    assert np.isnan(second.per_device), "a time is nobody's share"
    assert np.isnan(second.model)
    assert (third.benchmark, third.name) == ("gemm", "flops")


def test_the_table_has_a_line_for_all_that_was_tried():
    text = example(
        fft=NotImplementedError("not over channel"), hpl=ValueError("n: too big")
    ).table()
    lines = text.splitlines()
    assert lines[0].startswith("suite, measured, exchange pcie, ")
    assert "verified" not in lines[0]
    assert any(line.startswith("EMULATED") for line in lines)
    (row,) = (line.split() for line in lines if "  GB/s" in line)
    assert row == ["b_eff", "b_eff", "2", "8", "10", "0.800", "GB/s"]
    assert any(line.split() == ["b_eff", "latency", "5.000", "us"] for line in lines)
    (wrong,) = (line for line in lines if line.startswith("gemm"))
    assert wrong.endswith("NOT VERIFIED")
    assert any(
        line.startswith("fft") and "left out: not over channel" in line
        for line in lines
    )
    assert any(
        line.startswith("hpl") and "FAILED: n: too big" in line for line in lines
    )
    assert "NOT VERIFIED" in example()._repr_html_()


def test_one_document_holds_the_results(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    text = example(fft=NotImplementedError("not here")).to_json(tmp_path / "s.json")
    document = json.loads(text)
    assert document["schema"] == suite.SCHEMA
    schema = json.loads((files("hpccfpga") / "data/result.schema.json").read_text())
    check = jsonschema.Draft202012Validator(schema)
    check.validate(document)
    del document["benchmarks"]["b_eff"]["result"]["kind"]
    assert not check.is_valid(document)
    again = Suite.from_json(tmp_path / "s.json")
    assert again.to_json() == text
    assert again.table() == Suite.from_json(text).table()
    assert isinstance(again.errors["fft"], NotImplementedError)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{}", "not a suite: no schema named"),
        ('{"schema": "hpccfpga-result/1"}', "not a suite: its schema is"),
        ('{"schema": "hpccfpga-suite/2"}', "this version reads up to hpccfpga-suite/1"),
        ('{"schema": "hpccfpga-suite/1"}', "not those of a suite"),
        ('{"schema": "hpccfpga-suite/1", "benchmarks": {"a": 1}}', "not those of a"),
    ],
)
def test_other_documents_are_refused(text, line):
    with pytest.raises(ValueError, match=line):
        Suite.from_json(text)


def test_all_run_here(tmp_path):
    found = hf.run_all(reps=3, board="520n", **tiny())
    assert found.errors == {}
    assert [*found.results] == suite.benchmarks()
    assert found.verified
    assert "b_eff" in found.models
    assert all(r["samples"].shape[1] == 3 for r in found.results.values())
    for figure in found.figures:
        assert np.isfinite(figure.total), figure


def test_models_are_of_the_parameters_that_were_measured(call):
    own = {
        "fft": {"batch": 16},
        "stream": {"size": 65536},
        "gemm": {"sizes": [64], "block_size": 64},
        "ptrans": {"sizes": [64], "block_size": 32},
    }
    words = [
        f"--{name}.{key.replace('_', '-')}=" + ",".join(map(str, np.atleast_1d(value)))
        for name, params in (tiny() | own).items()
        for key, value in params.items()
    ]
    given = ["--reps=1", "--quiet", "--board=520n", "--json=s.json"]
    assert call("run", "all", *given, *words)[0] == 0
    found = {
        "command": Suite.from_json("s.json"),
        "call": hf.run_all(reps=1, board="520n", **(tiny() | own)),
    }
    for way, measured_and_modelled in found.items():
        for name, params in own.items():
            model = measured_and_modelled.models[name].parameters
            for key in {*params} & {*model} - {"sizes"}:
                assert model[key] == params[key], (way, name, key)
        assert measured_and_modelled.models["fft"].parameters["batch"] == 16


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"gemm": {"size": 3}}, "size"),
        ({"reps": 1, "warmup": 0}, "warmup: 0 is not within 1 .. "),
        ({"gemm": {"sizes": [0]}}, "sizes: 0 is not within 1 .. "),
    ],
)
def test_bad_parameters_are_refused_before_anything_starts(monkeypatch, given, line):
    monkeypatch.setattr(suite, "Session", None)
    with pytest.raises(ValueError, match=line):
        hf.run_all(**given)


def test_each_may_have_kernels_of_its_own(tmp_path):
    own = tmp_path / "stream_ndrange.cl"
    text = (sources.kernel_dir() / own.name).read_text()
    own.write_text(f"{text}/* mine */\n")
    given = tiny() | {"stream": {**TINY["stream"], "kernel": own}}
    found = hf.run_all(reps=1, **given)
    plain = hf.run("stream", reps=1, size=4096)
    assert found.verified, found
    hashes = [
        result.provenance["kernel"]["source_hash"]
        for result in (found.results["stream"], plain)
    ]
    assert hashes[0] != hashes[1]


def test_kernels_that_are_missing_are_refused_before_anything_starts(monkeypatch):
    monkeypatch.setattr(hf.Session, "run", None)
    for ranks in (None, 2):
        with pytest.raises(ValueError, match=r"^gemm: kernel: gone\.cl does not exist"):
            hf.run_all(ranks=ranks, gemm={"kernel": "gone.cl"})
    with pytest.raises(TypeError, match=r"^kernel: 3 "):
        hf.run_all(gemm={"kernel": 3})


def test_nothing_is_not_verified():
    assert not Suite({}).verified
    failed = Suite({}, {}, {"fft": MemoryError("small"), "gemm": hf.Error("gone")})
    assert repr(failed) == "<Suite fft, gemm, FAILED: fft, gemm>"
    assert not failed.verified
    skipped = Suite({"b_eff": measured()}, {}, {"fft": NotImplementedError("no")})
    assert repr(skipped) == "<Suite b_eff, fft, verified>"


def test_what_one_cannot_do_keeps_no_other_from_running(monkeypatch):
    true = hf.Session.run

    def run(session, benchmark, **params):
        if benchmark == "b_eff":
            raise _core.Error("the device is gone")
        return true(session, benchmark, **params)

    monkeypatch.setattr(hf.Session, "run", run)
    own = {name: TINY[name] for name in suite.benchmarks() if name in TINY}
    found = hf.run_all(reps=1, **own)
    assert str(found.errors["b_eff"]) == "the device is gone"
    assert {*found.results} == {*suite.benchmarks()} - {"b_eff"}
    assert not found.verified
    assert repr(found).endswith("FAILED: b_eff>")
    assert "FAILED: b_eff" in str(found).splitlines()[0]


@pytest.mark.parametrize(
    ("change", "error", "line"),
    [
        ({"exchange": "wifi"}, LookupError, 'no exchange scheme "wifi"'),
        ({"exchange": "wifi", "ranks": 2}, LookupError, 'no exchange scheme "wifi"'),
        ({"board": "cardboard"}, LookupError, "no board 'cardboard'"),
        ({"colour": 1}, ValueError, "no parameter colour of all; known: reps, "),
    ],
)
def test_bad_input_is_refused(change, error, line):
    with pytest.raises(error, match=re.escape(line)):
        hf.run_all(**change)


# ---- on the command line ----


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_run_all(call, tmp_path, monkeypatch, ranks):
    """Each by an mpirun of its own, if ranks are started: two of them show it."""
    if ranks:
        monkeypatch.setattr(suite, "benchmarks", lambda: ["b_eff", "stream"])
    words = ["--reps=2", "--quiet", "--board=520n", "--json=s.json", *ranks, *options()]
    code, out, err = call("run", "all", *words)
    assert (code, err) == (0, "")
    assert "measured / model" in out
    found = Suite.from_json(tmp_path / "s.json")
    assert {r.ranks for r in found.results.values()} == {1 + bool(ranks)}
    code, shown, _ = call("show", "s.json")
    assert code == 0
    assert out == f"\n{shown}wrote s.json\n"
    code, out, _ = call("compare", "s.json", "s.json")
    assert code == 0
    assert out.count("b: s.json, measured") == len(found.results)


def test_run_all_under_mpirun(mpirun, tmp_path):
    words = ["--reps=2", "--quiet", f"--json={tmp_path}/s.json", *options()]
    answer = mpirun(2, ["run", "all", *words])
    assert (answer.returncode, ours(answer.stderr)) == (0, "")
    assert answer.stdout.count("suite, measured") == 1
    assert Suite.from_json(tmp_path / "s.json").verified


def test_wrong_data_is_code_1(command, faults):
    words = ["run", "all", "--exchange=fault", "--reps=2", "--quiet", *options()]
    answer = command(*words, HPCCFPGA_FAULT="flip 0 5", **faults)
    assert (answer.returncode, ours(answer.stderr)) == (1, "")
    assert "NOT VERIFIED" in answer.stdout


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ({}, 0),
        ({"fft": NotImplementedError("no")}, 0),
        ({"fft": NotImplementedError("no"), "hpl": ValueError("n")}, 2),
        ({"fft": MemoryError("small")}, 3),
        ({"fft": hf.Error("gone"), "hpl": ValueError("n")}, 3),
    ],
)
def test_exit_codes(errors, code):
    assert commands.suite_code(Suite({"b_eff": measured()}, {}, errors)) == code
    assert commands.suite_code(Suite({"b_eff": measured(failed=0)}, {}, {})) == 1
    assert commands.suite_code(Suite({}, {}, {"fft": NotImplementedError("no")})) == 2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--npz=a.npz"], "run all takes no --npz: save --json PATH"),
        (["--calibrate"], "run all takes no --calibrate"),
        (["--kernel=a.cl"], "no --kernel: each benchmark has its own: --BENCHMARK.ke"),
        (["--fft.kernel=gone.cl"], "fft: kernel: gone.cl does not exist"),
        (["--save-calibration=c"], "run all takes no --save-calibration"),
        (["--plot=a.png"], "takes no --plot: save --json PATH, then: hpccfpga plot"),
        (["--sizes=1"], "all has no parameter --sizes; see hpccfpga run all --help"),
        (["--b_eff.colour=1"], "all has no parameter --b_eff.colour; "),
        (["--json=gone/s.json"], "cannot write gone/s.json"),
        (["--exchange=wifi"], 'no exchange scheme "wifi"'),
        (["--board=cardboard"], "no board 'cardboard'"),
    ],
)
def test_bad_run_all(refused, words, line):
    refused(["run", "all", *words], line)


def test_compare_takes_suites(call):
    a, b = example(), example()
    del b.results["gemm"]
    found = hf.compare(a, b)
    assert list(found) == ["b_eff"]
    assert (
        found["b_eff"].verdict
        == hf.compare(measured(ranks=4), measured(ranks=4)).verdict
    )
    assert "== b_eff\n" in str(found)
    assert str(found).endswith("note: gemm: only in a")
    assert "<table>" in found._repr_html_()
    assert list(hf.compare(measured(), a)) == ["b_eff"], "a result is a suite of one"
    with pytest.raises(KeyError, match="no comparison of 'gemm'; known: b_eff"):
        found["gemm"]
    with pytest.raises(ValueError, match="no benchmark has a result in both: fft"):
        hf.compare(measured(benchmark="fft"), b)
    with pytest.raises(ValueError, match="no common message_size"):
        hf.compare(Suite({"b_eff": measured(sizes=(2,))}), b)
    a.to_json("s.json")
    measured().to_json("r.json")
    assert call("compare", "s.json", "r.json")[1].startswith("== b_eff\n")


def test_plot_takes_suites(call, tmp_path):
    figure = hf.plot(example())
    assert len(figure.axes) == 4, "two for each benchmark"
    first, second = (len(part.axes[0].lines) for part in figure.subfigs)
    assert first > second, "the model of b_eff"
    both = hf.plot(example(), measured(benchmark="gemm"))
    assert len(both.subfigs[1].axes[0].lines) > second
    assert len(hf.plot(Suite({"b_eff": measured()})).axes) == 2
    with pytest.raises(ValueError, match="nothing to plot: give at least one result"):
        hf.plot(Suite({}))
    with pytest.raises(ValueError, match="ax must hold two axes for 2 rows, not 2"):
        hf.plot(example(), ax=hf.plot(measured()).axes)
    example().to_json("s.json")
    assert call("plot", "s.json", "-o", "s.png")[0] == 0
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    assert call("plot", "s.json", "-o", "s.svg")[0] == 0
    assert "s.json" not in Path("s.svg").read_text(), "of the model neither"
    example().to_json("t.json")
    assert call("plot", "s.json", "t.json", "-o", "s.svg")[0] == 0
    assert Path("s.svg").read_text().count("t.json: ") == 3, "one is a model"


def test_errors_name_the_file_of_a_result(tmp_path, monkeypatch):
    """Read in whatever way; one of a text, or that ranks left, has none."""
    monkeypatch.chdir(tmp_path)
    b_eff = measured(columns={}, provenance={"error": "no device"})
    text = Suite({"b_eff": b_eff}, {"b_eff": measured(kind="modelled")}).to_json(
        "s.json"
    )
    b_eff.to_json("r.json")
    b_eff.to_npz("r.npz")
    b_eff.to_json("0.json")
    read = {
        "s.json": [*Suite.from_json("s.json").results.values()],
        "r.json": [hf.Result.from_json("r.json"), suite.read(Path("r.json"))],
        "r.npz": [hf.Result.from_npz("r.npz")],
        "": [Suite.from_json(text).results["b_eff"], result_read(tmp_path, 0)],
    }
    read["s.json"] += suite.read("s.json").models.values()
    for file, results in read.items():
        assert {result.file for result in results} == {file}
        name = f"{file} (b_eff)" if file else "b_eff"
        for result in results:
            with pytest.raises(ValueError, match=f"^{re.escape(name)} has no trace"):
                result.to_perfetto("t.json")
        with pytest.raises(ValueError, match=f"^{re.escape(name)} is a run that fail"):
            hf.compare(results[0], b_eff)


def test_what_fails_as_a_whole_leaves_a_result(call):
    assert call("run", "all", "--device=abacus", "--json=s.json", "--reps=3")[0] == 2
    result = hf.Result.from_json("s.json")
    assert (result.benchmark, result.parameters) == ("all", {"reps": 3})
    assert "abacus" in result.provenance["error"]


def test_the_page_on_files_names_the_formats():
    page = Path(__file__).parents[2].joinpath("docs/running.md").read_text()
    assert f"A result is `{formats.SCHEMA}`" in page
    assert f"`{suite.SCHEMA}`" in page
