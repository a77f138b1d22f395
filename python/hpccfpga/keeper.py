"""Make and remove the folders of a process that starts mpirun, also if it is killed.

Runs as a program beside mpirun, `keeper.py MARK PARENT...`. It makes a folder in each
parent and writes their paths, with a null character behind each. Its standard input is
a pipe from its own parent: a word means that all is well, the pipe's end without one
that the parent is gone; then it ends the processes of the job, too. It holds a lock on
each folder, so that a later one may remove what a killed keeper left.
"""

from __future__ import annotations

import fcntl
import os
import re
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


def held(folder: str) -> bool:
    """Lock a folder until this process ends; False if another keeper has."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True


def remove_leftovers(parent: str) -> None:
    """Remove the folders of keepers that were killed: ours, old enough to be locked."""
    names: list[str] = []
    with suppress(OSError):  # of a parent that nobody may list
        names = os.listdir(parent)
    for name in filter(re.compile(r"hpccfpga-\d+-\w{8}").fullmatch, names):
        folder = os.path.join(parent, name)
        with suppress(OSError):
            state = os.lstat(folder)
            old = state.st_mtime + LONGEST < time.time()
            if old and state.st_uid == os.geteuid() and held(folder):
                shutil.rmtree(folder, ignore_errors=True)


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
            held(folders[-1])
        with suppress(OSError):  # the parent is gone already
            os.write(1, b"".join(os.fsencode(folder) + b"\0" for folder in folders))
            os.close(1)
        for parent in parents:
            remove_leftovers(parent)
        if not sys.stdin.buffer.read():
            end(mark)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
