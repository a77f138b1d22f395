"""Vertex programs: results, programs of users, bad input."""

import os
import re
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from vertex_programs import check_table, quickly, run, verifies

import hpccfpga
from hpccfpga import sound, sources
from hpccfpga.program import OPTIONS, check, states

PROGRAMS = sources.programs()
DOCS = Path(__file__).parents[2] / "docs" / "graph.md"


@pytest.mark.parametrize("partition", ["cyclic", "sorted", "edges"])
@pytest.mark.parametrize("graph", ["kron:8", "urand:7:2", "grid:6"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_right_on_every_graph(program, graph, partition):
    r = run(program=program, graph=graph, partition=partition, sources=2, device="host")
    assert r.verified
    assert (r["supersteps"] > 0).all()
    assert (r["bytes"] == 0).all(), "one rank tells nobody"
    edges = r["reached_edges"] * (r["supersteps"] if program == "pagerank" else 1)
    assert np.allclose(r["edge_rate"], edges / r["time"])
    parts = sum(r[f"{part}_time"] for part in ("kernel", "exchange", "transfer"))
    assert (parts <= 1.01 * r["time"]).all(), "the check is no part of a step"
    harmonic = len(r["time"]) / (1 / r["edge_rate"]).sum()
    assert np.isclose(r.summary["edge_rate"].value, harmonic)


@pytest.mark.parametrize(
    ("shape", "direction", "graph"),
    [
        ("pipeline", "auto", "kron:7"),
        ("ndrange", "auto", "kron:11"),
        ("ndrange", "push", "kron:7"),
        ("ndrange", "pull", "kron:7"),
    ],
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_both_shapes_count_the_same(program, shape, direction, graph):
    if (program, direction) == ("pagerank", "push"):
        direction = "pull"
    given = {"program": program, "sources": 2, "graph": graph, "direction": direction}
    r, other = run(device="opencl", shape=shape, **given), run(device="host", **given)
    assert r.verified
    for name in ("source", "supersteps", "messages", "updates", "reached"):
        assert r[name].tolist() == other[name].tolist(), name


@pytest.mark.parametrize("direction", ["auto", "pull"])
@pytest.mark.parametrize("program", ["bfs", "sssp"])
def test_who_has_no_edges_tells_nobody(program, direction):
    """Of a chain each vertex has two leaves, and these are before the next one. It is
    longer than a launch."""
    chain, leaves = np.arange(900, 600, -1), np.arange(600)
    ends = np.concatenate([chain.repeat(2), chain]), np.concatenate([leaves, chain - 1])
    graph = (*ends, np.ones(900, np.uint32))
    given = {"program": program, "graph": graph, "source": 900, "device": "opencl"}
    r, pushed = (run(direction=way, **given) for way in (direction, "push"))
    assert r.verified
    assert r["updates"] == len(chain)
    for name in ("superstep_active", "superstep_edges"):
        assert r[name].tolist() == pushed[name].tolist(), name


def test_sources_are_those_that_were_named():
    r = run(source=[3, 0, 3])
    assert r["source"].tolist() == [3, 0, 3]
    assert run(source=3, sources=1)["source"].tolist() == [3]
    assert len(run()["source"]) == 4
    drawn = run(graph=hpccfpga.Graph(([0, 1, 2], [1, 2, 0])), sources=7)["source"]
    assert {*drawn[:3]} == {0, 1, 2}
    assert drawn[3:].tolist() == [*drawn[:3], drawn[0]]
    assert run(program="wcc", sources=2)["source"].tolist() == [-1]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"source": 3, "sources": 2}, "sources: 2, but source names 1"),
        ({"source": [3, 0], "sources": 1}, "sources: 1, but source names 2"),
        ({"source": 3, "program": "wcc"}, "source: 3, but the program starts at no"),
    ],
)
def test_sources_of_which_some_would_be_ignored_are_refused(given, line):
    with pytest.raises(ValueError, match=line):
        run(**given)


def test_directions_find_the_same():
    for program in ("bfs", "sssp", "wcc"):
        found = [
            run(program=program, graph="kron:11", direction=direction, device="host")
            for direction in ("auto", "push", "pull")
        ]
        for name in ("supersteps", "updates", "reached"):
            assert len({tuple(r[name]) for r in found}) == 1, (program, name)
        if program == "bfs":  # who pulls looks no further than a first message
            assert found[2]["messages"].tolist() == (found[2]["reached"] - 1).tolist()


@pytest.mark.parametrize("program", ["bfs", "pagerank", "wcc"])
def test_edges_that_are_dropped_count_nothing(program, tmp_path):
    """Who has no edge but one to itself has room for an update, and tells none."""
    path = tmp_path / "loops.el"
    edges = [*((v, v) for v in range(81)), *((0, v) for v in range(1, 81))]
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    given = {"graph": f"simple:{path}", "device": "host", "program": program}
    given |= {"source": [0]} if program == "bfs" else {}
    found = run(direction="pull", **given)
    assert found.verified
    assert found["updates"].tolist() == run(**given)["updates"].tolist()


@pytest.mark.parametrize("ranks", [None, 2])
def test_the_table_of_supersteps_adds_up(ranks, tmp_path):
    given = {"device": "host", "exchange": "host", "ranks": ranks}
    r = run(graph="kron:11", **given)
    check_table(r)
    figure = r.plot(tmp_path / "r.png")
    name = figure.axes[2].get_xlabel()
    assert name == "superstep of the best sample of the last point"
    assert figure.legends[0].get_title().get_text() == "graph bfs kron:11"
    assert str(r).startswith("graph bfs kron:11, measured")
    for graph, named in (
        ("x/a\nb.el", " a\\nb.el"),
        ("undirected:simple:/x/b.el", " undirected:simple:b.el"),
        (f"x/{'0' * 64}.hfg", ""),
    ):
        assert replace(r, parameters=r.parameters | {"graph": graph}).subject == (
            f"graph bfs{named}"
        )
    (line,) = figure.axes[2].lines
    assert len(line.get_xdata()) == np.count_nonzero(
        r["superstep_edges"][-1].sum(axis=1)
    )


def test_a_rank_is_as_fast_as_it_has_edges(tmp_path):
    """Along a path, of which a rank has three quarters."""
    path = np.arange(99)
    (tmp_path / "ranks.txt").write_text("0\n" * 75 + "1\n" * 25)
    r = run(
        graph=hpccfpga.Graph((path, path + 1), directed=True),
        partition=tmp_path / "ranks.txt", source=[0], ranks=2, exchange="host",
    )  # fmt: skip
    assert np.allclose(r["edge_rate_ranks"] * r["time"], [[75, 24]])


def test_columns_of_supersteps_share_a_dimension():
    pytest.importorskip("xarray")
    data = run(device="host").to_xarray()
    for name in ("superstep_edges", "superstep_kernel_time"):
        assert data[name].dims == ("point", "superstep_number", "rank")


def test_the_table_of_supersteps_has_an_end():
    path = np.arange(1100)
    graph = hpccfpga.Graph((path, path + 1), directed=True)
    r = run(graph=graph, source=[0], device="host", reps=1)
    assert r["supersteps"][0] > 1024
    assert r["superstep_active"].shape == (1, 1024, 1)


def test_supersteps_and_tolerance_end_a_program():
    assert run(program="pagerank", supersteps=7)["supersteps"] == 7
    few = run(program="pagerank", tolerance=1e-2)["supersteps"][0]
    many = run(program="pagerank", tolerance=1e-3)["supersteps"][0]
    assert 1 < few < many < 20
    with pytest.raises(ValueError, match="supersteps: bfs goes on after 2; 0 lets"):
        run(supersteps=2)
    with pytest.raises(ValueError, match=r"tolerance: 0\.5, but the program ends when"):
        run(tolerance=0.5)


def test_a_damping_of_1_leaves_nothing_to_a_vertex_without_edges():
    assert run(program="pagerank", value=1, graph="kron:6", device="host").verified


# ---- programs of users ----


@pytest.fixture
def hops(tmp_path):
    """Write the program of the documentation, changed: hops(text, its replacement)."""
    (text,) = re.findall(r"```c\n(.*?)```", DOCS.read_text(), re.S)

    def make(old="", new="", name="hops.h"):
        assert old in text
        path = tmp_path / name
        path.write_text(text.replace(old, new, 1) if old else text)
        return path

    return make


def test_the_program_of_the_documentation_is_verified(hops):
    short = quickly(program=hops(), graph="grid:8", value=3, source=[17])
    long = quickly(program=hops(), graph="grid:8", value=1000, source=[17])
    search = run(program="bfs", graph="grid:8", source=[17])
    assert short.verified
    assert long.verified
    assert short["supersteps"][0] == 4
    assert long["supersteps"][0] == search["supersteps"][0]
    assert long["updates"][0] == search["updates"][0]


def test_the_text_of_a_program_is_part_of_the_kernels(hops):
    first = quickly(program=hops(), value=9, source=[1]).provenance["kernel"]
    again = quickly(program=hops("told + 1", "told + 2"), value=9, source=[1])
    again = again.provenance["kernel"]
    assert first["knobs"] == again["knobs"]
    assert first["source_hash"] != again["source_hash"]
    assert first["request_hash"] != again["request_hash"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_package_verify_by_path(program):
    """They are checked as anybody's are: again, without their hints, on one rank."""
    path = sources.kernel_dir() / "programs" / f"{program}.h"
    assert verifies(program=path, graph="kron:6", ranks=2, deadline=60)


@pytest.mark.parametrize(
    "hint",
    ["HF_WANTS(v, settled) ((v).hops < 5)", "HF_HELPS(v, message) (message < 5)"],
)
def test_hints_that_are_wrong_are_seen(hops, hint):
    wrong = f"#define {hint}\nHF_SCATTER"
    given = {"graph": "grid:8", "source": [1], "value": 99}
    assert not verifies(program=hops("HF_SCATTER", wrong), **given)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("HF_GATHER(a, b)", "HF_GOTHER(a, b)", "hops.h lacks HF_GATHER"),
        ("#define HF_NOTHING HF_NOBODY", "", "hops.h lacks HF_NOTHING"),
        ("return told + 1;", "return tolt + 1;", r"hops.h:7:\d+: .*tolt"),
        ("uint hf_update", "uchar hf_update", "an update has 1 B; 4, 8"),
        ("HF_VERTEX(", "HF_VERTEX(int no;) HF_VERTEX(", "2 times HF_VERTEX, not once"),
        ("uint hops;", "uint hops; uint more[99999];", "has 400000 B; 4096 at most"),
        ("uint hops;", f"uint hops; uchar x[{'9' * 5000}];", r"hops\.h:3:"),
        (
            "HF_SCATTER",
            "#define HF_WHEN(told) told\n#define HF_ALWAYS\nHF_SCATTER",
            "HF_ALWAYS and HF_WHEN; where all vertices apply",
        ),
        (
            "HF_SCATTER",
            "#define HF_WHEN(told) told\n#define HF_WINDOW 0\nHF_SCATTER",
            "HF_WINDOW is 0 and HF_GROWTH 1",
        ),
        ("HF_SCATTER", '#include "hops.h"\nHF_SCATTER', "hops.h includes itself"),
        ("#define HF_SOURCE", "#define HF_SOURSE", "HF_SOURSE, .* mean .HF_SOURCE."),
        ("HF_SCATTER", " # define HF_WEIGHT\nHF_SCATTER", "mean .HF_WEIGHTED."),
    ],
)
def test_mistakes_are_one_line_with_the_place(hops, old, new, words):
    with pytest.raises(ValueError, match=words) as refused:
        quickly(program=hops(old, new), value=9)
    assert "\n" not in str(refused.value)


def test_words_are_those_that_kernels_ask_for():
    texts = [path.read_text() for path in sources.kernel_dir().glob("graph_*.h")]
    asked = {w for t in texts for w in re.findall(r"#\s*ifn?def (HF_\w+)", t)}
    assert asked - {"HF_HOST"} == {*OPTIONS}  # that one says what compiles them


@pytest.mark.parametrize("ranks", [None, 2])
def test_scalars_of_a_program_of_ones_own_have_no_default(hops, ranks, monkeypatch):
    with pytest.raises(
        ValueError, match=r"value: none is given, but .*hops\.h looks at"
    ):
        quickly(program=hops(), ranks=ranks)
    monkeypatch.setattr(sound, "alone", None)  # nothing is compiled before
    with pytest.raises(ValueError, match="value: none is given"):
        sound.check(hops())


def test_includes_have_bounds(hops, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_TEXT", 9999)
    for times, words in ((1, "the file 33 of a chain"), (2, "has more than 9999 B")):
        for n in range(40 if times == 1 else 28):
            more = f'#include "{n + 1}.h"\n' * times
            (tmp_path / f"{n}.h").write_text(more)
        (tmp_path / f"{n + 1}.h").write_text("//\n")
        with pytest.raises(ValueError, match=words):
            run(program=hops("HF_SCATTER", '#include "0.h"\nHF_SCATTER'))


@pytest.mark.parametrize("name", ["a\nb.h", 'a"b.h', "a\\b.h"])
def test_a_name_that_no_compiler_takes_is_one_line(hops, name):
    with pytest.raises(ValueError, match="in the name of a file") as refused:
        run(program=hops(name=name))
    assert "\n" not in str(refused.value)


def test_a_program_is_read_before_the_run(hops, monkeypatch):
    whole = Path.read_text

    def read_text(path, encoding=None, errors=None):
        assert encoding, "not by the locale's"
        return whole(path, encoding, errors)

    monkeypatch.setattr(Path, "read_text", read_text)
    program = hops("HF_SCATTER", "/* é */ HF_SCATTER")
    told = run(
        program=program,
        value=9,
        source=[1],
        progress=lambda *_: Path(program).unlink(True),
    )
    assert told.vertices.dtype.names == ("hops",)
    with pytest.raises(ValueError, match=r"program: \./bfs does not exist"):
        run(program=Path("bfs"))  # no name of a program of the package


def test_an_endless_program_ends_by_the_deadline(hops):
    endless = hops("if (got >= v->hops || (float)got > at.value[0])", "if (0)")
    assert run(program=endless, supersteps=2, source=[1]).verified  # and compiled
    with pytest.raises(hpccfpga.Error, match=r"within (the deadline of )?1 s"):
        run(program=endless, source=[1], deadline=1)


def test_control_c_is_heard_between_supersteps():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    given = {"program": "pagerank", "graph": "kron:8"}
    with hpccfpga.open("host", "host") as session:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            timer.start()
            session.run("graph", supersteps=4 * 10**9, **given)
        assert session.run("graph", **given).verified


WIDE = """
typedef struct { uint hops, two, three; } hf_update;
typedef uint hf_message;
HF_VERTEX(ulong far; uint hops; float share[3];)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
HF_START(v, at, told) {
    v->far = 7;
    v->share[0] = v->share[1] = v->share[2] = 1;
    v->hops = told->hops = at.id == at.source ? 0 : HF_NOBODY;
    told->two = told->three = 3;
    return at.id == at.source;
}
HF_SCATTER(told, edge) { return told.hops + 1; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    if (got >= v->hops)
        return 0;
    v->hops = told->hops = got;
    told->two = told->three = 4;
    return 1;
}
"""


def test_a_state_of_several_fields_and_an_update_of_12_bytes(tmp_path):
    path = tmp_path / "wide.h"
    path.write_text(WIDE)
    (state,) = states(WIDE)
    assert state.names == ("far", "hops", "share")
    assert verifies(program=str(path), source=[2])


# ---- bad input ----


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"program": "bsf"}, LookupError, "did you mean .bfs.*pagerank.*by its path"),
        ({"program": "./none.h"}, ValueError, "program: ./none.h does not exist"),
        ({"source": [256]}, ValueError, "source: 256 is not within 0 .. 255"),
        ({"source": [0.5]}, ValueError, "source: 0.5 is not an integer"),
        ({"value": [1, 2, 3, 4, 5]}, ValueError, "value: 5 values given, 4 at most"),
        ({"value": [1, 2]}, ValueError, "value: 2 values given, but bfs uses none"),
        ({"program": "pagerank", "value": [0.5, 2]}, ValueError, "pagerank uses one"),
        ({"direction": "down"}, ValueError, 'no choice "down"; known: auto, pull'),
        (
            {"program": "pagerank", "direction": "push"},
            ValueError,
            "direction: push, but the program applies all vertices; auto and pull",
        ),
        ({"value": float("nan")}, ValueError, "value: nan"),
        ({"program": "pagerank", "value": 1.5}, ValueError, "1.5 is not within 0 .. 1"),
        ({"graph": "kron:31:64"}, MemoryError, "kron:31:64"),
        ({"graph": "kron:8", "partition": "sort"}, ValueError, 'partition: "sort"'),
        (
            {"program": "sssp", "graph": "unweighted:kron:8"},
            ValueError,
            "graph: it has no weights",
        ),
    ],
    ids=str,
)
def test_bad_input_is_one_line(params, error, words):
    with pytest.raises(error, match=words) as refused:
        run(**params)
    assert "\n" not in str(refused.value)


def test_device_host_has_the_programs_of_the_package(hops):
    with pytest.raises(ValueError, match="device host compiles nothing; known: bfs"):
        run(program=hops(), device="host")


def test_conditions_may_choose_the_state(hops):
    old = "HF_VERTEX(uint hops;)"
    program = hops(old, f"#ifdef HF_WIDE\nHF_VERTEX(uint a;)\n#else\n{old}\n#endif")
    given = {"program": program, "value": 9, "source": [1]}
    assert quickly(**given).vertices.dtype == "V4"  # a or hops
    program.write_text(program.read_text().replace("uint a;", "ulong a;"))
    told = quickly(**given)
    assert told.vertices.dtype.names == ("hops",)
    with pytest.raises(ValueError, match="2 times HF_VERTEX"):
        check(f"{program.read_text()}\n{old}{old}", program)


# ---- vertices ----


def test_a_graph_of_arrays():
    """Two paths of three vertices each: 0 - 1 - 2 and 3 - 4 - 5, and one alone."""
    edges = hpccfpga.Graph(([0, 1, 3, 4], [1, 2, 4, 5]), vertices=7, directed=False)
    for ranks in (None, 2):
        r = run(graph=edges, program="wcc", ranks=ranks)
        assert r.verified
        assert r.vertices["component"].tolist() == [0, 0, 0, 3, 3, 3, 6]


def levels(parents, source):
    """Steps from each vertex up to the source."""
    found = {source: 0}
    for v in range(len(parents)):
        path = []
        while v not in found and parents[v] != 2**32 - 1:
            path.append(v)
            v = parents[v]
        for below in reversed(path):
            found[below] = found[int(parents[below])] + 1
    return found


@pytest.mark.parametrize("ranks", [None, 3])
def test_the_state_of_vertices_comes_back_by_their_numbers(ranks):
    """A square of 16 x 16: levels are distances between rows and columns."""
    given = {"graph": "grid:8", "ranks": ranks, "device": "host"}
    r = run(program="bfs", exchange="host", source=[37], **given)
    row, column = np.divmod(np.arange(256), 16)
    far = abs(row - 37 // 16) + abs(column - 37 % 16)
    found = levels(r.vertices["parent"].tolist(), 37)
    assert [found[v] for v in range(256)] == far.tolist()
    ranks_ = run(program="pagerank", exchange="host", **given).vertices["rank"]
    assert np.isclose(ranks_.sum(), 1, atol=1e-5)
    assert np.allclose(ranks_.reshape(16, 16), ranks_.reshape(16, 16).T)
    if ranks is None:
        whole = run(program="wcc", exchange="host", **given).vertices["component"]
        assert (whole == 0).all()
