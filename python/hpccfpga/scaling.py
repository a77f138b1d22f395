"""Scaling: one benchmark on several numbers of ranks, as one result."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hpccfpga import _core, models
from hpccfpga.arguments import count, entries, known, word
from hpccfpga.choice import AUTO
from hpccfpga.components import check_names
from hpccfpga.hosts import check as check_hosts
from hpccfpga.job import job, run_task
from hpccfpga.launch import TIMEOUT
from hpccfpga.measure import run as measure
from hpccfpga.progress import Callback
from hpccfpga.provenance import counted_ranks, origin
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.text import brief

MODES = ("weak", "strong")
DIGITS = (8, 7, 6, 5)
"""Binary digits of a share that is not whole: as many as a run takes."""


def scaling(
    benchmark: str,
    *,
    ranks: Iterable[int],
    hosts: Sequence[str] | None = None,
    mode: str = "weak",
    exchange: str = _core.SCHEME,
    device: str | int | None = None,
    kernel: str | os.PathLike[str] | None = None,
    board: str | Mapping[str, float] | None = None,
    calibration: Result | None = None,
    timeout: float = TIMEOUT,
    progress: bool | Callback | None = None,
    **params: Any,
) -> Result:
    """Measure one benchmark on several numbers of ranks that mpirun starts.

    One point of the benchmark is looked at: its one size, or the last of its
    operations. The parameter that says how much work a run is (`sizes`, ...) is that of
    one rank alone: "weak" gives each rank as much work as that, "strong" shares it
    among them. A share that is not whole, or that no run takes, is rounded to eight
    binary digits, or fewer where a run takes those alone; the result says which ran.

    Parameters
    ----------
    benchmark : str
        One of `hpccfpga.benchmarks()`.
    ranks : iterable of int
        Numbers of ranks; speed-up and efficiency are against the first.
    mode : str
        "weak" keeps the share of each rank, "strong" the work of all together.
    hosts, exchange, device, kernel, timeout, progress
        As for `hpccfpga.run`; time and progress are those of each number of ranks.
    board : str or mapping, optional
        Board whose data feed the benchmark's model, or the model's inputs by name.
    calibration : Result, optional
        What exchange "auto" chooses by; default: the board's data, else each number of
        ranks is calibrated before its run.
    **params
        Parameters of the benchmark; `sizes` is one size, default the last of a run's.

    Returns
    -------
    Result
        Of kind "measured", with a point per number of ranks. Its first label is
        `ranks`; columns are those of a run at the point looked at, and after the first
        rate, which is that of all ranks, `speedup` and `efficiency` ("1"): the rate
        over the first entry's, and that over the ratio of the ranks. With `board` also
        `<rate>_model`. `samples` [s] is [points, reps, ranks], NaN where there is none.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As `hpccfpga.run` and `hpccfpga.model`; ValueError also for an unknown mode,
        no ranks, several sizes, or a size that cannot be shared. Numbers of ranks that
        the benchmark cannot have are refused before the first run.
    """
    start = datetime.now(UTC)
    counts = _counts(ranks)
    check_hosts(hosts, counts)
    check_names(benchmark, params, scaling)
    work = _Work(benchmark, mode, params)
    modelled = []
    if not isinstance(board, str | Mapping | None):
        raise TypeError(f"board: {brief(board)} is neither a name nor a mapping")
    shares = [work.share(count, exchange, params) for count in counts]
    todo = job(exchange, device, *(run_task(benchmark, kernel, s) for s in shares))
    for task, number in zip(todo.tasks, counts, strict=True):
        _core.check_ranks(benchmark, exchange, task.parameters, number)
    if board is not None:  # its errors come before the runs
        models.for_run(benchmark, exchange, board, todo.tasks[0].parameters)
    chooses = exchange == AUTO and calibration is None and isinstance(board, str)
    runs = [
        measure(
            benchmark,
            calibration=calibration,
            board=str(board) if chooses else None,
            ranks=count,
            hosts=hosts,
            exchange=exchange,
            device=device,
            kernel=kernel,
            timeout=timeout,
            progress=progress,
            **share,
        )
        for count, share in zip(counts, shares, strict=True)
    ]
    for run, share in zip(runs, shares, strict=True):
        if board is not None:
            modelled.append(models.beside(run, board, share))
    kept = work.kept + ", some rounded" * work.rounds(counts, shares)
    told = [kept, _looked_at(runs), _gained(counts)]
    if modelled:
        told.append(f"model: {modelled[0].device}")
    notes = [*told, *_notes(counts, runs)]
    return Result(
        kind="measured",
        benchmark=benchmark,
        exchange=exchange,
        device=runs[0].device,
        emulated=any(run.emulated for run in runs),
        ranks=max(counts),
        verified=all(run.verified for run in runs),
        parameters={**runs[0].parameters, "mode": mode, "ranks": counts},
        columns=(columns := _columns(work, counts, shares, runs, modelled)),
        summary={n: Quantity("1", columns[n].values[-1].item()) for n in _GAINS},
        provenance={
            **origin(start),
            "notes": notes,
            "runs": [run.provenance for run in runs],
        },
    )


class _Work:
    """What a benchmark's work depends on, and what is kept of it."""

    def __init__(self, benchmark: str, mode: str, params: Mapping[str, Any]) -> None:
        if mode not in MODES:
            raise ValueError(f"no mode {brief(mode)}; {known(mode, MODES)}")
        names = [name for name, _ in _core.components("bench")]
        problem = _core.quantities(word("benchmark", benchmark, names))["problem"]
        if problem is None:
            raise ValueError(f"{benchmark} has no parameter that says how much work")
        self.benchmark = benchmark
        self.name, power = problem["parameter"], problem["power"]
        (entry,) = (e for e in _core.parameters(benchmark) if e["name"] == self.name)
        self.text = entry["kind"] == "text"
        # A label of the points holds it.
        self.labelled = entry["kind"] in ("ints", "text")
        self.low = entry["low"]
        self.value = _one(benchmark, self.name, params.get(self.name))
        grows, shrinks = 1 / power, -1 / power
        self.power = {
            ("weak", False): 0.0,
            ("weak", True): grows,
            ("strong", False): shrinks,
            ("strong", True): 0.0,
        }[mode, problem["shared"]]
        whose = "of all ranks" if problem["shared"] else "of each rank"
        root = "" if power == 1 else f"^(1/{power})"
        how = {0.0: "", grows: f" x ranks{root}", shrinks: f" / ranks{root}"}
        what = {
            "weak": "the share of each rank",
            "strong": "the work of all ranks together",
        }[mode]
        self.kept = (
            f"{mode} scaling: {what} is kept; "
            f"{self.name} {whose}: {self.value}{how[self.power]}"
        )

    def share(
        self, count: int, exchange: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Parameters for a number of ranks: `params` with their share."""
        if self.text:
            return {**params, self.name: self._grown(str(self.value), count)}
        share = self._exact(count)
        sizes = [round(share)] if math.isclose(share, round(share)) else []
        if share != self.value:
            sizes += [_rounded(share, digits) for digits in DIGITS]
        tries = [{**params, self.name: size} for size in sizes]
        runs = (given for given in tries if self._runs(count, exchange, given))
        given = next(runs, tries[0])
        if given[self.name] < self.low:
            raise ValueError(
                f"{self.name}: {self.value} cannot be shared by {count} ranks"
            )
        return given

    def rounds(
        self, counts: Sequence[int], shares: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Whether a share is not as `kept` says."""
        return not self.text and not all(
            math.isclose(share[self.name], self._exact(count))
            for count, share in zip(counts, shares, strict=True)
        )

    def _exact(self, count: int) -> float:
        return int(self.value) * count**self.power

    def _runs(self, count: int, exchange: str, params: Mapping[str, Any]) -> bool:
        """Whether a run on so many ranks takes these parameters."""
        try:
            told = run_task(self.benchmark, None, params)["parameters"]
            _core.check_ranks(self.benchmark, exchange, told, count)
        except (LookupError, ValueError, TypeError, NotImplementedError):
            return False  # the check of what is to run says why
        return True

    def _grown(self, text: str, count: int) -> str:
        """Return a text such as kron:16, a binary logarithm in it, for more ranks."""
        found = re.fullmatch(r"(\w+:)(\d{1,9})(|\D.*)", text)
        if not self.power:
            return text
        if not found or count & (count - 1):
            raise ValueError(
                f"{self.name}: weak scaling takes one such as kron:16, and powers "
                f"of two of ranks, not {text} on {count}"
            )
        return f"{found[1]}{int(found[2]) + count.bit_length() - 1}{found[3]}"


def _rounded(share: float, digits: int) -> int:
    """Return a share in so many binary digits.

    Kernels want multiples of powers of two, mostly small ones.
    """
    unit = 1 << max(0, round(share).bit_length() - digits)
    return unit * round(share / unit)


_GAINS = ("speedup", "efficiency")


def _columns(
    work: _Work,
    counts: Sequence[int],
    shares: Sequence[Mapping[str, Any]],
    runs: Sequence[Result],
    modelled: Sequence[Result],
) -> dict[str, Column]:
    """Columns of the runs at their last points, with what compares them."""
    first = runs[0]
    rate = next(iter(_core.quantities(first.benchmark)["metrics"]))
    columns = {"ranks": Column("1", np.array(counts, np.int64))}
    for name in first.labels:
        columns[name] = _last(name, runs)
    if not work.labelled:
        sizes = [share[work.name] for share in shares]
        columns[work.name] = Column("1", np.array(sizes, np.int64))
    for name, (unit, values) in first.columns.items():
        if name not in columns and values.ndim == 1:
            columns[name] = _last(name, runs)
        if name == f"{rate}_median":
            gain = columns[rate].values / columns[rate].values[0]
            more = columns["ranks"].values / counts[0]
            columns["speedup"] = Column("1", gain)
            columns["efficiency"] = Column("1", gain / more)
            if modelled:
                said = np.array([model[rate][-1] for model in modelled])
                columns[f"{rate}_model"] = Column(unit, said)
    longest = max(run["samples"].shape[1] for run in runs)
    samples = np.full((len(runs), longest, max(counts)), np.nan)
    for point, run in enumerate(runs):
        last = run["samples"][-1]
        samples[point, : last.shape[0], : last.shape[1]] = last
    columns["samples"] = Column("s", samples)
    return columns


def _looked_at(runs: Sequence[Result]) -> str:
    """Say which of the points of the runs is looked at."""
    label = runs[0].labels[0]
    points = [list(map(str, run[label])) for run in runs]
    if len(points[0]) == 1:
        return "of each run its one point"
    if any(points[0] != own for own in points):
        return f"of each run the last of {len(points[0])} points, each with its {label}"
    *others, last = points[0]
    out = ", ".join(others)
    return f"of each run the last point: {label} {last}; {out} are left out"


def _gained(counts: Sequence[int]) -> str:
    """Say what the figures compare."""
    last, first = counted_ranks(counts[-1]), counted_ranks(counts[0])
    return f"speedup and efficiency: {last} against {first}"


def _notes(counts: Sequence[int], runs: Sequence[Result]) -> list[str]:
    """Give notes that all runs have, and others with the ranks of theirs."""
    each = [run.provenance["notes"] for run in runs]
    of_all = [note for note in each[0] if all(note in notes for notes in each)]
    return of_all + [
        f"{counted_ranks(count)}: {note}"
        for count, notes in zip(counts, each, strict=True)
        for note in notes
        if note not in of_all
    ]


def _last(name: str, runs: Sequence[Result]) -> Column:
    """Column of what the runs have at their last points."""
    return Column(runs[0].units[name], np.array([run[name][-1] for run in runs]))


def _counts(ranks: Iterable[int]) -> list[int]:
    """Numbers of ranks; ValueError for what is none."""
    counts = [count("ranks", number) for number in entries("ranks", ranks)]
    if not counts:
        raise ValueError("ranks: no number given")
    if len(set(counts)) < len(counts):
        raise ValueError(f"ranks: {', '.join(map(str, counts))} has one twice")
    return counts


def _one(benchmark: str, name: str, given: Any) -> int | str:
    """Return the one value of a parameter; where none is given, the last of a run's."""
    values = _core.values(benchmark, {} if given is None else {name: given})[name]
    if isinstance(values, str):
        return values
    values = values if isinstance(values, list) else [values]
    if given is not None and len(values) != 1:
        raise ValueError(f"{name}: scaling takes one, not {len(values)}")
    return int(values[-1])
