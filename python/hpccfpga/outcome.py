"""What a run found, as a result; and a warning where its data was wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hpccfpga import _core, emulation, kernels, traces
from hpccfpga.result import Column, Quantity, Result

if TYPE_CHECKING:
    import numpy as np


class VerificationWarning(UserWarning):
    """The data of a run was wrong; its result says at which points."""


def result_of(
    session: _core.Session,
    benchmark: str,
    exchange: str,
    found: Mapping[str, Any],
    fields: list[np.dtype | None],
    provenance: Mapping[str, Any],
    notes: Sequence[str],
) -> Result:
    """Make a result of what the core found.

    `fields` may be those of the records; `provenance` and `notes` are what is known
    beside the session's own.
    """
    trace = _trace(found["trace"])
    return Result(
        kind="measured",
        benchmark=benchmark,
        exchange=exchange,
        device=session.device["name"],
        emulated=session.emulated and emulation.counts(benchmark, exchange),
        ranks=session.size,
        verified=found["verified"],
        parameters=_done(found),
        columns={name: Column(*pair) for name, pair in found["columns"].items()},
        summary={name: Quantity(*pair) for name, pair in found["summary"].items()}
        | _hidden(trace),
        provenance={
            **provenance,
            "hosts": session.hosts,
            "devices": session.devices,
            "device": dict(session.device),
            "cores": sorted(emulation.cpus()),
            "notes": [*found["notes"], *notes],
        },
        trace=trace,
        vertices=_vertices(found["records"], fields),
    )


def _done(found: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run: rounds are those that were taken, not those asked for."""
    values = dict(found["parameters"])
    if "rounds" in values:
        values["rounds"] = found["columns"]["warmup"][1].shape[1] // values["warmup"]
    return values


def warn(result: Result, level: int = 4) -> None:
    """Give a VerificationWarning if the data of a run was wrong.

    It is given where the public function was called, `level` calls above: by default
    that whose one helper calls this.
    """
    if result.verified:
        return
    label = result.labels[0]
    wrong = result[label][result.failed]
    listed = ", ".join(map(str, wrong[:5])) + ", ..." * (len(wrong) > 5)
    warnings.warn(
        f"{result.benchmark}: wrong data at {len(wrong)} of {len(result.failed)} "
        f"points ({label} {listed})",
        VerificationWarning,
        stacklevel=level,
    )


def _trace(columns: dict[str, Any]) -> traces.Trace | None:
    """Trace as the core gives it; without columns where there is none."""
    found = {name: Column(*pair) for name, pair in columns.items()}
    return traces.Trace(found) if found else None


def _hidden(trace: traces.Trace | None) -> dict[str, Quantity]:
    """Figure of a trace in which something is exchanged."""
    share = math.nan if trace is None else traces.hidden(trace)
    return {} if math.isnan(share) else {"hidden": Quantity("1", share)}


def _vertices(
    records: np.ndarray | None, fields: list[np.dtype | None]
) -> np.ndarray | None:
    """Give records the fields of the program that made them, if these are known."""
    if records is None:
        return None
    fitting = {f for f in fields if f is None or f.itemsize == records.itemsize}
    found = fitting.pop() if len(fitting) == 1 else None
    return records if found is None else records.view(found)


def described(program: kernels.Kernel, source: Any) -> dict[str, Any]:
    """Provenance of the kernels."""
    where = {} if source is None else {"path": source}
    return {"name": program.stem, **where, **program.manifest}
