"""Draw results: time and rate over the points of a sweep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hpccfpga import supersteps
from hpccfpga.arguments import ending, need_matplotlib
from hpccfpga.axes import name_places, of_bytes, plain, scales, ticks
from hpccfpga.files import replacing
from hpccfpga.tables import readable
from hpccfpga.text import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    from hpccfpga.result import Result
    from hpccfpga.suite import Suite

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FORMATS = ("png", "pdf", "svg", "eps")
"""Formats of pictures, by the endings of their paths."""
_MARKERS = "osD^vP"
_SAMPLES_PER_POINT = 60
_MAX_TICKS = 8
_LETTERS, _HANDLE = 13, 5  # of a legend: in an inch, and what a line takes


@np.errstate(all="ignore")  # what is not finite is not drawn
def plot(
    *results: Result | Suite,
    path: str | os.PathLike[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Draw results into one figure.

    Left the time per step, right the rate. Measured: every repetition as a faint point,
    the best as a line, the median with its 95 % interval as a mark with a bar. Models
    are dashed lines, published results hollow marks. Parts of a measured time are thin
    lines, as are those of the same name in a model. Axes are logarithmic, but for names
    (operations, vertices) and single points, which stand side by side.

    Runs of graph have a third panel: of the last point, the edges that each superstep
    went along per second, below the model's rate, and its active vertices.

    Results of `hpccfpga.scaling` are drawn over the ranks: left the rate, right the
    efficiency, each with the ideal as a dotted line and the model as a dashed one.

    With a suite the figure has a row for each benchmark, in which its results and
    models are drawn, and what else was given of that benchmark.

    Parameters
    ----------
    *results : Result or Suite
        What to draw; all of a row have the same first label, e.g. the message size.
    path : path, optional
        Also write the figure there, whole or not at all; the ending names the format.
        No display is needed.
    ax : two matplotlib.axes.Axes, optional
        Where to draw time and rate, instead of in a new figure; two for each row.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        Neither a result nor a suite.
    ValueError
        Nothing to draw, results that share no axis, or a path that cannot be written.
    """
    rows = _rows(results)
    for row in rows:
        _check_row(row)
    stages = [any(map(supersteps.rates, row)) for row in rows]
    figure, places = _figure(path, ax, stages)
    for (part, axes), row in zip(places, rows, strict=True):
        _draw_row(axes[:2], row)
        if len(axes) > 2:
            supersteps.draw(axes[2], row, _COLOURS)
        _legend(part, axes, row, own=ax is None)
        if ax is None and any("samples" in result.columns for result in row):
            part.supxlabel(_caption(row), fontsize="small", color="0.4")
    if path is not None:
        save(figure, path)
    return figure


def _caption(results: Sequence[Result]) -> str:
    """Say what the lines and marks of a row are."""
    said = "line: best repetition; mark and bar: median and its 95 % interval; dots: "
    said += "repetitions"
    if all("efficiency" in result.columns for result in results):
        return f"left: {said}; right: of the best repetitions"
    if any(_parts(result) for result in results if result.kind == "measured"):
        said += "; thin: parts of the step"
    if any(result.kind == "published" for result in results):
        said += "; hollow: published"
    return said


def _parts(result: Result) -> list[str]:
    """Find the parts of a step, as models know them, or all where there is no step."""
    from hpccfpga import _core

    if "time" not in result.columns or "efficiency" in result.columns:
        return [] if "efficiency" in result.columns else result.parts
    modelled = [name for name, _ in _core.components("model")]
    if result.benchmark not in modelled:
        return []
    outputs = {n for f in _core.models(result.benchmark) for n in f["outputs"]}
    return [name for name in result.parts if name in outputs]


def _rows(things: Sequence[Result | Suite]) -> list[list[Result]]:
    """Results of each row: one of all, or with a suite one for each benchmark."""
    rows: dict[str, list[Result]] = {}
    for each in things:
        found = getattr(each, "results", None)
        if not isinstance(found, dict):
            path = "; for a file: path=" if isinstance(each, str | os.PathLike) else ""
            raise TypeError(
                f"only results and suites can be plotted, not {brief(each)}{path}"
            )
        models = getattr(each, "models", {})
        for name, result in found.items():
            rows.setdefault(name, []).append(result)
            if name in models:
                rows[name].append(models[name])
    if not any(hasattr(each, "models") for each in things):
        rows = {"": [result for each in things for result in each.results.values()]}
    if not any(rows.values()):
        raise ValueError("nothing to plot: give at least one result")
    return list(rows.values())


def _check_row(results: Sequence[Result]) -> None:
    """Raise ValueError for what cannot be drawn on the same axes."""
    for result in results:
        result.check_run()
        if not result.labels or not any(_panels(result, False)):
            raise ValueError(f"nothing to plot in {result.name}: no points with a time")
        scaled = "ranks" in result.columns and result.rates
        if "efficiency" in result.columns and not scaled:
            raise ValueError(f"{result.name} has efficiency, but no ranks or no rate")
    first = results[0]
    for result in results:
        if result.labels[0] != first.labels[0]:
            raise ValueError(
                f"{result.name} is over {result.labels[0]}, not over "
                f"{first.labels[0]} as {first.name}: no axis is common to both"
            )


def _draw_row(axes: Sequence[Axes], results: Sequence[Result]) -> None:
    """Draw results on two axes: time and rate, or rate and efficiency."""
    from matplotlib.ticker import NullLocator

    index, unit = results[0].labels[0], results[0].columns[results[0].labels[0]].unit
    scaled = all("efficiency" in result.columns for result in results)
    places = _places(results)
    panels = [_panels(result, scaled) for result in results]
    parts = {name for r in results if r.kind == "measured" for name in _parts(r)}
    half = 0.25 / len(results) if places else 0.0
    for number, result in enumerate(results):
        at = _where(result, places, (number + 0.5) / len(results) - 0.5)
        look = {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
        }
        for axis, name in zip(axes, panels[number], strict=True):
            if name and name in result.columns:
                _draw(axis, result, name, at, look, half)
            if scaled:
                _draw_expected(axis, result, name, look["color"])
        drawn = [] if scaled else [name for name in _parts(result) if name in parts]
        for side, part in zip(cycle(("bottom", "top")), drawn, strict=False):
            _draw_part(axes[0], result, part, at, look["color"], half, side)
    if scaled:
        _draw_ideal(axes, results)

    points = np.unique(np.concatenate([result[index] for result in results]))
    for axis, names in zip(axes, zip(*panels, strict=True), strict=True):
        name = next(filter(None, names), "")
        if not name:
            axis.set_axis_off()
            continue
        first = results[names.index(name)]
        title = "time per step" if name == "time" else name.replace("_", " ")
        unit_shown = first.columns[name].unit if name in first.columns else "s"
        shown = readable(unit_shown)[0].replace("us", "µs")
        axis.set(
            xlabel=plain(f"{index.replace('_', ' ')} [{unit}]".removesuffix(" [1]")),
            ylabel=plain(f"{title} [{shown}]".removesuffix(" [1]")),
        )
        scales(axis, places, name)
        ticks(axis, unit)
        if not any(np.isfinite(axis.dataLim.intervaly)):
            axis.set_yticks([])
            half_way = (0.5, 0.5)
            axis.annotate(
                "no verified rate", half_way, xycoords="axes fraction", ha="center"
            )
        if places:
            name_places(axis, places)
        elif unit != "B" and len(points) <= _MAX_TICKS:
            told = of_bytes if points.max() >= 1 << 20 else str
            axis.set_xticks(points, map(told, points))
            axis.xaxis.set_minor_locator(NullLocator())


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, whole or not at all, in the format of the path's ending."""
    kind = picture_format(path)
    with replacing(path) as file:
        figure.savefig(file, format=kind, dpi=150)


def _title(results: Sequence[Result]) -> str:
    """Benchmarks, each with the operation that was looked at on numbers of ranks."""
    titles = []
    for result in results:
        names = [n for n in result.labels if result[n].dtype.kind == "U"][:1]
        words = [str(result[n][-1]) for n in names if n != result.labels[0]]
        titles.append(" ".join([result.subject, *words]))
    return ", ".join(dict.fromkeys(titles))


def _figure(
    path: Any, ax: Sequence[Axes] | None, stages: Sequence[bool]
) -> tuple[Figure, list[tuple[FigureBase, Sequence[Axes]]]]:
    """Figure, and of each row the part of it and its axes: three if it has stages."""
    rows = len(stages)
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != 2 * rows:
            who = "two axes (time, rate)" if rows == 1 else f"two axes for {rows} rows"
            raise ValueError(f"ax must hold {who}, not {len(axes)}")
        return axes[0].figure, [
            (axes[0].figure, list(pair)) for pair in axes.reshape(-1, 2)
        ]
    figure = new_figure(path, (14 if any(stages) else 10, 4.4 * rows))
    parts: list[Any] = [figure]
    if rows > 1:
        parts = list(np.asarray(figure.subfigures(rows, 1), dtype=object))
    return figure, [
        (part, list(part.subplots(1, 2 + staged)))
        for part, staged in zip(parts, stages, strict=True)
    ]


def new_figure(path: Any, size: tuple[float, float]) -> Figure:
    """Return an empty figure, of pyplot unless it goes to a file: no display needed."""
    matplotlib = need_matplotlib()
    if path is not None:
        from matplotlib.figure import Figure as New

        return New(figsize=size, layout="constrained")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout="constrained")
    if "inline" in matplotlib.get_backend():
        pyplot.close(figure)  # Jupyter shows it as the cell's value, once
    return figure


def _places(results: Sequence[Result]) -> list[str]:
    """Texts below points that stand side by side: names, or the only point of all."""
    labels = [result[result.labels[0]] for result in results]
    found = list(dict.fromkeys(str(x) for at in labels for x in at))
    names = any(at.dtype.kind == "U" for at in labels) or _are_names(results[0])
    return found if names or len(found) == 1 else []


def _are_names(result: Result) -> bool:
    """Whether the numbers of the points are names, such as those of vertices."""
    from hpccfpga import _core

    if result.benchmark not in [name for name, _ in _core.components("bench")]:
        return False
    told = _core.quantities(result.benchmark)
    problem = told["problem"]
    kinds = {e["name"]: e["kind"] for e in _core.parameters(result.benchmark)}
    text = problem is not None and kinds[problem["parameter"]] == "text"
    return text and result.labels[0] in told["labels"]


def _where(result: Result, places: list[str], beside: float) -> np.ndarray:
    """Points on the axis; `beside`, -0.5 .. 0.5, tells apart what shares a place."""
    labels = result[result.labels[0]]
    if not places:
        return labels
    number = {place: n for n, place in enumerate(places)}
    return np.array([number[str(x)] for x in labels]) + 0.6 * beside


def _panels(result: Result, scaled: bool) -> list[str]:
    """Names of the columns to draw, left and right; "" where there is none."""
    rate = next(iter(result.rates), "")
    if scaled:
        return [rate, "efficiency"]
    return ["time" if "time" in result.columns or _parts(result) else "", rate]


def _draw(
    axis: Axes,
    result: Result,
    name: str,
    at: np.ndarray,
    look: dict[str, str],
    half: float,
) -> None:
    """Draw one quantity; rates of single samples follow from rate x time = work.

    `half` is half the width of a point that stands by itself, 0 where lines join them.
    """
    _, scale = readable(result.columns[name].unit)
    best = result.shown(name) / scale
    colour, marker = look["color"], look["marker"]
    if result.kind == "published":
        hollow: dict[str, Any] = {"mfc": "white", "mew": 1.3, "ms": 5, "zorder": 3}
        style = "" if half else ":"
        axis.plot(at, best, ls=style, lw=0.8, color=colour, marker=marker, **hollow)
        return
    _join(axis, at, best, half, "--" if result.kind == "modelled" else "-", colour)
    if result.kind == "modelled":
        return
    if name == "efficiency":
        axis.plot(at, best, ls="", color=colour, marker=marker, ms=4, zorder=4)
        return

    work = None if name == "time" else best * result["time"]

    def as_shown(seconds: np.ndarray) -> np.ndarray:
        return seconds / scale if work is None else work / seconds

    if "samples" in result.columns:
        slowest = np.fmax.reduce(result["samples"], axis=2)
        step = max(1, -(-slowest.shape[1] // _SAMPLES_PER_POINT))
        for repetition in slowest.T[::step]:
            axis.plot(
                at,
                as_shown(repetition),
                ls="",
                marker=".",
                ms=4,
                mew=0,
                color=colour,
                alpha=0.25,
                zorder=1,
            )
    if {"time_median", "time_low", "time_high"} <= result.columns.keys():
        middle = as_shown(result["time_median"])
        ends = np.sort(
            [as_shown(result[f"time_{end}"]) for end in ("low", "high")], axis=0
        )
        bars = np.nan_to_num(np.abs(ends - middle))
        axis.errorbar(
            at,
            middle,
            bars,
            ls="",
            marker=marker,
            ms=4,
            color=colour,
            elinewidth=1.2,
            capsize=2,
            zorder=2,
        )


def _join(
    axis: Axes,
    at: np.ndarray,
    values: np.ndarray,
    half: float,
    style: Any,
    colour: str,
    thin: bool = False,
) -> None:
    """Draw a line through points, or short ones where they stand side by side."""
    look: dict[str, Any] = {"color": colour, "lw": 0.9 if thin else 1.6}
    look |= {"alpha": 0.7 if thin else 1, "zorder": 2 if thin else 4}
    if half:
        axis.hlines(values, at - half, at + half, linestyles=style, **look)
    else:
        mark = "_" if np.isfinite(values).sum() == 1 else ""  # a line needs two
        order = np.argsort(at)
        axis.plot(at[order], values[order], ls=style, marker=mark, ms=14, **look)


def _draw_part(
    axis: Axes,
    result: Result,
    name: str,
    at: np.ndarray,
    colour: str,
    half: float,
    side: str,
) -> None:
    """Draw the time of a part, with its name at the end; none where it took no time."""
    last = np.argmax(at)
    values = np.where(result[name] > 0, result[name], np.nan) / readable("s")[1]
    style = "--" if result.kind == "modelled" else "-"
    _join(axis, at, values, half, style, colour, thin=True)
    axis.annotate(
        plain(name.removesuffix("_time")),
        (at[last] + half, values[last]),
        xytext=(3, 0),
        textcoords="offset points",
        va=side,
        fontsize="x-small",
        color=colour,
    )


def _draw_expected(axis: Axes, result: Result, name: str, colour: str) -> None:
    """Draw what a model expects of a scaling result."""
    rate = result.rates[0]
    if f"{rate}_model" not in result.columns:
        return
    values = result[f"{rate}_model"]
    if name == rate:
        values = values / readable(result.columns[rate].unit)[1]
    else:
        values = values / values[0] / (result["ranks"] / result["ranks"][0])
    _join(axis, result["ranks"], values, 0, "--", colour)


def _draw_ideal(axes: Sequence[Axes], results: Sequence[Result]) -> None:
    """Draw the rates of ideal scaling: each rank gives as much as in the first run."""
    for result in results:
        ranks, rate = result["ranks"], result.rates[0]
        ideal = result.shown(rate)[0] * ranks / ranks[0]
        ideal = ideal / readable(result.columns[rate].unit)[1]
        axes[0].plot(ranks, ideal, color="0.5", lw=1, ls=":", zorder=1)
    axes[1].axhline(1, color="0.5", lw=1, ls=":", zorder=1)


def _legend(
    figure: FigureBase, axes: Sequence[Axes], results: Sequence[Result], own: bool
) -> None:
    from matplotlib.lines import Line2D

    styles: dict[str, dict[str, Any]] = {
        "measured": {"ls": "-", "ms": 4},
        "modelled": {"ls": "--", "marker": ""},
        "published": {"ls": ":", "mfc": "white", "ms": 5},
    }
    handles = []
    measured = {result.device for result in results if result.kind == "measured"}
    labels = [
        plain(
            r.label.replace("emulated", "EMULATED")
            + f", {r.device}" * (len(measured) > 1 and r.kind == "measured")
        )
        for r in results
    ]
    if len({result.file for result in results}) > 1:
        labels = [
            f"{plain(result.file)}: {label}" if result.file else label
            for result, label in zip(results, labels, strict=True)
        ]
    if len({*labels}) < len(labels):  # tell those apart that are alike
        labels = [f"{number}: {label}" for number, label in enumerate(labels, 1)]
    for number, result in enumerate(results):
        style: dict[str, Any] = {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
        } | styles[result.kind]
        handles.append(Line2D([], [], label=labels[number], **style))
    if any("efficiency" in result.columns for result in results):
        handles.append(Line2D([], [], label="ideal", color="0.5", ls=":"))
        if any(n.endswith("_model") for r in results for n in r.columns):
            handles.append(Line2D([], [], label="model", color="0.3", ls="--"))
    if own:
        whole = cast("Figure", figure)
        room = whole.bbox.width / whole.dpi * _LETTERS
        longest = max(len(str(handle.get_label())) for handle in handles) + _HANDLE
        most = 3 if len(results) == 1 else 2
        figure.legend(
            handles=handles,
            title=plain(_title(results)),
            loc="outside upper center",
            ncols=max(1, min(len(handles), most, int(room / longest))),
            frameon=False,
        )
    else:
        axes[0].legend(handles=handles, frameon=False, fontsize="small")


def picture_format(path: str | os.PathLike[str]) -> str:
    """Format that the ending of a picture's path names.

    Raises
    ------
    ValueError
        There is no such format; the message lists the known ones.
    """
    need_matplotlib()
    return ending(path, FORMATS)
