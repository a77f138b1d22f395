"""Measure from Python: here, on ranks of a communicator, or on ranks started here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from hpccfpga import _core, automatic, choice
from hpccfpga.arguments import flag
from hpccfpga.components import CALIBRATION, check_names
from hpccfpga.hosts import check as check_hosts
from hpccfpga.job import ALL, MODEL, Job, calibrate_task, job, run_task
from hpccfpga.launch import TIMEOUT, longest, start
from hpccfpga.outcome import warn
from hpccfpga.perform import opened
from hpccfpga.progress import Callback, Watch, check
from hpccfpga.result import Result
from hpccfpga.session import Session

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


def run(
    benchmark: str,
    *,
    exchange: str = _core.SCHEME,
    device: str | int | None = None,
    ranks: int | None = None,
    hosts: Sequence[str] | None = None,
    devices: str | None = None,
    comm: Comm | None = None,
    kernel: str | os.PathLike[str] | None = None,
    trace: bool | int = False,
    calibration: Result | None = None,
    board: str | None = None,
    timeout: float = TIMEOUT,
    progress: bool | Callback | None = None,
    **params: Any,
) -> Result:
    """Measure one benchmark, in a session of its own.

    In this process alone; with `ranks` on ranks that mpirun starts, for notebooks and
    scripts; with `comm` on the ranks of a program that runs under mpirun.

    Parameters
    ----------
    benchmark : str
        One of `hpccfpga.benchmarks()`.
    exchange, device, trace, calibration, board
        As for `hpccfpga.Session`.
    ranks : int, optional
        Number of ranks to start, also more than there are cores, up to 64 per core.
    hosts : sequence of str, optional
        Machines to start `ranks` on, evenly as ["a", "b"], or with numbers of ranks as
        ["a:2", "b:1"]; default: this one.
    devices : str, optional
        "auto", in place of `ranks`: as many as are the fastest by short runs on one and
        two and the benchmark's model; of those as fast, the fewest. The last note of
        the result says why. `graph` only.
    comm : mpi4py.MPI.Comm, optional
        Ranks that are there.
    kernel, progress, **params
        As for `hpccfpga.Session.run`; of started ranks, `progress` is called here.
    timeout : float
        Time for all that started ranks do, after which they are stopped [s]. The
        parameter `deadline` is the longest wait of one rank for another.

    Returns
    -------
    Result
        Of kind "measured"; see `hpccfpga.Session.run`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As `hpccfpga.Session.run`. ValueError also for `ranks` together with `comm`;
        Error also if a started rank was killed, the time is over, or mpirun does not
        work.
    """
    check_hosts(hosts, ranks, comm)
    longest(timeout)
    if comm is None:  # else ranks agree on what they refuse
        check_names(benchmark, params, run)
    if devices is not None:
        automatic.check(benchmark, devices, ranks, comm)
        options: dict[str, Any] = {
            "exchange": exchange,
            "device": device,
            "kernel": kernel,
            "calibration": calibration,
            "board": board,
            "timeout": timeout,
        }
        ranks, why = choose(benchmark, params, **options)
        options |= {"trace": trace, "progress": progress}
        result = _measured(benchmark, ranks=ranks, **options, **params)
        result.provenance["notes"].append(why)
        return result
    if _start(ranks, comm):
        task = run_task(benchmark, kernel, params)
        known = choice.expected(exchange, calibration, board)
        todo = job(exchange, device, task, trace=trace, expected=known)
        (result,) = _started(todo, ranks, timeout, progress, hosts)
        return result
    deadline = params.get("deadline")
    with opened(
        [kernel], device, exchange, comm, deadline, trace, calibration, board
    ) as session:
        return session.run(benchmark, kernel=kernel, progress=progress, **params)


def calibrate(
    *,
    device: str | int | None = None,
    ranks: int | None = None,
    hosts: Sequence[str] | None = None,
    comm: Comm | None = None,
    timeout: float = TIMEOUT,
    progress: bool | Callback | None = None,
    **params: Any,
) -> Result:
    """Measure the parts of exchange schemes, in a session of its own.

    Parameters
    ----------
    device, ranks, hosts, comm, timeout, progress
        As for `hpccfpga.run`.
    **params
        As for `hpccfpga.Session.calibrate`.

    Returns
    -------
    Result
        Of benchmark "calibration"; see `hpccfpga.Session.calibrate`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, Error
        As `hpccfpga.run`.
    """
    check_hosts(hosts, ranks, comm)
    longest(timeout)
    if comm is None:
        check_names("calibration", params, calibrate)
    exchange = CALIBRATION[0].exchange
    if _start(ranks, comm):
        todo = job(exchange, device, calibrate_task(params))
        (result,) = _started(todo, ranks, timeout, progress, hosts)
        return result
    with Session(device, exchange, comm, params.get("deadline")) as session:
        return session.calibrate(progress=progress, **params)


def run_calibrated(
    benchmark: str,
    *,
    exchange: str = _core.SCHEME,
    device: str | int | None = None,
    ranks: int | None = None,
    hosts: Sequence[str] | None = None,
    comm: Comm | None = None,
    kernel: str | os.PathLike[str] | None = None,
    timeout: float = TIMEOUT,
    progress: bool | Callback | None = None,
    all_parts: bool = False,
    **params: Any,
) -> tuple[Result, Result]:
    """Measure one benchmark and, in turns, the parts of its model, in one session.

    Parameters
    ----------
    benchmark, exchange, device, ranks, hosts, comm, kernel, timeout, progress, **params
        As for `hpccfpga.run`.
    all_parts : bool
        As for `hpccfpga.Session.run_calibrated`.

    Returns
    -------
    tuple of Result
        That of `hpccfpga.run`, and that of `hpccfpga.calibrate`; see
        `hpccfpga.Session.run_calibrated`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As `hpccfpga.run`.
    """
    check_hosts(hosts, ranks, comm)
    longest(timeout)
    if comm is None:
        check_names(benchmark, params, run_calibrated)
    if _start(ranks, comm):
        parts = ALL if flag("all_parts", all_parts) else MODEL
        task = run_task(benchmark, kernel, params, parts)
        todo = job(exchange, device, task)
        measured, calibration = _started(todo, ranks, timeout, progress, hosts)
        return measured, calibration
    deadline = params.get("deadline")
    with opened([kernel], device, exchange, comm, deadline) as session:
        return session.run_calibrated(
            benchmark,
            kernel=kernel,
            progress=progress,
            all_parts=all_parts,
            **params,
        )


def launch(benchmark: str, *, ranks: int, **options: Any) -> Result:
    """Measure on ranks that mpirun starts: the former name of `run` with `ranks`."""
    instead = "run(..., ranks=...)"
    if benchmark == "calibration":
        instead = "calibrate(ranks=...)"
        options = {k: v for k, v in options.items() if k not in ("exchange", "kernel")}
    warnings.warn(f"launch: call {instead}", DeprecationWarning, stacklevel=2)
    if benchmark == "calibration":
        return calibrate(ranks=ranks, **options)
    return run(benchmark, ranks=ranks, **options)


def choose(
    benchmark: str, params: Mapping[str, Any], exchange: str, **options: Any
) -> tuple[int, str]:
    """Return the number of ranks that is the fastest, and why, by short runs.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As `run`.
    """
    short = partial(_measured, benchmark, exchange=exchange, **options)
    return automatic.choose(benchmark, exchange, params, short)


def _measured(benchmark: str, *, ranks: int, **options: Any) -> Result:
    """Measure on ranks that are started; one is this process."""
    return run(benchmark, ranks=None if ranks == 1 else ranks, **options)


def _start(ranks: int | None, comm: Comm | None) -> bool:
    """Whether ranks are to be started."""
    if ranks is not None and comm is not None:
        raise ValueError("ranks: those of comm are there already")
    return ranks is not None


def _started(
    todo: Job,
    ranks: Any,
    timeout: float,
    progress: bool | Callback | None,
    hosts: Sequence[str] | None,
) -> list[Result]:
    """Do a job on ranks that mpirun starts."""
    check(progress)
    shown = Watch() if progress is True else nullcontext(progress or None)
    with shown as watch:
        results = start(todo, ranks, timeout, watch, hosts)
    for result in results:
        warn(result)
    return results
