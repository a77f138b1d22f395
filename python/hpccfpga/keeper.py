"""Make and remove the folders of a process that starts mpirun, also if it is killed.

Runs as a program beside mpirun, `keeper.py MARK PARENT...`. It makes a folder in each
parent and writes their paths, with a null character behind each. Its standard input is
a pipe from its own parent: a word means that all is well, the pipe's end without one
that the parent is gone; then it ends the processes of the job, too.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress

GRACE = 1.0
"""Time from a polite end to a forced one [s]."""

LONGEST = 10.0
"""Time after which processes are left that even a forced end does not reach [s]."""


def marked(mark: str) -> Iterator[int]:
    """Living processes of a job; mpirun's ranks are in groups of their own."""
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            with open(f"/proc/{int(entry)}/environ", "rb") as file:
                environment = file.read()
            if f"{mark}=".encode() in environment:
                yield int(entry)


def end(mark: str) -> None:
    """End all processes of a job, politely first."""
    start = time.monotonic()
    number = signal.SIGTERM
    while (found := list(marked(mark))) and time.monotonic() < start + LONGEST:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        while time.monotonic() < start + GRACE and list(marked(mark)):
            time.sleep(0.05)
        number = signal.SIGKILL
        time.sleep(0.01)


def main() -> None:
    """Wait for the parent."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    mark, *parents = sys.argv[1:]
    folders = []
    try:
        for parent in parents:
            name = f"hpccfpga-{os.getppid()}-"
            folders.append(tempfile.mkdtemp(prefix=name, dir=parent))
        with suppress(OSError):  # the parent is gone already
            os.write(1, b"".join(os.fsencode(folder) + b"\0" for folder in folders))
            os.close(1)
        if not sys.stdin.buffer.read():
            end(mark)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
