"""Jobs that end before they are done: signals, kills, and what must not stay behind."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import GUARD, QUICKLY, comes, ours

import hpccfpga as hf
from hpccfpga import keeper, stops
from hpccfpga.keeper import SHARED_MEMORY, marked, new_mark
from hpccfpga.mpirun import command
from processes import gone, leftovers, rank_of, running, stand_in


def test_a_deadline_ends_all(capfd, monkeypatch):
    monkeypatch.setenv(mark := new_mark(), "")
    with pytest.raises(hf.Error, match=r"no result after 4 s: the ranks were stopped"):
        hf.run("b_eff", ranks=2, timeout=4, sizes=[64], reps=999_983)
    assert gone(mark)
    assert ours(capfd.readouterr().err) == ""


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "hung up"),
    ],
)
def test_an_interrupt_ends_all(number, code, line):
    mark = new_mark()
    words = ["run", "b_eff", "--ranks=2", "--sizes=64", "--reps=999999"]
    words.append("--exchange=host")
    # The command, mpirun and both ranks.
    process = running([sys.executable, "-m", "hpccfpga", *words], mark, 4)
    process.send_signal(number)
    _, err = process.communicate(timeout=GUARD)  # a sample of the run takes days
    assert (process.returncode, ours(err)) == (code, f"hpccfpga: {line}\n")
    assert gone(mark)


@pytest.mark.parametrize(
    ("rank", "number"),
    [
        (None, signal.SIGINT),
        (None, signal.SIGTERM),
        (0, signal.SIGINT),
        (0, signal.SIGHUP),
        (1, signal.SIGTERM),
    ],
)
def test_a_signal_that_asks_a_rank_or_mpirun_to_end(rank, number):
    """One answer, whoever of them is asked, and however far they come meanwhile."""
    if "--tag-output" not in command():
        pytest.skip("what is known of Open MPI 4 is tested")
    mark = new_mark()
    words = ["run", "b_eff", "--ranks=2", "--sizes=64", "--reps=999947"]
    words.append("--exchange=host")
    process = subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {mark: ""},
    )
    assert process.stdout.readline().startswith("b_eff")
    os.kill(rank_of(mark, rank), number)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 130, err
    line = "hpccfpga: interrupted"
    assert ours(err) in (f"{line}\n", f"{line}: mpirun was told to end\n")
    assert gone(mark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_asks_mpirun_to_end_before_ranks_speak(number, tmp_path):
    """Open MPI tells why it fails, but nothing of who asked it to end."""
    if "--tag-output" not in command():
        pytest.skip("what is known of Open MPI 4 is tested")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, time\n"
        "if os.environ.get('OMPI_COMM_WORLD_RANK'):\n"
        "    time.sleep(600)\n"
    )
    mark = new_mark()
    process = subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", "run", "b_eff", "--ranks=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path), mark: ""},
    )
    assert comes(lambda: rank_of(mark, 0))
    os.kill(rank_of(mark, None), number)
    out, err = process.communicate(timeout=GUARD)
    line = "hpccfpga: interrupted: mpirun was told to end\n"
    assert (process.returncode, out, ours(err)) == (130, "", line)
    assert gone(mark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("asked", ["version", "ranks"])
def test_a_signal_that_ends_mpirun_before_it_hears_any(
    number, asked, monkeypatch, tmp_path
):
    kill, version = f"kill -{int(number)} $$", {}
    if asked == "version":
        version = {"version": kill}
    stand_in(tmp_path, monkeypatch, kill, **version)
    with pytest.raises(KeyboardInterrupt, match="interrupted: mpirun was told to end"):
        hf.run("b_eff", ranks=2)


INTERRUPTED_AT = """
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, *more):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
runpy.run_module(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize(
    ("module", "read"),
    [
        ("hpccfpga", "typing"),
        ("hpccfpga", "hpccfpga.errors"),
        ("hpccfpga._rank", "hpccfpga.errors"),
    ],
)
def test_an_interrupt_while_modules_are_read(module, read):
    """All but those that arrange for it; without `site`, which has read others."""
    answer = subprocess.run(
        [sys.executable, "-S", "-c", INTERRUPTED_AT, module, read],
        env=os.environ | {"PYTHONPATH": str(Path(keeper.__file__).parents[1])},
        timeout=GUARD,
        capture_output=True,
        text=True,
    )
    assert (answer.returncode, ours(answer.stderr)) == (-signal.SIGINT, "")


LINKER = """#!{python} -S
import os, sys
calls = len(os.listdir({seen!r}))
os.mkdir(os.path.join({seen!r}, str(calls)))
if calls == {call}:
    os.killpg(0, {number})
os.execv({linker!r}, sys.argv)
"""


@pytest.mark.parametrize(  # to build kernels, to start one
    ("call", "number"), [(0, signal.SIGINT), (3, signal.SIGTERM)]
)
def test_a_signal_to_all_while_a_kernel_is_linked(tmp_path, number, call):
    """As from a terminal or mpirun: the linker gets it, too, and lives."""
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "ld").write_text(
        LINKER.format(
            python=sys.executable,
            seen=str(seen),
            call=call,
            number=int(number),
            linker=shutil.which("ld"),
        )
    )
    (tmp_path / "ld").chmod(0o755)
    folders = ("COMPILER_PATH", "POCL_CACHE_DIR", "HPCCFPGA_CACHE")
    answer = subprocess.run(
        [sys.executable, "-m", "hpccfpga", "run", "b_eff", "--sizes=64", "--reps=1"],
        env=os.environ | dict.fromkeys(folders, str(tmp_path)) | QUICKLY,
        timeout=GUARD,
        capture_output=True,
        text=True,
        process_group=0,
    )
    if len(list(seen.iterdir())) <= call:
        pytest.skip("PoCL links here by itself, or not as often")
    code, line = {2: (130, "interrupted"), 15: (143, "terminated")}[number]
    assert (answer.returncode, ours(answer.stderr)) == (code, f"hpccfpga: {line}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_is_ignored_stays_ignored(number):
    """As those of nohup and the background are; device host has no LLVM that minds."""
    words = [sys.executable, "-m", "hpccfpga", "run", "b_eff", "--exchange=host"]
    words += ["--sizes=1,2", "--reps=9"]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    while not select.select([process.stdout], [], [], 0.01)[
        0
    ]:  # while modules are read
        process.send_signal(number)
    for _ in range(3):  # a line says what runs, one names columns
        process.stdout.readline()
        process.send_signal(number)
    process.communicate(timeout=GUARD)
    assert process.returncode == 0


def test_a_keeper_that_is_stopped_costs_no_time(monkeypatch, tmp_path):
    monkeypatch.setattr(keeper.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(keeper, "GRACE", 1e3)
    with keeper.Keeper() as stopped:
        stopped.process.send_signal(signal.SIGSTOP)
        assert comes(lambda: stops.stopped(stopped.process.pid))
        before = time.monotonic()
    assert time.monotonic() - before < 100, "ten times that grace"
    assert not any(folder.exists() for folder in stopped.folders)


def test_a_keeper_that_is_stopped_before_it_speaks(monkeypatch, tmp_path):
    script = tmp_path / "keeper.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n")
    monkeypatch.setattr(keeper, "__file__", str(script))
    monkeypatch.setattr(stops, "SHORTEST", 3.0)
    monkeypatch.setattr(keeper, "STARTING", 30.0)
    with pytest.raises(hf.Error, match=r"process \d+, has been stopped for 3 s"):
        hf.run("b_eff", ranks=2)
    assert gone(str(script))


def test_an_interrupt_of_a_users_own_command():
    words = [*command(), "-n", "2", sys.executable, "-m", "hpccfpga"]
    words += ["run", "b_eff", "--reps=999971"]
    process = running(words, mark := new_mark(), 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GUARD)
    assert process.returncode  # mpirun's own
    assert out == ""
    if "--tag-output" in words:  # Open MPI 5 passes nothing on once it was interrupted
        assert "hpccfpga: interrupted" in err
    assert gone(mark)


def test_all_ends_at_once_when_the_launcher_is_killed(tmp_path):
    words = ["run", "b_eff", "--ranks=2", "--quiet", "--reps=999961"]
    mark = new_mark()
    process = subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", *words],
        env=os.environ | {"TMPDIR": str(tmp_path), mark: ""},
    )
    # The command, its keeper, mpirun and both ranks.
    assert comes(lambda: len(leftovers(mark)) >= 5)
    for rank in (0, 1):  # they do not see that nobody listens: the keeper ends all
        os.kill(rank_of(mark, rank), signal.SIGSTOP)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert gone(mark)
    assert comes(lambda: left(tmp_path, process.pid) == [])


def test_ranks_end_when_launcher_and_keeper_are_killed(tmp_path):
    """They see that nobody reads what they tell; the next keeper removes the rest."""
    words = ["run", "b_eff", "--ranks=2", "--sizes=1", "--reps=999953"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", *words],
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path), (mark := new_mark()): ""},
    )
    assert process.stdout.readline().startswith(b"b_eff"), "its only point has begun"
    if "--tag-output" in command():  # Open MPI 4
        segments = SHARED_MEMORY.glob(f"hpccfpga-{process.pid}-*/vader_segment.*")
        assert list(segments), "kills.py does not look for those that lie elsewhere"
    for pid in marked(mark):
        if b"keeper.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert gone(mark)
    assert left(tmp_path, process.pid)
    next_keeper(tmp_path)
    next_keeper(SHARED_MEMORY)
    assert left(tmp_path, process.pid) == []


def keeper_of(parent, mark):
    """A keeper, once it has made its folder, and the folder."""
    words = [sys.executable, "-I", "-S", keeper.__file__, mark, str(parent)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return process, Path(os.fsdecode(process.stdout.read()).rstrip("\0"))


def killed_keeper(parent, mark):
    """Folder of a keeper that was killed."""
    process, folder = keeper_of(parent, mark)
    process.kill()
    process.communicate()
    return folder


def next_keeper(parent):
    """Names that a keeper leaves in the parent."""
    process, folder = keeper_of(parent, new_mark())
    process.communicate(b"done", timeout=GUARD)
    assert process.returncode == 0
    assert not folder.exists(), "its own"
    return {path.name for path in parent.iterdir()}


def test_what_a_killed_keeper_left_goes_with_the_next(tmp_path):
    folder = killed_keeper(tmp_path, new_mark())
    (folder / "of").mkdir()
    assert next_keeper(tmp_path) == set()


def test_what_looks_like_the_folder_of_a_keeper_stays(tmp_path):
    """A user's, a link, a copy of one of ours, one that was renamed, one cut short."""
    ours = killed_keeper(tmp_path, new_mark())
    copy, renamed, users = (tmp_path / f"hpccfpga-2026-{n}bcdefgh" for n in "acu")
    shutil.copytree(ours, copy)
    ours.rename(renamed)
    short = killed_keeper(tmp_path, new_mark())
    os.truncate(short / keeper.CLAIM, 40)
    users.mkdir()
    (users / "results.json").write_text("a year of work")
    (tmp_path / "hpccfpga-4-abcdefgh").symlink_to(short)
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    before = {path.name for path in tmp_path.iterdir()}
    assert len(before) == 5
    assert next_keeper(tmp_path) == before


def test_the_folder_of_a_job_that_lives_stays(monkeypatch, tmp_path):
    """Of its keeper, its launcher and its ranks, any may have been killed."""
    process, kept = keeper_of(tmp_path, new_mark())
    monkeypatch.setattr(keeper.tempfile, "gettempdir", lambda: str(tmp_path))
    with keeper.Keeper() as launched:
        launched.process.kill()
        launched.process.wait()
        running = killed_keeper(tmp_path, mark := new_mark())
        rank = subprocess.Popen(["sleep", "600"], env={mark: ""})
        found = next_keeper(tmp_path)
        rank.kill()
        rank.wait()
    assert found == {kept.name, running.name, launched.folders[0].name}
    process.communicate(b"done", timeout=GUARD)
    assert next_keeper(tmp_path) == set()


def left(folder, launcher):
    """Files that a launcher and its ranks have made."""
    found = list(folder.glob(f"hpccfpga-{launcher}-*"))
    return found + list(SHARED_MEMORY.glob(f"hpccfpga-{launcher}-*"))


def test_a_stray_process_that_holds_the_pipes(monkeypatch, tmp_path):
    monkeypatch.setenv(mark := new_mark(), "")
    stand_in(tmp_path, monkeypatch, "sleep 600 & exit 1")
    before = time.monotonic()
    with pytest.raises(hf.Error, match="mpirun ended with code 1"):
        hf.run("b_eff", ranks=2)
    assert time.monotonic() - before < 300
    assert gone(mark)


def test_an_interrupt_just_after_mpirun_was_started(monkeypatch, tmp_path):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["hpccfpga.launch"]._Ranks, "__enter__", interrupt)
    monkeypatch.setenv(mark := new_mark(), "")
    stand_in(tmp_path, monkeypatch, "exec sleep 600")
    with pytest.raises(KeyboardInterrupt):
        hf.run("b_eff", ranks=2)
    assert gone(mark)


def test_a_keeper_that_is_slow_goes_on_alone(monkeypatch, tmp_path):
    """As on a disk that stands still: the launcher waits for its end, but not for ever.

    It leaves the folders, too: to remove them may take as long.
    """
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    (tmp_path / "keeper.py").write_text(
        "import os, time\n"
        f"os.write(1, {b''.join(bytes(f) + bytes(1) for f in folders)!r})\n"
        "os.close(1)\n"
        f"while not os.path.exists({str(tmp_path / 'moves')!r}):\n"
        "    time.sleep(0.01)\n"
        f"for folder in {list(map(str, folders))!r}:\n"
        "    os.rmdir(folder)\n"
    )
    monkeypatch.setattr(keeper, "__file__", str(tmp_path / "keeper.py"))
    monkeypatch.setattr(keeper, "LEAVING", 0.1)
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "JOB", "../job.json")
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "EVENTS", "../events")
    stand_in(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(hf.Error, match="mpirun ended with code 1"):
        hf.run("b_eff", ranks=2)
    assert all(folder.exists() for folder in folders)
    (tmp_path / "moves").touch()
    assert gone(str(tmp_path / "keeper.py"))
    assert not any(folder.exists() for folder in folders)


def test_waits_for_an_mpirun_that_hangs_have_one_bound(monkeypatch, tmp_path):
    """No signal reaches it; each wait alone would be a quarter of an hour."""
    launch = sys.modules["hpccfpga.launch"]
    for module in (launch, keeper):
        monkeypatch.setattr(module, "GRACE", 1e3)
    monkeypatch.setattr(keeper, "LEAVING", 1.0)
    monkeypatch.setattr(launch, "LEAVING", 1.0)
    monkeypatch.setattr(launch, "ENDING", 0.5)
    monkeypatch.setattr(launch.os, "kill", lambda *signal: None)
    monkeypatch.setenv(mark := new_mark(), "")
    stand_in(tmp_path, monkeypatch, "trap '' INT TERM HUP; sleep 600; exit")
    before = time.monotonic()
    with pytest.raises(hf.Error, match="no result after 1 s: the ranks were stopped"):
        hf.run("b_eff", ranks=2, timeout=1)
    assert time.monotonic() - before < 300
    assert gone(mark), "by the keeper"


SLOW_DISK = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import keeper
rmdir, busy = os.rmdir, [True] * 3
def tries(*path, **how):
    if busy:
        busy.pop()
        raise OSError("a process that nothing ends has made a file")
    rmdir(*path, **how)
os.rmdir = tries
keeper.main()
"""


def test_folders_into_which_somebody_still_writes_are_removed(tmp_path):
    where = Path(keeper.__file__).parent
    words = [sys.executable, "-c", SLOW_DISK, where, new_mark(), tmp_path]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert Path(os.fsdecode(process.stdout.read()).rstrip("\0")).is_dir()
    process.communicate(timeout=GUARD)  # the launcher was killed
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_goes_with_the_next_keeper(monkeypatch, tmp_path):
    folder = killed_keeper(tmp_path, new_mark())
    (folder / "of").mkdir()
    with monkeypatch.context() as busy:
        busy.setattr(keeper.shutil, "rmtree", lambda *path, **how: None)
        keeper.remove(folder)
    assert (folder / "of").is_dir()
    assert next_keeper(tmp_path) == set()


def test_what_nothing_ends_does_not_keep_the_keeper(monkeypatch):
    monkeypatch.setattr(keeper, "marked", lambda mark: iter([2**22 + 1]))  # no such
    monkeypatch.setattr(keeper, "LONGEST", 0.1)
    monkeypatch.setattr(keeper, "GRACE", 0.05)
    before = time.monotonic()
    keeper.end("mark")
    assert time.monotonic() - before >= 0.1


def test_the_processes_of_a_job_are_found_by_its_mark():
    mark = new_mark()
    words = ["sh", "-c", "sleep 60 & wait"]
    process = subprocess.Popen(words, env=os.environ | {mark: ""})
    assert comes(lambda: len(list(marked(mark))) == 2)
    found = list(marked(mark))
    assert process.pid in found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert gone(mark)
    assert list(marked(mark)) == []


def test_an_environment_that_ends_where_it_begins_is_looked_at_again(monkeypatch):
    """As Linux shows it between two writes while a program is executed.

    One that gets no processor then is shown like that at many looks.
    """
    process = subprocess.Popen(["sleep", "60"], env={(mark := new_mark()): ""})
    assert comes(lambda: process.pid in set(marked(mark)))
    path, read = f"/proc/{process.pid}", keeper._file
    stat = b"1 (sleep) R" + 46 * b" 0" + b" 4096 4096"
    looks = 3 * keeper.LOOKS
    shown = {f"{path}/environ": looks * [b""], f"{path}/stat": looks * [stat]}
    monkeypatch.setattr(
        keeper, "_file", lambda at: shown[at].pop() if shown.get(at) else read(at)
    )
    found = set(marked(mark))
    process.kill()
    process.wait()
    assert process.pid in found
    assert not any(shown.values())


def test_a_process_that_executes_another_program_is_found(tmp_path):
    """Linux shows no environment of it for a moment; here it does little else."""
    (script := tmp_path / "again").write_text('#!/bin/sh\nexec "$0"\n')
    script.chmod(0o755)
    process = subprocess.Popen([script], env={(mark := new_mark()): ""})
    missed = sum(process.pid not in set(marked(mark)) for _ in range(100))
    process.kill()
    process.wait()
    assert missed == 0
