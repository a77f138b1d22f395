"""Graphs: files, generators, arrays, matrices; and how a partition cuts them.

A benchmark takes a graph as text: a generator, or the path of a file. A graph of
arrays is written once, as a file of the library's own, whose name is the hash of its
contents; so every rank opens the same.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import count, known
from hpccfpga.arguments import path as path_of
from hpccfpga.edges import Edges, edges_of, saved, whole_number
from hpccfpga.files import ANOTHER_CACHE, PrivateFolder, cache_dir
from hpccfpga.text import brief

MAX_RANKS = 1 << 20
"""Most ranks that a graph is dealt out to."""

METIS = "metis"
"""The partition that a package of others finds."""

PARTITIONS = ("cyclic", "sorted", "edges", METIS)
"""How vertices are shared out among ranks."""

_GENERATORS = ("kron", "urand", "grid")
_WORDS = ("undirected:", "unweighted:", "simple:")
"""What may stand in front of a graph's name: csrc/graph/graph.c reads it."""

_OWN = ".hfg"


class Graph:
    """A graph, as a benchmark takes it.

    Parameters
    ----------
    source : str, path, tuple, matrix or graph
        One of

        - a generator: "kron:20" (Kronecker as in Graph500, 2^20 vertices and 16 edges a
          vertex; "kron:20:8" has 8), "urand:20" (uniform, the same), "grid:20" (2^20
          vertices as a square);
        - the path of a file: .el, .wel, .gr (DIMACS), .graph (METIS), .mtx (Matrix
          Market), .sg and .wsg (GAP), .npz (SciPy), .hfg (the library's own);
        - arrays ``(from, to)`` or ``(from, to, weights)``, each [edges], of whole
          numbers; vertices are counted from 0;
        - a matrix of scipy.sparse, whose entry [i, j] is an edge from i to j;
        - a graph of NetworkX, whose nodes are numbered in their order, and whose edges
          have the weight "weight", 1 where some have none.
    directed : bool, optional
        False: each edge counts in both directions. Default: what the source is; arrays
        and matrices are directed.
    weighted : bool, optional
        False: weights are left out, whatever they are. Default: as the source is.
    simple : bool, optional
        Drop self-loops, and of duplicates all but the lightest. Generators do.
    vertices : int, optional
        Of arrays: how many vertices there are. Default: the largest number and 1.
    seed : int, optional
        Of generators; a run of this graph takes it. Default: 1, as that of a run.

    Raises
    ------
    ValueError
        It is no graph: numbers that are out of range, negative, of other types or
        lengths; weights that are no whole numbers from 1 to 2^32 - 1; matrices that
        are not square; files in no known format, or that are not what they say.
    TypeError
        It is nothing that is known; `directed`, `weighted` or `simple` is no bool.

    Notes
    -----
    Weights are whole numbers from 1 to 2^32 - 1; those of generators are 1 to 255.
    Duplicates and self-loops of files and arrays stay, unless `simple` is set: they
    count in every rate over edges.

    Examples
    --------
    >>> import numpy as np
    >>> graph = Graph((np.array([0, 1]), np.array([1, 2])), directed=False)
    >>> graph.vertices, graph.edges, graph.degrees().tolist()
    (3, 2, [1, 2, 1])
    """

    def __init__(
        self,
        source: Any,
        *,
        directed: bool | None = None,
        weighted: bool | None = None,
        simple: bool = False,
        vertices: int | None = None,
        seed: int = 1,
    ) -> None:
        directed = None if directed is None else _flag("directed", directed)
        weighted = None if weighted is None else _flag("weighted", weighted)
        self.seed = whole_number(seed, 0)
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed: {brief(seed)} is not from 0 to 2^64 - 1")
        self._arrays: Edges | None = None
        self._source, words = "", dict.fromkeys(_WORDS, False)
        if isinstance(source, str | os.PathLike):
            found, self._source = _located(path_of("graph", source))
            words |= dict.fromkeys(found, True)
            if self._source.endswith(".npz"):
                left_out = weighted is False or words["unweighted:"]
                self._arrays = saved(self._source, False if left_out else None)
        else:
            self._arrays = edges_of(source, vertices, weighted)
        if vertices is not None and not isinstance(source, tuple | list):
            raise ValueError(f"vertices={brief(vertices)} goes with arrays alone")
        words["undirected:"] |= directed is False
        words["unweighted:"] |= weighted is False
        words["unweighted:"] &= self._arrays is None  # which have none then
        words["simple:"] |= _flag("simple", simple)
        self._words = "".join(word for word, said in words.items() if said)
        if directed and not self.directed:
            raise ValueError("directed: the graph has edges without a direction")
        if weighted and not self.weighted:
            raise ValueError("weighted: the graph has no weights")

    def __repr__(self) -> str:
        """Say what it is."""
        kind = "directed" if self.directed else "undirected"
        kind += ", weighted" if self.weighted else ""
        return f"<Graph: {self.vertices} vertices, {self.edges} edges, {kind}>"

    @property
    def text(self) -> str:
        """What names it to a benchmark, on every rank: a generator, or a path.

        Raises
        ------
        ValueError
            Its file cannot be kept, or its path is not UTF-8.
        """
        text = self._words + (self._kept if self._arrays else self._source)
        return _core.values("graph", {"graph": text})["graph"]

    @property
    def vertices(self) -> int:
        """How many vertices it has."""
        return self._info["vertices"]

    @property
    def edges(self) -> int:
        """How many edges it has, as made or read: duplicates count."""
        return self._info["edges"]

    @property
    def directed(self) -> bool:
        """Whether its edges have a direction."""
        return self._info["directed"] and "undirected:" not in self._words

    @property
    def weighted(self) -> bool:
        """Whether it has weights."""
        return self._info["weighted"]

    def degrees(self) -> np.ndarray:
        """Out-degree of each vertex, of the edges that are kept.

        Returns
        -------
        ndarray of uint32, [vertices]
        """
        return np.asarray(self.survey()["degrees"])

    def survey(self, partition: str = "cyclic", ranks: int = 1) -> dict[str, Any]:
        """Say what the graph is like, and how evenly a partition cuts it.

        Parameters
        ----------
        partition : {"cyclic", "sorted", "edges", "metis"} or path
            Who owns which vertex: in turn; in turn by falling degree; ranges with
            equally many edges; by pymetis; or a file with one rank for each vertex.
        ranks : int
            Number of ranks.

        Returns
        -------
        dict
            `vertices`, `edges`, `directed`, `weighted`, `simple`, `digest`;
            `degrees`, [vertices]; `self_loops`, `duplicates` (other edges that repeat
            one), `components` (whatever the directions), `isolated` vertices (without
            a neighbour); `rank_edges`, [ranks],
            in-edges of each rank; `cut`, in-edges from another rank; `memory` and
            `memory_weighted` of each rank while it makes its part [B]; `load_time` and,
            of rank 0, `part_time` [s].

        Raises
        ------
        ValueError
            No such partition or file.
        MemoryError
            The graph needs more memory than this host has.
        """
        if count("ranks", ranks) > MAX_RANKS:
            raise ValueError(f"ranks: {brief(ranks)} is not from 1 to {MAX_RANKS}")
        chosen = self.partition(partition, ranks)
        return _core.graph_survey(self.text, self.seed, chosen, int(ranks))

    def facts(self, partition: str = "cyclic", ranks: int = 1) -> dict[str, Any]:
        """Return what `hpccfpga graph info` shows: see `survey`.

        Returns
        -------
        dict
            Further `kept_edges`, without self-loops and duplicates where these are
            dropped; the smallest, mean and largest degree; `in_edges` of all ranks;
            `imbalance`, the most of a rank over their mean; `cut_share` of them.
        """
        found = self.survey(partition, ranks)
        degrees, rank_edges = found.pop("degrees"), found.pop("rank_edges")
        kept = int(rank_edges.sum())
        found["digest"] = f"{found['digest']:016x}"
        dropped = found["self_loops"] + found["duplicates"] if found["simple"] else 0
        return {
            "graph": self.text,
            **({"seed": self.seed} if self._generated else {}),
            **found,
            "kept_edges": found["edges"] - dropped,
            "smallest_degree": int(degrees.min()),
            "mean_degree": float(degrees.mean()),
            "largest_degree": int(degrees.max()),
            "partition": partition,
            "ranks": ranks,
            "in_edges": kept,
            "imbalance": int(rank_edges.max()) * ranks / kept if kept else 1.0,
            "cut_share": found["cut"] / kept if kept else 0.0,
        }

    def partition(self, name: str, ranks: int) -> str:
        """Return what names a partition to a benchmark: the path of a file for "metis".

        Parameters
        ----------
        name : str
            As in `survey`.
        ranks : int
            Number of ranks.

        Raises
        ------
        ImportError
            pymetis is not installed; the message says how to install it.
        ValueError
            No such partition, its file cannot be kept, or its path is not UTF-8.
        """
        if path_of("partition", name) in PARTITIONS[:-1]:
            return name
        if name == METIS:
            return self._cut_by_metis(count("ranks", ranks))
        if not os.path.isfile(name):
            raise ValueError(f"partition: {brief(name)}; {known(name, PARTITIONS)}")
        path = os.path.abspath(name)
        return _core.values("graph", {"partition": path})["partition"]

    @property
    def _generated(self) -> bool:
        return _is_generated(self._source)

    @cached_property
    def _info(self) -> Mapping[str, Any]:
        if self._arrays:
            return self._arrays.info
        return _core.graph_info(self.text, self.seed)

    @cached_property
    def _kept(self) -> str:
        """Path of the file that holds the arrays."""
        assert self._arrays
        name, pieces = hashlib.sha256(), self._arrays.pieces()
        for piece in pieces:
            name.update(piece)
        return _keep(f"graph-{name.hexdigest()}{_OWN}", pieces)

    def _cut_by_metis(self, ranks: int) -> str:
        info = _core.graph_info(self.text, self.seed)
        name = f"graph-{info['digest']:016x}-metis-{ranks}.part"
        if path := _found(name):
            return path
        try:
            pymetis = importlib.import_module("pymetis")
        except ImportError:
            raise ImportError(
                "partition metis needs pymetis: pip install pymetis"
            ) from None
        text = f"undirected:simple:{self.text}"
        rows, others, _ = _core.graph_rows(text, self.seed, False)
        owners = [0] * info["vertices"]
        if ranks > 1:
            _, owners = pymetis.part_graph(
                ranks, xadj=rows.astype(np.int64), adjncy=others.astype(np.int64)
            )
        return _keep(name, ["".join(f"{rank}\n" for rank in owners).encode()])


def text_of(graph: Any) -> str:
    """Return what a job holds of a graph: a generator, or the path of a file.

    Parameters
    ----------
    graph : Graph, or what makes one

    Raises
    ------
    ValueError, TypeError
        As `Graph`.
    """
    if isinstance(graph, Graph):
        return graph.text
    if isinstance(graph, str) and not graph.endswith(".npz"):
        words, name = _located(graph)
        return "".join(words) + name
    return Graph(graph).text


def named(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a run with its graph as text, and the seed of a `Graph`.

    Raises
    ------
    ValueError, TypeError
        As `text_of`; a seed that is not that of the `Graph` of a generator.
    """
    if "graph" not in params:
        return dict(params)
    graph = params["graph"]
    found = {**params, "graph": text_of(graph)}
    if isinstance(graph, Graph) and graph._generated:
        if (other := params.get("seed", graph.seed)) != graph.seed:
            raise ValueError(f"seed: {brief(other)}, but the Graph has {graph.seed}")
        found["seed"] = graph.seed
    return found


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: {brief(value)} is neither True nor False")
    return bool(value)


# ---- files ----


def _located(text: str) -> tuple[list[str], str]:
    """Words in front of a graph's name, and the name; of a file its absolute path."""
    words = []
    while found := [word for word in _WORDS if text.startswith(word)]:
        words += found
        text = text.removeprefix(found[0])
    return words, text if _is_generated(text) or not text else os.path.abspath(text)


def _is_generated(source: str) -> bool:
    return source.startswith(tuple(f"{name}:" for name in _GENERATORS))


def _found(name: str) -> str | None:
    """Path of a file of the user's folder of graphs, if it is there."""
    with _folder() as folder:
        return str(folder.path / name) if folder.holds(name) else None


def _keep(name: str, pieces: Iterable[Any]) -> str:
    """Path of a file of the user's folder of graphs, written if it is not there."""
    with _folder() as folder:
        if not folder.holds(name):
            folder.write(name, *pieces)
        return str(folder.path / name)


@contextmanager
def _folder() -> Iterator[PrivateFolder]:
    """Open the user's folder of graphs, which nobody else can write."""
    try:
        with PrivateFolder(cache_dir()) as folder:
            yield folder
    except OSError as error:
        why = error.strerror or error
        raise ValueError(
            f"graphs are kept in {cache_dir()}: {why}; {ANOTHER_CACHE}"
        ) from None
    except ValueError as error:
        raise ValueError(
            f"graphs are kept in a cache: {error}; {ANOTHER_CACHE}"
        ) from None
