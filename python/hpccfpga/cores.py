"""Cores of the ranks that are started here: those of a node have equal shares.

On a core that several ranks use, a message waits until the operating system gives its
receiver the core again. A new thread has the cores of the thread that starts it, so a
rank takes its cores before MPI and OpenCL start threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

_NODE = {
    "OMPI_COMM_WORLD_LOCAL_RANK": "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALRANKID": "MPI_LOCALNRANKS",
}
"""What mpirun calls a rank among those of its node, and how many these are."""

_CPUS = Path("/sys/devices/system/cpu")
_TOPOLOGY = ("physical_package_id", "core_id")


def take() -> set[int]:
    """Keep this rank to its share of the cores of its node.

    Nothing changes where ranks are more than cores, where somebody else has bound this
    rank, and where the system does not let it.

    Returns
    -------
    set of int
        CPUs that it could use before; none if nothing has changed.
    """
    with suppress(OSError):
        before = os.sched_getaffinity(0)
        own = share(ordered(before), *_place())
        bound = before != os.sched_getaffinity(os.getppid())  # mpirun's
        if not bound and len(own) < len(before):
            os.sched_setaffinity(0, own)  # raises where it is forbidden
            allow(own)
            return before
    return set()


def allow(cpus: Iterable[int]) -> None:
    """Let all threads of this process use these CPUs, and no others."""
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended
            os.sched_setaffinity(int(thread), cpus)


def share(cpus: Sequence[int], rank: int, ranks: int) -> Sequence[int]:
    """Return the CPUs of a rank: as many as others have, all where ranks are more."""
    each = len(cpus) // ranks
    return cpus[rank * each : (rank + 1) * each] if each else cpus


def ordered(cpus: Iterable[int], root: Path = _CPUS) -> list[int]:
    """Sort CPUs by package and core, which their numbers need not follow."""

    def place(cpu: int) -> list[int]:
        files = (root / f"cpu{cpu}" / "topology" / name for name in _TOPOLOGY)
        with suppress(OSError, ValueError):
            return [*(int(file.read_text()) for file in files), cpu]
        return [0, 0, cpu]  # nobody tells

    return sorted(cpus, key=place)


def _place() -> tuple[int, int]:
    """Return the number of this rank on its node, and how many are there."""
    for rank, ranks in _NODE.items():
        if rank in os.environ and ranks in os.environ:
            return int(os.environ[rank]), int(os.environ[ranks])
    return 0, 1
