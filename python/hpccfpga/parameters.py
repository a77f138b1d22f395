"""Parameters of benchmarks as options of a command, and what was given of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from hpccfpga import _core, suite
from hpccfpga.components import common, parameters
from hpccfpga.records import brief_list
from hpccfpga.words import Options, Parser

PARAMETER = "parameter "
"""What the names of parameters begin with among the options."""

KERNEL = ".cl source or program binary"
"""Help of an option that takes kernels."""

_METAVARS = {"B": "BYTES", "s": "SECONDS", "1": "N"}
_ELSEWHERE = "see list BENCHMARK"


def benchmarks() -> list[str]:
    """Names of the benchmarks."""
    return [name for name, _ in _core.components("bench")]


def add_own(command: Parser, benchmark: str | None) -> None:
    """Add the parameters of a benchmark; without one, those of every benchmark."""
    if benchmark in benchmarks():
        add_parameters(command, str(benchmark))
    elif benchmark is None:
        for name in benchmarks():
            for entry in parameters(name):
                if option(entry["name"]) not in command.actions:
                    _add_parameter(command, entry)


def add_parameters(
    command: Parser,
    benchmark: str,
    names: Iterable[str] | None = None,
    whose: str | None = None,
) -> None:
    """Add parameters of a benchmark, all or those of some names, below a heading."""
    group = command.add_argument_group(f"parameters of {whose or benchmark}")
    for entry in parameters(benchmark):
        if names is None or entry["name"] in names:
            _add_parameter(group, entry)


def add_parameters_of_all(command: Parser) -> None:
    """Add those that all have, and for each benchmark its own: --gemm.sizes."""
    names = suite.benchmarks()
    add_parameters(command, names[0], common(), "all")
    for name in names:
        group = command.add_argument_group(f"parameters of {name}")
        for entry in parameters(name):
            _add_parameter(group, {**entry, "name": f"{name}.{entry['name']}"})
        group.add_argument(
            option(f"{name}.{suite.KERNEL}"),
            dest=f"{PARAMETER}{name}.{suite.KERNEL}",
            default=argparse.SUPPRESS,
            metavar="PATH",
            help=KERNEL,
        )


def add_knobs(command: Parser) -> None:
    """Add what is built into kernels, once for all benchmarks that have it."""
    plain = ("shape", "replications", "bank_a", "bank_b", "bank_c")
    knobs: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in benchmarks():
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
        dest=PARAMETER + entry["name"],
        type=str,  # the benchmark's own table refuses
        default=argparse.SUPPRESS,
        metavar=metavar,
        help=f"{summary}; default: {brief_list(entry['default'])}".replace("%", "%%"),
    )


def option(name: str) -> str:
    """Option of a parameter: --loop-upper; of one benchmark's: --b_eff.loop-upper."""
    benchmark, dot, own = name.rpartition(".")
    return f"--{benchmark}{dot}{own.replace('_', '-')}"


def given(options: Options) -> dict[str, str]:
    """Parameters that were given, as text."""
    return {
        name.removeprefix(PARAMETER): value
        for name, value in vars(options).items()
        if name.startswith(PARAMETER)
    }
