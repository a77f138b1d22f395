"""LINPACK on grids of ranks: each verifies, and a rank that fails ends the run."""

import json
import re

import pytest
from conftest import QUICKLY, ROOT
from linpack_harms import program

from hpccfpga.mpirun import command

GRIDS = [(2, "1x2"), (2, "2x1"), (6, "2x3"), (9, "3x3")]


@pytest.mark.parametrize(("ranks", "grid"), GRIDS)
def test_grids_verify(on_ranks, ranks, grid):
    on_ranks(
        ranks,
        "with hf.open(exchange='pcie', comm=comm) as s:\n"
        "    for data_type in ('float', 'double'):\n"
        f"        r = s.run('linpack', grid='{grid}', sizes=[20, 97, 330], reps=2,\n"
        "                  block_size=32, data_type=data_type)\n"
        "        assert r.verified and r.ranks == size, r\n"
        "        for refine in ('classical', 'gmres'):\n"
        f"            fine = s.run('linpack', grid='{grid}', sizes=[20, 97], reps=1,\n"
        "                block_size=32, data_type=data_type, refine=refine)\n"
        "            assert fine.verified and (fine['refine_time'] > 0).all(), fine\n"
        "        work = 2 / 3 * r['matrix_size'] ** 3\n"
        "        assert abs(r['flops'] * r['time'] / work - 1).max() < 1e-12\n"
        "        assert (r['exchange_time'] > 0).any(), r['exchange_time']\n"
        "        assert (r['solve_time'] > 0).all(), r['solve_time']\n"
        "        assert r['residual_ranks'].shape == (3, size)",
    )


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_host_memory_verifies(on_ranks, ranks):
    on_ranks(
        ranks,
        "r = hf.run('linpack', exchange='host', comm=comm, sizes=[200, 800], reps=1)\n"
        "assert r.verified, r",
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


@pytest.mark.parametrize("grid", ["1x3", "3x1"], ids=["row", "column"])
def test_processors_of_several_kinds_verify(on_ranks, tmp_path, grid):
    """Each makes panels for the others, whose tiles are larger or smaller."""
    for rank, words in enumerate(REGISTERS):
        (tmp_path / f"{rank}.cl").write_text(words + UNWRITTEN)
    on_ranks(
        3,
        "any_kernels()\n"
        f"r = hf.run('linpack', kernel=f'{tmp_path}/{{rank}}.cl', device='opencl',\n"
        f"           comm=comm, grid='{grid}', sizes=[257], block_size=64, reps=1,\n"
        "           shape='ndrange')\n"
        "assert r.verified, r['residual']\n",
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
        say(json.dumps([kind, on, call, ended]))
        call += step
"""


@pytest.fixture
def ends(mpirun, faults):
    """Plant a fault at each `step`th call from `first` on; how each rank ended."""

    def run(ranks, kind, on, shape, refine="none", first=0, step=1):
        cases = json.dumps([[kind, on, shape, refine, first, step]])
        done = mpirun(ranks, CASES, CASES=cases, **faults)
        assert done.returncode == 0, done.stderr
        ended = {}
        for line in done.stdout.splitlines():
            _, _, call, end = json.loads(line)
            ended.setdefault(call, []).append(end)
        assert all(len(ends) == ranks for ends in ended.values()), ended
        assert all(len(set(ends)) == 1 for ends in ended.values()), ended
        ends = [ended[first + step * i][0] for i in range(len(ended))]
        assert ends.pop() is None, "more calls than were tried"
        return ends

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
    lines = ends(2, "launch", 1, "ndrange", "gmres", step=3)
    assert len(lines) > 4
    assert set(lines) == {"rank 1: planted: a launch failed"}


DAMAGE = ["flip", "swap", "shift", "stale"]


@pytest.mark.parametrize(
    ("ranks", "on", "kind"),
    [*((2, 1, kind) for kind in DAMAGE), (4, 3, "stale")],
)
def test_a_damaged_block_is_seen(ends, kind, ranks, on):
    """The diagonal one, those of L and of U, sums and unknowns of the solution.

    Two kinds of damage take turns with the other two. The panels of shape ndrange have
    padding, in which nobody sees anything.
    """
    seen = ends(ranks, kind, on, "pipeline", first=DAMAGE.index(kind) % 2, step=2)
    assert len(seen) > 2
    assert set(seen) == {True}


def test_a_damaged_block_or_number_of_gmres_is_seen(ends):
    """Sums of products of vectors are numbers; small errors of them are mended."""
    seen = ends(2, "flip", 1, "pipeline", "gmres", step=5)
    assert len(seen) > 5
    assert set(seen) == {True}


# Of three blocks in a row of ranks: messages of a diagonal block, of L (in a column of
# ranks of U), of the solution. The receiver takes the next one, which is longer, or the
# last one does not come.
LOST = """
import json, os
for call in (None, 0, 1, 6):
    os.environ["HPCCFPGA_FAULT"] = "none -1 0" if call is None else f"lose 0 {call}"
    try:
        hf.run("linpack", exchange="fault", comm=comm, sizes=[96], reps=1,
               block_size=32, grid=GRID, deadline=2 if call is not None else 1000)
        say(json.dumps([call, None]))
    except RuntimeError as error:
        say(json.dumps([call, str(error)]))
"""


@pytest.mark.parametrize("grid", ["1x2", "2x1"], ids=["row", "column"])
def test_a_lost_message_ends_all(mpirun, faults, grid):
    done = mpirun(2, LOST.replace("GRID", repr(grid)), **faults)
    assert done.returncode == 0, done.stderr
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    assert [end for call, end in ended if call is None] == [None, None]
    for call in (0, 1, 6):
        one, other = (end for at, end in ended if at == call)
        assert one == other
        assert re.search("ERR_TRUNC|waits for rank .; the deadline of 2 s", one)


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


def test_what_does_not_fit_is_refused_on_all(on_ranks):
    on_ranks(
        4,
        "with hf.open(comm=comm) as s:\n"
        "    try: s.run('linpack', sizes=[1 << 20])\n"
        "    except MemoryError as error: words = str(error).split()\n"
        "    text = ' '.join(words[:-1])\n"
        "    assert ' GB per rank on a grid of 2x2, ' in text, text\n"
        "    assert text.endswith('the largest size is'), text\n"
        "    assert int(words[-1]) % 256 == 0 < int(words[-1]) < 1 << 20",
    )
