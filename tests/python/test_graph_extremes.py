"""Graphs and programs at the edge of what there is: no edges, one hub, components."""

import numpy as np
import pytest
from conftest import QUICKLY
from vertex_programs import FIRST, quickly, run

import hpccfpga

BARE = {"vertices": 5}


def lines(u, v, *weights, **words):
    """Make a graph of undirected edges."""
    return hpccfpga.Graph((u, v, *weights), directed=False, **words)


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
def test_a_graph_without_edges(shape):
    given = {"device": "opencl", "shape": shape}
    bare, weighed = lines([], [], **BARE), lines([], [], [], **BARE)
    for program in ("wcc", "pagerank"):
        found = run(program=program, graph=bare, **given)
        assert found.verified, program
        assert found["reached"].tolist() == [5], program
        assert found["edges"].tolist() == [0], program
    assert found.vertices["rank"].tolist() == [pytest.approx(0.15 / 5)] * 5
    for program, graph in (("bfs", bare), ("sssp", weighed)):
        with pytest.raises(ValueError, match=r"no vertex with edges .*name one as"):
            run(program=program, graph=graph, **given)
        found = run(program=program, graph=graph, source=[2], **given)
        assert found.verified, program
        assert found["reached"].tolist() == [1], program


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_source_without_edges_reaches_itself(ranks):
    graph = lines([0, 1], [1, 2], **BARE)
    found = hpccfpga.run(
        "graph", graph=graph, source=[4], ranks=ranks, reps=1, exchange="host"
    )
    assert found.verified
    assert found["reached"].tolist() == [1]


def test_who_is_not_heard_sends_a_bit():
    ring = range(1024), [*range(1, 1024), 0]
    found = []
    for silent in (0, 64 * 1024):
        graph = hpccfpga.Graph(ring, vertices=1024 + silent)
        r = hpccfpga.run(
            "graph", graph=graph, program="pagerank", ranks=2, exchange="host", reps=1
        )
        assert r.verified
        assert (r["superstep_active"] == 512).all()
        found.append(r["superstep_bytes"])
    assert (found[1] - found[0] == 64 * 1024 / 2 / 8).all()


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_one_hub_and_many_components(direction):
    n = 30_000
    hub = lines(np.zeros(n, int), np.arange(1, n + 1))
    pairs = lines(np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2))
    for graph, labels in ((hub, 1), (pairs, n)):
        found = run(program="wcc", graph=graph, direction=direction, device="opencl")
        assert found.verified
        assert len(np.unique(found.vertices)) == labels
    found = run(program="bfs", graph=hub, source=[7], direction=direction)
    assert found.verified
    assert found["reached"].tolist() == [n + 1]


@pytest.mark.parametrize("ranks", [None, 2])
def test_components_that_a_third_edge_joins(ranks):
    """Vertices 4 and 5 have two hubs each, and behind these each other."""
    leaves = np.arange(6, 46)
    u = np.append(leaves % 4, [4, 4, 5, 5, 4])
    graph = lines(u, np.append(leaves, [0, 1, 2, 3, 5]))
    found = run(program="wcc", graph=graph, ranks=ranks)
    assert found.verified
    assert found.vertices["component"].tolist() == [0] * 46


@pytest.mark.parametrize("to", [32, 50, 63, 64, 9984, 9998])
def test_one_edge_that_leads_to_a_word_of_vertices(to):
    """Kernels take 32 vertices at a time, and look at none where no edge leads."""
    graph = hpccfpga.Graph(([3, 3], [to, 4]), directed=True, vertices=9999)
    given = {"direction": "pull", "source": [3], "device": "opencl"}
    found = run(program="bfs", graph=graph, **given)
    assert found.verified
    assert np.flatnonzero(found.vertices["parent"] == 3).tolist() == [3, 4, to]


WIDE = """
typedef uint hf_update;
typedef struct { uint least, one, two; } hf_message;
HF_VERTEX(uint least;)
#define HF_NOTHING ((hf_message){HF_NOBODY, 0, 0})
HF_START(v, at, told) { *told = v->least = at.id; return 1; }
HF_SCATTER(told, edge) { return (hf_message){told, 1, 2}; }
HF_GATHER(a, b) { return a.least < b.least ? a : b; }
HF_APPLY(v, got, at, told) {
    if (got.least >= v->least) return 0;
    *told = v->least = got.least;
    return 1;
}
"""


def test_a_message_of_12_bytes(tmp_path):
    program = tmp_path / "wide.h"
    program.write_text(WIDE)
    given = {"program": program, "graph": "grid:6"}
    found = quickly(device="opencl", **given)
    assert found.verified
    assert found.vertices["least"].tolist() == [0] * 64
    with pytest.raises(ValueError, match="push, but a message has 12 B, not 4"):
        run(device="opencl", direction="push", **given)
    along = run(device="opencl", architecture="gravf", ranks=2, **given)
    assert along.verified
    assert along.vertices.tobytes() == found.vertices.tobytes()


VECTOR = """
typedef uint2 hf_update;
typedef uint hf_message;
HF_VERTEX(uint hops;)
#define HF_SOURCE
#define HF_NOTHING HF_NOBODY
#define HF_WHEN(told) ((told).x)
HF_START(v, at, told) {
    v->hops = HF_NOBODY;
    if (at.id != at.source) return 0;
    v->hops = 0;
    *told = (uint2)(0, 7);
    return 1;
}
HF_SCATTER(told, edge) { return told.y == 7 ? told.x + 1 : 0; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    if (got >= v->hops) return 0;
    v->hops = got;
    *told = (uint2)(got, 7);
    return 1;
}
"""


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
def test_an_update_of_a_vector(tmp_path, shape):
    """Where a start returns 0 it has told nothing, not even zeros."""
    program = tmp_path / "vector.h"
    program.write_text(VECTOR)
    given = {"graph": "grid:8", "source": [0], "shape": shape, "device": "opencl"}
    take = run if shape == "ndrange" else quickly  # the first by vectors
    found = take(program=program, **given)
    assert found.verified
    assert found.vertices["hops"].max() == 30


def test_an_apply_that_does_not_end(command, tmp_path):
    """The command ends, though no one can stop what the kernel does."""
    program = tmp_path / "endless.h"
    start = FIRST.index("HF_APPLY")
    program.write_text(
        FIRST[:start]
        + "HF_APPLY(v, got, at, told) { volatile uint on = 1; while (on); return 0; }\n"
    )
    words = ["run", "graph", "--program", str(program), "--graph", "grid:6"]
    done = command(*words, "--device", "cpu", "--deadline", "2", **QUICKLY)
    assert done.returncode == 3, done.stderr
    assert "graph_" in done.stderr
    assert "has not ended within 2 s" in done.stderr


def test_bytes_of_a_state_that_belong_to_no_field(tmp_path):
    """They would differ by chance: a right program would not verify."""
    program = tmp_path / "loose.h"
    loose = FIRST.replace("(uint first;)", "(uint first; uchar more;)")
    program.write_text(loose)
    with pytest.raises(ValueError, match=r"loose\.h: HF_VERTEX has 3 B .* no field"):
        run(program=program, graph="grid:6", source=[0], device="opencl")
    program.write_text(loose + "#define HF_SAME(a, b) ((a).first == (b).first)\n")
    assert run(program=program, graph="grid:6", source=[0], device="opencl").verified


def test_kernels_of_a_program_that_has_changed(tmp_path, command):
    """What counts is the text, wherever it lies, not the path at which it was."""
    program, moved = tmp_path / "first.h", tmp_path / "elsewhere.h"
    program.write_text(FIRST)
    words = ["--program", program, "--device=opencl:cpu", "-o", tmp_path]
    done = command("kernels", "build", "graph", *words, **QUICKLY)
    assert done.returncode == 0, done.stderr
    given = {"kernel": tmp_path / "graph_ndrange.bin", "graph": "grid:6"}
    given |= {"device": "opencl:cpu", "source": [5]}
    assert run(**given).verified  # the manifest names the program
    moved.write_text(FIRST)
    program.write_text(FIRST.replace("HF_NOBODY", "0xFFFFFFFFu"))
    for params in ({}, {"program": program}):
        with pytest.raises(ValueError, match=r"first\.h has changed since the build"):
            run(**given | params)
    found = run(**given, program=moved)
    assert found.verified
    assert found.parameters["program"] == str(moved)
    manifest = tmp_path / "graph_ndrange.bin.json"
    manifest.write_text(manifest.read_text().replace('"texts"', '"tests"'))
    with pytest.raises(ValueError, match=r"texts\.program missing"):
        run(**given, program=moved)


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_graph_of_a_generator_brings_its_seed(ranks):
    given = {"device": "host", "program": "wcc", "ranks": ranks, "exchange": "host"}
    for seed in (0, 1) if ranks is None else (0,):
        graph = hpccfpga.Graph("kron:8", seed=seed)
        assert graph.facts()["seed"] == seed
        found = run(graph=graph, **given)
        assert found.parameters["seed"] == seed
        assert found["edges"].tolist() == [graph.edges]
    if ranks is None:
        found = run(graph="kron:8", **given)
        assert hpccfpga.Graph("kron:8").seed == found.parameters["seed"]
    with pytest.raises(ValueError, match=f"seed: 7, but the Graph has {seed}"):
        run(graph=graph, seed=7, **given)
