"""How many devices a run is the fastest on: measured on one and two, else modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import word
from hpccfpga.components import survey
from hpccfpga.configuration import chosen, rules
from hpccfpga.emulation import cpus
from hpccfpga.errors import under_mpi
from hpccfpga.models import model
from hpccfpga.result import Result
from hpccfpga.tables import human
from hpccfpga.text import brief

AUTO = "auto"
SAME = 0.95
"""From this part of the highest rate on, a rate counts as high: trials are short."""

REPS, SOURCES = 3, 2
"""Repetitions of a trial, and vertices at which it starts."""


def check(benchmark: str, devices: Any, ranks: Any, comm: Any = None) -> None:
    """Refuse a choice that is none.

    Raises
    ------
    LookupError
        No model chooses for this benchmark.
    ValueError
        Another word than auto, ranks that are given, or a rank that mpirun started.
    """
    if under_mpi() is not None:
        raise ValueError(
            "devices: auto starts its ranks itself: call it without mpirun"
        )
    if devices != AUTO:
        raise ValueError(
            f"devices: {brief(devices)} is not auto; ranks gives their number"
        )
    if ranks is not None or comm is not None:
        raise ValueError("devices: auto chooses the number of ranks; give none")
    if word("benchmark", benchmark) not in (able := rules()):
        raise LookupError(
            f"devices: auto chooses a number of ranks for {', '.join(able)} only, not "
            f"for {brief(benchmark)}; ranks gives their number"
        )


def choose(
    benchmark: str,
    exchange: str,
    params: Mapping[str, Any],
    measure: Callable[..., Result],
) -> tuple[int, str]:
    """Return the number of ranks that is the fastest, and why; of equals the least.

    One rank and two are measured, and more of them modelled: each device does its part
    as fast as the one alone, and each superstep ends as late as on two.

    Parameters
    ----------
    benchmark, exchange
        As for `hpccfpga.run`.
    params : mapping
        Parameters of the run.
    measure : callable
        Measures on `ranks`, with parameters.

    Raises
    ------
    ValueError
        A trial is not verified, or goes along no edges.
    """
    sources = 0 if "source" in params else SOURCES
    short = {**params, "reps": REPS, "sources": sources}
    if isinstance(given := params.get("source"), list | tuple | np.ndarray):
        short["source"] = list(given)[:SOURCES]
    first = _checked(measure(ranks=1, **short))
    most, shared = _most(first)
    numbers = [
        n for n in range(1, most + 1) if _possible(benchmark, exchange, params, n)
    ]
    tried = {1: first}
    if 2 in numbers:
        tried[2] = _checked(measure(ranks=2, **short))
    numbers = [n for n in numbers if n in tried or 2 in tried]
    rates = np.array([_rate(benchmark, tried, n, shared) for n in numbers])
    best = np.nanmax(rates, initial=0)
    if not best > 0:
        raise ValueError("devices: auto, but the run goes along no edges")
    index = chosen(
        benchmark,
        np.array(numbers, float),
        np.ones(len(numbers)),
        np.where(rates >= SAME * best, best, rates),
    )
    told = "; ".join(
        f"{n}: {human(rate, '1/s')}{'' if n in tried else ' by the model'}"
        for n, rate in zip(numbers, rates, strict=True)
    )
    what = "ranks on the cores of one CPU" if shared else "devices"
    return numbers[
        index
    ], f"chosen: {numbers[index]} of {most} {what}, by rates: {told}"


def _checked(result: Result) -> Result:
    if not result.verified:
        raise ValueError(
            f"devices: auto, but a trial is not verified: ranks {result.ranks}"
        )
    return result


def _most(result: Result) -> tuple[int, bool]:
    """Most ranks to choose: of devices, or of the cores of a CPU that they share."""
    own = result.provenance["device"]
    if own["type"] == "cpu":
        return len(cpus()), True
    names = ("runtime", "platform", "name", "type")
    return sum(all(d[k] == own[k] for k in names) for d in survey()[0]), False


def _possible(
    benchmark: str, exchange: str, params: Mapping[str, Any], ranks: int
) -> bool:
    try:
        _core.check_ranks(benchmark, exchange, dict(params), ranks)
    except (NotImplementedError, ValueError):
        return False
    return True


def _rate(
    benchmark: str, tried: Mapping[int, Result], ranks: int, shared: bool
) -> float:
    """Edges per second, or NaN: measured, or of the roofline that the trials feed."""
    work, alone = tried[1]["traversed"].mean(), tried[1]["time"].mean()
    if ranks in tried or work == 0:
        return float(work / tried.get(ranks, tried[1])["time"].mean() or np.nan)
    steps = max(1.0, tried[2]["supersteps"].mean())
    late = tried[2]["time"].mean() - alone / (1 if shared else 2)
    expected = model(
        benchmark,
        ranks=ranks,
        clock=work / alone / (ranks if shared else 1),
        cycles_per_edge=1,
        traversed=work,
        supersteps=steps,
        barrier=max(0.0, late / steps),
    )
    return expected.summary["edge_rate"].value
