"""The benchmarks of one device beside the best that its CPU is known to do.

Each row runs a benchmark by hpccfpga and a yardstick, a C program of this folder, in
interleaved rounds on the same number of threads, and compares the medians. Rows of
`verification` hold, at the default sizes, what a sample takes against what checking it
takes, at the point where that is dearest. Rows of `published` compare the pipelines
with the published suite's kernels, given a checkout of it (--published); its FFT is not
among them, because it needs Intel's channels, which PoCL does not have. Ends with 1
when a target is missed, or a yardstick lacks its library. A row without a target is
recorded only. Each row ends with the device, in whose name PoCL says for which CPU it
compiles.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from programs import CPU, output

HERE = Path(__file__).parent
FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O3", "-march=native", "-fopenmp"]

LIMITS = ("OMP_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")


@dataclass(frozen=True)
class Library:
    """What a yardstick is linked with.

    Parameters
    ----------
    flags : str
        Words for the linker.
    package : str
        Debian's package of it; "": it comes with the compiler.
    """

    flags: str = ""
    package: str = ""


FFTW = Library("-lfftw3f_omp -lfftw3f", "libfftw3-dev")
OPENBLAS = Library("-lopenblas", "libopenblas-dev")
OPENCL = Library("-lOpenCL", "ocl-icd-opencl-dev")


@dataclass(frozen=True)
class Row:
    """A comparison.

    Parameters
    ----------
    name : str
        What is compared; its first word is the benchmark's name.
    figure : str
        The figure of the result's summary that counts.
    options : str
        Command line of ``hpccfpga run``, after the benchmark's name.
    yardstick : str
        Command line of the program; {threads} stands for their number, {published} for
        the published suite's folder. It prints one number, its best rate in the unit of
        the figure.
    target : float or None
        Least ratio, ours over the yardstick's.
    threads : int
        Of both sides; 0: all cores.
    linked : Library
        What the yardstick is linked with.
    program : str
        Its name, without ``_yardstick``; "": that of the benchmark.
    """

    name: str
    figure: str
    options: str
    yardstick: str
    target: float | None = None
    threads: int = 0
    linked: Library = Library()
    program: str = ""

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.name.split()[0]


ROWS = [
    Row(
        "stream triad",
        "triad",
        "--shape ndrange --size 16777216 --steps 1 --reps 10",
        "16777216 10 {threads}",
        target=0.95,
    ),
    Row(
        "stream pipeline",
        "triad",
        "--shape pipeline --size 16777216 --steps 1 --reps 10",
        "16777216 10 {threads} 4096",
        target=1.0,
        threads=1,
    ),
    Row(
        "randomaccess 2^24",
        "updates",
        "--sizes 16777216 --reps 5 --warmup 1",
        "16777216 5 {threads}",
        target=1.0,
    ),
    Row(
        "randomaccess 2^27",
        "updates",
        "--sizes 134217728 --reps 2 --warmup 1",
        "134217728 2 {threads}",
        target=1.0,
    ),
    Row(
        "randomaccess pipeline",
        "updates",
        "--shape pipeline --sizes 1048576 --reps 2 --warmup 1",
        "1048576 2 {threads} 32 5",
        target=1.0,
        threads=1,
    ),
    Row(
        "fft 2^10",
        "flops",
        "--log-size 10 --batch 4096 --reps 20",
        "10 4096 20 {threads}",
        target=0.6,
        linked=FFTW,
    ),
    Row(
        "fft 2^12",
        "flops",
        "--log-size 12 --batch 1024 --reps 20",
        "12 1024 20 {threads}",
        target=0.6,
        linked=FFTW,
    ),
    Row(
        "fft 2^17",
        "flops",
        "--log-size 17 --batch 32 --reps 20",
        "17 32 20 {threads}",
        target=0.6,
        linked=FFTW,
    ),
    Row(
        "fft pipeline",
        "flops",
        "--shape pipeline --log-size 12 --batch 256 --reps 5",
        "12 256 5 {threads} naive",
        target=1.0,
        threads=1,
        linked=FFTW,
    ),
    Row(
        "gemm sgemm",
        "flops",
        "--shape ndrange --sizes 2048 --reps 10",
        "2048 10 {threads}",
        target=0.9,
        linked=OPENBLAS,
    ),
    Row(
        "gemm pipeline",
        "flops",
        "--shape pipeline --sizes 512 --reps 10",
        "512 10 {threads} 256",
        target=1.0,
        threads=1,
        linked=OPENBLAS,
    ),
    Row(
        "stream published",
        "triad",
        "--shape pipeline --size 16777216 --steps 1 --reps 10",
        "stream {published} 16777216 10",
        threads=1,
        linked=OPENCL,
        program="published",
    ),
    Row(
        "randomaccess published",
        "updates",
        "--shape pipeline --sizes 1048576 --reps 3",
        "randomaccess {published} 1048576 3",
        threads=1,
        linked=OPENCL,
        program="published",
    ),
    Row(
        "gemm published",
        "flops",
        "--shape pipeline --sizes 512 --reps 10",
        "gemm {published} 512 10",
        threads=1,
        linked=OPENCL,
        program="published",
    ),
]


CHECKED = ("stream", "randomaccess", "fft", "gemm")
"""Benchmarks whose verification must cost less than what it verifies."""


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="words of their names; default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default=CPU, help="as for hpccfpga run")
    parser.add_argument(
        "--published", metavar="FOLDER", help="of https://github.com/pc2/HPCC_FPGA"
    )
    return parser.parse_args()


def build(row: Row, folder: Path) -> Path:
    """Compile the row's yardstick.

    Raises
    ------
    LookupError
        Where its library is not installed.
    """
    source = HERE / f"{row.program or row.benchmark}_yardstick.c"
    program = folder / source.stem
    command = ["cc", *FLAGS, str(source), "-o", str(program)]
    command += [*row.linked.flags.split(), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    lacks = re.search(r"error: (.*: No such file .*)|(cannot find .*)", done.stderr)
    if row.linked.package and lacks:
        raise LookupError(f"{lacks[1] or lacks[2]} (package {row.linked.package})")
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return program


def measure(row: Row, options: argparse.Namespace, folder: Path) -> tuple[str, bool]:
    """Run a row; its line of the table, and whether the target is met."""
    try:
        program = build(row, folder)
    except LookupError as lacks:
        return f"{row.name:<24}no yardstick: {lacks}", False
    threads = row.threads or len(os.sched_getaffinity(0))
    limits = dict.fromkeys(LIMITS, str(threads))
    path = folder / "result.json"
    ours = [sys.executable, "-m", "hpccfpga", "run", row.benchmark]
    ours += [*row.options.split(), "--json", str(path)]
    ours += ["--device", options.device]
    words = row.yardstick.format(threads=threads, published=options.published)
    theirs = [str(program), *words.split()]
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(options.rounds):
        output(ours, **limits)
        result = json.loads(path.read_text())
        if not result["verified"]:
            sys.exit(f"{' '.join(ours)}\ndid not verify")
        rates[0].append(result["summary"][row.figure]["value"])
        rates[1].append(float(output(theirs, **limits)))
    mine, other = map(median, rates)
    unit, ratio = result["summary"][row.figure]["unit"], mine / other
    met = row.target is None or ratio >= row.target
    target = "recorded" if row.target is None else f"{row.target:.2f}"
    figures = f"{threads:>8}{mine:>12.4g}{other:>12.4g} {unit:<8}{ratio:>7.3f}"
    return line(row.name, figures, target, met, result), met


def line(name: str, figures: str, target: str, met: bool, result: dict) -> str:
    """Line of the table, which ends with the device of a result."""
    verdict = "" if met else "missed"
    return f"{name:<24}{figures}{target:>10}  {verdict:<8}{result['device']}"


def check(
    benchmark: str, options: argparse.Namespace, folder: Path
) -> tuple[str, bool]:
    """Sample over verification where it is dearest; line, and whether it is above 1."""
    path = folder / "result.json"
    command = [sys.executable, "-m", "hpccfpga", "run", benchmark, "--json", str(path)]
    command += ["--device", options.device]
    pairs = []
    for _ in range(options.rounds):
        output(command)
        result = json.loads(path.read_text())
        columns = result["columns"]
        names = [n for n in ("read_time", "verify_time") if n in columns]
        costs = zip(*(columns[name]["values"] for name in names), strict=True)
        steps = zip(columns["time"]["values"], columns["inner"]["values"], strict=True)
        points = [(a * b, sum(c)) for (a, b), c in zip(steps, costs, strict=True)]
        pairs.append(min(points, key=lambda pair: pair[0] / pair[1]))
    sample, cost = sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2]
    threads, met = len(os.sched_getaffinity(0)), sample > cost
    figures = f"{threads:>8}{sample:>12.4g}{cost:>12.4g} {'s':<8}{sample / cost:>7.3f}"
    return line(f"{benchmark} verification", figures, "1.00", met, result), met


def main() -> int:
    """Compare the rows; 0 when every target is met."""
    options = arguments()
    rows = [
        row
        for row in ROWS
        if all(word in row.name for word in options.rows)
        and (options.published or row.program != "published")
    ]
    heads = (
        f"{'threads':>8}{'hpccfpga':>12}{'yardstick':>12}{'ratio':>16}{'target':>10}"
    )
    print(f"{'':<24}{heads}")
    met = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            text, good = measure(row, options, Path(folder))
            print(text, flush=True)
            met.append(good)
        for benchmark in CHECKED:
            if all(word in f"{benchmark} verification" for word in options.rows):
                text, good = check(benchmark, options, Path(folder))
                print(text, flush=True)
                met.append(good)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
