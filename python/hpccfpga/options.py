"""What the command `hpccfpga` understands."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import hpccfpga
from hpccfpga.arguments import known
from hpccfpga.parameters import calibrated, common

Options = argparse.Namespace

_PARAMETER = "parameter "
"""What the names of parameters begin with among the options."""


_FLAGS = ("-h", "--help", "--", "--calibrate", "--quiet", "--events", "--trace")
"""Options of `run` and `scaling` that take no value."""


class _Parser(argparse.ArgumentParser):
    """One line about a wrong option, not a page; an empty word is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register("type", None, _word)  # of what names no type

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see {self.prog} --help")


def _word(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("nothing given")
    return text


def parse(words: list[str]) -> Options:
    """Options of a command line; `job` names the command.

    Raises
    ------
    ValueError
        Unknown or incomplete; the message lists what is known.
    """
    parser = _parser(words)
    options, rest = parser.parse_known_args(words)
    if options.job == "model":
        options.overrides = _overrides(rest)
    elif options.job in ("run", "calibrate", "scaling"):
        options.unknown = rest  # refused where the result file is known
    elif rest:
        parser.error(f"unknown: {' '.join(rest)}")
    return options


def benchmark_of(words: list[str]) -> str | None:
    """Benchmark in the words of a `run` or `scaling`; None without one.

    It is the first word that is neither an option nor an option's value.
    """
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            return word
        if "=" not in word and word not in _FLAGS:
            next(rest, None)
    return None


def outlet(words: list[str]) -> Options:
    """Say where the error of a command line goes that `parse` refuses."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--json")
    parser.add_argument("--events", action="store_true")
    parser.set_defaults(npz=None, device=None, ranks=None)
    return parser.parse_known_args(words)[0]


def refuse_unknown(options: Options, benchmark: str, names: Iterable[str]) -> None:
    """Raise ValueError for what is none of the parameters `names`."""
    for word in options.unknown:
        name = word.partition("=")[0]
        raise ValueError(
            f"{benchmark} has no parameter {name}; {known(name, map(option, names))}"
        )


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hpccfpga",
        description="HPC Challenge benchmarks on many accelerators.",
        allow_abbrev=False,
    )
    version = hpccfpga.__version__ if "--version" in words else ""
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    commands.type = str  # all words of the command, which checks its own

    def add(name: str, summary: str, more: str = "") -> _Parser:
        command = commands.add_parser(
            name, help=summary, description=summary, epilog=more, allow_abbrev=False
        )
        command.set_defaults(job=name)
        return command

    add("doctor", "say what is found, what is missing, what to install")
    add("devices", "list the devices")
    command = add("list", "list benchmarks and exchange schemes, or parameters of one")
    command.add_argument("benchmark", nargs="?", help="its name; default: list all")

    command = add("boards", "list the boards, or the data of one")
    command.add_argument("board", nargs="?", help="its name; default: list all")

    own = "`hpccfpga {} BENCHMARK --help` shows the benchmark's parameters too."
    command = add("run", "measure a benchmark, or all", own.format("run"))
    command.add_argument("benchmark", help="its name, or all; see list")
    _add_run(command, words)
    command.add_argument(
        "--calibrate",
        action="store_true",
        help="also measure the parts; show the model",
    )
    command.add_argument(
        "--trace", action="store_true", help="record what each rank does, and when"
    )
    command.add_argument(
        "--save-calibration", metavar="PATH", help="with --calibrate: save the parts"
    )

    summary = "measure a benchmark on several numbers of ranks"
    command = add("scaling", summary, own.format("scaling"))
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument(
        "--mode",
        default="weak",
        help="what is kept: weak, the work of each rank (default), or strong, of all",
    )
    _add_run(command, words)

    command = add("calibrate", "measure the parts of scheme pcie apart")
    _add_ranks(command)
    _add_files(command, plot=False)
    if words[:1] == ["calibrate"]:
        _add_parameters(command, "transfer", calibrated())

    command = add(
        "model",
        "say what a performance model expects",
        "--INPUT is any input of the model: --clock 3e8, --memory hbm2. A wrong one is "
        "answered by the list of all.",
    )
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument("--exchange", help="default: pcie, where it matters")
    command.add_argument("--board", help="data sheet that feeds the model")
    command.add_argument("--calibration", metavar="FILE", help="what feeds it instead")
    command.add_argument("--sizes", help="points of the sweep, e.g. 1,64,1024")
    command.add_argument("--ranks", type=int)
    command.add_argument(
        "--INPUT",
        metavar="VALUE",
        dest="ignored",
        help="an input instead of the board's; see below",
    )
    _add_files(command)

    command = add(
        "published",
        "show what others measured",
        "With nothing but the benchmark, lists the runs to choose from.",
    )
    command.add_argument("benchmark", help="its name; see list")
    command.add_argument("--board", help="its name; see boards")
    command.add_argument("--exchange")
    command.add_argument("--ranks", type=int)
    command.add_argument("--source", help="words of the source")
    _add_files(command)

    command = add("topology", "show which ports are wired to which")
    command.add_argument(
        "topology",
        nargs="?",
        default="published",
        help="published, ring, pairs, torus:PxQ, RANK:PORT-RANK:PORT,..., or a file",
    )
    command.add_argument("--ranks", type=int, default=2)
    command.add_argument("--ports", type=int, default=4, help="of each rank")
    command.add_argument("--plot", metavar="PATH", help="draw it: .png, .pdf, .svg")

    command = add("show", "show a saved result")
    command.add_argument("file", help=".json or .npz, also of run all")
    command = add("plot", "draw saved results into one picture")
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--output", "-o", required=True, metavar="PICTURE")
    command.add_argument(
        "--timeline",
        action="store_true",
        help="draw the trace of one result; with a .json as PICTURE, for Perfetto",
    )
    command.add_argument(
        "--point", type=int, default=-1, help="with --timeline; default: the last one"
    )
    command.add_argument(
        "--steps", type=int, help="with --timeline: how many; default: 4"
    )
    command = add("compare", "put two saved results side by side")
    command.add_argument("a", help="the reference: .json or .npz, also of run all")
    command.add_argument("b", help="what is held against it")

    kernels = commands.add_parser("kernels", help="build kernels", allow_abbrev=False)
    jobs = kernels.add_subparsers(metavar="COMMAND", required=True)
    jobs.type = str
    command = jobs.add_parser(
        "build",
        help="compile kernels for a device",
        description="Compile kernels for a device: program binaries with manifests.",
        allow_abbrev=False,
    )
    command.set_defaults(job="build")
    command.add_argument(
        "benchmarks", nargs="*", metavar="BENCHMARK", help="default: all"
    )
    command.add_argument("--exchange", default="pcie", help="default: pcie")
    command.add_argument("--device", help="index or part of the name; see devices")
    command.add_argument(
        "--output",
        "-o",
        default="build/kernels",
        metavar="FOLDER",
        help="default: build/kernels",
    )
    command.add_argument("--target", help="for a board: intel or xilinx")
    command.add_argument("--board", default="520n", help="with --target; default: 520n")
    command.add_argument("--platform", help="what the compiler calls the board")
    command.add_argument(
        "--print", action="store_true", help="with --target: say what to run"
    )
    if words[:2] == ["kernels", "build"]:
        _add_knobs(command)
    return parser


def _add_run(command: _Parser, words: list[str]) -> None:
    command.add_argument("--exchange", default="pcie", help="default: pcie")
    command.add_argument(
        "--kernel", metavar="PATH", help=".cl source or program binary"
    )
    _add_ranks(command, several=words[:1] == ["scaling"])
    command.add_argument("--model", metavar="BOARD", help="show the model of a board")
    _add_files(command)
    if words[:1] in (["run"], ["scaling"]):
        from hpccfpga import _core

        name = benchmark_of(words)
        if name == "all":
            _add_parameters_of_all(command)
        elif name in [known for known, _ in _core.components("bench")]:
            _add_parameters(command, name)


def _add_ranks(command: _Parser, several: bool = False) -> None:
    if several:
        command.add_argument("--ranks", default="1,2,4", help="default: 1,2,4")
    else:
        command.add_argument("--ranks", type=int, help="default: those of mpirun, or 1")
    command.add_argument("--device", help="index or part of the name; see devices")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.add_argument(
        "--timeout",
        type=float,
        default=600,
        help="longest time of the ranks it starts [s]; default: 600",
    )
    command.add_argument("--events", action="store_true", help=argparse.SUPPRESS)


def _add_files(command: _Parser, plot: bool = True) -> None:
    command.add_argument("--json", metavar="PATH", help="save the result as JSON")
    command.add_argument("--npz", metavar="PATH", help="save the result as NPZ")
    if plot:
        command.add_argument("--plot", metavar="PATH", help="draw it: .png, .pdf, .svg")


def _add_parameters(
    command: _Parser, benchmark: str, names: Iterable[str] | None = None
) -> None:
    from hpccfpga import _core

    group = command.add_argument_group(f"parameters of {benchmark}")
    for entry in _core.parameters(benchmark):
        if names is None or entry["name"] in names:
            _add_parameter(group, entry)


def _add_parameters_of_all(command: _Parser) -> None:
    """Add those that all have, and for each benchmark its own: --gemm.sizes."""
    from hpccfpga import _core, suite

    names = suite.benchmarks()
    _add_parameters(command, names[0], common())
    for name in names:
        group = command.add_argument_group(f"parameters of {name}")
        for entry in _core.parameters(name):
            _add_parameter(group, {**entry, "name": f"{name}.{entry['name']}"})


def _add_knobs(command: _Parser) -> None:
    from hpccfpga import _core

    plain = ("shape", "replications", "bank_a", "bank_b", "bank_c")
    knobs: dict[str, dict[str, _core._Parameter]] = {}
    for name, _ in _core.components("bench"):
        for entry in _core.parameters(name):
            if entry["macro"] or entry["name"] in plain:
                knobs.setdefault(entry["name"], {})[name] = entry
    for owners in knobs.values():
        entry, *_ = owners.values()
        told = {(e["summary"], e["default"]) for e in owners.values()}
        summary, default = told.pop() if len(told) == 1 else ("see list", "its own")
        text = f"{', '.join(owners)}: {summary}"
        _add_parameter(command, {**entry, "summary": text, "default": default})


def _add_parameter(command: Any, entry: Mapping[str, Any]) -> None:
    default = entry["default"] if len(entry["default"]) < 24 else "many"
    command.add_argument(
        option(entry["name"]),
        dest=_PARAMETER + entry["name"],
        type=str,  # the benchmark's own table refuses
        default=argparse.SUPPRESS,
        metavar="|".join(entry["choices"] or []) or entry["kind"].upper(),
        help=f"{entry['summary']}; default: {default}".replace("%", "%%"),
    )


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


def _overrides(words: list[str]) -> dict[str, float | str]:
    """Take inputs of a model from `--name value` and `--name=value`."""
    flat = [part for word in words for part in word.split("=", 1)]
    found: dict[str, float | str] = {}
    for option, value in zip(flat[::2], [*flat[1::2], ""], strict=False):
        name = option.removeprefix("--").replace("-", "_")
        try:
            found[name] = value if name == "memory" else float(value)
        except ValueError:
            raise ValueError(f"{option}: {value!r} is not a number") from None
    return found


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError
    return int(number)


def numbers(name: str, text: str) -> list[int]:
    """Numbers out of text like 1,64,1e3, as a run reads it."""
    try:
        return [_whole(number) for number in text.split(",")]
    except (ValueError, OverflowError):
        raise ValueError(f"{name}: {text!r} is not like 1,64,1024") from None
