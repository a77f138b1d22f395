"""Ranks that mpirun starts for us: results, errors, kills, deadlines, no leftovers."""

import gc
import os
import resource
import shlex
import subprocess
import sys
import warnings

import pytest
from conftest import GUARD, comes, ours

import hpccfpga as hf
from hpccfpga import stops
from hpccfpga.job import MODEL, calibrate_task, job, run_task
from hpccfpga.keeper import new_mark
from hpccfpga.launch import start
from hpccfpga.mpirun import command
from processes import gone, stand_in

SMALL = {"sizes": [1, 64], "reps": 2, "loop_upper": 64}


# ---- it works ----


def test_a_result_comes_back(capfd):
    told = []
    result = hf.run("b_eff", ranks=2, progress=lambda *row: told.append(row), **SMALL)
    assert result.verified
    assert result.ranks == 2
    assert result["samples"].shape == (2, 2, 2)
    assert [row[:2] for row in told] == [(0, 2), (1, 2)]
    assert told[1][2]["message_size"] == 64
    assert result.provenance["command"] == (
        "hpccfpga run b_eff --exchange=pcie --sizes=1,64 --reps=2 --loop-upper=64 "
        "--ranks=2"
    )
    out, err = capfd.readouterr()
    assert (out, ours(err)) == ("", "")


def test_no_file_is_left_open():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        hf.run("b_eff", ranks=2, exchange="host", **SMALL)
        gc.collect()
    assert told == []


def test_one_rank_and_progress(capfd):
    result = hf.run("b_eff", ranks=1, exchange="host", progress=True, **SMALL)
    assert result.ranks == 1
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 4
    assert out.startswith("b_eff host, 1 rank ...\n")
    assert ours(err) == ""


def test_a_calibration_comes_back():
    result = hf.calibrate(ranks=2, sizes=[64], reps=2, loop_upper=64)
    assert result.benchmark == "calibration"
    assert result["write_samples"].shape == (1, 2, 2)


def test_from_a_rank_of_another_mpirun(mpirun):
    answer = mpirun(
        1, "say(hf.run('b_eff', ranks=2, exchange='host', sizes=[8], reps=2).ranks)"
    )
    assert answer.stdout == "2\n", answer.stderr


# ---- it does not ----


@pytest.mark.parametrize(
    ("kind", "options", "line"),
    [
        (LookupError, {"benchmark": "nbody"}, 'no benchmark "nbody"; known: b_eff'),
        (
            LookupError,
            {"exchange": "wifi"},
            'no exchange scheme "wifi"; known: chan',
        ),
        (ValueError, {"sizes": [0]}, "sizes: 0 is not within"),
        (ValueError, {"reps": None}, "reps: None is not a number"),
        (ValueError, {"colour": 1}, 'b_eff has no parameter "colour"; known: sizes'),
        (ValueError, {"kernel": "/nowhere.cl"}, "kernel: /nowhere.cl is of no use"),
        (ValueError, {"ranks": 0}, "ranks: 0 is not a number from 1 up"),
        (ValueError, {"ranks": "two"}, "ranks: 'two' is not a number from 1 up"),
        (ValueError, {"timeout": 0}, "timeout: 0 is not a positive number"),
        (ValueError, {"ranks": None, "timeout": -1}, "timeout: -1 is not a positive"),
    ],
)
def test_errors_of_the_ranks_are_raised_here(capfd, kind, options, line):
    with pytest.raises(kind) as raised:
        hf.run(**{"benchmark": "b_eff", "ranks": 2, "exchange": "host"} | options)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)
    assert ours(capfd.readouterr().err) == ""


@pytest.mark.parametrize(
    ("limit", "value"), [(resource.RLIMIT_NOFILE, 24), (resource.RLIMIT_FSIZE, 8192)]
)
def test_an_mpirun_that_starts_nothing(monkeypatch, limit, value, capfd):
    """With too few files or too short ones it may sit there for ever."""
    mpirun = command()
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "STARTING", 7.0)
    monkeypatch.setattr("hpccfpga.mpirun.command", lambda *more: [
        sys.executable, "-c",
        f"import os, resource, sys\nresource.setrlimit({limit}, ({value},) * 2)\n"
        "os.execvp(sys.argv[1], sys.argv[1:])",
        *mpirun,
    ])  # fmt: skip
    late = "(no rank has|rank 0 has not) started within 7 s; mpirun said: "
    ended = r"mpirun (hung|ended with code [1-9]\d*) and no result: "
    alone = "rank [01] waited 60 s for the other ranks to start$"  # its own STARTING
    with pytest.raises(hf.Error, match=f"^({late}|{ended}|{alone})") as raised:
        hf.run("b_eff", ranks=2, deadline=2, **SMALL)
    assert "\n" not in str(raised.value)
    out, err = capfd.readouterr()
    assert (out, ours(err)) == ("", "")


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("sleep 6; exec echo HYDRA", "code 1 and no result: neither"),
        ("kill -STOP $$", r"mpirun, process \d+, has been stopped for 5 s"),
    ],
)
def test_what_is_slow_is_not_stopped(monkeypatch, tmp_path, query, line):
    """Six seconds for a version and six for the first word are a busy machine."""
    stand_in(tmp_path, monkeypatch, "sleep 6; exit 1", version=query)
    with pytest.raises(hf.Error, match=line):
        hf.run("b_eff", ranks=2, deadline=1)


def test_ranks_that_mpirun_ends_for_lack_of_files_were_not_interrupted(
    monkeypatch, tmp_path
):
    """It asks them to end, as a user does; nobody has pressed Ctrl-C."""
    path, *_ = command()
    begun = shlex.quote(f"{tmp_path}/begun")
    stand_in(
        tmp_path,
        monkeypatch,
        f'{shlex.quote(path)} "$@" &\n'
        f"until ls {begun} > /dev/null 2>&1; do sleep 0.1; done\n"
        "echo '[n:1] PMIX ERROR: OUT-OF-RESOURCE in file dstore_base.c' >&2\n"
        "kill -TERM $(cat /proc/$!/task/$!/children)\nwait $!",
        version=f"exec {shlex.quote(path)} --version",
    )
    with pytest.raises(hf.Error, match=r"code .* and no result: .*OUT-OF-RESOURCE"):
        hf.run(
            "b_eff",
            ranks=2,
            exchange="host",
            sizes=[1, 2**25],
            reps=1000,
            loop_upper=1,
            progress=lambda *_: (tmp_path / "begun").touch(),
        )


def test_a_rank_that_is_slow_to_start_is_waited_for(monkeypatch, tmp_path):
    """Longer than for a stopped one, before its first word and before MPI_Init."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, time\n"
        "if '1' in map(os.environ.get, ('OMPI_COMM_WORLD_RANK', 'PMI_RANK')):\n"
        "    time.sleep(9)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert hf.run("b_eff", ranks=2, deadline=4, exchange="host", **SMALL).verified


def test_a_rank_that_is_stopped_before_it_speaks(monkeypatch, tmp_path):
    """It is the only one: no other rank waits for it."""
    monkeypatch.setenv(mark := new_mark(), "")
    stand_in(tmp_path, monkeypatch, "sh -c 'kill -STOP $$; sleep 600' & wait")
    with pytest.raises(hf.Error, match=r"sh, process \d+, has been stopped for 5 s"):
        hf.run("b_eff", ranks=2, deadline=1)
    assert gone(mark)


def test_the_name_of_what_is_stopped_may_be_any_bytes():
    rename = "import ctypes, os, signal; ctypes.CDLL(None).prctl(15, b'a\\xff)')"
    words = [sys.executable, "-c", f"{rename}; os.kill(os.getpid(), signal.SIGSTOP)"]
    process = subprocess.Popen(words)
    try:
        name = "a\N{REPLACEMENT CHARACTER})"
        assert comes(lambda: stops.stopped(process.pid) == name)
    finally:
        process.kill()
        process.wait()


def test_a_job_that_was_stopped_as_a_whole_goes_on(monkeypatch):
    """As a batch system does it: who looks was stopped, too."""
    now = [0.0]
    monkeypatch.setattr(stops.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stops, "stopped", lambda pid: "mpirun")
    looks = stops.Stops(5)
    for now[0] in (1.0, 3.0, 1000.0, 1002.0, 1004.0):
        looks.look([7])
    now[0] = 1006.0
    with pytest.raises(hf.Error, match="mpirun, process 7, has been stopped for 5 s"):
        looks.look([7])


def test_a_silent_mpirun(monkeypatch, tmp_path):
    monkeypatch.setenv(mark := new_mark(), "")
    stand_in(tmp_path, monkeypatch, "echo not enough of this; exec sleep 600")
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "STARTING", 5.0)
    line = "no rank has started within 5 s; mpirun said: not enough of this"
    with pytest.raises(hf.Error, match=line):
        hf.run("b_eff", ranks=2, deadline=1)
    assert gone(mark)


@pytest.mark.parametrize(
    "script",
    [
        "echo 'but 1 process returned a non-zero exit code.'; exit 130",
        "echo '[1] Traceback' >&2; echo '[1] KeyboardInterrupt' >&2; exit 1",
    ],
)
def test_a_rank_that_is_interrupted_before_it_speaks(monkeypatch, tmp_path, script):
    """As the package is read; while Python reads its own modules, it says so itself."""
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted$"):
        hf.run("b_eff", ranks=2)


def test_a_rank_that_speaks_is_heard(monkeypatch, tmp_path, capfd):
    noise = "[1] [n7:12] noise", "[1] [n7][[9,1],0][a/b.c:26:call] noise of Open MPI 5"
    script = "".join(f"echo '{line}' >&2; " for line in ("[0] a word", *noise))
    stand_in(tmp_path, monkeypatch, f"{script} exit 1")
    with pytest.raises(hf.Error, match="code 1 and no result: a word"):
        hf.run("b_eff", ranks=2)
    err = capfd.readouterr().err
    assert "word" not in err, "rank 0 has not said that it is here"
    assert "noise" not in err


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("exit 1", "neither it nor a rank said why"),
        ("echo '[0] [n7:12] no shared memory' >&2; exit 1", "[n7:12] no shared memory"),
        (
            "echo '[0] *** An error in MPI' >&2; echo '[0] *** on NULL' >&2; exit 1",
            "*** An error in MPI on NULL",
        ),
    ],
)
def test_why_there_is_no_result(monkeypatch, tmp_path, script, line):
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(hf.Error) as raised:
        hf.run("b_eff", ranks=2)
    assert str(raised.value) == f"mpirun ended with code 1 and no result: {line}"


@pytest.mark.parametrize("signal", ["-", "''"])
def test_an_mpirun_that_we_end_was_not_killed_by_others(monkeypatch, tmp_path, signal):
    """One that hangs once its ranks are gone: politely or not, that is our signal."""
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "ENDING", 0.5)
    hangs = "exec 1>&- 2>&-; while :; do sleep 0.1; done"
    stand_in(tmp_path, monkeypatch, f"trap {signal} TERM; echo no room >&2; {hangs}")
    with pytest.raises(hf.Error, match="mpirun hung and no result: no room"):
        hf.run("b_eff", ranks=2)


def test_a_full_folder_for_temporary_files(monkeypatch, tmp_path):
    """mpirun would say nothing that helps, or wait for ever."""
    monkeypatch.setattr(sys.modules["hpccfpga.launch"], "ROOM", 2**60)
    line = r"/.* has room for \d+ B and \d+ files; mpirun needs .*: set TMPDIR"
    with pytest.raises(hf.Error, match=line):
        hf.run("b_eff", ranks=2)


def test_more_sizes_than_a_command_line_has(monkeypatch, tmp_path):
    """A job is no command line: it has no longest length."""
    script = 'for folder; do true; done; grep -c 99999 "$folder/job.json" >&2; exit 1'
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(hf.Error, match=r"no result: 1$"):
        hf.run("b_eff", ranks=2, sizes=range(1, 100_000))


@pytest.mark.parametrize("words", [["run", "b_eff"], ["run", "b_eff", "--ranks=2"]])
def test_few_addresses_are_told(words):
    """A runtime that does not load for want of them is as one that is not there."""
    limit = "ulimit -v 8000000; exec "
    command = shlex.join([sys.executable, "-m", "hpccfpga", *words])
    done = subprocess.run(
        ["sh", "-c", limit + command],
        env=os.environ | {"OCL_ICD_VENDORS": "/nowhere/"},
        capture_output=True,
        text=True,
        timeout=GUARD,
    )
    assert done.returncode == 3
    assert (
        "; or the limit of 7812 MiB of addresses (ulimit -v) is too low" in done.stderr
    )


def test_ranks_stay_in_this_session(monkeypatch, tmp_path):
    """Linux shares processors between sessions; ranks in one of their own starve us."""
    status = "read -r pid name state parent group session rest < /proc/$$/stat"
    sid = tmp_path / "sid"
    script = f"{status}; echo $session > {shlex.quote(str(sid))}"
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(hf.Error, match="mpirun ended with code 0"):
        hf.run("b_eff", ranks=2)
    assert int(sid.read_text()) == os.getsid(0)


def test_start_gives_the_results_of_each_task():
    params = {"sizes": [64], "reps": 2, "loop_upper": 64}
    both = run_task("b_eff", None, params, MODEL)
    tasks = both, calibrate_task(params), run_task("b_eff", None, params)
    told = []
    found = start(job("pcie", None, *tasks), 2, watch=Begun(told))
    names = ["b_eff", "calibration", "calibration", "b_eff"]
    assert [one.benchmark for one in found] == names
    assert told == [
        ("b_eff pcie in turns with a calibration, 2 ranks", None),
        ("calibration, 2 ranks", None),
        ("b_eff pcie, 2 ranks", "b_eff"),
    ]


def test_ranks_tell_of_kernels_that_they_compile(tmp_path):
    kernel = tmp_path / "own.cl"
    kernel.write_text(f'#include "b_eff_memory.cl"\n/* {tmp_path} */\n')
    for expected in ["b_eff"], []:
        told = []
        params = {"sizes": [64], "reps": 2, "loop_upper": 64}
        task = run_task("b_eff", kernel, params)
        # Of several ranks the first may find what another one has compiled.
        start(job("pcie", "opencl", task), 1, watch=Compiled(told))
        assert told == expected


class Compiled:
    """Whom ranks tell of kernels."""

    def __init__(self, told):
        self.compiling = told.append

    def __call__(self, *row):
        pass


class Begun:
    """Whom ranks tell of tasks."""

    def __init__(self, told):
        self.told = told

    def begin(self, *task):
        self.told.append(task)

    def __call__(self, *row):
        pass


def test_launch_is_the_former_name(monkeypatch):
    measure = sys.modules["hpccfpga.measure"]
    monkeypatch.setattr(measure, "run", lambda *a, **o: (a, o))
    monkeypatch.setattr(measure, "calibrate", lambda *a, **o: (a, o))
    with pytest.warns(DeprecationWarning, match=r"launch: call run\(..., ranks=...\)"):
        found = hf.launch("b_eff", ranks=2, exchange="host", reps=3)
    assert found == (("b_eff",), {"ranks": 2, "exchange": "host", "reps": 3})
    with pytest.warns(DeprecationWarning, match=r"launch: call calibrate\(ranks=...\)"):
        found = hf.launch("calibration", ranks=2, exchange="host", reps=3)
    assert found == ((), {"ranks": 2, "reps": 3})


def test_ranks_are_started_or_there():
    with pytest.raises(ValueError, match="ranks: those of comm are there already"):
        hf.run("b_eff", ranks=2, comm=1)
    with pytest.raises(ValueError, match="ranks: those of comm are there already"):
        hf.calibrate(ranks=2, comm=1)


def test_a_rank_speaks_before_it_reads_what_is_heavy():
    """On a busy machine that takes seconds, which whoever starts ranks waits for."""
    script = "import sys, hpccfpga._rank; print({'numpy', 'mpi4py'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.stdout == "set()\n", done.stderr
