"""The roofline of the graph engine, against what was published, and what it chooses."""

import numpy as np
import pytest

import hpccfpga as hf
from hpccfpga import models

DEGREE = {"vertices": 1e6, "edges": 64e6}
AC510 = {"board": "ac510", **DEGREE}


def rates(ranks, **inputs):
    """Modelled million edges per second of each number of devices."""
    found = [hf.model("graph", ranks=n, **inputs)["edge_rate"][0] for n in ranks]
    return (np.array(found) / 1e6).round()


@pytest.mark.parametrize(
    ("program", "published"),
    [
        ("pagerank", [1188, 2377, 3565, 4754]),
        ("bfs", [1534, 3068, 4602, 6136]),
        ("wcc", [1607, 3214, 4821, 6429]),
    ],
)
def test_processing_elements_bound_gravf_m(program, published):
    assert rates(range(1, 5), program=program, **AC510).tolist() == published


@pytest.mark.parametrize(("program", "least"), [("pagerank", 0.97), ("bfs", 0.88)])
def test_published_rates_stay_below_the_model(program, least):
    for n in range(1, 5):
        words = f"64 {program} updates"
        found = hf.published("graph", board="ac510", ranks=n, source=words)
        assert found.parameters == {"pes": 9, "program": program}
        modelled = hf.model("graph", ranks=n, program=program, **AC510)
        ratio = hf.compare(modelled, found).ratio
        assert least < ratio.item() < 1


def test_the_published_choices_were_the_fastest():
    one = {"board": "adm_pcie_7v3", "source": "bfs"}
    rates = [hf.published("graph", ranks=n, **one)["edge_rate"][0] for n in range(1, 5)]
    assert max(rates) == rates[0]
    assert len(hf.published_list("graph")) == 22


def test_interfaces_and_streams_bound_gravf():
    found = rates(range(2, 5), program="pagerank", architecture="gravf", **AC510)
    assert found.tolist() == [750, 1688, 2094]
    unlimited = {**AC510, "stream_rate": 1e12}
    found = rates(range(2, 5), program="pagerank", architecture="gravf", **unlimited)
    assert found.tolist() == [1570, 1767, 2094]
    ethernet = {"board": "adm_pcie_7v3", "architecture": "gravf", **DEGREE}
    found = rates(range(2, 5), program="bfs", **ethernet)
    assert found.tolist() == pytest.approx([209, 235, 279], abs=1)


def test_round_a_ring_an_update_passes_all_links_but_one():
    slow = {"stream_rate": 1e6, "program": "bfs", **AC510}
    for n in (2, 3, 4):
        (found,) = hf.model("graph", exchange="channel", ranks=n, **slow)[
            "stream_bound"
        ]
        assert found == pytest.approx(n / (n - 1) * 64 * 1e6)
        (found,) = hf.model("graph", exchange="pcie", ranks=n, **slow)["stream_bound"]
        assert found == pytest.approx(n * 64 * 1e6)
    assert np.isnan(hf.model("graph", exchange="channel", **slow)["stream_bound"][0])
    with pytest.raises(ValueError, match="129, but a ring of exchange"):
        hf.model("graph", exchange="channel", ranks=129, **slow)
    with pytest.raises(ValueError, match='gravf, but over exchange "channel"'):
        hf.model("graph", exchange="channel", architecture="gravf", ranks=4, **slow)


def test_an_update_for_each_device_needs_less_than_a_message_for_each_edge():
    r = hf.model("graph", ranks=4, network_bandwidth=1e9, program="bfs", **AC510)
    words = {"program": "bfs", "architecture": "gravf"}
    other = hf.model("graph", ranks=4, network_bandwidth=1e9, **words, **AC510)
    for bound in ("interface_bound", "network_bound"):
        assert r[bound] / other[bound] == pytest.approx(64 / 4)  # (|E| / |V|) (1 / n)
    assert other["limit"].tolist() == ["network"]


@pytest.mark.parametrize("architecture", ["gravf-m", "gravf"])
def test_the_model_beside_a_run_is_that_of_its_architecture(architecture):
    """What a run counts as messages is no input: it would be that of the other."""
    given = {"graph": "kron:8", "source": [5], "architecture": architecture}
    r = hf.run("graph", device="host", exchange="host", ranks=2, reps=1, **given)
    board = {"clock": 1e9, "cycles_per_edge": 1, "network_bandwidth": 1e6}
    per_update = 2 if architecture == "gravf" else r["edges"] / r["vertices"]
    found = models.beside(r, board, given)["network_bound"]
    assert found == pytest.approx(1e6 / 8 * per_update)


def test_memory_is_read_in_words():
    memory = {"memory_bandwidth": 1e9, **AC510}
    r = hf.model("graph", program="bfs", **memory)
    assert r["memory_bound"][0] == 1e9 / 4
    assert r["limit"][0] == "memory"
    wide = hf.model("graph", program="bfs", word_bytes=16, **memory)
    assert wide["memory_bound"][0] == pytest.approx(1e9 / (4 + 9 / 64 * 12))


def test_vertices_need_devices():
    few = hf.model("graph", vertices=2**32, edges=2**36, board="ac510", ranks=3)
    assert few["fewest_devices"][0] == 4
    assert np.isnan(few["edge_rate"][0])


def test_supersteps_end_with_barriers():
    r = hf.model("graph", ranks=1, supersteps=30, traversed=30 * 64e6, **AC510)
    still = hf.model("graph", ranks=1, traversed=30 * 64e6, barrier=0, **AC510)
    assert r["time"][0] - still["time"][0] == pytest.approx(30 * 3.6e-6, rel=1e-4)


@pytest.mark.parametrize(
    ("inputs", "devices", "pes"),
    [
        ({"board": "adm_pcie_7v3", "program": "bfs", "architecture": "gravf"}, 1, 16),
        ({"board": "ac510", "program": "pagerank", "architecture": "gravf"}, 4, 4),
        ({"board": "ac510", "program": "pagerank"}, 4, 9),
    ],
)
def test_the_published_choices(inputs, devices, pes):
    r = hf.configure("graph", **inputs, **DEGREE)
    assert (r.ranks, r.parameters["pes"]) == (devices, pes)
    assert f"chosen: {devices} devices of {pes} " in r.provenance["notes"][-1]


def test_a_choice_within_what_there_is():
    r = hf.configure("graph", devices=2, pes=3, **AC510)
    assert (r.ranks, r.parameters["pes"]) == (2, 3)
    with pytest.raises(
        ValueError, match=r"devices: none given; .* a board: ac510, adm"
    ):
        hf.configure("graph", clock=1e8, cycles_per_edge=1, **DEGREE)
    with pytest.raises(ValueError, match="up to 4 devices has the memory; 8 devices"):
        hf.configure("graph", board="ac510", vertices=2**33, edges=2**36)
    with pytest.raises(LookupError, match=r"no choice of .*'gemm'.*known: graph"):
        hf.configure("gemm")
    with pytest.raises(ValueError, match="devices: 1000000000 with pes: 9 are more"):
        hf.configure("graph", devices=10**9, **AC510)
    with pytest.raises(ValueError, match="devices: 0 is not a number"):
        hf.configure("graph", devices=0, **AC510)
    with pytest.raises(ValueError, match="devices= says how many"):
        hf.configure("graph", ranks=3, **AC510)


def test_a_program_of_which_nothing_is_known():
    with pytest.raises(ValueError, match="board ac510 has no 'xyz'; known: bfs, page"):
        hf.model("graph", program="xyz", **AC510)
    with pytest.raises(ValueError, match="no board has 'xyz'; known: bfs, page"):
        hf.model("graph", program="xyz")
    given = hf.model("graph", program="xyz", cycles_per_edge=2, **AC510)
    assert given["edge_rate"][0] == 9 * 187.5e6 / 2


def test_what_a_model_is_for_is_a_note():
    note = hf.model("graph", board="ac510").provenance["notes"][0]
    assert note == "for program bfs, vertices 1048576, edges 16777216"
    given = {"program": "sssp", "vertices": 1e6, "cycles_per_edge": 2}
    note = hf.model("graph", board="ac510", **given).provenance["notes"][0]
    assert note == "for program sssp, vertices 1000000, edges 16777216"


def test_what_has_no_source_is_one_note():
    _, note = hf.model("graph", **AC510).provenance["notes"]
    assert note.startswith(
        "no source seen for pes 9, clock 187.5 MHz, cycles per edge 1.1"
    )
    assert note.endswith("; see board ac510")
