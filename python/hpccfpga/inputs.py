"""Inputs of models: given by name, of a board, or defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hpccfpga import _core, formulas
from hpccfpga.arguments import known, number
from hpccfpga.boards import Board, Fact, boards
from hpccfpga.boards import board as find_board
from hpccfpga.text import brief

_WORD = re.compile(r"<(\w+)>")
_SMALLEST, _LARGEST = 1e-15, 1e18
"""What an input may be, in SI units: from a femtosecond to an exaflop/s."""


def words(terms: Mapping[str, _core._Term]) -> set[str]:
    """Parameters that facts name, as <parameter>."""
    return {n for t in terms.values() for n in _WORD.findall(t["fact"] or "")}


def names(terms: Mapping[str, _core._Term]) -> list[str]:
    """Names by which inputs are given: parameters of a run, where these tell them."""
    given = [term["param"].partition(":")[0] for term in terms.values()]
    return list(dict.fromkeys([*given, *sorted(words(terms))]))


def told_by_words(
    terms: Mapping[str, _core._Term], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is given of the parameters whose words tell inputs."""
    found = (term["param"].partition(":") for term in terms.values())
    return {name: given[name] for name, colon, _ in found if colon and name in given}


def gather(
    benchmark: str,
    formula: _core._Formula,
    arrays: Iterable[str],
    board: Board | None,
    given: Mapping[str, Any],
) -> tuple[dict[str, float], dict[str, str], list[str]]:
    """Values and sources of the scalar inputs, and what is to be noted about them.

    `arrays` are those that are no scalars. What only a figure needs may be missing.

    Raises
    ------
    ValueError
        Unknown, missing or impossible inputs.
    """
    made = {*arrays, *formula["outputs"]}
    needed = formula["inputs"]
    terms = {name: term for name, term in needed.items() if name not in made}
    for extra in formulas.summaries(benchmark, formula):
        terms |= {n: t for n, t in extra["inputs"].items() if n not in made}
    chosen = dict(given)
    memory = chosen.pop("memory", None)
    if board is not None:
        _fact(board, "memory.", memory)  # raises where it has none of this name
    usual = _core.values(benchmark, {})
    said = {n: str(chosen.pop(n, usual[n])) for n in sorted(words(terms))}
    if unknown := [name for name in chosen if name not in names(terms)]:
        raise ValueError(_no_input(benchmark, formula, unknown[0], names(terms)))
    chosen = _read(benchmark, terms, chosen)
    values: dict[str, float] = {}
    sources: dict[str, str] = {}
    doubted = []
    for name, term in terms.items():
        path, _, shared = _path(term, said).partition("/")
        fact = None if board is None else _fact(board, path, memory)
        if name in chosen:
            values[name] = _within(name, chosen[name], term)
            sources[name] = "given"
        elif fact is not None:
            values[name], sources[name] = float(fact.value), fact.source
            if not fact.verified:
                doubted.append(f"{name.replace('_', ' ')} {fact.text()}")
            if shared:
                values[name] = max(1.0, values[name] // values[shared])
                sources[name] = f"{path} / {shared}: {fact.source}"
        elif not np.isnan(term["fallback"]):
            values[name], sources[name] = term["fallback"], "default"
    missing = [name for name in needed if name in terms and name not in values]
    if missing:
        lacked = {name: terms[name] for name in missing}
        _refuse_words(lacked, said, board)
        raise ValueError(_missing(benchmark, formula, lacked, said, board))
    notes = [_asked(terms, said, values)] if said else []
    if board is not None and doubted:
        notes += [f"no source seen for {', '.join(doubted)}; see board {board.key}"]
    return values, sources, notes


def _is_count(term: _core._Term) -> bool:
    """Whether an input is a count that no board gives."""
    return term["unit"] == "1" and not (term["fact"] or term["zero"])


def _within(name: str, value: Any, term: _core._Term) -> float:
    """Return an input that was given as a number; ValueError for an impossible one."""
    found = number(name, value, term["zero"])
    least = 1 if _is_count(term) else _SMALLEST
    if found and not least <= found <= _LARGEST:
        unit = f" [{term['unit']}]".removesuffix(" [1]")
        bounds = f"{least:g} .. {_LARGEST:g}"
        raise ValueError(f"{name}: {brief(value)} is not within {bounds}{unit}")
    return found


def _asked(
    terms: Mapping[str, _core._Term],
    said: Mapping[str, str],
    values: Mapping[str, float],
) -> str:
    """Say for which words, and counts that no board tells, a model is."""
    told = dict(said) | {
        name: f"{values[name]:.10g}"
        for name, term in terms.items()
        if name in values and _is_count(term)
    }
    return "for " + ", ".join(f"{name} {value}" for name, value in told.items())


def _read(
    benchmark: str, terms: Mapping[str, _core._Term], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the inputs that were given; words, as refine="gmres", become numbers."""
    found = {}
    for name, term in terms.items():
        param, _, how = term["param"].partition(":")
        if param not in given:
            continue
        value = given[param]
        if how:
            word = _core.values(benchmark, {param: value})[param]
            if (value := _number_of(word, how)) is None:
                continue
        found[name] = value
    return found


def _number_of(text: str, how: str) -> int | None:
    """Return the number for a word, read as the model says; None: there is none."""
    if how == "bytes":
        return _core.value_bytes(text)
    if how == "number":
        return int(text) if text.isdecimal() else None
    if how == "rows":
        return int(rows) if (rows := text.partition("x")[0]).isdecimal() else None
    return int(text == how)


def _path(term: _core._Term, said: Mapping[str, str]) -> str:
    """Path of a term's fact, with the words of a run in place of <parameter>."""
    return _WORD.sub(lambda match: said[match[1]], term["fact"] or "")


def _fact(board: Board, path: str, memory: Any = None) -> Fact | None:
    """Fact of a board; "memory.x" is that of its memory `memory`, or of the first."""
    kind, _, name = path.partition(".")
    if kind != "memory":
        return board.facts.get(path)
    facts = (name.split(".") for name in board)
    kinds = list(dict.fromkeys(name[1] for name in facts if name[0] == kind))
    if memory is not None and memory not in kinds:
        raise ValueError(
            f"memory: board {board.key} has no {brief(memory)}; "
            f"{known(str(memory), kinds)}"
        )
    return board.facts.get(f"memory.{memory or kinds[0]}.{name}") if kinds else None


def _no_input(
    benchmark: str, formula: _core._Formula, name: str, there: Iterable[str]
) -> str:
    """Say which inputs there are, and over which scheme `name` would be one."""
    schemes = [
        str(other["exchange"])
        for other in formulas.of_role(benchmark, formula["role"])
        if name in names(other["inputs"]) and other["exchange"] is not None
    ]
    elsewhere = f", only over exchange {' and '.join(schemes)}" if schemes else ""
    here = f" over exchange {formula['exchange']}" if formula["exchange"] else ""
    return f"no input {name[:40]} of {benchmark}{here}{elsewhere}; {known(name, there)}"


def _refuse_words(
    lacked: Mapping[str, _core._Term], said: Mapping[str, str], board: Board | None
) -> None:
    """Raise ValueError for a word without facts where other words have some."""
    who = "no board" if board is None else f"board {board.key}"
    every = boards().names
    looked_at = [board] if board is not None else [find_board(key) for key in every]
    for term in lacked.values():
        for name in _WORD.findall(term["fact"] or ""):
            begin = str(term["fact"]).partition(f"<{name}>")[0]
            found = {
                path.removeprefix(begin)
                for each in looked_at
                for path in each
                if path.startswith(begin)
            }
            if found and said[name] not in found:
                has = "has" if board is None else "has no"
                word = brief(said[name])
                others = known(said[name], sorted(found))
                raise ValueError(f"{name}: {who} {has} {word}; {others}")


def _missing(
    benchmark: str,
    formula: _core._Formula,
    lacked: Mapping[str, _core._Term],
    said: Mapping[str, str],
    board: Board | None,
) -> str:
    """Say which inputs nothing gives, and what would."""
    what = ", ".join(
        f"{name} [{term['unit']}]".removesuffix(" [1]") for name, term in lacked.items()
    )
    paths = [_path(term, said).partition("/")[0] for term in lacked.values()]
    having = [
        key
        for key in boards().names
        if all(_fact(find_board(key), path) for path in paths)
    ]
    scheme = formula["exchange"]
    over = f" over exchange {scheme}" if scheme else ""
    it = "it" if len(lacked) == 1 else "them"
    calibrated = any(
        f["exchange"] == scheme for f in formulas.of_role(benchmark, "calibrated")
    )
    return (
        f"the model of {benchmark}{over} needs {what}"
        + (f", which board {board.key} lacks" if board is not None else "")
        + f": give {it} to `model` by name"
        + (", or a calibration" if calibrated else "")
        + (f", or a board that has {it}: {', '.join(having)}" if having else "")
        + ("" if having else f"; no board has {it}")
    )
