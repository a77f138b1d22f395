"""Inputs of the model of b_eff: boards, links, or the curves of a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.boards import Board
from hpccfpga.models import checked_sizes, default_sizes, doubt, number, refuse_missing
from hpccfpga.result import Column, Quantity, Result

_CHANNEL = ("channels", "replications", "width", "clock", "latency")
_LINKS = {
    "write": ("pcie_latency", "write_bandwidth"),
    "exchange": ("network_latency", "network_bandwidth"),
    "read": ("pcie_latency", "read_bandwidth"),
}
_PARTS = {"channel": (), "pcie": ("write", "exchange", "read"), "host": ("exchange",)}
_FACTS = {
    "replications": "network.ports",
    "width": "network.width",
    "clock": "network.clock",
    "latency": "network.latency",
    "pcie_latency": "pcie.latency",
    "write_bandwidth": "pcie.write_bandwidth",
    "read_bandwidth": "pcie.read_bandwidth",
    "pcie_bandwidth": "pcie.bandwidth",
    "network_latency": "host.latency",
    "network_bandwidth": "host.bandwidth",
}
_CHANNELS_PER_KERNEL_PAIR = 2
_OPTIONAL = "pcie_bandwidth"  # of Eq. 7, which nothing else needs


def schemes(calibrated: bool) -> list[str]:
    """Exchange schemes that have a model, or one that a calibration feeds."""
    return [name for name, parts in _PARTS.items() if parts or not calibrated]


def b_eff(
    exchange: str,
    hardware: Board | None,
    sizes: Iterable[int] | None,
    ranks: int,
    calibration: Result | None,
    overrides: Mapping[str, Any],
) -> Result:
    """Return what is expected; see `hpccfpga.model`."""
    if sizes is None:
        sizes = default_sizes("b_eff")
        if calibration is not None:
            sizes = calibration["message_size"].tolist()
    size = checked_sizes(sizes, "message size", "B")
    parts = _PARTS[exchange]
    summary: dict[str, Quantity] = {}

    if calibration is not None:
        inputs, sources = _inputs((), None, overrides)
        times = {part: _curve(calibration, part, size) for part in parts}
    else:
        inputs, sources = _inputs(_names(exchange), hardware, overrides)
        times = {
            part: _evaluate(
                "link",
                message_size=size,
                latency=inputs[_LINKS[part][0]],
                bandwidth=inputs[_LINKS[part][1]],
            )["time"]
            for part in parts
        }
    given = times if parts else inputs
    found = _evaluate(exchange, message_size=size, ranks=ranks, **given)
    mean = _evaluate("mean", bandwidth=found["bandwidth"])["b_eff"]
    summary["b_eff"] = Quantity("B/s", mean.item())
    summary["latency"] = Quantity("s", float(found["time"][np.argmin(size)]))
    if _OPTIONAL in inputs:
        bound = _evaluate(
            "bound", network=inputs["network_bandwidth"], pcie=inputs[_OPTIONAL]
        )
        summary["pair_bound"] = Quantity("B/s", bound["bandwidth"].item())

    provenance: dict[str, Any] = {
        "formula": f"b_eff {exchange}",
        "counts": _core.models("b_eff")[exchange]["summary"],
        "sources": sources,
        "notes": _notes(inputs, hardware, overrides, calibration, ranks),
    }
    if calibration is not None:
        provenance["calibration"] = calibration.provenance
    return Result(
        kind="modelled",
        benchmark="b_eff",
        exchange=exchange,
        device=getattr(hardware, "key", None) or getattr(calibration, "device", None),
        # The exchange part alone is of host memory, whatever device was beside it.
        emulated=calibration is not None and calibration.emulated and "write" in parts,
        ranks=int(ranks),
        verified=None,
        parameters={"sizes": size.tolist(), **inputs},
        columns={
            "message_size": Column("B", size),
            "time": Column("s", found["time"]),
            "bandwidth": Column("B/s", found["bandwidth"]),
            **{f"{part}_time": Column("s", curve) for part, curve in times.items()},
        },
        summary=summary,
        provenance=provenance,
    )


def _evaluate(formula: str, **inputs: Any) -> dict[str, np.ndarray]:
    return _core.evaluate("b_eff", formula, inputs)


def _names(exchange: str) -> tuple[str, ...]:
    """Scalar inputs that a scheme takes when nothing was calibrated."""
    if exchange == "channel":
        return _CHANNEL
    links = dict.fromkeys(name for part in _PARTS[exchange] for name in _LINKS[part])
    return (*links, _OPTIONAL) if exchange == "pcie" else (*links,)


def _inputs(
    names: Sequence[str], board: Board | None, overrides: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, str]]:
    """Values and sources of the scalar inputs `names`."""
    if unknown := [name for name in overrides if name not in names]:
        raise ValueError(
            f"no input {', '.join(unknown)} here; known: {', '.join(names) or 'none'}"
        )
    values: dict[str, float] = {}
    sources: dict[str, str] = {}
    for name in names:
        fact = None if board is None else board.facts.get(_FACTS.get(name, ""))
        if name in overrides:
            values[name], sources[name] = number(name, overrides[name]), "given"
        elif name == "channels":
            values[name] = _CHANNELS_PER_KERNEL_PAIR
            sources[name] = "the kernels: one pair uses two channels"
        elif fact is not None:
            values[name], sources[name] = fact.value, fact.source
            if name == "replications":
                values[name] = max(1, fact.value // values["channels"])
                sources[name] = f"ports / channels, ports from {fact.source}"
    refuse_missing([n for n in names if n not in (*values, _OPTIONAL)], board)
    return values, sources


def _curve(calibration: Result, part: str, size: np.ndarray) -> np.ndarray:
    """Return times of one part at `size` [s], from those the calibration measured."""
    name = f"{part}_time"
    if name not in calibration.columns:
        raise ValueError(
            f"no calibration: {name} is missing in {', '.join(calibration.columns)}"
        )
    usable = ~calibration.failed & (calibration[name] > 0)
    known, order = np.unique(calibration["message_size"][usable], return_index=True)
    if not len(known):
        raise ValueError(f"the calibration has no verified {name}")
    outside = size[(size < known[0]) | (size > known[-1])]
    if len(outside):
        raise ValueError(
            f"message size {outside[0]} B lies outside the calibration "
            f"({known[0]} B to {known[-1]} B)"
        )
    measured = calibration[name][usable][order]
    return np.exp(np.interp(np.log(size), np.log(known), np.log(measured)))


def _notes(
    inputs: Mapping[str, float],
    board: Board | None,
    overrides: Mapping[str, Any],
    calibration: Result | None,
    ranks: int,
) -> list[str]:
    notes = []
    if calibration is not None and calibration.ranks != ranks:
        notes.append(f"calibrated on {calibration.ranks} ranks, used for {ranks}")
    for name in inputs:
        fact = board.facts.get(_FACTS.get(name, "")) if board is not None else None
        if fact is not None and name not in overrides:
            notes += doubt(name, fact)
    return notes
