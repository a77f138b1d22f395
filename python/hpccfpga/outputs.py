"""What a command writes at its end: docs/running.md has the rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hpccfpga.arguments import ending
from hpccfpga.errors import encode
from hpccfpga.files import check_writable
from hpccfpga.formats import read
from hpccfpga.plot import picture_format, plot
from hpccfpga.result import Result
from hpccfpga.text import tell
from hpccfpga.words import check_file

_JSON = ("json", "")
"""Endings of JSON: a file without one is read as that, too."""


class Document(Protocol):
    """A result or a suite."""

    def to_json(self, path: str) -> str:
        """Write it."""


@dataclass
class Outputs:
    """Files that a command was asked for.

    Parameters
    ----------
    json, npz, plot, calibration : str or None
        Paths: of the result, of the picture, of the calibration.
    blank : Result, optional
        What takes the place of the result in `json` when the command fails; None: then
        nothing is written.
    """

    json: str | None = None
    npz: str | None = None
    plot: str | None = None
    calibration: str | None = None
    blank: Result | None = None
    _failed: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Refuse names that were not meant; choose where a failure goes."""
        for path in self.paths:
            check_file(path)
        if self.json:
            ending(self.json, _JSON)
            self._failed = _place_of_failures(self.json)

    @property
    def paths(self) -> list[str]:
        """Files that a good run writes."""
        return [*filter(None, (self.json, self.npz, self.plot, self.calibration))]

    def check(self) -> None:
        """Find out what cannot be written, before anything runs."""
        if self.calibration:
            ending(self.calibration, _JSON)
        if self.npz:
            ending(self.npz, ("npz",))
        if self.plot:
            picture_format(self.plot)
        for path in self.paths:
            check_writable(path)

    def begin(self) -> None:
        """Write a result "the run did not finish", which stays if the run is killed."""
        self.fail(RuntimeError("the run did not finish"))

    def fail(self, error: BaseException) -> None:
        """Write a result that has nothing but an error."""
        if self.json and self.blank:
            self.blank.provenance |= encode(error)
            with suppress(ValueError):
                self.blank.to_json(self._failed)

    def tell_of_failure(self) -> None:
        """Say where the result of a failed run lies."""
        if self.json and self.blank and Path(self._failed).is_file():
            with suppress(OSError):
                tell(f"wrote {self._failed}")

    def save(
        self, first: Result | Document, *more: Result, calibration: Result | None = None
    ) -> None:
        """Write the first result, and a picture of all; say what was written."""
        if self.json:
            first.to_json(self.json)
            if self._failed != self.json:
                Path(self._failed).unlink(missing_ok=True)
        if isinstance(first, Result):
            if self.npz:
                first.to_npz(self.npz)
            if self.plot:
                plot(first, *more, path=self.plot)
        if self.calibration and calibration:
            calibration.to_json(self.calibration)
        if self.paths:
            tell(f"wrote {', '.join(self.paths)}")


def _place_of_failures(path: str) -> str:
    """Where the JSON of a failed run goes: `path`, unless something else is there."""
    there = Path(path)
    if not there.is_file() or there.stat().st_size == 0:
        return path
    with suppress(OSError, ValueError), read(there) as (document, _):
        if "error" in Result.of(document).provenance:
            return path
    return str(there.with_suffix(".failed.json"))


def read_result(path: str) -> Result:
    """Read a result: NPZ if its name ends with .npz, else JSON."""
    return Result.from_npz(path) if path.endswith(".npz") else Result.from_json(path)
