"""Words of a command line: told apart, and read one by one."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

Options = argparse.Namespace

_NEGATIVE = re.compile(r"-\.?\d")


class Unreadable(ValueError):
    """A command line that makes no sense; `options` is what could be read of it."""

    def __init__(self, message: str, options: Options) -> None:
        super().__init__(message)
        self.options = options


class Parser(argparse.ArgumentParser):
    """One line about a wrong option, not a page; an empty word is none."""

    def __init__(self, name: str, summary: str, more: str, **kwargs: Any) -> None:
        super().__init__(
            prog=f"hpccfpga {name}",
            description=summary,
            epilog=more,
            allow_abbrev=False,
            **kwargs,
        )
        self.register("type", None, _word)  # of what names no type
        self.set_defaults(command=name)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse says of a word."""
        said = message.removeprefix("argument ")
        raise ValueError(f"{said}; see {self.prog} --help")

    @property
    def actions(self) -> dict[str, argparse.Action]:
        """What each option does."""
        return {word: a for a in self._actions for word in a.option_strings}


class Words:
    """Words of a command line, told apart by the options that a parser knows.

    Attributes
    ----------
    kept : list of str
        All but unknown options and their values.
    options : Options
        Values as text, and the first word that belongs to no option as `benchmark`.
    unknown : list of tuple
        Names and values, "" for none, of unknown options.
    apart : list of tuple
        Names of options whose value stands behind "=", and the number after a blank.
    """

    def __init__(self, words: list[str], parser: Parser) -> None:
        self.kept: list[str] = []
        self.options = Options(command=parser.prog.partition(" ")[2])
        self.unknown: list[tuple[str, str]] = []
        self.apart: list[tuple[str, str]] = []
        actions, rest = parser.actions, list(words)
        while rest:
            taken = [rest.pop(0)]
            name, glued, value = taken[0].partition("=")
            action = actions.get(name)
            if taken[0] == "--":
                taken, rest = [*taken, *rest], []
            elif not _is_option(taken[0]):
                self._set("benchmark", taken[0])
            else:
                if action is not None and action.nargs == "?" and not glued:
                    taken = [f"{name}={action.const}"]  # no next word is its value
                    if rest and rest[0].isdecimal():
                        self.apart.append((name, rest[0]))
                takes = action is None or action.nargs is None
                if takes and not glued and rest and not _is_option(rest[0]):
                    value = rest.pop(0)
                    taken = [f"{name}={value}"]  # else argparse looks at it again
                if action is None:
                    self.unknown.append((name, value))
                    continue
                if value:
                    self._set(action.dest, value)
            self.kept += taken

    def _set(self, name: str, value: str) -> None:
        if not hasattr(self.options, name):
            number = name == "ranks" and value.isdecimal() and len(value) < 10
            setattr(self.options, name, int(value) if number else value)


def _is_option(word: str) -> bool:
    """Whether a word is an option: no name of one begins with a digit."""
    return word[:1] == "-" and word != "-" and not _NEGATIVE.match(word)


def check_file(path: str) -> None:
    """Raise ValueError for the name of a file that looks like an option."""
    if path.startswith("-"):
        raise ValueError(f"{path} looks like an option; as a file: ./{path}")


def looks_negative(word: str) -> bool:
    """Whether a word begins as a negative number does, and is none: argparse stops."""
    try:
        float(word)
    except ValueError:
        return _NEGATIVE.match(word) is not None
    return False


def _word(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("nothing given")
    return text


def comma_list(text: str) -> list[str]:
    """Take words apart: a,b."""
    return text.split(",")


def count(text: str) -> int:
    """Take a whole number, also as 1e3."""
    try:
        return _whole(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a number such as 2'
        ) from None


def real(text: str) -> float:
    """Take a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a number such as 0.5'
        ) from None


def reals(text: str) -> list[float]:
    """Take numbers: 0.5,2."""
    return [real(part) for part in text.split(",")]


def override(given: tuple[str, str]) -> tuple[str, str]:
    """Input of a model, out of an option and its value, which stays as it was typed."""
    option, value = given
    return option.lstrip("-").replace("-", "_"), value


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError
    return int(number)


def numbers(name: str, text: str) -> list[int]:
    """Numbers out of text like 1,64,1e3, as a run reads it."""
    found = []
    for word in text.split(","):
        try:
            found.append(_whole(word))
        except (ValueError, OverflowError):
            raise ValueError(f'{name}: "{word}" is not a number such as 1024') from None
    return found
