"""The picture of a trace: a lane for each rank and queue."""

from __future__ import annotations

import os
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np

from hpccfpga.arguments import count, known
from hpccfpga.provenance import ranks_where
from hpccfpga.tables import human
from hpccfpga.text import brief
from hpccfpga.traces import HOST, SAMPLE, Trace, lane, of, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hpccfpga.result import Result

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
_SCALES = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))


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

    trace, names = of(result), points(result)
    if not -len(names) <= point < len(names):
        raise ValueError(f"point: {point} is not within 0 .. {len(names) - 1}")
    number = point % len(names)
    shown = trace.where(trace["point"] == number)
    if not len(shown):
        there = map(str, np.unique(trace["point"]).tolist())
        raise ValueError(f"point {number} has no spans; {known(number, there)}")
    inner = 1
    if "inner" in result.columns and result["inner"].dtype.kind in "iu":
        inner = max(1, int(result["inner"][number]))
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
    doubts = _doubts(result)
    if ax is None:
        height = 1.6 + 0.26 * len(lanes) + 0.2 * len(doubts)
        figure = new_figure(path, (11, min(height, 40)))
        axis = figure.subplots()
    else:
        figure, axis = ax.figure, ax  # type: ignore[assignment]
    _draw(axis, shown, lanes, begin, window, scale[1])
    words = [f"{result.benchmark} {result.exchange or ''}".strip(), names[number]]
    words.append(ranks_where(result.ranks, result.provenance))
    words += ["EMULATED"] * result.emulated
    if steps < inner:
        words.append(f"first {steps} of {inner} steps")
    title = [", ".join(filter(None, words)), *doubts]
    axis.set_title("\n".join(title), fontsize="medium", loc="left", parse_math=False)
    axis.set_xlabel(f"time since the timed part began [{scale[0]}]")
    if path is not None:
        save(figure, path)
    return figure


def _doubts(result: Result) -> list[str]:
    """Lines that say what a trace lacks, and what its times may be wrong by."""
    clocks = {"device": "device_clock_error", "rank": "rank_clock_error"}
    errors = [
        f"{clock} clocks within {human(result.summary[name].value, 's')}"
        for clock, name in clocks.items()
        if name in result.summary and 0 < result.summary[name].value < np.inf
    ]
    notes = [n for n in result.provenance.get("notes", []) if n.startswith("trace:")]
    return [", ".join(errors)] * bool(errors) + [shorten(n, 200) for n in notes[:3]]


def _window(between: tuple[float, float], length: float) -> tuple[float, float]:
    """Return the begin and the end [s] of what is drawn, of `length` in all."""
    try:
        first, last = map(float, between)
    except (TypeError, ValueError):
        raise ValueError(
            f"between: {brief(between)} is not two times in seconds"
        ) from None
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

    On each rank a step has equally many spans of a kind, in whichever of the device's
    queues: a trace has no other mark.
    """
    mask = np.zeros(len(trace), bool)
    kinds = np.unique(trace["kind"], return_inverse=True)[1]
    groups = np.stack([trace["rank"], np.minimum(trace["queue"], 0), kinds], axis=1)
    for group in np.unique(groups[trace["queue"] != SAMPLE], axis=0):
        (members,) = np.nonzero((groups == group).all(axis=1))
        order = members[np.argsort(trace["start"][members], kind="stable")]
        each = max(1, round(len(members) / inner))
        mask[order[: steps * each]] = True
    return mask


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
    rows = {pair: row for row, pair in enumerate(lanes)}
    letters = 170 * width / length  # that fit, at this size and a width of 11 inches
    order = np.argsort(-width, kind="stable")
    left = _MAX_LABELS
    for i in order.tolist():
        row = rows.get((int(trace["rank"][i]), int(trace["queue"][i])))
        text = str(trace["label"][i]) or str(trace["kind"][i])
        if row is None or left == 0:
            continue
        if len(text) + 1 > letters[i]:
            text = str(trace["kind"][i])
        if len(text) + 1 > letters[i]:
            continue
        left -= 1
        axis.text(
            start[i] + width[i] / 2,
            row,
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
        name = lane(queue)
        names.append(f"rank {rank}  {name}")
        if before not in (None, rank):
            axis.axhline(row - 0.5, color="0.6", lw=0.6, zorder=4)
        before = rank
    axis.set_yticks(range(len(lanes)), names, fontsize="small")
