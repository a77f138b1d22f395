"""What performance models expect; the equations themselves are C (`csrc/model/`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.boards import Board, Fact
from hpccfpga.boards import board as find_board
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.tables import digits

_EVERYWHERE = "device"
_SUMMARY = "summary"


def model(
    benchmark: str,
    *,
    exchange: str | None = None,
    board: str | None = None,
    sizes: Iterable[int] | None = None,
    ranks: int | None = None,
    calibration: Result | None = None,
    **overrides: float | str,
) -> Result:
    """Return what the performance model of a benchmark expects.

    Each input of the model's formula is given by name, or comes from the board, or has
    a default; an unknown name is answered by the list of all. A board with several
    kinds of memory lends the first, or e.g. `memory="hbm2"`.

    b_eff: over "channel" (Eq. 3 and 4) the inputs are channels (per kernel pair,
    default 2), replications (kernel pairs, default the board's ports / channels), width
    [B], clock [Hz] and latency [s]. Over "pcie" (Eq. 2) and "host" they are the curves
    of a calibration, or latencies and bandwidths of links: pcie_latency [s],
    write_bandwidth, read_bandwidth [B/s], network_latency [s], network_bandwidth [B/s],
    and, for Eq. 7 alone, pcie_bandwidth [B/s], which may be missing.

    Parameters
    ----------
    benchmark : str
        One of `hpccfpga.benchmarks()` that has a model.
    exchange : str, optional
        Scheme that it runs over; default as for `hpccfpga.run`, where it matters.
    board : str, optional
        Board whose data feed the model, as `hpccfpga.board` takes it.
    sizes : iterable of int, optional
        Points of the sweep, e.g. message sizes [B]; default those of the calibration,
        else of a run.
    ranks : int, optional
        Number of ranks; default that of the calibration, else 1.
    calibration : Result, optional
        b_eff only: what `hpccfpga.calibrate` measured. Between its sizes, times are
        interpolated on logarithmic axes; outside them nothing is guessed.
    **overrides : float
        Inputs by name, in place of the board's.

    Returns
    -------
    Result
        Of kind "modelled", with the labels, time [s per step] and metrics of a measured
        one, each [points]; so too its summary. b_eff also has the parts write_time,
        exchange_time, read_time [s] of its scheme and, where pcie_bandwidth is known,
        pair_bound [B/s] (Eq. 7, for two ranks). `provenance["counts"]` says what the
        numbers count.

    Raises
    ------
    LookupError
        Unknown benchmark, exchange or board; the message lists the known ones.
    ValueError
        Unknown, missing or impossible inputs; sizes outside the calibration.
    """
    formula = check(benchmark, exchange, calibrated=calibration is not None)
    if calibration is not None and board is not None:
        raise ValueError("a calibration takes no board")
    if ranks is None:
        ranks = 1 if calibration is None else calibration.ranks
    if ranks != int(ranks) or ranks < 1:
        raise ValueError(f"ranks is {ranks}, not a number from 1 up")
    hardware = None if board is None else find_board(board)
    if benchmark == "b_eff":
        from hpccfpga.models_b_eff import b_eff

        return b_eff(formula, hardware, sizes, int(ranks), calibration, overrides)
    labels = _labels(benchmark, formula, sizes)
    inputs, sources, notes = _inputs(benchmark, formula, labels, hardware, overrides)
    terms = _core.models(benchmark)[formula]["inputs"]
    given = {**inputs, **{n: c.values for n, c in labels.items()}, "ranks": ranks}
    found = _core.evaluate(benchmark, formula, {name: given[name] for name in terms})
    shape = (len(next(iter(labels.values())).values),)
    units = _core.models(benchmark)[formula]["outputs"]
    columns = {
        **{name: _told(benchmark, name, column) for name, column in labels.items()},
        **{n: Column(units[n][0], np.broadcast_to(v, shape)) for n, v in found.items()},
    }
    return Result(
        kind="modelled",
        benchmark=benchmark,
        exchange=None if formula == _EVERYWHERE else formula,
        device=getattr(hardware, "key", None),
        emulated=False,
        ranks=int(ranks),
        verified=None,
        parameters=inputs,
        columns=columns,
        summary=_summary(benchmark, {**given, **found}),
        provenance={
            "formula": f"{benchmark} {formula}",
            "counts": _core.models(benchmark)[formula]["summary"],
            "sources": sources,
            "notes": notes,
        },
    )


def beside(
    benchmark: str,
    exchange: str | None,
    board: str | Mapping[str, Any],
    params: Mapping[str, Any],
    sizes: Iterable[Any] | None = None,
    ranks: int = 1,
) -> Result:
    """Return the model of a run with parameters `params`, to stand beside it.

    Those which the formula has as inputs are its inputs; `board` may be a mapping of
    the others. `sizes` is a run's first label; words stand for themselves.

    Raises
    ------
    LookupError, ValueError
        As `model`.
    """
    formula = check(benchmark, exchange)
    inputs = _core.models(benchmark)[formula]["inputs"]
    found = {name: value for name, value in params.items() if name in inputs}
    if not isinstance(board, str):
        found |= board
    (_, choices), *_ = _core.quantities(benchmark)["labels"].values()
    return model(
        benchmark,
        exchange=exchange,
        board=board if isinstance(board, str) else None,
        sizes=None if choices is not None or sizes is None else list(sizes),
        ranks=ranks,
        **found,
    )


def check(benchmark: str, exchange: str | None, calibrated: bool = False) -> str:
    """Return the name of the formula for a benchmark over an exchange scheme.

    Raises
    ------
    LookupError
        There is no such model, or none that a calibration feeds.
    """
    if benchmark not in (known := [name for name, _ in _core.components("model")]):
        raise LookupError(f"no model of {benchmark!r}; known: {', '.join(known)}")
    formulas = [name for name in _core.models(benchmark) if name != _SUMMARY]
    if benchmark == "b_eff":
        from hpccfpga.models_b_eff import schemes

        formulas = schemes(calibrated)
    elif calibrated:
        raise LookupError(f"no model of {benchmark} takes a calibration; known: b_eff")
    if formulas == [_EVERYWHERE]:
        return _EVERYWHERE
    wanted = exchange or "pcie"
    if wanted not in formulas:
        fed = " from a calibration" if calibrated else ""
        raise LookupError(
            f"no model of {benchmark} over exchange {wanted!r}{fed}; "
            f"known: {', '.join(formulas)}"
        )
    return wanted


def _labels(
    benchmark: str, formula: str, sizes: Iterable[Any] | None
) -> dict[str, Column]:
    """Give the points: the leading label of a run, as numbers."""
    (name, (unit, choices)), *_ = _core.quantities(benchmark)["labels"].items()
    if choices is not None:
        if sizes is not None:
            raise ValueError(f"sizes: {benchmark} has a point per {name}, not per size")
        return {name: Column(unit, np.arange(len(choices)))}
    sizes = default_sizes(benchmark) if sizes is None else sizes
    return {name: Column(unit, checked_sizes(sizes, name.replace("_", " "), unit))}


def _told(benchmark: str, name: str, column: Column) -> Column:
    """Column of a label, with words where a run has words."""
    _, choices = _core.quantities(benchmark)["labels"][name]
    return column if choices is None else Column(column.unit, np.array(choices))


def _summary(benchmark: str, known: Mapping[str, Any]) -> dict[str, Quantity]:
    """Figures that follow from all points."""
    formula = _core.models(benchmark).get(_SUMMARY)
    if formula is None:
        return {}
    inputs = {name: known[name] for name in formula["inputs"]}
    found = _core.evaluate(benchmark, _SUMMARY, inputs)
    return {
        name: Quantity(formula["outputs"][name][0], value.item())
        for name, value in found.items()
    }


def _inputs(
    benchmark: str,
    formula: str,
    labels: Mapping[str, Column],
    board: Board | None,
    overrides: Mapping[str, Any],
) -> tuple[dict[str, float], dict[str, str], list[str]]:
    """Values and sources of the scalar inputs, and what is to be noted about them."""
    terms = {
        name: term
        for name, term in _core.models(benchmark)[formula]["inputs"].items()
        if name not in labels and name != "ranks"
    }
    chosen = dict(overrides)
    memory = chosen.pop("memory", None)
    if unknown := [name for name in chosen if name not in terms]:
        raise ValueError(
            f"no input {', '.join(unknown)} here; known: {', '.join(terms) or 'none'}"
        )
    values: dict[str, float] = {}
    sources: dict[str, str] = {}
    notes = []
    for name, (_, _, path, fallback) in terms.items():
        fact = None if board is None or path is None else _fact(board, path, memory)
        if name in chosen:
            values[name], sources[name] = number(name, chosen[name]), "given"
        elif fact is not None:
            values[name], sources[name] = float(fact.value), fact.source
            notes += doubt(name, fact)
        elif not np.isnan(fallback):
            values[name], sources[name] = fallback, "default"
    refuse_missing([name for name in terms if name not in values], board)
    return values, sources, notes


def _fact(board: Board, path: str, memory: Any) -> Fact | None:
    """Fact of a board; "memory.x" is that of its memory `memory`, or of the first."""
    kind, _, name = path.partition(".")
    if kind != "memory":
        return board.facts.get(path)
    facts = (name.split(".") for name in board)
    kinds = list(dict.fromkeys(name[1] for name in facts if name[0] == kind))
    if memory is not None and memory not in kinds:
        raise ValueError(
            f"memory: board {board.key} has no {memory!r}; known: {', '.join(kinds)}"
        )
    return board.facts.get(f"memory.{memory or kinds[0]}.{name}") if kinds else None


def refuse_missing(names: list[str], board: Board | None) -> None:
    """Raise ValueError for inputs that nothing tells."""
    if names:
        who = "no board was given, and" if board is None else f"board {board.key} lacks"
        raise ValueError(f"{who} {', '.join(names)}: give {names[0]}=... and so on")


def number(name: str, value: Any) -> float:
    """Value of an input; ValueError if it is impossible."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    allowed = found >= 0 if name.endswith("latency") else found > 0
    if not allowed or np.isinf(found):
        raise ValueError(f"{name} is {value!r}, not a positive number")
    return found


def default_sizes(benchmark: str) -> list[int]:
    """Points of a run where nothing else was asked for."""
    defaults = {
        entry["name"]: entry["default"] for entry in _core.parameters(benchmark)
    }
    if "log_size" in defaults:
        return [1 << int(defaults["log_size"])]
    return [int(size) for size in defaults["sizes"].split(",")]


def checked_sizes(sizes: Iterable[Any], what: str, unit: str) -> np.ndarray:
    """Sizes as int64 [points]; ValueError if there are none or impossible ones."""
    checked = []
    for size in sizes:
        try:
            whole = int(size)
        except (TypeError, ValueError, OverflowError):
            whole = 0
        if whole < 1 or whole != size or whole > 2**53:
            noun = "number of bytes" if unit == "B" else "number"
            raise ValueError(f"{what} {size!r} is not a {noun} from 1 up")
        checked.append(whole)
    if not checked:
        raise ValueError(f"no {what}s given")
    return np.array(checked, np.int64)


def doubt(name: str, fact: Fact) -> list[str]:
    """Note about an input whose value nobody has verified."""
    if fact.verified:
        return []
    value = digits(fact.value) if fact.value >= 1 else f"{fact.value:g}"
    return [f"{name} of {value} {fact.unit} is not verified: {fact.source}"]
