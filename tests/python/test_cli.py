"""The command: what it prints and writes, its exit codes, one line for each error."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
from conftest import GUARD, ours, runtimes_of

import hpccfpga as hf
from hpccfpga import cli, components, doctor
from hpccfpga.mpirun import command as mpirun_command
from hpccfpga.progress import Watch
from hpccfpga.records import Records

SMALL = ["--sizes=1,64", "--reps=2", "--loop-upper=64"]


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
    code, out, _ = call("calibrate", *SMALL, "--quiet", f"--json={path}")
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
        (["list"], "\nauto: of pcie, pipelined, shared, one as fast as the fastest"),
        (["list", "b_eff"], "--sizes          B     1,2,...,1048576"),
        (["list", "linpack"], "none|classical|gmres"),
        (["published", "b_eff"], "ranks"),
        (["doctor"], "a run is possible"),
    ):
        code, out, err = call(*words)
        assert (code, err) == (0, ""), words
        assert text in out


def test_devices_without_opencl_say_where_to_look(call, monkeypatch):
    hint = "no OpenCL device here: hpccfpga doctor says what is missing"
    for name, failures, told in (
        ("opencl:0", {}, False),
        ("host:0", {}, True),
        ("host:0", {"opencl": "no driver"}, False),  # which says more
    ):
        found = Records("device", [{"device": name}])
        answer = (found, failures)
        monkeypatch.setattr(components, "survey", lambda answer=answer: answer)
        assert (hint in "".join(call("devices")[1:])) is told


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
    with pytest.raises(SystemExit) as stopped:
        cli.main(["help"])
    assert stopped.value.code == 0
    assert capfd.readouterr().out.split() == words_of_help(capfd).split()
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


def test_a_calibration_that_is_saved_is_made(call):
    words = ["--sizes=1024", "--reps=1", "--quiet", "--save-calibration=c.json"]
    assert call("run", "b_eff", *words)[0] == 0
    assert hf.Result.from_json("c.json").benchmark == "calibration"


def test_help_lists_the_parameters(capfd):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", "b_eff", "--help"])
    assert stopped.value.code == 0
    assert "--loop-upper" in capfd.readouterr().out


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


def test_doctor_asks_for_the_driver_of_a_named_folder(command, tmp_path):
    names = runtimes_of(tmp_path)
    out = command("doctor", **names | {"OCL_ICD_VENDORS": str(tmp_path)}).stdout
    assert f"is a working driver in OCL_ICD_VENDORS={tmp_path} and" in out
    assert f"OPENCL_VENDOR_PATH={tmp_path}/? Some loaders" in out
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


def test_doctor_goes_on_where_mpi4py_does_not_load(capfd, monkeypatch):
    monkeypatch.setattr(doctor, "_ASK_MPI", "import time; time.sleep(99)")
    monkeypatch.setattr(doctor, "_LONGEST", 0.2)
    assert doctor.examine()
    said = "lacking  mpi4py: one rank only: it does not load within 0.2 s"
    assert said in capfd.readouterr().out


def test_files_are_named_where_several_are_shown(call, monkeypatch):
    """In the legend of a plot, in a comparison, and where they share no axis."""
    words = ["--device=host", "--sizes=8", "--reps=1", "--quiet"]
    for benchmark, name in (("b_eff", "a"), ("b_eff", "b"), ("gemm", "g")):
        assert call("run", benchmark, *words, f"--json={name}.json")[0] == 0
    _, out, _ = call("compare", "a.json", "b.json")
    assert out.splitlines()[:2] == [
        f"{name}: {name}.json, measured pcie, 1 rank, emulated" for name in "ab"
    ]
    assert call("plot", "a.json", "b.json", "-o", "p.svg")[0] == 0
    text = Path("p.svg").read_text()
    for name in "ab":
        assert f"{name}.json: measured pcie, 1 rank, EMULATED" in text
    assert call("plot", "a.json", "-o", "p.svg")[0] == 0
    assert "a.json" not in Path("p.svg").read_text()
    code, _, err = call("plot", "a.json", "g.json", "-o", "p.svg")
    assert (code, err) == (
        2,
        "hpccfpga: g.json (gemm) is over matrix_size, not over message_size as a.json "
        "(b_eff): no axis is common to both\n",
    )
