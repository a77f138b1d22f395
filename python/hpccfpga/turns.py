"""Runs in turns: a visit of each to a point, then the next of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hpccfpga import _core
from hpccfpga.arguments import word
from hpccfpga.components import Part, benchmarks, check_calibrated, chunks
from hpccfpga.progress import begin, check

if TYPE_CHECKING:
    import os

    from hpccfpga.progress import Callback


class Run(NamedTuple):
    """What a session is to run over which scheme."""

    benchmark: str
    exchange: str
    kernel: str | os.PathLike[str] | None
    parameters: Mapping[str, Any]


class Turn:
    """Progress of one turn of a run among those of all runs.

    Parameters
    ----------
    watch : callable
        Whom to tell; see `hpccfpga.progress`.
    title : str
        What all of them are.
    number, turns : int
        Number of this one, and of all, which have as many points.
    """

    def __init__(self, watch: Callback, title: str, number: int, turns: int) -> None:
        self.watch, self.title, self.number, self.turns = watch, title, number, turns

    def begin(self, *title: object) -> None:
        """Tell once that all of them begin."""
        if self.number == 0:
            begin(self.watch, self.title)

    def __call__(self, point: int, n_points: int, row: dict[str, float | str]) -> None:
        """Tell of a point."""
        self.watch(self.number * n_points + point, self.turns * n_points, row)


def runs_of(some: Sequence[Part], params: Mapping[str, Any]) -> list[Run]:
    """Return the runs that measure some parts.

    Raises
    ------
    ValueError
        A parameter that not all parts have.
    """
    check_calibrated(params)
    return [_run_of(part, params) for part in some]


def _run_of(part: Part, params: Mapping[str, Any]) -> Run:
    own = {**part.parameters, **params}
    if not _core.scheme(part.exchange)["chunks"]:
        own = {name: own[name] for name in own.keys() - chunks(own)}
    return Run(part.benchmark, part.exchange, None, own)


def turns_of(runs: Iterable[Run], progress: Any, whole: bool) -> list[_core._Turns]:
    """Return the turns of each run: visits to its points, or one that takes all.

    Raises
    ------
    LookupError, ValueError, TypeError
        As `hpccfpga.Session.run`.
    """
    check(progress)
    return [_turns_of(run, whole) for run in runs]


def _turns_of(run: Run, whole: bool) -> _core._Turns:
    word("benchmark", run.benchmark, benchmarks().names)
    names = {"reps", "rounds", "sizes"} & run.parameters.keys()
    own = {name: run.parameters[name] for name in names}
    return _core.turns(run.benchmark, own, whole)


def in_order(turns: Sequence[int]) -> list[int]:
    """Return whose turn it is: each run's first one, then each one's second, and so on.

    Parameters
    ----------
    turns : sequence of int
        Number of turns of each run.
    """
    return [
        at
        for turn in range(max(turns))
        for at, number in enumerate(turns)
        if turn < number
    ]
