"""The command `hpccfpga`.

Exit codes, the same on every rank: 0 all data verified, 1 some did not, 2 bad input,
3 the run failed, 130 interrupted, 141 nobody read the output to its end.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import hpccfpga
from hpccfpga import ranks
from hpccfpga.errors import debugging, line
from hpccfpga.options import Options, given, numbers, option, parse
from hpccfpga.parameters import parameters
from hpccfpga.records import Records

if TYPE_CHECKING:
    from hpccfpga.result import Result
    from hpccfpga.suite import Suite

OK, WRONG_DATA, BAD_INPUT, FAILED, INTERRUPTED, UNREAD = 0, 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    code, deadline = UNREAD, None  # until the job has come to its end
    ranks.listen()
    try:
        options = _parse(words)
        deadline = given(options).get("deadline")
        code = JOBS[options.job](options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        ranks.calm()  # mpirun ends the others: what is told now is whole
        code = _code(error)
        _report(error)
    _leave(code, deadline)
    return code


def _parse(words: list[str]) -> Options:
    try:
        return parse(words)
    except ValueError as error:
        if words[:1] in (["run"], ["calibrate"], ["scaling"]):
            from hpccfpga.measure import refuse

            refuse(words, error)
        raise


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    bad = (ValueError, LookupError, NotImplementedError)
    named = isinstance(error, OSError) and error.filename is not None
    return BAD_INPUT if named or isinstance(error, bad) else FAILED


def _alone(code: int) -> bool:
    """Whether the other ranks may not know why this one ends."""
    return code in (FAILED, INTERRUPTED)


def _report(error: BaseException) -> None:
    """Tell of an error, once for all ranks."""
    if debugging():
        traceback.print_exception(error)
    ours = type(error).__module__.startswith("hpccfpga")
    known = ours or _code(error) != FAILED
    known = known or isinstance(error, MemoryError | ImportError | OSError)
    bug = "" if known else f"internal error: {type(error).__name__}: "
    hint = "" if known else " (HPCCFPGA_DEBUG=1 shows where)"
    text = "" if debugging() else f"hpccfpga: {bug}{line(error)}{hint}\n"
    ranks.report(error, text, alone=_alone(_code(error)))


def _leave(code: int, deadline: object) -> None:
    """End as one of several ranks does."""
    if code in (OK, WRONG_DATA):
        ranks.done()
    ranks.leave(code, deadline, alone=_alone(code))


def _read(path: str) -> Result:
    from hpccfpga.result import Result

    return Result.from_npz(path) if path.endswith(".npz") else Result.from_json(path)


def _read_any(path: str) -> Result | Suite:
    from hpccfpga import formats, suite

    if not path.endswith(".npz"):
        with formats.read(path) as document:
            if formats.family(document) == formats.family({"schema": suite.SCHEMA}):
                return suite.Suite.of(document)
    return _read(path)


def _run(options: Options) -> int:
    from hpccfpga import measure

    if options.benchmark == "all":
        return _suite_code(measure.run_all(options))
    return OK if measure.run(options) else WRONG_DATA


def _suite_code(suite: Suite) -> int:
    """Code of the first error, but for what does not go together, else by the data."""
    fits = (e for e in suite.errors.values() if not isinstance(e, NotImplementedError))
    for error in fits:
        return _code(error)
    if not suite.results:
        return BAD_INPUT
    return OK if suite.verified else WRONG_DATA


def _scaling(options: Options) -> int:
    from hpccfpga import measure

    return OK if measure.scaling(options) else WRONG_DATA


def _calibrate(options: Options) -> int:
    from hpccfpga import measure

    return OK if measure.calibrate(options) else WRONG_DATA


def _doctor(options: Options) -> int:
    from hpccfpga.doctor import examine

    return OK if examine() else FAILED


def _devices(options: Options) -> int:
    _show_records(hpccfpga.devices())
    return OK


def _show_records(records: Records) -> None:
    """Print a table that fits the terminal."""
    print(records.table(shutil.get_terminal_size((100, 0)).columns))


def _topology(options: Options) -> int:
    from hpccfpga import topology

    wiring = topology.links(options.topology, ranks=options.ranks, ports=options.ports)
    print(topology.table(wiring))
    if options.plot:
        size = {"ranks": options.ranks, "ports": options.ports}
        hpccfpga.plot_topology(options.topology, path=options.plot, **size)
        print(f"wrote {options.plot}")
    return OK


def _boards(options: Options) -> int:
    if options.board:
        print(hpccfpga.board(options.board).table())
    else:
        _show_records(hpccfpga.boards())
    return OK


def _list(options: Options) -> int:
    if options.benchmark:
        table = parameters(options.benchmark)
        words = ({**entry, "name": option(entry["name"])} for entry in table)
        _show_records(Records(table.noun, words, shown=table.shown))
        return OK
    print("benchmarks (their parameters: hpccfpga list BENCHMARK)\n")
    _show_records(hpccfpga.benchmarks())
    print("\nexchange schemes\n")
    _show_records(hpccfpga.exchanges())
    return OK


def _model(options: Options) -> int:
    from hpccfpga.measure import Files

    files = Files(options)
    files.check()
    result = hpccfpga.model(
        options.benchmark,
        exchange=options.exchange,
        board=options.board,
        sizes=options.sizes and numbers("--sizes", options.sizes),
        ranks=options.ranks,
        calibration=_read(options.calibration) if options.calibration else None,
        **getattr(options, "overrides", {}),
    )
    print(result.table())
    files.save(result)
    return OK


def _published(options: Options) -> int:
    from hpccfpga.measure import Files

    files = Files(options)
    files.check()
    choice = {
        name: getattr(options, name)
        for name in ("board", "exchange", "ranks", "source")
        if getattr(options, name) is not None
    }
    if not choice:
        _show_records(hpccfpga.published_list(options.benchmark))
        return OK
    result = hpccfpga.published(options.benchmark, **choice)
    print(result.table())
    files.save(result)
    return OK


def _show(options: Options) -> int:
    print(_read_any(options.file).table())
    return OK


def _plot(options: Options) -> int:
    if options.timeline:
        _timeline(options)
    elif options.point != -1 or options.steps is not None:
        raise ValueError("--point and --steps go with --timeline")
    else:
        hpccfpga.plot(*map(_read, options.files), path=options.output)
    print(f"wrote {options.output}")
    return OK


def _timeline(options: Options) -> None:
    if len(options.files) > 1:
        raise ValueError(f"--timeline draws one result, not {len(options.files)}")
    result = _read(options.files[0])
    if options.output.endswith(".json"):
        result.to_perfetto(options.output)
    else:
        result.plot_timeline(options.output, point=options.point, steps=options.steps)


def _compare(options: Options) -> int:
    from hpccfpga.suite import Suite

    a, b = _read_any(options.a), _read_any(options.b)
    if isinstance(a, Suite) and isinstance(b, Suite):
        pairs = [(a.results[n], b.results[n]) for n in a.results if n in b.results]
        if not pairs:
            raise ValueError("no benchmark has a result in both suites")
    elif isinstance(a, Suite) or isinstance(b, Suite):
        raise ValueError("cannot compare a suite with one result")
    else:
        pairs = [(a, b)]
    tables = [hpccfpga.compare(*pair).table() for pair in pairs]
    if len(pairs) > 1:
        heads = [f"== {result.benchmark}" for result, _ in pairs]
        tables = [f"{h}\n{t}" for h, t in zip(heads, tables, strict=True)]
    print("\n\n".join(tables))
    return OK


def _build(options: Options) -> int:
    from hpccfpga import _core, emulation, kernels

    if options.target:
        return _build_for_board(options)
    emulation.prepare(options.exchange)
    core = _core.Session(options.device or "", options.exchange, **emulation.vendors())
    known = [name for name, _ in _core.components("bench")]
    for name, params in _knobs(options, options.benchmarks or known).items():
        path = None
        with suppress(*(() if options.benchmarks else (NotImplementedError,))):
            path = kernels.build(core, name, params, Path(options.output))
        print(f"{name}: {path or 'no kernels to build'}")
    return OK


def _build_for_board(options: Options) -> int:
    import shlex

    from hpccfpga import _core, kernels, vendor
    from hpccfpga.arguments import known

    routed = _core.scheme(options.exchange)["kernel_routed"]
    kind = "stream" if routed else "memory"
    folder = Path(options.output)
    sources = {path.stem for path in kernels.kernel_dir().glob(f"*_{kind}.cl")}
    built = [n for n, _ in _core.components("bench") if f"{n}_{kind}" in sources]
    for name, params in _knobs(options, options.benchmarks or built).items():
        if name not in built:
            raise ValueError(
                f"{name} has no kernels for a board here; {known(name, built)}"
            )
        target, stem = options.target, f"{name}_{kind}"
        job = vendor.Job(target, options.board, stem, params, options.platform)
        for path in job.write(folder):
            print(f"wrote {path}")
        if options.print:
            for line in job.commands(folder):
                print(shlex.join(line))
        else:
            print(job.advice(folder))
    return OK


def _knobs(options: Options, benchmarks: Sequence[str]) -> dict[str, dict[str, str]]:
    """Split what was given among the benchmarks that have such a parameter."""
    from hpccfpga import _core

    chosen = given(options)
    own = {name: [e["name"] for e in _core.parameters(name)] for name in benchmarks}
    for knob in chosen:
        if not any(knob in names for names in own.values()):
            raise ValueError(f"{', '.join(own)}: no parameter {option(knob)}")
    return {name: {k: chosen[k] for k in chosen if k in own[name]} for name in own}


JOBS = {
    "boards": _boards,
    "build": _build,
    "calibrate": _calibrate,
    "compare": _compare,
    "devices": _devices,
    "topology": _topology,
    "doctor": _doctor,
    "list": _list,
    "model": _model,
    "plot": _plot,
    "published": _published,
    "run": _run,
    "scaling": _scaling,
    "show": _show,
}
