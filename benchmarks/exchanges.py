"""Exchange schemes beside `pcie`: ratios of the times of b_eff, in one run.

    python benchmarks/exchanges.py [--ranks 2] [--device GPU] [--rounds 4] [SCHEME ...]

Schemes are measured in turn, `rounds` times, so that all meet the same machine; the
best time of each counts. Ends with code 1 where a bound of `WANTED` is missed.
"""

import argparse
import sys

import numpy as np

import hpccfpga

SIZES = [2**k for k in range(0, 25, 2)]
WANTED = {"pipelined": (0.95, 0.95), "shared": (1.0, 1.3)}
"""Least time of `pcie` over that of a scheme on CPUs: at every size, and at 1 MiB."""


def measure(schemes, ranks, device, rounds):
    """Best times [s] of each scheme, [points]."""
    best = {scheme: np.full(len(SIZES), np.inf) for scheme in schemes}
    for _ in range(rounds):
        for scheme in schemes:
            found = hpccfpga.run(
                "b_eff", exchange=scheme, device=device, ranks=ranks, sizes=SIZES,
                reps=15,
            )  # fmt: skip
            if not found.verified:
                sys.exit(f"{scheme}: wrong data")
            for note in found.provenance["notes"]:
                print(f"{scheme}: {note}", file=sys.stderr)
            best[scheme] = np.fmin(best[scheme], found["time"])
    return best


def main():
    """Print a row for each size; return whether a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("schemes", nargs="*", default=list(WANTED))
    given = parser.parse_args()
    schemes = list(dict.fromkeys(["pcie", *given.schemes]))
    best = measure(schemes, given.ranks, given.device, given.rounds)
    print("size [B]    ", *(f"{scheme + ' [us]':>14} ratio" for scheme in schemes))
    for i, size in enumerate(SIZES):
        cells = (
            f"{best[s][i] * 1e6:14.2f} {best['pcie'][i] / best[s][i]:5.2f}"
            for s in schemes
        )
        print(f"{size:<12}", *cells)
    missed = False
    for scheme in WANTED.keys() & set(schemes):
        ratios = best["pcie"] / best[scheme]
        everywhere, long = WANTED[scheme]
        ok = ratios.min() >= everywhere and ratios[SIZES.index(2**20)] >= long
        missed = missed or not ok
        print(
            f"{scheme}: at least {ratios.min():.2f} (wanted {everywhere}), at 1 MiB "
            f"{ratios[SIZES.index(2**20)]:.2f} (wanted {long})"
        )
    return missed


if __name__ == "__main__":
    sys.exit(main())
