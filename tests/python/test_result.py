"""Results: their tables, files and what is no result."""

import json
import os
import stat
import sys

import numpy as np
import pytest

import hpccfpga as hf
from example_result import measured
from hpccfpga.comparison import compare
from hpccfpga.formats import SCHEMA, replacing
from hpccfpga.result import Column, Result


def document(**changes):
    return json.loads(measured().to_json()) | changes


def refused(doc, match):
    with pytest.raises(ValueError, match=match) as caught:
        Result.from_json(json.dumps(doc))
    assert "\n" not in str(caught.value)


def same(a, b):
    for name in ("kind", "benchmark", "exchange", "device", "emulated", "ranks"):
        assert getattr(a, name) == getattr(b, name)
    assert a.verified == b.verified
    assert a.provenance == b.provenance
    assert a.summary.keys() == b.summary.keys()
    for name, quantity in a.summary.items():
        np.testing.assert_equal(b.summary[name], quantity)
    assert [*a.columns] == [*b.columns]
    assert a.units == b.units
    for name, column in a.columns.items():
        assert b[name].dtype == column.values.dtype
        np.testing.assert_array_equal(b[name], column.values)


def test_arrays_are_not_copied():
    r = measured()
    assert r["time"] is r.columns["time"].values
    assert r.units["bandwidth"] == "B/s"
    with pytest.raises(KeyError, match=r"no column 'speed'; known: message_size"):
        r["speed"]


def test_json_round_trip_as_text_and_file(tmp_path):
    r = measured()
    path = tmp_path / "r.json"
    text = r.to_json(path)
    assert path.read_text() == text
    same(r, Result.from_json(text))
    same(r, Result.from_json(path))
    same(r, Result.from_json(str(path)))


def test_json_is_what_other_tools_rely_on():
    doc = document()
    assert [*doc] == [
        *("schema", "kind", "benchmark", "exchange", "device", "emulated", "ranks"),
        *("verified", "parameters", "columns", "summary", "provenance"),
    ]
    samples = doc["columns"]["samples"]
    assert samples["unit"] == "s"
    assert samples["dtype"] == "float64"
    assert samples["shape"] == [3, 5, 2]
    assert np.shape(samples["values"]) == (3, 5, 2)
    assert doc["columns"]["time_p95"]["values"] == [None] * 3
    assert doc["columns"]["verified"]["values"] == [True] * 3
    assert doc["summary"]["latency"] == {"unit": "s", "value": None}
    assert doc["parameters"]["sizes"] == [1, 64, 4096]


def test_failed_run_without_points_is_valid():
    r = measured(columns={}, summary={}, verified=False, provenance={"error": "x"})
    back = Result.from_json(r.to_json())
    assert back.verified is False
    assert "FAILED: x" in back.table()
    assert "FAILED: x" in back._repr_html_()


def test_npz_round_trip(tmp_path):
    path = tmp_path / "r.npz"
    measured().to_npz(path)
    same(measured(), Result.from_npz(path))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"r\.npz: not an NPZ file of a result"):
        Result.from_npz(path)
    np.savez(path, time=np.ones(3))
    with pytest.raises(ValueError, match="not an NPZ file of a result"):
        Result.from_npz(path)


def test_json_fits_the_shipped_schema():
    jsonschema = pytest.importorskip("jsonschema")
    from importlib.resources import files

    schema = json.loads((files("hpccfpga") / "data/result.schema.json").read_text())
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    assert schema["$defs"]["result"]["properties"]["schema"]["enum"][0] == SCHEMA
    check.validate(document())
    check.validate(document(schema="hpccfpga-result/1"))
    assert not check.is_valid(document(kind="guessed"))
    assert not check.is_valid(document(extra=1))
    doc = document()
    doc["columns"]["reps"]["values"][0] = None
    assert not check.is_valid(doc)
    doc = document()
    doc["columns"]["verified"]["values"][0] = 1
    assert not check.is_valid(doc)


def test_text_that_is_no_result_is_refused(tmp_path):
    path = tmp_path / "r.json"
    for text in ("", "hello", '{"a":', "[1, 2]", "\udcff"):
        path.write_text(text, errors="surrogateescape")
        with pytest.raises(ValueError, match=r"r\.json: not") as caught:
            Result.from_json(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        Result.from_json(tmp_path / "none.json")


def test_other_schemas_are_refused():
    refused(
        document(schema="hpccfpga-result/3"),
        "written as hpccfpga-result/3, this version reads up to hpccfpga-result/2",
    )
    refused(document(schema="other/1"), "its schema is 'other/1'")
    refused({"kind": "measured"}, "no schema")


def test_missing_keys_and_wrong_kinds_are_refused():
    doc = document()
    del doc["device"], doc["summary"]
    refused(doc, "missing device, summary")
    refused(document(kind="guessed"), "no result kind 'guessed'; known: measured")
    refused(document(ranks=0), "ranks is 0")
    refused(document(columns=[]), r"columns is \[\], no object")
    refused(document(emulated="no"), "emulated is 'no', no boolean")
    refused(document(device=3), "device is 3, no text or null")


def test_columns_that_contradict_themselves_are_refused():
    def column(name, **changes):
        doc = document()
        doc["columns"][name] |= changes
        return doc

    refused(
        column("time", values=[1.0, 2.0]),
        r"column 'time' has values of shape \[2\], declared \[3\]",
    )
    refused(
        column("samples", values=[[[1.0]], [[1.0], [2.0]], [[1.0]]]),
        r"column 'samples' has values of shape \[3\], declared \[3, 5, 2\]",
    )
    refused(
        column("time", values=[1.0, 2.0], shape=[2]),
        r"column 'time' has shape \(2,\), which does not fit column 'message_size' "
        r"of shape \(3,\)",
    )
    refused(column("time", values=[1.0, "2", 3.0]), "column 'time' holds '2'")
    refused(column("reps", values=[1, None, 3]), "column 'reps' holds None, no int64")
    refused(column("reps", values=[1, 2.5, 3]), "column 'reps' holds 2.5, no int64")
    refused(column("verified", values=[1, 1, 1]), "holds 1, no bool")
    refused(column("time", dtype="complex"), "dtype 'complex'; known: float64")
    refused(column("time", shape=3), "shape 3, no list")
    doc = document()
    del doc["columns"]["time"]["unit"]
    refused(doc, "column 'time' lacks unit")
    doc = document()
    doc["summary"]["b_eff"]["value"] = "fast"
    refused(doc, "summary")


def test_result_refuses_what_it_could_not_save():
    with pytest.raises(ValueError, match="dtype float32"):
        measured(columns={"x": Column("1", np.ones(2, np.float32))})
    with pytest.raises(ValueError, match="shape"):
        measured(columns={"x": Column("1", np.array(1.0))})


def test_writing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", "no bytes"])
    assert path.read_text() == "old"
    reader = path.open()
    measured().to_json(path)
    assert reader.read() == "old"  # a new file took its place
    reader.close()
    with pytest.raises(ValueError, match=r"cannot write .*r\.json: there is no folder"):
        measured().to_json(tmp_path / "none" / "r.json")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(ValueError, match="cannot write"):
        measured().to_json(folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "r.json"]


def test_written_files_obey_the_umask(tmp_path):
    old = os.umask(0o022)
    try:
        measured().to_json(tmp_path / "r.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o644


def test_table_is_aligned_and_in_units_that_people_read():
    lines = measured(emulated=False).table().splitlines()
    names, units, *rows = lines[2:7]
    assert names.split()[:3] == ["message", "size", "time"]
    assert units.split()[:2] == ["[B]", "[us]"]
    assert "[GB/s]" in units
    assert rows[0].split()[:2] == ["1", "10.00"]
    assert rows[2].split()[:2] == ["4096", "14.10"]
    dots = {row.index(".") for row in rows}
    assert len(dots) == 1
    assert "time_p95" not in names
    assert "EMULATED" not in "\n".join(lines)
    assert lines[-1] == "note: a <remark>"


def test_a_point_that_failed_shows_no_rate():
    text = measured(failed=1).table()
    assert "NOT VERIFIED" in text
    assert "EMULATED" in text
    rows = {row.split()[0]: row for row in text.splitlines() if row.strip()}
    assert rows["64"].split().count("failed") == 2
    assert "failed" not in rows["1"]
    assert np.isnan(measured(failed=1).shown("bandwidth")).tolist() == [0, 1, 0]


def test_html_is_escaped_and_says_what_matters():
    text = measured(failed=1)._repr_html_()
    assert "opencl &lt;cpu&gt; &amp; more" in text
    assert "a &lt;remark&gt;" in text
    assert "<cpu>" not in text
    assert "EMULATED" in text
    assert "NOT VERIFIED" in text
    assert text.count("<tr>") == 4


def test_pandas_has_a_row_per_point():
    pytest.importorskip("pandas")
    frame = measured().to_pandas()
    assert len(frame) == 3
    assert "samples" not in frame
    assert frame["message_size"].tolist() == [1, 64, 4096]
    assert frame.attrs["units"]["time"] == "s"


def test_xarray_has_named_dimensions():
    pytest.importorskip("xarray")
    data = measured().to_xarray()
    assert data["samples"].dims == ("point", "repetition", "rank")
    assert data["samples"].shape == (3, 5, 2)
    assert data["warmup"].shape == (3, 1, 2)
    assert "message_size" in data.coords
    assert data["bandwidth"].attrs["units"] == "B/s"


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'hpccfpga\[data\]'"):
        measured().to_pandas()


def test_results_print_their_table_and_show_one_line():
    a = measured()
    c = compare(a, a)
    assert (str(a), str(c)) == (a.table(), c.table())
    assert repr(a).startswith("<Result b_eff, measured")
    assert repr(c).startswith("<Comparison b_eff: measured pcie")
    assert "\n" not in repr(a) + repr(c)


def test_a_table_says_why_there_are_no_intervals():
    given = {"exchange": "host", "sizes": [1], "loop_upper": 1}
    few, many = (hf.run("b_eff", reps=n, **given) for n in (5, 6))
    note = "note: a 95 % interval takes 6 repetitions"
    assert np.isnan(few["time_low"]).all()
    assert note in few.table().splitlines()
    assert note in few._repr_html_()
    assert note not in few.table(rows=False), "no interval is shown there"
    assert note not in many.table()


def test_label_says_what_a_legend_needs():
    assert measured().label == "measured pcie, 2 ranks, emulated"
    assert measured(ranks=1, failed=0, emulated=False).label == (
        "measured pcie, 1 rank, not verified"
    )
    assert measured(kind="published", device="520n", emulated=False).label == (
        "published pcie, 520n, 2 ranks"
    )


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (["a", "a"], "2 ranks, verified"),
        (["a", "b"], "2 ranks on 2 hosts, verified"),
        ("ab", "2 ranks, verified"),
    ],
)
def test_hosts_are_counted_where_there_are_several(hosts, words):
    r = measured()
    r.provenance["hosts"] = hosts
    assert repr(r).endswith(f", {words}>")
