"""What hpccfpga costs beside the least code that does the same.

Runs the ring of b_eff by hpccfpga and by minimal programs, interleaved over several
rounds, with the same ``mpirun``, sizes, loop lengths and number of samples:

* ``pcie`` against ``pcie_ring.c`` (OpenCL and MPI calls, nothing else),
* ``host`` against ``host_ring.c`` (MPI_Sendrecv) and ``host_ring.py`` (mpi4py),
* windows that slide, as those of b_eff and of all these programs do, against windows in
  place: both by the same C program, in turn.

Every figure is a median over rounds of a ratio taken within one round. Ends with 1 when
a target is missed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median

from programs import CPU, compiled, mpirun, output
from steady import Steady

HERE = Path(__file__).parent
SCHEMES = ("pcie", "host")
SHARE_OF_C = 0.97  # of the effective bandwidth of the C program
LEAST_SHORT = 0.85  # of the C program's rate at each size up to SHORT, over `host`
SHORT = 2048  # [B]
SLIDING = 1.02  # most time of windows that slide, in place taken as 1
CLASSES = ((1, 2048), (4096, 65536), (131072, 1 << 31))  # of sizes, both ends in [B]
SMALL = 4096  # up to here `host` must beat mpi4py at every size [B]

Times = dict[int, float]  # seconds per step of each size [B]


def slide(exchange: str, size: int) -> int:
    """From one window of b_eff to the next [B]: slide_of in csrc/bench/b_eff.c."""
    return 128 if exchange == "pcie" else 16 if size < 4096 else 8192


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchange", choices=SCHEMES, help="default: all of them")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--reps", type=int, default=15, help="samples per size")
    parser.add_argument("--sizes", help="message sizes [B], as for hpccfpga run")
    parser.add_argument("--device", default=CPU, help="as for hpccfpga run")
    return parser.parse_args()


class Rings:
    """The programs, ready to run.

    Parameters
    ----------
    options : Namespace
        Ranks, samples, sizes and device.
    folder : Path
        Where programs and results are put.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.mpirun = mpirun(options.ranks)
        for name in ("host_ring", "pcie_ring"):
            flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-lOpenCL"]
            compiled(name, folder, *flags, cc="mpicc")

    def product(self, exchange: str) -> tuple[Times, dict[int, int], str]:
        """Time of each size [s] by hpccfpga, its loop lengths, its device's name."""
        path = self.folder / "result.json"
        command = [sys.executable, "-m", "hpccfpga", "run", "b_eff"]
        command += ["--exchange", exchange, "--reps", str(self.options.reps)]
        command += ["--json", str(path)]
        if self.options.sizes:
            command += ["--sizes", self.options.sizes]
        if exchange == "pcie":
            command += ["--device", self.options.device]
        output(self.mpirun + command)
        result = json.loads(path.read_text())
        sizes, time, inner = (
            result["columns"][name]["values"]
            for name in ("message_size", "time", "inner")
        )
        # "opencl:1 NVIDIA H200" of each rank
        devices = {text.split(" ", 1)[1] for text in result["provenance"]["devices"]}
        if len(devices) > 1:
            sys.exit(f"ranks on {', '.join(sorted(devices))}: choose by --device")
        return (
            dict(zip(sizes, time, strict=True)),
            dict(zip(sizes, inner, strict=True)),
            devices.pop(),
        )

    def minimal(self, program: list[str], plan: list[str]) -> dict[str, Times]:
        """Time of each size [s] by a minimal program: its best samples of each kind."""
        command = [*self.mpirun, *program, str(self.options.reps), *plan]
        rows = [json.loads(line) for line in output(command).splitlines()]
        kinds = [name for name in ("samples", "in_place") if name in rows[0]]
        return {kind: {row["size"]: min(row[kind]) for row in rows} for kind in kinds}

    def rounds(self, exchange: str) -> dict[str, list[Times]]:
        """Run every program once a round, in alternating order; their times."""
        _, loops, device = self.product(exchange)
        plan = [f"{z}:{steps}:{slide(exchange, z)}" for z, steps in loops.items()]
        programs = {
            "pcie": {"C": [str(self.folder / "pcie_ring"), device]},
            "host": {
                "C": [str(self.folder / "host_ring")],
                "mpi4py": [sys.executable, str(HERE / "host_ring.py")],
            },
        }[exchange]
        runs: dict[str, Callable[[], dict[str, Times]]]
        runs = {"hpccfpga": lambda: {"samples": self.product(exchange)[0]}}
        for name, program in programs.items():
            runs[name] = lambda program=program: self.minimal(program, plan)
        times: dict[str, list[Times]] = {}
        for found in Steady(self.folder).rounds(self.options.rounds, runs):
            for name, kinds in found.items():
                for kind, taken in kinds.items():
                    key = name if kind == "samples" else f"{name} in place"
                    times.setdefault(key, []).append(taken)
        return times


def b_eff(times: Times) -> float:
    """Mean bandwidth over the sizes [B/s per rank]."""
    return fmean(size / seconds for size, seconds in times.items())


def table(exchange: str, times: dict[str, list[Times]]) -> None:
    """Print the median time of every program at every size."""
    others = [name for name in times if name != "hpccfpga"]
    print(f"\n{exchange}: time per step [us], median over rounds; ratio to hpccfpga")
    heads = "".join(f"{name:>12}{'ratio':>8}" for name in others)
    print(f"{'size [B]':>10}{'hpccfpga':>12}{heads}")
    for size in times["hpccfpga"][0]:
        row = f"{size:>10}{1e6 * median(t[size] for t in times['hpccfpga']):>12.3f}"
        for name in others:
            micros = 1e6 * median(t[size] for t in times[name])
            row += f"{micros:>12.3f}{ratio_at(size, times, name):>8.3f}"
        print(row)


def ratio_at(size: int, times: dict[str, list[Times]], other: str) -> float:
    """Time of another program over that of hpccfpga at one size."""
    pairs = zip(times[other], times["hpccfpga"], strict=True)
    return median(theirs[size] / ours[size] for theirs, ours in pairs)


def slide_report(slides: list[Times], in_place: list[Times]) -> bool:
    """Print what windows that slide cost; whether that is little enough."""
    cost = {
        size: median(
            one[size] / other[size] for one, other in zip(slides, in_place, strict=True)
        )
        for size in slides[0]
    }
    print("time of windows that slide, in place taken as 1:", end="")
    for low, high in CLASSES:
        values = [cost[size] for size in cost if low <= size <= high]
        if values:
            print(f" {fmean(values):.3f} of {low} to {high} B,", end="")
    mean = fmean(cost.values())
    print(f" {mean:.3f} of all sizes (target {SLIDING})")
    return mean <= SLIDING


def report(exchange: str, times: dict[str, list[Times]]) -> bool:
    """Print a scheme's table and figures; whether its targets are met."""
    table(exchange, times)
    pairs = zip(times["hpccfpga"], times["C"], strict=True)
    share = median(b_eff(ours) / b_eff(theirs) for ours, theirs in pairs)
    good = share >= SHARE_OF_C
    print(f"effective bandwidth over that of C: {share:.3f} (target {SHARE_OF_C})")
    if exchange == "host":
        least = {z: ratio_at(z, times, "C") for z in times["C"][0] if z <= SHORT}
        low = [z for z, ratio in least.items() if ratio < LEAST_SHORT]
        print(f"sizes up to {SHORT} B below {LEAST_SHORT} of C: {low or 'none'}")
        good = good and not low
    good = slide_report(times["C"], times["C in place"]) and good
    if "mpi4py" in times:
        small = [size for size in times["mpi4py"][0] if size <= SMALL]
        slower = [size for size in small if ratio_at(size, times, "mpi4py") <= 1]
        print(f"sizes up to {SMALL} B slower than mpi4py: {slower or 'none'}")
        good = good and not slower
    return good


def main() -> int:
    """Compare the schemes; 0 when every target is met."""
    options = arguments()
    schemes = [options.exchange] if options.exchange else SCHEMES
    with tempfile.TemporaryDirectory() as folder:
        rings = Rings(options, Path(folder))
        good = [report(name, rings.rounds(name)) for name in schemes]
    print("\nall targets met" if all(good) else "\ntarget missed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
