"""Traces by hand: shares, pictures, Perfetto's JSON, files."""

import json
from itertools import pairwise

import numpy as np
import pytest

from example_result import measured, span, trace, traced
from hpccfpga.cli import main
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.traces import RECEIVES, SENDS, SPANS, Trace, hidden, of, spans

# ---- shares ----


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([("read", 0, 4), ("kernel", 5, 9)], 0),
        ([("read", 0, 4), ("kernel", 4, 9)], 0),
        ([("read", 0, 4), ("kernel", 0, 4)], 1),
        ([("message", 0, 4), ("kernel", 1, 2), ("kernel", 3, 9)], 0.5),
        ([("kernel", -1, 1), ("write", 0, 4)], 0.25),
        # what moves at the same time counts once, and so do kernels side by side
        ([("read", 0, 3), ("message", 1, 4), ("kernel", 2, 3)], 0.25),
        ([("read", 0, 4), ("kernel", 0, 2), ("kernel", 1, 3)], 0.75),
        # inside, unordered
        ([("kernel", 2, 3), ("read", 0, 10), ("write", 4, 5), ("kernel", 6, 8)], 0.3),
        # not exchange: waits, copies on the device
        ([("read", 0, 4), ("wait", 4, 9), ("copy", 9, 20), ("kernel", 3, 20)], 0.25),
    ],
)
def test_hidden_is_the_share_of_exchange_that_kernels_cover(rows, share):
    assert hidden(trace(*(span(*row) for row in rows))) == pytest.approx(share)


def test_a_kernel_that_passes_messages_on_is_exchange():
    relay = span("kernel", 0, 4, label="relay")
    assert np.isnan(hidden(trace(relay)))
    assert hidden(trace(relay, span("kernel", 3, 9))) == 0.25
    assert hidden(trace(relay, span("read", 4, 8), span("kernel", 6, 9))) == 0.25


def test_what_another_rank_or_point_does_hides_nothing():
    rows = [span("read", 0, 4), span("kernel", 0, 4, rank=1)]
    assert hidden(trace(*rows)) == 0
    assert hidden(trace(rows[0], span("kernel", 0, 4, point=1))) == 0
    more = [*rows, span("read", 0, 4, rank=1)]
    assert hidden(trace(*more)) == pytest.approx(0.5)


def test_nothing_is_hidden_where_nothing_is_exchanged_or_computed():
    assert np.isnan(hidden(trace(span("kernel", 0, 4))))
    assert np.isnan(hidden(trace(span("read", 0, 4))))
    assert np.isnan(hidden(trace()))


def test_hidden_of_many_spans_agrees_with_a_grid():
    random = np.random.default_rng(1)
    start = random.integers(0, 900, 60)
    end = start + random.integers(0, 40, 60)
    kinds = random.choice(["read", "write", "message", "kernel", "wait"], 60)
    rows = zip(kinds, start, end, strict=True)
    busy = np.zeros((2, 1000), bool)
    for kind, a, b in zip(kinds, start, end, strict=True):
        if kind != "wait":
            busy[int(kind == "kernel"), a:b] = True
    share = (busy[0] & busy[1]).sum() / busy[0].sum()
    assert hidden(trace(*(span(str(k), a, b) for k, a, b in rows))) == pytest.approx(
        share
    )


# ---- pictures ----


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_lane_for_each_rank_and_queue(tmp_path, ranks):
    path = tmp_path / "t.png"
    axis, *_ = traced(ranks).plot_timeline(path, steps=3).axes
    assert path.read_bytes().startswith(b"\x89PNG")
    names = [label.get_text() for label in axis.get_yticklabels()]
    lanes = ("host", "queue 0", "queue 1")
    assert [name.split("  ")[-1] for name in names] == [*lanes] * ranks
    assert names[::3] == [f"rank {rank}  host" for rank in range(ranks)]
    legend = [text.get_text() for text in axis.figure.legends[0].get_texts()]
    assert legend == ["read", "message", "write", "kernel"]
    written = {text.get_text() for text in axis.texts}
    assert {"read", "write", "b_$eff_fill"} <= written


def test_names_of_lanes_do_not_overlap(tmp_path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for ranks in (1, 16):
        figure = traced(ranks).plot_timeline(tmp_path / "t.png")
        FigureCanvasAgg(figure).draw()
        boxes = [t.get_window_extent() for t in figure.axes[0].get_yticklabels()]
        for above, below in pairwise(boxes):
            assert above.y0 >= below.y1 - 1


def test_short_spans_are_seen(tmp_path):
    result = traced(1)
    result.trace["end"][result.trace["kind"] == "read"] -= 8.9e-6
    axis, *_ = result.plot_timeline(tmp_path / "t.png").axes
    lines = [bars for bars in axis.collections if hasattr(bars, "set_segments")]
    seen = np.concatenate(
        [line.get_segments() for line in lines if line.get_segments()]
    )
    assert set(np.round(seen[:, 0, 0], 6)) == {30.0 * step for step in range(8)}


def test_bars_stand_where_the_spans_are(tmp_path):
    axis, *_ = traced().plot_timeline(tmp_path / "t.png", steps=8).axes
    assert axis.get_xlabel().endswith("[µs]")
    drawn = {
        tuple(np.round(path.get_extents().intervalx, 6))
        for bars in axis.collections
        for path in bars.get_paths()
    }
    assert {(0.0, 9.0), (10.0, 19.0), (15.0, 24.0), (231.0, 240.0)} <= drawn


def test_the_first_steps_are_drawn_where_there_are_many(tmp_path):
    path = tmp_path / "t.svg"
    axis, *_ = traced().plot_timeline(path).axes
    assert axis.get_xlim() == pytest.approx((0, 241))
    axis, *_ = traced(steps=40).plot_timeline(path).axes
    assert axis.get_xlim() == pytest.approx((0, 120))
    assert "first 4 of 40 steps" in axis.get_title(loc="left")
    axis, *_ = traced(steps=40).plot_timeline(path, steps=99).axes
    assert axis.get_xlim() == pytest.approx((0, 1.201))  # in ms


def test_a_picture_says_what_its_trace_lacks(tmp_path):
    result = traced()
    title = result.plot_timeline(tmp_path / "t.svg").axes[0].get_title(loc="left")
    assert title.count("\n") == 0
    lost = "trace: 3 spans found no room; trace=N keeps N"
    result.provenance["notes"] = ["else", lost]
    result.summary["device_clock_error"] = Quantity("s", 8.96e-6)
    result.summary["rank_clock_error"] = Quantity("s", 0.0)
    title = result.plot_timeline(tmp_path / "t.svg").axes[0].get_title(loc="left")
    assert title.splitlines()[1:] == ["device clocks within 8.960 us", lost]


def drawn(result, folder):
    """How many bars a picture has."""
    axis, *_ = result.plot_timeline(folder / "t.svg").axes
    return sum(len(bars.get_paths()) for bars in axis.collections)


def test_steps_are_counted_where_they_are_not_equally_long(tmp_path):
    later = traced(steps=40)
    for name in ("start", "end"):  # the first steps are the shortest
        later.trace.columns[name].values[:] **= 1.25
    assert drawn(later, tmp_path) == drawn(traced(steps=40), tmp_path)
    moved = traced(steps=40)  # some of the last writes, to another queue
    writes = np.flatnonzero(moved.trace["kind"] == "write")
    moved.trace.columns["queue"].values[writes[30:35]] = 31
    axis, *_ = moved.plot_timeline(tmp_path / "t.svg").axes
    assert axis.get_xlim() == pytest.approx((0, 120))


def test_sends_and_receives_count_apart(tmp_path):
    """Where a trace was cut, two spans of a step are less than two on the average."""
    result = traced(steps=40)
    columns = result.trace.columns
    messages = np.flatnonzero(columns["kind"].values == "message")
    columns["queue"].values[messages] = SENDS
    both = {name: [*c.values, *c.values[messages]] for name, c in columns.items()}
    both["queue"] = [*columns["queue"].values, *[RECEIVES] * len(messages)]
    kept = [
        i for i in range(len(both["kind"])) if i % 3 or both["kind"][i] != "message"
    ]
    result.trace = Trace(
        {
            name: Column(c.unit, np.array(both[name], c.values.dtype)[kept])
            for name, c in columns.items()
        }
    )
    more = drawn(result, tmp_path) - drawn(traced(steps=40), tmp_path)
    assert more == 2 * (4 + 1), "receives of four steps, and their lane's ground"


def test_a_part_between_two_times_is_drawn(tmp_path):
    path = tmp_path / "t.png"
    result = traced(2)
    axis, *_ = result.plot_timeline(path, between=(31e-6, 58e-6)).axes
    assert axis.get_xlim() == pytest.approx((31, 58))
    edges = np.concatenate(
        [p.get_extents().intervalx for b in axis.collections for p in b.get_paths()]
    )
    assert edges.min() == pytest.approx(31)  # a read of 30 to 39 is cut
    assert edges.max() == pytest.approx(58)
    lines = [bars for bars in axis.collections if hasattr(bars, "set_segments")]
    assert not any(line.get_segments() for line in lines)  # of spans that ended before
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert len(names) == 6  # lanes that are idle then stay
    axis, *_ = result.plot_timeline(path, between=(31e-6, 9)).axes
    assert axis.get_xlim() == pytest.approx((31, 241))


@pytest.mark.parametrize("wrong", [(2, 1), (-1, 1), (1, 2), (np.nan, 1), (0, np.nan)])
def test_times_that_are_not_of_the_timed_part_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=r"between: .* s are not times in order"):
        traced().plot_timeline(tmp_path / "t.png", between=wrong)


def test_what_is_not_two_times_is_refused(tmp_path):
    path = tmp_path / "t.png"
    for wrong in [(1,), (1, 2, 3), "ab", 3, (None, 1)]:
        with pytest.raises(ValueError, match="is not two times in seconds"):
            traced().plot_timeline(path, between=wrong)
    with pytest.raises(ValueError, match="steps and between: give one of them"):
        traced().plot_timeline(path, steps=1, between=(0, 1e-5))
    assert not path.exists()


def test_a_part_in_which_nothing_was_recorded_is_refused(tmp_path):
    result = measured()
    result.trace = trace(span("kernel", 1, 3), span("kernel", 6, 9))
    said = "between: nothing was recorded from 2.5 to 4 s"
    with pytest.raises(ValueError, match=said):
        result.plot_timeline(tmp_path / "t.png", point=0, between=(2.5, 4))
    assert list(tmp_path.iterdir()) == []


def test_a_point_without_spans_is_an_error(tmp_path):
    path = tmp_path / "t.png"
    with pytest.raises(ValueError, match="point 0 has no spans; known: 2"):
        traced().plot_timeline(path, point=0)
    with pytest.raises(ValueError, match=r"point: 3 is not within 0 .. 2"):
        traced().plot_timeline(path, point=3)
    with pytest.raises(ValueError, match="steps: 0 is not a number from 1 up"):
        traced().plot_timeline(path, steps=0)
    with pytest.raises(ValueError, match="no trace: measure with trace=True or"):
        measured().plot_timeline(path)
    assert not path.exists()


# ---- Perfetto ----


def test_perfetto_gets_what_the_trace_event_format_asks_for(tmp_path):
    path = tmp_path / "t.json"
    result = traced()
    result.provenance["hosts"] = ["here", "there"]
    result.to_perfetto(path)
    document = json.loads(path.read_text())
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    for event in document["traceEvents"]:
        assert event["ph"] in ("X", "M")
        assert isinstance(event["name"], str)
        assert 1 <= event["pid"] < 2**31  # Perfetto keeps 0 for the idle process
        assert 1 <= event["tid"] < 2**31
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            assert isinstance(event["cat"], str)
    complete = [e for e in document["traceEvents"] if e["ph"] == "X"]
    assert len(complete) == len(result.trace)
    first = next(e for e in complete if e["cat"] == "message" and e["pid"] == 2)
    assert first["name"] == "with 0"
    assert (first["ts"], first["dur"]) == pytest.approx((11, 9))
    assert first["args"] == {"point": "message size 4096 B", "bytes": 4096}
    named = {
        (e["name"], e["pid"], e["tid"]): e["args"]
        for e in document["traceEvents"]
        if e["ph"] == "M"
    }
    assert named["process_name", 2, 1] == {"name": "rank 1 on there"}
    lanes = {args["name"] for key, args in named.items() if key[0] == "thread_name"}
    assert lanes == {"sample", "host", "queue 0", "queue 1"}
    assert {(e["pid"], e["tid"]) for e in complete} <= {key[1:] for key in named}


# ---- files ----


def same(a, b):
    assert list(a.columns) == list(b.columns)
    for name, column in a.columns.items():
        assert b.columns[name].unit == column.unit
        np.testing.assert_array_equal(b[name], column.values)


def test_json_and_npz_carry_a_trace(tmp_path):
    result = traced()
    same(result.trace, Result.from_json(result.to_json()).trace)
    result.to_npz(tmp_path / "r.npz")
    same(result.trace, Result.from_npz(tmp_path / "r.npz").trace)
    assert Result.from_json(measured().to_json()).trace is None


def test_a_document_with_a_trace_fits_the_shipped_schema():
    jsonschema = pytest.importorskip("jsonschema")
    from importlib.resources import files

    schema = json.loads((files("hpccfpga") / "data/result.schema.json").read_text())
    check = jsonschema.Draft202012Validator(schema)
    document = json.loads(traced().to_json())
    check.validate(document)
    old = {k: v for k, v in document.items() if k != "trace"}
    old["schema"] = "hpccfpga-result/1"
    check.validate(old)
    assert Result.from_json(json.dumps(old)).trace is None
    del document["trace"]["queue"]
    assert not check.is_valid(document)


def test_a_trace_that_contradicts_its_result_is_refused():
    def refused(text, **changes):
        document = json.loads(traced().to_json())
        for name, values in changes.items():
            document["trace"][name]["values"] = values
        with pytest.raises(ValueError, match=text):
            Result.from_json(json.dumps(document))

    n = len(traced().trace)
    points = [3] + [0] * (n - 1)
    refused("the trace has points 0 to 3, the result has 3", point=points)
    refused(r"the trace has ranks -1 to -1, the result has 2", rank=[-1] * n)
    refused(r"column 'trace.start' has values of shape \[1\]", start=[0.0])
    document = json.loads(traced().to_json())
    document["trace"] = []
    with pytest.raises(ValueError, match=r"trace is \[\], no object"):
        Result.from_json(json.dumps(document))
    document["trace"] = {"start": json.loads(traced().to_json())["trace"]["start"]}
    with pytest.raises(ValueError, match="the trace lacks column 'point'"):
        Result.from_json(json.dumps(document))


def test_a_span_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match="1 spans end before they begin"):
        trace(span("read", 2, 1))
    with pytest.raises(ValueError, match="1 spans have no time"):
        trace(span("read", np.nan, 1))


def test_spans_to_record():
    assert spans(False) == 0
    assert spans(True) == SPANS
    assert spans(7) == 7
    for wrong in (0, -1, 1.5, "yes"):
        with pytest.raises(ValueError, match="is not a number from 1 up"):
            spans(wrong)


def test_of_names_what_has_no_trace():
    with pytest.raises(ValueError, match="b_eff has no trace"):
        of(measured())


# ---- the command ----


def test_the_command_draws_timelines(tmp_path, capsys):
    saved, picture = tmp_path / "r.json", tmp_path / "t.png"
    traced().to_json(saved)
    assert main(["plot", "--timeline", str(saved), "-o", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    other = tmp_path / "t.json"
    assert main(["plot", "--timeline", str(saved), "-o", str(other)]) == 0
    assert "traceEvents" in json.loads(other.read_text())
    capsys.readouterr()
    plain = tmp_path / "p.json"
    measured().to_json(plain)
    assert main(["plot", "--timeline", str(plain), "-o", str(picture)]) == 2
    said = f"{plain} (b_eff) has no trace: measure with trace=True or --trace"
    assert said in capsys.readouterr().err
    assert main(["plot", str(plain), "--steps", "2", "-o", str(picture)]) == 2
    assert "go with --timeline" in capsys.readouterr().err
    for part in (["--point", "0"], ["--steps", "2"], ["--between", "0,1"]):
        words = ["plot", "--timeline", str(saved), *part, "-o", str(other)]
        assert main(words) == 2, "Perfetto gets all of it"
        assert "and a picture" in capsys.readouterr().err
    assert main(["plot", "--timeline", *[str(saved)] * 2, "-o", str(picture)]) == 2
    assert "draws one result, not 2" in capsys.readouterr().err
