"""Parameters of benchmarks: their descriptions, and what several benchmarks share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from hpccfpga import _core
from hpccfpga.records import Records

_UNIT = re.compile(r"(.*) \[([^][]+)\]")


def parameters(benchmark: str) -> Records:
    """Parameters of a benchmark; see `hpccfpga.benchmarks`.

    Raises
    ------
    LookupError
        Unknown benchmark; the message lists the known ones.
    """
    shown = ("name", "unit", "default", "summary")
    found = map(_described, _core.parameters(benchmark))
    return Records(f"parameter of {benchmark}", found, shown=shown)


def _described(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Record of a parameter, whose summary names the unit in brackets."""
    match = _UNIT.fullmatch(entry["summary"])
    summary, unit = match.groups() if match else (entry["summary"], "1")
    number = entry["kind"] != "text"
    return {
        "name": entry["name"],
        "unit": unit if number else None,
        "default": entry["default"],
        "summary": summary,
        "kind": entry["kind"],
        "choices": entry["choices"],
        "low": entry["low"] if number else None,
        "high": entry["high"] if number else None,
        "macro": entry["macro"],
    }


@cache
def common() -> tuple[str, ...]:
    """Names of the parameters that every benchmark has for the same purpose."""
    tables = [
        {entry["name"]: entry["summary"] for entry in _core.parameters(name)}
        for name, _ in _core.components("bench")
    ]
    first, *others = tables
    return tuple(n for n, s in first.items() if all(t.get(n) == s for t in others))


@cache
def calibrated() -> tuple[str, ...]:
    """Names of the parameters that all parts of a calibration have."""
    parts = [
        {entry["name"]: entry["summary"] for entry in _core.parameters(name)}
        for name in ("transfer", "b_eff")
    ]
    return tuple(n for n, s in parts[0].items() if parts[1].get(n) == s)


@cache
def deadline() -> float:
    """Longest wait for another rank unless told [s]: one default for all benchmarks."""
    (name, _), *_ = _core.components("bench")
    return float(_core.values(name, {})["deadline"])
