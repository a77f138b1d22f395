"""LINPACK on grids of ranks: each verifies, and a rank that fails ends the run."""

import json

import pytest

GRIDS = [(2, "1x2"), (2, "2x1"), (4, "2x2"), (6, "2x3"), (6, "3x2"), (9, "3x3")]


@pytest.mark.parametrize(("ranks", "grid"), GRIDS)
def test_grids_verify(on_ranks, ranks, grid):
    on_ranks(
        ranks,
        "with hf.open(exchange='pcie', comm=comm) as s:\n"
        "    for data_type in ('float', 'double'):\n"
        f"        r = s.run('linpack', grid='{grid}', sizes=[20, 97, 330], reps=2,\n"
        "                  block_size=32, data_type=data_type)\n"
        "        assert r.verified and r.ranks == size, r\n"
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


# Runs of three blocks in a row, each in a session of its own, with a fault. What a run
# ended with: None is verified, True unverified, else the line. Behind the last move, or
# launch, nothing happens.
CASES = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
for kind, on, shape, deadline in json.loads(os.environ["CASES"]):
    call, ended = 0, ""
    while ended is not None and call < 200:
        os.environ["HPCCFPGA_FAULT"] = f"{kind} {on} {call}"
        try:
            r = hf.run("linpack", exchange="fault", comm=comm, sizes=[96], reps=1,
                       block_size=32, shape=shape, deadline=deadline)
            ended = None if r.verified else True
        except (RuntimeError, OSError) as error:
            ended = str(error)
        say(json.dumps([kind, on, call, ended]))
        call += 1
"""


@pytest.fixture
def ends(mpirun, faults):
    """Plant a fault at each call; the calls, and how each rank ended."""

    def run(ranks, kind, on, shape, deadline=1000):
        cases = json.dumps([[kind, on, shape, deadline]])
        done = mpirun(ranks, CASES, CASES=cases, **faults)
        assert done.returncode == 0, done.stderr
        ended = {}
        for line in done.stdout.splitlines():
            _, _, call, end = json.loads(line)
            ended.setdefault(call, []).append(end)
        assert all(len(ends) == ranks for ends in ended.values()), ended
        assert all(len(set(ends)) == 1 for ends in ended.values()), ended
        ends = [ended[call][0] for call in range(len(ended))]
        assert ends.pop() is None, "more calls than were tried"
        return ends

    return run


@pytest.mark.parametrize(("ranks", "on"), [(2, 1), (4, 0), (4, 3)])
def test_a_launch_that_fails_ends_all(ends, ranks, on):
    """In the input, the factorisation, the solution and the check; nobody waits."""
    lines = ends(ranks, "launch", on, "ndrange")
    assert len(lines) > 12
    assert set(lines) == {f"rank {on}: planted: a launch failed"}


@pytest.mark.parametrize("kind", ["flip", "swap", "shift", "stale"])
@pytest.mark.parametrize(("ranks", "on"), [(2, 0), (2, 1), (4, 0), (4, 3)])
def test_a_damaged_block_is_seen(ends, kind, ranks, on):
    """The diagonal one, those of L and of U, sums and unknowns of the solution.

    The panels of shape ndrange have padding, in which nobody sees anything.
    """
    seen = ends(ranks, kind, on, "pipeline")
    assert len(seen) > 4
    assert set(seen) == {True}
