"""Axes: their scales, ticks and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_TICKS = 4  # ratio of ends below which a logarithmic axis has too few of its ticks
_MAX_LETTERS = 200
_MAX_NAMES = 16  # below an axis
_MAX_LINE = 40  # letters of names that have room side by side


def plain(text: str) -> str:
    """Text that matplotlib takes for no formula, short enough to be drawn in time."""
    text = text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 3]}..."
    return text.replace("$", r"\$")


def scales(axis: Axes, places: list[str], name: str) -> None:
    """Linear from 0 where points stand side by side and are alike, else logarithmic."""
    low, high = axis.dataLim.intervaly
    if name == "efficiency" or (places and low > 0.02 * high):
        axis.set_ylim(0, 1.1 * max(high, 1e-300))
    elif high > 0:
        axis.set_yscale("log")
    if places:
        axis.set_xlim(-0.6, len(places) - 0.4)
    else:
        axis.set_xscale("log")


def ticks(axis: Axes, unit: str) -> None:
    """Set ticks in one notation, of bytes by powers of two."""
    axis.grid(True, which="major", color="0.9", lw=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    from matplotlib.ticker import (
        FuncFormatter,
        LogFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
    )

    def text(value: float, _: Any = None) -> str:
        low, high = axis.get_ylim()
        return _number(value, not 1e-4 < (low or high / 10) <= high < 1e6)

    class Minor(LogFormatter):
        """Where there are few major ticks, in their style."""

        def __call__(self, value: float, place: Any = None) -> str:
            return text(value) if super().__call__(value, place) else ""

    axis.yaxis.set_major_formatter(FuncFormatter(text))
    low, high = axis.get_ylim()
    if axis.get_yscale() == "log" and high < _FEW_TICKS * low:
        axis.yaxis.set_major_locator(MaxNLocator(6))
        axis.yaxis.set_minor_locator(NullLocator())
    elif axis.get_yscale() == "log":
        axis.yaxis.set_minor_formatter(Minor(minor_thresholds=(2, 0.5)))
    if unit == "B" and axis.get_xscale() == "log":
        low, high = axis.get_xlim()
        axis.xaxis.set_major_locator(LogLocator(base=4 if high < 4**6 * low else 16))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: of_bytes(size)))


def _number(value: float, power: bool) -> str:
    """Text of a tick; by powers of ten where an axis would have many zeros."""
    if value == 0 or not power:
        return f"{value:g}"
    digits, _, exponent = f"{value:.3e}".partition("e")
    factor = "" if float(digits) == 1 else rf"{float(digits):g} \cdot "
    return f"${factor}10^{{{int(exponent)}}}$"


def of_bytes(size: float) -> str:
    """Text of a size in bytes."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size >= 2**power:
            return f"{size / 2**power:g} {prefix}"
    return f"{size:g}"


def name_places(axis: Axes, places: list[str]) -> None:
    """Write the names below places, or as many of them as there is room for."""
    step = -(-len(places) // _MAX_NAMES)
    names = [plain(name) for name in places[::step]]
    axis.set_xticks(range(0, len(places), step), names)
    if sum(map(len, names)) > _MAX_LINE:
        axis.tick_params(axis="x", rotation=45)
