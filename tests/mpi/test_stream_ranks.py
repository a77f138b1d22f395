"""STREAM on several ranks: each has arrays of its own."""


def test_ranks_verify(on_ranks):
    on_ranks(
        2,
        "for shape in ('ndrange', 'pipeline'):\n"
        "    r = hf.run('stream', comm=comm, size=48000, shape=shape, reps=2)\n"
        "    assert r.verified and r.ranks == size, r\n"
        "    work = 4 * 48000 * size\n"
        "    for point, arrays in enumerate((2, 2, 3, 3)):\n"
        "        rate = arrays * work / r['time'][point]\n"
        "        assert abs(r['bandwidth'][point] / rate - 1) < 1e-12",
    )


def test_one_rank_with_a_wrong_element(mpirun, tmp_path):
    (tmp_path / "0.cl").write_text('#include "stream_ndrange.cl"\n')
    (tmp_path / "1.cl").write_text(
        "#define stream_apply right\n"
        '#include "stream_ndrange.cl"\n'
        "#undef stream_apply\n"
        "HF_KERNEL(stream_apply, HF_WRITE(float, out), HF_READ(float, one),\n"
        "          HF_READ(float, two), HF_VALUE(float, scalar), HF_VALUE(uint, sum),\n"
        "          HF_VALUE(ulong, n)) {\n"
        "    right(out, one, two, scalar, sum, n);\n"
        "    if (get_global_id(0) == 0) out[0] += 1;\n"
        "}\n"
    )
    answer = mpirun(
        2,
        "any_kernels()\n"
        f"path = '{tmp_path}/%d.cl' % rank\n"
        "r = hf.run('stream', comm=comm, kernel=path, size=4096, steps=1, reps=2)\n"
        "say(r.verified, r['error'].tolist())",
    )
    line = "False [1.0, 1.0, 1.0, 1.0]"
    assert answer.stdout.splitlines() == [line] * 2, answer.stderr
