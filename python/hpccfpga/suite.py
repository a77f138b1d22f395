"""All benchmarks, one after the other, and their figures in one table."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hpccfpga import _core, choice, formats, models
from hpccfpga.arguments import count, known
from hpccfpga.boards import board as find_board
from hpccfpga.choice import AUTO
from hpccfpga.components import common, keywords
from hpccfpga.errors import decode, encode
from hpccfpga.hosts import check as check_hosts
from hpccfpga.job import Task, job, run_task
from hpccfpga.launch import TIMEOUT
from hpccfpga.measure import run
from hpccfpga.progress import Callback
from hpccfpga.provenance import ranks_where
from hpccfpga.result import Result
from hpccfpga.session import Session
from hpccfpga.sources import existing
from hpccfpga.tables import digits, html_table, lines, readable
from hpccfpga.text import brief

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

SCHEMA = "hpccfpga-suite/1"

KERNEL = "kernel"
"""What a benchmark is given of its own beside parameters."""


class Figure(NamedTuple):
    """A figure of a benchmark.

    Parameters
    ----------
    benchmark, name, unit : str
        What it is; the unit is SI.
    total : float
        Of all ranks together; NaN where the data was wrong.
    per_device : float
        Total over ranks, for rates; else NaN.
    model : float
        What the model of the board expects in total; NaN without one.
    """

    benchmark: str
    name: str
    unit: str
    total: float
    per_device: float
    model: float


@dataclass(frozen=True, eq=False)
class Suite:
    """What a run of all benchmarks found.

    Parameters
    ----------
    results : dict of str to Result
        Measured results by benchmark.
    models : dict of str to Result
        What models expect of them, by benchmark.
    errors : dict of str to Exception
        Why a benchmark has no result; NotImplementedError says that it does not go
        with the exchange scheme or the device.
    """

    results: dict[str, Result]
    models: dict[str, Result] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """There are results, all their data was right, and nothing failed."""
        right = all(result.verified for result in self.results.values())
        return bool(self.results) and right and not self.failures

    @property
    def failures(self) -> dict[str, BaseException]:
        """Errors of benchmarks, but for those that the scheme or device excludes."""
        return {
            name: error
            for name, error in self.errors.items()
            if not isinstance(error, NotImplementedError)
        }

    @property
    def figures(self) -> list[Figure]:
        """Figures of the best repetitions, of all benchmarks in turn."""
        found = []
        for benchmark, result in self.results.items():
            model = self.models.get(benchmark)
            expected = {} if model is None else model.summary
            for name, (unit, total) in result.summary.items():
                if not name.endswith("_median"):
                    rate = unit.endswith("/s")
                    each = total / result.ranks if rate else float("nan")
                    said = expected[name].value if name in expected else float("nan")
                    found.append(Figure(benchmark, name, unit, total, each, said))
        return found

    def table(self) -> str:
        """Aligned text: a line for each figure, and one for what could not run."""
        cells, remarks = self._cells()
        rows = zip(lines(cells), ["", *remarks], strict=True)
        text = [f"{row}  {remark}".rstrip() for row, remark in rows]
        return "\n".join([*self._head(), "", *text, *self._notes()])

    def __repr__(self) -> str:
        """One line."""
        names = ", ".join([*self.results, *self.errors]) or "nothing"
        return ", ".join([f"<Suite {names}", *self._verdict()]) + ">"

    def _verdict(self) -> list[str]:
        """Words for whether the data was right, and for what failed."""
        if self.failures:
            return [f"FAILED: {', '.join(self.failures)}"]
        return ["verified"] if self.verified else []

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def _repr_html_(self) -> str:
        cells, remarks = self._cells()
        head, *tail = (html.escape(text) for text in self._head())
        parts = [f"<b>{head}</b>", *tail, html_table({**cells, ("", "1"): remarks})]
        parts += map(html.escape, self._notes())
        return "".join(f"<div>{part}</div>" for part in parts)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Text of all results as one JSON document; see `Result.to_json`."""
        benchmarks = {
            name: {
                "result": _document(self.results.get(name)),
                "model": _document(self.models.get(name)),
                **(encode(self.errors[name]) if name in self.errors else {}),
            }
            for name in [*self.results, *self.errors]
        }
        return formats.write({"schema": SCHEMA, "benchmarks": benchmarks}, path)

    @classmethod
    def from_json(cls, path_or_text: str | os.PathLike[str]) -> Suite:
        """Read what `to_json` wrote; see `Result.from_json`."""
        with formats.read(path_or_text) as (document, path):
            return cls.of(document, path)

    @classmethod
    def of(cls, document: Any, file: str = "") -> Suite:
        """Make a suite of its document; ValueError if it is none."""
        formats.check_schema(document, SCHEMA)
        suite = cls({})
        try:
            for name, entry in document["benchmarks"].items():
                for key, to in (("result", suite.results), ("model", suite.models)):
                    if entry[key] is not None:
                        to[name] = found = Result.of(entry[key], file=file)
                        if found.benchmark != name:
                            raise ValueError(
                                f"{name} has the {key} of {found.benchmark}"
                            )
                if "error" in entry:
                    suite.errors[name] = decode(entry)
        except (KeyError, TypeError, AttributeError):
            raise ValueError("the benchmarks are not those of a suite") from None
        return suite

    def _head(self) -> list[str]:
        results = self.results.values()
        if not results:
            return ["suite, measured: nothing could run"]
        first = next(iter(results))
        words = [f"suite, measured, exchange {first.exchange}", str(first.device)]
        words += [ranks_where(first.ranks, first.provenance), *self._verdict()]
        warnings = dict.fromkeys(text for result in results for text in result.warnings)
        return [", ".join(words), *warnings]

    def _notes(self) -> list[str]:
        """Remarks on the results and on what the models took for granted."""
        said: dict[str, None] = {}
        for kind in (self.results, self.models):
            for name, result in kind.items():
                notes = result.provenance.get("notes", [])
                said |= {f"note: {name}: {note}": None for note in notes}
        return ["", *said] if said else []

    def _cells(self) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
        """Texts below each heading, and a remark to each line."""
        rows, remarks = [], []
        for figure in self.figures:
            shown, scale = readable(figure.unit)
            numbers = (figure.per_device, figure.total, figure.model)
            texts = [_text(number / scale) for number in numbers]
            ratio = _text(figure.total / figure.model, 3)
            unit = "" if shown == "1" else shown
            rows.append([figure.benchmark, figure.name, *texts, ratio, unit])
            right = self.results[figure.benchmark].verified
            remarks.append("" if right else "NOT VERIFIED")
        for name, error in self.errors.items():
            rows.append([name, *[""] * 6])
            what = "FAILED" if name in self.failures else "left out"
            remarks.append(f"{what}: {error}")
        heads = ["benchmark", "figure", "per device", "all ranks"]
        heads += ["model", "measured / model", "unit"]
        columns = zip(*rows, strict=True) if rows else [()] * len(heads)
        cells = {(h, "1"): list(c) for h, c in zip(heads, columns, strict=True)}
        if not self.models:
            del cells["model", "1"], cells["measured / model", "1"]
        return cells, remarks


def run_all(
    *,
    ranks: int | None = None,
    hosts: Sequence[str] | None = None,
    exchange: str = _core.SCHEME,
    device: str | int | None = None,
    comm: Comm | None = None,
    board: str | None = None,
    calibration: Result | None = None,
    timeout: float = TIMEOUT,
    progress: bool | Callback | None = None,
    **params: Any,
) -> Suite:
    """Measure every benchmark that fits the exchange scheme, one after the other.

    Parameters are checked before the first one starts. What one benchmark cannot do
    after that does not keep the others from running.

    Parameters
    ----------
    ranks : int, optional
        Ranks that mpirun starts, anew for each benchmark; default: this process, or
        those of `comm`.
    hosts, exchange, device, comm, timeout, progress
        As for `hpccfpga.run`.
    board : str, optional
        Board whose data feed the benchmarks' models.
    calibration : Result, optional
        What exchange "auto" chooses by; default: the board's data, else a calibration
        is made before the first benchmark that runs, or, with `ranks`, before each.
    **params
        `reps`, `seed` and so on for all; under the name of a benchmark a dict of
        parameters of its own, e.g. ``gemm={"sizes": [512]}``, and `kernel`, the path
        of its kernels: ``stream={"kernel": "stream.xclbin"}``.

    Returns
    -------
    Suite
        Results, models and errors by benchmark; it shows itself as a table, with rates
        of all ranks and per device.

    Raises
    ------
    LookupError
        Unknown exchange, device or board; the message lists the known ones.
    ValueError
        Unknown or impossible parameters; `ranks` together with `comm`.
    TypeError, ValueError, Error
        As `Session` raises them, where `ranks` is not given.
    """
    if ranks is not None and comm is not None:
        raise ValueError("ranks: those of comm are there already")
    if ranks is not None:
        ranks = count("ranks", ranks)
    check_hosts(hosts, ranks, comm)
    given = _parameters(params)
    kernels = {name: own.pop(KERNEL, None) for name, own in given.items()}
    tasks = [run_task(name, kernels[name], own) for name, own in given.items()]
    todo = job(exchange, device, *tasks)
    if board is not None:
        find_board(board)
    chooses = board if exchange == AUTO and calibration is None else None
    choice.expected(exchange, calibration, chooses)  # its errors come before the runs
    suite = Suite({})
    with ExitStack() as stack:
        measure: Callable[..., Result]
        if ranks is None:
            session = Session(
                device,
                exchange,
                comm,
                todo.deadline,
                calibration=calibration,
                board=chooses,
            )
            measure = stack.enter_context(session).run
            session.agree(_missing(todo.tasks))
        else:
            if missing := _missing(todo.tasks):
                raise missing
            measure = partial(
                run,
                ranks=ranks,
                hosts=hosts,
                exchange=exchange,
                device=device,
                timeout=timeout,
                calibration=calibration,
                board=chooses,
            )
        for task in todo.tasks:
            name = task.name
            try:
                suite.results[name] = measure(
                    name, kernel=task.kernel, progress=progress, **task.parameters
                )
            except LookupError:  # what it names, no benchmark can have
                raise
            except (ValueError, NotImplementedError, MemoryError, _core.Error) as error:
                suite.errors[name] = error
    for name, result in suite.results.items() if board is not None else ():
        try:
            suite.models[name] = models.beside(result, str(board), given[name])
        except (LookupError, ValueError) as error:
            result.provenance["notes"].append(f"no model: {error}")
    return suite


def read(path_or_text: str | os.PathLike[str]) -> Result | Suite:
    """Read what `to_json` of a result or of a suite wrote.

    Raises
    ------
    FileNotFoundError, ValueError
        As `Result.from_json`.
    """
    with formats.read(path_or_text) as (document, path):
        if formats.family(document) == formats.family({"schema": SCHEMA}):
            return Suite.of(document, path)
        return Result.of(document, file=path)


def benchmarks() -> list[str]:
    """Names of the benchmarks of the suite: those that have a model."""
    modelled = {name for name, _ in _core.components("model")}
    return [name for name, _ in _core.components("bench") if name in modelled]


def _parameters(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each benchmark is given; ValueError for unknown parameters."""
    names = benchmarks()
    if unknown := [name for name in params if name not in (*common(), *names)]:
        choices = known(unknown[0], [*common(), *names, *keywords(run_all)])
        raise ValueError(f"no parameter {unknown[0]} of all; {choices}")
    shared = {name: params[name] for name in common() if name in params}
    for name in names:
        if not isinstance(params.get(name, {}), Mapping):
            raise TypeError(f"{name}: {brief(params[name])} is no dict of parameters")
    return {name: {**shared, **params.get(name, {})} for name in names}


def _missing(tasks: Sequence[Task]) -> ValueError | None:
    """Error of the first kernels that this rank cannot read."""
    for task in tasks:
        try:
            if task.kernel is not None:
                existing(task.kernel, f"{task.name}: {KERNEL}")
        except ValueError as error:
            return error
    return None


def _document(result: Result | None) -> dict[str, Any] | None:
    return None if result is None else formats.document(result)


def _text(number: float, n: int = 4) -> str:
    return "" if math.isnan(number) else digits(number, n)
