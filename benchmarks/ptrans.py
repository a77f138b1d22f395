"""PTRANS beside plain C: kernels, host-side overhead, exchange, verification.

On one rank the kernels run against a blocked C = B + A^T on as many threads, blocks
and tiles alike (`ptrans_yardstick.c`). What a step costs the host whatever its size is
less than a step of one block, most of which is launch and wait. On two and four ranks
the exchange runs against copying and sending the same bytes, within the same step in
plain C (`ptrans_exchange.c`): on a grid of 2 x 2 two ranks have no partner, and what
they add meanwhile takes cores and memory from those that exchange, in both programs.
What the exchange alone takes in C is printed beside it. Interleaved rounds, medians.
Ends with 1 when a target is missed.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from programs import CPU, compiled, compiled_for, mpirun, output

FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O3", "-march=native", "-pthread"]
# What is compared, and the most that it may be.
TARGETS = {
    "kernel time / transposition in C": 1.1,
    "step of one block / step": 0.05,
    "verification / step": 1.0,
    "exchange / copying and sending, 2 ranks": 1.1,
    "exchange / copying and sending, 4 ranks": 1.1,
}


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", type=int, default=5, help="samples per round")
    parser.add_argument("--ranks", default="1,2,4", help="of 1, 2 and 4")
    return parser.parse_args()


def product(
    options: argparse.Namespace, ranks: int, folder: Path, size: int
) -> dict[str, float]:
    """Seconds of a step and of its parts, by hpccfpga."""
    path = folder / "result.json"
    command = [sys.executable, "-m", "hpccfpga", "run", "ptrans", "--quiet"]
    command += [f"--device={CPU}"]
    command += [f"--sizes={size}", f"--reps={options.reps}", f"--json={path}"]
    output([*command, f"--ranks={ranks}"] if ranks > 1 else command)
    result = json.loads(path.read_text())
    names = ("transfer_time", "exchange_time", "kernel_time", "verify_time", "time")
    return {name: result["columns"][name]["values"][0] for name in names}


def one_rank(options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Ratios of a round on one rank."""
    ours = product(options, 1, folder, options.size)
    least = product(options, 1, folder, 32)["time"]
    threads = len(os.sched_getaffinity(0))
    rate = output(
        [
            str(folder / "ptrans_yardstick"),
            *map(str, (options.size, options.reps, threads)),
        ]
    )
    theirs = options.size**2 / float(rate)
    print(
        f"  1 rank:  kernel {ours['kernel_time']:.4f} s, C {theirs:.4f} s, "
        f"one block {least:.6f} s",
        flush=True,
    )
    return {
        "kernel time / transposition in C": ours["kernel_time"] / theirs,
        "step of one block / step": least / ours["time"],
        "verification / step": ours["verify_time"] / ours["time"],
    }


def several_ranks(
    options: argparse.Namespace, ranks: int, folder: Path
) -> dict[str, float]:
    """Ratio of a round on two or four ranks."""
    ours = product(options, ranks, folder, options.size)
    moved = ours["transfer_time"] + ours["exchange_time"]
    numbers = map(str, (options.size, options.reps, len(os.sched_getaffinity(0))))
    program = [str(folder / "ptrans_exchange"), *numbers]
    theirs, alone = map(float, output([*mpirun(ranks), *program]).split())
    print(
        f"  {ranks} ranks: exchange {moved:.4f} s, C {theirs:.4f} s, "
        f"C without additions {alone:.4f} s",
        flush=True,
    )
    return {f"exchange / copying and sending, {ranks} ranks": moved / theirs}


def main() -> int:
    """Measure the rounds; 0 when every target is met."""
    options = arguments()
    chosen = [int(ranks) for ranks in options.ranks.split(",")]
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled("ptrans_yardstick", folder, *FLAGS)
        compiled("ptrans_exchange", folder, *FLAGS, cc="mpicc")
        for _ in range(options.rounds):
            for ranks in chosen:
                ratios = (
                    one_rank(options, folder)
                    if ranks == 1
                    else several_ranks(options, ranks, folder)
                )
                for what, ratio in ratios.items():
                    found.setdefault(what, []).append(ratio)
    met, device = True, compiled_for()
    for what, ratios in found.items():
        good = median(ratios) <= TARGETS[what]
        met = met and good
        verdict = "" if good else "missed"
        figures = f"{median(ratios):>8.3f}  target {TARGETS[what]:.2f}"
        print(f"{what:<42}{figures}  {verdict:<8}{device}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
