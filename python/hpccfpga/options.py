"""What the command `hpccfpga` understands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from hpccfpga import _core, suite, traces
from hpccfpga.arguments import known
from hpccfpga.components import CALIBRATION, calibrated, common, parameters
from hpccfpga.graph import PARTITIONS
from hpccfpga.launch import TIMEOUT
from hpccfpga.plot import FORMATS
from hpccfpga.provenance import own_version
from hpccfpga.records import brief_list

Options = argparse.Namespace

_PARAMETER = "parameter "
"""What the names of parameters begin with among the options."""

_FORMER = {"--model": "--board"}
"""Options that have another name now."""

_ONE = "run the benchmark by itself"
_OF_ONE = {
    "--plot": "save --json PATH, then: hpccfpga plot PATH -o PICTURE",
    "--npz": "save --json PATH; its results have to_npz",
    "--kernel": "each benchmark has its own: --BENCHMARK.kernel PATH",
    "--calibrate": _ONE,
    "--save-calibration": _ONE,
    "--trace": _ONE,
}
"""What `run` takes of one benchmark, and what to do instead of all."""

_KERNEL = ".cl source or program binary"
_PICTURES = ", ".join(f".{ending}" for ending in FORMATS)
_METAVARS = {"B": "BYTES", "s": "SECONDS", "1": "N"}
_ELSEWHERE = "see list BENCHMARK"
_NEGATIVE = re.compile(r"-\d+$|-\d*\.\d+$")


class Unreadable(ValueError):
    """A command line that makes no sense; `options` is what could be read of it."""

    def __init__(self, message: str, options: Options) -> None:
        super().__init__(message)
        self.options = options


class _Parser(argparse.ArgumentParser):
    """One line about a wrong option, not a page; an empty word is none."""

    def __init__(self, name: str, summary: str, more: str, **kwargs: Any) -> None:
        super().__init__(
            prog=f"hpccfpga {name}",
            description=summary,
            epilog=more,
            allow_abbrev=False,
            **kwargs,
        )
        self.register("type", None, _word)  # of what names no type
        self.set_defaults(command=name)

    def error(self, message: str) -> NoReturn:
        said = message.removeprefix("argument ")
        raise ValueError(f"{said}; see {self.prog} --help")

    @property
    def actions(self) -> dict[str, argparse.Action]:
        """What each option does."""
        return {word: a for a in self._actions for word in a.option_strings}


class _Words:
    """Words of a command line, told apart by the options that a parser knows.

    Attributes
    ----------
    kept : list of str
        All but unknown options and their values.
    options : Options
        Values as text, and the first word that belongs to no option as `benchmark`.
    unknown : list of tuple
        Names and values, "" for none, of unknown options.
    apart : list of tuple
        Names of options whose value stands behind "=", and the number after a blank.
    """

    def __init__(self, words: list[str], parser: _Parser) -> None:
        self.kept: list[str] = []
        self.options = Options(command=parser.prog.partition(" ")[2])
        self.unknown: list[tuple[str, str]] = []
        self.apart: list[tuple[str, str]] = []
        actions, rest = parser.actions, list(words)
        while rest:
            taken = [rest.pop(0)]
            name, glued, value = taken[0].partition("=")
            action = actions.get(name)
            if taken[0] == "--":
                taken, rest = [*taken, *rest], []
            elif not _is_option(taken[0]):
                self._set("benchmark", taken[0])
            else:
                if action is not None and action.nargs == "?" and not glued:
                    taken = [f"{name}={action.const}"]  # no next word is its value
                    if rest and rest[0].isdecimal():
                        self.apart.append((name, rest[0]))
                takes = action is None or action.nargs is None
                if takes and not glued and rest and not _is_option(rest[0]):
                    value = rest.pop(0)
                    taken.append(value)
                if action is None:
                    self.unknown.append((name, value))
                    continue
                if value:
                    self._set(action.dest, value)
            self.kept += taken

    def _set(self, name: str, value: str) -> None:
        if not hasattr(self.options, name):
            number = name == "ranks" and value.isdecimal() and len(value) < 10
            setattr(self.options, name, int(value) if number else value)


def _is_option(word: str) -> bool:
    """Whether argparse takes a word for an option."""
    return word[:1] == "-" and word != "-" and not _NEGATIVE.match(word)


def _word(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("nothing given")
    return text


def _names(text: str) -> list[str]:
    return text.split(",")


def _count(text: str) -> int:
    try:
        return _whole(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a number such as 2'
        ) from None


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a number such as 0.5'
        ) from None


def _times(text: str) -> list[float]:
    return [_real(part) for part in text.split(",")]


def parse(words: list[str]) -> Options:
    """Options of a command line; `command` names the command.

    Raises
    ------
    ValueError
        Unknown or incomplete; the message lists what is known. Of commands it is
        `Unreadable`.
    """
    name = " ".join(words[: 2 if {*words[:1]} & GROUPS else 1])
    if name in ("-h", "--help", "--version"):
        print(f"hpccfpga {own_version()}" if name == "--version" else _overview())
        raise SystemExit(0)
    of_group = [n for n in COMMANDS if n.startswith(f"{words[0]} ")] if words else []
    if of_group and {*words[1:2]} & {"-h", "--help"}:
        print(_overview(of_group))
        raise SystemExit(0)
    if name in GROUPS:
        more = known("", (n.partition(" ")[2] for n in of_group))
        raise ValueError(f"{name} is no command alone; {more}; see {name} --help")
    if name not in COMMANDS:
        what = f"no command {name!r}" if words else "no command given"
        raise ValueError(f"{what}; {known(name, COMMANDS)}; see hpccfpga --help")
    rest = words[len(name.split()) :]
    summary, build, more = COMMANDS[name]
    parser = _Parser(name, summary, more)
    build(parser, None)
    read = _Words(rest, parser)
    benchmark = getattr(read.options, "benchmark", None)
    asked = name in ("run", "scaling") and {"-h", "--help"} & {*rest}
    if asked and benchmark not in (None, "all"):
        parameters(benchmark)  # help of what there is not is refused, too
    if name in ("run", "scaling"):  # which parameters there are depends on it
        parser = _Parser(name, summary, more, usage="%(prog)s BENCHMARK [options]")
        build(parser, benchmark or "")
        read = _Words(rest, parser)
    try:
        if name != "model":
            _refuse_unknown(read, parser)
        for option, value in read.apart:
            raise ValueError(f"{option} {value}: say {option}={value}")
        options = parser.parse_args(read.kept)
        if name == "model":
            options.overrides = dict(map(_override, read.unknown))
    except ValueError as error:
        raise Unreadable(str(error), read.options) from None
    return options


def _refuse_unknown(read: _Words, parser: _Parser) -> None:
    """Raise ValueError for an option that a parser does not know."""
    command, benchmark = read.options.command, getattr(read.options, "benchmark", "")
    if command in ("run", "scaling") and benchmark not in (*_benchmarks(), "all"):
        return  # which is refused in any case
    own = [n for n, a in parser.actions.items() if a.dest.startswith(_PARAMETER)]
    names = [*own, *(n for n in parser.actions if n not in own and n[:2] == "--")]
    whose = {"run": benchmark, "scaling": benchmark, "calibrate": "calibration"}
    for name, _ in read.unknown:
        if _FORMER.get(name) in names:
            raise ValueError(f"{name} is called {_FORMER[name]} now")
        if command == "run" and benchmark == "all" and name in _OF_ONE:
            raise ValueError(f"run all takes no {name}: {_OF_ONE[name]}")
        what = f"{whose.get(command, command)} has no"
        noun = "parameter" if own else "option"
        raise ValueError(f"{what} {noun} {name}; {known(name, names)}")


def _overview(names: Iterable[str] | None = None) -> str:
    """Text about commands; default: all."""
    lines = ["usage: hpccfpga COMMAND ...", ""]
    lines += ["HPC Challenge benchmarks on many accelerators.", ""]
    names = [*(names or COMMANDS)]
    width = max(map(len, names))
    lines += [f"  {name:{width}}  {COMMANDS[name][0]}" for name in names]
    lines += ["", "`hpccfpga COMMAND --help` says the rest; --version the version."]
    return "\n".join(lines)


def _benchmarks() -> list[str]:
    return [name for name, _ in _core.components("bench")]


# ---- what each command takes ----


def _none(command: _Parser, benchmark: str | None) -> None:
    pass


def _list(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", nargs="?", help="its name; default: list all")


def _boards(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("board", nargs="?", help="its name; default: list all")


def _run(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name, or all; see list")
    if benchmark == "all":
        _add_exchange(command, f"default: {_core.SCHEME}", _core.SCHEME)
        _add_board(command)
        _add_json(command)
    else:
        _add_run(command)
        command.add_argument(
            "--devices",
            metavar="auto",
            help="in place of --ranks: as many as are the fastest, by short runs",
        )
        command.add_argument(
            "--calibrate",
            action="store_true",
            help="also measure the parts; show the model",
        )
        command.add_argument(
            "--save-calibration", metavar="PATH", help="calibrate, and save the parts"
        )
        command.add_argument(
            "--trace",
            nargs="?",
            const=traces.SPANS,
            default=False,
            type=_count,
            metavar="=SPANS",
            help="record what each rank does, and when, at most so many spans of a "
            f"sample; default: {traces.SPANS}",
        )
    _add_ranks(command)
    if benchmark in (None, "all"):
        _add_parameters_of_all(command)
    _add_own(command, benchmark)


def _scaling(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument(
        "--mode",
        metavar="weak|strong",
        default="weak",
        help="what is kept: the work of each rank, or of all; default: weak",
    )
    _add_run(command)
    _add_ranks(command, several=True)
    _add_own(command, benchmark)


def _calibrate(command: _Parser, benchmark: str | None) -> None:
    _add_ranks(command)
    _add_files(command, plot=False)
    first = CALIBRATION[0].benchmark
    _add_parameters(command, first, calibrated(), "the calibration")


def _model(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    _add_exchange(command, f"default: {_core.SCHEME}, where it matters")
    command.add_argument("--board", help="data sheet that feeds the model; see boards")
    command.add_argument("--calibration", metavar="FILE", help="what feeds it instead")
    command.add_argument("--sizes", help="points of the sweep, e.g. 1,64,1024")
    command.add_argument(
        "--ranks", type=_count, help="default: that of the calibration"
    )
    _add_files(command)


def _published(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument("--board", help="its name; see boards")
    _add_exchange(command, "exchange scheme")
    command.add_argument("--ranks", type=_count, help="number of ranks")
    command.add_argument("--source", help="words of the source")
    _add_files(command)


def _topology(command: _Parser, benchmark: str | None) -> None:
    command.add_argument(
        "topology",
        nargs="?",
        default="published",
        help="published, ring, pairs, torus:PxQ, RANK:PORT-RANK:PORT,..., or a file",
    )
    command.add_argument("--ranks", type=_count, default=2, help="default: 2")
    command.add_argument(
        "--ports", type=_count, default=4, help="of each rank; default 4"
    )
    command.add_argument("--plot", metavar="PATH", help=f"draw it: {_PICTURES}")


def _graph_info(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("graph", help="kron:20, urand:20, grid:20, or a file")
    command.add_argument("--ranks", type=_count, default=1, help="default: 1")
    command.add_argument(
        "--partition",
        default="cyclic",
        help=f"{', '.join(PARTITIONS)}, or a file; default: cyclic",
    )
    command.add_argument(
        "--seed", type=_count, default=1, help="of generators; default: 1, as of a run"
    )
    _add_json(command)


def _graph_check(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("program", help="path of a header, or a program's name")
    command.add_argument(
        "--value",
        type=_reals,
        default=[],
        metavar="NUMBERS",
        help="its scalars, e.g. 3,0.5; default: 0.85, as of a run",
    )


def _show(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("file", help=".json or .npz, also of run all")


def _plot(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="also of run all")
    command.add_argument(
        "--output", "-o", required=True, metavar="PATH", help=_PICTURES
    )
    command.add_argument(
        "--timeline",
        action="store_true",
        help="draw the trace of one result; with a .json as PATH, for Perfetto",
    )
    command.add_argument(
        "--point",
        type=_count,
        default=-1,
        help="with --timeline; default: the last one",
    )
    command.add_argument(
        "--steps", type=_count, help="with --timeline: how many; default: 4"
    )
    command.add_argument(
        "--between",
        type=_times,
        metavar="FIRST,LAST",
        help="with --timeline: from when to when, in seconds, e.g. 0.012,0.02",
    )


def _compare(command: _Parser, benchmark: str | None) -> None:
    command.add_argument("a", help="the reference: .json or .npz, also of run all")
    command.add_argument("b", help="what is held against it")


def _build(command: _Parser, benchmark: str | None) -> None:
    command.add_argument(
        "benchmarks", nargs="*", metavar="BENCHMARK", help="default: all"
    )
    _add_exchange(command, f"default: {_core.SCHEME}", _core.SCHEME)
    command.add_argument("--device", help="index, type or part of a name; see devices")
    command.add_argument(
        "--output",
        "-o",
        default="build/kernels",
        metavar="FOLDER",
        help="default: build/kernels",
    )
    command.add_argument("--target", help="for a board: intel or xilinx")
    command.add_argument("--board", help="with --target; of intel's default: 520n")
    command.add_argument(
        "--platform", help="with --target: what the compiler calls the board"
    )
    command.add_argument(
        "--slr",
        metavar="NUMBERS",
        help="with --target xilinx: regions of the replications in turn, e.g. 0,1",
    )
    command.add_argument(
        "--print", action="store_true", help="with --target: say what to run"
    )
    command.usage = "%(prog)s [options] [BENCHMARK ...]"
    _add_knobs(command)


_OWN = (
    "With a benchmark, --help shows its parameters, too. N is a whole number: how many "
    "of what the line says. --deadline is the longest wait of one rank for another, "
    "--timeout the longest time of a whole run that --ranks starts. What is written "
    "where, and when: docs/running.md."
)
COMMANDS: dict[str, tuple[str, Callable[[_Parser, str | None], None], str]] = {
    "doctor": ("say what is found, what is missing, what to install", _none, ""),
    "devices": ("list the devices", _none, ""),
    "list": ("list benchmarks and exchange schemes, or parameters of one", _list, ""),
    "boards": ("list the boards, or the data of one", _boards, ""),
    "run": ("measure a benchmark, or all", _run, _OWN),
    "scaling": ("measure a benchmark on several numbers of ranks", _scaling, _OWN),
    "calibrate": ("measure the parts of exchange schemes", _calibrate, ""),
    "model": (
        "say what a performance model expects",
        _model,
        "Any other option is an input of the model: --memory hbm2, or with --exchange "
        "channel --clock 3e8. A wrong one is answered by the list of all.",
    ),
    "published": (
        "show what others measured",
        _published,
        "With nothing but the benchmark, lists the runs to choose from.",
    ),
    "topology": ("show which ports are wired to which", _topology, ""),
    "show": ("show a saved result", _show, ""),
    "plot": ("draw saved results into one picture", _plot, ""),
    "compare": ("put two saved results side by side", _compare, ""),
    "graph info": (
        "say what a graph is like, and how evenly a partition cuts it",
        _graph_info,
        "In front of a graph's name may stand simple: (no duplicates, no self-loops), "
        "undirected: and unweighted: .",
    ),
    "graph check": (
        "run a vertex program on small graphs every way: do results differ?",
        _graph_check,
        "Where a C compiler with sanitizers is, the program runs under them, too.",
    ),
    "kernels build": (
        "compile kernels for a device: program binaries with manifests",
        _build,
        "",
    ),
}
"""Summary of each command, what it takes, and what its help says at the end."""

GROUPS = {name.partition(" ")[0] for name in COMMANDS if " " in name}
"""First words of commands of two."""


def _add_run(command: _Parser) -> None:
    _add_exchange(command, f"default: {_core.SCHEME}", _core.SCHEME)
    command.add_argument("--kernel", metavar="PATH", help=_KERNEL)
    _add_board(command)
    _add_files(command)


def _add_board(command: _Parser) -> None:
    command.add_argument("--board", help="show its model beside; see boards")
    command.add_argument(
        "--calibration",
        metavar="FILE",
        help=f"what exchange {_core.AUTO} chooses by; default: --board, else it is "
        "measured",
    )


def _add_json(command: _Parser) -> None:
    command.add_argument("--json", metavar="PATH", help="save the result as JSON")


def _add_exchange(command: _Parser, text: str, default: str | None = None) -> None:
    names = [name for name, _ in _core.components("exchange")]
    metavar = "|".join([*names, _core.AUTO])
    command.add_argument("--exchange", metavar=metavar, default=default, help=text)


def _add_ranks(command: _Parser, several: bool = False) -> None:
    if several:
        command.add_argument(
            "--ranks", default="1,2,4", metavar="N,...", help="default: 1,2,4"
        )
    else:
        command.add_argument(
            "--ranks",
            type=_count,
            metavar="N",
            help="ranks to start; default: those of mpirun, or 1",
        )
    command.add_argument(
        "--hosts",
        type=_names,
        metavar="A,B,...",
        help="where to start them, also with numbers of ranks: a:2,b:2; default: here",
    )
    command.add_argument("--device", help="index, type or part of a name; see devices")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.add_argument(
        "--timeout",
        type=_real,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"longest time of the ranks it starts [s]; default: {TIMEOUT:g}",
    )


def _add_files(command: _Parser, plot: bool = True) -> None:
    _add_json(command)
    command.add_argument("--npz", metavar="PATH", help="save the result as NPZ")
    if plot:
        command.add_argument("--plot", metavar="PATH", help=f"draw it: {_PICTURES}")


def _add_own(command: _Parser, benchmark: str | None) -> None:
    """Add the parameters of a benchmark; without one, those of every benchmark."""
    if benchmark in _benchmarks():
        _add_parameters(command, str(benchmark))
    elif benchmark is None:
        for name in _benchmarks():
            for entry in parameters(name):
                if option(entry["name"]) not in command.actions:
                    _add_parameter(command, entry)


def _add_parameters(
    command: _Parser,
    benchmark: str,
    names: Iterable[str] | None = None,
    whose: str | None = None,
) -> None:
    group = command.add_argument_group(f"parameters of {whose or benchmark}")
    for entry in parameters(benchmark):
        if names is None or entry["name"] in names:
            _add_parameter(group, entry)


def _add_parameters_of_all(command: _Parser) -> None:
    """Add those that all have, and for each benchmark its own: --gemm.sizes."""
    names = suite.benchmarks()
    _add_parameters(command, names[0], common(), "all")
    for name in names:
        group = command.add_argument_group(f"parameters of {name}")
        for entry in parameters(name):
            _add_parameter(group, {**entry, "name": f"{name}.{entry['name']}"})
        group.add_argument(
            option(f"{name}.{suite.KERNEL}"),
            dest=f"{_PARAMETER}{name}.{suite.KERNEL}",
            default=argparse.SUPPRESS,
            metavar="PATH",
            help=_KERNEL,
        )


def _add_knobs(command: _Parser) -> None:
    plain = ("shape", "replications", "bank_a", "bank_b", "bank_c")
    knobs: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in _benchmarks():
        for entry in parameters(name):
            if entry["macro"] or entry["name"] in plain:
                knobs.setdefault(entry["name"], {})[name] = entry
    group = command.add_argument_group("what is built into the kernels")
    for owners in knobs.values():
        first, *_ = owners.values()
        told = {(e["summary"], e["values"], e["default"]) for e in owners.values()}
        summary, values, default = (
            told.pop() if len(told) == 1 else (_ELSEWHERE, None, "its own")
        )
        text = f"{', '.join(owners)}: {summary}"
        own = {"summary": text, "values": values, "default": default}
        _add_parameter(group, {**first, **own})


def _add_parameter(command: Any, entry: Mapping[str, Any]) -> None:
    summary, unit, values = entry["summary"], entry["unit"], entry["values"]
    if unit not in (None, "1") and not summary.endswith(_ELSEWHERE):
        summary += f" [{unit}]"
    choices = "|".join(entry["choices"] or [])
    if values != choices and values:
        summary += f"; {values}"
        choices = ""
    metavar = choices or _METAVARS.get(unit, "TEXT")
    if entry["kind"] in ("real", "reals") and unit == "1":
        metavar = "NUMBER"
    metavar += ",..." if entry["kind"] in ("ints", "reals") else ""
    command.add_argument(
        option(entry["name"]),
        dest=_PARAMETER + entry["name"],
        type=str,  # the benchmark's own table refuses
        default=argparse.SUPPRESS,
        metavar=metavar,
        help=f"{summary}; default: {brief_list(entry['default'])}".replace("%", "%%"),
    )


# ---- what was given ----


def option(name: str) -> str:
    """Option of a parameter: --loop-upper; of one benchmark's: --b_eff.loop-upper."""
    benchmark, dot, own = name.rpartition(".")
    return f"--{benchmark}{dot}{own.replace('_', '-')}"


def given(options: Options) -> dict[str, str]:
    """Parameters that were given, as text."""
    return {
        name.removeprefix(_PARAMETER): value
        for name, value in vars(options).items()
        if name.startswith(_PARAMETER)
    }


def _override(given: tuple[str, str]) -> tuple[str, float | str]:
    """Input of a model, out of an option and its value."""
    option, value = given
    name = option.lstrip("-").replace("-", "_")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError
    return int(number)


def _reals(text: str) -> list[float]:
    found = []
    for word in text.split(","):
        try:
            found.append(float(word))
        except ValueError:
            raise argparse.ArgumentTypeError(
                f'"{word}" is not a number such as 0.5'
            ) from None
    return found


def numbers(name: str, text: str) -> list[int]:
    """Numbers out of text like 1,64,1e3, as a run reads it."""
    found = []
    for word in text.split(","):
        try:
            found.append(_whole(word))
        except (ValueError, OverflowError):
            raise ValueError(f'{name}: "{word}" is not a number such as 1024') from None
    return found
