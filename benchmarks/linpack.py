"""LINPACK beside OpenBLAS: the factorisation, the solution, the verification.

The factorisation runs against `getrf` of the OpenBLAS that comes with NumPy, on as
many threads, which pivots: its matrix is diagonally dominant, too, so that rows stay
where they are. Several ranks that share the cores run against one. With --published
the kernels of the published suite factor, too, on as many threads. Interleaved rounds,
medians of ratios of the best times. With --grids grids of up to 25 ranks verify first,
and the pipelines at n = 1024, in blocks of a board. Ends with 1 when a target is
missed, or a grid's data is wrong.
"""

import argparse
import ctypes
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from programs import CPU, compiled, output

LINPACK = [
    sys.executable,
    "-m",
    "hpccfpga",
    "run",
    "linpack",
    f"--device={CPU}",
    "--quiet",
]

# What is compared, and the least that it may be; (over) the most.
TARGETS = {
    "sgetrf / float, n = 4096": (0.9, False),
    "sgetrf / float, n = 8192": (1.0, False),
    "dgetrf / double, n = 4096": (0.9, False),
    "one rank / 2 x 2 ranks, n = 8192": (0.85, False),
    "solution and verification / float, n = 4096": (0.1, True),
    "published kernels / float, n = 2048": (8, False),
}


GRIDS = [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 4), (5, 5)]


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=3, help="samples per round")
    parser.add_argument("--block-size", type=int, default=256)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--grids", action="store_true", help="verify grids of ranks")
    parser.add_argument(
        "--published", metavar="FOLDER", help="of https://github.com/pc2/HPCC_FPGA"
    )
    options = parser.parse_args()
    if not wanted(options, *TARGETS):
        parser.error(f"--only {options.only} is part of none of {', '.join(TARGETS)}")
    return options


def wanted(options: argparse.Namespace, *names: str) -> bool:
    """Whether one of these was asked for."""
    return any(options.only in name for name in names)


def openblas() -> ctypes.CDLL:
    """Load the OpenBLAS in NumPy's wheel, which has 64-bit integers."""
    folder = Path(np.__file__).parents[1] / "numpy.libs"
    found = sorted(folder.glob("*openblas64*"))
    if not found:
        sys.exit(f"no OpenBLAS in {folder}: NumPy's wheels have one")
    library = ctypes.CDLL(str(found[0]))
    library.scipy_openblas_set_num_threads64_(len(os.sched_getaffinity(0)))
    return library


def theirs(library: ctypes.CDLL, letter: str, n: int, reps: int) -> float:
    """Best seconds of a factorisation by OpenBLAS."""
    dtype = np.float32 if letter == "s" else np.float64
    matrix = np.random.default_rng(1).random((n, n), dtype) - dtype(0.5)
    matrix[np.arange(n), np.arange(n)] = n / 2
    pivots = np.empty(n, np.int64)
    size, info = ctypes.c_int64(n), ctypes.c_int64(0)
    best = float("inf")
    for _ in range(reps):
        work = matrix.copy()
        begin = time.perf_counter()
        getattr(library, f"scipy_{letter}getrf_64_")(
            ctypes.byref(size),
            ctypes.byref(size),
            work.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(size),
            pivots.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(info),
        )
        best = min(best, time.perf_counter() - begin)
        if info.value != 0:
            sys.exit(f"{letter}getrf ended with {info.value}")
    return best


def ours(
    options: argparse.Namespace, n: int, data_type: str, ranks: int = 1
) -> dict[str, float]:
    """Best seconds of a factorisation by hpccfpga, and of what follows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [*LINPACK, f"--sizes={n}", f"--reps={options.reps}", f"--json={path}"]
        command += [f"--data-type={data_type}", f"--block-size={options.block_size}"]
        output([*command, f"--ranks={ranks}"] if ranks > 1 else command)
        columns = json.loads(path.read_text())["columns"]
    names = ("time", "solve_time", "verify_time")
    return {name: columns[name]["values"][0] for name in names}


def published(options: argparse.Namespace, n: int) -> float:
    """Best rate of the published suite's kernels [FLOP/s]."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["-O3", "-lOpenCL", "-lm"]
        program = compiled("published_yardstick", folder, *flags)
        words = ["linpack", options.published, str(n), str(options.reps)]
        return float(output([program, *words]))


def round_take(options: argparse.Namespace, library: ctypes.CDLL) -> dict[str, float]:
    """Ratios of a round."""
    ratios = {}
    after_name = "solution and verification / float, n = 4096"
    name = "published kernels / float, n = 2048"
    if options.published and wanted(options, name):
        theirs_rate = published(options, 2048)
        rate = 2 / 3 * 2048**3 / ours(options, 2048, "float")["time"]
        print(f"  {name}: {theirs_rate / 1e9:.1f} and {rate / 1e9:.1f} GFLOP/s")
        ratios[name] = rate / theirs_rate
    for letter, data_type, n in (
        ("s", "float", 4096),
        ("s", "float", 8192),
        ("d", "double", 4096),
    ):
        name = f"{letter}getrf / {data_type}, n = {n}"
        names = [name, after_name] if (letter, n) == ("s", 4096) else [name]
        if not wanted(options, *names):
            continue
        blas, mine = (
            theirs(library, letter, n, options.reps),
            ours(options, n, data_type),
        )
        rate = 2 * n**3 / 3e9
        print(
            f"  {name}: {rate / blas:.1f} and {rate / mine['time']:.1f} GFLOP/s",
            flush=True,
        )
        ratios[name] = blas / mine["time"]
        if after_name in names:
            after = mine["solve_time"] + mine["verify_time"]
            ratios[after_name] = after / mine["time"]
    name = "one rank / 2 x 2 ranks, n = 8192"
    if wanted(options, name):
        one = ours(options, 8192, "float")["time"]
        ratios[name] = one / ours(options, 8192, "float", 4)["time"]
    return ratios


def grids_verify() -> None:
    """Run every grid over `pcie` once; the command ends with 1 for wrong data."""
    for p, q in GRIDS:
        command = [*LINPACK, f"--ranks={p * q}", f"--grid={p}x{q}", "--exchange=pcie"]
        output([*command, "--sizes=97,700", "--block-size=32", "--reps=1"])
        print(f"grid {p}x{q}: verified", flush=True)
    output([*LINPACK, "--shape=pipeline", "--sizes=1024", "--reps=1"])
    print("pipelines, n = 1024: verified", flush=True)


def main() -> int:
    """Print the medians of all rounds."""
    options, library = arguments(), openblas()
    if options.grids:
        grids_verify()
    rounds = [round_take(options, library) for _ in range(options.rounds)]
    missed = False
    for name, (bound, most) in TARGETS.items():
        values = [r[name] for r in rounds if name in r]
        if not values:
            continue
        value = median(values)
        good = value <= bound if most else value >= bound
        missed |= not good
        sign = "<=" if most else ">="
        print(f"{name}: {value:.3f} ({sign} {bound}{'' if good else ', MISSED'})")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
