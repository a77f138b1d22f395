"""End the daemon of mpirun on another machine where it outlives its ranks.

mpirun ends its daemons. A daemon that it no longer reaches, for example because the
link is down, waits for as long as TCP does: a quarter of an hour and more.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

DAEMONS = ("orted", "prted")
"""Names of the processes that start ranks on other machines than mpirun's."""

LASTS = 5.0
"""Longest life of a daemon after its last rank [s]."""

GRACE = 1.0
"""Time from a polite end to a forced one [s]."""


def watch() -> None:
    """Start to look after the daemon that started this process, if one did.

    The first rank of a node does it, before it has threads: its child does nothing but
    wait, and sleeps until that rank has ended.
    """
    parent = os.getppid()
    if _number("LOCAL_RANK") or _name(parent) not in DAEMONS:
        return
    try:
        daemon, rank = os.pidfd_open(parent), os.pidfd_open(os.getpid())
    except OSError:  # a kernel before 5.3: TCP ends the daemon, late
        return
    if os.fork():
        os.close(daemon)
        os.close(rank)
        return
    try:
        os.setsid()
        os.closerange(0, min(daemon, rank))
        os.closerange(max(daemon, rank) + 1, os.sysconf("SC_OPEN_MAX"))
        _look_after(daemon, rank, parent)
    finally:
        os._exit(0)


def _number(what: str) -> int:
    """Return what Open MPI says of this rank."""
    return int(os.environ.get(f"OMPI_COMM_WORLD_{what}", "0"))


def _name(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    return ""


def _look_after(daemon: int, rank: int, parent: int) -> None:
    if daemon in select.select([daemon, rank], [], [])[0]:
        return
    while _children(parent):
        if select.select([daemon], [], [], GRACE)[0]:
            return
    for number, patience in ((0, LASTS), (signal.SIGTERM, GRACE), (signal.SIGKILL, 0)):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(daemon, number)
        if select.select([daemon], [], [], patience)[0]:
            return


def _children(process: int) -> bool:
    """Whether a process has children that live."""
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            text = Path(f"/proc/{int(entry)}/stat").read_text(errors="replace")
            state, parent = text.rpartition(")")[2].split()[:2]
            if int(parent) == process and state != "Z":
                return True
    return False
