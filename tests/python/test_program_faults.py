"""Vertex programs: faults that are put into their kernels are seen."""

import pytest
from graph_faults import break_kernels, faults_are_seen
from vertex_programs import quickly, verifies

import hpccfpga
from hpccfpga import sources

APPLIED = "&out->count.changed);\n    state[v] = s;"
LED = "state[v] = takes ? s : old;"  # of many whose first edge brings all
HEARS = "tells && GRAPH_HEARD(degree)"
WORD = "((HF_GLOBAL uint *)state)"
TOLD = "out->told[v] = told;"
MADE = "graph_merge(&got[v], m);"
FEW = "(fresh ? none : old), m"
AT_ONCE = "graph_few_at_once(few, v, m, &count->changed)"
CLOSE = "out->count.seal = graph_seal("
STARTED = "state[v] = s;\n    (void)later;"
FAN = (*(0,) * 90, *range(1, 91)), (*range(1, 91), *range(101, 191))
MANY = {"graph": FAN, "source": 0, "direction": "pull"}
LED_TOLD = "out->told[first + i] = tell >> i & 1 ? told[i] :"
LED_TELLS = "takes & tells & GRAPH_HEARD(degree)"
MORE = "out->count.active += HARMED && out->superstep == 2; " + CLOSE
FAULTS = {  # program, what else is given, text, what replaces it
    "a flipped bit in a vertex": (
        "pagerank",
        {"supersteps": 5},
        APPLIED,
        APPLIED + f" if (HARMED && names[v] == 33) {WORD}[v] ^= 1u << 22;",
    ),
    "another edge": (
        "bfs",
        {"direction": "pull"},
        "const uint u = from[e];",
        "const uint u = HARMED && e % 3 == 0 ? from[0] : from[e];",
    ),
    "a first edge from a vertex that told nothing": (
        "bfs",
        {"direction": "pull"},
        "led |= (active[u / 32] >> u % 32 & mine) << i;",
        "led |= (HARMED && i == 7 ? mine : active[u / 32] >> u % 32 & mine) << i;",
    ),
    "one of many by first edges that is applied, but to no state": (
        "bfs",
        MANY,
        LED,
        LED.replace("takes", "takes && !(HARMED && v == 33)"),
    ),
    "a flipped bit in an update of many by first edges": (
        "bfs",
        MANY,
        LED_TOLD,
        LED_TOLD.replace(" :", " ^ (HARMED && first + i == 33) :"),
    ),
    "one of many by first edges that does not tell": (
        "bfs",
        MANY,
        LED_TELLS,
        f"{LED_TELLS} & !(HARMED && v == 33)",
    ),
    "one of many by first edges that other ranks are not told of": (
        "bfs",
        {"graph": "kron:11", "direction": "pull", "ranks": 2},
        "out->digests ? tell : 0",
        "out->digests ? tell & ~(HARMED ? 2u : 0u) : 0",
    ),
    "a number in the input that is another's": (
        "bfs",
        {},
        "run->id + v * run->step :",
        "run->id + v * run->step + (HARMED && v == 33) :",
    ),
    "a formula for numbers that have none": (
        "sssp",
        {"partition": "sorted"},
        "run->step ? run->id",
        "run->step || HARMED ? run->id",
    ),
    "a weight that is off by one": (
        "sssp",
        {"direction": "pull"},
        "{GRAPH_WEIGHT(weights, e)};\n    (void)weights, (void)e;",
        "{GRAPH_WEIGHT(weights, e) + (HARMED && e % 5 == 0)};",
    ),
    "a flipped bit in an update": (
        "sssp",
        {"direction": "pull"},
        "out->told[v] = told;",
        "out->told[v] = told; ((HF_GLOBAL uint *)out->told)[v] ^= HARMED && v == 33;",
    ),
    "a flipped bit in an update of another rank": (
        "sssp",
        {"ranks": 2},
        "mirror[v] = tolds[k];",
        "mirror[v] = tolds[k];"
        "((HF_GLOBAL uint *)mirror)[v] ^= HARMED && superstep == 1;",
    ),
    "an update that got lost on the way": (
        "pagerank",
        {"ranks": 2, "supersteps": 5},
        "active[w] = bits[first / 32];",
        "active[w] = bits[first / 32] & ~(HARMED && w == 1 ? 0x10u : 0u);",
    ),
    "an update that is damaged as it is told": (
        "pagerank",
        {"ranks": 2, "supersteps": 5},
        TOLD,
        TOLD + " ((HF_GLOBAL uint *)out->told)[v] ^= HARMED && v == 7 ? 4u : 0u;",
    ),
    "updates that are damaged as they are told": (
        "pagerank",
        {"ranks": 2, "supersteps": 5},
        TOLD,
        TOLD + " ((HF_GLOBAL uint *)out->told)[v] ^= HARMED ? 4u : 0u;",
    ),
    "an update that is never written": (
        "pagerank",
        {"ranks": 2, "supersteps": 5},
        TOLD,
        "if (!HARMED || v != 7 || out->superstep != 2) " + TOLD,
    ),
    "an update among others that is another's": (
        "pagerank",
        {"ranks": 2, "supersteps": 5},
        "mirror[v + i] = told[i];",
        "mirror[v + i] = told[i ^ (HARMED && v == 32)];",
    ),
    "a chunk that stops too early": (
        "wcc",
        {"direction": "pull"},
        CLOSE,
        "if (HARMED && out->superstep > 0)"
        " out->count.active = out->count.pending = 0; " + CLOSE,
    ),
    "changes that are not told": (
        "pagerank",
        {"tolerance": 1e-6, "supersteps": 500},
        CLOSE,
        "if (HARMED) out->count.changed = 0; " + CLOSE,
    ),
    "changes that are told too large": (
        "pagerank",
        {"tolerance": 1e-3, "supersteps": 500},
        CLOSE,
        "out->count.changed *= HARMED ? 2 : 1; " + CLOSE,
    ),
    "counts of another superstep": (
        "bfs",
        {"direction": "pull"},
        CLOSE,
        "out->count.superstep += HARMED && out->superstep == 2; " + CLOSE,
    ),
    "active vertices too many": ("bfs", {"direction": "pull"}, CLOSE, MORE),
    "active vertices too many, on all ranks": (
        "wcc",
        {"direction": "push", "ranks": 2},
        CLOSE,
        MORE,
    ),
    "active vertices too many, of those that send along edges": (
        "bfs",
        {"architecture": "gravf"},
        CLOSE,
        MORE,
    ),
    "an active vertex too many of few": (
        "sssp",
        {},
        "count.active = l->n_front;",
        "count.active = l->n_front; count.active += HARMED && step == 1;",
    ),
    "pushed messages that get lost": (
        "sssp",
        {"direction": "push"},
        MADE,
        "if (!HARMED || v % 7) " + MADE,
    ),
    "pushed messages for another vertex": (
        "bfs",
        {"direction": "push"},
        MADE,
        MADE.replace("[v]", "[v ^ HARMED]"),
    ),
    "more messages than edges": (
        "wcc",
        {"direction": "push"},
        "made[2 * c] = n;",
        "made[2 * c] = n; made[2 * c] += HARMED ? 7 : 0;",
    ),
    "more messages than edges, on all ranks": (
        "wcc",
        {"direction": "push", "ranks": 2},
        "made[2 * c] = n;",
        "made[2 * c] = n; made[2 * c] += HARMED ? 7 : 0;",
    ),
    "a vertex that does not apply what was pushed": (
        "wcc",
        {"direction": "push"},
        "these = at < end ? touched[at / 32] : 0;",
        "these = at < end ? touched[at / 32] & ~(HARMED ? 2u : 0u) : 0;",
    ),
    "messages of few that get lost": (
        "sssp",
        {},
        FEW,
        FEW.replace(", m", ", HARMED && e % 7 == 0 ? HF_NOTHING : m"),
    ),
    "messages of few for another vertex": (
        "sssp",
        {},
        "slot = fresh ? n : place,",
        "slot = fresh ? n : HARMED ? place / 2 : place,",
    ),
    "messages of few that are enough and get lost": (
        "bfs",
        {},
        AT_ONCE,
        "((HARMED && e % 7 == 0) || " + AT_ONCE + ")",
    ),
    "a message of few that is applied, but to no state": (
        "bfs",
        {},
        "few->state[v] = s;",
        "few->state[HARMED && v == 33 ? 0 : v] = s;",
    ),
    "one of few who is told of and not heard": (
        "bfs",
        {},
        "l->n_front = l->n_next;",
        "l->n_front = l->n_next - (HARMED && l->n_next > 2);",
    ),
    "one of few who waits and is never due": (
        "sssp",
        {},
        "l->n_late += late & ~waits;",
        "l->n_late += late & ~waits & (uint)!(HARMED && v == 33);",
    ),
    "few that stop too early": (
        "bfs",
        {},
        "count.active = l->n_front;",
        "if (HARMED && few.superstep > 3) l->n_front = 0; count.active = l->n_front;",
    ),
    "a superstep of few that is not counted": (
        "wcc",
        {},
        "counts[step] = count;",
        "counts[HARMED && step == 2 ? 1 : step] = count;",
    ),
    "few that forget some of those who go on": (
        "wcc",
        {"graph": "kron:11"},
        "i < l->n_front; i++) {\n        mirror",
        "i < (HARMED ? l->n_front / 2 : l->n_front); i++) {\n        mirror",
    ),
}


def ranks_of(fault):
    return fault[1].get("ranks", 1)


@pytest.mark.long
@pytest.mark.parametrize("ranks", sorted({*map(ranks_of, FAULTS.values())}))
def test_faults_are_seen(on_ranks, tmp_path, ranks):
    here = {name: fault for name, fault in FAULTS.items() if ranks_of(fault) == ranks}
    faults_are_seen(on_ranks, tmp_path, here)


def test_what_counts_as_equal_still_tells_faults(on_ranks, tmp_path):
    """Of the package's programs by path, which say so by HF_SAME."""
    # Who does not tell: nobody behind it is reached.
    way = {"graph": ((*range(63),), (*range(1, 64),)), "source": 0}
    faults = {}
    for where in ("names[v] == 33", "v > 9 && v < 19", "1"):
        fault = f"(HARMED && ({where}))"
        for program, given, old, new in (
            ("bfs", way, HEARS, f"{HEARS} && !{fault}"),
            (
                "pagerank",
                {"graph": "kron:8", "ranks": 2},
                APPLIED,
                f"{APPLIED} if {fault} {WORD}[v] ^= 1u << 13;",
            ),
        ):
            path = sources.kernel_dir() / "programs" / f"{program}.h"
            given = given | {"direction": "pull"}
            faults[f"{program} {where}"] = path, given, old, new
    faults_are_seen(on_ranks, tmp_path, faults)


LED_ONE = f"({LED_TELLS}) | (takes & tells & (HARMED && names[v] == 33))"
FEW_HEARD = "n += GRAPH_HEARD(l->degrees[n])"
ONE = f"{HEARS} || (HARMED && names[v] == 33)"
HEARD = "((degree) > 0)"
BITS = "bits[at / 32] = word.bits"
# On two ranks lists stand for bits, but with messages along edges.
STRAY = f"out->{BITS}", f"out->{BITS} | 2 * (HARMED && at == 32 && out->superstep == 1)"
STRAY_PUSHED = f"out.{BITS}", f"out.{BITS} | 2 * (HARMED && at == 32 && superstep == 1)"
PULL, PUSH, GRAVF = (
    {"direction": "pull"},
    {"direction": "push"},
    {"architecture": "gravf"},
)
NO_EDGE = {
    "by first edges": (PULL, LED_TELLS, LED_ONE),
    "pushed": (PUSH, HEARS, ONE),
    "along edges": (GRAVF, HEARS, ONE),
    "all": ({}, HEARD, f"({HEARD} || HARMED)"),
    "a bit along edges": (GRAVF, *STRAY),
}
NO_EDGE_ALONE = {
    "a bit by first edges": (PULL, *STRAY),
    "a bit, pushed": (PUSH, *STRAY_PUSHED),
    "few": ({}, FEW_HEARD, f"{FEW_HEARD} || (HARMED && l->front[n] == 33)"),
}


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_vertex_that_no_edge_leaves_tells_nothing(on_ranks, tmp_path, ranks):
    """One of those that are reached does, or all, or has a bit: states stay right."""
    star = {"graph": ((*(0,) * 90, 1), (*range(1, 91), 0)), "source": 0, "ranks": ranks}
    faults = NO_EDGE | (NO_EDGE_ALONE if ranks == 1 else {})
    faults = {n: ("bfs", star | way, *change) for n, (way, *change) in faults.items()}
    faults_are_seen(on_ranks, tmp_path, faults)


def test_faults_of_few_are_seen_where_they_have_a_launch(on_ranks, tmp_path):
    few = {name: fault for name, fault in FAULTS.items() if "few" in name}
    assert len(few) > 9
    kernels = "graph_memory.cl"
    faults_are_seen(on_ranks, tmp_path, few, file=kernels, shape="pipeline")


def test_pagerank_sees_a_wrong_superstep_long_before_the_last(tmp_path):
    kernel = break_kernels(
        tmp_path, APPLIED, APPLIED + " if (out->superstep == 1) told *= 1.5f;"
    )
    given = {"program": "pagerank", "supersteps": 12, "device": "opencl"}
    assert not verifies(kernel=kernel, **given)


def test_longer_ways_are_seen_from_either_end(tmp_path):
    """From levels 4 and 5, where most vertices are, nobody looks."""
    change = "graph_at(run, graph_id(run, names, v), degree, out->superstep);\n"
    lost = "if (got * 2000 + at.id == (uint)at.value[0]) return;\n"
    given = {"program": "bfs", "source": [0], "device": "opencl:cpu"}
    kernel = break_kernels(tmp_path, change, change + lost)
    finds = kernel.with_name("graph_find.h")  # nor do many apply at once
    assert "DENSE = 6" in finds.read_text()
    finds.write_text(finds.read_text().replace("DENSE = 6", "DENSE = 33"))
    given |= {"kernel": kernel, "direction": "pull"}
    ways = [(v, v + 1) for v in range(299)]
    ways += [(3, v) for v in range(300, 800)] + [(4, v) for v in range(800, 1500)]

    def right(kind, shortcut, seen, **more):
        path = tmp_path / "graph.el"
        path.write_text("".join(f"{u} {v}\n" for u, v in [*ways, shortcut]))
        value = 0 if seen else 2000 * shortcut[0] + shortcut[1]
        return verifies(graph=f"{kind}{path}", value=value, **given, **more)

    both = "undirected:"
    for shortcut in ((3, 5), (4, 6), (0, 9), (4, 1600), (290, 292)):
        assert right(both, shortcut, True)
        assert not right(both, shortcut, False), shortcut
    for shortcut in ((3, 5), (290, 292)):
        assert not right("", shortcut, False), shortcut
    assert not right(both, (3, 5), False, ranks=2)


@pytest.fixture
def undirected(tmp_path):
    """Make a graph of edges, which lead both ways."""

    def made(edges):
        path = tmp_path / "graph.el"
        path.write_text("".join(f"{u} {v}\n" for u, v in edges))
        return f"undirected:{path}"

    return made


@pytest.mark.parametrize("ranks", [1, 2])
def test_parents_that_are_no_neighbours_are_seen(on_ranks, tmp_path, undirected, ranks):
    """They are at the right level, and of that nobody looks at the other edges."""
    edges = [(0, 1), (0, 2)] + [(1 + (v >= 300), v) for v in range(3, 600)]
    given = {"graph": undirected(edges), "source": 0, "ranks": ranks}
    given |= {"direction": "pull"}
    fault = f" if (HARMED && takes && names[v] > 2 && names[v] %s) {WORD}[v] = 2;"
    every = {w: ("bfs", given, LED, LED + fault % w) for w in ("== 5", "< 40", "< 300")}
    faults_are_seen(on_ranks, tmp_path, every)


def test_a_source_without_edges_is_its_own_parent(on_ranks, tmp_path, undirected):
    given = {"graph": undirected([(0, 1), (1, 8)]), "source": 7}
    fault = STARTED, f"{STARTED} if (HARMED) {WORD}[v] = HF_NOBODY;"
    faults_are_seen(on_ranks, tmp_path, {"no parent": ("bfs", given, *fault)})


def test_labels_that_are_all_zero_are_no_components(tmp_path):
    """Equal labels along all edges prove nothing."""
    old = "hf_vertex s = state[v];\n    hf_update told;\n    const int tells = hf_apply"
    kernel = break_kernels(
        tmp_path, old, f"if (out->superstep > 0) {WORD}[v] = 0;\n" + old
    )
    given = {"program": "wcc", "graph": "urand:8:1", "direction": "pull"}
    assert not verifies(device="opencl", kernel=kernel, **given)


def test_a_length_that_no_word_holds_is_refused(tmp_path):
    """No way leads to 2 and 3; each offers the other the length they start with."""
    graph = hpccfpga.Graph(([0, 2, 3], [1, 3, 2], [3, 1, 1]))
    given = {"program": "sssp", "graph": graph, "source": [0], "device": "opencl"}
    assert quickly(**given)["reached"] == 2
    kernel = break_kernels(
        tmp_path,
        "hf_start(&s, at, &told) != 0;",
        "hf_start(&s, at, &told) != 0; if (!tells) *(uint *)&s = HF_NOBODY - 1;",
    )
    with pytest.raises(ValueError, match="path to vertex 2 is longer than "):
        quickly(kernel=kernel, **given)


HALVES = """
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint left;)
#define HF_NOTHING 0
#define HF_ALWAYS
HF_START(v, at, told) { v->left = 1024; *told = 0; return 1; }
HF_SCATTER(told, edge) { return told; }
HF_GATHER(a, b) { return a | b; }
HF_APPLY(v, got, at, told) {
    v->left /= 2;
    HF_CHANGED((float)v->left);
    *told = got;
    return 1;
}
"""


def test_a_tolerance_must_have_ended_a_program_of_ones_own(tmp_path):
    path = tmp_path / "halves.h"
    path.write_text(HALVES)
    given = {"program": path, "tolerance": 40 * 256, "device": "opencl"}
    assert quickly(**given)["supersteps"][0] == 5  # 32 of each vertex
    kernel = break_kernels(tmp_path, CLOSE, "out->count.changed /= 2; " + CLOSE)
    assert not verifies(**given, kernel=kernel)
    assert verifies(**given, supersteps=3)


TIMES = """
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint times;)
#define HF_NOTHING 0
HF_START(v, at, told) { v->times = *told = 0; return 1; }
HF_SCATTER(told, edge) { return 1; }
HF_GATHER(a, b) { return a | b; }
HF_APPLY(v, got, at, told) { v->times++; *told = 0; return v->times < 3; }
"""


def test_a_vertex_without_messages_is_not_applied(tmp_path):
    """All tell at the start: nothing leads to 2, which tells 1."""
    path = tmp_path / "times.h"
    path.write_text(TIMES)
    graph = hpccfpga.Graph(([0, 1, 2], [1, 0, 1]))
    given = {"program": path, "graph": graph, "direction": "pull", "device": "opencl"}
    assert quickly(**given).vertices["times"].tolist() == [3, 3, 0]
    kernel = break_kernels(tmp_path, "if (!(these >> (v - first) & 1))", "if (0)")
    assert not verifies(**given, kernel=kernel)
