"""What performance models expect; the equations themselves are C (`csrc/model/`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.boards import Board
from hpccfpga.boards import board as find_board
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.tables import digits

SIZES = tuple(2**n for n in range(21))
"""Message sizes of b_eff by its definition [B]."""

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


def model(
    benchmark: str,
    *,
    exchange: str,
    board: str | None = None,
    sizes: Iterable[int] | None = None,
    ranks: int | None = None,
    calibration: Result | None = None,
    **overrides: float,
) -> Result:
    """Return what the performance model of a benchmark expects.

    Over "channel" (Eq. 3 and 4) the inputs are channels (per kernel pair, default 2),
    replications (kernel pairs, default the board's ports / channels), width [B], clock
    [Hz] and latency [s]. Over "pcie" (Eq. 2) and "host" they are the curves of a
    calibration, or latencies and bandwidths of links: pcie_latency [s],
    write_bandwidth, read_bandwidth [B/s], network_latency [s], network_bandwidth [B/s],
    and, for Eq. 7 alone, pcie_bandwidth [B/s], which may be missing.

    Parameters
    ----------
    benchmark : str
        "b_eff".
    exchange : str
        "channel", "pcie" or "host".
    board : str, optional
        Board whose data feed the model, as `hpccfpga.board` takes it.
    sizes : iterable of int, optional
        Message sizes [B]; default those of the calibration, else 2^0 ... 2^20.
    ranks : int, optional
        Number of ranks; default that of the calibration, else 1.
    calibration : Result, optional
        What `hpccfpga.calibrate` measured. Between its sizes, times are interpolated on
        logarithmic axes; outside them nothing is guessed.
    **overrides : float
        Inputs by the names above, in place of the board's.

    Returns
    -------
    Result
        Of kind "modelled": message_size [B], time [s per step], bandwidth [B/s] and the
        parts write_time, exchange_time, read_time [s] that the scheme has, each
        [points]; summary b_eff [B/s], latency [s] and, where pcie_bandwidth is known,
        pair_bound [B/s] (Eq. 7, for two ranks). `provenance["counts"]` says what the
        bandwidth counts.

    Raises
    ------
    LookupError
        Unknown benchmark, exchange or board; the message lists the known ones.
    ValueError
        Unknown, missing or impossible inputs; sizes outside the calibration.
    """
    check(benchmark, exchange, calibrated=calibration is not None)
    if calibration is not None and board is not None:
        raise ValueError("a calibration takes no board")
    if sizes is None:
        sizes = SIZES if calibration is None else calibration["message_size"].tolist()
    if ranks is None:
        ranks = 1 if calibration is None else calibration.ranks
    size = _checked_sizes(sizes)
    if ranks != int(ranks) or ranks < 1:
        raise ValueError(f"ranks is {ranks}, not a number from 1 up")
    hardware = None if board is None else find_board(board)
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


def check(benchmark: str, exchange: str, calibrated: bool = False) -> None:
    """Raise LookupError if there is no such model, or none that a calibration feeds."""
    if benchmark != "b_eff":
        raise LookupError(f"no model of {benchmark!r}; known: b_eff")
    known = [name for name, parts in _PARTS.items() if parts or not calibrated]
    if exchange not in known:
        fed = " from a calibration" if calibrated else ""
        raise LookupError(
            f"no model of b_eff over exchange {exchange!r}{fed}; "
            f"known: {', '.join(known)}"
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
            values[name], sources[name] = _number(name, overrides[name]), "given"
        elif name == "channels":
            values[name] = _CHANNELS_PER_KERNEL_PAIR
            sources[name] = "the kernels: one pair uses two channels"
        elif fact is not None:
            values[name], sources[name] = fact.value, fact.source
            if name == "replications":
                values[name] = max(1, fact.value // values["channels"])
                sources[name] = f"ports / channels, ports from {fact.source}"
    if missing := [name for name in names if name not in (*values, _OPTIONAL)]:
        who = "no board was given, and" if board is None else f"board {board.key} lacks"
        raise ValueError(f"{who} {', '.join(missing)}: give {missing[0]}=... and so on")
    return values, sources


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    allowed = number >= 0 if name.endswith("latency") else number > 0
    if not allowed or np.isinf(number):
        raise ValueError(f"{name} is {value!r}, not a positive number")
    return number


def _checked_sizes(sizes: Iterable[Any]) -> np.ndarray:
    """Message sizes as int64 [points]."""
    checked = []
    for size in sizes:
        try:
            whole = int(size)
        except (TypeError, ValueError, OverflowError):
            whole = 0
        if whole < 1 or whole != size or whole > 2**53:
            raise ValueError(
                f"message size {size!r} is not a number of bytes from 1 up"
            )
        checked.append(whole)
    if not checked:
        raise ValueError("no message sizes given")
    return np.array(checked, np.int64)


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
        if fact is not None and not fact.verified and name not in overrides:
            value = digits(fact.value) if fact.value >= 1 else f"{fact.value:g}"
            notes.append(
                f"{name} of {value} {fact.unit} is not verified: {fact.source}"
            )
    return notes
