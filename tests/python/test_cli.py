"""The command: what it prints and writes, its exit codes, one line for each error."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from contextlib import redirect_stdout, suppress

import pytest
from conftest import GUARD, ours, runtimes_of

import hpccfpga as hf
from example_result import measured
from hpccfpga import _core, cli, doctor, emulation
from hpccfpga.errors import encode
from hpccfpga.mpirun import command as mpirun_command
from hpccfpga.progress import Watch

SMALL = ["--sizes=1,64", "--reps=2", "--loop-upper=64"]


# ---- it works ----


def test_run_writes_what_was_asked_for(call, tmp_path):
    files = [f"--json={tmp_path}/r.json", f"--npz={tmp_path}/r.npz"]
    code, out, err = call("run", "b_eff", *SMALL, *files, f"--plot={tmp_path}/r.png")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "b_eff pcie, 1 rank ..."
    assert lines[1].split()[:3] == ["message", "size", "[B]"]
    assert [line.split()[0] for line in lines[2:4]] == ["1", "64"]
    assert any(line.startswith("b_eff ") and "GB/s" in line for line in lines)
    result = hf.Result.from_json(tmp_path / "r.json")
    assert result.verified
    assert (hf.Result.from_npz(tmp_path / "r.npz")["time"] == result["time"]).all()
    assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.npz", "r.png"]


def test_run_starts_mpirun(command, tmp_path):
    answer = command("run", "b_eff", "--ranks=2", *SMALL, f"--json={tmp_path}/r.json")
    assert (answer.returncode, ours(answer.stderr)) == (0, "")
    result = hf.Result.from_json(tmp_path / "r.json")
    assert result.ranks == 2
    assert result.provenance["command"].startswith("hpccfpga run b_eff ")


def test_run_under_mpirun(mpirun, tmp_path):
    answer = mpirun(3, ["run", "b_eff", *SMALL, f"--json={tmp_path}/r.json"])
    assert (answer.returncode, ours(answer.stderr)) == (0, "")
    assert hf.Result.from_json(tmp_path / "r.json").ranks == 3
    assert answer.stdout.count("message size [B]") == 1
    assert "\x1b" not in answer.stdout


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_run_with_calibration(call, tmp_path, ranks):
    parts = tmp_path / "parts.json"
    words = ["--calibrate", f"--save-calibration={parts}", f"--plot={tmp_path}/r.svg"]
    code, out, err = call("run", "b_eff", *SMALL, *ranks, *words)
    assert (code, err) == (0, "")
    assert "bandwidth b / a" in out
    assert re.search(r"the model is (within|off by more than) 10 % at ", out)
    assert f"wrote {tmp_path}/r.svg, {parts}\n" in out
    assert "<svg" in (tmp_path / "r.svg").read_text()
    code, out, _ = call("model", "b_eff", f"--calibration={parts}")
    assert code == 0
    assert "b_eff, modelled, exchange pcie" in out
    assert call("show", parts)[0] == 0
    words = ["--exchange=host", f"--calibration={parts}"]
    assert "EMULATED" not in call("model", "b_eff", *words)[1]


def test_run_beside_the_model_of_a_board(call):
    code, out, _ = call("run", "b_eff", "--exchange=host", *SMALL, "--board=520n")
    assert code == 0
    assert "b: model host" in out


def test_calibrate(call, tmp_path):
    path = tmp_path / "c.json"
    code, out, _ = call("calibrate", *SMALL[:2], "--quiet", f"--json={path}")
    assert code == 0
    assert "write time" in out
    assert hf.Result.from_json(path).benchmark == "calibration"


def test_model_published_show_plot_compare(call, tmp_path):
    code, out, _ = call(
        "model", "b_eff", "--exchange=channel", "--board=520n", "--json=m"
    )
    assert code == 0
    assert "b_eff 7.772 GB/s" in out
    words = ["--exchange=channel", "--board=520n", "--clock=78125000"]
    code, out, _ = call("model", "b_eff", *words, "--sizes=1,1e3", "--ranks", "2")
    assert code == 0
    assert out.count("\n") >= 5
    choice = ["--exchange=channel", "--ranks=1", "--source=2021"]
    code, out, err = call("published", "b_eff", *choice, "--json=p")
    assert (code, err) == (0, "")
    code, shown, _ = call("show", "p")
    assert (code, f"{shown}wrote p\n") == (0, out)
    assert "source: pc2/" in out
    assert "counts: bytes sent by all ranks per second: ranks x replications" in out
    assert call("compare", "m", "p")[0] == 0
    assert call("plot", "m", "p", "-o", "both.pdf") == (0, "wrote both.pdf\n", "")
    assert (tmp_path / "both.pdf").read_bytes()[:4] == b"%PDF"


def test_lists(call):
    for words, text in (
        (["devices"], "opencl:0"),
        (["boards"], "520n"),
        (["boards", "520n"], "520N"),
        (["list"], "b_eff  "),
        (["list", "b_eff"], "--sizes          B     1,2,...,1048576"),
        (["published", "b_eff"], "ranks"),
        (["doctor"], "a run is possible"),
    ):
        code, out, err = call(*words)
        assert (code, err) == (0, ""), words
        assert text in out


def test_list_alone_has_a_line_for_each_benchmark(call):
    lines = call("list")[1].splitlines()
    for name in [*hf.benchmarks().names, *hf.exchanges().names]:
        assert len([line for line in lines if line.startswith(f"{name} ")]) == 1


def words_of_help(capfd, *words):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*words, "--help"])
    assert stopped.value.code == 0
    return " ".join(capfd.readouterr().out.split())


def test_help_of_a_group_and_of_all(capfd):
    assert "kernels build compile kernels" in words_of_help(capfd, "kernels")
    text = words_of_help(capfd, "run", "all")
    assert "--json" in text
    for name in ("plot", "npz", "trace", "calibrate", "save-calibration", "kernel"):
        assert f"--{name} " not in text, name


def test_help_says_the_bounds(capfd, call):
    assert "external channel [B]; 8 .. 4096; default: 32" in words_of_help(
        capfd, "run", "b_eff"
    )
    assert "8 .. 4096 " in call("list", "b_eff")[1]


def test_the_last_line_of_a_failed_run_names_its_file(call):
    for name in ("r.json", "r.failed.json"):
        code, out, err = call("run", "b_eff", "--device=abacus", "--json=r.json")
        assert (code, out) == (2, f"wrote {name}\n")
        assert err.count("\n") == 1
        measured().to_json("r.json")


def test_a_failed_run_is_named_where_a_result_is_expected(call, refused):
    assert call("run", "b_eff", "--device=abacus", "--json=f.json")[0] == 2
    measured().to_json("r.json")
    line = 'f.json is a run that failed: no OpenCL device "abacus"'
    refused(["compare", "r.json", "f.json"], line)
    refused(["plot", "r.json", "f.json", "-o", "x.png"], line)


def test_a_calibration_that_is_saved_is_made(call):
    words = ["--sizes=1024", "--reps=1", "--quiet", "--save-calibration=c.json"]
    assert call("run", "b_eff", *words)[0] == 0
    assert hf.Result.from_json("c.json").benchmark == "calibration"


def test_help_lists_the_parameters(capfd):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", "b_eff", "--help"])
    assert stopped.value.code == 0
    assert "--loop-upper" in capfd.readouterr().out


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


def test_the_heading_stands_before_anything_runs(capsys):
    with Watch() as watch:
        watch.begin("b_eff host, 1 rank", "b_eff")
        assert capsys.readouterr().out == "b_eff host, 1 rank ...\n"


def test_kernels_build(call, tmp_path):
    code, out, err = call("kernels", "build", "-o", tmp_path / "k")
    assert (code, err) == (0, "")
    manifest = json.loads((tmp_path / "k" / "b_eff_memory.bin.json").read_text())
    assert manifest["benchmark"] == "b_eff"
    assert "transfer: no kernels to build" in out


@pytest.mark.parametrize("shape", ["pipeline", "ndrange"])
def test_kernels_build_in_both_shapes(call, tmp_path, shape):
    code, out, err = call("kernels", "build", "-o", tmp_path, f"--shape={shape}")
    assert (code, err) == (0, "")
    kind = {"pipeline": "memory", "ndrange": "ndrange"}[shape]
    for name, _ in hf._core.components("bench"):
        if any(e["name"] == "shape" for e in hf._core.parameters(name)):
            assert f"{name}: {tmp_path}/{name}_{kind}.bin" in out


def test_words_beside_the_model_of_a_board(call):
    """A benchmark whose points are words, and whose sizes are no labels."""
    words = ["--size=4096", "--reps=2", "--board=520n"]
    code, out, err = call("run", "stream", *words)
    assert (code, err) == (0, "")
    assert "b: model stream, 520n" in out
    assert call("model", "stream", "--board=520n")[0] == 0
    assert call("published", "stream")[0] == 0


# ---- it does not ----

BAD = [
    ([], "no command given; known: doctor, devices"),
    (["nonsense"], "no command 'nonsense'; known: doctor"),
    (["calibrat"], "no command 'calibrat'; did you mean \"calibrate\"? known: doctor"),
    (["kernels"], "kernels is no command alone; known: build; see kernels --help"),
    (
        ["kernels", "builds"],
        "no command 'kernels builds'; did you mean \"kernels build\"?",
    ),
    (["show", "--loud", "r.json"], "show has no option --loud; known: --help"),
    (["run", "b_eff", "--model=520n"], "--model is called --board now"),
    (["run", "b_eff", "--exchang=host"], 'did you mean "--exchange"? known: --sizes'),
    (["model", "b_eff"], "model b_eff needs a board: 520n, 520n_mx, pac_d5005, u250"),
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
    (["run", "b_eff", "--sizes=1,1K"], 'sizes: "1K" is not a number such as 1024'),
    (["run", "b_eff", "--deadline=x"], 'deadline: "x" is not a number such as 0.5'),
    (["run", "gemm", "--exchange=channel"], '"channel"; known: host, pcie'),
    (["run", "b_eff", "--sizes="], "sizes: "),
    (["run", "b_eff", "--ranks=x"], '--ranks: "x" is not a number such as 2; see'),
    (["run", "b_eff", "--ranks=0"], "ranks: 0 is not a number from 1 up"),
    (["run", "b_eff", "--ranks=-1"], "ranks: -1 is not a number from 1 up"),
    (
        ["run", "b_eff", "--ranks=2", "--timeout=0"],
        "timeout: 0.0 is not a positive number",
    ),
    (["run", "b_eff", "--kernel=gone.cl"], "kernel: gone.cl does not exist"),
    (["run", "b_eff", "--kernel=."], "kernel: . is a folder"),
    (["run", "b_eff", "--json=gone/r.json"], "cannot write gone/r.json: No such"),
    (["run", "b_eff", "--json=."], "cannot write .: it is a folder"),
    (["run", "b_eff", "--save-calibration=."], "cannot write .: it is a folder"),
    (["run", "b_eff", "--plot=r.doc"], "cannot write r.doc: no format 'doc'; known"),
    (["run", "b_eff", "--board=cardboard"], "no board 'cardboard'; known: 520n"),
    (["run", "transfer", "--calibrate"], "no model of 'transfer'; known: b_eff"),
    (
        ["run", "b_eff", "--exchange=mean", "--calibrate"],
        'no exchange scheme "mean"; known: channel',
    ),
    (["run", "b_eff", "--exchange=channel", "--calibrate"], "known: pcie, host"),
    (["calibrate", "--colour=1"], "calibration has no parameter --colour; known: "),
    (["model", "nbody"], "no model of 'nbody'; known: b_eff"),
    (["model", "b_eff", "--exchange=wifi"], "no model of b_eff over exchange 'wifi"),
    (
        ["model", "b_eff", "--clock=3e8"],
        "no input clock of b_eff over exchange pcie, only over exchange channel; known",
    ),
    (["run", "linpac", "--help"], 'no benchmark "linpac"'),
    (["model", "b_eff", "--width=wide"], '--width: "wide" is not a number such as 0.5'),
    (
        ["model", "b_eff", "--board=520n", "--sizes=1,x"],
        '--sizes: "x" is not a number such as 1024',
    ),
    (["published", "b_eff", "--ranks=77"], "no published b_eff fits; known: "),
    (["boards", "cardboard"], "no board 'cardboard'; known: 520n"),
    (["show", "gone.json"], "gone.json: No such file or directory"),
    (["plot", "gone.json", "-o", "r.png"], "gone.json: No such file or directory"),
    (["list", "nbody"], 'no benchmark "nbody"; known: b_eff'),
    (["compare", "one"], "the following arguments are required: b"),
    (["kernels", "build", "nbody"], 'no benchmark "nbody"; known: b_eff'),
]


@pytest.mark.parametrize(("words", "line"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input(refused, words, line):
    refused(words, line)


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
    shell = f"{command}; echo $? > '{tmp_path}'/$OMPI_COMM_WORLD_RANK"
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


@pytest.mark.parametrize(("mpirun", "ranks"), [(False, 1), (True, 1), (False, 2)])
def test_lines_come_one_by_one_through_a_pipe(mpirun, ranks):
    """The line of the first size is here while the others take hours."""
    under = [*mpirun_command(), "-n", "1"] if mpirun else []
    words = [*under, sys.executable, "-m", "hpccfpga", "run", "b_eff"]
    words += [f"--ranks={ranks}", "--sizes=1" + 900 * ",4194304"]
    words += ["--reps=20", "--loop-upper=100", "--loop-lower=100"]
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, env=buffered, text=True
    ) as process:
        late = threading.Timer(GUARD, process.kill)
        late.start()
        lines = [process.stdout.readline() for _ in range(3)]
        late.cancel()
        process.terminate()
    assert "   1   " in lines[2], lines  # with a tag under mpirun


@pytest.mark.parametrize(
    ("ends", "term", "moves"),
    [
        (pty.openpty, "xterm", True),
        (pty.openpty, "dumb", False),
        (os.pipe, "xterm", False),
    ],
)
def test_a_bar_moves_below_the_lines_on_a_terminal(monkeypatch, ends, term, moves):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "200")
    reader, writer = ends()
    told = []

    def look():
        with open(reader, "rb", buffering=0) as eye, suppress(OSError):  # at its end
            while chunk := eye.read(1 << 16):
                told.append(chunk)

    watcher = threading.Thread(target=look)
    watcher.start()
    with open(writer, "w") as screen, redirect_stdout(screen):
        assert cli.main(["run", "b_eff", "--exchange=host", *SMALL]) == 0
    watcher.join()
    output, wiped = b"".join(told).decode(), "\x1b[2K"
    assert ("\x1b" in output) == (wiped in output) == moves
    assert ("1/2" in output) == ("2/2" in output) == moves
    stays = [line.rpartition(wiped)[2].split() for line in output.split("\n")]
    assert [words[0] for words in stays[:4]] == ["b_eff", "message", "1", "64"]


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
    most = f"the {64 * emulation.cpus()} started here at most, 64 per core"
    refused(["run", "b_eff", "--ranks=100000", "--quiet"], most)


def test_doctor_asks_for_the_driver_of_a_named_folder(command, tmp_path):
    names = {"OCL_ICD_VENDORS": str(tmp_path)}
    out = command("doctor", **names).stdout
    assert f"is a working driver in OCL_ICD_VENDORS={tmp_path}? Some loaders" in out
    names = runtimes_of(tmp_path)
    out = command("doctor", **names).stdout
    assert f"is a working driver in OCL_ICD_VENDORS={tmp_path}/ and" in out
    assert out.endswith("only --device host and --exchange host, on plain memory\n")
    for words in ("--device=host", "--exchange=host"):
        assert command("run", "b_eff", words, "--sizes=1", **names).returncode == 0


def test_doctor_says_what_to_install(capfd, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path / "file" / "x"))
    assert doctor.examine()
    out = capfd.readouterr().out
    assert "mpirun: one rank only: mpirun not found" in out
    assert "apt install openmpi-bin" in out
    assert "lacking  kernel cache: kernels are built anew for each run: " in out
    tmp_path.chmod(0o777)
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    assert not doctor.examine()
    out = capfd.readouterr().out
    assert f"MISSING  kernel cache: {tmp_path} has mode 0777: other users may" in out
    assert "set HPCCFPGA_CACHE" in out
    assert "what runs: only --device host and --exchange host" in out


def test_a_failed_run_keeps_an_earlier_result(command, tmp_path):
    path, failed = tmp_path / "r.json", tmp_path / "r.failed.json"
    words = ("run", "b_eff", "--reps=1", f"--json={path}")
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
        ("run b_eff --sizes=1 --reps=1", ">&-", 0),
        ("run b_eff --sizes=1 --reps=1", "<&- >&- 2>&-", 0),
        ("run b_eff --sizes=1 --reps=1", ">/dev/full", 3),
        ("list", ">/dev/full", 3),
    ],
)
def test_streams_that_are_closed_or_full(words, streams, code):
    """What cannot be told changes no exit code, and takes no file's place."""
    line = f"{sys.executable} -m hpccfpga {words} {streams}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=GUARD)
    assert done.returncode == code
    assert b"internal" not in done.stderr
