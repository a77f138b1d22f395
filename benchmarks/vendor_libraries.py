"""STREAM, GEMM and FFT on a GPU beside what its vendor's libraries do, in one run.

CuPy calls cuBLAS, cuFFT and the device's own copy. Rounds are interleaved, medians are
compared. Ends with 1 if STREAM's triad falls short of 0.85 of the measured copy; the
other rows are recorded.

    python benchmarks/vendor_libraries.py --device NVIDIA --json rows.json
"""

import argparse
import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import cupy
from cupy.cuda import cufft

import hpccfpga

REPS = 10


def seconds(call: Callable[[], Any]) -> float:
    """Time of the fastest of REPS calls, by events on the device."""
    call()
    times = []
    for _ in range(REPS):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
    return min(times)


def copied(size: int) -> float:
    """Bandwidth of a copy of `size` floats, read and written [B/s]."""
    source = cupy.ones(size, cupy.float32)
    target = cupy.empty_like(source)
    return 8 * size / seconds(lambda: cupy.copyto(target, source))


def multiplied(n: int) -> float:
    """Rate of cuBLAS's sgemm for matrices of n x n [FLOP/s]."""
    a, b = (cupy.random.random((n, n), cupy.float32) for _ in range(2))
    c = cupy.empty_like(a)
    return 2 * n**3 / seconds(lambda: cupy.matmul(a, b, out=c))


def transformed(log_size: int, batch: int) -> float:
    """Rate of cuFFT for `batch` transforms of 2^log_size points [FLOP/s]."""
    n = 1 << log_size
    points = cupy.random.random((batch, 2 * n), cupy.float32).view(cupy.complex64)
    plan = cufft.Plan1d(n, cufft.CUFFT_C2C, batch)
    out = cupy.empty_like(points)
    forward = cufft.CUFFT_FORWARD
    return 5 * n * log_size * batch / seconds(lambda: plan.fft(points, out, forward))


ROWS: list[tuple[str, str, dict[str, Any], Callable[[], float], float | None]] = [
    ("stream", "triad", {"size": 1 << 27, "steps": 5}, lambda: copied(1 << 27), 0.85),
    ("gemm", "flops", {"sizes": [2048]}, lambda: multiplied(2048), None),
    ("gemm", "flops", {"sizes": [8192]}, lambda: multiplied(8192), None),
    *(
        (
            "fft",
            "flops",
            {"log_size": log, "batch": 1 << (26 - log)},
            lambda log=log: transformed(log, 1 << (26 - log)),
            None,
        )
        for log in (10, 12, 17)
    ),
]


def main() -> int:
    """Print the rows; 0 if the target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="NVIDIA", help="as for hpccfpga run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="save the rows")
    options = parser.parse_args()
    rows, met = [], True
    with hpccfpga.open(options.device) as session:
        for name, figure, params, theirs, target in ROWS:
            pairs = []
            for _ in range(options.rounds):
                result = session.run(name, reps=REPS, **params)
                if not result.verified:
                    sys.exit(f"{name} {params} did not verify")
                pairs.append((result.summary[figure].value, theirs()))
            ours, yardstick = (median(side) for side in zip(*pairs, strict=True))
            unit = result.summary[figure].unit
            short = target is not None and ours / yardstick < target
            met = met and not short
            rows.append(
                {"benchmark": name, "figure": figure, "unit": unit, **params,
                 "hpccfpga": ours, "vendor": yardstick, "ratio": ours / yardstick,
                 "device": result.device, "kernel": result.provenance["kernel"]["name"]}
            )  # fmt: skip
            print(
                f"{name:8}{params!s:36}{ours:12.4g}{yardstick:12.4g} {unit:8}"
                f"{ours / yardstick:7.3f}{'  missed' * short}",
                flush=True,
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
