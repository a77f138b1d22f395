"""Eq. 3 inverted: latency and time of a chunk from a measurement."""

from __future__ import annotations

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import number
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.text import brief

_CHANNELS = 2  # of a kernel pair, in the published kernels and in ours


def fit(measured: Result, *, width: float | None = None) -> Result:
    """Fit Eq. 3 to a run of b_eff over external channels.

    Least squares of the relative residuals, so that each size counts the same.

    Parameters
    ----------
    measured : Result
        A run over "channel", measured or published, of two sizes of different numbers
        of chunks at least; points that did not verify are left out.
    width : float, optional
        Bytes of a packet [B]; default: the run's parameter, else 32.

    Returns
    -------
    Result
        Modelled: `message_size` [B], `time` [s], `bandwidth` [B/s] of all ranks, and
        `residual`, the measured over the fitted time less 1. Its summary has the
        `latency` [s] of a message, the `chunk_time` [s] and `b_eff` [B/s].

    Raises
    ------
    TypeError
        No result.
    ValueError
        Another benchmark or exchange, an impossible width, or too few sizes.
    """
    if not isinstance(measured, Result):
        raise TypeError(f"only a result can be fitted, not {brief(measured)}")
    if measured.benchmark != "b_eff" or measured.exchange != "channel":
        what = f"{measured.benchmark} over {measured.exchange}"
        raise ValueError(f"only b_eff over channel can be fitted, not {what}")
    if width is None:
        width = measured.parameters.get("channel_width", 32)
    width = number("width", width)
    keep = np.isfinite(measured["bandwidth"]) & np.isfinite(measured["time"])
    size, time, rate = (
        measured[name][keep].astype(float)
        for name in ("message_size", "time", "bandwidth")
    )
    if len(np.unique(np.ceil(size / (_CHANNELS * width)))) < 2:
        raise ValueError(
            "a fit needs sizes of two different numbers of chunks at least"
        )
    (formula,) = (f for f in _core.models("b_eff") if f["role"] == "fitted")
    found = _core.evaluate(
        "b_eff",
        formula["index"],
        {"message_size": size, "measured": time, "channels": _CHANNELS, "width": width},
    )
    fitted = rate * time / found["time"]
    figures = _core.figures("b_eff", size, {"bandwidth": fitted})
    return Result(
        kind="modelled",
        benchmark="b_eff",
        exchange="channel",
        device=measured.device,
        emulated=measured.emulated,
        ranks=measured.ranks,
        verified=None,
        parameters={"channels": _CHANNELS, "width": width},
        columns={
            "message_size": Column("B", measured["message_size"][keep]),
            "time": Column("s", found["time"]),
            "bandwidth": Column("B/s", fitted),
            "residual": Column("1", found["residual"]),
        },
        summary={
            **{name: Quantity(*pair) for name, pair in figures.items()},
            "latency": Quantity("s", float(found["latency"][0])),
            "chunk_time": Quantity("s", float(found["chunk_time"][0])),
        },
        provenance={"model": "Eq. 3 fitted", "fitted_to": measured.label},
    )
