"""The command line where it fails: bad input, failed runs, streams that end."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GUARD, ours, start

import hpccfpga as hf
from example_result import measured
from hpccfpga import _core, cli, emulation
from hpccfpga.errors import encode
from hpccfpga.mpirun import command as mpirun_command

SMALL = ["--sizes=1,64", "--reps=2", "--loop-upper=64"]
BY_HOSTS = [e["name"] for e in hf.exchanges() if not e["kernel_routed"]]


def test_the_last_line_of_a_failed_run_names_its_file(call):
    for name in ("r.json", "r.failed.json"):
        code, out, err = call("run", "b_eff", "--device=abacus", "--json=r.json")
        assert (code, out) == (2, f"wrote {name}\n")
        assert err.count("\n") == 1
        measured().to_json("r.json")


def test_a_failed_run_is_named_where_a_result_is_expected(call, refused):
    assert call("run", "b_eff", "--device=abacus", "--json=f.json")[0] == 2
    measured().to_json("r.json")
    line = 'f.json (b_eff) is a run that failed: no OpenCL device "abacus"'
    refused(["compare", "r.json", "f.json"], line)
    refused(["plot", "r.json", "f.json", "-o", "x.png"], line)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "b_eff", "--sizes=0"], 2),
        (["run", "b_eff", "--device=abacus"], 2),
        (["run", "all", "--device=abacus"], 2),
        (["run", "b_eff", "--plot=gone/r.png"], 2),
    ],
)
def test_show_of_a_failed_run_ends_as_the_run_did(call, words, code):
    assert call(*words, "--json=r.json")[0] == code
    shown, out, err = call("show", "r.json")
    assert (shown, err) == (code, "")
    assert "\nFAILED: " in out
    hf.Result.from_json("r.json").to_npz("r.npz")
    assert call("show", "r.npz")[0] == code


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (MemoryError("m"), 3), (hf.Error("e"), 3)],
)
def test_show_knows_every_code(call, error, code):
    example = measured()
    example.provenance |= encode(error)
    example.to_json("r.json")
    assert call("show", "r.json")[0] == code
    measured(failed=0).to_json("r.json")
    assert call("show", "r.json")[0] == 1


def test_a_failed_run_has_all_its_parameters(call):
    assert call("run", "b_eff", "--seed=7", "--device=abacus", "--json=r.json")[0] == 2
    parameters = hf.Result.from_json("r.json").parameters
    assert parameters["seed"] == 7
    assert parameters.keys() == _core.values("b_eff", {}).keys()


def test_a_command_line_read_in_part_leaves_what_was_read(call):
    words = ["run", "b_eff", "--seed=7", "--exchange=shared", "--sed=1"]
    assert call(*words, "--json=r.json")[0] == 2
    result = hf.Result.from_json("r.json")
    assert (result.exchange, result.parameters) == ("shared", {"seed": 7})


BAD = [
    ([], "no command given; known: doctor, devices"),
    (["nonsense"], "no command 'nonsense'; known: doctor"),
    (["-q", "run"], "no option '-q' in front of a command; known: --help, --version; "),
    (["calibrat"], "no command 'calibrat'; did you mean \"calibrate\"? known: doctor"),
    (
        ["kernels"],
        "kernels is no command alone; known: build; see hpccfpga kernels --help",
    ),
    (
        ["kernels", "builds"],
        "no command 'kernels builds'; did you mean \"kernels build\"?",
    ),
    (["show", "--loud", "r.json"], "show has no option --loud; known: --help"),
    (["run", "b_eff", "--model=520n"], "--model is called --board now"),
    (["run", "b_eff", "--exchang=host"], 'did you mean "--exchange"? known: --sizes'),
    (
        ["model", "b_eff"],
        "network_bandwidth [B/s], read_bandwidth [B/s]: give them to `model` by name",
    ),
    (["run", "stream", "--trace", "5"], "--trace 5: say --trace=5"),
    (["run"], "the following arguments are required: benchmark"),
    (["run", "nbody"], 'no benchmark "nbody"; known: b_eff'),
    (["run", "nbody", "--n=3"], 'no benchmark "nbody"; known: b_eff'),
    (
        ["run", "b_eff", "--exchange=wifi"],
        'no exchange scheme "wifi"; known: chan',
    ),
    (["run", "b_eff", "--device=abacus"], 'no OpenCL device "abacus"; known: 0'),
    (["run", "b_eff", "--colour=1"], "b_eff has no parameter --colour; known: --s"),
    (["run", "b_eff", "--sizes=0"], "sizes: 0 is not within 1 .. "),
    (["run", "b_eff", "--sizes", "-4"], "sizes: -4 is not within 1 .. "),
    (["run", "b_eff", "--sizes", "-8,16"], "sizes: -8 is not within 1 .. "),
    (["run", "b_eff", "--sizes=1,1K"], 'sizes: "1K" is not a number such as 1024'),
    (["run", "b_eff", "--deadline=x"], 'deadline: "x" is not a number such as 0.5'),
    (
        ["run", "gemm", "--exchange=channel"],
        f'"channel"; known: {", ".join(BY_HOSTS)}, auto',
    ),
    (["run", "b_eff", "--sizes="], "sizes: "),
    (["run", "b_eff", "--ranks=x"], '--ranks: "x" is not a number such as 2; see'),
    (["run", "b_eff", "--ranks=0"], "ranks: 0 is not a number from 1 up"),
    (["run", "b_eff", "--ranks=-1"], "ranks: -1 is not a number from 1 up"),
    (["run", "b_eff", "--timeout=-1"], "timeout: -1.0 is not a positive number"),
    (
        ["run", "b_eff", "--ranks=2", "--timeout=0"],
        "timeout: 0.0 is not a positive number",
    ),
    (["run", "b_eff", "--kernel=gone.cl"], "kernel: gone.cl does not exist"),
    (["run", "b_eff", "--kernel=."], "kernel: . is a folder"),
    (
        ["run", "b_eff", "--json=gone/r.json"],
        "cannot write gone/r.json: there is no folder gone",
    ),
    (["run", "b_eff", "--json=."], "cannot write .: it is a folder"),
    (["run", "b_eff", f"--seed={2**53 + 1}"], "is not within 0 .. 9007199254740991"),
    (["run", "b_eff", "--save-calibration=."], "cannot write .: it is a folder"),
    (["run", "b_eff", "--plot=r.doc"], "cannot write r.doc: no format 'doc'; known"),
    (
        ["run", "b_eff", "--plot=gone/x"],
        "cannot write gone/x: no ending names its format; known: png, pdf, svg, eps",
    ),
    (["run", "b_eff", "--json=b.csv"], "write b.csv: no format 'csv'; known: json\n"),
    (["run", "b_eff", "--npz=b.json"], "b.json: no format 'json'; known: npz\n"),
    (["run", "b_eff", "--save-calibration=c.npz"], "c.npz: no format 'npz'; known: js"),
    (
        ["graph", "info", "grid:4", "--json=g.txt"],
        "g.txt: no format 'txt'; known: json",
    ),
    (["run", "b_eff", "--board=cardboard"], "no board 'cardboard'; known: 520n"),
    (["run", "transfer", "--calibrate"], "no model of 'transfer'; known: b_eff"),
    (
        ["run", "b_eff", "--exchange=mean", "--calibrate"],
        'no exchange scheme "mean"; known: channel',
    ),
    (["run", "b_eff", "--exchange=channel", "--calibrate"], "known: pcie, pipelined"),
    (["calibrate", "--colour=1"], "calibration has no parameter --colour; known: "),
    (["model", "nbody"], "no model of 'nbody'; known: b_eff"),
    (
        ["model", "b_eff", "--exchange=wifi"],
        "exchange 'wifi'; known: channel, pcie, pipelined, shared, host, auto",
    ),
    (["run", "b_eff", "--exchange=aut"], 'did you mean "auto"? known: channel, host'),
    (
        ["model", "b_eff", "--clock=3e8"],
        "no input clock of b_eff over exchange pcie, only over exchange channel; known",
    ),
    (["run", "linpac", "--help"], 'no benchmark "linpac"'),
    (
        ["model", "b_eff", "--exchange=channel", "--width=wide"],
        "width: 'wide' is not a positive number",
    ),
    (
        ["model", "b_eff", "--exchange=channel", "--board=520n", "--clock", "-1"],
        "clock: '-1' is not a positive number",
    ),
    (
        ["model", "b_eff", "--exchange=channel", "--board=520n", "--clock=1e-320"],
        "clock: '1e-320' is not within 1e-15 .. 1e+18 [Hz]",
    ),
    (
        ["model", "graph", "--board=ac510", "--vertices=1e30"],
        "vertices: '1e30' is not within 1 .. 1e+18",
    ),
    (
        ["model", "graph", "--board=ac510", "--vertices=1e-320"],
        "vertices: '1e-320' is not within 1 .. 1e+18",
    ),
    (["model", "graph", "--exchange=\x1b"], "no name; known: channel, host"),
    (
        ["model", "linpack", "--exchange=channel", "--board=520n", "--refine=0"],
        'refine: no choice "0"; known: none, classical, gmres',
    ),
    (["model", "stream", "--board=520n", "--memory=1"], "no '1'; known: ddr4"),
    (
        ["model", "b_eff", "--board=520n", "--sizes=1,x"],
        '--sizes: "x" is not a number such as 1024',
    ),
    (["published", "b_eff", "--ranks=77"], "no published b_eff fits; known: "),
    (["published", "b_eff", "--json=x"], "x: a list is not written; choose a run by"),
    (["boards", "cardboard"], "no board 'cardboard'; known: 520n"),
    (["show", "gone.json"], "gone.json: No such file or directory"),
    (["show", "-1.json"], "-1.json looks like an option; as a file: ./-1.json"),
    (["compare", "a.json", "-1.json"], "as a file: ./-1.json"),
    (["run", "b_eff", "--json", "-1"], "-1 looks like an option; as a file: ./-1"),
    (["plot", "r.json", "-o", "-1.png"], "-1.png looks like an option; as a file: ./"),
    (["plot", "--timeline", "r.json", "-o", "-1.json"], "as a file: ./-1.json"),
    (["topology", "--plot", "-1.png"], "-1.png looks like an option; as a file: ./"),
    (["kernels", "build", "-o", "-1"], "-1 looks like an option; as a file: ./-1"),
    (["plot", "gone.json", "-o", "r.png"], "gone.json: No such file or directory"),
    (["list", "nbody"], 'no benchmark "nbody"; known: b_eff'),
    (["compare", "one"], "the following arguments are required: b"),
    (["kernels", "build", "nbody"], 'no benchmark "nbody"; known: b_eff'),
]


@pytest.mark.parametrize(("words", "line"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input(refused, words, line, tmp_path):
    refused(words, line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["x" * 100_000, "x y " * 25_000])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "b_eff", "--{}"],
        ["run", "b_eff", "--json={}"],
        ["run", "b_eff", "{}"],
        ["run", "all", "--gemm.{}"],
        ["model", "{}"],
        ["model", "b_eff", "--sizes={}"],
        ["model", "b_eff", "--exchange={}"],
        ["show", "{}"],
        ["compare", "{}", "b.json"],
        ["scaling", "b_eff", "--mode={}"],
    ],
)
def test_a_word_that_nobody_reads_is_not_told_to_its_end(call, words, word):
    code, out, err = call(*(each.format(word) for each in words))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert len(err) < 1000
    assert err.startswith("hpccfpga: ")


def test_run_all_has_too_many_parameters_for_a_line(refused):
    refused(
        ["run", "all", "--gemm.size=3"],
        'all has no parameter --gemm.size; did you mean "--gemm.sizes"? '
        "see hpccfpga run all --help\n",
    )


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_what_only_the_benchmark_knows_is_told_before_a_title(call, ranks):
    words = ["run", "b_eff", "--exchange=channel", "--device=host", *ranks]
    code, out, err = call(*words, "--topology=torus:3x7")
    assert (code, out) == (2, "")
    assert 'hpccfpga: topology: "torus:3x7" is no torus:PxQ of' in err


def test_nothing_is_written_over_before_the_paths_are_checked(call, tmp_path):
    (tmp_path / "r.json").write_text("old")
    code, _, _ = call("run", "b_eff", "--json=r.json", "--npz=gone/r.npz")
    assert code == 2
    assert (tmp_path / "r.json").read_text() == "old"
    result = json.loads((tmp_path / "r.failed.json").read_text())
    assert result["provenance"]["error"].startswith("cannot write gone/r.npz")


@pytest.mark.parametrize("name", ["stream", "nbody"])
def test_a_value_is_not_taken_for_the_benchmark(call, name):
    """Files and devices may be called like a benchmark."""
    values = ["--exchange", "host", "--json", name, "--seed", "1", "--quiet"]
    code, out, err = call("run", *values, "b_eff", "--sizes", "1", "--reps", "2")
    assert (code, err) == (0, "")
    assert "b_eff, measured" in out


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "b_eff", "--sizes=0"],
        ["run", "nbody", "--n=3"],
        ["run", "b_eff", "--colour=1"],
        ["run", "b_eff", "--board=cardboard"],
        ["run", "b_eff", "--exchange=channel", "--calibrate"],
        ["calibrate", "--colour=1"],
    ],
    ids=" ".join,
)
def test_json_is_written_when_a_run_fails(call, tmp_path, ranks, words):
    code, _, err = call(*words, *ranks, "--json=r.json")
    assert code == 2
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["verified"] is False
    assert document["columns"] == {}
    if "--sizes=0" in words:
        assert document["parameters"] == {"sizes": [0]}
    assert f"hpccfpga: {document['provenance']['error']}\n" == err
    assert hf.Result.from_json(tmp_path / "r.json").ranks == 1 + bool(ranks)


@pytest.mark.parametrize(
    ("words", "benchmark"),
    [
        (["run", "b_eff", "--ranks=x"], "b_eff"),
        (["run", "--timeout", "soon", "b_eff"], "b_eff"),
        (["run"], "unknown"),
        (["calibrate", "--ranks="], "calibration"),
    ],
)
def test_json_is_written_when_the_words_make_no_sense(call, tmp_path, words, benchmark):
    code, _, err = call(*words, "--json=r.json")
    assert code == 2
    result = hf.Result.from_json(tmp_path / "r.json")
    assert (result.benchmark, result.verified) == (benchmark, False)
    assert f"hpccfpga: {result.provenance['error']}\n" == err
    assert call(*words, "--json")[0] == 2


@pytest.mark.parametrize(("words", "fault", "code", "line"), [
    (["--sizes=0"], None, 2, "sizes: 0 is not within"),
    (["--ranks=3"], None, 2, "--ranks is 3, mpirun started 2"),
    (["--json=/gone/r.json"], None, 2, "cannot write "),
    (["--colour=1"], None, 2, "b_eff has no parameter --colour"),
    ([*SMALL, "--exchange=fault"], "flip 0 5", 1, ""),
])  # fmt: skip
def test_same_code_on_all_ranks(faults, tmp_path, words, fault, code, line):
    command = shlex.join([sys.executable, "-m", "hpccfpga", "run", "b_eff", *words])
    shell = f"{command}; echo $? > {shlex.quote(str(tmp_path))}/$OMPI_COMM_WORLD_RANK"
    plan = faults | {"HPCCFPGA_FAULT": fault} if fault else {}
    answer = subprocess.run(
        [*mpirun_command(), "-n", "2", "sh", "-c", shell],
        env=os.environ | plan,
        capture_output=True,
        text=True,
        timeout=GUARD,
    )
    assert [int((tmp_path / rank).read_text()) for rank in "01"] == [code, code]
    assert answer.stderr.count("hpccfpga: ") == (line != ""), answer.stderr
    assert line in answer.stderr


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_wrong_data_is_code_1(command, faults, tmp_path, ranks):
    path = tmp_path / "r.json"
    words = ["run", "b_eff", "--exchange=fault", *SMALL, *ranks, f"--json={path}"]
    answer = command(*words, HPCCFPGA_FAULT="flip 0 5", **faults)
    assert (answer.returncode, ours(answer.stderr)) == (1, "")
    assert "WRONG DATA" in answer.stdout
    assert "NOT VERIFIED" in answer.stdout
    assert json.loads(path.read_text())["verified"] is False


def test_no_opencl_platform_is_code_3(command):
    answer = command("run", "b_eff", OCL_ICD_VENDORS="/nowhere/")
    assert answer.returncode == 3
    (line,) = ours(answer.stderr).splitlines()
    assert line.startswith("hpccfpga: no OpenCL platform: install")
    answer = command("doctor", OCL_ICD_VENDORS="/nowhere/")
    assert answer.returncode == 3
    assert "apt install pocl-opencl-icd" in answer.stdout
    assert "HOME or POCL_CACHE_DIR names its folder" in answer.stdout


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_a_reader_that_leaves(ranks, tmp_path):
    words = ["run", "b_eff", "--reps=40", "--loop-upper=64", *ranks]
    words.append(f"--json={tmp_path}/r.json")
    with subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline().startswith("b_eff pcie")
        assert "message size" in process.stdout.readline()
        process.stdout.close()
        assert ours(process.stderr.read()) == ""
    assert process.returncode == 141
    assert json.loads((tmp_path / "r.json").read_text())["verified"] is False


@pytest.mark.parametrize("code", [0, 1])
def test_a_reader_that_leaves_at_the_end(code):
    """What was verified stays so: only the last words find no reader."""
    script = (
        "import sys; from hpccfpga import cli; "
        f"cli.COMMANDS['list'] = lambda _: print('last words') or {code}; "
        "sys.exit(cli.main(['list']))"
    )
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=buffered
    ) as process:
        process.stdout.close()
    assert process.returncode == code


def test_a_bug_is_one_line_too(call, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "boards", lambda options: 1 / 0)
    code, _, err = call("boards")
    assert code == 3
    assert err.startswith("hpccfpga: internal error: ZeroDivisionError: division")
    assert err.endswith("(HPCCFPGA_DEBUG=1 shows where)\n")


def test_debug_shows_where(capfd, monkeypatch):
    monkeypatch.setenv("HPCCFPGA_DEBUG", "1")
    assert cli.main(["boards", "cardboard"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["json", "kernel", "device", "plot"])
def test_an_empty_word_is_refused(refused, tmp_path, name):
    words = ["run", "b_eff", "--exchange=host", *SMALL, f"--{name}", ""]
    refused(words, f"--{name}: nothing given")
    assert not list(tmp_path.iterdir())


def test_more_ranks_than_the_machine_bears_are_refused(refused):
    most = f"the {64 * len(emulation.cpus())} started here at most, 64 per core"
    refused(["run", "b_eff", "--ranks=100000", "--quiet"], most)


def test_a_failed_run_keeps_an_earlier_result(command, tmp_path):
    path, failed = tmp_path / "r.json", tmp_path / "r.failed.json"
    words = ("run", "b_eff", "--reps=1", "--loop-upper=8", f"--json={path}")
    assert command(*words, "--sizes=1").returncode == 0
    before = path.read_bytes()
    for bad in ("--sizes=0", "--device=abacus", "--speed=1"):
        assert command(*words, bad).returncode in (2, 3)
        assert path.read_bytes() == before
        assert json.loads(failed.read_text())["provenance"]["error"]
    assert command(*words, "--sizes=1").returncode == 0
    assert not failed.exists(), "of the run before"
    assert path.read_bytes() != before


@pytest.mark.parametrize(
    ("words", "streams", "code"),
    [
        ("run nope", "2>&-", 2),
        ("run nope", "2>/dev/full", 2),
        ("run b_eff --sizes=1 --reps=1 --loop-upper=8", ">&-", 0),
        ("run b_eff --sizes=1 --reps=1 --loop-upper=8", "<&- >&- 2>&-", 0),
        ("run b_eff --sizes=1 --reps=1 --loop-upper=8", ">/dev/full", 3),
        ("list", ">/dev/full", 3),
    ],
)
def test_streams_that_are_closed_or_full(words, streams, code):
    """What cannot be told changes no exit code, and takes no file's place."""
    line = f"{shlex.quote(sys.executable)} -m hpccfpga {words} {streams}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=GUARD)
    assert done.returncode == code
    assert b"internal" not in done.stderr


def without_extension(folder):
    """Copy the package into a folder, but for its extension."""
    package = folder / "hpccfpga"
    ignored = shutil.ignore_patterns("__pycache__", "_core*.so")
    shutil.copytree(Path(cli.__file__).parent, package, ignore=ignored)
    return package


def test_an_extension_of_another_version(tmp_path, without_editable):
    (without_extension(tmp_path) / "_core.py").touch()
    path = {"PYTHONPATH": f"{without_editable}:{tmp_path}"}
    answer = start([sys.executable, "-m", "hpccfpga", "--version"], path)
    line = "hpccfpga: its extension has no models: install hpccfpga again\n"
    assert (answer.returncode, ours(answer.stderr)) == (3, line)


def test_what_an_extension_of_another_version_lacks(call, monkeypatch):
    monkeypatch.delattr(_core, "VERSION")
    line = "hpccfpga: its extension has no VERSION: install hpccfpga again\n"
    assert call("--version") == (3, "", line)


@pytest.mark.parametrize("words", [["doctor"], ["--version"], ["run", "b_eff"]])
def test_an_extension_that_does_not_load(tmp_path, without_editable, words):
    package = without_extension(tmp_path)
    (package / "_core.so").touch()
    path = {"PYTHONPATH": f"{without_editable}:{tmp_path}"}
    answer = start([sys.executable, "-m", "hpccfpga", *words], path)
    assert (answer.returncode, answer.stdout) == (3, "")
    line = ours(answer.stderr)  # its end is the loader's
    assert line.startswith(f"hpccfpga: its extension does not load: {package}/_core.so")
    assert line.count("\n") == 1
