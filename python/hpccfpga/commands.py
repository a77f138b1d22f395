"""The commands that measure: `run`, `calibrate`, `scaling`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hpccfpga import _core, automatic, choice, components, models, ranks
from hpccfpga import suite as suites
from hpccfpga.boards import board
from hpccfpga.choice import AUTO
from hpccfpga.comparison import compare
from hpccfpga.errors import BAD_INPUT, OK, WRONG_DATA, exit_code, under_mpi
from hpccfpga.hosts import check as check_hosts
from hpccfpga.job import ALL, Job, calibrate_task, job, run_task
from hpccfpga.launch import longest, start
from hpccfpga.measure import choose
from hpccfpga.outputs import Outputs, read_result
from hpccfpga.parameters import given
from hpccfpga.perform import get_ready, perform
from hpccfpga.progress import Watch
from hpccfpga.provenance import origin
from hpccfpga.result import Result
from hpccfpga.scaling import scaling as measure_scaling
from hpccfpga.session import Session
from hpccfpga.suite import Suite
from hpccfpga.words import Options, numbers

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


def job_of(options: Options) -> Job:
    """Job that the words of `run BENCHMARK` or `calibrate` mean."""
    params = given(options)
    if options.command == "calibrate":
        first = components.CALIBRATION[0]
        return job(first.exchange, options.device, calibrate_task(params))
    parts = ALL if options.save_calibration else options.calibrate
    if parts is not None and options.calibration:
        raise ValueError(
            "--calibrate, --calibration: a run over auto chooses by one of them"
        )
    task = run_task(options.benchmark, options.kernel, params, parts)
    known = None
    chooses = components.sends_blocks(options.benchmark)
    if options.calibration or (chooses and parts is None):
        known = choice.expected(options.exchange, **_chosen_by(options))
    return job(
        options.exchange, options.device, task, trace=options.trace, expected=known
    )


def _chosen_by(options: Options) -> dict[str, Any]:
    """Calibration or board that exchange schemes are chosen by."""
    read, board = None, None
    if options.calibration:
        read = read_result(options.calibration)
    elif options.exchange == AUTO:
        board = options.board
    return {"calibration": read, "board": board}


def run(options: Options) -> int:
    """Measure a benchmark, or all; return the exit code."""
    if options.benchmark == "all":
        return _run_all(options)
    benchmark, exchange = options.benchmark, options.exchange
    with _outputs(options, benchmark, exchange) as outputs:
        todo = job_of(options)
        _fill(outputs, benchmark, given(options))
        if options.board:  # its errors come before the run
            known = todo.tasks[0].parameters
            models.for_run(benchmark, exchange, options.board, known)
        if getattr(options, "devices", None) is not None:
            _choose(options)
        return _measure(options, todo, outputs)


def calibrate(options: Options) -> int:
    """Measure the parts of exchange schemes; return the exit code."""
    with _outputs(options, "calibration", None) as outputs:
        todo = job_of(options)
        _fill(outputs, components.CALIBRATION[0].benchmark, given(options))
        return _measure(options, todo, outputs)


def scaling(options: Options) -> int:
    """Measure a benchmark on several numbers of ranks; return the exit code."""
    if under_mpi() is not None:
        raise ValueError("scaling starts its ranks itself: call it without mpirun")
    get_ready()
    with _outputs(options, options.benchmark, options.exchange) as outputs:
        counts = numbers("--ranks", options.ranks)
        assert outputs.blank is not None
        outputs.blank.ranks = max(1, *counts)
        outputs.check()
        outputs.begin()
        result = measure_scaling(
            options.benchmark,
            ranks=counts,
            hosts=options.hosts,
            mode=options.mode,
            exchange=options.exchange,
            device=options.device,
            kernel=options.kernel,
            board=options.board,
            calibration=_chosen_by(options)["calibration"],
            timeout=options.timeout,
            progress=not options.quiet,
            **given(options),
        )
        print(f"\n{result.table()}")
        outputs.save(result)
    return OK if result.verified else WRONG_DATA


def suite_code(suite: Suite) -> int:
    """Exit code of a suite: of its first error that counts, else by the data."""
    for error in suite.failures.values():
        return exit_code(error)
    if not suite.results:
        return BAD_INPUT
    return OK if suite.verified else WRONG_DATA


def refuse(options: Options, error: ValueError) -> None:
    """Write the JSON of a command line that could only be read in part."""
    benchmark = getattr(options, "benchmark", None) or "unknown"
    if options.command == "calibrate":
        benchmark = "calibration"
    exchange = getattr(options, "exchange", None)
    with suppress(ValueError), _outputs(options, benchmark, exchange):
        raise error


def _run_all(options: Options) -> int:
    get_ready()
    params: dict[str, Any] = {}
    for name, value in given(options).items():
        benchmark, _, own = name.rpartition(".")
        (params.setdefault(benchmark, {}) if benchmark else params)[own] = value
    rank = under_mpi()
    with _outputs(options, "all", options.exchange) as outputs:
        outputs.check()
        if options.board:
            board(options.board)
        if not rank:
            outputs.begin()
        deadline = components.typed(None, params).get("deadline")
        suite = suites.run_all(
            ranks=options.ranks if _started(options) else None,
            hosts=options.hosts,
            exchange=options.exchange,
            device=options.device,
            comm=_world(options.ranks, deadline or components.deadline()),
            board=options.board,
            calibration=_chosen_by(options)["calibration"],
            timeout=options.timeout,
            progress=not options.quiet,
            **params,
        )
        if not rank:
            print(f"\n{suite}")
            outputs.save(suite)
    return suite_code(suite)


@contextmanager
def _outputs(
    options: Options, benchmark: str, exchange: str | None
) -> Iterator[Outputs]:
    """Give what a measurement writes; an error in the block becomes its JSON."""
    count = getattr(options, "ranks", None)
    blank = Result(
        kind="measured",
        benchmark=benchmark,
        exchange=exchange,
        device=getattr(options, "device", None),
        emulated=False,
        ranks=count if isinstance(count, int) and count > 0 else 1,
        verified=False,
        parameters=_typed(benchmark, given(options)),
        provenance=origin(datetime.now(UTC)),
    )
    outputs = Outputs(
        json=getattr(options, "json", None),
        npz=getattr(options, "npz", None),
        plot=getattr(options, "plot", None),
        calibration=getattr(options, "save_calibration", None),
        blank=blank,
    )
    try:
        yield outputs
    except BaseException as error:
        if not under_mpi():  # of all ranks, 0 writes
            outputs.fail(error)
            outputs.tell_of_failure()
        raise


def _typed(benchmark: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a benchmark, or of all, as a result holds them."""
    if benchmark == "calibration":
        return components.typed(components.CALIBRATION[0].benchmark, params)
    found: dict[str, Any] = {}
    for name, value in params.items():
        of, _, own = name.rpartition(".")
        whose = of or (None if benchmark == "all" else benchmark)
        typed = components.typed(whose, {own: value})
        (found.setdefault(of, {}) if of else found).update(typed)
    return found


def _fill(outputs: Outputs, benchmark: str, params: Mapping[str, Any]) -> None:
    """Give the blank all parameters of a job that was found to be right."""
    assert outputs.blank is not None
    outputs.blank.parameters = _core.values(benchmark, dict(params))


def _choose(options: Options) -> None:
    """Choose the number of ranks for --devices auto, with the reason."""
    check_hosts(options.hosts, options.ranks)
    automatic.check(options.benchmark, options.devices, options.ranks)
    get_ready()
    options.ranks, options.why = choose(
        options.benchmark,
        given(options),
        options.exchange,
        device=options.device,
        kernel=options.kernel,
        timeout=options.timeout,
        **_chosen_by(options),
    )


def _measure(options: Options, todo: Job, outputs: Outputs) -> int:
    """Do a job on the ranks that there are, or on ranks that mpirun starts."""
    get_ready()
    with ExitStack() as stack:
        watch = None if options.quiet else stack.enter_context(Watch())
        if _started(options):
            outputs.check()
            outputs.begin()
            results = start(todo, options.ranks, options.timeout, watch, options.hosts)
            stack.close()
            _finish(options, todo, outputs, results)
        else:
            results = _measure_here(options, todo, outputs, watch, stack.close)
    return OK if all(result.verified for result in results) else WRONG_DATA


def _started(options: Options) -> bool:
    """Whether ranks are to be started; one, without hosts, is this process."""
    check_hosts(options.hosts, options.ranks)
    longest(options.timeout)
    alone = options.ranks in (None, 1) and options.hosts is None
    return under_mpi() is None and not alone


def _measure_here(
    options: Options,
    todo: Job,
    outputs: Outputs,
    watch: Watch | None,
    close: Callable[[], None],
) -> list[Result]:
    """Do a job in this process, or on the ranks that it is one of."""

    def check(session: Session) -> None:
        if session.rank == 0:
            assert outputs.blank is not None
            outputs.blank.ranks = session.size
            outputs.check()
            outputs.begin()

    def finish(results: list[Result]) -> None:
        close()
        _finish(options, todo, outputs, results)

    comm = _world(options.ranks, todo.deadline)
    return perform(todo, comm, watch, check, finish)


def _world(count: int | None, deadline: float) -> Comm | None:
    """Communicator of the ranks that mpirun started, or None without it."""
    comm = ranks.world(deadline)
    if comm is not None and count not in (None, comm.size):
        foreign = ": is it that of the MPI library that mpi4py uses?"
        raise ValueError(
            f"--ranks is {count}, mpirun started {comm.size}"
            f"{foreign if comm.size == 1 else ''}"
        )
    return comm


def _finish(
    options: Options, todo: Job, outputs: Outputs, results: list[Result]
) -> None:
    """Show and save what was measured."""
    measured, *more = results
    if why := getattr(options, "why", None):
        measured.provenance["notes"].append(why)
    calibration = more[0] if more else None
    modelled = []
    if calibration:
        modelled.append(
            models.model(
                measured.benchmark,
                exchange=measured.exchange,
                ranks=measured.ranks,
                calibration=calibration,
            )
        )
    if getattr(options, "board", None):
        known = todo.tasks[0].parameters
        modelled.append(models.beside(measured, options.board, known))
    print()
    for model in modelled:
        print(compare(measured, model).table(), end="\n\n")
    live = measured.benchmark != "calibration" and not options.quiet
    print(measured.table(rows=not (live or modelled)))
    outputs.save(measured, *modelled, calibration=calibration)
