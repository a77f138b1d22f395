"""Boards: pieces of hardware as data, every number with its source."""

from __future__ import annotations

import html
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hpccfpga.arguments import known, word
from hpccfpga.records import Records
from hpccfpga.tables import human
from hpccfpga.text import brief

_FOLDER = Path(__file__).parent / "boards"


class Fact(NamedTuple):
    """One value of a board.

    Parameters
    ----------
    value : float, int or str
        In the unit named beside it.
    unit : str or None
        SI unit, "1" for counts, None for text.
    source : str
        Where the value stands.
    verified : bool
        The source was seen and states the value, or it follows from such values by the
        arithmetic that `source` shows. False marks what was written from memory,
        estimates and fits.
    """

    value: Any
    unit: str | None
    source: str
    verified: bool

    def text(self) -> str:
        """Text of the value, in a unit that people read."""
        if self.unit is None:
            return str(self.value)
        if self.unit == "B" and self.value % 2**30 == 0:
            return f"{self.value >> 30} GiB"
        return human(self.value, self.unit)


@dataclass(frozen=True)
class Board(Mapping[str, Fact]):
    """A board: facts by dotted name, e.g. `board("520n")["network.latency"].value`.

    Parameters
    ----------
    key : str
        Name of its file, e.g. "520n".
    name : str
        Full name.
    summary : str
        One line.
    facts : dict of str to Fact
        What is known.
    """

    key: str
    name: str
    summary: str
    facts: dict[str, Fact]

    def __getitem__(self, name: str) -> Fact:
        """Fact called `name`.

        Raises
        ------
        KeyError
            Nothing is known under that name.
        """
        try:
            return self.facts[name]
        except KeyError:
            raise KeyError(
                f"board {self.key} has no {brief(name)}; {known(name, self.facts)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        """Names of the facts."""
        return iter(self.facts)

    def __len__(self) -> int:
        """Count the facts."""
        return len(self.facts)

    @property
    def memories(self) -> dict[str, str]:
        """Memories in order: what linkers call their kind, and their name here.

        E.g. {"DDR": "ddr4", "HBM": "hbm2"}.
        """
        names = (path.split(".")[1] for path in self if path.startswith("memory."))
        return {name.rstrip("0123456789").upper(): name for name in names}

    def __repr__(self) -> str:
        """One line."""
        return f"<Board {self.key}: {self.name}, {self.summary}>"

    def table(self) -> str:
        """Aligned text: each fact in units that people read, with its source."""
        rows = self._rows()
        wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [
            f"{name:{wide[0]}}  {value:>{wide[1]}}  {source}"
            for name, value, source in rows
        ]
        return "\n".join([f"{self.name}: {self.summary}", "", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in self._rows()
        )
        title = html.escape(f"{self.name}: {self.summary}")
        return f"<div><b>{title}</b><table>{rows}</table></div>"

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (
                name,
                fact.text(),
                fact.source if fact.verified else f"NO SOURCE SEEN: {fact.source}",
            )
            for name, fact in self.facts.items()
        ]


def boards() -> Records:
    """Every known board.

    Returns
    -------
    Records
        With `name`, which `board` takes, the `full_name` and a `summary`.
    """
    return Records(
        "board",
        (
            {"name": board.key, "full_name": board.name, "summary": board.summary}
            for board in _all()
        ),
    )


def board(name: str) -> Board:
    """Board called `name`; capitals, spaces and dashes do not matter.

    Parameters
    ----------
    name : str
        E.g. "520n", "Alveo U280" or "pac-d5005".

    Raises
    ------
    LookupError
        There is no such board; the message lists the known ones.
    TypeError
        No text; the message lists the known ones, too.
    """
    keys = [each.key for each in _all()]
    wanted = _bare(word("board", name, keys))
    for each in _all():
        if wanted in (_bare(each.key), _bare(each.name)):
            return each
    raise LookupError(f"no board {brief(name)}; {known(name, keys)}")


@cache
def _all() -> tuple[Board, ...]:
    return tuple(_load(path) for path in sorted(_FOLDER.glob("*.toml")))


def _load(path: Path) -> Board:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    name, summary = entries.pop("name"), entries.pop("summary")
    return Board(path.stem, name, summary, dict(_facts(entries, "")))


def _facts(entries: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Fact]]:
    for name, entry in entries.items():
        if "value" in entry:
            yield (
                prefix + name,
                Fact(
                    entry["value"],
                    entry.get("unit"),
                    entry["source"],
                    entry["verified"],
                ),
            )
        else:
            yield from _facts(entry, f"{prefix}{name}.")


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
