"""RandomAccess with one table over several ranks."""

RUN = """
for device in ("host", "opencl"):
    for part in (comm, comm.Split(rank < 2), MPI.COMM_SELF):
        r = hf.run("randomaccess", device=device, comm=part, sizes=[64, 32768], reps=2)
        assert r.verified and r["error_rate"].tolist() == [0, 0], (device, r)
        assert (r["updates"] == 4 * r["words"] / r["time"]).all(), device
"""


def test_every_rank_applies_what_falls_into_its_part(on_ranks):
    on_ranks(4, RUN)


def test_what_cannot_be_is_refused_by_all(mpirun):
    done = mpirun(
        3,
        "try: hf.run('randomaccess', comm=comm, sizes=[64])\n"
        "except ValueError as error: say(error)\n"
        "try: hf.run('randomaccess', comm=comm.Split(rank < 2), sizes=[1 << 40])\n"
        "except MemoryError as error: say(error)",
    )
    assert done.stdout.count("3 ranks are not a power of two") == 3, done
    assert done.stdout.count("the largest size is") == 3, done
