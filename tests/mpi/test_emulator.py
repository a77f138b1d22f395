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


@pytest.mark.parametrize("ranks", [1, 4])
def test_verifies(on_ranks, ranks):
    on_ranks(
        ranks,
        OPEN + "    for replications in (1, 2):\n"
        "        r = s.run('b_eff', sizes=[1, 65, 1000], reps=1, loop_upper=4,\n"
        "                  loop_lower=1, replications=replications)\n"
        "        assert r.verified and r.emulated, r\n"
        "        assert (r['packets'] != r['packets']).all(), 'nobody counts them'\n"
        "        assert (r['stalls'] != r['stalls']).all(), 'nor them'",
    )


def test_fft_verifies(mpirun):
    answer = mpirun(
        1,
        "for exchange in ('pcie', 'channel'):\n"
        "    with hf.open('FPGA Emulation', exchange=exchange) as s:\n"
        "        r = s.run('fft', log_size=6, batch=2, reps=1)\n"
        "    say(exchange, r.verified and r.emulated)",
    )
    assert answer.stdout == "pcie True\nchannel True\n", answer.stderr


@pytest.mark.parametrize("log", [0, 4])
def test_no_update_may_be_lost_in_emulation_without_a_buffer(mpirun, log):
    done = mpirun(
        1,
        "with hf.open('FPGA Emulation') as s:\n"
        "    r = s.run('randomaccess', sizes=[1 << 16], reps=1, shape='pipeline',\n"
        f"              buffer_size_log={log})\n"
        "    say('notes', r.provenance.get('notes'), r['error_rate'].tolist())",
    )
    assert done.returncode == 0, done.stderr
    assert ("up to 1 %" in done.stdout) is (log > 0), done.stdout
    assert ("[0.0]" in done.stdout) is (log == 0), done.stdout


@pytest.mark.parametrize(
    "run", ["'b_eff', sizes=[100], loop_upper=4", "'ptrans', sizes=[64], block_size=32"]
)
def test_as_many_kernels_are_built_as_a_run_takes(on_ranks, run):
    on_ranks(
        1,
        OPEN + "    for replications in (3, 4):\n"
        f"        r = s.run({run}, reps=1, replications=replications)\n"
        "        assert r.verified, r",
    )


@pytest.mark.parametrize(("ranks", "other"), [(1, "double"), (4, "float")])
def test_ptrans_verifies(on_ranks, ranks, other):
    on_ranks(
        ranks,
        OPEN + f"    for more in ({{'data_type': {other!r}}},\n"
        "                 {'distribution': 'diagonal'}):\n"
        "        r = s.run('ptrans', sizes=[100], block_size=32, reps=1, **more)\n"
        "        assert r.verified and r.emulated, r",
    )


@pytest.mark.parametrize(("ranks", "data_type"), [(1, "double"), (4, "float")])
def test_linpack_verifies(on_ranks, ranks, data_type):
    on_ranks(
        ranks,
        OPEN + "    r = s.run('linpack', sizes=[97], block_size=32, reps=1,\n"
        f"              data_type={data_type!r})\n"
        "    assert r.verified and r.emulated, r",
    )


@pytest.mark.parametrize(
    ("ranks", "program"), [(1, "wcc"), (3, "pagerank"), (2, "sssp")]
)
def test_graph_verifies(on_ranks, ranks, program):
    on_ranks(
        ranks,
        OPEN + f"    r = s.run('graph', program={program!r}, graph='kron:6',\n"
        "              supersteps=3 if size == 3 else 0, sources=1, reps=1)\n"
        "    assert r.verified and r.emulated, r",
    )


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
        "one = dict(small, sizes=[1], loop_upper=1)\n"
        + OPEN
        + f"    for kernel, was, now, report in {DEADLOCKS!r}:\n"
        "        head, mark, tail = text.partition(f'HF_STREAM({kernel}')\n"
        "        assert was in tail\n"
        f"        path = {str(tmp_path)!r} + f'/{{rank}}.cl'\n"
        "        open(path, 'w').write(head + mark + tail.replace(was, now, 1))\n"
        "        s.run('b_eff', kernel=path, **one)  # and its kernels are compiled\n"
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


def test_default_device_stays(command):
    """An emulator is taken only where it is asked for."""
    answer = command("run", "b_eff", "--sizes=1", "--reps=1")
    assert answer.returncode == 0, answer.stderr
    assert "FPGA Emulation" not in answer.stdout


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
