"""Graphs: what arrays and files mean, what is refused, where files are kept."""

import json
import os
import re
import sys
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpccfpga as hf
from hpccfpga import _core, graph


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rows_of(graph):
    """In-edges as lists: of each vertex (from, weight)."""
    rows, others, weights = _core.graph_rows(graph.text, graph.seed, graph.weighted)
    found = (
        others.tolist()
        if weights is None
        else list(zip(others.tolist(), weights.tolist(), strict=True))
    )
    return [found[a:b] for a, b in pairwise(rows)]


def matrix(shape, rows, columns, data):
    """What scipy.sparse has, as far as it is looked at."""
    entries = SimpleNamespace(
        shape=shape,
        row=np.array(rows, np.int32),
        col=np.array(columns, np.int32),
        data=np.array(data),
    )
    return SimpleNamespace(shape=shape, tocoo=lambda: entries)


def network(nodes, edges, directed=False):
    """What NetworkX has, as far as it is looked at."""
    return SimpleNamespace(
        nodes=nodes,
        edges=lambda data: [(u, v, attributes.get(data)) for u, v, attributes in edges],
        is_directed=lambda: directed,
    )


def test_arrays_of_any_layout():
    table = np.array([[0, 9, 1], [2, 9, 1], [1, 9, 2]], np.int64)
    found = hf.Graph((table[:, 0], table[:, 2], [2.0, 7.0, 1.0]))
    assert (found.vertices, found.edges, found.directed, found.weighted) == (
        3,
        3,
        True,
        True,
    )
    assert rows_of(found) == [[], [(0, 2), (2, 7)], [(1, 1)]]
    assert found.degrees().tolist() == [1, 1, 1]
    assert repr(found) == "<Graph: 3 vertices, 3 edges, directed, weighted>"
    assert rows_of(hf.Graph(([0, 1], [1, 0]), vertices=4)) == [[1], [0], [], []]


def test_words_change_what_a_graph_is():
    arrays = ([0, 0, 1, 1], [1, 1, 0, 1], [5, 3, 4, 9])
    found = hf.Graph(arrays, directed=False, simple=True)
    assert not found.directed
    assert rows_of(found) == [[(1, 3)], [(0, 3)]]
    assert rows_of(hf.Graph(arrays, weighted=False)) == [[1], [0, 0, 1]]
    assert hf.Graph("simple:grid:4", weighted=False).text == "unweighted:simple:grid:4"


def test_matrices_and_networks():
    found = hf.Graph(matrix((3, 3), [0, 2], [1, 1], [4.0, 6.0]))
    assert rows_of(found) == [[], [(0, 4), (2, 6)], []]
    assert not hf.Graph(matrix((2, 2), [0], [1], [True])).weighted
    nodes = ["a", "b", "c"]
    found = hf.Graph(network(nodes, [("c", "a", {"weight": 3}), ("a", "b", {})]))
    assert rows_of(found) == [[(1, 1), (2, 3)], [(0, 1)], [(0, 3)]]
    found = hf.Graph(network(nodes, [("c", "a", {})], directed=True))
    assert (found.weighted, found.directed, rows_of(found)) == (
        False,
        True,
        [[2], [], []],
    )


def test_npz_of_scipy(tmp_path):
    path, wanted = tmp_path / "a.npz", [[(1, 7)], [], [(0, 5), (1, 6)]]
    parts = {"shape": (3, 3), "data": np.array([5, 7, 6])}
    np.savez(path, format=b"csr", indptr=[0, 1, 3, 3], indices=[2, 0, 2], **parts)
    assert rows_of(hf.Graph(path)) == wanted
    np.savez_compressed(path, format=b"coo", row=[0, 1, 1], col=[2, 0, 2], **parts)
    assert rows_of(hf.Graph(str(path))) == wanted
    parts["data"] = np.array([7, 5, 6])
    np.savez(path, format="csc", indptr=[0, 1, 1, 3], indices=[1, 0, 1], **parts)
    assert rows_of(hf.Graph(path)) == wanted
    assert graph.text_of(str(path)) == hf.Graph(path).text
    for changed, said in (
        ({"indptr": [0, 2, 1, 3]}, "does not ascend"),
        ({"indptr": [0, 1, 3]}, "does not ascend"),
        ({"indices": [1, 0, 3]}, "to: 3 of edge 2|from: 3 of edge 2"),
        ({"format": "dia"}, "known: csr, csc, coo"),
        ({"shape": (4, 3)}, "4 x 3"),
        ({"shape": ()}, "2 dimensions, not 0"),
        ({"shape": [4]}, "2 dimensions, not 1"),
        ({"indptr": [0.0, 1, 1, 3]}, "indptr is of float64"),
        ({"indptr": np.array([0, 5, 2, 3], np.uint8)}, "does not ascend"),
        ({"indptr": [[0, 1, 1, 3]]}, "indptr has 2 dimensions"),
        ({"indptr": 3}, "indptr has 0 dimensions"),
        ({"format": []}, "known: csr, csc, coo"),
        ({"format": ["csc", "csr"]}, "known: csr, csc, coo"),
        ({"data": [1, 2]}, r"weights of \(2,\) for \(3,\) edges"),
        ({"data": [1, 2, 0]}, "weight 0 of edge 2"),
    ):
        good = {"format": "csc", "indptr": [0, 1, 1, 3], "indices": [1, 0, 1], **parts}
        np.savez(path, **{**good, **changed})
        with pytest.raises(ValueError, match=said) as refused:
            hf.Graph(path)
        assert str(refused.value).startswith(f"graph {path}: ")
    for data in (b"", b"PK", path.read_bytes()[:-40]):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="not an NPZ file of a sparse matrix"):
            hf.Graph(path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (([0, -1], [1, 1]), "from: -1 of edge 1 is not from 0"),
        (([0], [2**32]), "to: 4294967296 of edge 0 is not from 0 to 4294967293"),
        (([0], [2**32 - 2]), "to: 4294967294 of edge 0"),
        (([0.5], [1]), "from is of float64, not of whole numbers"),
        (([0, 1], [1]), "2 ends that edges leave, 1"),
        (([[0]], [[1]]), "from has 2 dimensions, not 1"),
        ((0, 1), "from has 0 dimensions"),
        (([], []), "no vertices"),
        (([[0], [1, 2]], [1, 0]), r"^graph: from: \[\[0\], \[1, 2\]\] is no array$"),
        (([0, 1], [[1], [0, 2]]), r"^graph: to: \[\[1\], \[0, 2\]\] is no array$"),
        (([0, 1], [1, 0], [[1], [0, 2]]), r"^graph: weights: .* is no array$"),
        (([0, 0], [1, 1], [1, np.nan]), "weight nan of edge 1, from 0 to 1, is no"),
        (([0], [1], [-1]), "weight -1 of edge 0"),
        (([0], [1], [0]), "weight 0 of edge 0"),
        (([0], [1], [1.5]), r"weight 1\.5 of edge 0"),
        (([0], [1], [2**32]), "weight 4294967296 of edge 0"),
        (([0], [1], np.array([2**32], np.float32)), r"weight 4294967296\.0 of edge 0"),
        (([0], [1], np.array([np.inf], np.float16)), "weight inf of edge 0"),
        (([0], [1], [1, 2]), "weights of"),
        (([0], [1], ["a"]), "not numbers"),
        (matrix((2, 3), [0], [1], [1]), "2 x 3"),
        (matrix((0, 0), [], [], []), "vertices: 0"),
        (matrix((2, 2), [0], [1], [1j]), "complex"),
        (network([], []), "vertices: 0"),
        ("kron:40", "scale 40"),
        ("kron20", "neither kron:SCALE"),
        ("none.el", "No such file"),
    ],
)
def test_what_is_no_graph(source, said):
    with pytest.raises(ValueError, match=said):
        hf.Graph(source).vertices  # noqa: B018


def test_paths_that_are_not_utf_8(tmp_path, refused):
    path = tmp_path / "\udcff.el"
    path.write_text("0 1\n")
    line = f"graph: {ascii(str(path))[:200]} is not UTF-8"
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        hf.Graph(path).vertices  # noqa: B018
    refused(["graph", "info", str(path)], f"hpccfpga: {line}")
    refused(["run", "graph", "--graph", str(path)], f"hpccfpga: {line}")
    with pytest.raises(ValueError, match=r"^partition: '.* is not UTF-8$"):
        hf.Graph("grid:3").survey(str(path))


def test_what_arguments_are_refused():
    with pytest.raises(TypeError, match="neither a generator, a path"):
        hf.Graph(3)
    with pytest.raises(ValueError, match="to: 3 of edge 0 is not from 0 to 1"):
        hf.Graph(([0], [3]), vertices=2)
    with pytest.raises(ValueError, match="goes with arrays alone"):
        hf.Graph("grid:3", vertices=8)
    with pytest.raises(ValueError, match="without a direction"):
        hf.Graph("grid:3", directed=True)
    with pytest.raises(ValueError, match="no weights"):
        hf.Graph(([0], [1]), weighted=True)
    for seed in (-1, 2**64, 1.5, "x", None):
        with pytest.raises(ValueError, match=f"seed: .?{seed}"):
            hf.Graph("grid:3", seed=seed)
    assert hf.Graph(([0], [3]), vertices=np.int64(5)).vertices == 5
    with pytest.raises(TypeError, match="partition: None is no path"):
        hf.Graph("grid:3").survey(None)
    with pytest.raises(ValueError, match="ranks: 1000000000 is not from 1 to"):
        hf.Graph("grid:3").survey(ranks=10**9)
    with pytest.raises(MemoryError, match="the largest that fits has scale"):
        hf.Graph("kron:31:65536").degrees()


END, WEIGHT = st.integers(0, 9), st.integers(1, 2**32 - 1)
EDGES = st.lists(st.tuples(END, END, WEIGHT), min_size=1)


@given(edges=EDGES, directed=st.booleans(), simple=st.booleans())
def test_any_edges(tmp_path_factory, edges, directed, simple):
    os.environ["HPCCFPGA_CACHE"] = str(tmp_path_factory.getbasetemp() / "any")
    source = tuple(np.array(part) for part in zip(*edges, strict=True))
    found = hf.Graph(source, directed=None if directed else False, simple=simple)
    wanted = [[] for _ in range(found.vertices)]
    for u, v, w in edges:
        if u == v and simple:
            continue
        wanted[v].append((u, w))
        if not directed and u != v:
            wanted[u].append((v, w))
    if simple:
        wanted = [
            [(u, min(w for x, w in row if x == u)) for u in {u for u, _ in row}]
            for row in wanted
        ]
    assert rows_of(found) == [sorted(row) for row in wanted]


@pytest.mark.parametrize("name", ["directed", "weighted", "simple"])
def test_a_flag_is_a_bool_of_python_or_numpy(name):
    told = hf.Graph("kron:3", **{name: False}).text
    assert hf.Graph("kron:3", **{name: np.False_}).text == told
    with pytest.raises(TypeError, match=f"^{name}: 0 is neither True nor False"):
        hf.Graph("kron:3", **{name: 0})


def test_files_are_kept_once_and_reused(cache):
    arrays = (np.array([0, 1]), np.array([1, 2]))
    assert not cache.exists()
    path = hf.Graph(arrays).text
    assert path == str(cache / os.path.basename(path))
    assert cache.stat().st_mode & 0o777 == 0o700
    before = os.stat(path)
    assert (
        hf.Graph((np.int8([0, 1]), [1, 2]), directed=False).text == f"undirected:{path}"
    )
    assert hf.Graph(([0, 1], [1, 2], [1, 1])).text != path
    assert hf.Graph(([0, 1], [1, 2]), vertices=4).text != path
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns


def test_files_of_others_are_not_used(cache):
    arrays = ([0, 1], [1, 2])
    path = hf.Graph(arrays).text
    os.chmod(path, 0o666)
    with pytest.raises(ValueError, match="other users may write it; set HPCCFPGA"):
        hf.Graph(arrays).text  # noqa: B018
    os.rename(path, f"{path}.moved")
    os.symlink(f"{path}.moved", path)
    with pytest.raises(ValueError, match="symbolic link"):
        hf.Graph(arrays).text  # noqa: B018
    for mode in (0o770, 0o707):
        cache.chmod(mode)
        line = f"^graphs are kept in a cache: .* has mode {mode:04o}: other users may "
        with pytest.raises(ValueError, match=line):
            hf.Graph(([0], [1])).text  # noqa: B018


@pytest.mark.parametrize("foreign", ["folder", "file"])
def test_what_another_user_owns_is_not_used(cache, monkeypatch, foreign):
    path = hf.Graph(([0, 1], [1, 2])).text
    us = os.geteuid()
    users = iter([us + 1] if foreign == "folder" else [us, us + 1])
    monkeypatch.setattr(os, "geteuid", lambda: next(users))
    line = f"{cache if foreign == 'folder' else path} belongs to user {us}, not to this"
    with pytest.raises(ValueError, match=line):
        hf.Graph(([0, 1], [1, 2])).text  # noqa: B018


def test_a_partition_of_metis(cache, monkeypatch):
    asked = []

    def part_graph(ranks, xadj, adjncy):
        asked.append((ranks, xadj.tolist(), adjncy.tolist()))
        return 0, [1, 0, 1]

    source = hf.Graph(([0, 1, 1], [1, 2, 1]))
    monkeypatch.setitem(sys.modules, "pymetis", None)
    run = partial(hf.run, "graph", device="host", graph=source, source=0, reps=1)
    with pytest.raises(ImportError, match="pip install pymetis"):
        run(partition="metis")
    monkeypatch.setitem(sys.modules, "pymetis", SimpleNamespace(part_graph=part_graph))
    path = source.partition("metis", 2)
    assert source.partition("metis", 2) == path
    assert asked == [(2, [0, 1, 3, 4], [1, 0, 2, 1])]
    assert run(partition="metis").parameters["partition"].endswith("-metis-1.part")
    found = source.survey("metis", 2)
    assert (found["rank_edges"].tolist(), found["cut"]) == ([2, 1], 2)
    with pytest.raises(ValueError, match='did you mean "cyclic"'):
        source.partition("cyclc", 2)


@pytest.mark.parametrize(
    ("arrays", "components", "degrees"),
    [
        ((np.zeros(1000, int), np.arange(1, 1001)), 1, (1, 1000)),
        ((np.arange(1000), np.arange(1, 1001)), 1, (1, 2)),
        ((np.arange(0, 200000, 2), np.arange(1, 200000, 2)), 100000, (1, 1)),
    ],
    ids=["star", "path", "components"],
)
def test_survey_of_simple_shapes(arrays, components, degrees):
    found = hf.Graph(arrays, directed=False).survey("edges", 3)
    assert found["components"] == components
    assert (found["degrees"].min(), found["degrees"].max()) == degrees
    assert found["rank_edges"].sum() == 2 * arrays[0].size
    assert (found["self_loops"], found["duplicates"], found["isolated"]) == (0, 0, 0)


def test_survey_counts_what_is_dropped():
    arrays = ([0, 0, 1, 1, 3], [1, 1, 0, 1, 3])
    for simple in (False, True):
        found = hf.Graph(arrays, simple=simple).survey()
        assert (found["self_loops"], found["duplicates"]) == (2, 1)
        assert (found["components"], found["isolated"]) == (3, 1 + simple)


def test_graph_info(call, tmp_path):
    path = tmp_path / "roads.gr"
    path.write_text("p sp 4 2\na 1 2 3\na 2 3 1\n")
    words = ["--ranks=2", "--partition=edges", f"--json={tmp_path}/info.json"]
    code, out, err = call("graph", "info", f"undirected:{path}", *words)
    assert (code, err) == (0, "")
    assert "vertices         4\n" in out
    for line in (
        "isolated         1 vertices",
        "cut              2 in-edges from another rank",
        "mean degree      1 edges of a vertex",
        "cut share        0.5 of the in-edges",
    ):
        assert f"{line}\n" in out
    assert re.search(r"^load time +[\d.]+ us$", out, re.MULTILINE)
    found = json.loads((tmp_path / "info.json").read_text())
    assert found["schema"] == "hpccfpga-graph/1"
    assert (found["edges"], found["in_edges"], found["directed"]) == (2, 4, False)
    assert (found["isolated"], found["largest_degree"], found["cut"]) == (1, 2, 2)
    assert found["load_time"] > 0 < found["part_time"]
    assert found["kept_edges"] == 2
    code, out, _ = call("graph", "info", "kron:8", "--seed=3")
    facts = dict(line.rsplit("  ", 1) for line in out.splitlines() if "  " in line)
    facts = {name.strip(): text.strip() for name, text in facts.items()}
    made, kept = (int(facts[name].split()[0]) for name in ("edges", "kept edges"))
    assert facts["edges"].endswith("as made or read")
    lost = [facts[name].split() for name in ("self loops", "duplicates")]
    assert [text for _, text in lost] == ["dropped"] * 2
    assert kept == made - sum(int(n) for n, _ in lost) == int(facts["in edges"]) // 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info"], "required: graph"),
        (["info", "kron:x"], "kron:SCALE"),
        (["info", "/tmp"], "neither kron:SCALE"),
        (["info", "grid:4", "--partition=x"], "known: cyclic"),
        (["info", "grid:4", "--ranks=0"], "ranks: 0"),
        (["inf"], 'did you mean "graph info"?'),
    ],
)
def test_graph_info_refuses(call, words, said):
    code, out, err = call("graph", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
