"""Two results side by side: their values and ratio at the points that both have."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from hpccfpga import components
from hpccfpga.arguments import MAX_COUNT, known
from hpccfpga.display import LEAST_REPS
from hpccfpga.provenance import counted_ranks
from hpccfpga.result import Result
from hpccfpga.tables import digits, html_table, lines, readable
from hpccfpga.text import brief

if TYPE_CHECKING:
    from hpccfpga.suite import Suite


class Point(NamedTuple):
    """A point of a comparison.

    Parameters
    ----------
    at : float or str
        What the point is, e.g. its message size [B].
    ratio : float
        b over a.
    """

    at: float | str
    ratio: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two results at the points that both have.

    Parameters
    ----------
    a, b : Result
        What is compared; `a` is the reference.
    index : str
        Column that tells points apart.
    at : numpy.ndarray
        Common points [points], ascending or, if words, as in a, in the unit of `index`.
    on : str
        Column whose ratio is taken; between two measurements that of the medians.
    values : dict of str to tuple of numpy.ndarray
        Quantity -> values of a and of b, float64 [points], SI units.
    ratio : numpy.ndarray
        b over a, float64 [points]; NaN where either has no value.
    apart : numpy.ndarray or None
        Between two measurements: 1 where the 95 % intervals of the medians do not
        overlap, 0 where they do, NaN where there is none, float64 [points]; else None.
    """

    a: Result
    b: Result
    index: str
    at: np.ndarray
    on: str
    values: dict[str, tuple[np.ndarray, np.ndarray]]
    ratio: np.ndarray
    apart: np.ndarray | None = None

    LIMIT = 0.10
    """Difference beyond which a point counts as off."""

    NAMED = 4
    """Changed points that the verdict names; of more only the one with the most."""

    @property
    def off(self) -> list[Point]:
        """Points where b differs from a by more than 10 %."""
        return self._points(np.abs(self.ratio - 1) > self.LIMIT)

    @property
    def changed(self) -> list[Point]:
        """Points of two measurements whose medians differ beyond their intervals."""
        return [] if self.apart is None else self._points(self.apart == 1)

    def _points(self, which: np.ndarray) -> list[Point]:
        return [
            Point(at.item(), r.item())
            for at, r in zip(self.at[which], self.ratio[which], strict=True)
        ]

    @property
    def worst(self) -> Point | None:
        """Point with the largest difference; None if no point has a ratio."""
        away = np.abs(self.ratio - 1)
        if np.isnan(away).all():
            return None
        point = np.nanargmax(away)
        return Point(self.at[point].item(), self.ratio[point].item())

    @property
    def verdict(self) -> str:
        """One sentence: where b differs from a, and by how much.

        Two measurements differ where the intervals of their medians do not overlap, all
        else by more than 10 %.
        """
        noun = "sizes" if self.a.columns[self.index].unit == "B" else "points"
        who = {
            "modelled": "the model",
            "measured": "the measurement",
            "published": "the published result",
        }[self.b.kind]
        if self.worst is None:
            rate = self.on.removesuffix("_median")
            return f"no {noun} have a {rate} in both results"
        if self.apart is not None:
            return self._changes(noun, self.apart)
        total = int(np.isfinite(self.ratio).sum())
        most = self._said(self.worst)
        if total == 1:
            noun = noun.removesuffix("s")
        every = "the one" if total == 1 else f"all {total}"
        if self.off:
            off = "is off" if self._of_one_device else "differs"
            typical = 100 * np.nanmedian(np.abs(self.ratio - 1))
            middle = f", by {typical:.0f} % in the median" * (total > 1)
            return (
                f"{who} {off} by more than 10 % at {len(self.off)} of {total} {noun}"
                f"{middle}: most at {most}"
            )
        return f"{who} is within 10 % at {every} {noun}: farthest at {most}"

    @property
    def _of_one_device(self) -> bool:
        """Whether b may be called off: of another device, other values are no error."""
        return self.a.device == self.b.device

    def _changes(self, noun: str, apart: np.ndarray) -> str:
        judged = int(np.isfinite(apart).sum())
        total = len(self.at)
        if not judged:
            return (
                f"no {noun} have intervals in both results, which take {LEAST_REPS} "
                "repetitions"
            )
        few = f"; {total - judged} of {total} have no interval" * (judged < total)
        if judged == 1:
            noun = noun.removesuffix("s")
        if not self.changed:
            every = "the one" if judged == 1 else f"all {judged}"
            return f"nothing changed beyond its interval at {every} {noun}{few}"
        told = ", ".join(map(self._said, self.changed))
        if len(self.changed) > self.NAMED:
            most = max(self.changed, key=lambda point: abs(point.ratio - 1))
            told = f"most at {self._said(most)}"
        count = f"{len(self.changed)} of {judged} {noun}"
        return f"{self.on.replace('_', ' ')} changed at {count}: {told}{few}"

    def _percent(self, ratio: float) -> str:
        places = 0 if self.apart is None else 1
        return f"{100 * (ratio - 1):+.{places}f} %"

    def _said(self, point: Point) -> str:
        at, unit = point.at, self.a.columns[self.index].unit
        if unit == "1" and not isinstance(at, str):
            at = f"{self.index.replace('_', ' ')} {digits(at)}"
        elif not isinstance(at, str):
            at = f"{digits(at)} {unit}"
        return f"{at} ({self._percent(point.ratio)})"

    @property
    @np.errstate(all="ignore")
    def notes(self) -> list[str]:
        """What a reader must know before trusting the ratio."""
        found = []
        if self.a.kind == self.b.kind == "measured" and not self._of_one_device:
            found.append(f"a is of {self.a.device}, b of {self.b.device}")
        if self.a.subject != self.b.subject:
            found.append(f"a is {self.a.subject}, b {self.b.subject}")
        time = next((n for n in ("time", "time_median") if n in self.values), None)
        for name, (a, b) in self.values.items():
            if time is not None and name != time:
                time_a, time_b = self.values[time]
                work = (b * time_b) / (a * time_a)
                if np.isfinite(work).any() and abs(np.nanmedian(work) - 1) > 0.01:
                    times = f"{np.nanmedian(work):.3g} times"
                    text = f"{name} counts {times} as much per step in b as in a"
                    found.append(text + self._why(float(np.nanmedian(work))))
        for letter, result in (("a", self.a), ("b", self.b)):
            found += [f"{letter} is {text}" for text in result.warnings]
            found += [
                f"{letter}: {text}" for text in result.provenance.get("notes", [])
            ]
        return found

    def _why(self, work: float) -> str:
        """Say what explains that a step of b is `work` times one of a, and the use.

        Ranks may, or a parameter beside them, but those of all benchmarks.
        """
        ranks = self.b.ranks / self.a.ranks
        who = f"a is of {counted_ranks(self.a.ranks)}"
        told = [f"{who}, b of {self.b.ranks}"] * (ranks != 1)
        if abs(work / ranks - 1) <= 0.01:
            return f": {told[0]}; compare times, or rates per rank"
        a, b = ({"replications": 1} | r.parameters for r in (self.a, self.b))
        apart = [
            f"{name} is {digits(a[name])} in a, {digits(b[name])} in b"
            for name in sorted(a.keys() & b.keys() - {*components.common(), "ranks"})
            if _is_factor(a[name])
            and _is_factor(b[name])
            and abs(work / ranks * a[name] / b[name] - 1) <= 0.01
        ]
        why = "; ".join([*told, *apart]) if apart else "steps differ in work"
        return f": {why}; compare rates{' per rank' * (ranks != 1)}, not times"

    def table(self) -> str:
        """Aligned text: both results and their ratio at each common point."""
        head = [*self._heads(), ""]
        tail = ["", self.verdict, *(f"note: {note}" for note in self.notes)]
        return "\n".join([*head, *lines(self._cells()), *tail])

    def __repr__(self) -> str:
        """One line."""
        return f"<Comparison {self.a.benchmark}: {self.a.label}; {self.b.label}>"

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def _repr_html_(self) -> str:
        head = self._heads()
        tail = [f"<b>{html.escape(self.verdict)}</b>", *map(html.escape, self.notes)]
        parts = [*map(html.escape, head), html_table(self._cells()), *tail]
        return "".join(f"<div>{part}</div>" for part in parts)

    def _heads(self) -> list[str]:
        """Say what a and b are, and which files they come from."""
        return [
            f"{name}: {f'{result.file}, ' if result.file else ''}{result.label}"
            for name, result in (("a", self.a), ("b", self.b))
        ]

    @np.errstate(all="ignore")
    def _cells(self) -> dict[tuple[str, str], list[str]]:
        cells = {
            (self.index.replace("_", " "), self.a.columns[self.index].unit): [
                at if isinstance(at, str) else digits(at) for at in self.at.tolist()
            ]
        }
        for name, pair in self.values.items():
            unit, scale = readable(self.a.columns[name].unit)
            for letter, values in zip("ab", pair, strict=True):
                head = f"{name.replace('_', ' ')} {letter}"
                cells[head, unit] = [digits(v / scale) for v in values]
        ratio = f"{self.on.replace('_', ' ')} b / a"
        cells[ratio, "1"] = [digits(ratio, 3) for ratio in self.ratio]
        if self.apart is None:
            marked, name = (
                np.where(np.abs(self.ratio - 1) > self.LIMIT, 1.0, 0),
                "off by" if self._of_one_device else "differs by",
            )
        else:
            marked, name = self.apart, "changed"
        no = ["", "no"][name == "changed"]
        cells[name, "%"] = [
            {1: self._percent(ratio), 0: no}.get(mark, "-")
            for mark, ratio in zip(marked.tolist(), self.ratio, strict=True)
        ]
        return cells


def _is_factor(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= MAX_COUNT


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Mapping[str, Comparison]):
    """Two suites side by side: a comparison of each benchmark that both have.

    Parameters
    ----------
    comparisons : dict of str to Comparison
        By benchmark.
    notes : list of str
        What cannot be compared, and why.
    """

    comparisons: dict[str, Comparison]
    notes: list[str]

    def __getitem__(self, benchmark: str) -> Comparison:
        """Comparison of one benchmark.

        Raises
        ------
        KeyError
            It was not compared.
        """
        try:
            return self.comparisons[benchmark]
        except KeyError:
            names = known(benchmark, self.comparisons)
            raise KeyError(f"no comparison of {brief(benchmark)}; {names}") from None

    def __iter__(self) -> Iterator[str]:
        """Give the benchmarks."""
        return iter(self.comparisons)

    def __len__(self) -> int:
        """Count the benchmarks."""
        return len(self.comparisons)

    def __repr__(self) -> str:
        """One line."""
        return f"<Comparisons {', '.join(self)}>"

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def table(self) -> str:
        """Aligned text: the table of each comparison below its benchmark."""
        parts = [f"== {name}\n{each.table()}" for name, each in self.items()]
        return "\n\n".join([*parts, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        parts = [f"<h4>{name}</h4>{each._repr_html_()}" for name, each in self.items()]
        parts += [f"<div>{html.escape(note)}</div>" for note in self.notes]
        return "".join(parts)


@overload
def compare(a: Result, b: Result) -> Comparison: ...
@overload
def compare(a: Result | Suite, b: Result | Suite) -> Comparison | Comparisons: ...
def compare(a: Result | Suite, b: Result | Suite) -> Comparison | Comparisons:
    """Put two results, or those of two suites, side by side at their common points.

    The ratio is that of the first rate that both have, else of the time; points whose
    data was wrong have none. Two measurements are compared by their medians, and a
    point counts as changed if the 95 % intervals of the medians do not overlap.

    Parameters
    ----------
    a : Result or Suite
        The reference.
    b : Result or Suite
        What is held against it, e.g. a model.

    Returns
    -------
    Comparison or Comparisons
        The latter if one of them is a suite.

    Raises
    ------
    TypeError
        Neither a result nor a suite.
    ValueError
        Different benchmarks, no point or no quantity in common.
    """
    for each in (a, b):
        if not isinstance(getattr(each, "results", None), dict):
            raise TypeError(
                f"only results and suites can be compared, not {brief(each)}"
            )
    if isinstance(a, Result) and isinstance(b, Result):
        return _compare(a, b)
    found, notes, error = {}, [], None
    for name in dict.fromkeys([*a.results, *b.results]):
        if name not in a.results or name not in b.results:
            notes.append(f"{name}: only in {'a' if name in a.results else 'b'}")
            continue
        try:
            found[name] = _compare(a.results[name], b.results[name])
        except ValueError as raised:
            error = raised
            notes.append(f"{name}: {raised}")
    if not found:
        raise error or ValueError(
            f"no benchmark has a result in both: {', '.join(a.results) or 'none'}; "
            f"{', '.join(b.results) or 'none'}"
        )
    return Comparisons(found, notes)


@np.errstate(all="ignore")  # what is not finite is not compared
def _compare(a: Result, b: Result) -> Comparison:
    for each in (a, b):
        each.check_run()
    if a.benchmark != b.benchmark:
        raise ValueError(f"cannot compare {a.benchmark} with {b.benchmark}")
    if not a.labels or not b.labels or a.labels[0] != b.labels[0]:
        raise ValueError(
            f"cannot compare points told apart by {a.labels} with {b.labels}"
        )
    index = a.labels[0]
    common, in_a, in_b = np.intersect1d(a[index], b[index], return_indices=True)
    if common.dtype.kind == "U":  # words keep their order
        order = np.argsort(in_a)
        common, in_a, in_b = common[order], in_a[order], in_b[order]
    measured = a.kind == b.kind == "measured"
    names = ["time", *a.rates]
    if measured and "time_median" in a.columns and "time_median" in b.columns:
        names = [f"{name}_median" for name in names]
    names = [name for name in names if name in a.columns and name in b.columns]
    if not len(common):
        raise ValueError(
            f"no common {index}: {a.label} has {a[index].tolist()}, "
            f"{b.label} has {b[index].tolist()}"
        )
    if not names:
        raise ValueError(
            f"nothing to compare: no time and no rate is in both {a.label} "
            f"and {b.label}"
        )
    on = names[min(1, len(names) - 1)]
    right = ~(a.failed[in_a] | b.failed[in_b])
    values = {n: (a.shown(n)[in_a], b.shown(n)[in_b]) for n in names}
    ratio = np.where(right, values[on][1] / values[on][0], np.nan)
    ratio[~np.isfinite(ratio)] = np.nan
    apart = _apart(a, b, in_a, in_b, right) if measured else None
    return Comparison(a, b, index, common, on, values, ratio, apart)


def _apart(
    a: Result, b: Result, in_a: np.ndarray, in_b: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """Return where the intervals of the medians do not overlap; see `Comparison`."""
    if any(f"time_{end}" not in r.columns for r in (a, b) for end in ("low", "high")):
        return None
    low_a, high_a = a["time_low"][in_a], a["time_high"][in_a]
    low_b, high_b = b["time_low"][in_b], b["time_high"][in_b]
    apart = ((high_a < low_b) | (high_b < low_a)).astype(float)
    apart[~(right & np.isfinite(low_a + high_a + low_b + high_b))] = np.nan
    return apart
