"""LINPACK on grids of ranks: each verifies, and a rank that fails ends the run."""

import json
import re

import pytest
from conftest import QUICKLY, ROOT
from linpack_harms import program

from hpccfpga.mpirun import command


def test_grids_verify(on_ranks):
    """Of 2x3 and 3x2 ranks; three times 1x2 or 2x1 beside each other."""
    on_ranks(
        6,
        "pair = comm.Split(rank // 2)\n"
        "grids = [(comm, '2x3', 'float'), (comm, '3x2', 'double'),\n"
        "         (pair, '1x2', 'double'), (pair, '2x1', 'float')]\n"
        "for part, grid, data_type in grids:\n"
        "    with hf.open(exchange='pcie', comm=part) as s:\n"
        "        given = dict(grid=grid, block_size=32, data_type=data_type)\n"
        "        r = s.run('linpack', sizes=[20, 97, 330], reps=2, **given)\n"
        "        assert r.verified and r.ranks == part.size, r\n"
        "        for refine in ('classical', 'gmres'):\n"
        "            given |= dict(refine=refine, reps=1)\n"
        "            fine = s.run('linpack', sizes=[97], **given)\n"
        "            assert fine.verified and (fine['refine_time'] > 0).all(), fine\n"
        "        for of, few in ((r, True), (fine, False)):  # blocks along a side\n"
        "            notes = ' '.join(of.provenance['notes'])\n"
        "            assert ('some have no work' in notes) is few, notes\n"
        "        work = 2 / 3 * r['matrix_size'] ** 3\n"
        "        assert abs(r['flops'] * r['time'] / work - 1).max() < 1e-12\n"
        "        assert (r['exchange_time'] > 0).any(), r['exchange_time']\n"
        "        assert (r['solve_time'] > 0).all(), r['solve_time']\n"
        "        assert r['residual_ranks'].shape == (3, part.size)",
    )


def test_host_memory_verifies_and_what_does_not_fit_is_refused_on_all(on_ranks):
    on_ranks(
        4,
        "for part in (comm, comm.Split(rank < 3)):\n"
        "    r = hf.run('linpack', exchange='host', comm=part, sizes=[200, 800],\n"
        "               reps=1)\n"
        "    assert r.verified, r\n"
        "with hf.open(comm=comm) as s:\n"
        "    try: s.run('linpack', sizes=[1 << 20])\n"
        "    except MemoryError as error: words = str(error).split()\n"
        "    text = ' '.join(words[:-1])\n"
        "    assert ' GB per rank on a grid of 2x2, ' in text, text\n"
        "    assert text.endswith('the largest size is'), text\n"
        "    assert int(words[-1]) % 256 == 0 < int(words[-1]) < 1 << 20",
    )


# What a compiler says of the vector registers of AVX-512, of AVX2, and of others.
REGISTERS = (
    "#define __AVX512F__ 1",
    "#undef __AVX512F__\n#define __AVX2__ 1",
    "#undef __AVX512F__\n#undef __AVX2__",
)

# What is not written of a packed block is not a number.
UNWRITTEN = """
#define linpack_lu written
#include "linpack_ndrange.cl"
#undef linpack_lu
__kernel void linpack_lu(__global float *a, __global float *packed, uint block) {
    for (uint i = 0; i < LEFT_SIZE + TOP_SIZE; i++)
        packed[i] = NAN;
    written(a, packed, block);
}
"""


def test_processors_of_several_kinds_verify(on_ranks, tmp_path):
    """Each makes panels for the others, whose tiles are larger or smaller."""
    for rank, words in enumerate(REGISTERS):
        (tmp_path / f"{rank}.cl").write_text(words + UNWRITTEN)
    on_ranks(
        3,
        "any_kernels()\n"
        "for grid in ('1x3', '3x1'):\n"
        f"    r = hf.run('linpack', kernel=f'{tmp_path}/{{rank}}.cl', comm=comm,\n"
        "               device='opencl', grid=grid, sizes=[257], block_size=64,\n"
        "               reps=1, shape='ndrange')\n"
        "    assert r.verified, (grid, r['residual'])",
        **QUICKLY,
    )


# Runs of three blocks in a row, each in a session of its own, with a fault. What a run
# ended with: None is verified, True unverified, else the line. Behind the last move, or
# launch, nothing happens.
CASES = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
for kind, on, shape, refine, call, step in json.loads(os.environ["CASES"]):
    ended = ""
    while ended is not None and call < 200:
        os.environ["HPCCFPGA_FAULT"] = f"{kind} {on} {call}"
        try:
            r = hf.run("linpack", exchange="fault", comm=comm, sizes=[96], reps=1,
                       block_size=32, shape=shape, refine=refine, deadline=1000)
            ended = None if r.verified else True
        except (RuntimeError, OSError) as error:
            ended = str(error)
        say(json.dumps([kind, on, refine, call, ended]))
        call += step
"""


@pytest.fixture
def ends(mpirun, faults):
    """Plant faults, each at every `step`th call from `first` on; how all ranks ended.

    ends(ranks, *cases), each (kind, rank, shape, refinement, first, step).
    """

    def run(ranks, *cases):
        done = mpirun(ranks, CASES, CASES=json.dumps(cases), **faults)
        assert done.returncode == 0, done.stderr
        ended = {}
        for line in done.stdout.splitlines():
            *case, call, end = json.loads(line)
            ended.setdefault(tuple(case), {}).setdefault(call, []).append(end)
        for kind, on, _, refine, first, step in cases:
            calls = ended[kind, on, refine]
            assert all(len(ends) == ranks for ends in calls.values()), calls
            assert all(len(set(ends)) == 1 for ends in calls.values()), calls
            ends = [calls[first + step * i][0] for i in range(len(calls))]
            assert ends.pop() is None, "more calls than were tried"
            yield ends

    return run


def test_ranks_that_do_not_buffer_a_number_get_theirs(on_ranks):
    """Each of a row sends its part of a sum and receives the others'."""
    head = (
        56 if "--tag-output" in command() else 80
    )  # of Open MPI 4, 5; the least limit
    limit = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_eager_limit": str(head)}
    on_ranks(
        3,
        "r = hf.run('linpack', exchange='pcie', comm=comm, grid='1x3', sizes=[97],\n"
        "           block_size=32, reps=1, refine='gmres', deadline=60)\n"
        "assert r.verified, r",
        **limit,
    )


def test_a_launch_that_fails_ends_all(ends):
    """In the input, the factorisation, the refined solution and the check."""
    (lines,) = ends(2, ("launch", 1, "ndrange", "gmres", 0, 7))
    assert len(lines) > 4
    assert set(lines) == {"rank 1: planted: a launch failed"}


def test_a_damaged_block_or_number_is_seen(ends):
    """The diagonal block, those of L and of U, sums and unknowns of the solution.

    The kinds of damage take turns. The panels of shape ndrange have padding, in which
    nobody sees anything. Sums of products of GMRES are numbers; small errors of them
    are mended.
    """
    damage = ["flip", "swap", "shift", "stale"]
    cases = [(kind, 1, "pipeline", "none", i, 4) for i, kind in enumerate(damage)]
    for seen in ends(2, *cases, ("flip", 1, "pipeline", "gmres", 0, 9)):
        assert seen
        assert set(seen) == {True}
    (seen,) = ends(4, ("stale", 3, "pipeline", "none", 1, 4))
    assert len(seen) > 2
    assert set(seen) == {True}


# Of three blocks in a row of ranks: messages of a diagonal block, of L (in a column of
# ranks of U), of the solution. The receiver takes the next one, which is longer, or the
# last one does not come.
LOST = """
import json, os
cases = [("1x2", call) for call in (None, 0, 1, 6)] + [("2x1", None), ("2x1", 1)]
for grid, call in cases:
    os.environ["HPCCFPGA_FAULT"] = "none -1 0" if call is None else f"lose 0 {call}"
    try:
        hf.run("linpack", exchange="fault", comm=comm, sizes=[96], reps=1,
               block_size=32, grid=grid, deadline=2 if call is not None else 1000)
        say(json.dumps([grid, call, None]))
    except RuntimeError as error:
        say(json.dumps([grid, call, str(error)]))
"""


def test_a_lost_message_ends_all(mpirun, faults):
    done = mpirun(2, LOST, **faults)
    assert done.returncode == 0, done.stderr
    ended = {}
    for grid, call, end in map(json.loads, done.stdout.splitlines()):
        ended.setdefault((grid, call), []).append(end)
    assert len(ended) == 6
    for (_, call), (one, other) in ended.items():
        assert one == other
        text = "(?i)trunc|waits for rank .; the deadline of 2 s"
        assert re.search(text, one) if call is not None else one is None


def test_wrong_kernels_are_seen_by_all(on_ranks, tmp_path):
    """On a grid of 2x2, where each rank has as many blocks as one alone has there."""
    path = tmp_path / "harms.cl"
    path.write_text(program())
    on_ranks(
        4,
        "import numpy as np, warnings\n"
        "from harms import done\n"
        "from linpack_harms import ALL, HARMS\n"
        "warnings.simplefilter('ignore', hf.VerificationWarning)\n"
        "first_of_each = {HARMS[harm][0]: harm for harm in reversed(HARMS)}\n"
        "with hf.open(comm=comm) as s:\n"
        "    for harm in (None, *first_of_each.values()):\n"
        "        with done(ALL, harm):\n"
        f"            r = s.run('linpack', kernel={str(path)!r}, shape='pipeline',\n"
        "                      sizes=[192], block_size=32, reps=1)\n"
        "        assert r.verified is (harm is None), harm\n"
        "        assert np.isnan(r['flops']).all() == (harm is not None), harm\n",
        PYTHONPATH=str(ROOT / "tests"),
    )
