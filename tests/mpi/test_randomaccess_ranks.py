"""RandomAccess with one table over several ranks."""

import pytest

RUN = """
for device in ("host", "opencl"):
    r = hf.run("randomaccess", device=device, comm=comm, sizes=[64, 32768], reps=2)
    assert r.verified and r["error_rate"].tolist() == [0, 0], (device, r)
    assert (r["updates"] == 4 * r["words"] / r["time"]).all(), device
"""


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_every_rank_applies_what_falls_into_its_part(on_ranks, ranks):
    on_ranks(ranks, RUN)


def test_three_ranks_are_refused(mpirun):
    done = mpirun(
        3,
        "try: hf.run('randomaccess', comm=comm, sizes=[64])\n"
        "except ValueError as error: say(error)",
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert "3 ranks are not a power of two" in line
    assert len(done.stdout.splitlines()) == 3


def test_a_table_that_fits_no_rank_is_refused_by_all(mpirun):
    done = mpirun(
        2,
        "try: hf.run('randomaccess', comm=comm, sizes=[1 << 40])\n"
        "except MemoryError as error: say(error)",
    )
    assert done.stdout.count("the largest size is") == 2, done.stderr
