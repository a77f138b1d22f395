"""Calibrations: put together from their parts, and read as curves of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpccfpga import _core, formulas
from hpccfpga.components import CALIBRATION, Part, calibrated, chunks
from hpccfpga.result import Column, Result

NOTHING = 1e-12
"""Time that stands for none on a logarithmic axis [s]."""


def parts_of(benchmark: str, exchange: str) -> tuple[Part, ...]:
    """Return the parts that the model of a benchmark over a scheme is made of.

    Raises
    ------
    LookupError
        There is no such model, or none that a calibration feeds.
    """
    schemes = [exchange]
    if exchange == _core.AUTO:
        schemes = formulas.schemes(benchmark, calibrated=True)
    found = [formulas.check(benchmark, name, calibrated=True) for name in schemes]
    taken = {name for formula in found for name in formula["inputs"]}
    return tuple(part for part in CALIBRATION if taken & part.columns.keys())


def of_parts(some: Sequence[Part], found: Sequence[Result]) -> Result:
    """Put the results of some parts together as one."""
    first = found[0]
    told = {**first.parameters}
    columns = {"message_size": first.columns["message_size"]}
    for part, result in zip(some, found, strict=True):
        if _core.scheme(part.exchange)["chunks"]:
            told |= chunks(result.parameters)
        columns |= {n: result.columns[own] for n, own in part.columns.items()}
    for part, result in zip(some, found, strict=True):
        columns[f"{part.name}_samples"] = result.columns["samples"]
    right = np.logical_and.reduce([result["verified"] for result in found])
    columns["verified"] = Column("1", right)
    notes = [note for result in found for note in result.provenance["notes"]]
    return Result(
        kind="measured",
        benchmark="calibration",
        exchange=None,
        device=first.device,
        emulated=any(result.emulated for result in found),
        ranks=first.ranks,
        verified=bool(right.all()),
        parameters={k: told[k] for k in told if k in calibrated()},
        columns=columns,
        summary={},
        provenance={**first.provenance, "notes": list(dict.fromkeys(notes))},
    )


def cut_alike(calibration: Result, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given without chunks, which must be those of the calibration.

    Raises
    ------
    ValueError
        The calibration was made with other chunks.
    """
    for name, value in chunks(given).items():
        made = str(calibration.parameters.get(name, _core.AUTO))
        typed = _core.values(CALIBRATION[0].benchmark, {name: value})[name]
        if typed != made:
            raise ValueError(
                f"{name}: the calibration was made with {made}, not with {typed}: "
                f"calibrate with {typed}"
            )
    return {n: v for n, v in given.items() if n not in chunks(given)}


def curves(
    formula: _core._Formula, label: str, at: Column, calibration: Result
) -> dict[str, Column]:
    """Return the inputs that a calibration measured, at points `at`.

    Interpolated on logarithmic axes between those that verified.
    """
    if calibration.benchmark != "calibration":
        raise ValueError(
            f"{calibration.file or 'calibration'}: a result of {calibration.benchmark} "
            "is no calibration; `hpccfpga calibrate --json FILE` makes one"
        )
    terms = formula["inputs"]
    found = {}
    for name in (name for name in terms if name not in (label, "ranks")):
        if name not in calibration.columns or label not in calibration.columns:
            raise ValueError(
                f"{calibration.name} has no {name}: it lacks this part, or is of an "
                "earlier version; `hpccfpga calibrate` measures all parts"
            )
        column = calibration.columns[name]
        if column.unit != terms[name]["unit"] or column.values.ndim != 1:
            raise ValueError(
                f"the calibration has {name} as {list(column.values.shape)} "
                f"[{column.unit}], not one value [{terms[name]['unit']}] a point"
            )
        usable = ~calibration.failed & (column.values >= 0) & (column.values < np.inf)
        points, order = np.unique(calibration[label][usable], return_index=True)
        if not len(points):
            raise ValueError(f"the calibration has no verified {name}")
        outside = at.values[(at.values < points[0]) | (at.values > points[-1])]
        if len(outside):
            raise ValueError(
                f"{label.replace('_', ' ')} {outside[0]} {at.unit} lies outside the "
                f"calibration ({points[0]} {at.unit} to {points[-1]} {at.unit})"
            )
        measured = np.log(np.maximum(calibration[name][usable][order], NOTHING))
        curve = np.exp(np.interp(np.log(at.values), np.log(points), measured))
        found[name] = Column(terms[name]["unit"], curve)
    return found
