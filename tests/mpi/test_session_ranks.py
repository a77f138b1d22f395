"""The Python API on several ranks, started by mpirun."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from conftest import ours

import hpccfpga as hf
from hpccfpga import manifests, sources


def test_runs_and_calibration(on_ranks):
    """Of four ranks; of three and one beside each other, which measure alone."""
    on_ranks(
        4,
        "import importlib.metadata\n"
        "for part in (comm, comm.Split(rank < 3)):\n"
        "    size = part.size\n"
        "    for exchange in ('host', 'pcie'):\n"
        "        r = hf.run('b_eff', exchange=exchange, comm=part, sizes=[1, 99],\n"
        "                   reps=2, loop_upper=16)\n"
        "        assert r.verified and r.ranks == size, r\n"
        "        assert r['samples'].shape == (2, 2, size)\n"
        "        assert len(r.provenance['hosts']) == size\n"
        "        assert r.provenance['mpi'] in MPI.Get_library_version()\n"
        "        told = r.provenance['versions']['mpi4py']\n"
        "        assert told == importlib.metadata.version('mpi4py'), told\n"
        "    c = hf.calibrate(comm=part, sizes=[64], reps=2, loop_upper=16)\n"
        "    assert c.verified and c.ranks == size\n"
        "    for scheme in ('pcie', 'pipelined', 'shared'):\n"
        "        copies = c[f'{scheme}_copies_time'][0]\n"
        "        rest = c[f'{scheme}_exchange_time'][0]\n"
        "        most = 1.001 * c[f'{scheme}_samples'].max()\n"
        "        assert 0 < copies < copies + rest <= most, c",
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


def test_ranks_that_take_other_schemes_are_refused(on_ranks):
    on_ranks(
        2,
        "with hf.open(comm=comm) as s:\n"
        "    try: s._core.take_exchange('shared' if rank else 'pipelined')\n"
        "    except ValueError as e: assert 'exchange scheme' in str(e), e\n"
        "    else: raise SystemExit('two schemes')\n"
        "    assert s.exchange == 'pcie'\n"
        "    assert s.run('b_eff', sizes=[8], reps=2, loop_upper=64).verified",
    )


def test_all_ranks_take_as_many_steps_by_the_timer(mpirun):
    script = (
        "r = hf.run('b_eff', exchange='host', comm=comm, sizes=list(range(1, 41)),\n"
        "           loop='timer', reps=3)\n"
        "if rank == 0: print(r.verified and r['inner'].min() >= 1)"
    )
    done = mpirun(2, script)
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


TURNS_DIFFER = {
    "all_parts=bool(rank)": 'all_parts differs between ranks: "False" on rank 0, ',
    "all_parts=3 if rank else True": "rank 1: all_parts: 3 is not True or False",
    "sizes=[1, 8 + rank]": "sizes differs between ranks",
    "reps=4 + rank": "reps differs between ranks",
    "rounds=2 - rank": "rounds differs between ranks",
    "reps=-rank": "rank 1: reps: -1 is not within",
    "seed=rank": "seed differs between ranks",
    "kernel='/nowhere.cl' if rank else None": "rank 1: kernel: /nowhere.cl does not",
    "progress=3 if rank else None": "rank 1: progress: 3 is no function",
    "progress=stop if rank else None": "stop here",
}


@pytest.mark.parametrize("exchange", ["pcie", "shared"])
def test_ranks_that_differ_in_a_run_in_turns_are_refused(on_ranks, exchange):
    on_ranks(
        2,
        "def stop(point, *_):\n"
        "    if point == 3: raise ValueError('stop here')\n"
        "few = {'sizes': [1, 64], 'reps': 4, 'rounds': 2, 'loop_upper': 2}\n"
        f"with hf.open(comm=comm, exchange='{exchange}', deadline=20) as s:\n"
        f"    for words, line in {TURNS_DIFFER!r}.items():\n"
        "        own = few | {'deadline': 20} | eval(f'dict({words})')\n"
        "        try: s.run_calibrated('b_eff', **own)\n"
        "        except Exception as e: assert line in str(e), (words, e)\n"
        "        else: raise SystemExit(words)\n"
        f"        assert s.exchange == '{exchange}'\n"
        "    both = s.run_calibrated('b_eff', **few)\n"
        "    assert all(r.verified and r.ranks == 2 for r in both)",
    )


def test_ranks_of_one_mpirun_whose_commands_take_other_schemes(mpirun):
    answer = mpirun(
        2,
        "import sys\n"
        "from hpccfpga.__main__ import main\n"
        "sys.argv[1:] = ['run', 'b_eff', '--sizes=9999', *['--exchange=host'] * rank]\n"
        "sys.exit(main())",
    )
    line = 'exchange scheme differs between ranks: "pcie" on rank 0, "host" on rank 1'
    assert ours(answer.stderr) == f"hpccfpga: {line}\n"
    assert (answer.returncode, answer.stdout) == (2, "")


def test_chunks(mpirun):
    """As long and as many as told; what cannot be is refused on each rank."""
    refused = {
        "'shared', chunk_size=0": (
            "chunk_size: 0 is neither auto nor an integer within 4096 .. 1073741824"
        ),
        "'shared', chunk_size=5000": (
            "chunk_size: 5000 is no multiple of 4096; auto, 4096, 8192, ..."
        ),
        "'pipelined', chunk_size=131072": (
            "chunk_size: 131072 B is larger than the longest message, 65537 B; auto, "
            "up to 65536, or longer messages"
        ),
        "'pipelined', chunk_depth=17": (
            "chunk_depth: 17 is neither auto nor an integer within 1 .. 16"
        ),
        "'pcie', chunk_depth=2": (
            'chunk_depth: 2 is for other exchanges than "pcie"; auto, or an exchange '
            "that takes it; known: pipelined, shared"
        ),
        "'auto', **{'chunk_size': 4096} if rank == 0 else {}": (
            'rank 0: chunk_size: 4096 is for other exchanges than "auto"; auto, or an '
            "exchange that takes it; known: pipelined, shared"
        ),
        "'shared', chunk_size=4096 << rank": (
            'chunk_size differs between ranks: "4096" on rank 0, "8192" on rank 1'
        ),
    }
    body = (
        "from collections import Counter\n"
        "def run(exchange, **given):\n"
        "    return hf.run('b_eff', device='host', exchange=exchange, comm=comm,\n"
        "                  sizes=[1, 65537], reps=2, loop_upper=2, **given)\n"
        "for exchange in ('shared', 'pipelined'):\n"
        "    for depth in (1, 3, 16):\n"
        "        r = run(exchange, chunk_size=8192, chunk_depth=depth, trace=True)\n"
        "        t = r.trace\n"
        "        t = t.where((t['point'] == 1) & (t['rank'] == rank))\n"
        "        n = Counter(t['kind'].tolist())\n"
        "        assert r.verified and n['read'] == n['write'] == 2 * 9, n\n"
    )
    for call in refused:
        body += f"try: run({call})\nexcept ValueError as error: say(error)\n"
    answer = mpirun(2, body)
    lines = 2 * list(refused.values())
    assert sorted(answer.stdout.splitlines()) == sorted(lines), answer.stderr


def test_ranks_that_differ_are_refused(mpirun):
    """What defines a session when it opens, kernels and the rest when they run."""
    cases = {
        "hf.open(exchange=('pcie', 'host')[rank], comm=comm)": (
            'exchange scheme differs between ranks: "pcie" on rank 0, "host" on rank 1'
        ),
        "hf.open(exchange='shared', device=('host', 'opencl')[rank], comm=comm)": (
            'kind of device differs between ranks: "host cpu, emulated" on rank 0, '
            '"opencl '
        ),
        "old(comm=comm)": (
            'version of hpccfpga differs between ranks: "0.0" on rank 0, '
            '"1.0" on rank 1'
        ),
        "hf.open(comm=comm, trace=rank == 0)": (
            'trace differs between ranks: "on" on rank 0, "off" on rank 1'
        ),
        "hf.open(comm=inter)": "comm: an intercommunicator has no common ranks",
        "hf.run('b_eff', comm=comm, sizes=[1], reps=1, kernel=own)": (
            'kernel differs between ranks: "b_eff_memory '
        ),
        "run(('b_eff', 'transfer')[rank])": (
            'benchmark differs between ranks: "b_eff" on rank 0, "transfer" on rank 1'
        ),
        "run(('gemm', 'b_eff')[rank], 'auto')": (
            'benchmark differs between ranks: "gemm" on rank 0, "b_eff" on rank 1'
        ),
        "run(sizes=[8, 9 + rank])": (
            'sizes differs between ranks: "8,9" on rank 0, "8,10" on rank 1'
        ),
        "run(reps=2 + rank)": (
            'reps differs between ranks: "2" on rank 0, "3" on rank 1'
        ),
        "run(loop=('published', 'timer')[rank])": (
            'loop differs between ranks: "published" on rank 0, "timer" on rank 1'
        ),
        "run(exchange='channel', topology=('ring', 'pairs')[rank])": (
            'topology differs between ranks: "ring" on rank 0, "pairs" on rank 1'
        ),
    }
    body = (
        "import tempfile\nfrom hpccfpga import _core, kernels, sources\n"
        "def old(comm):\n"
        "    now, _core.VERSION = _core.VERSION, f'{rank}.0'\n"
        "    try: hf.open(comm=comm, device='host')\n"
        "    finally: _core.VERSION = now\n"
        "def run(benchmark='b_eff', exchange='host', **given):\n"
        "    hf.run(benchmark, device='host', exchange=exchange, comm=comm,\n"
        "           **{'sizes': [8]} | given)\n"
        "inter = comm.Split(rank).Create_intercomm(0, comm, 1 - rank)\n"
        "file = tempfile.NamedTemporaryFile(suffix='.cl')\n"
        "source = sources.kernel_dir() / 'b_eff_memory.cl'\n"
        "file.write(source.read_bytes() + b'// own' * rank + b'\\n')\n"
        "file.flush()\nown = file.name\n"
    )
    for call in cases:
        body += f"try: {call}\nexcept ValueError as error: say(error)\n"
    answer = mpirun(2, body)
    said = answer.stdout.splitlines()
    assert len(said) == 2 * len(cases), answer
    for line in cases.values():
        assert sum(text.startswith(line) for text in said) == 2, (line, said)


def test_ranks_with_different_binaries(mpirun, tmp_path):
    """What their manifests say, or do not say, makes them no more the same."""
    manifest = {
        "schema": manifests.SCHEMA,
        "benchmark": "b_eff",
        "kind": "memory",
        "knobs": {"channel_width": 32},
    }
    binaries, telling = [], (manifest, manifest | {"source_hash": "the same"})
    with hf.open(device="opencl:cpu") as session:
        text = sources.read_source(sources.kernel_dir() / "b_eff_memory.cl")
        for rank in range(2):
            own = "kernel void own(global int *a) { *a = 1; }\n" * rank
            binaries.append(session._core.build(text + own, "-DHF_CHANNEL_WIDTH=32"))
            for n, told in enumerate(telling):
                path = tmp_path / f"{n}{rank}.bin"
                path.write_bytes(binaries[rank])
                Path(f"{path}.json").write_text(json.dumps(told))
    answer = mpirun(
        2,
        "def run(n, number):\n"
        f"    path = {str(tmp_path)!r} + f'/{{n}}{{number}}.bin'\n"
        "    return hf.run('b_eff', comm=comm, sizes=[1], reps=1, kernel=path)\n"
        "for n in range(2):\n"
        "    say(run(n, 0).verified)\n"
        "    try: run(n, rank)\n"
        "    except ValueError as error: say(error)",
    )
    *right, first, second, third, fourth = sorted(answer.stdout.splitlines())
    assert right == ["True"] * 4, answer
    assert first == second == third == fourth
    hashes = [sha256(binary).hexdigest() for binary in binaries]
    assert first == "kernel differs between ranks: " + ", ".join(
        f'"b_eff_memory {text[:16]}" on rank {rank}' for rank, text in enumerate(hashes)
    )


def test_a_rank_that_opens_nothing(mpirun):
    """The others leave by their deadline; neither open nor close waits for ever."""
    answer = mpirun(
        3,
        "if rank != 2:\n"
        "    try: hf.open(comm=comm, exchange='host', deadline=0.1)\n"
        "    except hf.Error as error: say(error)\n"
        "comm.Barrier()\n"
        "os._exit(0)",
    )
    line = "rank {} waits for the other ranks; the deadline of 0.1 s has passed"
    assert sorted(answer.stdout.splitlines()) == [line.format(n) for n in range(2)]


def test_a_rank_that_leaves_is_told_of_at_once(mpirun):
    answer = mpirun(
        2,
        "s = hf.open(comm=comm, exchange='host', deadline=1000)\n"
        "if rank == 1: s.close()\n"
        "else:\n"
        "    try: s.run('b_eff', sizes=[1], reps=1, loop_upper=8)\n"
        "    except hf.Error as error: say(error)",
    )
    assert answer.stdout == "rank 1 has left the session\n", answer.stderr


def test_after_the_end_of_mpi(mpirun):
    answer = mpirun(
        2,
        "s = hf.open(comm=comm, exchange='host')\nMPI.Finalize()\n"
        "try: s.run('b_eff', sizes=[1])\n"
        "except ValueError as error: say(error)\n"
        "s.close()",
    )
    line = "MPI is finalised: the session is of no use"
    assert answer.stdout.splitlines() == [line] * 2, answer.stderr
    assert answer.returncode == 0


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
        "        except Exception as error:\n"
        "            kind = type(error).__name__\n"
        "            assert kind == 'Error' or not error.__cause__, 'told twice'\n"
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


def test_an_interrupt_of_one_rank_stops_all(mpirun):
    """Between samples, and in one of a minute or more."""
    answer = mpirun(
        2,
        "import signal, threading, time\n"
        "def kill():\n"
        "    at.append(time.monotonic())\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "def stops(s, loop):\n"
        "    r = s.run('b_eff', sizes=[64], reps=2, loop_upper=64)\n"
        "    sample = r['time'][0] * loop\n"
        "    at.clear()\n"
        "    try:\n"
        "        if rank == 1: threading.Timer(0.5, kill).start()\n"
        "        s.run('b_eff', sizes=[64], reps=100000, loop_upper=loop)\n"
        "    except KeyboardInterrupt: say('interrupted')\n"
        "    waited = [time.monotonic() - then for then in at]\n"
        "    assert sample < 1 or max(waited, default=0) < sample / 2\n"
        "    assert s.run('b_eff', sizes=[8], reps=2, loop_upper=64).verified\n"
        "at = []\n"
        "with hf.open(exchange='channel', comm=comm) as s: stops(s, 1 << 27)\n"
        "with hf.open(exchange='pcie', comm=comm) as s:\n"
        "    stops(s, 8)\n"
        "    stops(s, 1 << 20)",
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["interrupted"] * 6


def test_who_measures_alone_beside_others_is_told(mpirun):
    answer = mpirun(
        2,
        "one = dict(exchange='host', sizes=[1], reps=1, loop_upper=8)\n"
        "for given in ({}, {'comm': comm}):\n"
        "    notes = hf.run('b_eff', **one, **given).provenance['notes']\n"
        "    say(*[note for note in notes if 'comm=' in note] or ['nothing'])",
    )
    line = "under mpirun, but comm= was not given: each process measures alone"
    assert sorted(answer.stdout.splitlines()) == ["nothing"] * 2 + [line] * 2


def test_an_exchange_that_is_chosen_is_the_same_on_all_ranks(mpirun):
    """Bad input, and ranks that expect different times, give each rank one line."""
    script = (
        "from hpccfpga.choice import Expected\n"
        "def told(more):\n"
        "    times = {'pcie': [1e-6, 1e-3], 'shared': [1e-5, 2e-5 + more]}\n"
        "    return Expected('x', [1, 1e6], times)\n"
        "def tried(**given):\n"
        "    try:\n"
        "        with hf.open('host', 'auto', comm, **given) as session:\n"
        "            session.expect(told(rank))\n"
        "    except Exception as error: say(error)\n"
        "tried(calibration=3 if rank == 1 else None)\n"
        "tried()\n"
        "with hf.open('host', 'auto', comm) as session:\n"
        "    session.expect(told(0))\n"
        "    r = session.run('b_eff', sizes=[1, 1 << 20], reps=1, loop_upper=4)\n"
        "    say(r.verified, *r['scheme'])"
    )
    answer = mpirun(2, script)
    assert answer.returncode == 0, answer.stderr
    lines = sorted(answer.stdout.splitlines())
    assert lines[:2] == ["True pcie shared"] * 2
    assert lines[2:4] == [lines[2]] * 2
    assert lines[2].startswith("expected time differs between ranks: ")
    assert lines[4:] == ["rank 1: calibration: only a result can be one, not 3"] * 2


def test_two_ranks_choose_by_a_calibration_of_their_own(on_ranks):
    on_ranks(
        2,
        "from hpccfpga import choice\n"
        "choice.SHORT = {'sizes': [1, 256], 'reps': 1, 'loop_upper': 2}\n"
        "r = hf.run('b_eff', device='host', exchange='auto', comm=comm,\n"
        "           sizes=[64], reps=1, loop_upper=4)\n"
        "assert r.verified\n"
        "assert r['scheme'].item() in ('pcie', 'pipelined', 'shared'), r['scheme']\n"
        "notes = comm.allgather(' '.join(r.provenance['notes']))\n"
        "assert 'auto by a short calibration before: ' in notes[0], notes",
    )
