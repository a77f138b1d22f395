"""Benchmark fft on several ranks: each its own transforms, one rate for all."""


def test_every_rank_verifies(on_ranks):
    on_ranks(
        2,
        "import numpy as np\n"
        "small = dict(log_size=6, batch=2, reps=1)\n"
        "assert hf.run('fft', exchange='channel', comm=comm, **small).verified\n"
        "for exchange in ('pcie', 'host'):\n"
        "    r = hf.run('fft', exchange=exchange, comm=comm, batch=3, reps=2)\n"
        "    assert r.verified and r['samples'].shape == (1, 2, size), r\n"
        "    work = size * 3 * 5 * 4096 * 12\n"
        "    assert np.allclose(r['flops'] * r['time'], work), r",
    )


def test_packets_of_another_width_are_an_error_that_says_so(mpirun, tmp_path):
    answer = mpirun(
        2,
        "any_kernels()\n"
        "from hpccfpga import sources\n"
        "text = (sources.kernel_dir() / 'fft_stream.cl').read_text()\n"
        "width = '#undef HF_CHANNEL_WIDTH\\n#define HF_CHANNEL_WIDTH 32\\n'\n"
        "bad = text.replace('HF_STREAM(', width + 'HF_STREAM(', 1)\n"
        "assert bad != text\n"
        f"path = {str(tmp_path)!r} + f'/{{rank}}.cl'\n"
        "open(path, 'w').write(bad if rank == 1 else text)\n"
        "small = dict(log_size=6, batch=2, reps=1)\n"
        "try: hf.run('fft', exchange='channel', comm=comm, kernel=path, **small)\n"
        "except ValueError as error: say(error)",
    )
    assert answer.returncode == 0, answer.stderr
    line = "rank 1: channel_width: 64, but the kernels were built for packets of 32 B"
    assert answer.stdout.splitlines() == [line] * 2


def test_one_rank_with_a_wrong_element_is_a_wrong_result(mpirun, tmp_path):
    answer = mpirun(
        2,
        "any_kernels()\n"
        "from hpccfpga import sources\n"
        "text = (sources.kernel_dir() / 'fft_ndrange.cl').read_text()\n"
        "row = 'roots, sign);\\n    }\\n}'\n"
        "assert text.count(row) == 1\n"
        "bad = text.replace(row, 'roots, sign); if (b == 1) y[5] += 1;\\n    }\\n}')\n"
        f"path = {str(tmp_path)!r} + f'/{{rank}}.cl'\n"
        "open(path, 'w').write(bad if rank == 1 else text)\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "r = hf.run('fft', comm=comm, kernel=path, log_size=7, batch=3, reps=1)\n"
        "say(r.verified)",
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["False"] * 2
