"""What there is, as records of one shape: indexed, shown, converted."""

import re
from html.parser import HTMLParser

import pytest

import hpccfpga as hf
from hpccfpga import _core
from hpccfpga.records import Records

LISTS = {
    "boards": hf.boards,
    "benchmarks": hf.benchmarks,
    "exchanges": hf.exchanges,
    "devices": hf.devices,
    "published_list": lambda: hf.published_list("b_eff"),
    "parameters": lambda: hf.benchmarks()["b_eff"]["parameters"],
}
every_list = pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
SAMPLE = Records(
    "cat",
    [
        {"name": "tom", "memory": 2**31, "wild": False, "kittens": Records("cat", [])},
        {"name": "7th", "memory": 2**29, "wild": True, "kittens": Records("cat", [])},
    ],
    {"memory": "B"},
)


class Cells(HTMLParser):
    """Texts of the cells of a table, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        self.rows[-1].append(data)


@every_list
def test_records_are_indexed_like_lists_and_by_name(listed):
    records = listed()
    assert isinstance(records, Records)
    assert len(records) == len(list(records)) == len(records.names) > 0
    assert len(set(records.names)) == len(records), "names tell records apart"
    for number, record in enumerate(records):
        assert records[number] == record == records[records.names[number]]
        assert list(record) == list(records[0])
        assert record in records
        assert records.names[number] in records
    assert records[-1] == list(records)[-1]
    assert records[:1].names == records.names[:1]
    with pytest.raises(IndexError):
        records[len(records)]


@every_list
def test_records_show_themselves(listed):
    pandas = pytest.importorskip("pandas")
    records = listed()
    lines = str(records).splitlines()
    for name, line in zip(records.names, lines[-len(records) :], strict=True):
        assert line.startswith(name)
    rows = Cells(records._repr_html_()).rows
    assert [row[0] for row in rows[1:]] == records.names
    frame = records.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(records)
    assert frame.attrs["units"] == records.units


def test_tables_have_units_that_people_read():
    lines = SAMPLE.table().splitlines()
    assert [line.split() for line in lines] == [
        ["name", "memory", "wild"],
        ["[GiB]"],
        ["tom", "2", "no"],
        ["7th", "0.5000", "yes"],
    ]
    assert lines[3].startswith("7th"), (
        "words stand on the left, whatever they begin with"
    )
    assert SAMPLE.to_pandas()["memory"].tolist() == [2**31, 2**29]
    assert str(SAMPLE[:0]) == "no cats"


def test_a_long_last_column_is_wrapped():
    records = Records(
        "word", [{"name": "a", "text": "one two " * 20}, {"name": "b", "text": "x"}]
    )
    for width in (40, 60):
        lines = records.table(width).splitlines()
        assert max(map(len, lines)) <= width
        assert (
            " ".join(" ".join(lines[1:-1]).split()) == "a " + ("one two " * 20).strip()
        )
        assert all(line.startswith("      ") for line in lines[2:-1])
        assert lines[-1] == "b     x"
    assert len(records.table(20).splitlines()) == 3, "too narrow to wrap"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(KeyError) as raised:
        hf.boards()["520m"]
    assert "no board '520m'; did you mean \"520n\"? known: 520n" in raised.value.args[0]
    assert "520m" not in hf.boards()


@pytest.mark.parametrize("name", [name for name, _ in _core.components("bench")])
def test_every_parameter_has_its_unit(name):
    for entry in hf.benchmarks()[name]["parameters"]:
        either = ".." in (entry["values"] or "")  # than a word, a number
        numeric = entry["kind"] != "text" or either
        assert (entry["unit"] in {"1", "B", "s"}) == numeric, entry
        assert not re.search(r"\[\w+\]", entry["summary"]), entry
        assert (entry["low"] is not None) == numeric


def test_what_there_is():
    assert {"b_eff", "transfer"} <= set(hf.benchmarks().names)
    assert hf.benchmarks()["b_eff"]["parameters"]["sizes"]["unit"] == "B"
    assert hf.exchanges()["host"]["host_memory"] is True
    assert hf.devices()[0]["runtime"] == "host"
    assert "opencl:0" in hf.devices()
