"""Vertex programs by the kernels for GPUs, in which a work-group takes a chunk."""

import warnings
from contextlib import suppress

import pytest
from vertex_programs import break_kernels

import hpccfpga
from hpccfpga import sources

PROGRAMS = sources.programs()

GPU = '#undef __x86_64__\n#undef __aarch64__\n#include "graph_ndrange.cl"\n'


def run(**params):
    return hpccfpga.run("graph", **({"device": "opencl", "reps": 1} | params))


@pytest.fixture
def for_gpus(tmp_path, monkeypatch):
    """No GPU is needed to see that its kernels are right, and they need not be fast."""
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    path = tmp_path / "gpu.cl"
    path.write_text(GPU)
    return path


@pytest.mark.parametrize("program", PROGRAMS)
def test_work_groups_find_what_work_items_find(for_gpus, program):
    """On one rank and several, along rows that are longer than a group, and none."""
    given = {"program": program, "sources": 2}
    for graph in ("kron:11", "kron:1"):
        alone = run(graph=graph, device="host", **given)
        for direction, ranks in (("auto", None), ("push", None), ("pull", 2)):
            if (program, direction) == ("pagerank", "push"):
                continue
            words = given | {"graph": graph, "direction": direction, "ranks": ranks}
            r = run(kernel=for_gpus, **words)
            assert r.verified
            for name in ("source", "supersteps", "updates", "reached"):
                assert r[name].tolist() == alone[name].tolist(), (words, name)


LISTED = "n = graph_slot(out->team, n);"
FAULTS = {
    "a message of a short row that gets lost": (
        "pagerank",
        {"supersteps": 3},
        "stage[k - first] = m;",
        "stage[k - first] = k % 9 ? m : HF_NOTHING;",
    ),
    "the last part of a long row": (
        "pagerank",
        {"supersteps": 3},
        "n = GRAPH_ITEMS / 2; n > 0; n /= 2) {\n            GRAPH_MEET",
        "n = GRAPH_ITEMS / 4; n > 0; n /= 2) {\n            GRAPH_MEET",
    ),
    "a long row of another vertex": (
        "sssp",
        {"direction": "push"},
        "const hf_update told = mirror[first + i];",
        "const hf_update told = mirror[first + (i ^ 1)];",
    ),
    "edges that are laid to another row": (
        "sssp",
        {"direction": "push"},
        "if (team->ends[i + n] <= k)",
        "if (team->ends[i + n] < k)",
    ),
    "bits of other work-items": (
        "bfs",
        {"direction": "pull"},
        "atomic_or(&team->bits[GRAPH_WORD], word.bits);",
        "team->bits[GRAPH_WORD] = word.bits;",
    ),
    "counts that are not added up": (
        "sssp",
        {},
        "mine->active += other->active;",
        "",
    ),
    "an update in the place of another": (
        "bfs",
        {"ranks": 2, "graph": "grid:8"},
        LISTED,
        LISTED + " if (n > 0 && out->superstep == 1) n--;",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(for_gpus, fault):
    program, other, old, new = FAULTS[fault]
    break_kernels(for_gpus.parent, old, new)
    source = [5] if program in ("bfs", "sssp") else -1
    given = {"graph": "kron:11", "source": source, "program": program, "deadline": 60}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hpccfpga.VerificationWarning)
        with suppress(hpccfpga.Error):
            assert not run(kernel=for_gpus, **(given | other)).verified


WIDE = """typedef uint hf_update;
typedef struct { uint first, more[15]; } hf_message;
HF_VERTEX(uint first;)
#define HF_NOTHING ((hf_message){HF_NOBODY})
#define HF_SOURCE
HF_START(v, at, told) { v->first = *told = at.id; return at.id == at.source; }
HF_SCATTER(told, edge) { return (hf_message){told}; }
HF_GATHER(a, b) { return a.first < b.first ? a : b; }
HF_APPLY(v, got, at, told) {
    if (v->first != at.id || at.id == at.source)
        return 0;
    v->first = got.first;
    *told = at.id;
    return 1;
}
"""


def test_what_work_groups_cannot_take_is_refused(for_gpus, tmp_path):
    path = tmp_path / "wide.h"
    given = {"program": path, "kernel": for_gpus, "graph": "grid:6", "source": [5]}
    path.write_text(WIDE)
    assert run(**given).verified
    path.write_text(WIDE.replace("[15]", "[16]"))
    with pytest.raises(ValueError, match="a message has 68 B; 64 at most"):
        run(**given)
    with pytest.raises(
        ValueError, match="pipeline, but the kernels are for work-groups"
    ):
        run(kernel=for_gpus, graph="grid:6", shape="pipeline")
