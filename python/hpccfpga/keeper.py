"""Make and remove the folders of a process that starts mpirun, also if it is killed.

Runs as a program beside mpirun, `keeper.py MARK PARENT...`, which `Keeper` starts. It
makes a folder in each parent and writes their paths, with a null character behind each.
Its standard input is a pipe from its own parent: a word means that all is well, the
pipe's end without one that the parent is gone; then it ends the processes of the job.
It claims each folder by a file in it, on which it and its parent hold a lock, so that a
later keeper may remove what a killed one left.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

GRACE = 1.0
"""Time from a polite end to a forced one [s]."""

STARTING = 60.0
"""Longest wait for the folders [s]."""

CLAIM = ".hpccfpga-job"
"""File in a folder that says which job made it; without it no folder is removed."""

SHARED_MEMORY = Path("/dev/shm")

KERNEL_THREAD = 0x200000
"""Flag of a process in /proc: PF_KTHREAD of Linux."""

LOOKS, AWAKE_LOOKS = 4, 100
"""Looks at a process without an environment until that is believed: asleep, awake."""

LONGEST = 10.0
"""Time after which processes are left that even a forced end does not reach [s]."""

LEAVING = 5.0
"""Time of all waits together, from a job's last word to the launcher's end [s]."""


def marked(mark: str, patience: float = GRACE) -> Iterator[int]:
    """Living processes of a job; mpirun's ranks are in groups of their own."""
    end = time.monotonic() + patience
    left = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]
    for look in itertools.count(1):
        starting = []
        for process in left:
            with suppress(OSError):  # it has ended
                environment = _file(f"/proc/{process}/environ")
                if f"{mark}=".encode() in environment:
                    yield process
                elif not environment and _starts(process, look):
                    starting.append(process)
        if not starting or time.monotonic() > end:
            break
        left = starting
        time.sleep(0.001)


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _starts(process: int, look: int) -> bool:
    """Whether a process may have an environment that Linux did not show at this look.

    It shows none of a process that executes another program. Its start and its end are
    then 0, or one and the same. That takes a moment, or longer where the process wants
    a processor and gets none. A process that has none for good has one and the same at
    each look and sleeps at some, has ended, or is a thread of the kernel.
    """
    fields = _file(f"/proc/{process}/stat").rpartition(b")")[2].split()
    flags, first, last = (int(fields[number]) for number in (6, 47, 48))
    over = fields[0] in b"ZXx" or flags & KERNEL_THREAD
    most = AWAKE_LOOKS if fields[0] in b"RD" else LOOKS
    return not over and (last == 0 or first < last or look < most)


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


def claim(folder: str, mark: str) -> None:
    """Say in a new folder whose it is, once a lock on that says that we live."""
    file = os.open(f"{folder}/{CLAIM}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # no locks or no room: nobody else will remove it
        fcntl.flock(file, fcntl.LOCK_SH)
        os.write(file, _claim(folder, mark))


def remove_leftovers(parent: str) -> None:
    """Remove the folders of jobs of which no process lives any more."""
    names: list[str] = []
    with suppress(OSError):  # of a parent that nobody may list
        names = os.listdir(parent)
    for name in filter(re.compile(r"hpccfpga-\d+-\w{8}").fullmatch, names):
        folder = os.path.join(parent, name)
        with suppress(OSError):
            if os.lstat(folder).st_uid == os.geteuid() and _left(folder):
                remove(folder)


def remove(folder: str | Path) -> None:
    """Remove a folder, its claim last: what cannot be removed now stays claimed."""
    with suppress(OSError):
        for name in {*os.listdir(folder)} - {CLAIM}:
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        if os.listdir(folder) == [CLAIM]:
            os.unlink(os.path.join(folder, CLAIM))
        os.rmdir(folder)


def _claim(folder: str, mark: str) -> bytes:
    """Name the folder, its number on the disk and its job: true of no copy of it."""
    number = os.stat(folder, follow_symlinks=False).st_ino
    return f"{os.path.basename(folder)} {number} {mark}\n".encode()


def _left(folder: str) -> bool:
    """Whether a job has claimed a folder and has ended."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(f"{folder}/{CLAIM}", flags), "r+b", 0) as file:
        said = file.read(1024)
        mark = os.fsdecode(said[said.rfind(b" ") + 1 : -1])
        if said != _claim(folder, mark) or any(marked(mark)):
            return False
        with suppress(BlockingIOError):  # keeper or launcher hold it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _locked(folder: Path) -> IO[bytes] | None:
    """Hold a folder as a keeper does, which may be killed."""
    with suppress(OSError):
        file = (folder / CLAIM).open("rb")
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return file
    return None


class Keeper:
    """The program that keeps the folders of a job, and ends the job if we are killed.

    Whatever the ranks and mpirun leave in files lies in `folders`, one on a disk and
    one in memory. Processes with the variable `mark` in their environment are the
    job's. What hangs, as all do that write to a disk that stands still, holds the
    keeper and not us: we leave in time, and it ends what is there and removes folders.

    Raises
    ------
    OSError
        No folders could be made.
    Error
        The program was stopped (SIGSTOP) before it made them.
    """

    _leaves: float | None = None

    def left(self) -> float:
        """Time until we leave, which begins with the first call [s]."""
        now = time.monotonic()
        self._leaves = self._leaves or now + LEAVING
        return max(0.0, self._leaves - now)

    def __enter__(self) -> Keeper:
        """Make the folders."""
        parents = [tempfile.gettempdir()]
        if os.access(SHARED_MEMORY, os.W_OK):
            parents.append(str(SHARED_MEMORY))
        self.mark = new_mark()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, self.mark, *parents],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.folders: list[Path] = []
        self._locks: list[IO[bytes] | None] = []
        try:
            self.folders += [Path(os.fsdecode(path)) for path in self._told()]
        except BaseException:
            self.__exit__()
            raise
        self._locks += [_locked(folder) for folder in self.folders]
        if len(self.folders) == len(parents):
            return self
        self.__exit__()
        raise OSError(f"no folders could be made in {' and '.join(parents)}")

    def __exit__(self, *exception: object) -> None:
        """Tell it if all is well; a keeper that does not hear it is not needed.

        An interrupt may come where nobody else knows yet of what was just started.
        """
        from hpccfpga.stops import stopped  # not in the program that is the keeper

        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError), self.process.stdin as pipe:  # somebody killed it
            pipe.write(b"" if any(exception) else b"done")
        self.process.stdout.close()
        works = True
        while works and self.process.poll() is None and (left := self.left()):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(min(left, GRACE / 10))
            works = not stopped(self.process.pid)
        if not works:
            self.process.kill()
            self.process.wait()
        if self.process.poll() is not None:  # else it goes on, and removes them itself
            for folder in self.folders:
                remove(folder)
        for lock in filter(None, self._locks):
            lock.close()

    def _told(self) -> list[bytes]:
        """Paths of the folders, as far as they come in time."""
        from hpccfpga.stops import LOOKS, SHORTEST, Stops

        assert self.process.stdout is not None
        said, end, stops = b"", time.monotonic() + STARTING, Stops(SHORTEST)
        while time.monotonic() < end:
            stops.look([self.process.pid])
            if not select.select([self.process.stdout], [], [], LOOKS)[0]:
                continue
            if not (more := os.read(self.process.stdout.fileno(), 4096)):
                break
            said += more
        return said.split(b"\0")[:-1]


def new_mark() -> str:
    """Name of an environment variable by which a job's processes are found again."""
    return f"HPCCFPGA_JOB_{os.urandom(8).hex()}"


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
            claim(folders[-1], mark)
        with suppress(OSError):  # the parent is gone already
            os.write(1, b"".join(os.fsencode(folder) + b"\0" for folder in folders))
            os.close(1)
        for parent in parents:
            remove_leftovers(parent)
        if not sys.stdin.buffer.read():
            end(mark)
    finally:
        latest = time.monotonic() + LONGEST  # what nothing ends may still make files
        while folders and time.monotonic() < latest:
            for folder in folders:
                remove(folder)
            folders = [folder for folder in folders if os.path.exists(folder)]
            time.sleep(0.01 * bool(folders))


if __name__ == "__main__":
    main()
