"""Intel's FPGA emulator: the same kernels with real I/O channels, a pipe per link."""

from pathlib import Path

import pytest
from conftest import ours
from harms import broken

from hpccfpga import emulation

HERE = any("libintelocl_emu" in path for path in emulation.vendors()["libraries"])
pytestmark = pytest.mark.skipif(
    not HERE, reason="Intel's FPGA emulator is not here: pip install hpccfpga[intel]"
)


OPEN = "with hf.open('FPGA Emulation', exchange='channel', comm=comm) as s:\n"


def test_devices_lists_it(command):
    answer = command("devices")
    assert answer.returncode == 0, answer.stderr
    (line,) = (t for t in answer.stdout.splitlines() if "FPGA Emulation" in t)
    assert line.startswith("opencl:")
    assert "  accelerator  yes  " in line


# What is run in one session: each run has its kernels compiled anew.
RUNS = {
    1: """
        *(("b_eff", dict(B_EFF, replications=n)) for n in (1, 3, 4)),
        ("ptrans", dict(sizes=[40], block_size=32, data_type="double")),
        ("ptrans", dict(sizes=[40], block_size=32, replications=3)),
        ("graph", dict(graph="kron:6", program="sssp", sources=1)),
        ("fft", dict(log_size=6, batch=2)),""",
    2: """
        ("ptrans", dict(sizes=[100], block_size=32, distribution="diagonal")),
        ("graph", dict(graph="kron:6", program="pagerank", supersteps=3)),""",
    4: """
        ("b_eff", B_EFF),
        ("ptrans", dict(sizes=[100], block_size=32)),
        ("linpack", dict(sizes=[64], block_size=32)),""",
}


@pytest.mark.parametrize("ranks", RUNS)
def test_benchmarks_verify(on_ranks, ranks):
    on_ranks(
        ranks,
        "B_EFF = dict(sizes=[1, 65, 1000], loop_upper=4, loop_lower=1)\n"
        + OPEN
        + f"    for name, given in ({RUNS[ranks]}\n    ):\n"
        "        r = s.run(name, reps=1, **given)\n"
        "        assert r.verified and r.emulated, r\n"
        "        if name == 'b_eff':\n"
        "            assert (r['packets'] != r['packets']).all(), 'nobody counts'\n"
        "            assert (r['stalls'] != r['stalls']).all(), 'nor them'",
    )


def test_no_update_may_be_lost_in_emulation_without_a_buffer(mpirun):
    done = mpirun(
        1,
        "with hf.open('FPGA Emulation') as s:\n"
        "    for log in (0, 4):\n"
        "        r = s.run('randomaccess', sizes=[1 << 16], reps=1,\n"
        "                  shape='pipeline', buffer_size_log=log)\n"
        "        say('notes', r.provenance.get('notes'), r['error_rate'].tolist())\n"
        "    assert s.run('fft', log_size=6, batch=2, reps=1).verified",
    )
    assert done.returncode == 0, done.stderr
    without, with_one = done.stdout.splitlines()
    assert ("up to 1 %" in with_one, "[0.0]" in with_one) == (True, False)
    assert ("up to 1 %" in without, "[0.0]" in without) == (False, True)


DEADLOCKS = [  # kernel, text, what replaces it, report: a packet, a message too few
    (
        "b_eff_send",
        "chunk < chunks",
        "chunk + (message == 1) < chunks",
        "b_eff_recv_0: in 0 empty, in 1 empty",
    ),
    (
        "b_eff_recv",
        "message < messages",
        "message + 1 < messages",
        "b_eff_send_0: out 0 full with 128 packets",
    ),
]


def test_a_deadlock_ends_everywhere_and_the_next_run_works(mpirun, tmp_path):
    answer = mpirun(
        2,
        "any_kernels()\n"
        "from hpccfpga import emulation, sources\n"
        "text = (sources.kernel_dir() / 'b_eff_stream.cl').read_text()\n"
        "small = dict(sizes=[10000], reps=1, loop_upper=2, channel_depth=1)\n"
        + OPEN
        + f"    for kernel, was, now, report in {DEADLOCKS!r}:\n"
        "        head, mark, tail = text.partition(f'HF_STREAM({kernel}')\n"
        "        assert was in tail\n"
        f"        path = {str(tmp_path)!r} + f'/{{rank}}.cl'\n"
        "        open(path, 'w').write(head + mark + tail.replace(was, now, 1))\n"
        "        for deadline in (1, 4, 32):  # a busy machine gets there late\n"
        "            try: s.run('b_eff', kernel=path, deadline=deadline, **small)\n"
        "            except hf.Error as error: found = str(error)\n"
        "            if report in found: break\n"
        "        say(found)\n"
        "        assert s.run('b_eff', **small).verified",
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert all("deadlock or endless kernel: " in line for line in lines), lines
    for *_, report in DEADLOCKS:
        assert sum(report in line for line in lines) == 2, lines


def test_a_kernel_that_cannot_be_stopped_takes_a_new_session(mpirun, tmp_path):
    """It waits for one of its own device that has ended: no pipe leads there."""
    change = "if (message + 1 < messages)", "if (message + 2 < messages)"
    path = broken(tmp_path, "b_eff_stream.cl", change)
    answer = mpirun(
        1,
        "small = dict(sizes=[1], reps=1, loop_upper=4, replications=1)\n"
        + OPEN
        + f"    for more in (dict(kernel={str(path)!r}, deadline=1), {{}}):\n"
        "        try: s.run('b_eff', **small, **more)\n"
        "        except hf.Error as error: say(error)\n"
        + OPEN
        + "    say(s.run('b_eff', **small).verified)",
    )
    assert answer.returncode == 0, answer.stderr
    first, second, third = answer.stdout.splitlines()
    assert first.endswith("; 1 cannot be stopped: open a new session")
    assert "rank 0 b_eff_send_0" in first
    assert second.endswith("an earlier run cannot be stopped: open a new session")
    assert third == "True"


def test_a_channel_that_two_kernels_write_is_refused(command, tmp_path):
    """As the board's compiler would: rings would carry what comes."""
    change = "B_EFF_PAIR(1, out_2,", "B_EFF_PAIR(1, out_0,"
    path = broken(tmp_path, "b_eff_stream.cl", change)
    words = ["run", "b_eff", "--exchange=channel", "--replications=2", "--sizes=1"]
    answer = command(*words, "--device=FPGA Emulation", f"--kernel={path}")
    assert answer.returncode == 2
    (line,) = ours(answer.stderr).splitlines()
    assert "the kernels do not compile: b_eff_stream.cl:" in line
    assert "usage of the same channel for writing from different kernels" in line


def test_kernels_that_name_a_sessions_pipes_are_not_kept(command, tmp_path):
    words = ["kernels", "build", "b_eff", "--exchange=channel", "-o", tmp_path / "k"]
    answer = command(*words, "--device=FPGA Emulation")
    assert answer.returncode == 2
    assert "there is none to keep" in answer.stderr
    assert not any(tmp_path.iterdir())


def test_pipes_go_with_their_owner(mpirun):
    """A killed run leaves its folder; the next one takes it away."""
    run = OPEN + "    say(s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified)\n"
    killed = mpirun(
        1,
        run + "    import signal\n"
        "    from pathlib import Path\n"
        "    fds = [os.path.realpath(fd) for fd in Path('/proc/self/fd').iterdir()]\n"
        "    (lock,) = [fd for fd in fds if fd.endswith('lock') and '-pipes-' in fd]\n"
        "    folder = Path(lock).parent\n"
        "    say(folder, any(path.is_fifo() for path in folder.iterdir()))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert killed.returncode != 0
    verified, folder, fifos = killed.stdout.split()
    assert (verified, fifos) == ("True", "True"), killed.stderr
    answer = mpirun(1, run)
    assert answer.stdout.split() == ["True"], answer.stderr
    assert not Path(folder).exists()


def test_two_runs_at_once_do_not_meet(twice_at_once):
    twice_at_once(
        OPEN
        + "    r = s.run('b_eff', sizes=[1, *range(2001, 2004)], reps=1, seed=number,\n"
        "              loop_upper=8, replications=1, progress=meet)\n"
        "    assert r.verified, r"
    )


def test_it_is_loaded_beside_a_session_that_did_not_need_it(mpirun):
    answer = mpirun(
        1,
        "loaded = lambda: 'libintelocl' in open('/proc/self/maps').read()\n"
        "small = dict(sizes=[1, 64], reps=1, loop_upper=4)\n"
        "with hf.open() as first:\n"
        "    say(first.run('b_eff', **small).verified, loaded())\n"
        "    with hf.open('FPGA Emulation') as other:\n"
        "        index = other.device['index']\n"
        "        say(other.run('b_eff', **small).verified, loaded())\n"
        "    say(first.run('b_eff', **small).verified)\n"
        "names = {d['index']: d['name'] for d in hf.devices() if d['index'] > 0}\n"
        "say('Emulation' in names[index])",
    )
    lines = answer.stdout.splitlines()
    assert lines == ["True False", "True True", "True", "True"], answer.stderr
