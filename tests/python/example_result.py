"""Small results with known numbers, for tests of what handles results."""

import numpy as np

from hpccfpga.result import Column, Quantity, Result
from hpccfpga.traces import Trace

_SPAN = {
    "point": ("1", np.int64),
    "rank": ("1", np.int64),
    "queue": ("1", np.int64),
    "kind": ("1", str),
    "label": ("1", str),
    "bytes": ("B", np.int64),
    "start": ("s", float),
    "end": ("s", float),
}


def measured(sizes=(1, 64, 4096), ranks=2, failed=None, latency=10e-6, **fields):
    """Measured b_eff: 5 repetitions at 1.0 ... 1.4 times latency + size / 1 GB/s."""
    size = np.array(sizes, np.int64)
    best = latency + size / 1e9
    slowest = best[:, None] * (1 + 0.1 * np.arange(5))
    samples = np.stack(
        [slowest * (0.9 if rank else 1) for rank in range(ranks)], axis=2
    )
    verified = np.ones(len(size), bool)
    if failed is not None:
        verified[failed] = False
    columns = {
        "message_size": Column("B", size),
        "samples": Column("s", samples),
        "warmup": Column("s", samples[:, :1] * 3),
        "time": Column("s", best),
        "time_median": Column("s", 1.2 * best),
        "time_low": Column("s", 1.1 * best),
        "time_high": Column("s", 1.3 * best),
        "time_p95": Column("s", np.full(len(size), np.nan)),
        "bandwidth": Column("B/s", ranks * size / best),
        "bandwidth_median": Column("B/s", ranks * size / best / 1.2),
        "reps": Column("1", np.full(len(size), 5)),
        "verified": Column("1", verified),
    }
    base = {
        "kind": "measured",
        "benchmark": "b_eff",
        "exchange": "pcie",
        "device": "opencl <cpu> & more",
        "emulated": True,
        "ranks": ranks,
        "verified": bool(verified.all()),
        "parameters": {"seed": 1, "sizes": size, "loop": "timer"},
        "columns": columns,
        "summary": {
            "b_eff": Quantity("B/s", float(np.mean(ranks * size / best))),
            "latency": Quantity("s", float("nan")),
        },
        "provenance": {"notes": ["a <remark>"]},
    }
    return Result(**(base | fields))


def trace(*rows):
    """Trace of rows in the order of _SPAN."""
    columns = zip(*rows, strict=True) if rows else [()] * len(_SPAN)
    return Trace(
        {
            name: Column(unit, np.array(values, dtype))
            for (name, (unit, dtype)), values in zip(
                _SPAN.items(), columns, strict=True
            )
        }
    )


def span(kind, start, end, rank=0, queue=0, point=0, label="", size=0):
    return (point, rank, queue, kind, label, size, start, end)


def traced(ranks=2, steps=8):
    """Steps of 30 us on each rank: read, message, write, and a kernel beside them."""
    rows = []
    for rank in range(ranks):
        zero = 1e-6 * rank
        rows.append(span("sample", zero, zero + 30e-6 * steps, rank, -2, 2))
        for step in range(steps):
            at = zero + 30e-6 * step
            to = f"with {1 - rank}" if ranks == 2 else "to 1, from 3"
            rows += [
                span("read", at, at + 9e-6, rank, 0, 2, "", 4096),
                span("message", at + 10e-6, at + 19e-6, rank, -1, 2, to, 4096),
                span("write", at + 20e-6, at + 29e-6, rank, 0, 2, "", 4096),
                span("kernel", at + 15e-6, at + 24e-6, rank, 1, 2, "b_$eff_fill"),
            ]
    result = measured(ranks=ranks)
    result.columns["inner"] = Column("1", np.full(3, steps))
    result.trace = trace(*rows)
    return result
