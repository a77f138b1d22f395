"""Exchange schemes beside each other, and their calibrated models: b_eff, in one run.

    python benchmarks/exchanges.py [--ranks 2] [--device GPU] [--rounds 40] [SCHEME ...]
    python benchmarks/exchanges.py --calibrations 0 --sizes 1,4096    # no models
    python benchmarks/exchanges.py --rounds 0                # models alone

The same ranks hold a session over each scheme. At each size all of them measure in
turn, some milliseconds each, round after round. A round gives one ratio of each pair of
times; told are the median of the rounds and its 99 % interval, or, of fewer than 8,
their range. A second session over `pcie` shows what sessions differ by for no reason:
that widens the intervals. A bound is met or missed where the whole interval says so,
else this noise did not let it be decided. `auto` is held against each other scheme.

Then calibrations are taken. Beside each there is a run over each scheme, against which
its models are held: a bound is met where each calibration meets it, and missed where
none does. Told are also the median of how far they are off, and its interval. On CPUs a
round within which the machine's cores are moved is repeated.

A host may be slower by a half for as long as a run takes, and a calibration that is
longer does not see that. With `--turns` calibration and run take a share
of their repetitions in each turn, and the best of all turns counts for both: so the
host's phase is left out of the question how good models are.

Bounds are those of CPUs. Ends with code 1 where one is missed, 2 where nothing can be
measured.

Each rank on the device `cpu` has cores of its own, as ranks that hpccfpga starts.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass

import numpy as np
from programs import CPU, mpirun
from steady import Steady

import hpccfpga
from hpccfpga import _core, cores, emulation, formulas
from hpccfpga.errors import under_mpi

SIZES = [2**k for k in range(0, 25, 2)]
LONG = 1 << 20
CONTROL = "pcie again"
WANTED = {"pipelined": (0.95, 0.95), "shared": (1.0, 1.3)}
"""Least time of `pcie` over that of a scheme: at every size, and at 1 MiB."""
AUTO = 0.97
"""Least time of each other scheme over that of `auto`, at every size."""
MODELS = {"median": (np.median, 0.10), "largest": (np.max, 0.25)}
"""By how much of the measurement models may be off, over all sizes."""
VERDICTS = ("met", "not decided by this noise", "MISSED")
"""From the best to the worst."""


@dataclass
class Span:
    """A median, and what it lies between: with 99 %, or of fewer than 8 with less."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, rounds, wider=1.0):
        """Of as many ratios as rounds; `wider`: a factor of what is not noise."""
        ordered = np.sort(rounds)
        k = max(0, int((len(ordered) - 2.576 * len(ordered) ** 0.5) / 2))
        low, high = ordered[k] / wider, ordered[-1 - k] * wider
        return cls(low, float(np.median(ordered)), high)

    def __str__(self):
        """As a cell of a table."""
        return f"{self.median:6.2f} [{self.low:5.2f}, {self.high:5.2f}]"

    def verdict(self, least):
        """Give the number of the verdict on a lower bound."""
        return int(self.low < least) + int(self.high < least)


def measure(sessions, size, rounds, notes):
    """Give times at a size [s], {scheme: [rounds]}, and what `auto` took."""
    times = {scheme: np.empty(rounds) for scheme in sessions}
    steps = min(max((1 << 24) // size, 2), 64)
    own = {"sizes": size, "reps": 5, "loop_upper": steps, "loop_lower": steps}
    taken = ""
    for k in range(rounds):
        turn = k % len(sessions)
        for scheme in [*sessions][turn:] + [*sessions][:turn]:
            found = sessions[scheme].run("b_eff", **own)
            if not found.verified:
                sys.exit(f"{scheme}: wrong data")
            times[scheme][k] = found["time"][0]
            if scheme == "auto":
                taken = found["scheme"][0]
            for note in found.provenance["notes"]:
                if (scheme, note) not in notes and sessions[scheme].rank == 0:
                    print(f"{scheme}: {note}", file=sys.stderr)
                notes.add((scheme, note))
    return times, taken


def compare(sessions, sizes, rounds):
    """Measure and print each size; give the spans of each pair over the sizes."""
    first = sessions["pcie"].rank == 0
    schemes = [scheme for scheme in sessions if scheme not in ("pcie", CONTROL)]
    pairs = {(scheme, "pcie"): [] for scheme in schemes}
    if "auto" in sessions:
        pairs |= {("auto", other): [] for other in schemes if other != "auto"}
    names = "".join(f"{scheme:>22}" for scheme in [CONTROL, *schemes])
    if first:
        print(f"{'size [B]':<9}{'pcie [us]':>11}{names}")
    notes = set()
    for size in sizes:
        times, taken = measure(sessions, size, rounds, notes)
        again = Span.of(times["pcie"] / times[CONTROL])
        wider = max(again.median, 1 / again.median)
        for (scheme, other), spans in pairs.items():
            spans.append(Span.of(times[other] / times[scheme], wider))
        cells = [again, *(pairs[scheme, "pcie"][-1] for scheme in schemes)]
        if first:
            line = (f"{size:<9}{np.median(times['pcie']) * 1e6:11.2f}", *cells, taken)
            print(*filter(None, map(str, line)))
    return pairs


def decide(pairs, sizes):
    """Print whether the bounds on pairs are met; the numbers of the verdicts."""
    verdicts = []
    for (scheme, other), spans in pairs.items():
        least, long = WANTED.get(scheme, (AUTO, AUTO))
        at = max(
            range(len(sizes)), key=lambda i: (spans[i].verdict(least), -spans[i].low)
        )
        bounds = [(at, least)]
        if LONG in sizes:
            bounds.append((sizes.index(LONG), long))
        for i, bound in bounds:
            verdicts.append(spans[i].verdict(bound))
            print(
                f"{scheme} by {other}, {sizes[i]} B: {spans[i]}, wanted {bound}: "
                f"{VERDICTS[verdicts[-1]]}"
            )
    return verdicts


def models_off(sessions, steady, sizes, number, reps, turns):
    """By how much models are off, {scheme: [calibrations, sizes]}."""
    able = [s for s in formulas.schemes("b_eff", calibrated=True) if s in sessions]
    own = {"sizes": sizes, "reps": reps // turns}

    def run(scheme):
        return lambda: sessions[scheme].run("b_eff", **own)

    programs = {}
    for turn in range(turns):
        programs["calibration", turn] = lambda: sessions["pcie"].calibrate(**own)
        programs |= {(scheme, turn): run(scheme) for scheme in able}
    if steady:
        rounds = steady.rounds(number, programs)
    else:
        rounds = [{n: take() for n, take in programs.items()} for _ in range(number)]
    off = {scheme: [] for scheme in able}
    for k, found in enumerate(rounds, 1):
        if not all(result.verified for result in found.values()):
            sys.exit("wrong data beside a calibration")
        for scheme in able:
            times = [found[scheme, turn]["time"] for turn in range(turns)]
            models = [
                hpccfpga.model(
                    "b_eff", exchange=scheme, calibration=found["calibration", turn]
                )["time"]
                for turn in range(turns)
            ]
            each = np.min(models, axis=0) / np.min(times, axis=0) - 1
            off[scheme].append(each)
            if sessions["pcie"].rank == 0:
                percents = [f"{100 * x:+.0f}" for x in each]
                print(f"calibration {k}, model {scheme} [%]:", *percents)
    return off


def decide_models(off):
    """Print how far models are off; the numbers of the verdicts."""
    verdicts = []
    for scheme, each in off.items():
        middle = [f"{100 * x:+.0f}" for x in np.median(each, axis=0)]
        print(f"median at each size, model {scheme} [%]:", *middle)
        for name, (figure, bound) in MODELS.items():
            figures = figure(np.abs(each), axis=1)
            missed = np.count_nonzero(figures > bound)
            verdicts.append(int(missed > 0) + int(missed == len(figures)))
            print(
                f"model {scheme}, {name} over sizes: {Span.of(figures)}, "
                f"{figures.min():.2f} to {figures.max():.2f}, wanted {bound}: "
                f"{VERDICTS[verdicts[-1]]}"
            )
    return verdicts


def natural(text):
    """Give the number of an option's text, from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def positive(text):
    """Give the number of an option's text, from 1 on."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def numbers(text):
    """Give the sizes of an option's text, each once."""
    return list(dict.fromkeys(map(positive, text.split(","))))


def scheme(text):
    """Give the name of an exchange scheme that devices may have."""
    able = [s["name"] for s in hpccfpga.exchanges() if not s["host_memory"]]
    if text not in (*able, "auto"):
        raise argparse.ArgumentTypeError(f"no {text!r}; known: {', '.join(able)}, auto")
    return text


def options():
    """Read the command's options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    usual = [*WANTED, "auto"]
    for name, kind, default, told in (
        ("--ranks", positive, 2, "to start; default: 2"),
        ("--device", str, CPU, "as for hpccfpga run; default: cpu"),
        ("--sizes", numbers, SIZES, "[B], as 1,4096; default: to 16 MiB"),
        ("--rounds", natural, 40, "at each size; 0: models alone; default: 40"),
        ("--calibrations", natural, 5, "0: no models; default: 5"),
        ("--reps", positive, 10, "of calibrations and runs beside; default: 10"),
        ("--turns", positive, 1, "that these are divided among; default: 1"),
    ):
        parser.add_argument(name, type=kind, default=default, help=told)
    parser.add_argument(
        "schemes",
        nargs="*",
        type=scheme,
        default=usual,
        help="default: " + ", ".join(usual),
    )
    given = parser.parse_args()
    if given.reps % given.turns:
        parser.error(f"--reps {given.reps}: no multiple of --turns {given.turns}")
    return given


def judge(given, stack, on_cpu, cpus, comm):
    """Measure and print what was asked for; the numbers of the verdicts."""
    _core.values("b_eff", {"reps": given.reps})  # refused at once, if it is impossible
    schemes = {"pcie": "pcie", CONTROL: "pcie"}
    schemes |= dict(zip(given.schemes, given.schemes, strict=True))
    sessions = {
        name: stack.enter_context(hpccfpga.open(given.device, scheme, comm))
        for name, scheme in schemes.items()
    }
    verdicts = []
    if given.rounds:
        pairs = compare(sessions, given.sizes, given.rounds)
        verdicts += decide(pairs, given.sizes) if comm.rank == 0 else []
    if given.calibrations:
        steady = None
        if on_cpu:
            folder = tempfile.TemporaryDirectory() if comm.rank == 0 else nullcontext()
            steady = Steady(stack.enter_context(folder), comm, cpus)
        times = given.calibrations, given.reps, given.turns
        off = models_off(sessions, steady, given.sizes, *times)
        verdicts += decide_models(off) if comm.rank == 0 else []
    return verdicts


def main():
    """Print what was found; return the code to end with."""
    given = options()
    sys.stdout.reconfigure(line_buffering=True)
    if under_mpi() is None:
        command = [*mpirun(given.ranks), sys.executable, *sys.argv]
        os.execvp(command[0], command)
    on_cpu = given.device.lower().removeprefix("opencl:") == CPU
    routed = [scheme for scheme in given.schemes if emulation.routed(scheme)]
    cpus = cores.take() if on_cpu and not routed else set()
    for name in routed:
        emulation.prepare(name)
    from mpi4py import MPI

    with ExitStack() as stack:
        try:
            verdicts = judge(given, stack, on_cpu, cpus, MPI.COMM_WORLD)
        except (
            LookupError,
            ValueError,
            NotImplementedError,
            MemoryError,
            hpccfpga.Error,
        ) as error:
            if MPI.COMM_WORLD.rank == 0:
                print(f"exchanges.py: {error}", file=sys.stderr)
            return 2
    return int(VERDICTS[max(verdicts, default=0)] == VERDICTS[-1])


if __name__ == "__main__":
    sys.exit(main())
