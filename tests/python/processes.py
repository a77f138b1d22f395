"""What tests look at in processes of others: who lives, and who can be interrupted."""

import os
import signal
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from conftest import comes

from hpccfpga.keeper import marked


def leftovers(marker):
    """Command lines of living processes with `marker` there or in the environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        own = int(entry.name) == os.getpid()
        if not own and (marker in text or marker.encode() in environment):
            found.append(text)
    return found


def gone(marker):
    """Whether all processes with `marker` end."""
    return comes(lambda: not leftovers(marker))


def rank_of(mark, rank):
    """Process of a job that is this rank, else mpirun, once it is there."""
    for pid in marked(mark):
        with suppress(OSError):  # it has ended
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            if f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in environment:
                return pid
            if rank is None and Path(f"/proc/{pid}/comm").read_text() == "mpirun\n":
                return pid
    return None


def catching(mark):
    """Number of processes of a mark that have set a handler of SIGTERM."""
    found = 0
    for pid in marked(mark):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        caught = status.partition("SigCgt:")[2].split()
        found += bool(caught) and int(caught[0], 16) >> signal.SIGTERM - 1 & 1
    return found


def running(words, mark, processes):
    """A command that measures, once as many processes as given can be interrupted."""
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {mark: ""},
    )
    assert comes(lambda: catching(mark) >= processes)
    assert process.stdout.readline(), "what runs"
    return process


def stand_in(folder, monkeypatch, script, version='exec echo "HYDRA build details:"'):
    """Put a program named mpirun first in the path."""
    path = folder / "mpirun"
    asked = f'[ "$1" != --version ] || {{ {version}; }}'
    path.write_text(f"#!/bin/sh\n{asked}\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
