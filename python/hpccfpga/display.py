"""How a result shows itself: in a few words, as a table, in a notebook."""

from __future__ import annotations

import re
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from hpccfpga import formats
from hpccfpga.provenance import ranks_where
from hpccfpga.tables import digits, html_table, human, lines, readable
from hpccfpga.text import printable

if TYPE_CHECKING:
    from hpccfpga.result import Result

EMULATED = (
    "EMULATED: a CPU stands in for the accelerator; this checks function, not speed"
)
LEAST_REPS = 6
"""Repetitions without which the median has no 95 % interval."""
NOT_VERIFIED = "NOT VERIFIED: wrong data"

LONGEST_NAME = 32
"""Of a file in a headline: that of a graph made in Python is a digest."""

_NOT_SHOWN = ("inner", "error", "verified")
_NOT_SHOWN_ENDS = ("_q1", "_q3", "_p95", "_p99")


def label(result: Result) -> str:
    """Say in a few words what it is, as in a legend."""
    kind = "model" if result.kind == "modelled" else result.kind
    kind = "fit" if "fitted_to" in result.provenance else kind
    words = [f"{kind} {result.exchange or result.benchmark}{_chosen(result)}"]
    if result.kind == "modelled" and "calibration" in result.provenance:
        words.append("calibrated")
    elif result.kind != "measured" and result.device:
        words.append(result.device)
    words.append(_who(result))
    if result.emulated:
        words.append("emulated")
    if result.verified is False:
        words.append("not verified")
    return ", ".join(words)


def subject(result: Result) -> str:
    """Name the benchmark, and the program and the graph of one that runs these."""
    told = [result.parameters.get(name) for name in ("program", "graph")]
    names = [printable(_without_folder(str(value))) for value in told if value]
    return " ".join([result.benchmark, *(n for n in names if len(n) <= LONGEST_NAME)])


def _without_folder(name: str) -> str:
    """Drop the folder of a file; words before its path stay, such as `undirected:`."""
    words = re.match(r"(?:[a-z]+:)*", name)
    assert words
    return words[0] + PurePath(name[words.end() :]).name


def headline(result: Result) -> str:
    """Say in a line what it is, and on what."""
    words = [f"{subject(result)}, {result.kind}"]
    if result.exchange:
        words.append(f"exchange {result.exchange}")
    if result.device:
        words.append(result.device)
    words.append(_who(result))
    if result.verified:
        source = " by its source" * (result.kind == "published")
        words.append(f"verified{source}")
    return ", ".join(words)


def warnings(result: Result) -> list[str]:
    """Say what a reader must know before trusting the numbers."""
    found = [EMULATED] * result.emulated
    if "error" in result.provenance:
        return [*found, f"FAILED: {result.provenance['error']}"]
    return found + [NOT_VERIFIED] * (result.verified is False)


def table(result: Result, rows: bool) -> str:
    """Text of it; see `Result.table`."""
    text = [headline(result), *warnings(result)]
    if rows and result.columns:
        text += ["", *lines(_cells(result)), ""]
    if result.summary:
        text.append(_summary_line(result))
    if rows:
        text += _intervals(result)
    text += _remarks(result)
    return "\n".join(text)


def html(result: Result) -> str:
    """Its table in a notebook."""
    parts = [f"<div><b>{escape(headline(result))}</b>"]
    parts += [
        f'<div style="color:#b00020;font-weight:bold">{escape(text)}</div>'
        for text in warnings(result)
    ]
    if result.columns:
        parts.append(html_table(_cells(result)))
    tail = [_summary_line(result), *_intervals(result), *_remarks(result)]
    parts += [f"<div>{escape(text)}</div>" for text in tail if text]
    return "".join(parts) + "</div>"


def _chosen(result: Result) -> str:
    """Name the exchange schemes that were chosen, in the order of the points."""
    if "scheme" not in result.columns:
        return ""
    names = (name for text in result["scheme"] for name in str(text).split("+"))
    return f" ({', '.join(dict.fromkeys(filter(None, names)))})"


def _who(result: Result) -> str:
    """Count the ranks, and say how the work grew with them where it did."""
    if result.labels[:1] == ["ranks"]:
        counts = ", ".join(map(str, result["ranks"]))
        ranks = "rank" if counts == "1" else "ranks"
        return f"{result.parameters.get('mode')} scaling on {counts} {ranks}"
    return ranks_where(result.ranks, result.provenance)


def _intervals(result: Result) -> list[str]:
    """Say why there are points without an interval."""
    if not {"time_low", "samples"} <= {*result.columns} or result["samples"].ndim != 3:
        return []
    taken = np.isfinite(result["samples"]).any(axis=2).sum(axis=1)
    without = np.isnan(result["time_low"]) & (taken < LEAST_REPS)
    note = f"note: a 95 % interval takes {LEAST_REPS} repetitions"
    return [note] if without.any() else []


def _remarks(result: Result) -> list[str]:
    """Say where the numbers come from, what they count, and what is to be noted."""
    said = [
        f"{key}: {result.provenance[key]}"
        for key in ("source", "log", "counts")
        if result.kind == "published" and key in result.provenance
    ]
    return said + [f"note: {note}" for note in result.provenance.get("notes", [])]


def _summary_line(result: Result) -> str:
    return "   ".join(
        f"{name} {human(value, unit)}" for name, (unit, value) in result.summary.items()
    )


@np.errstate(all="ignore")
def _cells(result: Result) -> dict[tuple[str, str], list[str]]:
    """Texts below each heading of name and unit."""
    cells = {}
    for name, (unit, values) in result.columns.items():
        if (
            values.ndim == 1
            and name not in _NOT_SHOWN
            and not name.endswith(_NOT_SHOWN_ENDS)
        ):
            shown, scale = readable(unit)
            if formats.dtype(values) == "str":
                texts = values.tolist()
            else:
                texts = [digits(v / scale) for v in result.shown(name)]
            if unit.endswith("/s"):
                for point in np.flatnonzero(result.failed):
                    texts[point] = "failed"
            cells[name.replace("_", " "), shown] = texts
    return cells
