"""The command `hpccfpga`.

Exit codes, the same on every rank: 0 all data verified, 1 some did not, 2 bad input,
3 the run failed, 130 interrupted, 141 nobody read the output to its end.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hpccfpga import commands, components, formats, formulas, models, ranks, suite
from hpccfpga.boards import board, boards
from hpccfpga.choice import AUTO
from hpccfpga.comparison import compare
from hpccfpga.errors import FAILED, OK, WRONG_DATA, decode, exit_code
from hpccfpga.options import parse
from hpccfpga.outputs import Outputs, read_result
from hpccfpga.parameters import given, option
from hpccfpga.plot import plot
from hpccfpga.published import published, published_list
from hpccfpga.records import Records
from hpccfpga.result import Result
from hpccfpga.suite import Suite
from hpccfpga.tables import human
from hpccfpga.text import printable, tell
from hpccfpga.words import Options, Unreadable, check_file, numbers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    return ranks.attend(partial(_do, words))


def _do(words: list[str]) -> int:
    try:
        options = parse(words)
    except Unreadable as error:
        if error.options.command in ("run", "calibrate", "scaling"):
            commands.refuse(error.options, error)
        raise
    return COMMANDS[options.command](options)


def _read(path: str) -> Result | Suite:
    if path.endswith(".npz"):
        return Result.from_npz(path)
    return suite.read(path)


def _doctor(options: Options) -> int:
    from hpccfpga.doctor import examine

    return OK if examine() else FAILED


def _devices(options: Options) -> int:
    found, failures = components.survey()
    for line in failures.values():
        print(f"hpccfpga: {line}", file=sys.stderr)
    _show_records(found)
    if not failures and not any(name.startswith("opencl:") for name in found.names):
        tell("no OpenCL device here: hpccfpga doctor says what is missing")
    return OK


def _show_records(records: Records) -> None:
    """Print a table that fits the terminal."""
    print(records.table(shutil.get_terminal_size((100, 0)).columns))


def _topology(options: Options) -> int:
    from hpccfpga import topology

    Outputs(plot=options.plot).check()
    wiring = topology.links(options.topology, ranks=options.ranks, ports=options.ports)
    print(topology.table(wiring))
    if options.plot:
        size = {"ranks": options.ranks, "ports": options.ports}
        topology.plot_topology(options.topology, path=options.plot, **size)
        tell(f"wrote {options.plot}")
    return OK


def _boards(options: Options) -> int:
    if options.board:
        print(board(options.board).table())
    else:
        _show_records(boards())
    return OK


def _list(options: Options) -> int:
    if options.benchmark:
        table = components.parameters(options.benchmark)
        words = ({**entry, "name": option(entry["name"])} for entry in table)
        _show_records(Records(table.noun, words, shown=table.shown))
        return OK
    print("benchmarks (their parameters: hpccfpga list BENCHMARK)\n")
    _show_records(components.benchmarks())
    print("\nexchange schemes\n")
    _show_records(components.exchanges())
    able = ", ".join(formulas.schemes(components.RING, calibrated=True))
    print(
        f"\n{AUTO}: of {able}, one as fast as the fastest for each length of messages"
    )
    return OK


def _model(options: Options) -> int:
    outputs = Outputs(options.json, options.npz, options.plot)
    outputs.check()
    read = read_result(options.calibration) if options.calibration else None
    result = models.model(
        options.benchmark,
        exchange=options.exchange,
        board=options.board,
        sizes=options.sizes and numbers("--sizes", options.sizes),
        ranks=options.ranks,
        calibration=read,
        **options.overrides,
    )
    print(result.table())
    outputs.save(result)
    return OK


def _published(options: Options) -> int:
    outputs = Outputs(options.json, options.npz, options.plot)
    outputs.check()
    choice = {
        name: getattr(options, name)
        for name in ("board", "exchange", "ranks", "source")
        if getattr(options, name) is not None
    }
    if not choice:
        if outputs.paths:
            raise ValueError(
                f"{outputs.paths[0]}: a list is not written; choose a run by --board, "
                "--exchange, --ranks or --source"
            )
        _show_records(published_list(options.benchmark))
        return OK
    result = published(options.benchmark, **choice)
    print(result.table())
    outputs.save(result)
    return OK


_FACTS = {
    "isolated": "vertices",
    "cut": "in-edges from another rank",
    "smallest_degree": "edges of a vertex",
    "mean_degree": "edges of a vertex",
    "largest_degree": "edges of a vertex",
    "imbalance": "times the mean of all ranks",
    "cut_share": "of the in-edges",
}
"""What figures of a graph count, where their names do not say it."""


def _graph_info(options: Options) -> int:
    from hpccfpga.graph import Graph

    outputs = Outputs(options.json)
    outputs.check()
    graph = Graph(options.graph, seed=options.seed)
    facts = graph.facts(options.partition, options.ranks)
    units = {name: "B" for name in facts if name.startswith("memory")}
    units |= _FACTS
    if facts["simple"]:
        units |= {"edges": "as made or read", "kept_edges": "in all that follows"}
        units |= dict.fromkeys(("self_loops", "duplicates"), "dropped")
    for name, value in facts.items():
        said = human(value, "s") if name.endswith("_time") else _said(value)
        print(f"{name.replace('_', ' '):16} {said} {units.get(name, '')}".rstrip())
    if options.json:
        formats.write({"schema": "hpccfpga-graph/1", **facts}, options.json)
        tell(f"wrote {options.json}")
    return OK


def _graph_check(options: Options) -> int:
    from hpccfpga.perform import get_ready
    from hpccfpga.sound import FINE, SKIPPED, check

    get_ready()
    tell(f"{options.program} on small graphs, every way, with 1 to 3 ranks ...")
    found = check(options.program, options.value)
    _show_records(found)
    fine = all(r["finding"].startswith((FINE, SKIPPED)) for r in found)
    return OK if fine else WRONG_DATA


def _said(value: Any) -> str:
    """Text of a fact."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def _show(options: Options) -> int:
    """Show a result; the exit code is that of the run that gave it."""
    found = _read(options.file)
    print(found.table())
    if isinstance(found, Suite):
        return commands.suite_code(found)
    if "error" in found.provenance:
        return exit_code(decode(found.provenance))
    return WRONG_DATA if found.verified is False else OK


def _plot(options: Options) -> int:
    perfetto = options.timeline and options.output.endswith(".json")
    chosen = options.point != -1 or options.steps or options.between
    if chosen and (perfetto or not options.timeline):
        raise ValueError(
            "--point, --steps and --between go with --timeline and a picture"
        )
    Outputs(**{"json" if perfetto else "plot": options.output}).check()
    if options.timeline:
        _timeline(options)
    else:
        plot(*map(_read, options.files), path=options.output)
    tell(f"wrote {options.output}")
    return OK


def _timeline(options: Options) -> None:
    if len(options.files) > 1:
        raise ValueError(f"--timeline draws one result, not {len(options.files)}")
    result = read_result(options.files[0])
    choice = {name: getattr(options, name) for name in ("point", "steps", "between")}
    if options.output.endswith(".json"):
        result.to_perfetto(options.output)
    else:
        result.plot_timeline(options.output, **choice)


def _compare(options: Options) -> int:
    print(compare(_read(options.a), _read(options.b)).table())
    return OK


def _build(options: Options) -> int:
    from hpccfpga import _core, emulation, kernels

    check_file(options.output)
    if options.target:
        return _build_for_board(options)
    for name in ("board", "platform", "slr", "print"):
        if getattr(options, name):
            raise ValueError(f"--{name} goes with --target")
    emulation.prepare(options.exchange)
    core = _core.Session(
        options.device or "",
        options.exchange,
        folder=emulation.folder(),
        **emulation.vendors(),
    )
    known = [name for name, _ in _core.components("bench")]
    knobs = _knobs(options, options.benchmarks or known)
    for name, params in knobs.items():
        _core.values(name, params)  # its errors come before the first build
    for name, params in knobs.items():
        path = None
        with suppress(*(() if options.benchmarks else (NotImplementedError,))):
            path = kernels.build(core, name, params, Path(options.output))
        tell(f"{name}: {path or 'no kernels to build'}")
    return OK


def _build_for_board(options: Options) -> int:
    import shlex

    from hpccfpga import _core, sources, vendor
    from hpccfpga.arguments import known

    if options.device:
        raise ValueError("--device goes without --target, for which --board stands")
    kind = _core.scheme(options.exchange)["kernels"]
    folder = Path(options.output)
    stems = {path.stem for path in sources.kernel_dir().glob(f"*_{kind}.cl")}
    built = [n for n, _ in _core.components("bench") if f"{n}_{kind}" in stems]
    for name, params in _knobs(options, options.benchmarks or built).items():
        if name not in built:
            raise ValueError(
                f"{name} has no kernels for a board here; {known(name, built)}"
            )
        if (shape := params.get("shape", "auto")) == "ndrange":
            raise ValueError(f"shape: boards have no kernels for {shape}")
        target, stem = options.target, f"{name}_{kind}"
        bitstream = vendor.Bitstream(
            target, options.board, stem, params, options.platform, options.slr
        )
        for path in bitstream.write(folder):
            tell(f"wrote {path}")
        if options.print:
            for line in bitstream.commands(folder):
                tell(shlex.join(line))
        tell(bitstream.advice(folder, options.print))
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


COMMANDS = {
    "boards": _boards,
    "calibrate": commands.calibrate,
    "compare": _compare,
    "devices": _devices,
    "doctor": _doctor,
    "graph check": _graph_check,
    "graph info": _graph_info,
    "kernels build": _build,
    "list": _list,
    "model": _model,
    "plot": _plot,
    "published": _published,
    "run": commands.run,
    "scaling": commands.scaling,
    "show": _show,
    "topology": _topology,
}
