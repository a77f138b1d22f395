"""Text from elsewhere that is safe to show: no character in it steers a terminal."""

from __future__ import annotations

import reprlib
from typing import Any

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 80

DEEPEST = 64
"""Lists and dicts within each other that a document may have."""

LONGEST = 1000
"""Length of an error that is shown whole; those of C are half as long at most."""


def brief(value: Any) -> str:
    """Text of a value in an error: a short line, whatever it is, cut in its midst."""
    return " ".join(line.strip() for line in _brief.repr(value).splitlines())


def printable(text: str) -> str:
    r"""Text with all that is not printed written out, as "\x1b" for an escape."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def tell(line: str) -> None:
    """Print a line; no character of it, such as of a path, steers a terminal."""
    print(printable(line), flush=True)


def both_ends(text: str) -> str:
    """Text as it is, or the two ends of a long one, as of a value that nobody reads."""
    short = len(text) <= LONGEST
    return text if short else f"{text[: LONGEST // 4]} ... {text[-LONGEST // 2 :]}"


def printable_in(value: Any, deepest: int = DEEPEST) -> Any:
    """Copy of a value in terms of JSON, with every text in it made printable.

    Raises
    ------
    ValueError
        Lists and dicts lie within each other more than `deepest` deep.
    """
    if isinstance(value, str):
        return printable(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if deepest == 0:
        raise ValueError(f"lists and objects within each other, over {DEEPEST} deep")
    if isinstance(value, dict):
        return {
            printable_in(key, deepest - 1): printable_in(entry, deepest - 1)
            for key, entry in value.items()
        }
    return [printable_in(entry, deepest - 1) for entry in value]
