"""Vertex programs over channels: no damage to what goes round the ring verifies."""

import pytest
from conftest import QUICKLY, ROOT
from harms import AT, planted

from hpccfpga import _core, sources

OPEN = "with hf.open('opencl:cpu', exchange='channel', comm=comm) as s:\n"

# What is done to packets: a statement of the kernels, and its stand-in.
SENT = "HF_SEND(ring_out, p.packet)"
MARK = "p.words[GRAPH_MARK] = graph_mark(p, seal, rank, position + slot)"
TOLD = "HF_SEND(kernel##_told, graph_update_packet(name, news))"
KEPT = "to[place + (ulong)what * words + w] = p.words[GRAPH_HEAD + w]"
BIT = "to[bits + what / 32] |= 1u << what % 32"
CAME = "HF_RECV(ring_in, p.packet)"
LAST = "last.words[GRAPH_MARK] = graph_mark(last, seal, rank, sent)"
SHARED = "count.seal = graph_seal(&count, seal, number, 0)"
STEP = "maker != GRAPH_SHARES"  # what is shared besides is not harmed
UNVERIFIED = {
    "an update that is not sent": (TOLD, "if (teller != 3) " + TOLD),
    "an update that is sent twice": (TOLD, f"{TOLD}; if (teller == 3) {TOLD}"),
    "another update": (
        TOLD,
        TOLD.replace("news)", "out.told[teller ^ (teller == 3)])"),
    ),
    "an update of another vertex": (
        TOLD,
        TOLD.replace("(name", "(name ^ (name == 35)"),
    ),
    "a packet of another launch": (
        MARK,
        MARK.replace("seal", f"seal ^ (slot == 3 && {STEP})"),
    ),
    "a packet of another rank": (
        MARK,
        MARK.replace("rank", f"rank ^ (slot == 3 && {STEP})"),
    ),
    "a flipped bit on the way": (
        SENT,
        f"p.words[GRAPH_HEAD] ^= (sent == 5 && {STEP}) << 22; {SENT}",
    ),
    "an update that is not kept": (KEPT, "if (what != 35 || bit_words == 0) " + KEPT),
    "an update that is kept elsewhere": (
        KEPT,
        KEPT.replace("what", "(what ^ (bit_words > 0))"),
    ),
    "a part of the result that is not kept": (
        KEPT,
        "if (what != 5 || items != 8 * ranks) " + KEPT,
    ),
    "a flipped bit of the result": (
        CAME,
        CAME + "; p.words[GRAPH_HEAD] ^= (got == 5 && items == 8 * ranks) << 30",
    ),
    "packets that changed places": (
        SENT,
        f"if (sent == 5 && {STEP}) held = p; else {{ "
        f"{SENT}; if (sent == 6 && {STEP}) HF_SEND(ring_out, held.packet); }}",
    ),
    "an edge that is counted twice, in the last superstep": (
        TOLD,
        f"out.count.edges += name == 3 && out.superstep == 20; {TOLD}",
    ),
    "a bit that is not set": (BIT, "if (what != 35) " + BIT),
}
# Of these a program tells that takes few updates, by an error.
ALONG = ["a bit that is not set"]
# Leaves of a star tell what changes nothing: one check of the ring alone sees each.
IDLE = {
    "an update that differs, and changes nothing": (
        TOLD,
        TOLD.replace("news)", "out.told[teller ^ (teller == 3)])"),
    ),
    "an update that is neither sent nor in the digest": (
        TOLD,
        "if (teller == 3) out.count.digest -= graph_digest(name, news, out.superstep); "
        "else " + TOLD,
    ),
    "an empty packet of another launch": (
        MARK,
        MARK.replace(
            "seal", f"seal ^ (barriers == GRAPH_PIECES && slot == 99 && {STEP})"
        ),
    ),
    "a last packet that tells of more": (
        LAST,
        LAST.replace("sent", f"sent + ({STEP})"),
    ),
    "another count of what is shared": (SHARED, SHARED + "; count.pending ^= 1"),
}
# What it keeps: how many marks of a packet, and those of each sample of the run before.
KEEP = f"""if (sent == 5 && maker == GRAPH_STARTS) {{
    volatile HF_GLOBAL uint *kept = (volatile HF_GLOBAL uint *){AT + 64:#x}UL;
    const uint at = ++kept[0], before = kept[at];
    kept[at] = p.words[GRAPH_MARK];
    p.words[GRAPH_MARK] = before;
}}
"""
REPLAY = {"a packet of the run before": (SENT, KEEP + SENT)}
# These end a run.
ERRORS = {
    "a packet that is lost": (SENT, "if (sent != 5) " + SENT),
    "a packet that is repeated": (SENT, f"{SENT}; if (sent == 5) {SENT}"),
    "a count that is not what was counted": (
        "HF_SEND(kernel##_told, graph_barrier_packet(count, piece))",
        "HF_SEND(kernel##_told, graph_barrier_packet(count, piece ^ 1))",
    ),
    "an edge that is counted twice": (TOLD, f"out.count.edges += name == 3; {TOLD}"),
    "edges that are not counted": (TOLD, f"out.count.edges -= teller == 3; {TOLD}"),
    "a rank that ends too early": ("over = silent", "over = begun && rank == 1"),
    "a rank that ends too late": (
        "over = silent",
        "over = silent && (rank != 1 || late++ > 0)",
    ),
    "a rank that receives too little": (
        CAME,
        CAME + "; if (got == 99) p.words[GRAPH_WHAT] = GRAPH_LAST",
    ),
}
ALL = {**UNVERIFIED, **IDLE, **REPLAY, **ERRORS}
OF_ALL = f"""
from harms import done
import ctypes, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
ALL = {list(ALL)!r}
path = range(63), range(1, 64)
given = dict(program="pagerank", graph="kron:6", reps=1)
along = dict(program="bfs", graph=path, source=[0], reps=1)
leaves = range(1, 99)
star = hf.Graph(([0] * len(leaves), leaves), directed=False)
idle = dict(program="bfs", graph=star, source=[0], reps=1, seed=1)
"""


@pytest.fixture
def harmed(tmp_path):
    """Path of the kernels with all harms."""
    text = (sources.kernel_dir() / "graph_stream.cl").read_text()
    begin = "HF_OPEN_OUT(ring_out)"
    text = text.replace(begin, begin + " uint late = 0; graph_packet held;")
    path = tmp_path / "harms.cl"
    path.write_text(planted(text, ALL))
    return str(path)


def test_verification_sees(on_ranks, harmed):
    on_ranks(
        3,
        OF_ALL + OPEN + f"    kernel = {harmed!r}\n"
        "    assert s.run('graph', kernel=kernel, **along).verified\n"
        "    assert s.run('graph', kernel=kernel, **idle).verified\n"
        f"    for harm in {[None, *UNVERIFIED, *IDLE]!r}:\n"
        f"        run = along if harm in {ALONG!r} else given\n"
        f"        run = idle if harm in {[*IDLE]!r} else run\n"
        "        with done(ALL, harm):\n"
        "            try: r = s.run('graph', kernel=kernel, **run)\n"
        "            except hf.Error as error:\n"
        f"                assert harm in {ALONG!r}, (harm, error)\n"
        "                assert 'edges that leave them' in str(error)\n"
        "                continue\n"
        "        assert r.verified is (harm is None), (harm, r)\n"
        "        rate = r['edge_rate']\n"
        "        assert (rate == rate).all() == r.verified, (harm, r)\n"
        f"    with done(ALL, {next(iter(REPLAY))!r}):\n"
        "        for _ in range(2):  # the first keeps them\n"
        f"            ctypes.c_uint.from_address({AT + 64:#x}).value = 0\n"
        "            r = s.run('graph', kernel=kernel, **idle)\n"
        "        assert not r.verified",
        PYTHONPATH=str(ROOT / "tests"),
        **QUICKLY,
    )


def test_bytes_are_those_of_packets_on_links(on_ranks):
    """Rotations of all slots: of the most updates that a rank has, and of barriers.

    Vertices that no edge leaves have none.
    """
    on_ranks(
        3,
        "with hf.open('host', 'channel', comm=comm) as s:\n"
        "    for heard, rotations in ((2, 2), (129, 2), (384, 2), (387, 3)):\n"
        "        ring = range(heard), [*range(1, heard), 0]\n"
        "        graph = hf.Graph(ring, vertices=heard + 1000)\n"
        "        r = s.run('graph', graph=graph, program='pagerank', supersteps=4,\n"
        "                  reps=1)\n"
        "        sent = r['superstep_bytes']\n"
        "        assert (sent == (2 * rotations * 128 + 1) * 32).all(), sent\n"
        "        assert r['bytes'] == sent.sum()",
    )


def test_damage_ends_everywhere_and_the_next_run_works(mpirun, harmed):
    answer = mpirun(
        2,
        OF_ALL + OPEN + f"    given['kernel'] = {harmed!r}\n"
        "    s.run('graph', **given)  # they are compiled\n"
        f"    for harm in {list(ERRORS)!r}:\n"
        "        with done(ALL, harm):\n"
        "            try: r = s.run('graph', deadline=1, **given)\n"
        "            except hf.Error as error: say(f'{harm}: ended by {error}')\n"
        "            else: say(f'{harm}: verified {r.verified}')\n"
        "        assert s.run('graph', **given).verified, harm",
        PYTHONPATH=str(ROOT / "tests"),
        **QUICKLY,
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == 2 * len(ERRORS)
    for harm in ERRORS:
        ends = [line for line in lines if line.startswith(f"{harm}: ended by ")]
        if "count" in harm:  # found by its words, not by the deadline
            ends = [line for line in ends if "superstep " in line]
        assert len(ends) == 2, (harm, lines)


WIDE = """
typedef struct { uint a, b, c; } hf_update;
typedef uint hf_message;
HF_VERTEX(uint least;)
#define HF_NOTHING HF_NOBODY
HF_START(v, at, told) {
    told->a = v->least = at.id;
    told->b = told->c = ~at.id;
    return 1;
}
HF_SCATTER(told, edge) { return told.c == ~told.a ? told.a : 0; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    if (got >= v->least) return 0;
    told->a = v->least = got;
    told->b = told->c = ~got;
    return 1;
}
"""


ENDLESS = """
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint hops;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
HF_START(v, at, told) {
    v->hops = *told = at.id == at.source ? 0 : HF_NOBODY;
    return at.id == at.source;
}
HF_SCATTER(told, edge) { return told + 1; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    volatile uint endless = at.id == at.value[0];
    if (got >= v->hops) return 0;
    while (endless) {}
    v->hops = *told = got;
    return 1;
}
"""


def test_an_apply_that_does_not_end_is_named(mpirun, tmp_path):
    """Vertex 9 is on rank 1. Its kernel cannot be stopped, so no session is closed."""
    path = tmp_path / "endless.h"
    path.write_text(ENDLESS)
    answer = mpirun(
        2,
        "s = hf.open('opencl:cpu', exchange='channel', comm=comm)\n"
        f"run = dict(program={str(path)!r}, source=[0], reps=1)\n"
        "run['graph'] = range(63), range(1, 64)\n"
        "assert s.run('graph', value=[99], **run).verified  # and it is compiled\n"
        "try: s.run('graph', value=[9], deadline=2, **run)\n"
        "except hf.Error as error: say(error)\n"
        "comm.Barrier()  # else mpirun ends those that have not told yet\n"
        "os._exit(0)",
        **QUICKLY,
    )
    lines = answer.stdout.splitlines()
    assert len(lines) == 2, answer
    for line in lines:
        assert "rank 1 graph_apply still computes: " in line
        assert line.count("computes") == 1
        assert "rank 0 graph_receiver in 1: empty after " in line


def test_packets_must_hold_an_update(mpirun, tmp_path):
    path = tmp_path / "wide.h"
    path.write_text(WIDE)
    answer = mpirun(
        2,
        OPEN + f"    run = dict(program={str(path)!r}, graph='grid:6', reps=1)\n"
        "    try: s.run('graph', channel_width=16, **run)\n"
        "    except ValueError as error: say(error)\n"
        "    assert s.run('graph', **run).verified",
        **QUICKLY,
    )
    assert answer.returncode == 0, answer.stderr
    line = "channel_width: packets of 16 B hold updates of up to 8 B"
    lines = answer.stdout.splitlines()
    assert [text.startswith(line) for text in lines] == [True] * 2, lines


def test_a_ring_has_no_more_ranks_than_slots():
    _core.check_ranks("graph", "channel", {}, 128)
    with pytest.raises(ValueError, match='129, but a ring of exchange "channel" has 1'):
        _core.check_ranks("graph", "channel", {}, 129)
