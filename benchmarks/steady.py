"""Rounds of programs in which the machine stays as it is.

A virtual machine's CPUs may be moved between cores of one chip and of two, every few
seconds. A cache line then takes 0.1 or 0.5 us from one to the other and back, and what
goes from rank to rank takes up to ten times as long: a ratio of two programs, of which
one ran before the move and one after it, says nothing.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from programs import compiled, output

CHANGE = 1.6  # the cores were moved: a round trip takes so many times as long
ENOUGH = 3  # rounds in which they stayed: others are left out beside so many

T = TypeVar("T")


class Steady:
    """A watch on how far the first two CPUs are apart; `folder` gets its program.

    With `comm`, an MPI communicator, all its ranks watch together and its first rank
    prints. `cpus` are those that a rank might use before it took some of its own.
    """

    def __init__(
        self, folder: str | Path, comm: Any = None, cpus: set[int] | None = None
    ) -> None:
        self.comm = comm
        self.first = comm is None or comm.rank == 0
        self.cpus = cpus or os.sched_getaffinity(0)
        self.program = f"{folder}/core_trip"
        if self.first:
            self.program = compiled("core_trip", folder, "-O2", "-pthread")

    def trip(self) -> float:
        """Time of a cache line's round trip between two CPUs [s]; 0 where one is."""
        seconds = self._trip() if self.first else 0.0
        if self.comm is not None:
            self._meet()
            seconds = self.comm.bcast(seconds)
        return seconds

    def _trip(self) -> float:
        own = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cpus)
        try:
            return float(output([self.program]))
        finally:
            os.sched_setaffinity(0, own)

    def _meet(self) -> None:
        """Wait for all ranks without using their cores."""
        met = self.comm.Ibarrier()
        while not met.Test():
            time.sleep(0.01)

    def rounds(
        self, number: int, programs: dict[str, Callable[[], T]]
    ) -> list[dict[str, T]]:
        """Run every program once a round, in alternating order.

        A round within which the cores are moved is repeated, `number` times in all.
        What is given: the rounds in which they stayed, or all if these are too few.
        """
        done: list[dict[str, T]] = []
        stayed: list[dict[str, T]] = []
        trips: list[str] = []
        repeated = 0
        while len(done) < number:
            found, seen = {}, [self.trip()]
            for name in list(programs)[:: 1 - 2 * (len(done) % 2)]:
                found[name] = programs[name]()
                seen.append(self.trip())
            moved = max(seen) > CHANGE * min(seen)
            if moved and repeated < number:
                repeated += 1
                continue
            done.append(found)
            if not moved:
                stayed.append(found)
            trips.append(f"{1e6 * median(seen):.2f}" + " (changed)" * moved)
        if self.first:
            print(f"from core to core and back in each round [us]: {', '.join(trips)}")
        if self.first and repeated:
            print(f"rounds repeated, as that changed within them: {repeated}")
        few = len(stayed) < min(ENOUGH, number)
        if self.first and len(stayed) < number:
            count = "these alone count" if not few else "too few, so all count"
            print(f"the cores stayed in {len(stayed)} of {number} rounds: {count}")
        return done if few else stayed
