"""The benchmarks of one device on more ranks than there are cores."""


def test_sixteen_ranks_verify(mpirun):
    answer = mpirun(
        16,
        "small = {'stream': {'size': 4096}, 'randomaccess': {'sizes': [1024]},\n"
        "         'fft': {'log_size': 6, 'batch': 2}, 'gemm': {'sizes': [48]}}\n"
        "for name, params in small.items():\n"
        "    for shape in ('ndrange', 'pipeline'):\n"
        "        r = hf.run(name, comm=comm, shape=shape, reps=1, **params)\n"
        "        assert r.verified and r.ranks == 16, r\n"
        "say('done')",
        timeout=110,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["done"] * 16
