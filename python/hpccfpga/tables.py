"""Numbers and tables in units that people read, as text and as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

WORDS = ""
"""Unit of a column of words."""

Cells = Mapping[tuple[str, str], Sequence[str]]
"""Texts of a table's columns below their headings of name and unit."""

_UNSAID = ("1", "%", WORDS)  # in headings
_HUMAN = {
    "s": ("us", 1e-6),
    "B/s": ("GB/s", 1e9),
    "FLOP/s": ("GFLOP/s", 1e9),
    "Hz": ("MHz", 1e6),
    "1/s": ("million/s", 1e6),
}


def readable(unit: str) -> tuple[str, float]:
    """Return the unit that people read, and its size in the SI unit `unit`."""
    return _HUMAN.get(unit, (unit, 1.0))


def human(value: float, unit: str) -> str:
    """Text of one quantity given in the SI unit `unit`, in a unit that people read."""
    shown, scale = readable(unit)
    return f"{digits(value / scale)} {shown}".removesuffix(" 1")


def digits(value: float, n: int = 4) -> str:
    """Text of a number with `n` significant digits and no exponent; "-" for NaN."""
    if not np.isfinite(value):
        return "-"
    if value == int(value) or abs(value) >= 10 ** (n - 1):
        return f"{value:.0f}"
    return f"{value:.{n - 1 - math.floor(math.log10(abs(value)))}f}"


def lines(cells: Cells) -> list[str]:
    """Headings, their units if there are any, then the rows.

    Numbers are aligned at the decimal point, columns of words on the left.
    """
    columns = []
    units = any(unit not in _UNSAID for _, unit in cells)
    for (name, unit), texts in cells.items():
        words = unit == WORDS or all(t[:1].isalpha() or not t for t in texts)
        after = max((len(t) - t.index(".") for t in texts if "." in t), default=0)
        padded = [
            t + " " * (after - (len(t) - t.index(".") if "." in t else 0))
            if t[-1:].isdigit() and not words
            else t
            for t in texts
        ]
        column = [name, *[f"[{unit}]" if unit not in _UNSAID else ""] * units, *padded]
        width = max(map(len, column))
        columns.append([t.ljust(width) if words else t.rjust(width) for t in column])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def html_table(cells: Cells) -> str:
    """HTML of the same table, with the units in the headings."""

    def row(tag: str, texts: Iterable[str]) -> str:
        inside = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)
        return f"<tr>{inside}</tr>"

    heads = [
        f"{name} [{unit}]" if unit not in _UNSAID else name for name, unit in cells
    ]
    rows = "".join(row("td", texts) for texts in zip(*cells.values(), strict=True))
    return f"<table><thead>{row('th', heads)}</thead><tbody>{rows}</tbody></table>"
