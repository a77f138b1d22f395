"""Edges in memory: of arrays, of sparse matrices, also saved ones, and of networks."""

from __future__ import annotations

import operator
import struct
from typing import Any

import numpy as np

from hpccfpga import npz
from hpccfpga.arguments import known
from hpccfpga.files import opened
from hpccfpga.text import brief

MAX_VERTICES = 2**32 - 2
"""Most vertices of a graph: their numbers have 32 bits, one of which says "none"."""

MAX_WEIGHT = 2**32 - 1
"""Largest weight of an edge."""

_HEADER = struct.Struct("=8sQQII")
"""Of the library's own file: csrc/graph/stored.c reads it."""

_MAGIC = b"HFGRAPH1"


class Edges:
    """Edges, whose ends and weights have 32 bits each."""

    def __init__(
        self,
        ends: tuple[Any, Any],
        weights: Any,
        vertices: int | None,
        directed: bool,
    ) -> None:
        first, second = (
            _numbers(n, a) for n, a in zip(("from", "to"), ends, strict=True)
        )
        if first.shape != second.shape:
            raise ValueError(
                f"graph: {first.size} ends that edges leave, {second.size} that they "
                "come to"
            )
        largest = max((int(a.max()) for a in (first, second) if a.size), default=-1)
        self.vertices = largest + 1 if vertices is None else _vertices(vertices)
        for name, numbers in (("from", first), ("to", second)):
            _check_range(name, numbers, 0, min(self.vertices, MAX_VERTICES) - 1)
        if self.vertices == 0:
            raise ValueError("graph: no edges, and vertices is not given: no vertices")
        self.directed = directed
        self.ends = [np.ascontiguousarray(a, np.uint32) for a in (first, second)]
        self.weights = None if weights is None else _weights(weights, *self.ends)

    @property
    def info(self) -> dict[str, Any]:
        """What `_core.graph_info` tells of files and generators."""
        return {
            "vertices": self.vertices,
            "edges": self.ends[0].size,
            "directed": self.directed,
            "weighted": self.weights is not None,
        }

    def pieces(self) -> list[Any]:
        """Return the contents of the file that holds them."""
        weighted = self.weights is not None
        counts = (self.vertices, self.ends[0].size, self.directed, weighted)
        arrays = [*self.ends, *(() if self.weights is None else (self.weights,))]
        return [
            _HEADER.pack(_MAGIC, *counts),
            *(a.data.cast("B") for a in arrays if a.size),
        ]


def edges_of(source: Any, vertices: int | None, weighted: bool | None) -> Edges:
    """Return the edges of what is neither text nor a path.

    Raises
    ------
    ValueError, TypeError
        As `hpccfpga.Graph`.
    """
    if isinstance(source, tuple | list) and len(source) in (2, 3):
        weights = source[2] if len(source) == 3 and weighted is not False else None
        return Edges((source[0], source[1]), weights, vertices, True)
    if hasattr(source, "tocoo") and hasattr(source, "shape"):
        entries = source.tocoo()
        return _matrix(entries.shape, entries.row, entries.col, entries.data, weighted)
    if all(hasattr(source, name) for name in ("is_directed", "nodes", "edges")):
        return _network(source, weighted)
    raise TypeError(
        f"graph: {brief(source)} is neither a generator, a path, (from, to) with "
        "weights or without, a matrix of scipy.sparse nor a graph of NetworkX"
    )


def saved(path: str, weighted: bool | None) -> Edges:
    """Return the edges of a sparse matrix as scipy.sparse.save_npz writes it.

    Raises
    ------
    ValueError
        It cannot be read, or is no such matrix; the message names the file.
    """
    try:
        with opened(path) as file:
            return _stored(npz.arrays(file, "a sparse matrix of SciPy"), weighted)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).removeprefix("graph: ")
        raise ValueError(f"graph {path}: {why}") from None


def _stored(found: dict[str, np.ndarray], weighted: bool | None) -> Edges:
    """Return the edges of a sparse matrix, of the arrays that SciPy writes."""
    kind = found.get("format", np.array("")).tolist()
    kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
    names = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices")}
    names |= {"coo": ("row", "col")}
    if kind not in names:
        raise ValueError(f"graph: format {brief(kind)}; {known(kind, names)}")
    needed = ("shape", "data", *names[kind])
    if missing := [name for name in needed if name not in found]:
        raise ValueError(f"graph: {', '.join(missing)} missing")
    shape = tuple(_numbers("shape", found["shape"]).tolist())
    if len(shape) != 2:
        raise ValueError(f"graph: a matrix has 2 dimensions, not {len(shape)}")
    first, second = (_numbers(name, found[name]) for name in names[kind])
    if kind != "coo":
        first = first.astype(np.int64)
        lengths = np.diff(first)
        whole = first.size and first[0] == 0 and first[-1] == second.size
        if not whole or first.size - 1 != shape[kind == "csc"] or (lengths < 0).any():
            raise ValueError(f"graph: indptr does not ascend from 0 to {second.size}")
        first = np.repeat(np.arange(lengths.size), lengths)
    rows, columns = (second, first) if kind == "csc" else (first, second)
    return _matrix(shape, rows, columns, found["data"], weighted)


def _matrix(
    shape: tuple[int, ...], rows: Any, columns: Any, data: Any, weighted: bool | None
) -> Edges:
    if len(shape) != 2 or shape[0] != shape[1]:
        size = " x ".join(map(str, shape))
        raise ValueError(f"graph: a matrix of {size} is no graph: it is not square")
    pattern = weighted is False or np.asarray(data).dtype.kind == "b"
    vertices = _vertices(int(shape[0]))
    return Edges((rows, columns), None if pattern else data, vertices, True)


def _network(network: Any, weighted: bool | None) -> Edges:
    places = {node: i for i, node in enumerate(network.nodes)}
    edges = list(network.edges(data="weight"))
    named = any(weight is not None for *_, weight in edges)
    weights = [1 if weight is None else weight for *_, weight in edges]
    ends = (
        np.fromiter((places[u] for u, *_ in edges), np.int64, len(edges)),
        np.fromiter((places[v] for _, v, _ in edges), np.int64, len(edges)),
    )
    wanted = named and weighted is not False
    vertices = _vertices(len(places))
    return Edges(ends, weights if wanted else None, vertices, network.is_directed())


def _array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths
        raise ValueError(f"graph: {name}: {brief(values)} is no array") from None


def _numbers(name: str, values: Any) -> np.ndarray:
    array = _array(name, values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1:
        raise ValueError(f"graph: {name} has {array.ndim} dimensions, not 1")
    if array.dtype.kind not in "iu":
        raise ValueError(f"graph: {name} is of {array.dtype}, not of whole numbers")
    return array


def _check_range(name: str, numbers: np.ndarray, low: int, high: int) -> None:
    wrong = (numbers < low) | (numbers > high)
    if wrong.any():
        edge = int(wrong.argmax())
        raise ValueError(
            f"graph: {name}: {numbers[edge]} of edge {edge} is not from {low} to {high}"
        )


def whole_number(value: Any, least: int) -> int:
    """Return a value as a whole number; `least` - 1 if it is none."""
    try:
        return least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return least - 1


def _vertices(value: Any) -> int:
    found = whole_number(value, 1)
    if not 1 <= found <= MAX_VERTICES:
        raise ValueError(f"vertices: {brief(value)} is not from 1 to {MAX_VERTICES}")
    return found


def _weights(values: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    array = _array("weights", values)
    if array.shape != first.shape:
        raise ValueError(f"graph: weights of {array.shape} for {first.shape} edges")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"graph: weights are of {array.dtype}, not numbers")
    if array.dtype.kind == "f":  # its own type may hold no MAX_WEIGHT
        array = array.astype(np.float64)
    right = (array >= 1) & (array <= MAX_WEIGHT)  # false of NaN
    if array.dtype.kind == "f":
        right &= array == np.floor(array)
    if not right.all():
        edge = int(right.argmin())
        raise ValueError(
            f"graph: weight {array[edge]} of edge {edge}, from {first[edge]} to "
            f"{second[edge]}, is no whole number from 1 to {MAX_WEIGHT}; "
            "weighted=False leaves weights out"
        )
    return np.ascontiguousarray(array, np.uint32)
