"""What the command `hpccfpga` understands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from hpccfpga import _core, traces
from hpccfpga.arguments import known
from hpccfpga.components import CALIBRATION, calibrated, parameters
from hpccfpga.configuration import rules
from hpccfpga.graph import PARTITIONS
from hpccfpga.job import MODEL, PARTS
from hpccfpga.launch import TIMEOUT
from hpccfpga.parameters import (
    KERNEL,
    PARAMETER,
    add_knobs,
    add_own,
    add_parameters,
    add_parameters_of_all,
    benchmarks,
)
from hpccfpga.plot import FORMATS
from hpccfpga.text import brief
from hpccfpga.words import (
    Options,
    Parser,
    Unreadable,
    Words,
    check_file,
    comma_list,
    count,
    looks_negative,
    override,
    real,
    reals,
)

_ALONE = ("--help", "--version")
"""Options without a command."""

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

_PICTURES = ", ".join(f".{ending}" for ending in FORMATS)


def parse(words: list[str]) -> Options:
    """Options of a command line; `command` names the command.

    Raises
    ------
    ValueError
        Unknown or incomplete; the message lists what is known. Of commands it is
        `Unreadable`.
    """
    name = " ".join(words[: 2 if {*words[:1]} & GROUPS else 1])
    if name in ("-h", "--help", "help", "--version"):
        print(f"hpccfpga {_core.VERSION}" if name == "--version" else _overview())
        raise SystemExit(0)
    of_group = [n for n in COMMANDS if n.startswith(f"{words[0]} ")] if words else []
    if of_group and {*words[1:2]} & {"-h", "--help"}:
        print(_overview(of_group))
        raise SystemExit(0)
    if name in GROUPS:
        more = known("", (n.partition(" ")[2] for n in of_group))
        see = f"see hpccfpga {name} --help"
        raise ValueError(f"{name} is no command alone; {more}; {see}")
    if name not in COMMANDS:
        there, wanted, more = [*COMMANDS], name, ""
        if f"--{name}" in _ALONE:
            there, wanted = [*_ALONE, *there], f"--{name}"
        what = f"no command {brief(name)}" if words else "no command given"
        if name.startswith("-"):
            what, there = f"no option {brief(name)} in front of a command", [*_ALONE]
            more = "; options of a command stand behind it"
        raise ValueError(f"{what}; {known(wanted, there)}{more}; see hpccfpga --help")
    rest = words[len(name.split()) :]
    summary, build, more = COMMANDS[name]
    parser = Parser(name, summary, more)
    build(parser, None)
    read = Words(rest, parser)
    benchmark = getattr(read.options, "benchmark", None)
    asked = name in ("run", "scaling") and {"-h", "--help"} & {*rest}
    if asked and benchmark not in (None, "all"):
        parameters(benchmark)  # help of what there is not is refused, too
    if name in ("run", "scaling"):  # which parameters there are depends on it
        parser = Parser(name, summary, more, usage="%(prog)s BENCHMARK [options]")
        build(parser, benchmark or "")
        read = Words(rest, parser)
    try:
        if name != "model":
            _refuse_unknown(read, parser)
        for option, value in read.apart:
            raise ValueError(f"{option} {value}: say {option}={value}")
        for word in read.kept:
            if looks_negative(word):
                check_file(word)
        options = parser.parse_args(read.kept)
        if name == "model":
            options.overrides = dict(map(override, read.unknown))
    except ValueError as error:
        raise Unreadable(str(error), read.options) from None
    return options


def _refuse_unknown(read: Words, parser: Parser) -> None:
    """Raise ValueError for an option that a parser does not know."""
    command, benchmark = read.options.command, getattr(read.options, "benchmark", "")
    if command in ("run", "scaling") and benchmark not in (*benchmarks(), "all"):
        return  # which is refused in any case
    own = [n for n, a in parser.actions.items() if a.dest.startswith(PARAMETER)]
    names = [*own, *(n for n in parser.actions if n not in own and n[:2] == "--")]
    whose = {"run": benchmark, "scaling": benchmark, "calibrate": "calibration"}
    for name, _ in read.unknown:
        if _FORMER.get(name) in names:
            raise ValueError(f"{name} is called {_FORMER[name]} now")
        if command == "run" and benchmark == "all" and name in _OF_ONE:
            raise ValueError(f"run all takes no {name}: {_OF_ONE[name]}")
        what = f"{whose.get(command, command)} has no"
        noun = "parameter" if own else "option"
        there = known(name, names)
        if benchmark == "all":  # there are too many for a line
            there = f"{there.partition('known: ')[0]}see hpccfpga run all --help"
        raise ValueError(f"{what} {noun} {name}; {there}")


def _overview(names: Iterable[str] | None = None) -> str:
    """Text about commands; default: all."""
    lines = ["usage: hpccfpga COMMAND ...", ""]
    lines += ["HPC Challenge benchmarks on many accelerators.", ""]
    names = [*(names or COMMANDS)]
    width = max(map(len, names))
    lines += [f"  {name:{width}}  {COMMANDS[name][0]}" for name in names]
    lines += ["", "`hpccfpga COMMAND --help` says the rest; --version the version."]
    return "\n".join(lines)


# ---- what each command takes ----


def _none(command: Parser, benchmark: str | None) -> None:
    pass


def _list(command: Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", nargs="?", help="its name; default: list all")


def _boards(command: Parser, benchmark: str | None) -> None:
    command.add_argument("board", nargs="?", help="its name; default: list all")


def _run(command: Parser, benchmark: str | None) -> None:
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
            help=f"{', '.join(rules())} only, in place of --ranks: as many as are the "
            "fastest, by short runs",
        )
        command.add_argument(
            "--calibrate",
            nargs="?",
            const=MODEL,
            type=_parts,
            metavar="=all",
            help="b_eff: also measure, in turns with it, the parts of its model, or "
            "all parts; show the model",
        )
        command.add_argument(
            "--save-calibration",
            metavar="PATH",
            help="as --calibrate=all, and save the parts",
        )
        command.add_argument(
            "--trace",
            nargs="?",
            const=traces.SPANS,
            default=False,
            type=count,
            metavar="=SPANS",
            help="record what each rank does, and when, at most so many spans of a "
            f"sample; default: {traces.SPANS}",
        )
    _add_ranks(command)
    if benchmark in (None, "all"):
        add_parameters_of_all(command)
    add_own(command, benchmark)


def _scaling(command: Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument(
        "--mode",
        metavar="weak|strong",
        default="weak",
        help="what is kept: the work of each rank, or of all; default: weak",
    )
    _add_run(command)
    _add_ranks(command, several=True)
    add_own(command, benchmark)


def _parts(text: str) -> str:
    if text not in PARTS:
        raise argparse.ArgumentTypeError(
            f"no parts {brief(text)}; {known(text, PARTS)}"
        )
    return text


def _calibrate(command: Parser, benchmark: str | None) -> None:
    _add_ranks(command)
    _add_files(command, plot=False)
    first = CALIBRATION[0].benchmark
    add_parameters(command, first, calibrated(), "the calibration")


def _model(command: Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    _add_exchange(command, f"default: {_core.SCHEME}, where it matters")
    command.add_argument("--board", help="data sheet that feeds the model; see boards")
    command.add_argument("--calibration", metavar="FILE", help="what feeds it instead")
    command.add_argument("--sizes", help="points of the sweep, e.g. 1,64,1024")
    command.add_argument("--ranks", type=count, help="default: that of the calibration")
    _add_files(command)


def _published(command: Parser, benchmark: str | None) -> None:
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument("--board", help="its name; see boards")
    _add_exchange(command, "exchange scheme")
    command.add_argument("--ranks", type=count, help="number of ranks")
    command.add_argument("--source", help="words of the source")
    _add_files(command)


def _topology(command: Parser, benchmark: str | None) -> None:
    command.add_argument(
        "topology",
        nargs="?",
        default="published",
        help="published, ring, pairs, torus:PxQ, RANK:PORT-RANK:PORT,..., or a file",
    )
    command.add_argument("--ranks", type=count, default=2, help="default: 2")
    command.add_argument(
        "--ports", type=count, default=4, help="of each rank; default 4"
    )
    command.add_argument("--plot", metavar="PATH", help=f"draw it: {_PICTURES}")


def _graph_info(command: Parser, benchmark: str | None) -> None:
    command.add_argument("graph", help="kron:20, urand:20, grid:20, or a file")
    command.add_argument("--ranks", type=count, default=1, help="default: 1")
    command.add_argument(
        "--partition",
        default="cyclic",
        help=f"{', '.join(PARTITIONS)}, or a file; default: cyclic",
    )
    command.add_argument(
        "--seed", type=count, default=1, help="of generators; default: 1, as of a run"
    )
    _add_json(command)


def _graph_check(command: Parser, benchmark: str | None) -> None:
    command.add_argument("program", help="path of a header, or a program's name")
    command.add_argument(
        "--value",
        type=reals,
        default=[],
        metavar="NUMBERS",
        help="its scalars, e.g. 3,0.5, if it looks at any",
    )


def _show(command: Parser, benchmark: str | None) -> None:
    command.add_argument("file", help=".json or .npz, also of run all")


def _plot(command: Parser, benchmark: str | None) -> None:
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
        type=count,
        default=-1,
        help="with --timeline; default: the last one",
    )
    command.add_argument(
        "--steps", type=count, help="with --timeline: how many; default: 4"
    )
    command.add_argument(
        "--between",
        type=reals,
        metavar="FIRST,LAST",
        help="with --timeline: from when to when, in seconds, e.g. 0.012,0.02",
    )


def _compare(command: Parser, benchmark: str | None) -> None:
    command.add_argument("a", help="the reference: .json or .npz, also of run all")
    command.add_argument("b", help="what is held against it")


def _build(command: Parser, benchmark: str | None) -> None:
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
    add_knobs(command)


_OWN = (
    "With a benchmark, --help shows its parameters, too. N is a whole number: how many "
    "of what the line says. --deadline is the longest wait of one rank for another, "
    "--timeout the longest time of a whole run that --ranks starts. What is written "
    "where, and when: docs/running.md."
)
COMMANDS: dict[str, tuple[str, Callable[[Parser, str | None], None], str]] = {
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


def _add_run(command: Parser) -> None:
    _add_exchange(command, f"default: {_core.SCHEME}", _core.SCHEME)
    command.add_argument("--kernel", metavar="PATH", help=KERNEL)
    _add_board(command)
    _add_files(command)


def _add_board(command: Parser) -> None:
    command.add_argument("--board", help="show its model beside; see boards")
    command.add_argument(
        "--calibration",
        metavar="FILE",
        help=f"what exchange {_core.AUTO} chooses by; default: --board, else it is "
        "measured",
    )


def _add_json(command: Parser) -> None:
    command.add_argument("--json", metavar="PATH", help="save the result as JSON")


def _add_exchange(command: Parser, text: str, default: str | None = None) -> None:
    names = [name for name, _ in _core.components("exchange")]
    metavar = "|".join([*names, _core.AUTO])
    command.add_argument("--exchange", metavar=metavar, default=default, help=text)


def _add_ranks(command: Parser, several: bool = False) -> None:
    if several:
        command.add_argument(
            "--ranks", default="1,2,4", metavar="N,...", help="default: 1,2,4"
        )
    else:
        command.add_argument(
            "--ranks",
            type=count,
            metavar="N",
            help="ranks to start; default: those of mpirun, or 1",
        )
    command.add_argument(
        "--hosts",
        type=comma_list,
        metavar="A,B,...",
        help="where to start them, also with numbers of ranks: a:2,b:2; default: here",
    )
    command.add_argument("--device", help="index, type or part of a name; see devices")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.add_argument(
        "--timeout",
        type=real,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"longest time of the ranks it starts [s]; default: {TIMEOUT:g}",
    )


def _add_files(command: Parser, plot: bool = True) -> None:
    _add_json(command)
    command.add_argument("--npz", metavar="PATH", help="save the result as NPZ")
    if plot:
        command.add_argument("--plot", metavar="PATH", help=f"draw it: {_PICTURES}")
