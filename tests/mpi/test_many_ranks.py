"""Benchmarks on many more ranks than there are cores."""


def test_sixteen_ranks_verify(mpirun):
    answer = mpirun(
        16,
        "small = {'stream': {'size': 4096}, 'randomaccess': {'sizes': [1024]},\n"
        "         'fft': {'log_size': 6, 'batch': 2}, 'gemm': {'sizes': [48]}}\n"
        "for name, params in small.items():\n"
        "    for shape in ('ndrange', 'pipeline'):\n"
        "        r = hf.run(name, comm=comm, shape=shape, reps=1, **params)\n"
        "        assert r.verified and r.ranks == 16, r\n"
        "for exchange in ('host', 'pcie', 'channel'):\n"
        "    r = hf.run('b_eff', exchange=exchange, comm=comm, sizes=[1, 99], reps=1,\n"
        "               loop_upper=4, loop_lower=1)\n"
        "    assert r.verified and r.ranks == 16, r\n"
        "say('done')",
        # Else each rank compiles each kernel anew, for its number of work-items.
        POCL_WORK_GROUP_SPECIALIZATION="0",
        POCL_MAX_PTHREAD_COUNT="4",
        POCL_CPU_MAX_CU_COUNT="4",
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["done"] * 16
