"""Boards: their facts, sources and files."""

from functools import partial
from pathlib import Path

import pytest

import hpccfpga
from hpccfpga.boards import board, boards

FOLDER = Path(hpccfpga.__file__).parent / "boards"
KEYS = boards().names
UNITS = {None, "1", "1/s", "B", "B/s", "Hz", "s"}
RANGES = {"B/s": (8e8, 1e12), "Hz": (1e8, 1e9), "s": (1e-7, 1e-3)}


def test_each_file_is_a_board():
    assert sorted(path.stem for path in FOLDER.iterdir()) == KEYS
    assert boards()["u280"]["full_name"] == "Alveo U280"


@pytest.mark.parametrize("key", KEYS)
def test_every_number_has_a_unit_and_a_source(key):
    for name, fact in board(key).items():
        assert fact.unit in UNITS, name
        assert (fact.unit is None) == isinstance(fact.value, str), name
        assert len(fact.source) > 4, name
        assert isinstance(fact.verified, bool), name
        for word in ("not checked", "estimate", "fit of"):
            assert not (fact.verified and word in fact.source), name


@pytest.mark.parametrize("key", KEYS)
def test_numbers_are_si_and_plausible(key):
    for name, fact in board(key).items():
        if fact.unit in RANGES:
            low, high = RANGES[fact.unit]
            assert low <= fact.value <= high, name
        elif fact.unit is not None:
            assert fact.value > 0, name


@pytest.mark.parametrize("key", KEYS)
def test_facts_are_among_the_known_names(key):
    tables = {
        "fpga",
        "memory",
        "pcie",
        "network",
        "host",
        "kernel_clock",
        "gemm",
        "fft",
        "graph",
    }
    assert {name.split(".")[0] for name in board(key)} <= tables
    assert {"fpga.part", "pcie.bandwidth"} <= set(board(key))
    if "graph.pes" not in board(key):
        assert "network.ports" in board(key)
        assert any(name.endswith("bank_bandwidth") for name in board(key))


def test_what_was_not_seen_is_marked():
    for key, name in [
        ("u250", "fpga.lut"),
        ("u55c", "fpga.dsp"),
        ("520n", "pcie.latency"),
    ]:
        assert not board(key)[name].verified
        assert "NO SOURCE SEEN" in board(key).table()
    assert board("520n")["network.latency"].verified


def test_the_data_behind_equation_4():
    facts = board("520n")
    assert facts["network.latency"].value == 520e-9
    assert facts["network.clock"].value == 156.25e6
    assert facts["network.width"].value == 32
    assert facts["network.ports"].value == 4
    width, clock = facts["network.width"].value, facts["network.clock"].value
    assert width * clock == facts["network.port_bandwidth"].value


def test_pcie_bandwidth_is_that_of_its_lanes():
    for key in KEYS:
        facts = board(key)
        lanes = facts["pcie.lanes"].value
        assert facts["pcie.bandwidth"].value == pytest.approx(lanes * 1e9 * 128 / 130)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("520N", "520n"),
        ("BittWare 520N", "520n"),
        ("520n-mx", "520n_mx"),
        ("520N_MX", "520n_mx"),
        ("pac d5005", "pac_d5005"),
        ("Intel PAC-D5005", "pac_d5005"),
        ("Alveo U55C", "u55c"),
    ],
)
def test_spelling_is_forgiven(text, key):
    assert board(text).key == key


@pytest.mark.parametrize("text", ["", "u28", "520", "stratix"])
def test_unknown_board_lists_the_known_ones(text):
    with pytest.raises(
        LookupError, match=r"no board .* known: 520n, 520n_mx, ac510, adm_pcie_7v3"
    ):
        board(text)


@pytest.mark.parametrize(
    "take",
    [partial(board, False), partial(hpccfpga.model, "b_eff", board=False)],
    ids=["board", "model"],
)
def test_what_is_no_text_is_no_board(take):
    with pytest.raises(TypeError, match="board: False is no text; known: 520n, 520n_"):
        take()


def test_unknown_fact_lists_the_known_ones():
    with pytest.raises(
        KeyError, match=r"board u250 has no 'network\.clock'; known: fpga"
    ):
        board("u250")["network.clock"]


def test_table_is_for_people():
    text = board("520n").table()
    assert "156.2 MHz" in text
    assert "520" in text
    assert "8 GiB" in text
    assert "<td>" in board("520n")._repr_html_()
