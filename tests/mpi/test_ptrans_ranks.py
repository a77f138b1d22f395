"""PTRANS on grids of ranks: every distribution verifies, every fault is seen."""

import json

SMALL = "block_size=32, reps=2"
WORKERS = {"POCL_MAX_PTHREAD_COUNT": "4", "POCL_CPU_MAX_CU_COUNT": "4"}


def test_grids_verify(on_ranks):
    """Of 2x3 ranks, of 2x2 and 1x2 beside each other, of two times 1x3."""
    on_ranks(
        6,
        "def pcie(part, more):\n"
        "    size = part.size\n"
        "    with hf.open(exchange='pcie', comm=part) as s:\n"
        f"        r = s.run('ptrans', sizes=[1, 33, 500], {SMALL}, **more)\n"
        "        assert r.verified and r.ranks == size, r\n"
        "        assert (r['error'] == 0).all(), r['error']\n"
        "        notes = ' '.join(r.provenance['notes'])\n"
        "        assert 'some have no work' in notes, notes\n"
        "        rate = r['matrix_size'] ** 2 / r['time']\n"
        "        assert abs(r['flops'] / rate - 1).max() < 1e-12\n"
        "        for name in ('flops', 'bandwidth'):  # in the slowest one's time\n"
        "            own = r[f'{name}_ranks']\n"
        "            assert own.shape == (3, size) and (own >= 0).all(), name\n"
        "            assert abs(own.sum(axis=1) / r[name] - 1).max() < 1e-12, own\n"
        "            assert (own[0] > 0).sum() == 1, own  # one block in all\n"
        "            assert (own[2] > 0).all(), own\n"
        "        names = ('transfer_time', 'exchange_time', 'kernel_time')\n"
        "        parts = sum(r[name] for name in names)\n"
        "        for name in names:  # of each rank; the column is of the slowest\n"
        "            own = r[f'{name}_ranks']\n"
        "            assert own.shape == (3, size) and (own >= 0).all(), name\n"
        "            assert (own == r[name][:, None]).any(axis=1).all(), name\n"
        "        assert r['error_ranks'].shape == (3, size), r['error_ranks']\n"
        "        assert (parts > 0).all() and (parts <= r['time'] * 1.001).all()\n"
        "        if size in (2, 6):  # where every rank has a partner\n"
        "            assert r['exchange_time'][-1] > 0, r['exchange_time']\n"
        "def host(part, more):\n"
        "    r = hf.run('ptrans', exchange='host', comm=part, sizes=[1, 2000],\n"
        "               reps=1, **more)\n"
        "    assert r.verified and (r['error'] == 0).all(), r\n"
        "    width = 8 if 'data_type' in more else 4\n"
        "    ratio = r['bandwidth'] / (3 * width * r['flops'])\n"
        "    assert abs(ratio - 1).max() < 1e-12, r\n"
        "    if 'grid' in more and part.size in (2, 6):\n"
        "        assert r['exchange_time'][1] > 0 == r['transfer_time'][1], r\n"
        "few, half = comm.Split(rank < 4), comm.Split(rank % 2)\n"
        "grids = (comm, '2x3'), (few, '2x2' if rank < 4 else '1x2'), (half, '1x3')\n"
        "for part, grid in grids:\n"
        "    for more in (dict(grid=grid), dict(distribution='diagonal'),\n"
        "                 dict(data_type='double')):\n"
        "        pcie(part, more if 'data_type' not in more\n"
        "             else dict(more, replications=2))\n"
        "        host(part, more)",
    )


def test_channels_verify(on_ranks):
    """On grids of 2x2 ranks and of one; the diagonal distribution on any number.

    With it no packet of a block on the diagonal leaves its rank.
    """
    on_ranks(
        4,
        "for part in (comm, MPI.COMM_SELF):\n"
        "    with hf.open(exchange='channel', comm=part) as s:\n"
        "        for more in ({}, {'channel_depth': 100}, {'data_type': 'double'},\n"
        "                     {'replications': 2}):\n"
        f"            r = s.run('ptrans', sizes=[1, 200], {SMALL}, **more)\n"
        "            assert r.verified and r.emulated, r\n"
        "            assert (r['packets'] > 0).all()\n"
        "for part in (comm, comm.Split(rank < 3), comm.Split(rank < 2)):\n"
        "    with hf.open(exchange='channel', comm=part) as s:\n"
        "        for more in ({}, {'channel_depth': 7}, {'replications': 2}):\n"
        f"            r = s.run('ptrans', sizes=[1, 32, 200], {SMALL},\n"
        "                      distribution='diagonal', **more)\n"
        "            assert r.verified and r.emulated, r\n"
        "            width = (r['matrix_size'] + 31) // 32\n"
        "            blocks = width * (width - 1) * r['reps'] * r['inner']\n"
        "            if part.size != 3:  # where each rank has a partner, or none has\n"
        "                right = 128 * blocks * (part.size > 1)\n"
        "                assert (r['packets'] == right).all(), r['packets']",
        **WORKERS,
    )


BAD = [
    ("pcie", "ValueError", "grid='2'", 'grid: "2" is neither PxQ nor auto'),
    ("pcie", "ValueError", "grid='+1x 2'", 'grid: "+1x 2" is neither PxQ nor auto'),
    ("pcie", "ValueError", "grid='1x00002'", 'grid: "1x00002" is neither PxQ nor auto'),
    ("pcie", "ValueError", "grid='2x2'", "grid: 2x2 has 4 ranks, the run has 2"),
    ("pcie", "MemoryError", "sizes=[1 << 20], data_type='double'", "largest size is "),
    ("pcie", "ValueError", "replications=3, bank_b=[0, 1]", "bank_b: 2 banks for 3"),
    ("pcie", "ValueError", "block_size=48", "block_size, the width"),
    ("channel", "ValueError", "grid='1x2'", "as many rows as columns, the grid is 1x2"),
]


def test_what_cannot_be_is_refused_by_all(mpirun):
    script = "".join(
        f"try: hf.run('ptrans', exchange='{exchange}', comm=comm,\n"
        f"            **dict(dict(sizes=[9], reps=1), {more}))\n"
        "except Exception as error:\n"
        "    say(type(error).__name__, str(error).replace('\\n', ' '))\n"
        for exchange, _, more, _ in BAD
    )
    answer = mpirun(2, script, **WORKERS)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == 2 * len(BAD), lines
    for _, kind, _, line in BAD:
        told = [text for text in lines if text.startswith(f"{kind} ") and line in text]
        assert len(told) == 2, (line, lines)


# Moves 0 to 3 are the two warm-ups and the two samples of the first size.
CASES = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
found = {}
for case in json.loads(os.environ["CASES"]):
    os.environ["HPCCFPGA_FAULT"] = case
    r = hf.run("ptrans", exchange="fault", comm=comm, sizes=[100, 64], reps=2,
               block_size=32)
    clean = (r["error_ranks"] == 0).tolist()
    found[case] = [r["verified"].tolist(), r["flops"].tolist(), clean]
if rank == 0:
    print(json.dumps(found))
"""


def test_a_damaged_message_is_caught(mpirun, faults):
    """One element, blocks shifted or swapped."""
    cases = [
        f"{kind} 1 {move}" for kind in ("flip", "swap", "shift") for move in (0, 1, 2)
    ]
    done = mpirun(4, CASES, CASES=json.dumps(cases), **faults)
    assert done.returncode == 0, done.stderr
    for case, (verified, rates, clean) in json.loads(done.stdout).items():
        assert verified == [False, True], case
        assert rates[0] != rates[0], f"{case}: a rate is shown for wrong data"
        assert clean == [[rank != 1 for rank in range(4)], [True] * 4], case
