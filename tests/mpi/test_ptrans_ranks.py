"""PTRANS on grids of ranks: every distribution verifies, every fault is seen."""

import json

import pytest

SMALL = "block_size=32, reps=2, deadline=60"
GRIDS = [(1, "1x1"), (2, "1x2"), (4, "2x2"), (6, "2x3"), (9, "3x3"), (25, "5x5")]


@pytest.mark.parametrize(("ranks", "grid"), GRIDS)
def test_grids_verify(on_ranks, ranks, grid):
    on_ranks(
        ranks,
        f"for more in (dict(grid='{grid}'), dict(distribution='diagonal'),\n"
        "             dict(data_type='double', replications=2)):\n"
        "    with hf.open(exchange='pcie', comm=comm) as s:\n"
        f"        r = s.run('ptrans', sizes=[1, 33, 500], {SMALL}, **more)\n"
        "        assert r.verified and r.ranks == size, r\n"
        "        assert (r['error'] == 0).all(), r['error']\n"
        "        rate = r['matrix_size'] ** 2 / r['time']\n"
        "        assert abs(r['flops'] / rate - 1).max() < 1e-12\n"
        "        parts = r['transfer_time'] + r['exchange_time'] + r['kernel_time']\n"
        "        assert (parts > 0).all() and (parts <= r['time'] * 1.001).all()\n"
        "        if size in (2, 6):  # where every rank has a partner\n"
        "            assert r['exchange_time'][-1] > 0, r['exchange_time']",
        timeout=300,
    )


@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_host_memory_verifies(on_ranks, ranks):
    on_ranks(
        ranks,
        "for distribution in ('pq', 'diagonal'):\n"
        "    r = hf.run('ptrans', exchange='host', comm=comm, sizes=[1, 2000],\n"
        "               reps=1, distribution=distribution)\n"
        "    assert r.verified, r\n"
        "    if distribution == 'pq':\n"
        "        assert r['exchange_time'][1] > 0 == r['transfer_time'][1], r",
        timeout=120,
    )


@pytest.mark.parametrize("ranks", [1, 4, 9])
def test_channels_verify(on_ranks, ranks):
    on_ranks(
        ranks,
        "with hf.open(exchange='channel', comm=comm) as s:\n"
        "    for more in ({}, {'channel_depth': 100}, {'data_type': 'double'},\n"
        "                 {'replications': 2}):\n"
        f"        r = s.run('ptrans', sizes=[1, 200], {SMALL}, **more)\n"
        "        assert r.verified and r.emulated, r\n"
        "        assert (r['packets'] > 0).all()",
        timeout=300,
        POCL_MAX_PTHREAD_COUNT="4",
        POCL_CPU_MAX_CU_COUNT="4",
    )


@pytest.mark.parametrize(
    ("ranks", "exchange", "more", "line"),
    [
        (3, "pcie", "grid='2x2'", "grid: 2x2 has 4 ranks, the run has 3"),
        (2, "pcie", "grid='2'", 'grid: "2" is neither PxQ nor auto'),
        (2, "channel", "grid='1x2'", "needs as many rows as columns, the grid is 1x2"),
        (4, "channel", "distribution='diagonal'", 'exchange "channel" needs pq'),
        (2, "pcie", "sizes=[1048576], data_type='double'", "the largest size is "),
        (2, "pcie", "replications=3, bank_b=[0, 1]", "bank_b: 2 banks for 3 repl"),
        (2, "pcie", "block_size=48", "HF_BLOCK"),
    ],
)
def test_what_cannot_be_is_refused_by_all(mpirun, ranks, exchange, more, line):
    answer = mpirun(
        ranks,
        f"with hf.open(exchange='{exchange}', comm=comm) as s:\n"
        f"    try: s.run('ptrans', **dict(dict(sizes=[9], reps=1), {more}))\n"
        "    except Exception as error: say(str(error).replace('\\n', ' '))",
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == ranks
    assert all(line in text for text in lines)


# Moves 0 to 3 are the two warm-ups and the two samples of the first size.
CASES = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
found = {}
for case in json.loads(os.environ["CASES"]):
    os.environ["HPCCFPGA_FAULT"] = case
    r = hf.run("ptrans", exchange="fault", comm=comm, sizes=[100, 64], reps=2,
               block_size=32)
    found[case] = [r["verified"].tolist(), r["flops"].tolist()]
if rank == 0:
    print(json.dumps(found))
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_damaged_message_is_caught(mpirun, faults, ranks):
    """One element, blocks shifted or swapped, and blocks of the sample before."""
    cases = [
        f"{kind} 1 {move}"
        for kind in ("flip", "swap", "shift", "truncate", "stale")
        for move in (0, 1, 2)
    ]
    done = mpirun(ranks, CASES, CASES=json.dumps(cases), timeout=200, **faults)
    assert done.returncode == 0, done.stderr
    for case, (verified, rates) in json.loads(done.stdout).items():
        assert verified == [False, True], case
        assert rates[0] != rates[0], f"{case}: a rate is shown for wrong data"


@pytest.mark.parametrize(
    ("kind", "words"),
    [("kill", "SIGKILL"), ("hang", "rank 1"), ("fail", "planted: a move failed")],
)
def test_a_rank_that_fails_in_the_exchange_ends_all(command, faults, kind, words):
    done = command(
        "run", "ptrans", "--ranks=4", "--exchange=fault", "--sizes=200",
        "--block-size=32", "--grid=1x4", "--reps=3", "--deadline=5", timeout=60,
        HPCCFPGA_FAULT=f"{kind} 1 3", **faults,
    )  # fmt: skip
    assert done.returncode not in (0, -9)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert words in lines[0]
