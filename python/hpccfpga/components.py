"""What there is: benchmarks with their parameters, exchange schemes, devices."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from inspect import signature
from typing import Any, NamedTuple

from hpccfpga import _core, emulation
from hpccfpga.arguments import known
from hpccfpga.records import Records


class Part(NamedTuple):
    """A part of a calibration: which columns are of its result."""

    name: str
    exchange: str
    benchmark: str
    parameters: Mapping[str, Any]
    columns: Mapping[str, str]


RING = "b_eff"
"""Benchmark whose models tell how long a step of an exchange takes."""


def _alone(name: str, exchange: str, benchmark: str, **parameters: str) -> Part:
    return Part(name, exchange, benchmark, parameters, {f"{name}_time": "time"})


def _steps() -> Iterator[Part]:
    """Yield a step over each scheme whose calibrated model takes the parts of one."""
    for formula in _core.models(RING):
        scheme = str(formula["exchange"])
        parts = {"copies": "transfer_time", "exchange": "exchange_time"}
        columns = {f"{scheme}_{part}_time": column for part, column in parts.items()}
        if formula["role"] == "calibrated" and {*columns} <= {*formula["inputs"]}:
            yield Part(scheme, scheme, "transfer", {"part": "step"}, columns)


CALIBRATION = (
    _alone("write", "pcie", "transfer", part="write"),
    _alone("exchange", "host", RING),
    _alone("read", "pcie", "transfer", part="read"),
    _alone("write_pageable", "pcie", "transfer", part="write", memory="pageable"),
    _alone("read_pageable", "pcie", "transfer", part="read", memory="pageable"),
    _alone("both", "pcie", "transfer", part="both"),
    *_steps(),
)
"""What a calibration measures; its parameters are checked as those of the first."""

_UNIT = re.compile(r"(.*) \[([^][]+)\]")


def benchmarks() -> Records:
    """Every benchmark.

    Returns
    -------
    Records
        With `name`, `summary` and `parameters`, which are `Records`, too: of each its
        `name`, `unit` (SI, "1" for counts and factors, None for text), `default` as
        text, `summary`, `kind` ("int", "real", "text", "ints" or "reals"),
        `choices` as texts, of some numbers, too, or None, the bounds `low` and `high`
        of numbers, choices and bounds as the text `values`, and `macro`, the name of
        the build option if it is built into the kernels.
    """
    return Records(
        "benchmark",
        (
            {"name": name, "summary": summary, "parameters": parameters(name)}
            for name, summary in _core.components("bench")
        ),
    )


def exchanges() -> Records:
    """Every exchange scheme.

    Returns
    -------
    Records
        With `name`, `kernel_routed` (data moves from kernel to kernel), `host_memory`
        (only host memory moves), `chunks` (it takes chunk_size and chunk_depth),
        `kernels` (the kind of its kernel files: "memory" or "stream") and `summary`.
    """
    return Records(
        "exchange scheme",
        (
            {"name": name, **_core.scheme(name), "summary": summary}
            for name, summary in _core.components("exchange")
        ),
        shown=("name", "summary"),
    )


def devices() -> Records:
    """Every device of every runtime.

    Returns
    -------
    Records
        With `device`, which `run` takes; `runtime`, `index` among its devices,
        `platform`, `name`, `version`, `driver`, `type` ("cpu", "gpu" or "accelerator"),
        `emulated`, `memory` and `max_alloc`, the largest buffer [B] (None: not
        known of a busy card), and whether the device computes in `half` and `fp64`.
        Tables show some of them.

    Warns
    -----
    UserWarning
        A runtime cannot say which devices it has; it is left out.
    """
    found, failures = survey()
    for line in failures.values():
        warnings.warn(line, stacklevel=2)
    return found


def survey() -> tuple[Records, dict[str, str]]:
    """Every device, and a line for each runtime that cannot say which it has."""
    found: list[Mapping[str, Any]] = []
    failures = {}
    for runtime, _ in _core.components("device"):
        try:
            found += _core.devices(runtime, **emulation.vendors())
        except (MemoryError, _core.Error) as error:
            failures[runtime] = f"no device of {runtime}: {error}"
    records = Records(
        "device",
        ({"device": f"{each['runtime']}:{each['index']}", **each} for each in found),
        {"memory": "B", "max_alloc": "B"},
        ("device", "name", "platform", "type", "emulated", "memory"),
    )
    return records, failures


def parameters(benchmark: str) -> Records:
    """Parameters of a benchmark; see `hpccfpga.benchmarks`.

    Raises
    ------
    LookupError
        Unknown benchmark; the message lists the known ones.
    """
    shown = ("name", "unit", "default", "values", "summary")
    found = map(_described, _core.parameters(benchmark))
    return Records(f"parameter of {benchmark}", found, shown=shown)


def _bound(number: float) -> str:
    return str(int(number)) if number.is_integer() else f"{number:g}"


def _described(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Record of a parameter, whose summary names the unit in brackets."""
    match = _UNIT.fullmatch(entry["summary"])
    summary, unit = match.groups() if match else (entry["summary"], "1")
    either = entry["kind"] == "text" and entry["low"] < entry["high"]
    number = entry["kind"] != "text" or either
    bounds = " .. ".join(map(_bound, (entry["low"], entry["high"])))
    bounded = either or (number and not entry["choices"])
    choices = [*(entry["choices"] or []), *([bounds] if bounded else [])]
    return {
        "name": entry["name"],
        "unit": unit if number else None,
        "default": entry["default"],
        "summary": summary,
        "kind": entry["kind"],
        "choices": entry["choices"],
        "low": entry["low"] if number else None,
        "high": entry["high"] if number else None,
        "values": "|".join(choices) or None,
        "macro": entry["macro"],
    }


@cache
def common() -> tuple[str, ...]:
    """Names of the parameters that all benchmarks share."""
    return _shared(name for name, _ in _core.components("bench"))


def _shared(benchmarks: Iterable[str]) -> tuple[str, ...]:
    """Names of the parameters that these benchmarks share, with the same meaning."""
    first, *others = (
        {entry["name"]: entry["summary"] for entry in _core.parameters(name)}
        for name in benchmarks
    )
    return tuple(n for n, s in first.items() if all(t.get(n) == s for t in others))


@cache
def calibrated() -> tuple[str, ...]:
    """Names of the parameters that all parts of a calibration have.

    Those of chunks are for the parts whose schemes send some.
    """
    return _shared(part.benchmark for part in CALIBRATION)


def shared(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run that a calibration has, too."""
    return {name: params[name] for name in calibrated() if name in params}


def chunks(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that say how messages are cut into chunks."""
    return {n: v for n, v in params.items() if n in ("chunk_size", "chunk_depth")}


def sends_blocks(benchmark: object) -> bool:
    """Whether it is a benchmark that plans messages: these may go in chunks."""
    return (
        isinstance(benchmark, str)
        and benchmark in benchmarks().names
        and bool(chunks(_core.values(benchmark, {})))
    )


def check_calibrated(names: Iterable[str]) -> None:
    """Raise ValueError for a parameter that not all parts of a calibration have."""
    shared = calibrated()
    for name in (name for name in names if name not in shared):
        raise ValueError(
            f'calibration has no parameter "{name}"; {known(name, shared)}'
        )


def keywords(function: Callable[..., object]) -> list[str]:
    """Names that a function takes by name alone."""
    words = signature(function).parameters.values()
    return [word.name for word in words if word.kind is word.KEYWORD_ONLY]


def check_names(
    whose: Any, names: Iterable[str], function: Callable[..., object]
) -> None:
    """Raise ValueError for a name that neither a benchmark nor a function has.

    `whose` is the name of a benchmark, or "calibration"; what is no such name is for
    others to refuse.
    """
    if not isinstance(whose, str):
        return
    if whose == "calibration":
        own = calibrated()
    elif whose in (name for name, _ in _core.components("bench")):
        own = tuple(entry["name"] for entry in _core.parameters(whose))
    else:
        return
    there = [*own, *keywords(function)]
    for name in names:
        if name not in there:
            raise ValueError(f'{whose} has no parameter "{name}"; {known(name, there)}')


@cache
def deadline() -> float:
    """Longest wait for another rank unless told [s]: one default for all benchmarks."""
    (name, _), *_ = _core.components("bench")
    return float(_core.values(name, {})["deadline"])


def typed(benchmark: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a result holds them; a wrong value stays as it was given.

    Of no benchmark: those that all have.
    """
    known = [name for name, _ in _core.components("bench")]
    benchmark = benchmark or known[0]
    kinds = {
        entry["name"]: entry["kind"]
        for entry in (_core.parameters(benchmark) if benchmark in known else ())
    }
    return {name: _typed(kinds.get(name), value) for name, value in given.items()}


def _typed(kind: str | None, value: Any) -> Any:
    if kind in (None, "text") or not isinstance(value, str):
        return value
    try:
        numbers = [float(number) for number in value.split(",")]
    except ValueError:
        return value
    if kind not in ("real", "reals"):
        numbers = [int(n) if n.is_integer() else n for n in numbers]
    return numbers if kind in ("ints", "reals") or len(numbers) > 1 else numbers[0]
