"""Published results: what they are, and how they are found."""

import numpy as np
import pytest

from hpccfpga.published import published, published_list
from hpccfpga.result import Result


def run_of(entry):
    return published(
        "b_eff",
        board=entry["board"],
        exchange=entry["exchange"],
        ranks=entry["ranks"],
        source=entry["log"],
    )


ENTRIES = published_list("b_eff")


def test_all_runs_are_there():
    assert len(ENTRIES) == 28
    assert {e["exchange"] for e in ENTRIES} == {"channel", "host", "pcie"}
    assert {e["board"] for e in ENTRIES} == {"520n", "u280"}
    assert max(e["ranks"] for e in ENTRIES) == 26


def test_a_list_shows_what_was_reached():
    entry = published_list("graph")["bfs, messages, 1 of 4 devices"]
    assert entry["edge_rate"] == 523e6
    head, unit, *_ = published_list("graph").table().splitlines()
    assert "edge rate" in head
    assert "million/s" in unit


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["log"])
def test_rate_is_ranks_times_replications_times_size_over_time(entry):
    r = run_of(entry)
    assert r.kind == "published"
    assert len(r["time"]) == 21
    work = r.ranks * r.parameters["replications"] * r["message_size"]
    np.testing.assert_allclose(r["bandwidth"], work / r["time"], rtol=1e-5)
    assert r.summary["b_eff"].value == pytest.approx(r["bandwidth"].mean(), rel=1e-5)
    assert r.summary["latency"].value == r["time"][0]
    assert r.provenance["source"].startswith("pc2/")


def test_one_log_to_the_last_digit():
    r = published("b_eff", board="520N", exchange="pcie", ranks=16)
    assert r["message_size"].tolist() == [2**n for n in range(21)]
    assert r["message_size"].dtype == np.int64
    assert r["time"][0] * r["inner"][0] == pytest.approx(122.22122192382812e-6 * 65536)
    assert r["bandwidth"][-1] == 1.75046e10
    assert r.summary["b_eff"].value == 2.82231e9
    assert r.verified is True
    assert r["verified"].all()
    assert r.provenance["log"] == "8_fpga/beff_pcie_N8-929915.txt"


def test_readme_does_not_say_that_it_verified():
    r = published("b_eff", source="readme", ranks=8)
    assert r.verified is None
    assert "verified" not in r.columns
    assert 8192 not in r["message_size"]
    assert r["message_size"][-1] == 2**21
    assert any("31.32" in note for note in r.provenance["notes"])


def test_ambiguous_filter_lists_the_choices():
    with pytest.raises(ValueError, match="2 published results of b_eff fit") as caught:
        published("b_eff", board="520n", exchange="host", ranks=2)
    assert "1_fpga_full/beff_cpu_N1-929883.txt" in str(caught.value)
    assert "2_fpga/beff_cpu_N2-n2-1066622.txt" in str(caught.value)
    r = published("b_eff", board="520n", exchange="host", ranks=2, source="2021 929883")
    assert r.summary["b_eff"].value == 3.97818e9
    with pytest.raises(ValueError, match="28 published results"):
        published("b_eff")


def test_nothing_that_fits():
    with pytest.raises(
        LookupError, match=r"no published b_eff fits; known: 520n host on 1, 2, 4,"
    ):
        published("b_eff", ranks=3)
    with pytest.raises(LookupError, match="no board 'x1'"):
        published("b_eff", board="x1")
    with pytest.raises(
        LookupError, match="nothing published about 'transfer'; known: b_eff"
    ):
        published("transfer")


def test_impossible_rates_are_marked():
    r = published("b_eff", board="u280", exchange="host", ranks=1)
    assert r.summary["b_eff"].value == 5.64525e11
    assert any("not a bandwidth" in note for note in r.provenance["notes"])


def test_published_results_save_like_any_other():
    r = published("b_eff", board="u280", exchange="pcie", ranks=4)
    assert Result.from_json(r.to_json()).table() == r.table()


def test_the_head_and_the_latency_are_not_taken_for_ours():
    there = published("b_eff", board="520n", exchange="host", ranks=26)
    assert there.table().splitlines()[0].endswith(", verified by its source")
    assert any("one way takes half" in note for note in there.provenance["notes"])
    wires = published("b_eff", board="520n", exchange="channel", ranks=26)
    assert not any("one way" in note for note in wires.provenance["notes"])
