"""Figures of graph beside those of its yardsticks: each with a target."""

import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from statistics import median
from typing import NamedTuple

import numpy as np
from programs import CPU, columns, result

import hpccfpga
from hpccfpga import _core

Lines = Iterator[tuple[str, float]]
LONG = 0.2
"""Seconds of samples together, in which noise of short ones levels out."""
PROGRAMS = ("bfs", "sssp", "wcc", "pagerank")


class Figure(NamedTuple):
    """What is measured: values of lines, by a scale of all graphs and rounds."""

    name: str
    target: float
    most: bool
    measure: Callable[[int | None, int], Lines]


def best(**params: object) -> float:
    """Seconds of the best sample of all points together."""
    return sum(columns("graph", **params)["time"])


def two_ranks(scale: int | None, rounds: int) -> Lines:
    """Rate of two ranks with a core each over that of one with two."""
    graph = f"kron:{scale or 20}"
    given = {"program": "pagerank", "graph": graph, "reps": 3}
    ways = (("pcie", "cyclic"), ("shared", "cyclic"), ("shared", "edges"))
    found: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        one = best(**given)
        for way in ways:
            words = dict(zip(("exchange", "partition"), way, strict=True))
            found[way].append(one / best(ranks=2, **words, **given))
    for way in ways:
        name = f"ranks, pagerank, {graph}, 2 over 1, {', '.join(way)}"
        yield name, median(found[way])


def superstep(scale: int | None, rounds: int) -> Lines:
    """Microseconds of a superstep on two ranks beside its kernels."""
    graph, n = f"kron:{scale or 12}", 400
    given = {"program": "pagerank", "graph": graph, "supersteps": n, "reps": 3}
    for exchange in ("pcie", "shared"):
        found = []
        for _ in range(rounds):
            r = columns("graph", ranks=2, exchange=exchange, **given)
            found.append((r["time"][0] - r["kernel_time"][0]) / n * 1e6)
        yield f"superstep, {graph}, 2 ranks, {exchange} [us]", min(found)


def verification(scale: int | None, rounds: int) -> Lines:
    """Seconds of a verification over those of a search, of each program."""
    graph = f"kron:{scale or 20}"
    for program in PROGRAMS:
        found = []
        for _ in range(rounds):
            r = columns("graph", program=program, graph=graph, sources=4, reps=3)
            pairs = zip(r["verify_time"], r["time_median"], strict=True)
            found += [check / search for check, search in pairs]
        yield f"verification, {program}, {graph}, in searches", median(found)


def scipy_times(graph: str, program: str, source: int, seed: int) -> float:
    """Seconds of SciPy, without what it takes to make its matrix."""
    from scipy import sparse
    from scipy.sparse import csgraph

    rows, others, weights = _core.graph_rows(graph, seed, program == "sssp")
    data = np.ones(others.size, np.float32) if weights is None else weights
    n = rows.size - 1
    m = sparse.csr_matrix((data.astype(float), others, rows), shape=(n, n))
    degrees = np.maximum(np.diff(rows), 1)
    start = time.perf_counter()
    if program == "bfs":
        csgraph.breadth_first_order(m, source)
    elif program == "sssp":
        csgraph.dijkstra(m, indices=source)
    elif program == "wcc":
        csgraph.connected_components(m, directed=False)
    else:
        ranks = np.full(n, 1 / n)
        for _ in range(20):
            ranks = 0.15 / n + 0.85 * (m @ (ranks / degrees))
    return time.perf_counter() - start


def beside_scipy(scale: int | None, rounds: int) -> Lines:
    """SciPy's seconds over ours, from the same source."""
    try:
        import scipy  # noqa: F401
    except ImportError:
        sys.exit("scipy is not there: pip install scipy")
    for kind, program in product(("kron", "urand", "grid"), PROGRAMS):
        graph = f"{kind}:{scale or 20}"
        r = result("graph", graph=graph, program=program, sources=1, reps=3)
        (source,), (ours,) = (r["columns"][n]["values"] for n in ("source", "time"))
        seed = r["parameters"]["seed"]
        theirs = scipy_times(graph, program, max(0, int(source)), seed)
        yield f"scipy, {program}, {graph}, theirs over ours", theirs / ours


def memory(scale: int | None, rounds: int) -> Lines:
    """Bytes of an edge that are told before, of a graph that then is gone through."""
    graph = f"kron:{scale or 22}"
    told = hpccfpga.Graph(graph).facts()
    best(graph=graph, sources=1, reps=1)
    yield f"memory, {graph} [B an edge]", told["memory"] / told["edges"]


def automatic(scale: int | None, rounds: int) -> Lines:
    """Rate of what auto chooses over the highest of all ranks, directions, shapes.

    What was chosen is one of these ways: all are measured in the same rounds.
    """
    ways = list(product((None, 2), ("auto", "pull", "push"), ("auto", "pipeline")))
    for kind, program in product(("kron", "grid"), PROGRAMS):
        graph = f"{kind}:{scale or 16}"
        given = {"graph": graph, "program": program, "sources": 2}
        given["device"] = CPU
        ranks = hpccfpga.run("graph", devices="auto", **given).ranks
        taken: dict[tuple[object, ...], list[float]] = {
            way: [] for way in ways if (program, way[1]) != ("pagerank", "push")
        }  # which only pulls
        for _, way in product(range(1 + rounds), taken):
            words = dict(zip(("ranks", "direction", "shape"), way, strict=True))
            long = LONG / taken[way][0] if taken[way] else 1
            reps = int(np.clip(long, 3, 300))
            r = hpccfpga.run("graph", reps=reps, **given, **words)
            if not r.verified:
                sys.exit(f"{program} on {graph}, {words}: wrong data")
            taken[way].append(r["time"].sum())
        times = {way: median(values[1:]) for way, values in taken.items()}
        chosen = times[ranks if ranks > 1 else None, "auto", "auto"]
        best_way = min(times, key=lambda way: times[way])
        told = ", ".join(str(word or 1) for word in best_way)
        yield f"auto, {program}, {graph} (best: {told})", min(times.values()) / chosen


FIGURES = (
    Figure("ranks", 0.95, False, two_ranks),
    Figure("superstep", 50.0, True, superstep),
    Figure("verification", 2.0, True, verification),
    Figure("scipy", 1.0, False, beside_scipy),
    Figure("memory", 24.0, True, memory),
    Figure("auto", 0.9, False, automatic),
)
