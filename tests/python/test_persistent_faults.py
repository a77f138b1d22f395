"""The persistent kernel of graph: faults in its phases are seen; its launches."""

import numpy as np
import pytest
from graph_faults import break_kernels, faults_are_seen
from vertex_programs import quickly

import hpccfpga
from hpccfpga import sources

PHASE = "switch (control->phase) {"
LAST = "l->told[GRAPH_FEW_ROOM - 1]"
STORED = "GRAPH_AT(graph_count, outbox, 0)[c] = out->count;"
PHASES = {  # program, what else is given, text, what replaces it
    "a part of a phase that nobody does": (
        "bfs",
        {"graph": "kron:12"},
        PHASE,
        "if (!HARMED || superstep != 3 || c != 5) " + PHASE,
    ),
    "a part of a phase that is done for another": (
        "wcc",
        {"graph": "kron:12"},
        "c = ticket % n, superstep",
        "c = HARMED && control->phase_superstep == 3 ? (ticket % n) & ~1u : ticket % n,"
        " superstep",
    ),
    "a phase in place of another": (
        "sssp",
        {"graph": "kron:12"},
        "kind = GRAPH_APPLYING;",
        "kind = HARMED && at.superstep == 4 ? GRAPH_ADMITTING : GRAPH_APPLYING;",
    ),
    "a part of a phase of a program that applies all": (
        "pagerank",
        {"graph": "kron:12", "supersteps": 5},
        PHASE,
        "if (!HARMED || superstep != 3 || c != 5) " + PHASE,
    ),
    "a launch that goes on behind its tolerance": (
        "pagerank",
        {"graph": "kron:12", "tolerance": 1e-3},
        "at->changed <= at->tolerance",
        "at->changed * (HARMED ? 4 : 1) <= at->tolerance",
    ),
    "boxes that do not change places": (
        "wcc",
        {"graph": "kron:12"},
        "turned++;",
        "turned += !HARMED || at.superstep != 3;",
    ),
    "a chunk of a persistent kernel that is not counted": (
        "bfs",
        {"graph": "kron:12"},
        "sum.active += count.active;",
        "sum.active += HARMED && c == 3 ? 0 : count.active;",
    ),
    "updates of a sample before": (
        "sssp",
        {"graph": "kron:12", "reps": 2},
        "mirror[l->front[i]] = l->told[i];",
        f"if (!HARMED || {LAST} != 77) mirror[l->front[i]] = l->told[i];"
        f" if (HARMED && i + 1 == l->n_front) {LAST} = 77;",
    ),
    "a phase with another window": (
        "sssp",
        {"graph": "kron:12"},
        "control->phase_window = at.window;",
        "control->phase_window = at.window + (HARMED ? 64ul << 32 : 0);",
    ),
    "a chunk whose count is another than was sealed": (
        "bfs",
        {"graph": "kron:12"},
        STORED,
        "out->count.messages -= HARMED && out->superstep == 3 && c == 5; " + STORED,
    ),
    "a superstep of a persistent kernel that is not counted": (
        "bfs",
        {"graph": "kron:12"},
        "graph_course_count(at, step, sum);",
        "if (!HARMED || step != 3) graph_course_count(at, step, sum);",
    ),
}


def test_faults_of_phases_are_seen(on_ranks, tmp_path):
    faults_are_seen(on_ranks, tmp_path, PHASES)


# Each of four hubs has 20,000 edges: ranges pay on any number of cores.
HUBS = {"graph": ((0,) * 4 + (1, 2, 3, 4) * 20000, range(1, 80005), (1,) * 80004)}
SENT = "e < stop && to[e] < last; e++"
MESSAGE = "got[v] = takes ? graph_bits_of("
REACH = "if (c % reach"
TAKEN = "for (; c < beyond; c++)"
RANGES = {  # text, what replaces it
    "messages of a row that get lost": (
        SENT,
        SENT.replace("stop", "stop - (HARMED && u == 2)"),
    ),
    "messages of all rows that get lost": (SENT, SENT + ", e += HARMED"),
    "messages for another vertex": ("v = to[e], old", "v = to[e] & ~(uint)HARMED, old"),
    "a damaged message": ("(old), m)) :", "(old), m)) ^ (uint)(HARMED && v == 77) :"),
    "damaged messages of all": (MESSAGE, MESSAGE.replace("?", "? HARMED +")),
    "updates of a superstep before": (
        "(c, beyond, chunks, outs, to, weights, run, inbox",
        "(c, beyond, chunks, outs, to, weights, run, HARMED ? outbox : inbox",
    ),
    "first edges that a range passes over": (
        "begin < stop && to[begin] >= first",
        "begin < stop && to[begin] >= first + (HARMED ? 32 : 0)",
    ),
    "a range that nobody takes": (REACH, REACH + " || (HARMED && c / reach == 1)"),
    "ranges that nobody takes": (REACH, REACH + " || (HARMED && c / reach > 0)"),
    "a chunk that is applied twice": (
        TAKEN,
        "for (uint n_taken = c; HARMED ? n_taken <= beyond : c < beyond;"
        " n_taken++, c += !HARMED || c + 1 < beyond)",
    ),
    "more messages than edges": (
        "made[2 * c] = sent;",
        "made[2 * c] = sent + (HARMED ? 7 : 0);",
    ),
    "an edge that is not known of": (
        " known += stop - begin + graph_teller(run, u);",
        " known += stop - begin + (HARMED ? u != 2 : graph_teller(run, u));",
    ),
}


def test_faults_of_ranges_are_seen(on_ranks, tmp_path):
    hubs = HUBS | {"source": 0}
    faults = {name: ("sssp", hubs, *change) for name, change in RANGES.items()}
    faults_are_seen(on_ranks, tmp_path, faults)


def test_launches_that_end_early_are_gone_on_with(tmp_path):
    """By the work that they are given, or after 256 supersteps."""
    early = break_kernels(tmp_path, "(1u << 26)", "(1u << 12)")
    given = {"device": "opencl:cpu", "shape": "ndrange", "sources": 1, "trace": True}

    def launches(r):
        return np.count_nonzero(r.trace["label"] == "graph_persistent")

    for program in sources.programs():
        one = quickly(program=program, graph="kron:12", **given)
        many = quickly(program=program, graph="kron:12", kernel=early, **given)
        for column in ("supersteps", "messages", "updates"):
            assert one[column].tolist() == many[column].tolist()
        assert launches(one) < launches(many)
    way = hpccfpga.Graph((range(599), range(1, 600)))
    r = quickly(program="bfs", graph=way, source=[0], **given)
    assert (r["supersteps"], launches(r)) == (599, 3)


@pytest.mark.parametrize(("ticks", "rise"), [("step + 1", 1), ("0", 0)])
def test_supersteps_of_a_launch_share_its_time_by_ticks(tmp_path, ticks, rise):
    """Evenly where there is no clock. What they share is the time of the kernel."""
    kernel = break_kernels(tmp_path, "took / (end - first);", f"{ticks};")
    given = {"graph": "kron:12", "device": "opencl:cpu", "shape": "ndrange"}
    r = quickly(program="bfs", sources=1, kernel=kernel, **given)
    taken = r["superstep_kernel_time"][0, :, 0]
    shares = 1 + rise * np.arange(taken.size)
    assert taken.size > 4
    assert taken / taken.sum() == pytest.approx(shares / shares.sum())
    assert taken.sum() == pytest.approx(r["kernel_time"][0])
