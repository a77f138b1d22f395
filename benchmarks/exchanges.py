"""Exchange schemes beside `pcie`: ratios of the times of b_eff, in one run.

    python benchmarks/exchanges.py [--ranks 2] [--device GPU] [--rounds 8] [SCHEME ...]

The same ranks hold a session over each scheme and measure in turn, `rounds` times, so
that all meet the same machine; the best time of each counts. `auto` is held against the
fastest of the others. Ends with code 1 where a bound is missed.
"""

import argparse
import subprocess
import sys
from contextlib import ExitStack

import numpy as np

import hpccfpga
from hpccfpga import mpirun
from hpccfpga.errors import under_mpi

SIZES = [2**k for k in range(0, 25, 2)]
WANTED = {"pipelined": (0.95, 0.95), "shared": (1.0, 1.3)}
"""Least time of `pcie` over that of a scheme on CPUs: at every size, and at 1 MiB."""
AUTO = 0.97
"""Least time of the fastest scheme over that of `auto`, at every size."""


def measure(schemes, device, rounds):
    """Best times [s] of each scheme, [points]; what `auto` took in the last round."""
    from mpi4py import MPI

    best = {scheme: np.full(len(SIZES), np.inf) for scheme in schemes}
    taken, notes = [], set()
    with ExitStack() as stack:
        sessions = {
            scheme: stack.enter_context(hpccfpga.open(device, scheme, MPI.COMM_WORLD))
            for scheme in schemes
        }
        for _ in range(rounds):
            for scheme, session in sessions.items():
                found = session.run("b_eff", sizes=SIZES, reps=10, loop_upper=256)
                if not found.verified:
                    sys.exit(f"{scheme}: wrong data")
                notes |= {f"{scheme}: {n}" for n in found.provenance["notes"]}
                best[scheme] = np.fmin(best[scheme], found["time"])
                taken = found["scheme"] if scheme == "auto" else taken
        if session.rank == 0:
            print(*sorted(notes), sep="\n", file=sys.stderr)
    return best, taken


def main():
    """Print a row for each size; return whether a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("schemes", nargs="*", default=[*WANTED, "auto"])
    given = parser.parse_args()
    if under_mpi() is None:
        words = [word for word in mpirun.command() if word != "--tag-output"]
        words += ["-n", str(given.ranks), sys.executable, *sys.argv]
        return subprocess.call(words)
    schemes = list(dict.fromkeys(["pcie", *given.schemes]))
    best, taken = measure(schemes, given.device, given.rounds)
    return report(best, taken) if under_mpi() == 0 else 0


def report(best, taken):
    """Print what was found; return whether a bound is missed."""
    print("size [B]    ", *(f"{scheme + ' [us]':>14} ratio" for scheme in best))
    for i, size in enumerate(SIZES):
        cells = (
            f"{best[s][i] * 1e6:14.2f} {best['pcie'][i] / best[s][i]:5.2f}"
            for s in best
        )
        print(f"{size:<12}", *cells, *taken[i : i + 1])
    missed = False
    for scheme in WANTED.keys() & best:
        ratios = best["pcie"] / best[scheme]
        everywhere, long = WANTED[scheme]
        ok = ratios.min() >= everywhere and ratios[SIZES.index(2**20)] >= long
        missed = missed or not ok
        print(
            f"{scheme}: at least {ratios.min():.2f} (wanted {everywhere}), at 1 MiB "
            f"{ratios[SIZES.index(2**20)]:.2f} (wanted {long})"
        )
    if "auto" in best:
        fastest = np.min([best[s] for s in best if s != "auto"], axis=0)
        ratios = fastest / best["auto"]
        missed = missed or ratios.min() < AUTO
        print(f"auto: at least {ratios.min():.2f} of the fastest (wanted {AUTO})")
    return missed


if __name__ == "__main__":
    sys.exit(main())
