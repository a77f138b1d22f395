"""Start the command thousands of times, and count what does not end in order.

Short runs take turns: each exchange scheme on the devices that it takes, in one process
and on two ranks where there is an mpirun. What counts is an end by a signal, such as a
segmentation fault, wrong data, another failure, no end, and a process or a file that
stays. Of a crash, Python says where it was (faulthandler). What stays is in a folder
that is named; so is the core, where `/proc/sys/kernel/core_pattern` is a plain name.
Ends with 1 on a miss.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import kills

from hpccfpga import keeper
from hpccfpga.errors import WRONG_DATA

COMMAND = [sys.executable, "-m", "hpccfpga"]
SHORT = ["run", "b_eff", "--sizes=1,4096", "--reps=1", "--loop-upper=4"]
LONGEST = 300.0  # time of a start, which else hangs [s]
LATE = 5.0  # time for processes and files to go [s]
MISSES = ["signal", "wrong data", "failure", "no end", "left behind"]


class End(NamedTuple):
    """How a start ended."""

    miss: str  # one of `MISSES`, or nothing
    said: str  # what there is to see of it
    seconds: float


def all_words() -> list[list[str]]:
    """Words of the runs that take turns."""
    counts = [[], ["--ranks=2"]] if shutil.which("mpirun") else [[]]
    return [
        [*SHORT, f"--exchange={way.exchange}", *kills.device_words(way), *count]
        for way in kills.all_ways()
        for count in counts
    ]


def miss_of(code: int | None, err: str) -> str:
    """Say which miss an end is, by its exit code, if it came, and standard error."""
    if code is None:
        return "no end"
    if code < 0 or "killed by signal" in err:
        return "signal"
    if code == WRONG_DATA:
        return "wrong data"
    return "failure" if code else ""


def start(words: list[str]) -> End:
    """Run a command to its end, in a folder that stays where it is a miss."""
    folder, mark = Path(tempfile.mkdtemp(prefix="starts-")), keeper.new_mark()
    own = {"TMPDIR": str(folder), "PYTHONFAULTHANDLER": "1", mark: ""}
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:  # a stray child may hold a pipe
        process = subprocess.Popen(
            [*COMMAND, *words],
            env=os.environ | own,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            process_group=0,
        )
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            keeper.end(mark)
            code = None
        seconds = time.monotonic() - begun
        left = kills.gone(mark, LATE)
        errors.seek(0)
        err = errors.read()
    left += map(str, folder.rglob("*"))
    left += map(str, keeper.SHARED_MEMORY.glob(f"hpccfpga-{process.pid}-*"))
    miss = miss_of(code, err) or ("left behind" if left else "")
    if not miss:
        shutil.rmtree(folder)
    return End(miss, f"code {code}, {folder}\n{err}{'; '.join(left)}", seconds)


def main() -> int:
    """Start, print a table; 0 if all ended in order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=1, help="starts side by side")
    options = parser.parse_args()

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    words, before = all_words(), kills.outside()
    turns = [words[number % len(words)] for number in range(options.starts)]
    found: dict[str, list[End]] = {}
    with ThreadPoolExecutor(options.at_once) as pool:
        for number, end in enumerate(pool.map(start, turns)):
            name = " ".join(turns[number][len(SHORT) :])
            found.setdefault(name, []).append(end)
            if end.miss:
                print(f"{number}  {name}: {end.miss}: {end.said}", flush=True)
    width = max(map(len, found))
    print(f"{'':{width}}  starts  mean [s]  " + "  ".join(MISSES))
    for name, ends in found.items():
        seconds = sum(end.seconds for end in ends) / len(ends)
        count = Counter(end.miss for end in ends)
        cells = "  ".join(f"{count[miss]:{len(miss)}}" for miss in MISSES)
        print(f"{name:{width}}  {len(ends):6}  {seconds:8.2f}  {cells}")
    misses = sum(bool(end.miss) for ends in found.values() for end in ends)
    left = kills.left_outside(before, LATE)
    for path in sorted(left):
        print(f"left behind: {path}")
    print(f"{options.starts} starts: {misses + len(left)} misses")
    return 1 if misses or left else 0


if __name__ == "__main__":
    sys.exit(main())
