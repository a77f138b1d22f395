"""Traces: what devices and ranks did in the timed part of samples, and when."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga import formats
from hpccfpga.arguments import count, known
from hpccfpga.files import replacing
from hpccfpga.provenance import ranks_where
from hpccfpga.tables import human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hpccfpga.result import Column, Result

SPANS = 16384
"""Spans of a sample that each rank records unless told."""

RECEIVES, SENDS, SAMPLE, HOST = -4, -3, -2, -1
"""Queues of a trace that are none of a device: messages that move on their own, by
direction; the timed part as a whole; the host."""

EXCHANGE = ("read", "write", "message")
"""Kinds of spans that bring blocks from device to device."""

_COLUMNS = {
    "point": ("1", "int64"),
    "rank": ("1", "int64"),
    "queue": ("1", "int64"),
    "kind": ("1", "str"),
    "label": ("1", "str"),
    "bytes": ("B", "int64"),
    "start": ("s", "float64"),
    "end": ("s", "float64"),
}

_COLOURS = {
    "read": "#0072B2",
    "message": "#E69F00",
    "write": "#D55E00",
    "kernel": "#009E73",
    "copy": "#CC79A7",
    "map": "#56B4E9",
    "unmap": "#A9DDF5",
    "wait": "#BBBBBB",
}
_OTHER = "#555555"
_STEPS = 4
_FEW = 60
_MAX_LABELS = 400


class Trace:
    """Spans of time of every rank, in order of point, rank and start.

    Of each point it holds the sample with the best time, the one that `Result.columns`
    tells of. `trace["kind"]` is one of "sample" (its timed part as a whole), "read",
    "write", "copy" and "kernel" (commands of a device), "message" (between ranks),
    "map", "unmap" and "wait" (of the host).

    Parameters
    ----------
    columns : dict of str to Column
        point, rank; queue, from 0 up of a device, -1 the host, -2 the sample, -3 sends
        and -4 receives that move on their own, which may overlap; kind, label; bytes
        [B], 0 where nothing is moved; start, end [s]. Times are on the clock of rank 0
        and count from the first span of all. The result's summary says what they can be
        wrong by: `device_clock_error` and `rank_clock_error` [s].

    Raises
    ------
    ValueError
        A column is missing or of another type or length, or a span ends before it
        begins.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = dict(columns)
        length = None
        for name, (unit, dtype) in _COLUMNS.items():
            if name not in self.columns:
                raise ValueError(f"the trace lacks column {name!r}")
            found = self.columns[name]
            length = found.values.shape if length is None else length
            kind = formats.dtype(found.values)
            shape = found.values.shape
            if (found.unit, kind, shape) != (unit, dtype, length) or len(shape) != 1:
                raise ValueError(
                    f"column {name!r} of the trace is {kind} {[*shape]} "
                    f"[{found.unit}], not {dtype} {[*(length or [])]} [{unit}]"
                )
        lengths = self["end"] - self["start"]
        if void := np.sum(~np.isfinite(lengths)):
            raise ValueError(f"{void} spans have no time")
        if wrong := np.sum(lengths < 0):
            raise ValueError(f"{wrong} spans end before they begin")

    def __getitem__(self, name: str) -> np.ndarray:
        """Array of a column, not a copy."""
        return self.columns[name].values

    def __len__(self) -> int:
        """Return the number of spans."""
        return len(self["start"])

    def __repr__(self) -> str:
        """One line."""
        kinds, numbers = np.unique(self["kind"], return_counts=True)
        told = ", ".join(f"{n} {k}" for k, n in zip(kinds, numbers, strict=True))
        return f"<Trace {len(self)} spans: {told}>"

    def where(self, keep: np.ndarray) -> Trace:
        """Spans for which `keep`, a mask or a list of indices, says so."""
        return Trace(
            {n: type(c)(c.unit, c.values[keep]) for n, c in self.columns.items()}
        )


def spans(trace: bool | int) -> int:
    """Return how many spans of a sample a rank records; 0: no trace.

    Raises
    ------
    ValueError
        Neither a truth value nor a number from 1 up.
    """
    if isinstance(trace, bool | np.bool_):
        return SPANS if trace else 0
    return count("trace", trace)


def hidden(trace: Trace) -> float:
    """Share of the exchanges' time in which kernels ran on the same rank.

    Reads, writes and messages are exchange; where several run at a time, it counts
    once.

    Parameters
    ----------
    trace : Trace
        All spans, or some: `trace.where(trace["point"] == 3)`.

    Returns
    -------
    float
        0: exchange and kernels take turns; 1: exchange costs no time. NaN without
        exchange.
    """
    exchanged = covered = 0.0
    for part in _parts(trace):
        moves, works = np.isin(part["kind"], EXCHANGE), part["kind"] == "kernel"
        moving, working = _covered(part.where(moves)), _covered(part.where(works))
        exchanged += moving
        covered += moving + working - _covered(part.where(moves | works))
    return covered / exchanged if exchanged > 0 else np.nan


def _parts(trace: Trace) -> Iterator[Trace]:
    """Spans of each rank at each point."""
    pairs = np.stack([trace["point"], trace["rank"]], axis=1)
    for point, rank in np.unique(pairs, axis=0):
        yield trace.where((trace["point"] == point) & (trace["rank"] == rank))


def _covered(trace: Trace) -> float:
    """Time in which at least one of the spans lasts [s]."""
    order = np.argsort(trace["start"], kind="stable")
    start, end = trace["start"][order], np.maximum.accumulate(trace["end"][order])
    before = np.append(-np.inf, end[:-1])[: len(end)]
    return float(np.sum(np.maximum(end - np.maximum(start, before), 0)))


def to_perfetto(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result's trace as JSON that ui.perfetto.dev and Chrome's tracing open.

    A rank is a process, a queue is a thread; times are in microseconds, as the trace
    event format wants them.

    Raises
    ------
    ValueError
        The result has no trace, or the path cannot be written.
    """
    trace = of(result)
    events: list[dict[str, Any]] = []
    for rank in np.unique(trace["rank"]).tolist():
        events += _process(trace, rank, f"rank {rank}{_place(result, rank)}")
    about = _points(result)
    names = ("point", "rank", "queue", "kind", "label", "bytes", "start", "end")
    for row in zip(*(trace[name].tolist() for name in names), strict=True):
        point, rank, queue, kind, label, size, start, end = row
        more = {"bytes": size} if size else {}
        events.append(
            {
                "ph": "X",
                "name": label or kind,
                "cat": kind,
                "pid": rank + 1,
                "tid": queue - RECEIVES + 1,
                "ts": 1e6 * start,
                "dur": 1e6 * (end - start),
                "args": {"point": about[point], **more},
            }
        )
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "result": repr(result),
            **{n: human(v, u) for n, (u, v) in result.summary.items()},
        },
    }
    with replacing(path) as file:
        file.write(json.dumps(document, allow_nan=False).encode())


def _process(trace: Trace, rank: int, name: str) -> Iterator[dict[str, Any]]:
    """Names of a rank and its queues; numbers begin at 1, as Perfetto has its own 0."""
    threads = {
        queue - RECEIVES + 1: _lane(queue)
        for queue in np.unique(trace["queue"][trace["rank"] == rank]).tolist()
    }

    def told(event: str, tid: int, **args: Any) -> dict[str, Any]:
        return {"ph": "M", "name": event, "pid": rank + 1, "tid": tid, "args": args}

    yield told("process_name", 1, name=name)
    yield told("process_sort_index", 1, sort_index=rank)
    for tid, thread in threads.items():
        yield told("thread_name", tid, name=thread)
        yield told("thread_sort_index", tid, sort_index=tid)


def _lane(queue: int) -> str:
    names = {SAMPLE: "sample", HOST: "host", SENDS: "sends", RECEIVES: "receives"}
    return names.get(queue, f"queue {queue}")


def _place(result: Result, rank: int) -> str:
    """Say where a rank ran, if it is known."""
    hosts = result.provenance.get("hosts")
    if not isinstance(hosts, list) or rank >= len(hosts):
        return ""
    return f" on {hosts[rank]}"


def of(result: Result) -> Trace:
    """Trace of a result; ValueError if it has none."""
    if result.trace is None or not len(result.trace):
        raise ValueError(f"{result!r} has no trace: measure with trace=True or --trace")
    return result.trace


def _points(result: Result) -> list[str]:
    """Say what each point is, in a few words."""
    texts = [""]
    for number, name in enumerate(result.labels):
        unit = result.columns[name].unit
        words = [
            f"{name.replace('_', ' ')} {value}{'' if unit == '1' else f' {unit}'}"
            for value in result[name].tolist()
        ]
        before = texts * len(words) if number == 0 else [f"{t}, " for t in texts]
        texts = [a + b for a, b in zip(before, words, strict=True)]
    return texts


def plot_timeline(
    result: Result,
    *,
    point: int = -1,
    steps: int | None = None,
    between: tuple[float, float] | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw one point of a result's trace: a lane for each rank and queue.

    Colours tell kinds; what has room bears its label. The grey ground is the timed
    part.

    Parameters
    ----------
    result : Result
        Measured with `trace`.
    point : int
        Number of the point; -1 is the last one.
    steps : int, optional
        Draw so many steps of the sample, from its begin on; default: all, or 4 where a
        lane has many spans.
    between : (float, float), optional
        Draw from the first time to the second [s] since the timed part began, as the
        axis counts, instead of whole steps.
    path : path, optional
        Also write the figure there, whole or not at all; the ending names the format.
        No display is needed.
    ax : matplotlib.axes.Axes, optional
        Where to draw, instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        No trace, no such point, nothing within `between`, or a path that cannot be
        written.
    """
    from hpccfpga.plot import new_figure, save

    if between is not None and steps is not None:
        raise ValueError("steps and between: give one of them")

    trace, names = of(result), _points(result)
    if not -len(names) <= point < len(names):
        raise ValueError(f"point: {point} is not within 0 .. {len(names) - 1}")
    number = point % len(names)
    shown = trace.where(trace["point"] == number)
    if not len(shown):
        there = map(str, np.unique(trace["point"]).tolist())
        raise ValueError(f"point {number} has no spans; {known(number, there)}")
    inner = int(result["inner"][number]) if "inner" in result.columns else 1
    if between is not None:
        steps = inner
    elif steps is None:
        steps = _STEPS if np.max(_lane_lengths(shown)) > _FEW else inner
    steps = min(count("steps", steps), inner)
    whole = shown.where(shown["queue"] == SAMPLE)
    begin = float(np.min(shown["start"]))
    length = float(np.max(shown["end"])) - begin
    if len(whole) and steps < inner:
        kept = _of_first(shown, steps, inner)
        length = float(np.max(shown["end"][kept], initial=begin)) - begin or length
        shown = shown.where(kept | (shown["queue"] == SAMPLE))
    window, lanes = (0.0, length), _lanes(shown)
    if between is not None:
        window = _window(between, length)
        shown = _within(shown, begin + window[0], begin + window[1])
        if not len(shown):
            raise ValueError(
                f"between: nothing was recorded from {window[0]:g} to {window[1]:g} s"
            )
    label = shown.columns["label"]
    short = np.char.replace(label.values, f"{result.benchmark}_", "")
    shown = Trace(shown.columns | {"label": type(label)("1", short)})
    scale = next(s for s in _SCALES if window[1] * s[1] >= 1 or s is _SCALES[-1])
    if ax is None:
        figure = new_figure(path, (11, min(1.6 + 0.26 * len(lanes), 40)))
        axis = figure.subplots()
    else:
        figure, axis = ax.figure, ax  # type: ignore[assignment]
    _draw(axis, shown, lanes, begin, window, scale[1])
    words = [f"{result.benchmark} {result.exchange or ''}".strip(), names[number]]
    words.append(ranks_where(result.ranks, result.provenance))
    words += ["EMULATED"] * result.emulated
    if steps < inner:
        words.append(f"first {steps} of {inner} steps")
    title = ", ".join(filter(None, words))
    axis.set_title(title, fontsize="medium", loc="left", parse_math=False)
    axis.set_xlabel(f"time since the timed part began [{scale[0]}]")
    if path is not None:
        save(figure, path)
    return figure


def _window(between: tuple[float, float], length: float) -> tuple[float, float]:
    """Return the begin and the end [s] of what is drawn, of `length` in all."""
    try:
        first, last = map(float, between)
    except (TypeError, ValueError):
        raise ValueError(f"between: {between!r} is not two times in seconds") from None
    if not 0 <= first < min(last, length):
        raise ValueError(
            f"between: {first:g} to {last:g} s are not times in order within the "
            f"{length:g} s of the timed part"
        )
    return first, min(last, length)


def _within(trace: Trace, first: float, last: float) -> Trace:
    """Spans, or their parts, between two times."""
    columns = trace.where((trace["start"] < last) & (trace["end"] > first)).columns
    for name in ("start", "end"):
        column = columns[name]
        columns[name] = type(column)(column.unit, np.clip(column.values, first, last))
    return Trace(columns)


def _of_first(trace: Trace, steps: int, inner: int) -> np.ndarray:
    """Mask of the spans of the first steps of `inner`.

    A step has equally many spans of a kind in each lane: a trace has no other mark.
    """
    mask = np.zeros(len(trace), bool)
    kinds = np.unique(trace["kind"], return_inverse=True)[1]
    groups = np.stack([trace["rank"], trace["queue"], kinds], axis=1)
    for group in np.unique(groups[trace["queue"] != SAMPLE], axis=0):
        (members,) = np.nonzero((groups == group).all(axis=1))
        order = members[np.argsort(trace["start"][members], kind="stable")]
        each = max(1, round(len(members) / inner))
        mask[order[: steps * each]] = True
    return mask


_SCALES = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))


def _lane_lengths(trace: Trace) -> np.ndarray:
    """Return how many spans each lane has."""
    pairs = np.stack([trace["rank"], trace["queue"]], axis=1)
    return np.unique(pairs, axis=0, return_counts=True)[1]


def _lanes(trace: Trace) -> list[tuple[int, int]]:
    """Rank and queue of each lane, from the top: a rank's host, then its queues."""
    pairs = np.stack([trace["rank"], trace["queue"]], axis=1)
    ranks, busy = np.unique(trace["rank"]), pairs[trace["queue"] != SAMPLE]
    found = {(r, q) for r, q in busy.tolist()}
    idle = {(r, HOST) for r in ranks.tolist() if all(f[0] != r for f in found)}
    return sorted(found | idle)


def _draw(
    axis: Axes,
    trace: Trace,
    lanes: list[tuple[int, int]],
    begin: float,
    window: tuple[float, float],
    scale: float,
) -> None:
    from matplotlib.patches import Patch

    height, length = 0.84, window[1] - window[0]
    start = scale * (trace["start"] - begin)
    width = scale * (np.minimum(trace["end"], begin + window[1]) - trace["start"])
    bars = np.stack([start, width], axis=1)
    for row, (rank, queue) in enumerate(lanes):
        of_rank = trace["rank"] == rank
        ground = bars[of_rank & (trace["queue"] == SAMPLE)]
        axis.broken_barh(ground, (row - 0.5, 1), facecolors="0.955", zorder=0)
        there = of_rank & (trace["queue"] == queue)
        for kind in np.unique(trace["kind"][there]).tolist():
            axis.broken_barh(
                bars[there & (trace["kind"] == kind)],
                (row - height / 2, height),
                facecolors=_COLOURS.get(kind, _OTHER),
                edgecolors="white",
                linewidth=0.3,
                zorder=2,
            )
            thin = there & (trace["kind"] == kind) & (width < 3e-3 * scale * length)
            axis.vlines(
                start[thin],
                row - height / 2,
                row + height / 2,
                colors=_COLOURS.get(kind, _OTHER),
                linewidth=1,
                zorder=3,
            )
    _write(axis, trace, lanes, start, width, scale * length)
    _name_lanes(axis, lanes)
    axis.set_xlim(scale * window[0], scale * window[1])
    axis.set_ylim(len(lanes) - 0.5, -0.5)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(left=False)
    axis.grid(True, axis="x", color="0.85", lw=0.5, zorder=1)
    kinds = [k for k in _COLOURS if k in set(trace["kind"].tolist())]
    axis.figure.legend(
        handles=[Patch(color=_COLOURS[k], label=k) for k in kinds],
        loc="outside upper right",
        ncols=max(len(kinds), 1),
        frameon=False,
        fontsize="small",
        handlelength=1,
    )


def _write(
    axis: Axes,
    trace: Trace,
    lanes: list[tuple[int, int]],
    start: np.ndarray,
    width: np.ndarray,
    length: float,
) -> None:
    """Put labels into the bars that have room for them."""
    rows = {lane: row for row, lane in enumerate(lanes)}
    letters = 170 * width / length  # that fit, at this size and a width of 11 inches
    order = np.argsort(-width, kind="stable")
    left = _MAX_LABELS
    for i in order.tolist():
        lane = rows.get((int(trace["rank"][i]), int(trace["queue"][i])))
        text = str(trace["label"][i]) or str(trace["kind"][i])
        if lane is None or left == 0:
            continue
        if len(text) + 1 > letters[i]:
            text = str(trace["kind"][i])
        if len(text) + 1 > letters[i]:
            continue
        left -= 1
        axis.text(
            start[i] + width[i] / 2,
            lane,
            text,
            ha="center",
            va="center_baseline",
            fontsize=6.5,
            color="black" if trace["kind"][i] in ("wait", "message") else "white",
            clip_on=True,
            parse_math=False,
            zorder=3,
        )


def _name_lanes(axis: Axes, lanes: list[tuple[int, int]]) -> None:
    """Name ranks and queues beside their lanes, with a line between two ranks."""
    names, before = [], None
    for row, (rank, queue) in enumerate(lanes):
        name = _lane(queue)
        names.append(f"rank {rank}  {name}")
        if before not in (None, rank):
            axis.axhline(row - 0.5, color="0.6", lw=0.6, zorder=4)
        before = rank
    axis.set_yticks(range(len(lanes)), names, fontsize="small")
