"""GEMM on several ranks: each has matrices of its own."""

from conftest import QUICKLY


def test_ranks_verify(on_ranks):
    on_ranks(
        2,
        "for shape in ('ndrange', 'pipeline'):\n"
        "    r = hf.run('gemm', comm=comm, sizes=[130, 64], shape=shape, reps=2)\n"
        "    assert r.verified and r.ranks == size, r\n"
        "    for n, time, rate in zip(r['matrix_size'], r['time'], r['flops']):\n"
        "        assert abs(rate * time / (size * 2.0 * n**3) - 1) < 1e-12",
    )


def test_one_rank_with_an_element_that_is_not_a_number(mpirun, tmp_path):
    """It must stay, whichever rank has it."""
    (tmp_path / "right.cl").write_text('#include "gemm_ndrange.cl"\n')
    (tmp_path / "wrong.cl").write_text(
        "#define gemm_multiply right\n"
        '#include "gemm_ndrange.cl"\n'
        "#undef gemm_multiply\n"
        "HF_KERNEL(gemm_multiply, HF_READ(float, a), HF_READ(float, b),\n"
        "          HF_READ(float, c0), HF_WRITE(float, c), HF_VALUE(float, alpha),\n"
        "          HF_VALUE(float, beta), HF_VALUE(uint, n), HF_VALUE(uint, first),\n"
        "          HF_VALUE(uint, end)) {\n"
        "    right(a, b, c0, c, alpha, beta, n, first, end);\n"
        "    if (get_global_id(0) == 0) c[0] = NAN;\n"
        "}\n"
    )
    answer = mpirun(
        3,
        "any_kernels()\n"
        "for bad in range(size):\n"
        f"    path = '{tmp_path}/' + ('wrong.cl' if rank == bad else 'right.cl')\n"
        "    r = hf.run('gemm', comm=comm, kernel=path, sizes=[64], reps=2)\n"
        "    say(bad, r.verified, r['error'][0] <= 1)",
        **QUICKLY,
    )
    lines = sorted(answer.stdout.splitlines())
    assert lines == [f"{bad} False False" for bad in "000111222"], answer.stderr
