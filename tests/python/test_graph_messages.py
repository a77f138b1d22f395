"""Architecture gravf: a message along each edge, not an update to each device."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from graph_faults import faults_are_seen
from vertex_programs import FIRST, check_table, run

import hpccfpga
from hpccfpga import sources
from hpccfpga.components import parameters

PROGRAMS = sources.programs()


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_messages_along_edges_find_the_same(program, shape):
    """Bit by bit, where a gather has one result; a message is made for each edge."""
    given = {"program": program, "sources": 2, "graph": "kron:8"}
    found = run(architecture="gravf", device="opencl", shape=shape, **given)
    pulls = program == "pagerank"
    other = run(direction="pull" if pulls else "push", device="host", **given)
    assert found.verified
    for name in ("source", "supersteps", "updates", "reached"):
        assert found[name].tolist() == other[name].tolist(), name
    assert pulls or found.vertices.tobytes() == other.vertices.tobytes()
    made = np.nansum(found["superstep_edges"], axis=2)
    heard = np.nansum(found["superstep_messages"], axis=2)
    assert (heard[:, 1:] == made[:, :-1])[:, : found["supersteps"].min()].all()
    check_table(found)


def sent_beside_heads(**params):
    """Bytes of records in each superstep; the last sends nothing but its head."""
    r = run(architecture="gravf", ranks=2, **params)
    assert r.verified
    check_table(r)
    sent = r["superstep_bytes"][0].sum(axis=1)
    return sent[:-1] - sent[-1], r.parameters["seed"]


def test_bytes_are_those_of_messages_along_edges(tmp_path):
    """A record for each edge to another rank."""
    sent, seed = sent_beside_heads(program="pagerank", supersteps=3)
    cut = hpccfpga.Graph("kron:8", seed=seed).survey("cyclic", 2)["cut"]
    assert sent.tolist() == [cut * 8] * 3
    wide = tmp_path / "wide.h"
    wide.write_text(FIRST.replace("uint hf_message", "ulong hf_message"))
    sent, _ = sent_beside_heads(program=wide, graph="grid:8", source=[5])
    assert sent[0] == 2 * 16  # 4 and 6 are of the other rank, 21 is not


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_messages_along_edges_have_one_direction(direction):
    with pytest.raises(ValueError, match=f"direction: {direction}, but .*gravf makes"):
        run(architecture="gravf", direction=direction, device="host")


def test_messages_along_edges_go_through_the_hosts():
    with pytest.raises(ValueError, match=r'gravf, but over .*"channel".*; gravf-m is'):
        run(architecture="gravf", device="host", exchange="channel")


def test_what_goes_together_is_in_the_documentation():
    """Every scheme with every architecture and shape, as the table says."""
    page = (Path(__file__).parents[2] / "docs" / "graph.md").read_text()
    head = page.index("| exchange | architecture | shape |")
    rows = page[head:].split("\n\n")[0].splitlines()[2:]
    told = set()
    for row in rows:
        told.update(
            product(*(re.findall("`(.*?)`", cell) for cell in row.split("|")[1:4]))
        )
    choices = {p["name"]: p["choices"] for p in parameters("graph")}
    schemes = set(hpccfpga.exchanges().names) - {"fault"}  # a dev build has it
    found = set()
    for exchange, architecture, shape in product(
        schemes, choices["architecture"], ("ndrange", "pipeline")
    ):
        device = "host" if exchange == "host" else "opencl"
        words = {"exchange": exchange, "architecture": architecture, "shape": shape}
        try:
            r = run(graph="grid:4", source=[1], device=device, reps=1, **words)
        except (NotImplementedError, ValueError):
            continue
        assert r.verified, words
        found.add((exchange, architecture, shape))
    assert found == told


# ---- faults ----

GRAVF = {"architecture": "gravf", "ranks": 2}
LISTED = "count.listed = sum.digest;"
DELIVERED = "messages[e] = records[i].message;"
FAULTS = {  # program, what else is given, text, what replaces it
    "a message along an edge that gets lost": (
        "bfs",
        GRAVF,
        "heard[e] = 1;",
        "heard[e] = !HARMED || rank == run->rank || i != 1;",
    ),
    "a message along an edge that comes twice": (
        "sssp",
        GRAVF,
        "const uint e = records[i].place;",
        "const uint e = records[HARMED && i == 1 ? 0 : i].place;",
    ),
    "a message that is made twice": (
        "wcc",
        GRAVF,
        "first = n ? graph_places(made, n) : 0;",
        "first = n ? graph_places(made, n + (HARMED && v == 7)) : 0;",
    ),
    "a flipped bit in a message": (
        "pagerank",
        GRAVF | {"supersteps": 5},
        DELIVERED,
        DELIVERED + " ((HF_GLOBAL uint *)messages)[e] ^="
        " HARMED && rank != run->rank && i == 5;",
    ),
    "a message of a superstep before": (
        "pagerank",
        GRAVF | {"supersteps": 5},
        DELIVERED,
        f"if (!HARMED || rank == run->rank || i != 5) {DELIVERED}",
    ),
    "a message that came, but was not gathered": (
        "sssp",
        GRAVF,
        "got = hf_gather(got, messages[e]);",
        "if (!HARMED || e % 7) got = hf_gather(got, messages[e]);",
    ),
    "a superstep whose messages nobody makes": (
        "bfs",
        GRAVF,
        "sum.digest += graph_post(",
        "if (!HARMED || superstep != 2) sum.digest += graph_post(",
    ),
    "supersteps that end too early": (
        "wcc",
        GRAVF,
        LISTED,
        f"if (HARMED && superstep > 2) count.active = count.pending = 0; {LISTED}",
    ),
}


OTHER_NUMBER = r"\b(\d+) messages .*, not the (?!\1\b)\d+"
TOLD = {
    "a message along an edge that gets lost": OTHER_NUMBER,
    "a flipped bit in a message": "a message was gathered that is not as it was made",
}


def test_faults_are_seen(on_ranks, tmp_path):
    faults_are_seen(on_ranks, tmp_path, FAULTS, errors=TOLD)
