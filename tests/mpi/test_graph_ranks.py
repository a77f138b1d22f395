"""Vertex programs on several ranks: they find what one finds."""

import pytest
from conftest import QUICKLY, killed
from vertex_programs import FIRST

RUN = """
import itertools
graphs = ("kron:7", "grid:6", "kron:1")
runs = list(itertools.product(("bfs", "pagerank", "sssp", "wcc"), graphs))
given = [dict(program=p, graph=g, sources=2, reps=1, warmup=1) for p, g in runs]
names = ("source", "supersteps", "updates", "reached", "reached_edges")
if rank == 0:
    with hf.open("host") as session:
        alone = [session.run("graph", **words) for words in given]
first = dict()
for exchange in ("host", "pcie", "channel"):
    device = "host" if exchange == "host" else {device!r}
    with hf.open(device, exchange, comm=comm) as session:
        for i, words in enumerate(given):
            r = session.run("graph", partition={partition!r}, **words)
            assert r.verified, r
            for name in names if rank == 0 else ():
                assert r[name].tolist() == alone[i][name].tolist(), (name, r, alone[i])
            kept = first.setdefault(i, r.vertices)  # of the part's own order of edges
            if words["program"] in ("sssp", "wcc") and rank == 0:
                kept = alone[i].vertices
            if words["program"] != "pagerank":  # which adds floats in another order
                assert r.vertices.tobytes() == kept.tobytes(), (exchange, r)
"""

# Of PoCL, which must run those of a channel's end side by side.
KERNELS = dict.fromkeys(("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"), "3")
KERNELS |= QUICKLY


@pytest.mark.parametrize(
    ("ranks", "partition", "device"),
    [(2, "cyclic", "host"), (3, "sorted", "opencl"), (4, "edges", "host")],
)
def test_ranks_find_what_one_finds(on_ranks, ranks, partition, device):
    on_ranks(ranks, RUN.format(partition=partition, device=device), **KERNELS)


CHUNKS = """
with hf.open("host", "pipelined", comm=comm, deadline=20) as session:
    for depth in (1, 2, 3, 4, 8):
        words = dict(chunk_size=8192, chunk_depth=depth, supersteps=2, reps=1)
        r = session.run("graph", program="pagerank", graph="urand:14:2", **words)
        assert r.verified, (depth, r)
"""


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_blocks_of_several_chunks_go_to_all_ranks(on_ranks, ranks):
    """Too long for MPI to send them before they are received."""
    on_ranks(ranks, CHUNKS)


GRAVF = """
import itertools
graphs = ("kron:7", "grid:6", "kron:1")
runs = list(itertools.product(("bfs", "pagerank", "sssp", "wcc"), graphs))
given = [dict(program=p, graph=g, sources=2, reps=1, warmup=1) for p, g in runs]
names = ("source", "supersteps", "messages", "updates", "reached", "reached_edges")
with hf.open("host", "host") as session:
    alone = [session.run("graph", architecture="gravf", **w) for w in given]
    for words, one in zip(given, alone):
        if words["program"] != "pagerank":
            plain = session.run("graph", direction="push", **words)
            assert one.vertices.tobytes() == plain.vertices.tobytes(), words
parts = {"host": "edges", "pcie": "sorted", "pipelined": "cyclic", "shared": "sorted"}
for exchange, partition in parts.items():
    device = "opencl" if exchange == "pcie" else "host"
    few = (0, 4, 8, 9) if exchange == "pcie" else range(12)  # each program, each graph
    with hf.open(device, exchange, comm=comm) as session:
        for words, one in ((given[i], alone[i]) for i in few):
            more = {"architecture": "gravf", "partition": partition}
            r = session.run("graph", **more, **words)
            assert r.verified, r
            for name in names:
                assert r[name].tolist() == one[name].tolist(), (name, r, one)
            if words["program"] != "pagerank":
                assert r.vertices.tobytes() == one.vertices.tobytes(), (exchange, words)
"""


def test_messages_along_edges_find_what_updates_find(on_ranks):
    """Bit by bit, over all schemes."""
    on_ranks(3, GRAVF, **QUICKLY)


OTHERS = """
os.chdir(os.environ["FOLDER"])
os.makedirs(str(rank), exist_ok=True)
os.chdir(str(rank))
for owners in ([rank, 1 - rank] * 16, [rank] * 32):
    open("copy.part", "w").write("\\n".join(map(str, owners)))
    try:
        hf.run("graph", comm=comm, graph="grid:5", partition="copy.part", device="host")
        raise SystemExit("a vertex of two owners, and one of none")
    except ValueError as error:
        assert "partition: that of rank " in str(error), error
"""


def test_ranks_that_read_other_owners_are_refused(on_ranks, tmp_path):
    on_ranks(2, OTHERS, FOLDER=str(tmp_path))


OWN = """
import warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
source = {"graph": "grid:8", "source": [5], "value": 99, "reps": 2}
assert hf.run("graph", comm=comm, program=os.environ["GOOD"], **source).verified
assert not hf.run("graph", comm=comm, program=os.environ["BAD"], **source).verified
"""


def test_a_gather_that_does_not_commute_is_seen(mpirun, tmp_path):
    good = tmp_path / "good.h"
    good.write_text(FIRST.replace("= got;", "= got == at.id ? got + 1 : got;"))
    bad = tmp_path / "bad.h"
    bad.write_text(good.read_text().replace("a < b ? a : b", "b"))
    done = mpirun(2, OWN, **QUICKLY, GOOD=str(good), BAD=str(bad))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("exchange", ["host", "channel"])
def test_a_run_without_end_ends_by_the_deadline_on_all_ranks(command, exchange):
    words = "--program pagerank --graph kron:10 --supersteps 400000000 --ranks 2"
    where = f"--deadline 1 --device host --exchange {exchange}"
    done = command("run", "graph", *words.split(), *where.split())
    assert done.returncode == 3, done.stderr
    assert "deadline of 1 s" in done.stderr


ENDS = """
import signal, threading
name = f"/proc/self/cwd/{rank}"
os.makedirs(name, exist_ok=True)
os.chdir(name)
open("g.el", "w").write(f"0 1\\n1 {2 + rank}\\n")
with hf.open("host", os.environ["EXCHANGE"], comm=comm) as session:
    try:
        session.run("graph", graph="/proc/self/cwd/g.el", program="wcc")
    except ValueError as error:
        say("refused" if "is another one" in str(error) else error)
    assert session.run("graph", graph="kron:8", program="pagerank").verified
    if rank == 1:
        me = os.getpid(), signal.SIGKILL
        threading.Timer(0.5, os.kill, me).start()
    session.run("graph", graph="kron:8", program="pagerank", supersteps=4 * 10**9)
say("over")
"""


@pytest.mark.parametrize("exchange", ["host", "channel"])
def test_other_graphs_are_refused_and_a_killed_rank_ends_all(
    mpirun, tmp_path, monkeypatch, exchange
):
    monkeypatch.chdir(tmp_path)
    answer = mpirun(2, ENDS, EXCHANGE=exchange)
    assert answer.stdout.split() == ["refused"] * 2, answer
    assert answer.returncode == 128 + 9
    assert killed(answer.stderr) == 1
    assert "Traceback" not in answer.stderr
