"""Vertex programs: what the header of one must have, and the state of its vertices."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

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
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_VERTEX = re.compile(r"\bHF_VERTEX\s*\(([^)]*)\)")
_FIELD = re.compile(r"(\w+)\s+(\w+)\s*(?:\[\s*(\d+)\s*\])?")


def check(text: str, path: Path) -> None:
    """Raise ValueError for a program that lacks a part, or has two states."""
    code = _COMMENT.sub(" ", text)
    if missing := [p for p in PARTS if not re.search(rf"\b{p}\b", code)]:
        raise ValueError(f"program: {path} lacks {', '.join(missing)}")
    if (n := len(_VERTEX.findall(code))) > 1:
        raise ValueError(f"program: {path} has {n} times HF_VERTEX, not once")


def vertex(text: str) -> np.dtype | None:
    """Type of a vertex's state, with the fields of HF_VERTEX.

    None where a field has a type that NumPy lacks.
    """
    found = _VERTEX.search(_COMMENT.sub(" ", text))
    fields = []
    for declared in (found[1] if found else "").split(";"):
        if not declared.strip():
            continue
        field = _FIELD.fullmatch(declared.strip())
        if field is None or field[1] not in _TYPES:
            return None
        shape = (int(field[3]),) if field[3] else ()
        fields.append((field[2], _TYPES[field[1]], shape))
    return np.dtype(fields, align=True) if fields else None
