"""The Python API on several ranks, started by mpirun."""

import pytest


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7])
def test_runs_and_calibration(on_ranks, ranks):
    on_ranks(
        ranks,
        "for exchange in ('host', 'pcie'):\n"
        "    r = hf.run('b_eff', exchange=exchange, comm=comm, sizes=[1, 99], reps=2,\n"
        "               loop_upper=16)\n"
        "    assert r.verified and r.ranks == size, r\n"
        "    assert r['samples'].shape == (2, 2, size)\n"
        "    assert len(r.provenance['hosts']) == size\n"
        "    assert r.provenance['mpi'] in MPI.Get_library_version()\n"
        "c = hf.calibrate(comm=comm, sizes=[64], reps=2)\n"
        "assert c.verified and c.ranks == size",
    )


def test_ranks_with_one_device_share_its_memory(mpirun):
    answer = mpirun(
        2,
        "import re\n"
        "def most(comm):\n"
        "    try: hf.run('stream', device='host', comm=comm, size=1 << 39)\n"
        "    except MemoryError as error:\n"
        "        return int(re.search('largest size is ([0-9]+)', str(error))[1])\n"
        "say(round(most(MPI.COMM_SELF) / most(comm), 3))",
    )
    assert answer.stdout.split() == ["2.0", "2.0"], answer.stderr


def test_parts_of_the_ranks(mpirun):
    answer = mpirun(
        3,
        "part = comm.Split(rank % 2)\n"
        "r = hf.run('b_eff', comm=part, sizes=[8], reps=2, loop_upper=64)\n"
        "say(rank, r.ranks, r.verified)",
    )
    assert sorted(answer.stdout.splitlines()) == ["0 2 True", "1 1 True", "2 2 True"]


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_ranks_take_as_many_steps_by_the_timer(mpirun, ranks):
    script = (
        "r = hf.run('b_eff', exchange='host', comm=comm, sizes=list(range(1, 41)),\n"
        "           loop='timer', reps=3, deadline=20)\n"
        "if rank == 0: print(r.verified and r['inner'].min() >= 1)"
    )
    done = mpirun(ranks, script)
    assert done.stdout.strip() == "True", done.stderr


def test_one_rank_has_a_bad_kernel_path(mpirun):
    answer = mpirun(
        3,
        "with hf.open(comm=comm) as s:\n"
        "    try: s.run('b_eff', kernel='/nowhere.cl' if rank == 1 else None)\n"
        "    except ValueError as error: say(error)\n"
        "    assert s.run('b_eff', sizes=[8], reps=2, loop_upper=64).verified\n",
    )
    assert answer.returncode == 0, answer.stderr
    line = "rank 1: kernel: /nowhere.cl does not exist"
    assert answer.stdout.splitlines() == [line] * 3


def test_ranks_that_do_not_ask_for_the_same(mpirun):
    calls = {
        "s.run(('b_eff', 'transfer')[rank], sizes=[8])": "benchmark",
        "s.run('b_eff', sizes=[8 + rank])": "sizes",
        "s.run('b_eff', sizes=[8], reps=2 + rank)": "reps",
    }
    body = "with hf.open(exchange='host', comm=comm) as s:\n"
    for call in calls:
        body += f"    try: {call}\n    except ValueError as error: say(error)\n"
    answer = mpirun(2, body)
    told = ": rank 1 was given another value than rank 0"
    lines = [what + told for what in calls.values()]
    assert sorted(answer.stdout.splitlines()) == sorted(2 * lines), answer.stderr


def test_one_rank_fails_and_all_raise(mpirun):
    calls = {
        "s.run('b_eff', sizes=[rank], reps=1)": ["ValueError"] * 2,
        "s.run('b_eff', sizes=[1 + rank], reps=1)": ["ValueError"] * 2,
        "s.agree(LookupError('gone') if rank == 1 else None)": ["LookupError"] * 2,
        "s.agree(OSError('full') if rank == 1 else None)": ["Error"] * 2,
        "s.run('b_eff', progress=lambda *r: 1 / rank)": ["ZeroDivisionError", "Error"],
    }
    answer = mpirun(
        2,
        "with hf.open(exchange='host', comm=comm) as s:\n"
        f"    for call in {list(calls)}:\n"
        "        try: eval(call)\n"
        "        except Exception as error: kind = type(error).__name__\n"
        "        else: kind = None\n"
        "        found = comm.gather(kind)\n"
        "        if rank == 0: say(call, '->', found)\n"
        "        r = s.run('b_eff', sizes=[8], reps=2, loop_upper=64)\n"
        "        assert r.verified, call\n",
    )
    assert answer.returncode == 0, answer.stderr
    told = [f"{call} -> {kinds}" for call, kinds in calls.items()]
    assert answer.stdout.splitlines() == told


def test_warning_on_rank_0_only(mpirun, faults):
    answer = mpirun(
        2,
        "r = hf.run('b_eff', exchange='fault', comm=comm, sizes=[8], reps=2,\n"
        "           loop_upper=64)\n"
        "say(r.verified)",
        HPCCFPGA_FAULT="flip 1 5",
        **faults,
    )
    assert answer.stdout.split() == ["False", "False"]
    assert answer.stderr.count("VerificationWarning: b_eff: wrong data at 1 of 1") == 1


@pytest.mark.parametrize(
    ("exchange", "loop"), [("pcie", 8), ("pcie", 1 << 20), ("channel", 1 << 27)]
)
def test_an_interrupt_of_one_rank_stops_all(mpirun, exchange, loop):
    """Between samples, and in one of a minute."""
    answer = mpirun(
        2,
        "import signal, threading, time\n"
        f"with hf.open(exchange='{exchange}', comm=comm) as s:\n"
        "    s.run('b_eff', sizes=[8], reps=2, loop_upper=64)\n"
        "    if rank == 1:\n"
        "        t = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))\n"
        "        t.start()\n"
        "    start = time.monotonic()\n"
        f"    try: s.run('b_eff', sizes=[64], reps=100000, loop_upper={loop})\n"
        "    except KeyboardInterrupt: pass\n"
        "    say(time.monotonic() - start < 1.5)\n"
        "    assert s.run('b_eff', sizes=[8], reps=2, loop_upper=64).verified\n",
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["True", "True"]


def test_an_intercommunicator(mpirun):
    answer = mpirun(
        2,
        "part = comm.Split(rank)\n"
        "inter = part.Create_intercomm(0, comm, 1 - rank)\n"
        "try: hf.open(comm=inter)\n"
        "except ValueError as error: say(error)",
    )
    line = "comm: an intercommunicator has no common ranks"
    assert answer.stdout.splitlines() == [line] * 2
