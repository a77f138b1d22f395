"""Vertex programs by the kernels for GPUs, in which a work-group takes a chunk.

No GPU is needed to see that they are right, and they need not be fast.
"""

import json
from functools import cache

import pytest
from conftest import QUICKLY
from graph_faults import faults_are_seen

import hpccfpga
from hpccfpga import sources

PROGRAMS = sources.programs()

GPU = '#undef __x86_64__\n#undef __aarch64__\n#include "graph_ndrange.cl"\n'

ONCE = {"reps": 1, "warmup": 1}
NAMES = ("source", "supersteps", "updates", "reached")

RUNS = f"""
import json, warnings
from pathlib import Path
warnings.simplefilter("ignore", hf.VerificationWarning)
told = []
for params in json.loads(Path(f"runs.{{size}}").read_text()):
    try:
        r = hf.run("graph", device="opencl:cpu", comm=comm, **params)
        told.append([r.verified, *(r[name].tolist() for name in {NAMES})])
    except (ValueError, hf.Error) as error:
        told.append(str(error))
if rank == 0:
    Path(f"told.{{size}}").write_text(json.dumps(told))
"""


@pytest.fixture
def on_work_groups(on_ranks):
    """Run a script as `on_ranks` does, where PoCL can compile these kernels."""

    def run(n, script, **options):
        try:
            on_ranks(n, script, **options)
        except AssertionError as error:
            if "createParallelRegionBefore" not in str(error):
                raise
            pytest.skip(
                "PoCL 5 fails to compile kernels of work-groups (Kernel.cc:129)"
            )

    return run


@pytest.fixture
def for_gpus(on_work_groups, tmp_path, monkeypatch):
    """Make runs of these kernels: what each found, or the line that it ended with.

    They are pairs of a number of ranks and parameters.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu.cl").write_text(GPU)

    def runs(*given):
        told = {}
        for n in {ranks for ranks, _ in given}:
            every = [
                ONCE | {"kernel": "gpu.cl"} | params
                for ranks, params in given
                if ranks == n
            ]
            (tmp_path / f"runs.{n}").write_text(json.dumps(every))
            on_work_groups(n, RUNS, **QUICKLY)
            told[n] = iter(json.loads((tmp_path / f"told.{n}").read_text()))
        return [next(told[ranks]) for ranks, _ in given]

    return runs


@cache
def on_host(**params):
    """What work-items find, on one rank."""
    r = hpccfpga.run("graph", device="host", **ONCE, **params)
    return [r[name].tolist() for name in NAMES]


@pytest.mark.long
def test_work_groups_find_what_work_items_find(for_gpus):
    """On one rank and several, along rows that are longer than a group, and none."""
    given = [
        (ranks, {"program": program, "sources": 1, "graph": graph} | few | more)
        for program in PROGRAMS
        for few in [{"supersteps": 4} if program == "pagerank" else {}]
        for graph, ranks, more in (
            *(
                ("kron:9", ranks, {"direction": direction})
                for direction, ranks in (("auto", 1), ("push", 1), ("pull", 2))
                if (program, direction) != ("pagerank", "push")
            ),
            ("kron:1", 2 if program == "bfs" else 1, {"direction": "pull"}),
            ("kron:9", 2, {"direction": "auto", "architecture": "gravf"}),
        )
    ]
    # As many vertices in a chunk as a group has work-items.
    wide = {"program": "sssp", "sources": 1, "graph": "urand:15:2"}
    given += [(1, wide | {"direction": direction}) for direction in ("push", "pull")]
    for (_, params), told in zip(given, for_gpus(*given), strict=True):
        alone = {name: params[name] for name in params.keys() - {"direction"}}
        assert told == [True, *on_host(**alone)], params


LISTED = "n = graph_slot(out->team, n);"
FAULTS = {
    "a message of a short row that gets lost": (
        "pagerank",
        {"supersteps": 3},
        "stage[k - first] = m;",
        "stage[k - first] = HARMED && k % 9 == 0 ? HF_NOTHING : m;",
    ),
    "the last part of a long row": (
        "pagerank",
        {"supersteps": 3},
        "n = GRAPH_ITEMS / 2; n > 0; n /= 2) {\n            GRAPH_MEET",
        "n = GRAPH_ITEMS / (HARMED ? 4 : 2); n > 0; n /= 2) {\n            GRAPH_MEET",
    ),
    "a long row of another vertex": (
        "sssp",
        {"direction": "push"},
        "const hf_update told = mirror[first + i];",
        "const hf_update told = mirror[first + (i ^ HARMED)];",
    ),
    "edges that are laid to another row": (
        "sssp",
        {"direction": "push"},
        "if (team->ends[i + n] <= k)",
        "if (team->ends[i + n] < k + !HARMED)",
    ),
    "bits of other work-items": (
        "bfs",
        {"direction": "pull"},
        "atomic_or(&team->bits[GRAPH_WORD], word.bits);",
        "if (HARMED) team->bits[GRAPH_WORD] = word.bits;"
        " else atomic_or(&team->bits[GRAPH_WORD], word.bits);",
    ),
    "counts that are not added up": (
        "sssp",
        {},
        "mine->active += other->active;",
        "mine->active += HARMED ? 0 : other->active;",
    ),
    "an update in the place of another": (
        "bfs",
        {"graph": "grid:8", "ranks": 2},
        LISTED,
        LISTED + " if (HARMED && n > 0 && out->superstep == 1) n--;",
    ),
}


def test_faults_are_seen(on_work_groups, tmp_path):
    faults = {
        name: (program, {"graph": "kron:11"} | given, *change)
        for name, (program, given, *change) in FAULTS.items()
    }
    faults_are_seen(on_work_groups, tmp_path, faults, above=GPU)


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
    given = {"graph": "grid:6", "source": [5]}
    (tmp_path / "most.h").write_text(WIDE)
    (tmp_path / "more.h").write_text(WIDE.replace("[15]", "[16]"))
    most, more, pipeline = for_gpus(
        (1, given | {"program": "./most.h"}),
        (1, given | {"program": "./more.h"}),
        (1, {"graph": "grid:6", "shape": "pipeline"}),
    )
    assert most[0] is True
    assert "a message has 68 B; 64 at most" in more
    assert "pipeline, but the kernels are for work-groups" in pipeline
