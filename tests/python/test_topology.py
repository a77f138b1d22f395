"""Topologies as data: by name, from a file, printed and drawn."""

import json

import numpy as np
import pytest

import hpccfpga as hf
from hpccfpga.topology import Link

NAMES = ["published", "ring", "pairs"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ports", [2, 4, 6, 8])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 16])
def test_every_port_sends_once_and_receives_once_from_there(name, ranks, ports):
    links = hf.links(name, ranks=ranks, ports=ports)
    ends = {(rank, port) for rank in range(ranks) for port in range(ports)}
    there = {(link.rank, link.port): (link.to_rank, link.to_port) for link in links}
    assert len(links) == len(there) == ranks * ports
    assert there.keys() == ends
    assert all(there[there[end]] == end for end in ends)


def test_published_wiring():
    """Two ports of each board lead to the next board, two to the one before."""
    for ranks in (1, 2, 5):
        for link in hf.links(ranks=ranks):
            ahead = 1 if link.port < 2 else -1
            assert link.to_rank == (link.rank + ahead) % ranks
            assert link.to_port == (link.port + 2) % 4


def test_torus():
    for link in hf.links("torus:2x3", ranks=6):
        row, column = divmod(link.rank, 3)
        down, ahead = [(0, 1), (0, -1), (1, 0), (-1, 0)][link.port]
        assert link.to_rank == (row + down) % 2 * 3 + (column + ahead) % 3
        assert link.to_port == [1, 0, 3, 2][link.port]


def test_from_a_file(tmp_path):
    path = tmp_path / "wires.json"
    path.write_text(json.dumps({"links": ["0:0-1:1", "0:1-1:0"]}))
    assert hf.links(path, ranks=2, ports=2) == [
        Link(0, 0, 1, 1), Link(0, 1, 1, 0), Link(1, 0, 0, 1), Link(1, 1, 0, 0),
    ]  # fmt: skip
    path.write_text(json.dumps({"links": ["0:0-0:1"]}))
    small = {"sizes": [100], "reps": 1, "replications": 1}
    result = hf.run("b_eff", exchange="channel", device="host", topology=path, **small)
    assert result.verified
    assert result.parameters["topology"] == "0:0-0:1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "no JSON object with links"),
        ("{", "not JSON"),
        ('{"links": 3}', "no list of texts"),
    ],
)
def test_a_bad_file(tmp_path, text, words):
    path = tmp_path / "wires.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        hf.links(path, ranks=1)


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        ("star", 'no wiring "star"; known: published, ring'),
        ("torus:2x2", "no torus:PxQ of 2 ranks; P x Q must be 2, as in torus:1x2"),
        ("0:0-1:0", "0:1 is not connected"),
        ("0:0-1:0,0:0-1:1", "0:0 sends twice"),
        ("0:0-1:0,0:1-1:0", "1:0 sends twice, to 0:0 and to 0:1"),
        ("0:0>1:0,0:1>1:0,1:0>0:0", "1:0 receives twice, from 0:0 and from 0:1"),
        ("0:0>1:0", "does not send back"),
        ("0:0-2:0", "ranks are 0 .. 1"),
        ("0:9-1:0", "ports are 0 .. 1"),
        ("0:0-1:0,", "0:1 is not connected"),
        ("0:0-1:0x", 'no wiring "0:0-1:0x"'),
        ("0:0-1:0,0:1-1:" + 40 * "1", 'no wiring "0:1-1:1{25}"'),
    ],
)
def test_a_bad_topology(topology, words):
    with pytest.raises(ValueError, match=words):
        hf.links(topology, ranks=2, ports=2)


def test_a_torus_of_more_ranks_than_an_int_holds():
    """858650 x 5002 is 2^32 + 4."""
    with pytest.raises(ValueError, match='"torus:858650x5002" is no torus:PxQ of 4 r'):
        hf.links("torus:858650x5002", ranks=4)


@pytest.mark.timeout(60)  # hours, if each link were compared with all
@pytest.mark.parametrize("by_name", [True, False])
def test_as_many_links_as_there_may_be(by_name):
    ranks, ports = 2**16, 16
    cables = (f"{r}:{p}-{r}:{p ^ 1}" for r in range(ranks) for p in range(0, ports, 2))
    topology = "ring" if by_name else ",".join(cables)
    assert len(hf.links(topology, ranks=ranks, ports=ports)) == ranks * ports


@pytest.mark.parametrize(("topology", "ranks"), [("ring", 2), ("torus:2x2", 4)])
def test_ports_do_not_lie_on_each_other(topology, ranks):
    pytest.importorskip("matplotlib")
    (axis,) = hf.plot_topology(topology, ranks=ranks).axes
    ports = np.array([text.xy for text in axis.texts[:-ranks]])
    assert len(ports) == ranks * 4
    first, second = np.triu_indices(len(ports), 1)
    assert np.hypot(*(ports[first] - ports[second]).T).min() > 0.09


def test_printed_and_drawn(command, tmp_path):
    picture = tmp_path / "ring.png"
    answer = command("topology", "ring", "--ranks=3", "--ports=2", f"--plot={picture}")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    heading, *cables, _ = lines
    assert heading == "rank:port - rank:port"
    assert cables == ["0:0 - 1:1", "0:1 - 2:0", "1:0 - 2:1"]
    assert picture.stat().st_size > 1000
    answer = command("topology", "0:0-1:1", "--ranks=2", "--ports=2")
    assert answer.returncode == 2
    assert "topology: 0:1 is not connected" in answer.stderr
