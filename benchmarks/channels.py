"""How fast live channels are, beside `pcie` and beside two threads of plain C.

Runs b_eff of two ranks over `channel`, with one and with two pairs of kernels, and over
`pcie`, and thread_ring.c, interleaved over several rounds; then 4, 8 and 16 ranks once,
and 1, 2 and 4 in Intel's FPGA emulator. Every figure is a median over rounds, every
ratio one of figures of the same round. Ends with 1 when a target is missed.

With a thread for each kernel, a step of one pair took each rank two hand-overs of its
core between two threads. Kernels of a rank take turns on one thread instead; how many
hand-overs a step is worth is printed.

Two pairs move twice the bytes of one, and of pcie. Where two cores are so far apart
that the bytes between them limit all (core to core and back takes 0.5 us), two pairs
take twice the time of pcie at 1 MiB.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from programs import compiled, compiled_for, mpirun, output
from steady import Steady

from hpccfpga.emulation import cpus, vendors

PACKET = 32  # bytes
MIB = 1 << 20

Run = dict[int, dict[str, float]]  # columns of each size [B]


def b_eff(ranks: int, exchange: str, *words: str) -> Run:
    """Time [s] and bandwidth [B/s] of each size; all verified, or the program ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [*mpirun(ranks), sys.executable, "-m", "hpccfpga", "run"]
        command += ["b_eff", "--exchange", exchange, "--json", str(path), *words]
        output(command)
        columns = json.loads(path.read_text())["columns"]
    names = ("message_size", "time", "bandwidth", "verified")
    rows = zip(*(columns[name]["values"] for name in names), strict=True)
    run = {}
    for size, seconds, rate, verified in rows:
        if not verified:
            sys.exit(f"{exchange}, {ranks} ranks, {size} B: not verified")
        run[size] = {"time": seconds, "bandwidth": rate}
    return run


def measure(rounds: int, reps: int) -> list[dict]:
    """Run every program once a round, in alternating order."""
    with tempfile.TemporaryDirectory() as folder:
        ring = compiled("thread_ring", folder, "-O3", "-march=native", "-pthread")
        common = ("--reps", str(reps))
        programs = {
            "threads": lambda: json.loads(output([ring, "5"])),
            "one": lambda: b_eff(2, "channel", *common, "--replications", "1"),
            "two": lambda: b_eff(2, "channel", *common, "--replications", "2"),
            "pcie": lambda: b_eff(2, "pcie", *common),
        }
        return Steady(folder).rounds(rounds, programs)


class Report:
    """Lines with their targets."""

    def __init__(self) -> None:
        self.missed = 0
        self.device = compiled_for()

    def line(self, text: str, value: float, unit: str, low: float, high: float) -> None:
        """Print one figure; it must lie within [low, high]."""
        good = low <= value <= high
        self.missed += not good
        target = f"at least {low:g}" if high == float("inf") else f"at most {high:g}"
        verdict = "ok    " if good else "MISSED"
        print(f"{verdict} {text}: {value:.3g} {unit} ({target}), {self.device}")


def two_ranks(report: Report, rounds: list[dict]) -> None:
    """Print times and ratios of two ranks."""
    middle = lambda of: median(of(r) for r in rounds)  # noqa: E731
    print(
        f"{'size [B]':>9}{'pcie':>10}{'1 pair':>10}{'2 pairs':>10}  time per step [us]"
    )
    for size in rounds[0]["pcie"]:
        row = "".join(
            f"{1e6 * middle(lambda r, n=n, s=size: r[n][s]['time']):>10.2f}"
            for n in ("pcie", "one", "two")
        )
        print(f"{size:>9}{row}")
    infinity = float("inf")
    turn = middle(lambda r: r["threads"]["hand_over"])
    print(f"hand-over of a core between two threads: {1e6 * turn:.2f} us")
    for name, most in (("one", 2), ("two", 3)):
        steps = middle(lambda r, n=name: r[n][1]["time"])
        turns = middle(lambda r, n=name: r[n][1]["time"] / r["threads"]["hand_over"])
        report.line(f"1 B, pairs: {name}", 1e6 * steps, "us", 0, most)
        print(f"       that is {turns:.2f} hand-overs")
    # A step of two pairs moves twice the bytes of one of pcie, or of one pair.
    for column, sign in (("time", -1), ("bandwidth", 1)):
        for text, most, target in ((", up to 1 KiB", 1024, 8), ("", MIB, 1)):
            least = min(
                middle(
                    lambda r, n=n, s=size, c=column, sign=sign: (
                        (r[n][s][c] / r["pcie"][s][c]) ** sign
                    )
                )
                for n in ("one", "two")
                for size in rounds[0]["pcie"]
                if size <= most
            )
            report.line(
                f"faster than pcie by {column}{text}", least, "times", target, infinity
            )
    rate = middle(lambda r: r["two"][MIB]["bandwidth"] / 2)
    report.line("1 MiB, per rank", rate / 1e9, "GB/s", 5, infinity)
    share = middle(
        lambda r: r["two"][MIB]["bandwidth"] / PACKET / r["threads"]["packets"]
    )
    report.line("packet rate over that of threads", share, "", 0.5, infinity)


def many_ranks(report: Report) -> None:
    """Print how long 21 sizes take on more ranks than cores."""
    for ranks, most in ((4, 60), (8, 60), (16, 300)):
        start = time.monotonic()
        b_eff(
            ranks, "channel", "--reps", "2", "--loop-upper", "64", "--loop-lower", "1"
        )
        seconds = time.monotonic() - start
        report.line(f"{ranks} ranks, 21 sizes verified", seconds, "s", 0, most)


def emulator() -> None:
    """Print that Intel's FPGA emulator verifies; without it, that it is not here."""
    if not any("libintelocl_emu" in path for path in vendors()["libraries"]):
        print("       Intel's emulator is not here: pip install hpccfpga[intel]")
        return
    short = ("--reps", "1", "--loop-upper", "1", "--loop-lower", "1")
    for ranks in (1, 2, 4):
        start = time.monotonic()
        b_eff(ranks, "channel", "--device", "FPGA Emulation", *short)
        seconds = time.monotonic() - start
        print(f"ok     Intel's emulator, {ranks} ranks, verified: {seconds:.3g} s")


def main() -> int:
    """Measure; 0 when every target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", type=int, default=10, help="samples per size")
    options = parser.parse_args()
    report = Report()
    print(f"CPUs that it may use: {len(cpus())}")
    two_ranks(report, measure(options.rounds, options.reps))
    many_ranks(report)
    emulator()
    print("all targets met" if not report.missed else f"{report.missed} targets missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
