"""Kill a rank, mpirun or the launcher at random, and see that all ends in order.

Each time a run that would go on for hours is started on several ranks, by `--ranks` or
under an mpirun of its own; one of its processes gets a signal, within 3 s of the start,
or of the moment when kernels begin to run. Then everything must end within the deadline
and 5 s (`--late`) with one line, leave no process and no file, and the next run must
work. A process that is stopped (SIGSTOP) stays so, but for the launcher, which nobody
else could end: it goes on after a second and is asked to end. Ends with 1 on a miss.
Where the machine is busy, the time counts from when a short run would be at its end,
and grows as that run's time does beyond the time of its processors.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import hpccfpga
from hpccfpga.errors import FAILED, INTERRUPTED
from hpccfpga.keeper import SHARED_MEMORY, marked, new_mark
from hpccfpga.mpirun import command

SIGNALS = [signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM]
COMMAND = [sys.executable, "-m", "hpccfpga", "run", "b_eff"]
ENDLESS = ["--sizes=1,4096", "--reps=1000000", "--loop-upper=64", "--loop-lower=64"]
SHORT = ["--sizes=1", "--reps=1", "--ranks=2"]
EMULATOR = "FPGA Emulation"  # in the name of Intel's device, where it is installed
MEMORY = "memory"  # folder for the shared memory of an mpirun of its own
SEGMENT = re.compile(r"(vader|sm)_segment\.")  # what Open MPI makes there
# What a run may make outside its folder for temporary files. Open MPI's segments lie
# there or in that of its launcher: others are of others.
OUTSIDE = [SHARED_MEMORY / "hpccfpga_window.*", Path("/tmp/hpccfpga-pipes-*")]
OURS = re.compile(r"hpccfpga: |Traceback")  # a library may print what it likes
MPIRUN = 2.0  # time that an mpirun of its own gives the other ranks to end [s]


class Way(NamedTuple):
    """An exchange scheme, and the device that it is on."""

    exchange: str
    device: str = ""

    def __str__(self) -> str:
        """Column of the table."""
        return f"{self.exchange}{', ' * bool(self.device)}{self.device}"


class Kill(NamedTuple):
    """One experiment."""

    own: bool  # under an mpirun of its own
    way: Way
    ranks: int
    target: str  # "launcher", "mpirun" or a rank
    signal: signal.Signals
    runs: bool  # the benchmark has begun
    delay: float  # since it has, or since the start [s]

    def __str__(self) -> str:
        """Columns of the table."""
        start = "mpirun" if self.own else "--ranks"
        name = self.signal.name.removeprefix("SIG")
        return (
            f"{start:8}{self.way!s:23}{self.ranks}  {self.target:9}{name:5}"
            f"{'run' if self.runs else 'start':5} +{self.delay:4.2f}"
        )


def all_ways() -> list[Way]:
    """Schemes on the devices that they take, and channels on Intel's emulator."""
    names = [name for name in hpccfpga.exchanges().names if name != "fault"]
    found = [Way(name, "cpu" if name == "channel" else "") for name in names]
    if any(EMULATOR in device["name"] for device in hpccfpga.devices()):
        found.append(Way("channel", EMULATOR))
    return found


def kills(count: int, seed: int, ways: list[Way]) -> Iterator[Kill]:
    """Draw kills; each four for every way hold each way with each signal."""
    draw = random.Random(seed)
    for number in range(count):
        own = draw.random() < 0.2
        ranks = draw.choice([2, 2, 3])
        rank = str(draw.randrange(ranks))
        target = rank if own else draw.choice([rank, rank, "mpirun", "launcher"])
        yield Kill(
            own,
            ways[number % len(ways)],
            ranks,
            target,
            SIGNALS[(number % len(ways) + number // len(ways)) % len(SIGNALS)],
            draw.random() < 0.5,
            draw.uniform(0, 3),
        )


def device_words(way: Way) -> list[str]:
    """Options that choose a way's device."""
    return [f"--device={way.device}"] if way.device else []


def words_of(kill: Kill, deadline: float) -> list[str]:
    """Command line of a run."""
    run = [*COMMAND, *ENDLESS, f"--exchange={kill.way.exchange}"]
    run += [f"--deadline={deadline}", *device_words(kill.way)]
    if kill.own:
        return [*command(), "-n", str(kill.ranks), *run]
    return [*run, f"--ranks={kill.ranks}"]


def target_of(kill: Kill, mark: str, launcher: int) -> int | None:
    """Find the process that is to be killed."""
    if kill.target == "launcher":
        return launcher
    for pid in marked(mark):
        with suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            rank = f"OMPI_COMM_WORLD_RANK={kill.target}".encode()
            if kill.target == "mpirun" and name in ("mpirun", "orterun", "prterun"):
                return pid
            if rank in environment:
                return pid
    return None


def begun(output: IO[str]) -> bool:
    """Whether rank 0 has said that the benchmark runs."""
    output.seek(0)
    return f"{COMMAND[-1]} " in output.read()


def gone(mark: str, late: float) -> list[str]:
    """Wait for all processes to vanish; names of those that do not."""
    end = time.monotonic() + late
    while (left := list(marked(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    names = []
    for pid in left:
        with suppress(OSError):
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
            os.kill(pid, signal.SIGKILL)
    return names


def outside() -> set[Path]:
    """List what runs of this user have made outside their folders."""
    found = set()
    for pattern in OUTSIDE:
        for path in pattern.parent.glob(pattern.name):
            with suppress(OSError):  # it is gone
                if path.lstat().st_uid == os.geteuid():
                    found.add(path)
    return found


def used(paths: set[Path]) -> set[Path]:
    """Those that a process has mapped or open: they are of another's run."""
    held = []
    for process in Path("/proc").glob("[0-9]*") if paths else []:
        with suppress(OSError):  # it has ended, or is another user's
            held += (process / "maps").read_text().splitlines()
            for file in (process / "fd").iterdir():
                with suppress(OSError):  # it was closed
                    held.append(os.readlink(file))
    return {path for path in paths if any(str(path) in line for line in held)}


def left_outside(before: set[Path], late: float) -> set[Path]:
    """Wait for what was made since to go, or to be in use."""
    end = time.monotonic() + late
    while True:
        new = outside() - before
        if not (left := new - used(new)) or time.monotonic() > end:
            return left
        time.sleep(0.1)


def files(kill: Kill, folder: Path, launcher: int) -> list[str]:
    """List what is left in the folder for temporary files, and in shared memory."""
    left = {path for path in folder.rglob("*") if not path.is_dir()}
    if kill.own:  # of a rank killed while it starts; the next run removes them
        left -= {path for path in left if SEGMENT.match(path.name)}
    left |= {path for path in folder.iterdir() if path.name != MEMORY}
    return sorted(map(str, left | {*SHARED_MEMORY.glob(f"hpccfpga-{launcher}-*")}))


def told(kill: Kill, code: int, err: str) -> str:
    """Say what is wrong with what a run said, or nothing."""
    lines = [line for line in err.splitlines() if OURS.search(line)]
    if kill.target == "launcher" and code < 0:
        return f"it said {err!r}" if lines else ""  # it had no time to say anything
    if code == 0:
        return "its code is 0"
    if kill.own:  # mpirun has words of its own, and wakes a rank that is stopped
        return "" if lines or re.search("aborted|exited", err) else f"it said {err!r}"
    asked, line = answer(kill)
    whole = code == asked and re.fullmatch(f"hpccfpga: {line}", "\n".join(lines))
    return "" if whole else f"its code is {code}, expected {asked}, and it said {err!r}"


def answer(kill: Kill) -> tuple[int, str]:
    """Exit code, and a pattern of the line, where a launcher starts the ranks."""
    if kill.target == "launcher":  # which is asked to end after a stop
        interrupted = kill.signal == signal.SIGINT
        return (INTERRUPTED, "interrupted") if interrupted else (143, "terminated")
    if kill.signal in (signal.SIGINT, signal.SIGTERM):
        return INTERRUPTED, "interrupted(: mpirun was told to end)?"
    if kill.signal == signal.SIGKILL:
        return FAILED, r".* was killed by signal 9 \(SIGKILL\).*"
    return FAILED, ".*(stopped|wait|deadline|within).*"  # whoever misses it first


def ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for an end; time in which this program does not run does not count."""
    while process.poll() is None and seconds > 0:
        start = time.monotonic()
        time.sleep(0.01)
        seconds -= min(time.monotonic() - start, 0.05)
    return process.poll() is not None


def take(
    kill: Kill, deadline: float, late: float, short: float, folder: Path
) -> tuple[str, float, str]:
    """Run and kill; what is wrong, seconds from the kill to the end, and the line."""
    before, mark = outside(), new_mark()
    memory = folder / MEMORY
    memory.mkdir()
    own = {"TMPDIR": str(folder), mark: ""}
    if kill.own:
        own["OMPI_MCA_btl_vader_backing_directory"] = str(memory)
    with (
        tempfile.TemporaryFile("w+") as errors,
        tempfile.TemporaryFile("w+") as output,
    ):
        start = time.monotonic()
        process = subprocess.Popen(
            words_of(kill, deadline),
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            process_group=0,
        )

        def comes(truth: Callable[[], object]) -> None:
            end = time.monotonic() + short + late
            while not truth() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)

        if kill.runs:
            comes(lambda: begun(output))
        time.sleep(kill.delay)
        pid = None

        def is_found() -> bool:
            nonlocal pid
            pid = target_of(kill, mark, process.pid)
            return pid is not None

        comes(is_found)
        if pid is not None:
            with suppress(ProcessLookupError):  # it ended by itself: told by its line
                os.kill(pid, kill.signal)
        if kill.target == "launcher" and kill.signal == signal.SIGSTOP:
            time.sleep(1)
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        killed = time.monotonic()
        wrong = []
        starting = max(0, start + short - killed) * (not kill.runs)
        if not ends(process, starting + deadline + late + kill.own * MPIRUN):
            wrong.append("it did not end")
            process.kill()
        code = process.wait()
        seconds = time.monotonic() - killed
        if left := gone(mark, late):
            wrong.append(f"left running: {', '.join(left)}")
        errors.seek(0)
        said = errors.read()
    if pid is None:
        wrong.append(f"there was nothing to kill: it ended with {code}, {said!r}")
    wrong += filter(None, [told(kill, code, said)] if not wrong else [])
    left = files(kill, folder, process.pid)
    if left := left + sorted(map(str, left_outside(before, late))):
        wrong.append(f"left behind: {', '.join(left)}")
    ours = [line for line in said.splitlines() if "hpccfpga: " in line]
    return "; ".join(wrong), seconds, ours[-1] if ours else ""


def spent() -> float:
    """Time of processors that all processes took that we started [s]."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def works(way: Way) -> tuple[str, float, float]:
    """Run without a kill.

    Returns what is wrong, or nothing, the time that it takes [s], and by which factor
    the machine is too busy for it.
    """
    words = [*COMMAND, *SHORT, f"--exchange={way.exchange}", *device_words(way)]
    start, before = time.monotonic(), spent()
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False
    )
    wrong = f"the next run fails: {done.stderr!r}" if done.returncode else ""
    seconds = time.monotonic() - start
    return wrong, seconds, max(1.0, seconds / (spent() - before))


def main() -> int:
    """Kill, print a table; 0 if all ended in order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=3.0)
    parser.add_argument(
        "--late", type=float, default=5.0, help="longest time after the deadline [s]"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first kill")
    parser.add_argument("--each", type=int, default=1, help="kills between good runs")
    options = parser.parse_args()

    # What a shell starts with `&` ignores SIGINT, and so would all that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ways = all_ways()
    drawn = list(kills(options.first + options.kills, options.seed, ways))
    misses = 0
    short, busy = {}, 1.0
    for way in dict.fromkeys(kill.way for kill in drawn[options.first :]):
        _, short[way], busy = works(way)
    print(f"  n  with    {'exchange':20} ranks target sent at [s]       end [s]  line")
    for number, kill in list(enumerate(drawn))[options.first :]:
        late = options.late * busy
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            wrong, seconds, line = take(
                kill, options.deadline, late, short[kill.way], Path(folder)
            )
        if not wrong and (number + 1) % options.each == 0:
            wrong, short[kill.way], busy = works(kill.way)
        misses += bool(wrong)
        verdict = f"MISS: {wrong}" if wrong else line
        print(f"{number:3}  {kill}  {seconds:7.2f}  {verdict}", flush=True)
    print(f"{options.kills} kills, seed {options.seed}: {misses} misses")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
