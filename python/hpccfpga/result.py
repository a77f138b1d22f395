"""One type for measured, modelled and published results."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hpccfpga import display, formats, npz, timeline, traces
from hpccfpga.arguments import known, need
from hpccfpga.files import opened, replacing
from hpccfpga.text import brief, printable, printable_in

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

KINDS = ("measured", "modelled", "published")


class Column(NamedTuple):
    """Values of one quantity at every point.

    Parameters
    ----------
    unit : str
        SI unit, "1" for counts.
    values : numpy.ndarray
        float64, int64, bool or text; the first dimension is the point.
    """

    unit: str
    values: np.ndarray


class Quantity(NamedTuple):
    """One number that follows from all points.

    Parameters
    ----------
    unit : str
        SI unit.
    value : float
        NaN stands for "no value".
    """

    unit: str
    value: float


@dataclass(eq=False)
class Result:
    """What a run measured, a model says, or somebody published.

    Parameters
    ----------
    kind : str
        "measured", "modelled" or "published".
    benchmark : str
        Name of the benchmark.
    exchange : str or None
        Exchange scheme.
    device : str or None
        Device or board.
    emulated : bool
        A CPU stood in for the accelerator.
    ranks : int
        Number of ranks.
    verified : bool or None
        All data was right; None where nobody checks (models) or says so.
    parameters : dict
        Every input, defaults included.
    columns : dict of str to Column
        Labels first, then what was found at each point, in SI units.
    summary : dict of str to Quantity
        What follows from all points, in SI units.
    provenance : dict
        Where the numbers come from; "notes" is a list of remarks, "error" says why a
        run ended early.
    vertices : numpy.ndarray or None
        Of a run of graph: the state of each vertex of the input after the last point, a
        structured array with the fields of the program. Files do not hold it.
    file : str
        Path that it was read from, or "": legends, comparisons and errors name it.
    trace : Trace or None
        What each rank did, and when, in the best sample of each point; None unless the
        run was traced.

    Raises
    ------
    ValueError
        Unknown kind, unsupported dtype, columns of different length or without a
        point, or a trace of points or ranks that there are not.
    """

    kind: str
    benchmark: str
    exchange: str | None
    device: str | None
    emulated: bool
    ranks: int
    verified: bool | None
    parameters: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    summary: dict[str, Quantity] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    trace: traces.Trace | None = None
    vertices: np.ndarray | None = None
    file: str = ""

    def __post_init__(self) -> None:
        """Refuse what could not be saved or shown; make its text printable."""
        for name in ("kind", "benchmark", "exchange", "device", "file"):
            setattr(self, name, printable_in(getattr(self, name)))
        self.parameters = printable_in(self.parameters)
        self.provenance = printable_in(self.provenance)
        self.summary = {
            printable(name): Quantity(printable(unit), value)
            for name, (unit, value) in self.summary.items()
        }
        self.columns = {
            printable(name): Column(printable(unit), formats.printable_array(values))
            for name, (unit, values) in self.columns.items()
        }
        if self.kind not in KINDS:
            raise ValueError(
                f"no result kind {brief(self.kind)}; {known(self.kind, KINDS)}"
            )
        formats.check_columns(self.columns)
        if self.trace is not None:
            self._check_trace(self.trace)

    def _check_trace(self, trace: traces.Trace) -> None:
        """Refuse spans of points or ranks that there are not."""
        for name, most in (("point", len(self.failed)), ("rank", self.ranks)):
            found = trace[name]
            if len(found) and not 0 <= found.min() <= found.max() < most:
                raise ValueError(
                    f"the trace has {name}s {found.min()} to {found.max()}, the result "
                    f"has {most}"
                )

    def __getitem__(self, name: str) -> np.ndarray:
        """Array of a column, not a copy; the first dimension is the point.

        Raises
        ------
        KeyError
            There is no such column.
        """
        try:
            return self.columns[name].values
        except KeyError:
            raise KeyError(
                f"no column {brief(name)}; {known(name, self.columns)}"
            ) from None

    def __repr__(self) -> str:
        """One line."""
        return f"<Result {display.headline(self)}>"

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    @property
    def results(self) -> dict[str, Result]:
        """Itself by its benchmark, as a suite of one has it."""
        return {self.benchmark: self}

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column."""
        return {name: column.unit for name, column in self.columns.items()}

    @property
    def labels(self) -> list[str]:
        """Names of the leading columns that say what a point is."""
        names = []
        for name, (unit, values) in self.columns.items():
            if values.ndim != 1 or unit == "s" or unit.endswith("/s"):
                break
            names.append(name)
        return names

    @property
    def rates(self) -> list[str]:
        """Names of the columns that hold rates of the best repetition."""
        return [
            name
            for name, (unit, values) in self.columns.items()
            if unit.endswith("/s")
            and values.ndim == 1
            and not name.endswith(("_median", "_model"))
        ]

    @property
    def parts(self) -> list[str]:
        """Names of the columns that hold the time of a part of what is measured."""
        return [
            name
            for name, (unit, values) in self.columns.items()
            if unit == "s" and values.ndim == 1 and name.endswith("_time")
        ]

    @property
    def failed(self) -> np.ndarray:
        """Points whose data was wrong, bool [points]."""
        if "verified" in self.columns:
            return ~self["verified"].astype(bool)
        points = len(next(iter(self.columns.values())).values) if self.columns else 0
        return np.zeros(points, bool)

    @property
    def label(self) -> str:
        """A few words for a legend."""
        return display.label(self)

    @property
    def subject(self) -> str:
        """Its benchmark, with the program and the graph of one that runs these."""
        return display.subject(self)

    @property
    def name(self) -> str:
        """What errors call it: its benchmark, behind the file that it was read from."""
        return f"{self.file} ({self.benchmark})" if self.file else self.benchmark

    def check_run(self) -> None:
        """Raise ValueError for what a run left that failed: it has no points."""
        error = self.provenance.get("error")
        if error is not None and not self.columns:
            raise ValueError(f"{self.name} is a run that failed: {error}")

    def shown(self, name: str) -> np.ndarray:
        """Column as floats, without the rates of points that failed.

        Parameters
        ----------
        name : str
            A column of one dimension.

        Returns
        -------
        numpy.ndarray
            float64 [points], in the column's unit; NaN where there is no value.
        """
        values = self[name].astype(float)
        if self.columns[name].unit.endswith("/s"):
            values[self.failed] = np.nan
        return values

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Text of this result as JSON; `data/result.schema.json` describes it.

        NaN and infinities become null.

        Parameters
        ----------
        path : path, optional
            Also write the text there, whole or not at all.

        Returns
        -------
        str
            JSON text.

        Raises
        ------
        ValueError
            The path cannot be written.
        """
        return formats.write(formats.document(self), path)

    @classmethod
    def from_json(cls, path_or_text: str | os.PathLike[str]) -> Result:
        """Read what `to_json` wrote.

        Parameters
        ----------
        path_or_text : path or str
            A file, or the text itself (recognised by its opening brace).

        Raises
        ------
        FileNotFoundError
            There is no such file.
        ValueError
            No JSON, no result, a newer schema, or columns that contradict themselves.
        """
        with formats.read(path_or_text) as (document, path):
            return cls.of(document, file=path)

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write the columns as NumPy arrays, and all else as JSON, to one NPZ file.

        Raises
        ------
        ValueError
            The path cannot be written.
        """
        arrays = {name: column.values for name, column in self.columns.items()}
        for name, column in self.trace.columns.items() if self.trace else ():
            arrays[formats.TRACE + name] = column.values
        with replacing(path) as file:
            npz.write(file, formats.document(self, False), arrays)

    @classmethod
    def from_npz(cls, path: str | os.PathLike[str]) -> Result:
        """Read what `to_npz` wrote.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        ValueError
            No such archive, no result, a newer schema, or contradicting columns.
        """
        with opened(path) as file:
            try:
                return cls.of(*npz.read(file), os.fspath(path))
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def of(
        cls,
        document: Any,
        arrays: dict[str, np.ndarray] | None = None,
        file: str = "",
    ) -> Result:
        """Make a result of its document; ValueError if it is none."""
        fields = formats.fields(document, arrays)
        columns = {name: Column(*pair) for name, pair in fields["columns"].items()}
        summary = {name: Quantity(*pair) for name, pair in fields["summary"].items()}
        traced = {name: Column(*pair) for name, pair in fields["trace"].items()}
        trace = traces.Trace(traced) if traced else None
        found = {"columns": columns, "summary": summary, "trace": trace, "file": file}
        return cls(**(fields | found))

    def to_pandas(self) -> pandas.DataFrame:
        """Table with one row per point and the columns of one dimension.

        Returns
        -------
        pandas.DataFrame
            SI units, named in `attrs["units"]`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        flat = {n: c.values for n, c in self.columns.items() if c.values.ndim == 1}
        frame = need("pandas").DataFrame(flat)
        frame.attrs["units"] = {name: self.columns[name].unit for name in flat}
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """Dataset with the dimensions point, repetition and rank.

        Returns
        -------
        xarray.Dataset
            Labels are coordinates; each variable has its unit in `attrs["units"]`.
            Supersteps have the dimension superstep_number, and so on.

        Raises
        ------
        ImportError
            xarray is not installed.
        """
        variables = {}
        for name, (unit, values) in self.columns.items():
            dims = formats.dimensions(name, values)
            variables[name] = (dims, values, {"units": unit})
        labels = self.labels
        return need("xarray").Dataset(
            {n: v for n, v in variables.items() if n not in labels},
            coords={n: variables[n] for n in labels},
            attrs={"title": display.headline(self), "benchmark": self.benchmark},
        )

    def plot(
        self, path: str | os.PathLike[str] | None = None, ax: Any = None
    ) -> Figure:
        """Draw this result; see `hpccfpga.plot`."""
        from hpccfpga.plot import plot

        return plot(self, path=path, ax=ax)

    def plot_timeline(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        point: int = -1,
        steps: int | None = None,
        between: tuple[float, float] | None = None,
        ax: Any = None,
    ) -> Figure:
        """Draw one point of the trace; see `hpccfpga.timeline.plot_timeline`."""
        return timeline.plot_timeline(
            self, point=point, steps=steps, between=between, path=path, ax=ax
        )

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write the trace for Perfetto; see `hpccfpga.traces.to_perfetto`."""
        traces.to_perfetto(self, path)

    def table(self, *, rows: bool = True) -> str:
        """Aligned text: one line per point, in units that people read.

        A rate of a point whose data was wrong reads "failed". Without `rows` only what
        stands around them.
        """
        return display.table(self, rows)

    def _repr_html_(self) -> str:
        return display.html(self)

    @property
    def warnings(self) -> list[str]:
        """Return what a reader must know before trusting the numbers."""
        return display.warnings(self)
