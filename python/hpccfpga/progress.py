"""Progress of a run: lines on standard output, and a bar where somebody watches."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from hpccfpga.errors import under_mpi
from hpccfpga.tables import digits, readable
from hpccfpga.text import brief, printable, tell

Callback = Callable[[int, int, dict[str, float | str]], object]
"""Called after each point with its number, the number of points, and its values."""

_WIDTH = 12  # of a column, unless its heading is longer


class Progress:
    """Lines on standard output: one per point, or one per quarter of a task.

    Parameters
    ----------
    title : str
        What runs, in a few words.
    benchmark : str, optional
        Whose values to show at each point; default: none.
    """

    def __init__(self, title: str, benchmark: str | None = None) -> None:
        self.title = printable(title)
        self.rows = benchmark is not None
        self.units = {} if benchmark is None else units(benchmark)

    def __enter__(self) -> Progress:
        """Start to show, with a line that says what runs."""
        self.write(f"{self.title} ...")
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the screen tidy."""

    def __call__(self, point: int, n_points: int, row: Mapping[str, Any]) -> None:
        """Show that `point` is done; SI units, names as in a result's columns."""
        if point == 0 and self.rows:
            self.write(_line({name: name for name in self._shown(row)}))
        if self.rows:
            line = _line(self._shown(row))
            self.write(line if row["verified"] else f"{line}  WRONG DATA")
        self.advance(point + 1, n_points)

    def write(self, text: str) -> None:
        """Put out one line."""
        print(text, flush=True)

    def advance(self, done: int, n_points: int) -> None:
        """Tell of each quarter of a task whose points are not shown."""
        if not self.rows and 4 * done // n_points > 4 * (done - 1) // n_points:
            self.write(f"  {done} of {n_points} measurements")

    def _shown(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Heading and text of everything but the verdict."""
        shown = {}
        for name, value in row.items():
            if name != "verified":
                unit, scale = readable(self.units[name])
                heading = f"{name.replace('_', ' ')} [{unit}]".removesuffix(" [1]")
                text = value if isinstance(value, str) else digits(value / scale)
                shown[heading] = printable(text)
        return shown


def _line(cells: Mapping[str, str]) -> str:
    """Cells by heading, below each other in all lines."""
    widths = {name: max(_WIDTH, len(name)) for name in cells}
    return "".join(f"  {cell:>{widths[name]}}" for name, cell in cells.items())


class _Terminal(Progress):
    """Lines above a bar that moves."""

    def __enter__(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
        )
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(highlight=False),
            transient=True,
            auto_refresh=False,  # a thread would disturb what is measured
        )
        self.task = self.bar.add_task(self.title, total=None)
        self.bar.start()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def write(self, text: str) -> None:
        if self.rows:
            self.bar.console.print(text, markup=False, soft_wrap=True)

    def advance(self, done: int, n_points: int) -> None:
        self.bar.update(self.task, completed=done, total=n_points, refresh=True)


class _Notebook(Progress):
    """A bar in a notebook's output, with the last point beside it."""

    text = ""

    def __enter__(self) -> Progress:
        from IPython.display import display

        self.handle: Any = display(self._bar(0, 1), display_id=True)
        return self

    def __call__(self, point: int, n_points: int, row: Mapping[str, Any]) -> None:
        if self.rows:
            values = (f"{name}: {value}" for name, value in self._shown(row).items())
            self.text = ", ".join(values)
        self.advance(point + 1, n_points)

    def advance(self, done: int, n_points: int) -> None:
        self.handle.update(self._bar(done, n_points))

    def _bar(self, done: int, n_points: int) -> Any:
        from IPython.display import HTML

        return HTML(
            f'{html.escape(self.title)} <progress value="{done}" max="{n_points}">'
            f"</progress> {done}/{n_points} <code>{html.escape(self.text)}</code>"
        )


def _kind() -> type[Progress]:
    """Kind of progress that suits where the output goes."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if type(shell).__name__ == "ZMQInteractiveShell":
        return _Notebook
    # A rank's output may look like a terminal, but mpirun only collects it.
    watched = sys.stdout.isatty() and under_mpi() is None
    if watched and os.environ.get("TERM") != "dumb":
        return _Terminal
    return Progress


def progress(title: str, benchmark: str | None = None) -> Progress:
    """Return the kind of progress that suits where the output goes.

    Parameters
    ----------
    title : str
        What runs, in a few words.
    benchmark : str, optional
        Whose values to show at each point; default: none.
    """
    return _kind()(title, benchmark)


class Watch:
    """Progress of one task after the other, each of which says when it begins."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Watch:
        """Show nothing yet."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the screen tidy."""
        self._stack.close()

    def compiling(self, benchmark: str) -> None:
        """Say that kernels are compiled, where somebody watches."""
        self._stack.close()
        if _kind() is not Progress:
            tell(f"compiling kernels of {benchmark}; later runs find them ready ...")

    def begin(self, title: str, benchmark: str | None = None) -> None:
        """Show another task from now on; see `progress`."""
        self._stack.close()
        self._now = self._stack.enter_context(progress(title, benchmark))

    def __call__(self, point: int, n_points: int, row: dict[str, Any]) -> None:
        """Show that a point is done."""
        self._now(point, n_points, row)


def check(progress: Any) -> None:
    """Raise TypeError for what is no one to tell of the progress."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(
            f"progress: {brief(progress)} is no function; True shows it here"
        )


@contextmanager
def follow(whom: bool | Callback | None) -> Iterator[Callback | None]:
    """Give what is to be told of the points of a task.

    Parameters
    ----------
    whom : bool, callable or None
        True shows the progress here.
    """
    if whom is True:
        with Watch() as watch:
            yield watch
        return
    yield whom if callable(whom) else None


def begin(watch: Callback | None, title: str, benchmark: str | None = None) -> None:
    """Tell that a task begins, if there is a method `begin` to hear of it."""
    hears = getattr(watch, "begin", None)
    if callable(hears):
        hears(title, benchmark)


def compiling(watch: Callback | None, benchmark: str) -> None:
    """Tell that kernels are compiled, if there is a method `compiling` to hear it."""
    hears = getattr(watch, "compiling", None)
    if callable(hears):
        hears(benchmark)


def units(benchmark: str) -> dict[str, str]:
    """Return the unit of each value that a benchmark tells of a point."""
    from hpccfpga import _core

    told = _core.quantities(benchmark)
    own = told["labels"] | told["metrics"]
    times = {"time": "s", "time_median": "s"}
    return {name: unit for name, (unit, *_) in own.items()} | times | {"verified": "1"}
