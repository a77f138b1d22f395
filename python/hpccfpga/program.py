"""Vertex programs: what the header of one must have, and the state of its vertices."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from hpccfpga.arguments import known

PARTS = (
    "hf_update",
    "hf_message",
    "HF_VERTEX",
    "HF_NOTHING",
    "HF_START",
    "HF_SCATTER",
    "HF_GATHER",
    "HF_APPLY",
)
"""What every program has."""
OPTIONS = (
    "HF_ALWAYS",
    "HF_ENOUGH",
    "HF_GROWTH",
    "HF_HELPS",
    "HF_SAME",
    "HF_SOURCE",
    "HF_SUPERSTEPS",
    "HF_UNDIRECTED",
    "HF_WANTS",
    "HF_WEIGHTED",
    "HF_WHEN",
    "HF_WINDOW",
)
"""What one may define, too."""

_TYPES = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
_CODE = re.compile(
    r"""("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|/\*.*?(?:\*/|\Z)|//[^\n]*""",
    re.S,
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)")
_DEFINED = re.compile(r"(\w+)\s+(\w+)\s*")
_VERTEX = re.compile(r"\bHF_VERTEX\s*\(([^)]*)")
_WORD = re.compile(r"^\s*#\s*define\s+(HF_\w+)", re.M)
_SCALAR = re.compile(r"\bat\s*\.\s*value\b")
_FIELD = re.compile(r"(\w+)\s+(\w+)\s*(?:\[\s*(\d+)\s*\])?")

_NOT, _MAYBE, _SURE = range(3)
"""Whether a line is compiled."""


def check(text: str, path: Path) -> None:
    """Raise ValueError for one that lacks a part, has two states, or unknown words."""
    code = _compiled(text)
    everything = "\n".join(line for line, _ in code)
    if missing := [p for p in PARTS if not re.search(rf"\b{p}\b", everything)]:
        raise ValueError(f"program: {path} lacks {', '.join(missing)}")
    for name in _WORD.findall(everything):
        if name not in PARTS + OPTIONS:
            raise ValueError(
                f"program: {path} defines {name}, which is no word of programs; "
                f"{known(name, OPTIONS)}; names of your own begin with other letters"
            )
    always = "\n".join(line for line, sure in code if sure)
    if (n := len(_VERTEX.findall(always))) > 1:
        raise ValueError(f"program: {path} has {n} times HF_VERTEX, not once")
    loose = [_loose(state) for state in states(text) if state is not None]
    if loose and min(loose) > 0 and not re.search(r"\bHF_SAME\b", everything):
        raise ValueError(
            f"program: {path}: HF_VERTEX has {min(loose)} B that belong to no field; "
            "put the largest types first and fill it up, as by `uchar unused[n]`, or "
            "define HF_SAME"
        )


def takes_scalars(text: str) -> bool:
    """Whether a program looks at the scalars of a run."""
    return any(_SCALAR.search(line) for line, _ in _compiled(text))


def states(text: str) -> list[np.dtype | None]:
    """Types that a vertex's state may have, with the fields of HF_VERTEX.

    Several where conditions of the preprocessor choose; None for one with a field of
    which NumPy lacks the type, or this does not know it.
    """
    code = _compiled(text)
    words: dict[str, str | None] = {}
    seen = False
    for line, sure in code:
        seen = seen or "HF_VERTEX" in line
        directive = _DIRECTIVE.fullmatch(line)
        takes_words = directive and re.match(r"\w+\(", directive[2])
        if directive and directive[1] in ("define", "undef") and not takes_words:
            defined = _DEFINED.fullmatch(directive[2])
            name = re.split(r"\W", directive[2])[0]
            once = sure and name not in words and not seen
            words[name] = defined[2] if once and defined else None
    found = _VERTEX.findall("\n".join(line for line, _ in code))
    return [_state(fields, words) for fields in found]


def _state(text: str, words: dict[str, str | None]) -> np.dtype | None:
    fields = []
    for declared in filter(str.strip, text.split(";")):
        plain = re.sub(r"\w+", lambda m: words.get(m[0], m[0]) or "?", declared)
        field = _FIELD.fullmatch(plain.strip())
        if field is None or field[1] not in _TYPES:
            return None
        fields.append((field[2], _TYPES[field[1]], field[3]))
    try:
        typed = [(name, kind, (int(n),) if n else ()) for name, kind, n in fields]
        return np.dtype(typed, align=True) if typed else None
    except ValueError:  # a name twice, or too large
        return None


def _loose(state: np.dtype) -> int:
    """Bytes between and behind the fields: they vary, and states are compared whole."""
    assert state.fields is not None
    return state.itemsize - sum(field[0].itemsize for field in state.fields.values())


def without_comments(text: str) -> str:
    """Text with a blank for each comment; a literal may hold what begins one."""
    return _CODE.sub(lambda found: found[1] or " ", text)


def _compiled(text: str) -> list[tuple[str, bool]]:
    """Lines that may be compiled, without comments; True for those that surely are.

    What stands in `#if 0`, or behind the `#else` of `#if 1`, is left out.
    """
    lines = []
    # Of each #if: is its part compiled? Was one before it? And what is around it?
    parts = [(_SURE, False, _SURE)]
    for line in without_comments(text).splitlines():
        part, over, around = parts[-1]
        here = min(part, around)
        directive = _DIRECTIVE.fullmatch(line)
        word = directive[1] if directive else ""
        if directive and word in ("if", "ifdef", "ifndef"):
            literal = {"if 0": _NOT, "if 1": _SURE}
            found = literal.get(f"{word} {directive[2].strip()}", _MAYBE)
            parts.append((found, False, here))
        elif word in ("elif", "else") and len(parts) > 1:
            over = over or part == _SURE
            rest = _MAYBE if part == _MAYBE or word == "elif" else _SURE
            parts[-1] = (_NOT if over else rest, over, around)
        elif word == "endif" and len(parts) > 1:
            parts.pop()
        elif here != _NOT:
            lines.append((line, here == _SURE))
    return lines
