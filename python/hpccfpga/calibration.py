"""Calibrations: put together from their parts, and read as curves of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga import _core
from hpccfpga.components import CALIBRATION, Part, calibrated, chunks
from hpccfpga.result import Column, Result

if TYPE_CHECKING:
    from hpccfpga.progress import Callback

NOTHING = 1e-12
"""Time that stands for none on a logarithmic axis [s]."""


def in_host(part: Part) -> bool:
    """Whether a part moves host memory."""
    return bool(_core.scheme(part.exchange)["host_memory"])


def rounds(params: Mapping[str, Any]) -> list[int]:
    """Divide the repetitions among rounds over all parts.

    What disturbs one round does not disturb all. As many as the measurements need
    (`reps` is 0) are one round.
    """
    values = _core.values(CALIBRATION[0].benchmark, {**params})
    reps, most = values["reps"], values["rounds"]
    return [len(range(start, reps, most)) for start in range(min(most, reps))] or [0]


def of_parts(some: Sequence[Part], parts: Mapping[str, Sequence[Result]]) -> Result:
    """One result of those of all parts, in each round."""
    first = parts[some[0].name][0]
    told = {**first.parameters}
    told["reps"] = sum(result.parameters["reps"] for result in parts[some[0].name])
    told["rounds"] = len(parts[some[0].name])
    columns = {"message_size": first.columns["message_size"]}
    for part in some:
        found = parts[part.name]
        if _core.scheme(part.exchange)["chunks"]:
            told |= chunks(found[0].parameters)
        best = np.argmin([result["time"] for result in found], axis=0)
        for name, column in part.columns.items():
            each = np.choose(best, [result[column] for result in found])
            columns[name] = Column(found[0].columns[column].unit, each)
    for name, found in parts.items():
        samples = np.concatenate([result["samples"] for result in found], axis=1)
        columns[f"{name}_samples"] = Column("s", samples)
    every = [result for found in parts.values() for result in found]
    right = np.logical_and.reduce([result["verified"] for result in every])
    columns["verified"] = Column("1", right)
    notes = [note for result in every for note in result.provenance["notes"]]
    return Result(
        kind="measured",
        benchmark="calibration",
        exchange=None,
        device=first.device,
        emulated=any(result.emulated for result in every),
        ranks=first.ranks,
        verified=bool(right.all()),
        parameters={k: told[k] for k in told if k in calibrated()},
        columns=columns,
        summary={},
        provenance={**first.provenance, "notes": list(dict.fromkeys(notes))},
    )


def shifted(watch: Callback, part: int, parts: int) -> Callback:
    """Report the points of a sweep as points of all sweeps, which are equally long."""

    def told(point: int, n_points: int, row: dict[str, float | str]) -> None:
        watch(part * n_points + point, parts * n_points, row)

    return told


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
                f"{calibration.name} has no {name}: `calibrate` of this version makes "
                "a calibration that has"
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
