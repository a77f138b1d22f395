"""Live channels between ranks: runs, and what goes wrong among them."""

import os
import subprocess
import sys
from contextlib import ExitStack
from mmap import mmap
from pathlib import Path

import pytest
from conftest import killed, runtimes_of

SMALL = "sizes=[1, 65, 1000, 7001], reps=2, loop_upper=8, loop_lower=2"


def test_channels_verify(on_ranks):
    """Of four ranks; of three and one beside each other."""
    on_ranks(
        4,
        "import numpy as np\n"
        "wirings = ({}, {'replications': 1}, {'topology': 'ring'},\n"
        "           {'channel_depth': 5})\n"
        "for part in (comm, comm.Split(rank < 3)):\n"
        "    with hf.open(exchange='channel', comm=part) as s:\n"
        "        for more in wirings:\n"
        f"            r = s.run('b_eff', {SMALL}, **more)\n"
        "            assert r.verified and r.emulated and r.ranks == part.size, r\n"
        "            pairs = r.parameters['replications']\n"
        "            rate = r['bandwidth'] * r['time'] / r['message_size']\n"
        "            assert np.allclose(rate, part.size * pairs), rate\n"
        "            assert (r['packets'] > 0).all() and (r['high_water'] >= 1).all()",
    )


def test_a_bad_topology_is_refused_by_all(mpirun):
    bad = {
        "0:0-1:0,0:1-1:1,0:2-1:2,0:3-0:3": "1:3 is not connected",
        "0:0-1:0,0:1-1:1,0:2-1:1": "1:1 sends twice, to 0:1 and to 0:2",
        "0:0>1:0,0:1-1:1": "0:0 sends to 1:0, which does not send back",
    }
    answer = mpirun(
        2,
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        f"    for topology in {list(bad)}:\n"
        "        try: s.run('b_eff', sizes=[1], reps=1, topology=topology)\n"
        "        except ValueError as error: say(topology, error)\n"
        "        r = s.run('b_eff', sizes=[1], reps=1, loop_upper=8)\n"
        "        assert r.verified, topology",
    )
    assert answer.returncode == 0, answer.stderr
    for topology, line in bad.items():
        assert answer.stdout.count(f"{topology} topology: {line}") == 2, answer.stdout


def test_a_packet_too_few_ends_everywhere_and_the_next_run_works(mpirun, tmp_path):
    answer = mpirun(
        2,
        "from hpccfpga import sources\n"
        "text = (sources.kernel_dir() / 'b_eff_stream.cl').read_text()\n"
        "bad = text.replace('chunk < chunks', 'chunk + (message == 1) < chunks', 1)\n"
        "assert bad != text\n"
        f"path = {str(tmp_path)!r} + '/b_eff_stream.cl'\n"
        "if rank == 0: open(path, 'w').write(bad)\n"
        "comm.Barrier()\n"
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    assert s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified\n"
        "    one = dict(kernel=path, sizes=[1], reps=1, loop_upper=1)\n"
        "    assert s.run('b_eff', **one).verified  # and its kernels are compiled\n"
        "    bad = dict(kernel=path, sizes=[200], reps=1)\n"
        "    for deadline in (1, 4, 32):  # a busy machine gets there late\n"
        "        try: s.run('b_eff', deadline=deadline, **bad)\n"
        "        except hf.Error as error: found = str(error)\n"
        "        if 'empty after ' in found and 'b_eff_recv_' in found: break\n"
        "    say(found)\n"
        "    assert s.run('b_eff', sizes=[200], reps=1, loop_upper=8).verified",
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "deadlock: " in line
        assert "empty after " in line
        assert "b_eff_recv_" in line


TOO_FEW = (
    "try: hf.run('b_eff', exchange='channel', comm=comm, sizes=[1], reps=1)\n"
    "except NotImplementedError as error: say(error)\n"
)


def test_too_few_workers_are_an_error_that_says_what_to_set(mpirun):
    answer = mpirun(2, TOO_FEW, POCL_MAX_PTHREAD_COUNT="2", POCL_CPU_MAX_CU_COUNT="2")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == 2
    assert all(
        "set POCL_MAX_PTHREAD_COUNT and POCL_CPU_MAX_CU_COUNT" in t for t in lines
    )


def test_one_worker_whatever_is_set_is_an_error_that_names_another_device(mpirun):
    answer = mpirun(1, TOO_FEW, POCL_DEVICES="basic")
    assert answer.returncode == 0, answer.stderr
    (line,) = answer.stdout.splitlines()
    assert "set POCL_DEVICES=pthread, POCL_MAX_PTHREAD_COUNT and " in line


FOUR_CPUS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    CPU_ZERO_S(bytes, set);
    for (int cpu = 0; cpu < 4; cpu++)
        CPU_SET_S(cpu, bytes, set);
    return 0;
}
long sysconf(int name) {
    long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN ? 4 : next(name);
}
"""


@pytest.mark.skipif(
    not Path(sys.prefix, "lib", "libintelocl.so").is_file(),
    reason="Intel's runtime for CPUs is not here: pip install hpccfpga[intel]",
)
def test_intels_runtime_for_cpus(mpirun, tmp_path):
    """On four CPUs, which need not be there, one pair runs and two are refused."""
    four = tmp_path / "four.so"
    cc = ["cc", "-shared", "-fPIC", "-xc", "-", "-ldl", "-o", four]
    libraries = filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    subprocess.run(cc, input=FOUR_CPUS, text=True, check=True)
    runtime = Path(sys.prefix, "lib", "libintelocl.so")
    (tmp_path / "intel.icd").write_text(f"{runtime}\n")  # there is no other
    answer = mpirun(
        2,
        "for these, pairs in ((comm, 2), (comm, 1), (MPI.COMM_SELF, 1)):\n"
        "    try: r = hf.run('b_eff', exchange='channel', device='Intel(R) OpenCL',\n"
        "                    comm=these, sizes=[1], reps=1, loop_upper=4,\n"
        "                    loop_lower=4, replications=pairs)\n"
        "    except NotImplementedError as error: say(error)\n"
        "    else: say(r.verified, r.ranks)",
        LD_PRELOAD=four.name,  # a path with a space would be two
        LD_LIBRARY_PATH=":".join([str(tmp_path), *libraries]),
        **runtimes_of(tmp_path),
    )
    assert answer.returncode == 0, answer.stderr
    lines = sorted(answer.stdout.splitlines())
    assert lines[2:] == ["True 1"] * 2 + ["True 2"] * 2
    assert all(
        "4 kernels must run" in t and "runs 3, one fewer than CPUs: allow " in t
        for t in lines[:2]
    )


@pytest.mark.parametrize(
    "earlier",
    ["hf.devices()", "hf.run('b_eff', comm=comm, sizes=[1], reps=1, loop_upper=8)"],
)
def test_opencl_was_used_before_is_an_error_that_says_so(mpirun, earlier):
    """PoCL had two workers; not every release of it looks which CPUs are allowed."""
    workers = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")
    answer = mpirun(
        1,
        "os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])\n"
        f"for name in {workers}: os.environ[name] = '2'\n"
        f"{earlier}\n"
        f"for name in {workers}: del os.environ[name]\n"
        f"{TOO_FEW}",
    )
    assert answer.returncode == 0, answer.stderr
    (line,) = answer.stdout.splitlines()
    assert "by another session or a list of devices" in line


def test_workers_are_set_where_few_cpus_are_allowed(on_ranks):
    on_ranks(
        1,
        "for name in ('POCL_MAX_PTHREAD_COUNT', 'POCL_CPU_MAX_CU_COUNT'):\n"
        "    os.environ.pop(name, None)\n"
        "os.cpu_count = lambda: 64\n"
        "os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])\n"
        "r = hf.run('b_eff', exchange='channel', comm=comm, sizes=[1], reps=1)\n"
        "assert r.verified",
    )


# 0.01 s: before its first look at its kernels
@pytest.mark.parametrize(("ranks", "computed"), [(2, 0.01), (3, 0.1)])
def test_a_frozen_rank_leaves_the_others_their_report(mpirun, ranks, computed):
    """What a rank knows of its own kernels says more than who did not answer.

    A busy host may let the deadline pass before the kernels have computed that long:
    then there is more time for another try.
    """
    for deadline in (5, 20, 60):
        answer = mpirun(
            ranks,
            "import os, signal, threading, time\n"
            "other = comm.allgather(os.getpid())[1]\n"
            "main = time.pthread_getcpuclockid(threading.main_thread().ident)\n"
            "def computed():  # by the threads that run kernels\n"
            "    rest = time.clock_gettime(main) + time.thread_time()\n"
            "    return time.process_time() - rest\n"
            "def freeze():\n"
            f"    end = computed() + {computed}\n"
            "    while computed() < end: time.sleep(0.001)\n"
            "    say('frozen')\n"
            "    os.kill(other, signal.SIGSTOP)\n"
            "with hf.open(exchange='channel', comm=comm) as s:\n"
            "    assert s.run('b_eff', sizes=[1], reps=1).verified\n"
            "    if rank == 1: threading.Thread(target=freeze, daemon=True).start()\n"
            "    try:\n"
            "        s.run('b_eff', loop_upper=10**8, sizes=[1], reps=1,\n"
            f"              deadline={deadline})\n"
            "    except hf.Error as error: say(rank, error)\n"
            "    if rank == 0: os.kill(other, signal.SIGCONT)\n"
            "comm.Barrier()  # else mpirun ends those that have not told yet\n"
            "os._exit(0)",
        )
        # What the frozen rank hears of later differs.
        know = [line for line in answer.stdout.splitlines() if line[0] in "02"]
        if "frozen" in answer.stdout:
            break
    assert len(know) == ranks - 1, answer
    for line in know:
        assert "rank 1 stands still: 0 of 4 kernels ended" in line, answer
        assert "b_eff_recv_" in line


def test_a_killed_rank_ends_the_others(mpirun):
    answer = mpirun(
        3,
        "import os, signal, threading\n"
        "me = os.getpid(), signal.SIGKILL\n"
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    assert s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified\n"
        "    say('begun')\n"
        "    if rank == 1: threading.Timer(2, os.kill, me).start()\n"
        "    s.run('b_eff', loop_upper=10**8, sizes=[1], reps=1, deadline=1000)\n"
        "say('over')",
    )
    assert answer.stdout.split() == ["begun"] * 3
    assert answer.returncode == 128 + 9
    assert killed(answer.stderr) == 1
    assert "Traceback" not in answer.stderr


def test_shared_memory_of_a_killed_job_goes_with_the_next(mpirun, tmp_path):
    """What a living process has mapped stays, and what a user has named so himself."""
    run = (
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    assert s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified\n"
    )
    mpirun(
        2,
        run + "    import re, signal\n"
        f"    with open(f'{tmp_path}/{{rank}}', 'w') as mine:\n"
        "        maps = open('/proc/self/maps').read()\n"
        "        mine.write(' '.join(re.findall(r'/dev/shm/\\S+', maps)))\n"
        "    comm.Barrier()\n"
        "    if rank == 0: os.kill(os.getppid(), signal.SIGKILL)\n"
        "    comm.Barrier()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)",
    )
    mapped = " ".join(file.read_text() for file in tmp_path.iterdir()).split()
    left = {path for path in map(Path, mapped) if path.exists()}
    assert left
    used = Path(f"/dev/shm/vader_segment.of-test.{os.getpid()}")
    used.write_bytes(bytes(4096))
    # As if a rank had been killed before it took the name away; of no running process.
    number = f"{os.getpid()}{2**22}"
    named = Path(f"/dev/shm/hpccfpga_window.{number}")
    left.add(named)
    own = [
        Path(f"/dev/shm/{name}")
        for name in (
            f"hpccfpga-{number}",
            f"hpccfpga-{number}.json",
            f"{named.name}.json",
        )
    ]
    try:
        with ExitStack() as stack:
            # What is open is not mapped, but benchmarks/kills.py sees that it is used.
            for path in (named, *own):
                stack.enter_context(path.open("w"))
            file = stack.enter_context(used.open("r+b"))
            stack.enter_context(mmap(file.fileno(), 0))
            for path in (used, *left, *own):
                os.utime(path, (0, 0))  # not being made just now
            answer = mpirun(2, run)
            assert answer.returncode == 0, answer.stderr
            assert used.exists()
            assert [path for path in own if not path.exists()] == []
            assert not any(path.exists() for path in left)
    finally:
        for path in (used, named, *own):
            path.unlink(missing_ok=True)


def test_no_memory_for_the_rings_is_one_line(mpirun):
    """Files, as which windows are made, may not grow to what the rings need."""
    answer = mpirun(
        2,
        "import resource\n"
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    limit = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limit[1]))\n"
        "    try: s.run('b_eff', sizes=[1], reps=1, loop_upper=8)\n"
        "    except MemoryError as error: say(error)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, limit)\n"
        "    assert s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified",
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == 2
    assert all("no shared memory for 2 ranks with " in line for line in lines)


def test_two_runs_at_once_do_not_meet(twice_at_once):
    twice_at_once(
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    r = s.run('b_eff', sizes=[1, *range(60001, 60009)], reps=2, seed=number,\n"
        "              loop_upper=8, progress=meet)\n"
        "    assert r.verified, r"
    )
