"""Draw results: time and rate over the points of a sweep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga.result import Result, replacing
from hpccfpga.tables import scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vP"
_SAMPLES_PER_POINT = 60


def plot(
    *results: Result,
    path: str | os.PathLike[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Draw results into one figure, on logarithmic axes.

    Left the time per step, right the rate. Measured: every repetition as a faint point,
    the best as a line, the median with its 95 % interval as a mark with a bar. Models
    are dashed lines, published results hollow marks.

    Parameters
    ----------
    *results : Result
        What to draw; all have the same first label, e.g. the message size.
    path : path, optional
        Also write the figure there, whole or not at all; the ending names the format.
        No display is needed.
    ax : two matplotlib.axes.Axes, optional
        Where to draw time and rate, instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        Nothing to draw, results that share no axis, or a path that cannot be written.
    """
    if not results:
        raise ValueError("nothing to plot: give at least one result")
    for result in results:
        if not result.labels or "time" not in result.columns:
            raise ValueError(f"nothing to plot in {result!r}: no points with a time")
    index, unit = results[0].labels[0], results[0].columns[results[0].labels[0]].unit
    for result in results:
        if result.labels[0] != index:
            raise ValueError(f"{result!r} is over {result.labels[0]}, not over {index}")

    figure, axes = _figure(path, ax)
    for number, result in enumerate(results):
        look = {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
        }
        for axis, name in zip(axes, ("time", *result.rates[:1]), strict=False):
            _draw(axis, result, name, look)

    rated = next((r for r in results if r.rates), None)
    titles = ["time per step"]
    units = ["s"]
    if rated is not None:
        titles.append(rated.rates[0].replace("_", " "))
        units.append(rated.columns[rated.rates[0]].unit)
    for axis, title, si in zip(axes, titles, units, strict=False):
        words = results[0][index].dtype.kind == "U"
        axis.set(
            xscale="linear" if words else "log",
            yscale="log",
            xlabel=f"{index.replace('_', ' ')} [{unit}]".removesuffix(" [1]"),
            ylabel=f"{title} [{scaling(si)[0].replace('us', 'µs')}]",
        )
        _ticks(axis, unit)
    _legend(figure, axes, results, own=ax is None)
    if ax is None and any("samples" in result.columns for result in results):
        figure.supxlabel(
            "line: best repetition; mark and bar: median and its 95 % interval; "
            "dots: repetitions",
            fontsize="small",
            color="0.4",
        )
    if path is not None:
        save(figure, path)
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, whole or not at all, in the format of the path's ending."""
    ending = picture_format(path)
    with replacing(path) as file:
        figure.savefig(file, format=ending, dpi=150)


def _figure(path: Any, ax: Sequence[Axes] | None) -> tuple[Figure, Sequence[Axes]]:
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != 2:
            raise ValueError(f"ax must hold two axes (time, rate), not {len(axes)}")
        return axes[0].figure, list(axes)
    import matplotlib

    size = {"figsize": (10, 4.4), "layout": "constrained"}
    if path is not None:
        from matplotlib.figure import Figure as New

        figure = New(**size)  # type: ignore[arg-type]
    else:
        from matplotlib import pyplot

        figure = pyplot.figure(**size)  # type: ignore[arg-type]
        if "inline" in matplotlib.get_backend():
            pyplot.close(figure)  # Jupyter shows it as the cell's value, once
    return figure, list(figure.subplots(1, 2))


def _draw(axis: Axes, result: Result, name: str, look: dict[str, str]) -> None:
    """Draw one quantity; rates of single samples follow from rate x time = work."""
    at = result[result.labels[0]]  # words become places on a linear axis
    _, scale = scaling(result.columns[name].unit)
    best = result.shown(name) / scale
    colour, marker = look["color"], look["marker"]
    if result.kind == "modelled":
        axis.plot(at, best, "--", color=colour, lw=1.8, zorder=4)
        return
    if result.kind == "published":
        style = {"mfc": "white", "mew": 1.3, "ms": 5, "lw": 0.8, "ls": ":"}
        axis.plot(at, best, color=colour, marker=marker, zorder=3, **style)  # type: ignore[arg-type]
        return

    work = None if name == "time" else best * result["time"]

    def as_shown(seconds: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return seconds / scale if work is None else work / seconds

    if "samples" in result.columns:
        slowest = result["samples"].max(axis=2)
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
    axis.plot(at, best, "-", color=colour, lw=1.5, zorder=3)
    if "time_median" in result.columns:
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


def _ticks(axis: Axes, unit: str) -> None:
    axis.grid(True, which="major", color="0.9", lw=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    from matplotlib.ticker import FuncFormatter, LogFormatter, LogLocator, NullLocator

    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    if unit == "B":
        low, high = axis.get_xlim()
        axis.xaxis.set_major_locator(LogLocator(base=4 if high < 4**6 * low else 16))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _bytes(size)))


def _bytes(size: float) -> str:
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size >= 2**power:
            return f"{size / 2**power:g} {prefix}"
    return f"{size:g}"


def _legend(
    figure: Figure, axes: Sequence[Axes], results: Sequence[Result], own: bool
) -> None:
    from matplotlib.lines import Line2D

    styles: dict[str, dict[str, Any]] = {
        "measured": {"ls": "-", "ms": 4},
        "modelled": {"ls": "--", "marker": ""},
        "published": {"ls": ":", "mfc": "white", "ms": 5},
    }
    handles = []
    for number, result in enumerate(results):
        style: dict[str, Any] = {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
        } | styles[result.kind]
        label = result.label.replace("emulated", "EMULATED")
        handles.append(Line2D([], [], label=label, **style))
    if own:
        figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=min(len(handles), 2),
            frameon=False,
        )
    else:
        axes[0].legend(handles=handles, frameon=False, fontsize="small")


def picture_format(path: str | os.PathLike[str]) -> str:
    """Format that the ending of a picture's path names, PNG without one.

    Raises
    ------
    ValueError
        There is no such format; the message lists the known ones.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    ending = Path(path).suffix.removeprefix(".").lower() or "png"
    known = FigureCanvasBase.get_supported_filetypes()
    if ending not in known:
        raise ValueError(
            f"cannot write {path}: no format {ending!r}; known: {', '.join(known)}"
        )
    return ending
