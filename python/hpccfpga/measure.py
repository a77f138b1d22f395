"""The commands `run` and `calibrate`: here, or on ranks that mpirun starts."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hpccfpga
from hpccfpga import _core, models
from hpccfpga.errors import about, under_mpi
from hpccfpga.files import check_writable
from hpccfpga.launch import start
from hpccfpga.options import (
    Options,
    benchmark_of,
    given,
    numbers,
    option,
    outlet,
    refuse_unknown,
)
from hpccfpga.parameters import calibrated, common
from hpccfpga.plot import picture_format
from hpccfpga.progress import Callback, Progress, progress
from hpccfpga.ranks import tell, waiting
from hpccfpga.result import Result
from hpccfpga.session import DEADLINE, Session, VerificationWarning, origin
from hpccfpga.suite import Suite, benchmarks

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

Job = Callable[[Session, Callback | None], list[Result]]


class Files:
    """What a command writes at its end; JSON also when it fails.

    The JSON of a failure takes the place of no result: where one lies, it goes beside
    it, as `<name>.failed.json`.
    """

    def __init__(self, options: Options, blank: Result | None = None) -> None:
        self.json, self.npz = options.json, options.npz
        self.plot = getattr(options, "plot", None)
        self.parts = getattr(options, "save_calibration", None)
        self.blank = blank
        self.failed = _place_of_failures(self.json) if self.json else ""

    def check(self) -> None:
        """Find out what cannot be written, before anything runs."""
        for path in filter(None, (self.json, self.npz, self.plot, self.parts)):
            check_writable(path)
        if self.plot:
            picture_format(self.plot)
        if self.json and self.blank:
            self.fail(RuntimeError("the run did not finish"))

    def fail(self, error: BaseException) -> None:
        """Write a result that has nothing but an error."""
        if self.json and self.blank:
            self.blank.provenance |= about(error)
            with suppress(ValueError):
                self.blank.to_json(self.failed)

    def save(self, *results: Result) -> None:
        """Write the first result, and a picture of all; say what was written."""
        if self.json:
            results[0].to_json(self.json)
            if self.failed != self.json:
                Path(self.failed).unlink(missing_ok=True)
        if self.npz:
            results[0].to_npz(self.npz)
        if self.plot:
            hpccfpga.plot(*results, path=self.plot)
        paths = (self.json, self.npz, self.plot, self.parts)
        if written := list(filter(None, paths)):
            print(f"wrote {', '.join(written)}")


def _place_of_failures(path: str) -> str:
    """Where the JSON of a failed run goes: `path`, unless something else is there."""
    there = Path(path)
    with suppress(OSError, ValueError):
        failed = "error" in Result.from_json(there).provenance
        return path if failed else str(there.with_suffix(".failed.json"))
    if there.is_file() and there.stat().st_size > 0:
        return str(there.with_suffix(".failed.json"))
    return path


class _Watch:
    """Progress of several sweeps, one after the other."""

    def __init__(self, *stages: tuple[str, str | None]) -> None:
        self.stages = list(stages)
        self.stack = ExitStack()
        self.fresh = False

    def __enter__(self) -> _Watch:
        self._next()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.close()

    def __call__(self, point: int, n_points: int, row: dict[str, Any]) -> None:
        if point == 0 and not self.fresh:
            self._next()
        self.fresh = False
        self.now(point, n_points, row)

    def _next(self) -> None:
        self.stack.close()
        self.now: Progress = self.stack.enter_context(progress(*self.stages.pop(0)))
        self.fresh = True


def _tell_row(*row: object) -> None:
    tell("row", *row)


def run(options: Options) -> bool:
    """Measure a benchmark; True if all data was right."""
    params = given(options)
    benchmark, exchange = options.benchmark, options.exchange
    calibrates = options.calibrate or options.save_calibration
    arguments = ["run", benchmark, f"--exchange={exchange}"]
    if options.kernel:
        arguments.append(f"--kernel={options.kernel}")
    if options.trace:
        arguments.append("--trace")
    stages: list[tuple[str, str | None]] = [(f"{benchmark} {exchange}", benchmark)]
    if calibrates:
        arguments.append("--calibrate")
        stages.append(("calibration", None))

    def job(session: Session, watch: Callback | None) -> list[Result]:
        results = [
            session.run(benchmark, kernel=options.kernel, progress=watch, **params)
        ]
        if calibrates:
            shared = {name: params[name] for name in calibrated() if name in params}
            results.append(session.calibrate(progress=watch, **shared))
        return results

    with _files(options, benchmark, exchange) as files:
        names = [entry["name"] for entry in _core.parameters(benchmark)]
        refuse_unknown(options, benchmark, names)
        if calibrates:
            models.check(benchmark, exchange, calibrated=True)
        if options.model:  # its errors come before the run
            models.beside(benchmark, exchange, options.model, params)
        outputs = ["--json", "--save-calibration"][: len(stages)]
        return _measure(options, exchange, files, arguments, outputs, stages, job)


def calibrate(options: Options) -> bool:
    """Measure the parts of scheme `pcie`; True if all data was right."""
    params = given(options)

    def job(session: Session, watch: Callback | None) -> list[Result]:
        return [session.calibrate(progress=watch, **params)]

    stages: list[tuple[str, str | None]] = [("calibration", None)]
    with _files(options, "calibration", None) as files:
        refuse_unknown(options, "calibration", calibrated())
        arguments = ["calibrate"]
        return _measure(options, "pcie", files, arguments, ["--json"], stages, job)


def run_all(options: Options) -> Suite:
    """Measure all benchmarks; show and save what was found."""
    for name in ("kernel", "calibrate", "save_calibration", "npz", "plot", "trace"):
        if getattr(options, name):
            raise ValueError(f"run all takes no {option(name)}")
    of_one = [f"{name}.PARAMETER" for name in benchmarks()]
    refuse_unknown(options, "all", [*common(), *of_one])
    if options.json:
        check_writable(options.json)
    _get_ready()
    params: dict[str, Any] = {}
    for name, value in given(options).items():
        benchmark, _, own = name.rpartition(".")
        (params.setdefault(benchmark, {}) if benchmark else params)[own] = value
    rank = under_mpi()
    suite = hpccfpga.run_all(
        ranks=None if rank is not None or options.ranks == 1 else options.ranks,
        exchange=options.exchange,
        device=options.device,
        comm=_world(options.ranks, params.get("deadline", DEADLINE)),
        board=options.model,
        timeout=options.timeout,
        progress=not options.quiet,
        **params,
    )
    if not rank:
        print(f"\n{suite}")
        if options.json:
            suite.to_json(options.json)
            print(f"wrote {options.json}")
    return suite


def scaling(options: Options) -> bool:
    """Measure a benchmark on several numbers of ranks; True if all data was right."""
    if under_mpi() is not None:
        raise ValueError("scaling starts its ranks itself: call it without mpirun")
    counts = numbers("--ranks", options.ranks)
    benchmark, exchange = options.benchmark, options.exchange
    _get_ready()
    options.ranks = max(counts)
    with _files(options, benchmark, exchange) as files:
        names = [entry["name"] for entry in _core.parameters(benchmark)]
        refuse_unknown(options, benchmark, names)
        files.check()
        result = hpccfpga.scaling(
            benchmark,
            ranks=counts,
            mode=options.mode,
            exchange=exchange,
            device=options.device,
            kernel=options.kernel,
            board=options.model,
            timeout=options.timeout,
            progress=not options.quiet,
            **given(options),
        )
        print(f"\n{result.table()}")
        files.save(result)
    return bool(result.verified)


def refuse(words: list[str], error: ValueError) -> None:
    """Leave the JSON of a command line that could not be read."""
    found = "calibration" if words[0] == "calibrate" else benchmark_of(words)
    benchmark = found or "unknown"
    with suppress(ValueError), _files(outlet(words), benchmark, None):
        raise error


@contextmanager
def _files(options: Options, benchmark: str, exchange: str | None) -> Iterator[Files]:
    """Give what a measurement writes; an error in the block becomes its JSON."""
    blank = Result(
        kind="measured",
        benchmark=benchmark,
        exchange=exchange,
        device=options.device,
        emulated=False,
        ranks=max(1, options.ranks or 1),
        verified=False,
        parameters=given(options),
        provenance=origin(datetime.now(UTC)),
    )
    files = Files(options, blank)
    try:
        yield files
    except BaseException as error:
        if not under_mpi() and not options.events:  # of all ranks, 0 writes
            files.fail(error)
        raise


def _get_ready() -> None:
    """Leave wrong data to the text and the exit code; end in order on any signal."""
    warnings.simplefilter("ignore", VerificationWarning)
    for number in (signal.SIGTERM, signal.SIGHUP):  # mpirun makes SIGTERM of Ctrl-C
        signal.signal(number, signal.default_int_handler)


def _measure(
    options: Options,
    exchange: str,
    files: Files,
    arguments: list[str],
    outputs: list[str],
    stages: list[tuple[str, str | None]],
    job: Job,
) -> bool:
    """Run `job` on the ranks that there are, or on ranks that mpirun starts."""
    _get_ready()
    if under_mpi() is not None or options.ranks in (None, 1):
        results = _measure_here(options, exchange, files, stages, job)
        return all(result.verified for result in results)
    files.check()
    arguments += [f"{option(name)}={value}" for name, value in given(options).items()]
    if options.device:
        arguments.append(f"--device={options.device}")
    with ExitStack() as stack:
        watch = None
        if not options.quiet:
            watch = stack.enter_context(_Watch(*stages))
        deadline = given(options).get("deadline")
        results = start(
            arguments, outputs, options.ranks, options.timeout, watch, deadline
        )
    _finish(options, files, results)
    return all(result.verified for result in results)


def _measure_here(
    options: Options,
    exchange: str,
    files: Files,
    stages: list[tuple[str, str | None]],
    job: Job,
) -> list[Result]:
    """Run `job` on this process, or on the ranks that it is one of."""
    deadline: Any = given(options).get("deadline", DEADLINE)
    comm = _world(options.ranks, deadline)
    trace = getattr(options, "trace", False)
    with hpccfpga.open(options.device, exchange, comm, deadline, trace) as session:
        first = session.rank == 0
        if first:
            assert files.blank is not None
            files.blank.ranks = session.size
        session.agree(_error(files.check) if first and not options.events else None)
        with ExitStack() as stack:
            watch: Callback | None = None
            if first and options.events:
                watch = _tell_row
            elif first and not options.quiet:
                watch = stack.enter_context(_Watch(*stages))
            results = job(session, watch)
        session.agree(_error(_finish, options, files, results) if first else None)
    return results


def _world(ranks: int | None, deadline: Any) -> Comm | None:
    """Communicator of the ranks that mpirun started, or None without it."""
    if under_mpi() is None:
        return None
    import mpi4py

    mpi4py.rc.thread_level = "funneled"  # no other thread calls MPI: no locks in it
    with waiting(deadline, 3):  # as a run that failed
        from mpi4py import MPI

    size = MPI.COMM_WORLD.size
    if ranks not in (None, size):
        foreign = (
            ": is it that of the MPI library that mpi4py uses?" if size == 1 else ""
        )
        raise ValueError(f"--ranks is {ranks}, mpirun started {size}{foreign}")
    return MPI.COMM_WORLD


def _error(function: Callable[..., object], *arguments: Any) -> BaseException | None:
    """Call, and return what is raised, for all ranks to agree on."""
    try:
        function(*arguments)
    except BaseException as error:
        return error
    return None


def _finish(options: Options, files: Files, results: list[Result]) -> None:
    """Show and save what was measured."""
    measured, calibration = results[0], results[1] if len(results) > 1 else None
    if options.events:
        measured.to_json(options.json)
        if calibration:
            calibration.to_json(options.save_calibration)
        return
    modelled = []
    if calibration:
        kind: dict[str, Any] = {"exchange": measured.exchange, "ranks": measured.ranks}
        modelled.append(
            hpccfpga.model(measured.benchmark, calibration=calibration, **kind)
        )
        if options.save_calibration:
            calibration.to_json(options.save_calibration)
    if getattr(options, "model", None):
        beside = (measured.exchange, options.model, given(options))
        points = measured[measured.labels[0]]
        modelled.append(
            models.beside(measured.benchmark, *beside, points, measured.ranks)
        )
    print()
    for model in modelled:
        print(hpccfpga.compare(measured, model).table(), end="\n\n")
    live = measured.benchmark != "calibration" and not options.quiet
    print(measured.table(rows=not (live or modelled)))
    files.save(measured, *modelled)
