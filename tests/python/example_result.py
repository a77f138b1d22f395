"""A small measured result with known numbers, for tests of what handles results."""

import numpy as np

from hpccfpga.result import Column, Quantity, Result


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
