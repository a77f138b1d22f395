"""LINPACK over channels: grids verify, and no damage on the way does."""

import pytest
from conftest import QUICKLY, ROOT, killed
from harms import planted

from hpccfpga import sources

SMALL = "sizes=[20, 97, 330], reps=2, block_size=32"
OPEN = "with hf.open('opencl', exchange='channel', comm=comm) as s:\n"


def test_grids_verify(on_ranks):
    """Of 2x2 ranks, and four at once of one."""
    on_ranks(
        4,
        "variants = ({}, {'data_type': 'double', 'channel_width': 8},\n"
        "            {'channel_width': 128, 'channel_depth': 3, 'replications': 2})\n"
        + OPEN
        + "    for more in variants:\n"
        + f"        r = s.run('linpack', {SMALL}, **more)\n"
        "        assert r.verified and r.emulated and r.ranks == size, r\n"
        "        work = 2 / 3 * r['matrix_size'] ** 3\n"
        "        assert abs(r['flops'] * r['time'] / work - 1).max() < 1e-12\n"
        "        parts = r['exchange_time'] + r['kernel_time']\n"
        "        assert (parts <= r['time'] * 1.001).all(), (parts, r['time'])\n"
        "        assert (r['exchange_time'] > 0).all(), r['exchange_time']\n"
        "        assert (r['solve_time'] > 0).all(), r['solve_time']\n"
        + OPEN.replace("comm=comm", "comm=MPI.COMM_SELF")
        + "    assert s.run('linpack', sizes=[20, 97], reps=1, block_size=32).verified",
    )


def test_a_grid_that_is_no_square_is_refused(mpirun):
    answer = mpirun(
        4,
        "pair = comm.Split(rank // 2)\n"
        "for part, grid in ((comm, '4x1'), (pair, '1x2'), (pair, 'auto')):\n"
        "    kind = NotImplementedError if grid == 'auto' else ValueError\n"
        "    with hf.open('opencl', exchange='channel', comm=part) as s:\n"
        "        try: s.run('linpack', sizes=[64], block_size=32, grid=grid, reps=1)\n"
        "        except kind as error: say(grid, error)",
    )
    assert answer.returncode == 0, answer.stderr
    line = 'grid: exchange "channel" needs as many rows as columns, the grid is '
    lines = answer.stdout.splitlines()
    assert len(lines) == 12, lines
    for start in (f"4x1 {line}4x1; ", f"1x2 {line}1x2; ", f"auto {line}"):
        assert sum(text.startswith(start) for text in lines) == 4, (start, lines)


# What is done to packets: a statement of the kernels, and its stand-in.
SENT = "kept[kept_at + n] = passed.packet"
NEXT = "HF_SEND(out, passed.packet)"
MADE = "sent.lanes[l] = i == j ? inverses[i] : lu[i][j]"
HARMS = {
    "a wrong element of the diagonal": (MADE, MADE + " + (i == 9 && j == 3 ? 1 : 0)"),
    "a wrong reciprocal": (MADE, MADE.replace(" : ", " + (i == 9) : ")),
    "a packet of L for another": (
        "HF_SEND(lower, packet)",
        "HF_SEND(lower, i == 9 && chunk == 0 ? before : (before = packet))",
    ),
    "a packet of U for another": (
        "HF_SEND(upper, packet)",
        "HF_SEND(upper, i == 9 && chunk == 3 ? before : (before = packet))",
    ),
    "a packet that is not kept": (SENT, "if (n != 8) " + SENT),
    "packets that changed places": (
        SENT,
        SENT.replace("kept_at + n", "kept_at + n ^ 1"),
    ),
    "a panel of two iterations before": (SENT, "if (kept_at != 2 * 128) " + SENT),
    "a flipped bit": (SENT, "passed.packet.word[0] ^= n == 8 ? 1UL << 62 : 0; " + SENT),
}
# These take other ranks.
FAR_HARMS = {
    "a packet passed on for another": (
        NEXT,
        "HF_SEND(out, n == 8 ? before : (before = passed.packet))",
    ),
    "a wrong packet of L passed on": (
        "HF_SEND(right_out, packet)",
        "HF_SEND(right_out, i == 9 && chunk == 0 ? before : (before = packet))",
    ),
    "a wrong packet of U passed on": (
        "HF_SEND(down_out, packet)",
        "HF_SEND(down_out, i == 9 && chunk == 3 ? before : (before = packet))",
    ),
    "a sum that is not added": (
        "passed.sums[l] += mine.sums[l]",
        "passed.sums[l] *= 2",
    ),
}
# Packets that are not sent, and what the report of the deadlock says.
FEW = {
    "on a rank": (
        "HF_SEND(name, sent.packet)",
        "if (i > 0) HF_SEND(name, sent.packet)",
        "linpack_network_left from linpack_left: empty after 496 packets",
    ),
    "on the way to the left": (
        NEXT,
        "if (n != 100) " + NEXT,
        "linpack_network_left in 0: empty after 255 packets",
    ),
    "on the way to the right": (
        "HF_SEND(right_out, packet)",
        "if (i > 0) HF_SEND(right_out, packet)",
        "linpack_network in 1",
    ),
}
ALL = {**HARMS, **FAR_HARMS, **{harm: change[:2] for harm, change in FEW.items()}}
OF_ALL = f"""
from harms import done
import warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
ALL = {list(ALL)!r}
"""


@pytest.fixture
def harmed(tmp_path):
    """Path of the kernels with all harms."""
    text = (sources.kernel_dir() / "linpack_stream.cl").read_text()
    for end in ("HF_OPEN_OUT(lower)", "HF_OPEN_OUT(out)"):
        text = text.replace(end, end + " hf_packet before = {{0}};")
    path = tmp_path / "harms.cl"
    path.write_text(planted(text, ALL))
    return str(path)


@pytest.mark.parametrize(
    ("ranks", "harms", "few"), [(1, HARMS, [*FEW][:1]), (4, FAR_HARMS, [*FEW][1:])]
)
def test_damage_is_seen_and_a_packet_too_few_ends_everywhere(
    mpirun, harmed, ranks, harms, few
):
    """The next run works."""
    answer = mpirun(
        ranks,
        OF_ALL + OPEN + "    given = dict(sizes=[160], block_size=32, reps=1)\n"
        f"    given['kernel'] = {harmed!r}\n"
        f"    for harm in {[*harms, None]!r}:\n"
        "        with done(ALL, harm):\n"
        "            r = s.run('linpack', **given)\n"
        "        assert r.verified is (harm is None), harm\n"
        "        assert (r['flops'] != r['flops']).all() == (harm is not None), harm\n"
        "    late = 2 + 10 * r['time'][0]\n"
        f"    for harm in {few!r}:\n"
        "        with done(ALL, harm):\n"
        "            try: s.run('linpack', deadline=late, **given)\n"
        "            except hf.Error as error: say(error)\n"
        "        assert s.run('linpack', **given).verified",
        PYTHONPATH=str(ROOT / "tests"),
        **QUICKLY,
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == ranks * len(few)
    assert all("deadlock: " in line for line in lines), lines
    for harm in few:
        assert sum(FEW[harm][2] in line for line in lines) == ranks, (harm, lines)


def test_a_rank_killed_in_the_factorisation_ends_all(mpirun):
    """Rank 1 dies once its kernels have computed for a while."""
    answer = mpirun(
        4,
        "import signal, threading, time\n"
        "def die():\n"
        "    end = time.process_time() + 1\n"
        "    while time.process_time() < end: time.sleep(0.02)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        + OPEN
        + "    assert s.run('linpack', sizes=[97], reps=1).verified\n"
        "    say('begun')\n"
        "    if rank == 1: threading.Thread(target=die, daemon=True).start()\n"
        "    s.run('linpack', sizes=[8192], reps=1, deadline=1000)\n"
        "say('over')",
    )
    assert answer.stdout.split() == ["begun"] * 4
    assert answer.returncode == 128 + 9
    assert killed(answer.stderr) == 1
    assert "Traceback" not in answer.stderr
