"""Rounds of programs in which the machine stays as it is.

A virtual machine's CPUs may be moved between cores of one chip and of two, every few
seconds. A cache line then takes 0.1 or 0.5 us from one to the other and back, and what
goes from rank to rank takes up to ten times as long: a ratio of two programs, of which
one ran before the move and one after it, says nothing.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

from programs import compiled, output

CHANGE = 1.6  # the cores were moved: a round trip takes so many times as long

T = TypeVar("T")


class Steady:
    """A watch on how far the first two CPUs are apart; `folder` gets its program."""

    def __init__(self, folder: str | Path) -> None:
        self.program = compiled("core_trip", folder, "-O2", "-pthread")

    def trip(self) -> float:
        """Time of a cache line's round trip between two CPUs [s]; 0 where one is."""
        return float(output([self.program]))

    def rounds(
        self, number: int, programs: dict[str, Callable[[], T]]
    ) -> list[dict[str, T]]:
        """Run every program once a round, in alternating order.

        A round within which the cores are moved is repeated, `number` times in all.
        """
        done: list[dict[str, T]] = []
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
            trips.append(f"{1e6 * median(seen):.2f}" + " (changed)" * moved)
        print(f"from core to core and back in each round [us]: {', '.join(trips)}")
        if repeated:
            print(f"rounds repeated, as that changed within them: {repeated}")
        return done
