"""Results that are damaged, hostile or no results: one line, code 2, nothing else."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

import hpccfpga as hf
from example_result import measured
from hpccfpga import npz

STEERS = "\x1b]0;gone\x07\x1b[31m\r\x08\x9b2J\u202e\udc80\n"


def document(**changes):
    return json.loads(measured().to_json()) | changes


def with_column(name, **changes):
    found = document()
    found["columns"][name] |= changes
    return found


def with_words(name):
    found = document()
    entry = {"unit": "1", "dtype": "str", "shape": [3], "values": ["a", "b", "c"]}
    found["columns"][name] = entry
    return found


def with_provenance(**changes):
    return document(provenance=changes)


def with_supersteps(**changes):
    """Run of graph with three points, four supersteps and two ranks, damaged."""
    found = document(benchmark="graph")
    for name in ("active", "edges", "kernel_time", "exchange_time"):
        unit, dtype = ("s", "float64") if name.endswith("time") else ("1", "int64")
        values = np.ones((3, 4, 2), dtype)
        entry = {"unit": unit, "dtype": dtype, "values": values.tolist()}
        found["columns"][f"superstep_{name}"] = entry | {"shape": [3, 4, 2]}
    for name, change in changes.items():
        found["columns"][f"superstep_{name}"] |= change
    return found


def without_points():
    found = document()
    for entry in found["columns"].values():
        entry |= {"shape": [0, *entry["shape"][1:]], "values": []}
    return found


HUGE = 10**400
BAD = {
    "a dtype that is a list": with_column("time", dtype=[1]),
    "a unit that is an object": with_column("time", unit={}),
    "values that are a number": with_column("time", values=5),
    "an integer beyond int64": with_column("reps", values=[1, 2**70, 3]),
    "an integer beyond double": with_column("time", values=[1, HUGE, 3]),
    "ranks beyond double": document(ranks=HUGE),
    "a summary beyond double": document(summary={"x": {"unit": "s", "value": HUGE}}),
    "a summary of lists": document(summary={"x": {"unit": "s", "value": []}}),
    "notes that are a number": with_provenance(notes=5),
    "notes that are objects": with_provenance(notes=[{}]),
    "an error that is a list": with_provenance(error=[1]),
    "a time in words": with_column("time", dtype="str", values=["a", "b", "c"]),
    "samples of one dimension": with_column("samples", shape=[3], values=[1.0] * 3),
    "medians of two dimensions": with_column(
        "bandwidth_median", shape=[3, 2], values=[[1.0] * 2] * 3
    ),
    "a verdict in numbers": with_column("verified", dtype="int64", values=[1] * 3),
    "verified, but a point is not": with_column("verified", values=[False, True, True]),
    "not verified, but all points are": document(verified=False),
    "nobody verified, but all points are": document(verified=None),
    "a time of nothing": with_column("time", values=[0.0, 1.0, 1.0]),
    "a time before": with_column("time", values=[1.0, -1.0, 1.0]),
    "a time in another unit": with_column("time", unit="us"),
    "a rate below nothing": with_column("bandwidth", values=[1.0, -1.0, 1.0]),
    "no time": with_column("time_median", values=[1.0, 1.0, None]),
    "a size of nothing": with_column("message_size", values=[1, 0, 4096]),
    "a size below": with_column("message_size", values=[1, -64, 4096]),
    "no points": without_points(),
    "samples of no rank": with_column(
        "samples", shape=[3, 5, 0], values=[[[]] * 5] * 3
    ),
    "supersteps of no rank": with_supersteps(active={"shape": [3, 0, 0], "values": []}),
    "supersteps of one dimension": with_supersteps(
        edges={"shape": [3], "values": [1] * 3}
    ),
    "supersteps of other numbers": with_supersteps(
        kernel_time={"shape": [3, 1, 2], "values": [[[1.0, 1.0]]] * 3}
    ),
    "an efficiency in words": with_words("efficiency"),
    "ranks in words": with_words("ranks"),
    "supersteps in words": with_supersteps(
        edges={"dtype": "str", "values": [[["a"] * 2] * 4] * 3}
    ),
    "nested deep": document(parameters={"x": json.loads("[" * 90 + "]" * 90)}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_json_that_is_no_result(refused, tmp_path, bad):
    (tmp_path / "r.json").write_text(json.dumps(bad))
    refused(["show", "r.json"], "hpccfpga: r.json: ")
    refused(["plot", "r.json", "-o", "r.png"], "hpccfpga: r.json: ")


@pytest.mark.parametrize("version", ["²", "9" * 5000, ""])
def test_a_version_that_is_no_number(refused, tmp_path, version):
    bad = document(schema=f"hpccfpga-result/{version}")
    (tmp_path / "r.json").write_text(json.dumps(bad))
    line = "hpccfpga: r.json: not a result: its schema is 'hpccfpga-result/"
    refused(["show", "r.json"], line)


def test_supersteps_that_are_not_all_there(call, tmp_path):
    found = with_supersteps()
    for name in ("superstep_active", "superstep_kernel_time"):
        entry = found["columns"].pop(name)
        (tmp_path / "r.json").write_text(json.dumps(found))
        assert call("plot", "r.json", "-o", "r.png")[0] == 0
        found["columns"][name] = entry


def test_points_that_failed_need_no_time(call, tmp_path):
    wrong = measured(failed=1)
    wrong["time"][1] = np.nan
    wrong.to_json(tmp_path / "r.json")
    assert call("show", "r.json")[0] == 1


@pytest.mark.parametrize("key", ["result", "model"])
def test_a_suite_with_the_result_of_another_benchmark(refused, tmp_path, key):
    entry = {"result": document(), "model": document()}
    entry[key] |= {"benchmark": "fft"}
    suite = {"schema": "hpccfpga-suite/1", "benchmarks": {"b_eff": entry}}
    (tmp_path / "r.json").write_text(json.dumps(suite))
    refused(["show", "r.json"], f"hpccfpga: r.json: b_eff has the {key} of fft")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "[" * 10**6])
@pytest.mark.parametrize("job", ["show", "plot", "topology"])
def test_brackets_without_end(refused, tmp_path, job, text):
    (tmp_path / "r.json").write_text(text)
    more = ["-o", "x.png"] if job == "plot" else []
    refused([job, "r.json", *more], "r.json: not JSON: ")


@pytest.mark.parametrize("job", ["show", "compare"])
def test_what_is_no_result_is_said_to_be_none(refused, tmp_path, job):
    (tmp_path / "README.md").write_text("# hpccfpga\n")
    words = [job, *["README.md"] * (2 if job == "compare" else 1)]
    refused(words, "(char 0); not a result of hpccfpga")


# ---- NPZ ----


def rewritten(path, change):
    """The same archive, each entry passed through change(name, data)."""
    with zipfile.ZipFile(path) as archive:
        entries = {n: archive.read(n) for n in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, change(name, data))


def replaced(column, values):
    """Change that puts another array in the place of a column."""
    file = io.BytesIO()
    np.save(file, values)
    return lambda name, data: file.getvalue() if name == f"{column}.npy" else data


def broken_header(name, data):
    """What NumPy's tokenizer does not survive."""
    return data.replace(b"'descr': '<f8'", b"'descr': ('<f8'", 1)


def no_character(name, data):
    """A text with a code beyond Unicode, of which NumPy makes a broken string."""
    at = np.lib.format.MAGIC_LEN + 2 + int.from_bytes(data[8:10], "little")
    return (
        data[: at + 3] + b"\x91" + data[at + 4 :]
        if name == f"{npz.HEADER}.npy"
        else data
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (no_character, "not an NPZ file of a result"),
        (broken_header, "not an NPZ file of a result"),
        (lambda name, data: data[:-1], "not an NPZ file of a result"),
        (lambda name, data: data[:20], "not an NPZ file of a result"),
        (lambda name, data: b"", "not an NPZ file of a result"),
        (
            replaced("time", np.ones(4)),
            "'time' is of float64 [4], declared float64 [3]",
        ),
        (replaced("time", np.ones(3, int)), "'time' is of int64 [3], declared float64"),
        (replaced("time", np.array([{}] * 3)), "'time' is of object [3], declared"),
    ],
)
def test_npz_that_is_damaged(refused, tmp_path, change, line):
    measured().to_npz(tmp_path / "r.npz")
    rewritten(tmp_path / "r.npz", change)
    refused(["show", "r.npz"], line)


def test_npz_of_another_shape_is_not_unpacked(refused, tmp_path):
    """Nothing of its 80 MB is read."""
    measured().to_npz(tmp_path / "r.npz")
    rewritten(tmp_path / "r.npz", replaced("time", np.zeros(10**7)))
    assert (tmp_path / "r.npz").stat().st_size < 1_000_000
    tracemalloc.start()
    refused(["show", "r.npz"], "'time' is of float64 [10000000], declared float64 [3]")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_npz_that_unpacks_to_more_than_a_result_has(refused, tmp_path):
    """Sizes that the archive declares; here it holds 1 byte of 8 GiB."""
    path = tmp_path / "r.npz"
    measured().to_npz(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.npy", b"x")
        archive.getinfo("more.npy").file_size = 8 << 30
    refused(["show", "r.npz"], "unpacks to 8589")


def test_npz_keeps_columns_of_any_name(tmp_path):
    """NumPy's own function takes some names for its arguments."""
    columns = {"file": hf.Column("1", np.arange(2)), "a/b": hf.Column("1", np.ones(2))}
    measured(columns=columns).to_npz(tmp_path / "r.npz")
    assert [*hf.Result.from_npz(tmp_path / "r.npz").columns] == ["file", "a/b"]
    bad = measured(columns={"header.json": hf.Column("1", np.arange(2))})
    with pytest.raises(ValueError, match=r"no column .* can be called 'header\.json'"):
        bad.to_npz(tmp_path / "r.npz")


# ---- text that steers a terminal ----


def steering():
    """A result of which every text has control characters, as a document."""
    found = document(device=f"dev{STEERS}", exchange=f"pcie{STEERS}")
    found["benchmark"] += STEERS
    found["parameters"] = {f"mode{STEERS}": [STEERS], "mode": STEERS}
    columns = found["columns"]
    columns["words"] = {
        "unit": f"1{STEERS}", "dtype": "str", "shape": [3], "values": [STEERS] * 3
    }  # fmt: skip
    columns[f"col{STEERS}"] = columns["bandwidth"] | {"unit": f"{STEERS}/s"}
    found["summary"][f"sum{STEERS}"] = {"unit": STEERS, "value": 1}
    found["provenance"] = {
        "notes": [STEERS],
        "error": STEERS,
        "hosts": [{STEERS: STEERS}],
    }
    return found


def clean(text):
    return all(c.isprintable() or c == "\n" for c in text)


def test_no_text_of_a_result_steers_a_terminal(call, tmp_path):
    for kind, exchange in (("measured", "a"), ("published", "b")):
        found = steering() | {"kind": kind}
        (tmp_path / f"{exchange}.json").write_text(json.dumps(found))
    for words in (
        ["show", "a.json"],
        ["show", "b.json"],
        ["compare", "a.json", "b.json"],
        ["plot", "a.json", "b.json", "-o", "x.svg"],
    ):
        code, out, err = call(*words)
        assert code == (3 if "show" in words else 0), err
        assert clean(out + err)
    assert "\\x1b]0;gone" in call("show", "a.json")[1]
    assert "\x1b" not in (tmp_path / "x.svg").read_text()
    result = hf.Result.from_json(tmp_path / "a.json")
    assert clean(repr(result) + str(result) + result._repr_html_() + result.to_json())
    result.to_npz(tmp_path / "a.npz")
    assert call("show", "a.npz")[1] == call("show", "a.json")[1]


def test_no_text_of_an_npz_steers_a_terminal(call, tmp_path):
    """Arrays of texts that this version did not write."""
    words = hf.Column("1", np.array(["aaaaaaa", "b", "c"]))
    measured(columns={"words": words, **measured().columns}).to_npz(tmp_path / "r.npz")
    rewritten(tmp_path / "r.npz", replaced("words", np.array(["\x1b[31mx", "b", "c"])))
    code, out, _ = call("show", "r.npz")
    assert code == 0
    assert clean(out)
    assert "\\x1b[31mx" in out


def test_no_text_of_a_suite_or_an_error_steers_a_terminal(call, tmp_path):
    none = {"result": None, "model": None}
    suite = {"schema": "hpccfpga-suite/1", "benchmarks": {
        f"x{STEERS}": none | {"error": STEERS, "error_type": "?"},
        f"b_eff{STEERS}": none | {"result": steering()},
    }}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps(suite))
    code, out, err = call("show", "s.json")
    assert code == 3, err
    assert clean(out + err)
    bad = steering() | {"kind": STEERS}
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    for words in (["show", "bad.json"], ["show", "\x1b[31m"], ["run", "\x1b[31m"]):
        code, out, err = call(*words)
        assert code == 2
        assert clean(out + err)


@pytest.mark.parametrize(
    "words",
    [
        ["plot", "r.json", "-o", "{}.svg"],
        ["topology", "ring", "--plot={}.svg"],
        ["graph", "info", "kron:3", "--json={}.json"],
        ["model", "b_eff", "--board=520n", "--json={}.json", "--plot={}.svg"],
        ["run", "b_eff", "--sizes=0", "--json={}.json"],
        ["kernels", "build", "gemm", "--target=intel", "--print", "-o", "{}"],
    ],
)
def test_no_path_steers_a_terminal(call, tmp_path, words):
    measured().to_json(tmp_path / "r.json")
    path = STEERS.translate(dict.fromkeys(map(ord, "/\udc80")))
    _, out, err = call(*(word.format(path) for word in words))
    assert "\\x1b]0;gone" in out, err
    assert clean(out + err)


def test_a_formula_in_a_name_is_none(tmp_path):
    """What matplotlib would set as mathematics stays text."""
    hf.plot(
        measured(exchange=r"$\foo$", benchmark="$a", device="$"),
        path=tmp_path / "x.png",
    )
    hf.plot_topology("ring", ranks=2, path=tmp_path / "y.png")


def test_progress_does_not_steer_a_terminal(capfd):
    from hpccfpga.progress import Progress

    with Progress(f"title{STEERS}") as bar:
        bar(0, 1, {})
    assert clean(capfd.readouterr().out)
