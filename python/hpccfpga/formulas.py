"""Formulas of the models: which one is meant, its points, and its outputs by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import entries, known, word
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.text import brief

_BOUND = "_bound"
"""So ends an output that a rate cannot exceed; `limit` is the number of the lowest."""


def of_role(benchmark: str, role: str) -> list[_core._Formula]:
    """Formulas of a benchmark's model that have a role."""
    return [f for f in _core.models(benchmark) if f["role"] == role]


def summaries(benchmark: str, formula: _core._Formula) -> list[_core._Formula]:
    """Formulas for figures beside the benchmark's own: of all schemes, of this one."""
    ours = (None, formula["exchange"])
    return [f for f in of_role(benchmark, "summary") if f["exchange"] in ours]


def check(
    benchmark: str, exchange: str | None, calibrated: bool = False
) -> _core._Formula:
    """Return the formula for a benchmark over an exchange scheme.

    Raises
    ------
    LookupError
        There is no such model, or none that a calibration feeds.
    """
    if exchange == _core.AUTO:
        exchange, *_ = schemes(benchmark, calibrated)
    modelled = [name for name, _ in _core.components("model")]
    if word("benchmark", benchmark, modelled) not in modelled:
        raise LookupError(
            f"no model of {brief(benchmark)}; {known(benchmark, modelled)}"
        )
    role = "calibrated" if calibrated else "expected"
    found = {f["exchange"]: f for f in of_role(benchmark, role)}
    if None in found:
        if exchange is not None:
            every = [name for name, _ in _core.components("exchange")]
            _core.scheme(word("exchange", exchange, every))  # raises where unknown
        return found.get(exchange, found[None])
    if not found:
        takers = [name for name in modelled if of_role(name, role)]
        raise LookupError(
            f"no model of {benchmark} takes a calibration; {known(benchmark, takers)}"
        )
    names = [name for name in found if name is not None]
    wanted = _core.SCHEME
    if exchange is not None:
        wanted = word("exchange", exchange, names)
    if wanted not in found:
        fed = " from a calibration" if calibrated else ""
        raise LookupError(
            f"no model of {benchmark} over exchange {brief(wanted)}{fed}; "
            f"{known(wanted, [*names, _core.AUTO])}"
        )
    return found[wanted]


def schemes(benchmark: str, calibrated: bool = False) -> list[str]:
    """Exchange schemes that "auto" takes and a model of the benchmark knows.

    Those which move blocks of any device. Without any in the model it is the same over
    each, and they are one: that which runs take unless told.

    Raises
    ------
    LookupError
        There is no such model, or none that a calibration feeds.
    """
    check(benchmark, None, calibrated)
    role = "calibrated" if calibrated else "expected"
    named = [f["exchange"] for f in of_role(benchmark, role)]
    kinds = {name: _core.scheme(name) for name in named if name is not None}
    found = [
        name
        for name, kind in kinds.items()
        if not (kind["kernel_routed"] or kind["host_memory"])
    ]
    return found or [_core.SCHEME]


def label(
    benchmark: str,
    formula: _core._Formula,
    sizes: Iterable[Any] | None,
    calibration: Result | None,
) -> tuple[str, Column]:
    """Name and values of the leading label of a run, as numbers [points]."""
    (name, (unit, _, choices)), *_ = _core.quantities(benchmark)["labels"].items()
    if choices is not None:
        if sizes is not None:
            raise ValueError(f"sizes: {benchmark} has a point per {name}, not per size")
        return name, Column(unit, np.arange(len(choices)))
    fallback = formula["inputs"][name]["fallback"]
    if sizes is None and calibration is not None and name in calibration.columns:
        sizes = calibration[name].tolist()
    elif sizes is None and np.isnan(fallback):
        sizes = _core.values(benchmark, {})["sizes"]
    elif sizes is None:
        sizes = [fallback]
    return name, Column(
        unit,
        _checked(sizes, name.replace("_", " "), unit, formula["inputs"][name]["zero"]),
    )


def evaluate(
    benchmark: str, formula: _core._Formula, given: Mapping[str, Any]
) -> dict[str, tuple[str, np.ndarray]]:
    """Units and values of a formula's outputs, from inputs among those given."""
    own = {name: given[name] for name in formula["inputs"]}
    found = _core.evaluate(benchmark, formula["index"], own)
    return {name: (formula["outputs"][name]["unit"], found[name]) for name in found}


def with_limit(found: dict[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """Put the limit's name in place of its number."""
    bounds = [n.removesuffix(_BOUND) for n in found if n.endswith(_BOUND)]
    return {
        name: ("1", np.array(bounds)[values.astype(int)]) if name == "limit" else pair
        for name, pair in found.items()
        for values in [pair[1]]
    }


def summary(
    benchmark: str, formula: _core._Formula, label: str, given: Mapping[str, Any]
) -> dict[str, Quantity]:
    """Return a run's figures, and others, as far as their inputs are given."""
    made = {name: given[name] for name in formula["outputs"]}
    own = _core.figures(benchmark, given[label], made)
    return {name: Quantity(*pair) for name, pair in own.items()} | {
        output: Quantity(unit, value.item())
        for figures in summaries(benchmark, formula)
        if all(name in given for name in figures["inputs"])
        for output, (unit, value) in evaluate(benchmark, figures, given).items()
    }


def _checked(sizes: Iterable[Any], what: str, unit: str, zero: bool) -> np.ndarray:
    """Sizes as int64 [points]; ValueError if there are none or impossible ones."""
    checked = []
    least = -1 if zero else 1  # a source: -1 is none
    for size in entries("sizes", sizes):
        try:
            whole = int(size)
        except (TypeError, ValueError, OverflowError):
            whole = -1
        if whole < least or whole != size or whole > 2**53:
            noun = "number of bytes" if unit == "B" else "number"
            raise ValueError(f"{what} {brief(size)} is not a {noun} from {least} up")
        checked.append(whole)
    if not checked:
        raise ValueError("sizes: none given")
    return np.array(checked, np.int64)
