"""Records: what there is of a kind, as a list that shows itself as a table."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from hpccfpga.arguments import known, need
from hpccfpga.tables import WORDS, Cells, digits, html_table, lines, readable
from hpccfpga.text import brief

if TYPE_CHECKING:
    import pandas

Record = dict[str, Any]

_LONG_LIST = re.compile(r"(?=.{25})[-+.\d]+(,[-+.\d]+){3,}")
_NARROWEST = 30
"""Characters that the last column of a table keeps."""


class Records(Sequence[Record]):
    """A list of records; they have the same entries, the first of which is their name.

    A record is found by its number, as in a list, or by its name. In text and in a
    notebook records are a table.

    Parameters
    ----------
    noun : str
        What one record is, e.g. "board".
    records : iterable of dict
        The records. An entry may be `Records`, too; tables leave it out.
    units : dict of str to str, optional
        SI units of those entries that have one.
    shown : sequence of str, optional
        Entries that a table shows; default: all.
    """

    def __init__(
        self,
        noun: str,
        records: Iterable[Mapping[str, Any]],
        units: Mapping[str, str] | None = None,
        shown: Sequence[str] | None = None,
    ) -> None:
        self.noun = noun
        self.units = dict(units or {})
        self._records = [dict(record) for record in records]
        self.shown = shown

    @property
    def names(self) -> list[str]:
        """Name of each record."""
        return [str(next(iter(record.values()))) for record in self._records]

    @overload
    def __getitem__(self, which: int | str) -> Record: ...
    @overload
    def __getitem__(self, which: slice) -> Records: ...
    def __getitem__(self, which: int | str | slice) -> Record | Records:
        """Record of this number or name; of a slice, records.

        Raises
        ------
        IndexError
            There are fewer records.
        KeyError
            None has this name; the message lists the known ones.
        """
        if isinstance(which, slice):
            return Records(self.noun, self._records[which], self.units, self.shown)
        if not isinstance(which, str):
            return self._records[which]
        if which not in self.names:
            raise KeyError(f"no {self.noun} {brief(which)}; {known(which, self.names)}")
        return self._records[self.names.index(which)]

    def __contains__(self, record: object) -> bool:
        """Whether there is this record, or one of this name."""
        return record in (self.names if isinstance(record, str) else self._records)

    def __iter__(self) -> Iterator[Record]:
        """Give each record."""
        return iter(self._records)

    def __len__(self) -> int:
        """Count the records."""
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        """Whether the records are the same."""
        return list(self) == list(other) if isinstance(other, Sequence) else False

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the table."""
        return self.table()

    def table(self, width: int | None = None) -> str:
        """Aligned text: one line per record, in units that people read.

        Parameters
        ----------
        width : int, optional
            Characters of a line; what is longer in the last column goes on below.
        """
        if not self:
            return f"no {self.noun}s"
        head, *body = lines(self._cells())
        start = len(head) - len(self._heads()[-1])
        if width is None or width < start + _NARROWEST:
            return "\n".join([head, *body])
        wrapped = [head]
        for line in body:
            first, *more = textwrap.wrap(
                line[start:], width - start, break_on_hyphens=False
            ) or [""]
            wrapped.append((line[:start] + first).rstrip())
            wrapped += [" " * start + text for text in more]
        return "\n".join(wrapped)

    def _repr_html_(self) -> str:
        return html_table(self._cells())

    def to_pandas(self) -> pandas.DataFrame:
        """Table with one row per record.

        Returns
        -------
        pandas.DataFrame
            SI units, named in `attrs["units"]`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        frame = need("pandas").DataFrame(
            [{k: r[k] for k in self._flat()} for r in self._records]
        )
        frame.attrs["units"] = dict(self.units)
        return frame

    def _flat(self) -> list[str]:
        """Entries that are no records themselves."""
        first = self._records[0] if self._records else {}
        return [name for name, entry in first.items() if not isinstance(entry, Records)]

    def _heads(self) -> Sequence[str]:
        return self.shown or self._flat()

    def _cells(self) -> Cells:
        cells = {}
        for name in self._heads():
            values = [record[name] for record in self._records]
            unit, scale = WORDS, 1.0
            told = [value for value in values if value is not None]
            if told and all(type(value) in (int, float) for value in told):
                unit, scale = readable(self.units.get(name, "1"))
                values = [math.nan if value is None else value for value in values]
            if unit == "B":
                unit, scale = "GiB", 2.0**30
            texts = [_text(value, scale) for value in values]
            cells[name.replace("_", " "), unit] = texts
        return cells


def _text(value: Any, scale: float) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return digits(value / scale)
    return ", ".join(value) if isinstance(value, list) else brief_list(str(value))


def brief_list(text: str) -> str:
    """Text of which a long list of numbers shows its ends only."""
    if not _LONG_LIST.fullmatch(text):
        return text
    first, second, *_, last = text.split(",")
    return f"{first},{second},...,{last}"
