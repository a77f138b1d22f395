"""Check what callers give: a refusal is one line with the value and known names."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hpccfpga.text import brief, printable

MAX_COUNT = 2**31 - 1
"""Largest number of ranks, ports and the like."""

MAX_ENTRIES = 2**20
"""Most numbers of a list, such as of sizes."""

INSTALL_DATA = "pip install 'hpccfpga[data]'"
"""What installs the packages of `need`."""


def count(name: str, value: Any) -> int:
    """Whole number from 1 up.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        found = 0 if isinstance(value, bool | str) else int(value)
        fits = 1 <= found <= MAX_COUNT and bool(found == value)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ValueError(f"{name}: {brief(value)} is not a number from 1 up")
    return found


def number(name: str, value: Any, none: bool = False) -> float:
    """Positive number, 0 only if `none`.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (found >= 0 if none else found > 0) or math.isinf(found):
        raise ValueError(f"{name}: {brief(value)} is not a positive number")
    return found


def flag(name: str, value: Any) -> bool:
    """Return what is True or False.

    Raises
    ------
    TypeError
        It is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {brief(value)} is not True or False")
    return value


def entries(name: str, values: Iterable[Any]) -> list[Any]:
    """List of what was given.

    Raises
    ------
    TypeError
        It holds nothing one after the other, or bytes.
    ValueError
        It holds more than `MAX_ENTRIES`, or has no end.
    """
    try:
        if isinstance(values, bytes | bytearray):
            raise TypeError
        found = list(islice(values, MAX_ENTRIES + 1))
    except TypeError:
        raise TypeError(f"{name}: {brief(values)} is no list of numbers") from None
    if len(found) > MAX_ENTRIES:
        raise ValueError(f"{name}: {brief(values)} has more than {MAX_ENTRIES} numbers")
    return found


def known(wanted: Any, names: Iterable[str]) -> str:
    """Say which names there are, and which of them was meant, if one is near."""
    from hpccfpga import _core

    return _core.known(printable(str(wanted)), names or ["none"])


def word(name: str, value: Any, names: Iterable[str] = ()) -> str:
    """Text that names something; whether it is among `names` is for others to say.

    Raises
    ------
    TypeError
        It is no text.
    ValueError
        It has letters that no name has.
    """
    names = list(names)
    choices = f"; {known('', names)}" if names else ""
    if not isinstance(value, str):
        raise TypeError(f"{name}: {brief(value)} is no text{choices}")
    if not value.isprintable():
        raise ValueError(f"{name}: {brief(value)} is no name{choices}")
    return value


def path(name: str, value: Any) -> str:
    """Text of a path.

    Raises
    ------
    TypeError
        It is no path.
    ValueError
        No file can be called like that.
    """
    try:
        found = os.fspath(value)
    except TypeError:
        raise TypeError(f"{name}: {brief(value)} is no path") from None
    if not isinstance(found, str):
        raise TypeError(f"{name}: {brief(value)} is no path of text")
    if "\0" in found:
        raise ValueError(f"{name}: {brief(value)} is no path: it has a null character")
    return found


def ending(path: str | os.PathLike[str], endings: Sequence[str]) -> str:
    """Return the ending of a path, in small letters, without its dot.

    Raises
    ------
    ValueError
        It is none of `endings`; the message lists them.
    """
    found = Path(path).suffix.removeprefix(".").lower()
    if found not in endings:
        what = f"no format {brief(found)}" if found else "no ending names its format"
        there = known(found, filter(None, endings))
        raise ValueError(f"cannot write {path}: {what}; {there}")
    return found


def need(package: str) -> Any:
    """Import an optional package.

    Raises
    ------
    ImportError
        It is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ImportError(f"to_{package} needs {package}: {INSTALL_DATA}") from None


def need_matplotlib() -> Any:
    """Import matplotlib, which asks the environment which backend it is to use.

    Raises
    ------
    ValueError
        There is no such backend.
    """
    try:
        return importlib.import_module("matplotlib")
    except ValueError as error:
        raise ValueError(
            f"MPLBACKEND: {brief(os.environ.get('MPLBACKEND'))}: {error}"
        ) from None
