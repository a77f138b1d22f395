"""Processes that were stopped (SIGSTOP): they say nothing and end nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

STARTING = 60.0
"""Longest wait for something to start that is not stopped: it may be slow [s]."""

SHORTEST = 5.0
"""Time for which a process of a job may be stopped, however short the deadline [s]."""

LOOKS = 0.5
"""Time between two looks [s]."""


class Stops:
    """Looks for processes that have been stopped for too long.

    A process that is slow is not stopped: on a busy machine it needs its time.

    Parameters
    ----------
    patience : float
        How long a process may be stopped [s].
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._looked = time.monotonic()
        self._since: dict[int, float] = {}  # seen stopped at each look since then

    def look(self, processes: Iterable[int]) -> None:
        """Look at the processes if it is time to.

        Raises
        ------
        Error
            One has been stopped for too long.
        """
        now = time.monotonic()
        if now < self._looked + LOOKS:
            return
        if now > self._looked + self.patience / 2:  # we did not run either
            self._since = {}
        self._looked = now
        found = {pid: name for pid in processes if (name := stopped(pid))}
        self._since = {pid: self._since.get(pid, now) for pid in found}
        for pid, since in self._since.items():
            if now > since + self.patience:
                from hpccfpga._core import Error  # ranks read this file first of all

                raise Error(
                    f"{found[pid]}, process {pid}, has been stopped for "
                    f"{self.patience:g} s"
                )


def stopped(pid: int) -> str:
    """Name of a process that is stopped, else nothing."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        name, _, state = text.rpartition(")")
        if state.split()[0] == "T":
            return name.partition("(")[2]
    return ""
