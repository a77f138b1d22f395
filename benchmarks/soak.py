"""Thousands of short runs in one process: memory, files and threads must not grow.

Every run opens a device, loads kernels, allocates, measures, verifies and closes again,
every other one over a duplicate of MPI.COMM_SELF. OpenCL has no call that counts a
process's objects, and PoCL keeps no count that could be read from outside: an object
that is left behind shows as memory alone, and the bound is below the size of one event
per run. Ends with 1 on growth.
"""

import argparse
import ctypes
import gc
import os
import resource
import sys
from pathlib import Path
from time import perf_counter

from mpi4py import MPI

import hpccfpga

BYTES_PER_RUN = 128  # growth that is still noise
SHORT = {"sizes": [1, 1000], "reps": 1, "loop_upper": 1, "loop_lower": 1}


class Mallinfo(ctypes.Structure):
    """What glibc's mallinfo2 returns, of all arenas: [4] mapped, [7] from the heap."""

    _fields_ = (("bytes", ctypes.c_size_t * 10),)


mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo


def usage() -> dict[str, int]:
    """Memory allocated and resident [B], open files and threads of this process."""
    gc.collect()
    heap = mallinfo()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "allocated": heap.bytes[4] + heap.bytes[7],
        "resident": pages * resource.getpagesize(),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }


def main() -> int:
    """Run, look at the process now and then; 0 when nothing grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--exchange", default="pcie")
    options = parser.parse_args()

    settled = options.runs // 5  # caches and allocators have filled by then
    before = {}
    start = perf_counter()
    for number in range(1, options.runs + 1):
        comm = MPI.COMM_SELF if number % 2 else None
        result = hpccfpga.run(
            "b_eff", exchange=options.exchange, comm=comm, seed=number, **SHORT
        )
        if not result.verified:
            sys.exit(f"run {number} did not verify")
        if number == settled:
            before = usage()
        if number % max(1, options.runs // 10) == 0:
            figures = ", ".join(f"{name} {value}" for name, value in usage().items())
            print(f"{number} runs, {perf_counter() - start:.0f} s: {figures}")

    grown = {name: value - before[name] for name, value in usage().items()}
    bytes_grown = {name: grown[name] for name in ("allocated", "resident")}
    per_run = {name: n / (options.runs - settled) for name, n in bytes_grown.items()}
    figures = ", ".join(f"{name} {n:.0f} B" for name, n in per_run.items())
    print(f"growth since run {settled}: {grown}; per run: {figures}")
    good = max(per_run.values()) < BYTES_PER_RUN
    good = good and grown["files"] <= 0 and grown["threads"] <= 0
    print("no growth" if good else "growth")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
