"""Draw the supersteps of a run of graph: what each was, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hpccfpga.tables import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpccfpga.result import Result


def rates(result: Result) -> dict[int, float]:
    """Edges per second of each superstep of the last point, by its number.

    A superstep goes along the edges of those that the one before it made active, and
    takes as long as its slowest rank. Those without edges or a time are left out.
    """
    parts = ("superstep_kernel_time", "superstep_exchange_time")
    if not {"superstep_edges", "superstep_active", *parts} <= result.columns.keys():
        return {}
    if result.failed[-1]:  # a rate of wrong data does not stand
        return {}
    edges = result["superstep_edges"][-1].sum(axis=1)
    seconds = sum(result[name][-1] for name in parts).max(axis=1)
    found = zip(edges[:-1], seconds[1:], strict=True)
    return {
        number: float(n / t)
        for number, (n, t) in enumerate(found, start=1)
        if n > 0 and t > 0
    }


def draw(axis: Axes, results: Sequence[Result], colours: Sequence[str]) -> None:
    """Draw rates of supersteps, those of models dashed, and active vertices."""
    from matplotlib.ticker import MaxNLocator

    unit, scale = readable("1/s")
    beside = axis.twinx()
    for number, result in enumerate(results):
        colour = colours[number % len(colours)]
        if result.kind == "modelled" and "edge_rate" in result.columns:
            rate = float(result.shown("edge_rate")[-1]) / scale
            axis.axhline(rate, color=colour, ls="--", lw=1.6)
        if not (found := rates(result)):
            continue
        numbers = np.array([*found])
        values = np.array([*found.values()]) / scale
        few = len(numbers) <= 64
        mark = "o" if few else ""
        axis.plot(numbers, values, color=colour, marker=mark, ms=4, lw=1.2, zorder=4)
        active = result["superstep_active"][-1].sum(axis=1).astype(float)
        active[active == 0] = np.nan
        beside.step(range(len(active)), active, where="mid", color=colour, alpha=0.35)
    axis.set(
        xlabel="superstep of the best sample of the last point",
        ylabel=f"edge rate of a superstep [{unit}]",
    )
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    beside.set(ylabel="active vertices (pale)")
    beside.set_yscale("log")
    axis.set_zorder(beside.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.grid(visible=True, alpha=0.3)
