"""What supersteps count: no wrong number of edges or of supersteps verifies."""

import pytest
from conftest import QUICKLY, ROOT
from harms import HARM, planted
from vertex_programs import FIRST

from hpccfpga import sources

TOLD = "out->count.edges += degree"
ACTIVE = "out->count.active++"
LED_EDGES = "edges += degrees[first + i] & (0 - (tell >> i & 1))"
LED_ACTIVE = "out->count.active = n + graph_bit_count(tell)"
FEW = "count.edges = graph_hear(l, outs, waiting, later, few.window)"
DUE = "count.edges = graph_rows_look(l, outs)"
LOWEST = "out->count.lowest = when < out->count.lowest ? when : out->count.lowest"
WAITS = "out->count.pending += graph_bit_count(bits)"
LATE = "lowest = when < lowest ? when : lowest"
HARMS = {
    "too many": (TOLD, TOLD + " + (v == 7)"),
    "too few": (TOLD, TOLD + " - (v == 7)"),
    "too many on one rank": (TOLD, TOLD + " + (v == 7 && out->first == 0)"),
    "too many at the end": (TOLD, TOLD + " + (out->superstep == 3)"),
    "vertices that are not counted at the end": (
        ACTIVE,
        "out->count.active += out->count.active != 1 || out->superstep != 3",
    ),
    "too many by first edges": (LED_EDGES, f"{LED_EDGES}, edges += i == 7"),
    "too few by first edges": (LED_EDGES, f"{LED_EDGES}, edges -= i == 7"),
    "a vertex too many by first edges": (LED_ACTIVE, LED_ACTIVE + " + 1"),
    "a vertex too few by first edges": (LED_ACTIVE, LED_ACTIVE + " - (tell > 7)"),
    "too many of few": (FEW, FEW + " + (few.superstep == 1)"),
    "too few of few": (FEW, FEW + " - (few.superstep == 1)"),
    "too many of few at the end": (FEW, FEW + " + (few.superstep == 3)"),
    "too many of few that were due": (DUE, DUE + " + 1"),
    "none that wait": (WAITS, WAITS.replace("(bits)", "(0)")),
    "a priority of nobody": (LOWEST, "out->count.lowest = 0"),
    "a priority of nobody, of few": (LATE, "lowest = 0"),
}
EDGES = ["too many", "too few"]
LED = ["too many by first edges", "too few by first edges"]
LED += ["a vertex too many by first edges", "a vertex too few by first edges"]
END = ["too many at the end", "vertices that are not counted at the end"]
ONE = [  # program, what else is given, harms
    ("bfs", {"direction": "pull"}, EDGES),
    ("bfs", {"direction": "pull", "graph": "urand:10"}, LED),
    ("bfs", {"direction": "push"}, EDGES),
    ("bfs", {}, ["too many of few", "too few of few"]),
    ("sssp", {"direction": "pull"}, EDGES),
    ("sssp", {"direction": "push"}, [*EDGES, "a priority of nobody", "none that wait"]),
    ("sssp", {}, ["too many of few", "a priority of nobody, of few"]),
    ("sssp", {}, ["too many of few that were due"]),
    ("pagerank", {"supersteps": 3}, [*EDGES, *END]),
    ("first.h", {"direction": "push", "supersteps": 3}, END),
    ("first.h", {"supersteps": 3}, ["too many of few at the end"]),
]
TWO = [
    ("bfs", {"direction": "pull", "graph": "urand:10"}, LED),
    ("bfs", {}, [*EDGES, "too many on one rank"]),
    ("pagerank", {"supersteps": 3}, [*EDGES, *END]),
    ("sssp", {"architecture": "gravf"}, [*EDGES, "too many on one rank"]),
]


@pytest.fixture
def harmed(tmp_path, monkeypatch):
    """Path of the kernels with all harms; a program of one's own lies beside them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.h").write_text(FIRST)
    paths = [*sources.kernel_dir().glob("graph_*")]
    text = planted("\0".join(path.read_text() for path in paths), HARMS)
    for path, part in zip(paths, text.removeprefix(HARM).split("\0"), strict=True):
        if "(HARM ==" in part:
            part = part.replace("_H\n\n", f"_H\n{HARM}", 1)  # behind its guard
        (tmp_path / path.name).write_text(part)
    return str(tmp_path / "graph_ndrange.cl")


RUN = """
def seen(session, kernel, harm, program, given):
    try:
        r = session.run("graph", kernel=kernel, program=program, reps=1, deadline=60,
                        **{"graph": "grid:8", **given})
    except hf.Error as error:
        found = str(error).startswith("superstep ")
        assert found and harm, (harm, program, given, error)
    else:
        assert r.verified is (harm is None), (harm, program, given, r)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_no_wrong_count_verifies(on_ranks, harmed, ranks):
    on_ranks(
        ranks,
        "import warnings\n"
        "from harms import done\n"
        "warnings.simplefilter('ignore', hf.VerificationWarning)\n"
        f"{RUN}\n"
        "with hf.open('opencl:cpu', comm=comm) as s:\n"
        f"    for program, given, harms in {ONE if ranks == 1 else TWO!r}:\n"
        "        own = './' if program.endswith('.h') else ''\n"
        "        if program != 'pagerank':\n"
        "            given['source'] = [5]\n"
        "        for harm in [None, *harms]:\n"
        f"            with done({list(HARMS)!r}, harm):\n"
        f"                seen(s, {harmed!r}, harm, own + program, given)",
        PYTHONPATH=str(ROOT / "tests"),
        **QUICKLY,
    )
