"""The command `hpccfpga`.

Exit codes, the same on every rank: 0 all data verified, 1 some did not, 2 bad input,
3 the run failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import hpccfpga

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from hpccfpga.progress import Callback, Progress
    from hpccfpga.result import Result
    from hpccfpga.session import Session

OK, WRONG_DATA, BAD_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

_SHARED = ("sizes", "reps", "max_reps", "time_limit", "warmup", "seed", "deadline")
"""Parameters of a run that its calibration takes over."""

_PARAMETER = "parameter "
"""What the names of parameters begin with among the options."""

Options = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = OK
    try:
        options = _parse(words)
        code = options.job(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        code = _code(error)
        _report(error, "--events" in words)
    if code != OK:
        _leave(code)
    return code


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    bad = (ValueError, LookupError, NotImplementedError, OSError)
    return BAD_INPUT if isinstance(error, bad) else FAILED


def _line(error: BaseException) -> str:
    """Text of an error in one line."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _about(error: BaseException) -> dict[str, str]:
    """Error as results and events hold it."""
    from hpccfpga.launch import error_type

    return {"error": _line(error), "error_type": error_type(error)}


def _report(error: BaseException, events: bool) -> None:
    """Tell of an error, once for all ranks."""
    from hpccfpga.launch import under_mpi

    if os.environ.get("HPCCFPGA_DEBUG"):
        traceback.print_exception(error)
    if under_mpi():  # not rank 0
        return
    if events:
        _tell(_about(error))
    elif not os.environ.get("HPCCFPGA_DEBUG"):
        known = _code(error) != FAILED or isinstance(
            error, MemoryError | ImportError | hpccfpga.Error
        )
        bug = "" if known else f"internal error: {type(error).__name__}: "
        hint = "" if known else " (HPCCFPGA_DEBUG=1 shows where)"
        print(f"hpccfpga: {bug}{_line(error)}{hint}", file=sys.stderr)


def _leave(code: int) -> None:
    """Under mpirun, end such that every rank ends and rank 0 has been heard."""
    from hpccfpga.launch import under_mpi

    rank = under_mpi()
    if rank is None:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    mpi = sys.modules.get("mpi4py.MPI")
    up = mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized()
    if up and code != FAILED:
        return  # MPI_Finalize lets all ranks end together
    if rank:
        time.sleep(1)  # mpirun stops all ranks when the first one fails
    if up:  # after a communication error MPI_Finalize may never return
        os._exit(code)


# ---- options ----


class _Parser(argparse.ArgumentParser):
    """One line about a wrong option, not a page."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see {self.prog} --help")


def _parse(words: list[str]) -> Options:
    parser = _parser(words)
    options, rest = parser.parse_known_args(words)
    if not rest:
        return options
    if options.job is _model:
        options.overrides = _overrides(rest)
        return options
    if options.job is _run:
        from hpccfpga import _core

        names = [entry["name"] for entry in _core.parameters(options.benchmark)]
        raise ValueError(
            f"{options.benchmark} has no parameter {rest[0].partition('=')[0]}; "
            f"known: {', '.join(map(_option, names))}"
        )
    parser.error(f"unknown: {' '.join(rest)}")


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hpccfpga",
        description="HPC Challenge benchmarks on many accelerators.",
        allow_abbrev=False,
    )
    version = hpccfpga.__version__ if "--version" in words else ""
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, job: Callable[[Options], int], summary: str) -> _Parser:
        command = commands.add_parser(
            name, help=summary, description=summary, allow_abbrev=False
        )
        command.set_defaults(job=job)
        return command

    add("doctor", _doctor, "say what is found, what is missing, what to install")
    add("devices", _devices, "list the devices")
    add("list", _list, "list benchmarks with their parameters, and exchange schemes")

    command = add("boards", _boards, "list the boards, or the data of one")
    command.add_argument("board", nargs="?")

    command = add("run", _run, "measure a benchmark")
    command.add_argument("benchmark")
    _add_run(command, words)

    command = add("calibrate", _calibrate, "measure the parts of scheme pcie apart")
    _add_ranks(command)
    _add_files(command)
    if words[:1] == ["calibrate"]:
        _add_parameters(command, "transfer", _SHARED)

    command = add("model", _model, "say what a performance model expects")
    command.add_argument("benchmark")
    command.add_argument("--exchange", default="pcie")
    command.add_argument("--board", help="data sheet that feeds the model")
    command.add_argument("--calibration", metavar="FILE", help="what feeds it instead")
    command.add_argument("--sizes", help="message sizes [B], e.g. 1,64,1024")
    command.add_argument("--ranks", type=int)
    command.add_argument(
        "--INPUT",
        metavar="VALUE",
        dest="ignored",
        help="an input instead of the board's",
    )
    _add_files(command)

    command = add("published", _published, "show what others measured")
    command.add_argument("benchmark")
    command.add_argument("--board")
    command.add_argument("--exchange")
    command.add_argument("--ranks", type=int)
    command.add_argument("--source", help="words of the source")
    _add_files(command)

    command = add("show", _show, "show a saved result")
    command.add_argument("file")
    command = add("plot", _plot, "draw saved results into one picture")
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--output", "-o", required=True, metavar="PICTURE")
    command = add("compare", _compare, "put two saved results side by side")
    command.add_argument("a")
    command.add_argument("b")

    kernels = commands.add_parser("kernels", help="build kernels", allow_abbrev=False)
    jobs = kernels.add_subparsers(metavar="COMMAND", required=True)
    command = jobs.add_parser(
        "build",
        help="compile kernels for a device",
        description="Compile kernels for a device: program binaries with manifests.",
        allow_abbrev=False,
    )
    command.set_defaults(job=_build)
    command.add_argument("benchmarks", nargs="*", metavar="BENCHMARK")
    command.add_argument("--exchange", default="pcie")
    command.add_argument("--device")
    command.add_argument("--output", "-o", default=".", metavar="FOLDER")
    if words[:2] == ["kernels", "build"]:
        _add_knobs(command)
    return parser


def _add_run(command: _Parser, words: list[str]) -> None:
    command.add_argument("--exchange", default="pcie", help="default: pcie")
    command.add_argument(
        "--kernel", metavar="PATH", help=".cl source or program binary"
    )
    _add_ranks(command)
    command.add_argument(
        "--calibrate",
        action="store_true",
        help="also measure the parts; show the model",
    )
    command.add_argument(
        "--save-calibration", metavar="PATH", help="with --calibrate: save the parts"
    )
    command.add_argument("--model", metavar="BOARD", help="show the model of a board")
    _add_files(command)
    if words[:1] == ["run"]:
        from hpccfpga import _core

        known = {name for name, _ in _core.components("bench")}
        for name in [word for word in words[1:] if word in known][:1]:
            _add_parameters(command, name)


def _add_ranks(command: _Parser) -> None:
    command.add_argument("--ranks", type=int, help="default: those of mpirun, or 1")
    command.add_argument("--device", help="index or part of the name; see devices")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.add_argument(
        "--timeout", type=float, default=600, help="of the ranks it starts [s]"
    )
    command.add_argument("--events", action="store_true", help=argparse.SUPPRESS)


def _add_files(command: _Parser) -> None:
    command.add_argument("--json", metavar="PATH", help="save the result as JSON")
    command.add_argument("--npz", metavar="PATH", help="save the result as NPZ")
    command.add_argument("--plot", metavar="PATH", help="draw it: .png, .pdf, .svg")


def _add_parameters(
    command: _Parser, benchmark: str, names: Iterable[str] | None = None
) -> None:
    from hpccfpga import _core

    group = command.add_argument_group(f"parameters of {benchmark}")
    for entry in _core.parameters(benchmark):
        if names is None or entry["name"] in names:
            _add_parameter(group, entry)


def _add_knobs(command: _Parser) -> None:
    from hpccfpga import _core

    knobs = {
        entry["name"]: entry
        for name, _ in _core.components("bench")
        for entry in _core.parameters(name)
        if entry["macro"] is not None
    }
    for entry in knobs.values():
        _add_parameter(command, entry)


def _add_parameter(command: Any, entry: Mapping[str, Any]) -> None:
    default = entry["default"] if len(entry["default"]) < 24 else "many"
    command.add_argument(
        _option(entry["name"]),
        dest=_PARAMETER + entry["name"],
        default=argparse.SUPPRESS,
        metavar="|".join(entry["choices"] or []) or entry["kind"].upper(),
        help=f"{entry['summary']}; default: {default}".replace("%", "%%"),
    )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _given(options: Options) -> dict[str, str]:
    """Parameters that were given, as text."""
    return {
        name.removeprefix(_PARAMETER): value
        for name, value in vars(options).items()
        if name.startswith(_PARAMETER)
    }


def _overrides(words: list[str]) -> dict[str, float]:
    """Numbers out of `--name value` and `--name=value`."""
    flat = [part for word in words for part in word.split("=", 1)]
    found = {}
    for option, value in zip(flat[::2], [*flat[1::2], ""], strict=False):
        name = option.removeprefix("--").replace("-", "_")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"{option}: {value!r} is not a number") from None
    return found


def _sizes(text: str | None) -> list[int] | None:
    try:
        return text and [int(size) for size in text.split(",")]  # type: ignore[return-value]
    except ValueError:
        raise ValueError(f"--sizes: {text!r} is not like 1,64,1024") from None


# ---- files ----


class _Files:
    """What a command writes at its end; JSON also when it fails."""

    def __init__(self, options: Options, blank: Result | None = None) -> None:
        self.json, self.npz, self.plot = options.json, options.npz, options.plot
        self.blank = blank

    def check(self) -> None:
        """Find out what cannot be written, before anything runs."""
        for path in filter(None, (self.json, self.npz, self.plot)):
            _try(Path(path))
        if self.plot:
            _check_picture(self.plot)
        if self.json and self.blank:
            self.fail(RuntimeError("the run did not finish"))

    def fail(self, error: BaseException) -> None:
        """Write a result that has nothing but an error."""
        if self.json and self.blank:
            self.blank.provenance |= _about(error)
            with suppress(ValueError):
                self.blank.to_json(self.json)

    def save(self, *results: Result) -> None:
        """Write the first result, and a picture of all."""
        if self.json:
            results[0].to_json(self.json)
        if self.npz:
            results[0].to_npz(self.npz)
        if self.plot:
            hpccfpga.plot(*results, path=self.plot)
        if written := list(filter(None, (self.json, self.npz, self.plot))):
            print(f"wrote {', '.join(written)}")


def _try(path: Path) -> None:
    """Raise ValueError if a file cannot be written."""
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    probe = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None


def _check_picture(path: str) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in known and ending:
        raise ValueError(
            f"cannot write {path}: no format {ending!r}; known: {', '.join(known)}"
        )


def _read(path: str) -> Result:
    from hpccfpga.result import Result

    return Result.from_npz(path) if path.endswith(".npz") else Result.from_json(path)


# ---- run and calibrate ----


class _Watch:
    """Progress of several sweeps, one after the other."""

    def __init__(self, *stages: tuple[str, bool]) -> None:
        self.stages = list(stages)
        self.stack = ExitStack()
        self.fresh = False

    def __enter__(self) -> _Watch:
        self._next()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.close()

    def __call__(self, point: int, n_points: int, row: dict[str, float]) -> None:
        if point == 0 and not self.fresh:
            self._next()
        self.fresh = False
        self.now(point, n_points, row)

    def _next(self) -> None:
        from hpccfpga.progress import progress

        self.stack.close()
        self.now: Progress = self.stack.enter_context(progress(*self.stages.pop(0)))
        self.fresh = True


def _tell(event: object) -> None:
    """Tell the process that started mpirun, in one write."""
    from hpccfpga.launch import EVENT

    os.write(sys.stdout.fileno(), f"{EVENT}{json.dumps(event)}\n".encode())


def _run(options: Options) -> int:
    from hpccfpga import _core

    params = _given(options)
    benchmark, exchange = options.benchmark, options.exchange
    calibrates = options.calibrate or options.save_calibration
    if options.model or calibrates:
        formulas = _core.models(benchmark)
        if exchange not in formulas:
            raise LookupError(f"no model of {benchmark} over exchange {exchange}")
    _core.parameters(benchmark)
    arguments = ["run", benchmark, f"--exchange={exchange}"]
    if options.kernel:
        arguments.append(f"--kernel={options.kernel}")
    stages = [(f"{benchmark} {exchange}", True)]
    if calibrates:
        arguments.append("--calibrate")
        stages.append(("calibration", False))

    def job(
        session: Session, comm: Comm | None, watch: Callback | None
    ) -> list[Result]:
        results = [
            session.run(benchmark, kernel=options.kernel, progress=watch, **params)
        ]
        if calibrates:
            shared = {name: params[name] for name in _SHARED if name in params}
            results.append(
                hpccfpga.calibrate(
                    device=options.device, comm=comm, progress=watch, **shared
                )
            )
        return results

    outputs = ["--json", "--save-calibration"][: len(stages)]
    return _measure(options, benchmark, exchange, arguments, outputs, stages, job)


def _calibrate(options: Options) -> int:
    params = _given(options)

    def job(
        session: Session, comm: Comm | None, watch: Callback | None
    ) -> list[Result]:
        device = options.device
        return [hpccfpga.calibrate(device=device, comm=comm, progress=watch, **params)]

    stages = [("calibration", False)]
    arguments = ["calibrate"]
    return _measure(options, "calibration", None, arguments, ["--json"], stages, job)


def _measure(
    options: Options,
    benchmark: str,
    exchange: str | None,
    arguments: list[str],
    outputs: list[str],
    stages: list[tuple[str, bool]],
    job: Callable[[Session, Comm | None, Callback | None], list[Result]],
) -> int:
    """Run `job` on the ranks that there are, or on ranks that mpirun starts."""
    from hpccfpga.launch import start, under_mpi
    from hpccfpga.result import Result
    from hpccfpga.session import VerificationWarning, origin

    warnings.simplefilter(
        "ignore", VerificationWarning
    )  # the exit code and text say it
    params, rank = _given(options), under_mpi()
    blank = Result(
        kind="measured",
        benchmark=benchmark,
        exchange=exchange,
        device=options.device,
        emulated=False,
        ranks=max(1, options.ranks or 1),
        verified=False,
        parameters=params,
        provenance=origin(datetime.now(UTC)),
    )
    files = _Files(options, blank)
    try:
        if rank is None and options.ranks not in (None, 1):
            files.check()
            arguments += [f"{_option(name)}={value}" for name, value in params.items()]
            if options.device:
                arguments.append(f"--device={options.device}")
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.default_int_handler)
            with ExitStack() as stack:
                watch = None
                if not options.quiet:
                    watch = stack.enter_context(_Watch(*stages))
                results = start(
                    arguments, outputs, options.ranks, options.timeout, watch
                )
            _finish(options, files, results)
        else:
            results = _measure_here(options, exchange, files, stages, job)
    except BaseException as error:
        if not rank and not options.events:
            files.fail(error)
        raise
    return OK if all(result.verified for result in results) else WRONG_DATA


def _measure_here(
    options: Options,
    exchange: str | None,
    files: _Files,
    stages: list[tuple[str, bool]],
    job: Callable[[Session, Comm | None, Callback | None], list[Result]],
) -> list[Result]:
    """Run `job` on this process, or on the ranks that it is one of."""
    comm = _world(options.ranks)
    device = options.device if exchange else None
    with hpccfpga.open(device, exchange or "host", comm) as session:
        first = session.rank == 0
        if first:
            assert files.blank is not None
            files.blank.ranks = session.size
        session.agree(_error(files.check) if first and not options.events else None)
        with ExitStack() as stack:
            watch: Callback | None = None
            if first and options.events:
                watch = lambda *point: _tell(point)  # noqa: E731
            elif first and not options.quiet:
                watch = stack.enter_context(_Watch(*stages))
            results = job(session, comm, watch)
        session.agree(_error(_finish, options, files, results) if first else None)
    return results


def _world(ranks: int | None) -> Comm | None:
    """Communicator of the ranks that mpirun started, or None without it."""
    from hpccfpga.launch import under_mpi

    if under_mpi() is None:
        return None
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


def _finish(options: Options, files: _Files, results: list[Result]) -> None:
    """Show and save what was measured."""
    measured, calibration = results[0], results[1] if len(results) > 1 else None
    if options.events:
        measured.to_json(options.json)
        if calibration:
            calibration.to_json(options.save_calibration)
        return
    modelled = []
    about: dict[str, Any] = {"exchange": measured.exchange, "ranks": measured.ranks}
    if calibration:
        modelled.append(
            hpccfpga.model(measured.benchmark, calibration=calibration, **about)
        )
        if options.save_calibration:
            calibration.to_json(options.save_calibration)
    if getattr(options, "model", None):
        about["sizes"] = measured["message_size"].tolist()
        modelled.append(
            hpccfpga.model(measured.benchmark, board=options.model, **about)
        )
    print()
    for model in modelled:
        print(hpccfpga.compare(measured, model).table(), end="\n\n")
    live = measured.benchmark != "calibration" and not options.quiet
    print(_closing(measured) if live or modelled else measured.table())
    files.save(measured, *modelled)


def _closing(result: Result) -> str:
    """All but the rows, which were shown while they came."""
    notes = [f"note: {note}" for note in result.provenance.get("notes", [])]
    head = [result._headline(), *result._warnings()]
    return "\n".join([*head, result._summary_line(), *notes])


# ---- the rest ----


def _doctor(options: Options) -> int:
    from hpccfpga.doctor import examine

    return OK if examine() else FAILED


def _devices(options: Options) -> int:
    for device in hpccfpga.devices():
        emulated = ", stands in for an accelerator" if device["emulated"] else ""
        print(
            f"{device['runtime']}:{device['index']}  {device['name']} "
            f"({device['platform']}; {device['type']}{emulated}; "
            f"{device['memory'] / 2**30:.1f} GiB)"
        )
    return OK


def _boards(options: Options) -> int:
    if options.board:
        print(hpccfpga.board(options.board).table())
        return OK
    for key, text in hpccfpga.boards():
        print(f"{key:12}{text}")
    return OK


def _list(options: Options) -> int:
    print("benchmarks")
    for name, entry in hpccfpga.benchmarks().items():
        print(f"  {name}: {entry['summary']}")
        for parameter, facts in entry["parameters"].items():
            print(f"    {_option(parameter)} {facts['default']}")
            print(f"        {facts['summary']}")
    print("exchange schemes")
    for name, summary in hpccfpga.exchanges().items():
        print(f"  {name}: {summary}")
    return OK


def _model(options: Options) -> int:
    files = _Files(options)
    files.check()
    result = hpccfpga.model(
        options.benchmark,
        exchange=options.exchange,
        board=options.board,
        sizes=_sizes(options.sizes),
        ranks=options.ranks,
        calibration=_read(options.calibration) if options.calibration else None,
        **getattr(options, "overrides", {}),
    )
    print(result.table())
    files.save(result)
    return OK


def _published(options: Options) -> int:
    files = _Files(options)
    files.check()
    choice = {
        name: getattr(options, name)
        for name in ("board", "exchange", "ranks", "source")
        if getattr(options, name) is not None
    }
    if not choice:
        for run in hpccfpga.published_list(options.benchmark):
            who = f"{run['board']:8}{run['exchange']:9}{run['ranks']:3} ranks"
            print(f"{who}  {run['source']}: {run['log']}")
        return OK
    result = hpccfpga.published(options.benchmark, **choice)
    print(result.table())
    files.save(result)
    return OK


def _show(options: Options) -> int:
    print(_read(options.file).table())
    return OK


def _plot(options: Options) -> int:
    hpccfpga.plot(*map(_read, options.files), path=options.output)
    print(f"wrote {options.output}")
    return OK


def _compare(options: Options) -> int:
    print(hpccfpga.compare(_read(options.a), _read(options.b)).table())
    return OK


def _build(options: Options) -> int:
    from hpccfpga import _core, kernels

    core = _core.Session(options.device or "", options.exchange)
    known = [name for name, _ in _core.components("bench")]
    given = _given(options)
    for name in options.benchmarks or known:
        own = {entry["name"] for entry in _core.parameters(name)}
        params = {knob: value for knob, value in given.items() if knob in own}
        path = None
        with suppress(*(() if options.benchmarks else (NotImplementedError,))):
            path = kernels.build(core, name, params, Path(options.output))
        print(f"{name}: {path or 'no kernels to build'}")
    return OK
