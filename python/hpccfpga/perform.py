"""Do a job: in this process, or as one of the ranks that mpirun started for it."""

from __future__ import annotations

import io
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga import _core, cores, emulation, formats, ranks
from hpccfpga import job as jobs
from hpccfpga.errors import INTERRUPT, OK, STOPS, Stopped, under_mpi
from hpccfpga.job import ALL, Job, Task
from hpccfpga.outcome import VerificationWarning
from hpccfpga.progress import Callback
from hpccfpga.result import Result
from hpccfpga.session import Session
from hpccfpga.sources import existing

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

JOB = "job.json"
"""Document of a job, in its folder."""


def perform(
    job: Job,
    comm: Comm | None,
    watch: Callback | None,
    before: Callable[[Session], object],
    after: Callable[[list[Result]], object],
) -> list[Result]:
    """Do a job on the ranks of `comm`; collective.

    Parameters
    ----------
    job : Job
        What to measure.
    comm : mpi4py.MPI.Comm or None
        The ranks; None: this process.
    watch : callable or None
        Whom to tell of points, of all ranks on 0.
    before : callable
        Called with the session; what it raises is raised on all ranks.
    after : callable
        Called on rank 0 with the results, likewise.

    Returns
    -------
    list of Result
        Those of each task.
    """
    files = [task.kernel for task in job.tasks]
    with emulation.limited(job.kernels):
        session = opened(
            files, job.device, job.exchange, comm, job.deadline, job.trace or False
        )
    with session:
        first = session.rank == 0
        session.agree(_error(before, session))
        if job.expected is not None:
            session.expect(job.expected)
        told = watch if first else None
        results = [one for task in job.tasks for one in _do(session, task, told)]
        session.agree(_error(after, results) if first else None)
    return results


def opened(files: Iterable[Any], *arguments: Any) -> Session:
    """Open a session; where it does not open, missing kernel files are named, too.

    Parameters
    ----------
    files : iterable of path or None
        What it is to run.
    *arguments
        Of `Session`.
    """
    try:
        return Session(*arguments)
    except (LookupError, ValueError, NotImplementedError, _core.Error) as error:
        for file in files:
            wrong = _error(existing, file) if isinstance(file, str | PathLike) else None
            if wrong is not None:
                raise type(error)(f"{error}; {wrong}") from None
        raise


def get_ready() -> None:
    """Leave wrong data to the text and the exit code; end in order on any signal."""
    warnings.simplefilter("ignore", VerificationWarning)
    asked = STOPS.keys() if under_mpi() is None else {*STOPS, signal.SIGINT}
    for number in asked:
        if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: object) -> None:
    """Raise what a signal asks for.

    mpirun makes SIGTERM of Ctrl-C. A rank tells of it at once: the others may tell
    first, before it comes to its end, that it has left.
    """
    if under_mpi() is None:
        raise Stopped(STOPS[signal.Signals(number)])
    error = Stopped(INTERRUPT)
    if ranks.heard():
        with suppress(OSError):  # nobody listens any more
            ranks.report(error, "", alone=True)
    raise error


def result_path(folder: Path, number: int) -> Path:
    """Where ranks leave a result."""
    return folder / f"{number}.json"


def result_read(folder: Path, number: int) -> Result:
    """Read a result as ranks left it."""
    path = result_path(folder, number)
    with formats.read(path) as (document, _):
        result = Result.of(document)
    if path.with_suffix(".npy").exists():
        result.vertices = np.load(path.with_suffix(".npy"))
    return result


def perform_as_rank(folder: Path) -> int:
    """Do the job in a folder as one of the ranks that mpirun started for it here."""
    job = jobs.read((folder / JOB).read_bytes())
    return _perform(job, lambda name, data: (folder / name).write_bytes(data))


def perform_anywhere(packed: Sequence[str]) -> int:
    """Do a job as one of the ranks that mpirun started for it on any machines."""
    return _perform(jobs.unpacked(packed), ranks.give)


def _perform(job: Job, keep: Callable[[str, bytes], object]) -> int:
    get_ready()
    # Kernels that wait for each other take cores by themselves.
    shared = set() if emulation.routed(job.exchange) else cores.take()

    def settle(session: Session) -> None:
        if shared and not session.device["emulated"]:
            cores.allow(shared)  # others may be nearer to the device

    def save(results: list[Result]) -> None:
        for number, result in enumerate(results):
            path = result_path(Path(), number)
            if result.vertices is not None:
                vertices = io.BytesIO()
                np.save(vertices, result.vertices)
                keep(path.with_suffix(".npy").name, vertices.getvalue())
            keep(path.name, result.to_json().encode())

    perform(job, ranks.world(job.deadline), _Teller(), settle, save)
    return OK


class _Teller:
    """Tell the process that started mpirun of the progress."""

    def begin(self, *task: object) -> None:
        ranks.tell("begin", *task)

    def compiling(self, benchmark: str) -> None:
        ranks.tell("compiling", benchmark)

    def __call__(self, *row: object) -> None:
        ranks.tell("row", *row)


def _do(session: Session, task: Task, watch: Callback | None) -> list[Result]:
    if task.benchmark is None:
        return [session.calibrate(progress=watch, **task.parameters)]
    given = {"kernel": task.kernel, "progress": watch, **task.parameters}
    if task.parts is None:
        return [session.run(task.benchmark, **given)]
    every = task.parts == ALL
    return [*session.run_calibrated(task.benchmark, all_parts=every, **given)]


def _error(function: Callable[..., object], *arguments: Any) -> BaseException | None:
    """Call, and return what is raised, for all ranks to agree on."""
    try:
        function(*arguments)
    except BaseException as error:
        return error
    return None
