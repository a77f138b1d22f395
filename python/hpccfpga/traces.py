"""Traces: what devices and ranks did in the timed part of samples, and when."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga import formats
from hpccfpga.arguments import count
from hpccfpga.files import replacing
from hpccfpga.tables import human

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hpccfpga.result import Column, Result

SPANS = 16384
"""Spans of a sample that each rank records unless told."""

RECEIVES, SENDS, SAMPLE, HOST = -4, -3, -2, -1
"""Queues of a trace that are none of a device: messages that move on their own, by
direction; the timed part as a whole; the host."""

EXCHANGE = ("read", "write", "message")
"""Kinds of spans that bring blocks from device to device."""

RELAY = "relay"
"""Label of a kernel that does so, too."""

_COLUMNS = {
    "point": ("1", "int64"),
    "rank": ("1", "int64"),
    "queue": ("1", "int64"),
    "kind": ("1", "str"),
    "label": ("1", "str"),
    "bytes": ("B", "int64"),
    "start": ("s", "float64"),
    "end": ("s", "float64"),
}


class Trace:
    """Spans of time of every rank, in order of point, rank and start.

    Of each point it holds the sample with the best time, the one that `Result.columns`
    tells of. `trace["kind"]` is one of "sample" (its timed part as a whole), "read",
    "write", "copy" and "kernel" (commands of a device), "message" (between ranks),
    "map", "unmap" and "wait" (of the host).

    Parameters
    ----------
    columns : dict of str to Column
        point, rank; queue, from 0 up of a device, -1 the host, -2 the sample, -3 sends
        and -4 receives that move on their own, which may overlap; kind, label; bytes
        [B], 0 where nothing is moved; start, end [s]. Times are on the clock of rank 0
        and count from the first span of all. The result's summary says what they can be
        wrong by: `device_clock_error` and `rank_clock_error` [s].

    Raises
    ------
    ValueError
        A column is missing or of another type or length, or a span ends before it
        begins.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = dict(columns)
        length = None
        for name, (unit, dtype) in _COLUMNS.items():
            if name not in self.columns:
                raise ValueError(f"the trace lacks column {name!r}")
            found = self.columns[name]
            length = found.values.shape if length is None else length
            kind = formats.dtype(found.values)
            shape = found.values.shape
            if (found.unit, kind, shape) != (unit, dtype, length) or len(shape) != 1:
                raise ValueError(
                    f"column {name!r} of the trace is {kind} {[*shape]} "
                    f"[{found.unit}], not {dtype} {[*(length or [])]} [{unit}]"
                )
        lengths = self["end"] - self["start"]
        if void := np.sum(~np.isfinite(lengths)):
            raise ValueError(f"{void} spans have no time")
        if wrong := np.sum(lengths < 0):
            raise ValueError(f"{wrong} spans end before they begin")

    def __getitem__(self, name: str) -> np.ndarray:
        """Array of a column, not a copy."""
        return self.columns[name].values

    def __len__(self) -> int:
        """Return the number of spans."""
        return len(self["start"])

    def __repr__(self) -> str:
        """One line."""
        kinds, numbers = np.unique(self["kind"], return_counts=True)
        told = ", ".join(f"{n} {k}" for k, n in zip(kinds, numbers, strict=True))
        return f"<Trace {len(self)} spans: {told}>"

    def where(self, keep: np.ndarray) -> Trace:
        """Spans that `keep`, a mask or a list of indices, selects."""
        return Trace(
            {n: type(c)(c.unit, c.values[keep]) for n, c in self.columns.items()}
        )


def spans(trace: bool | int) -> int:
    """Return how many spans of a sample a rank records; 0: no trace.

    Raises
    ------
    ValueError
        Neither a truth value nor a number from 1 up.
    """
    if isinstance(trace, bool | np.bool_):
        return SPANS if trace else 0
    return count("trace", trace)


def hidden(trace: Trace) -> float:
    """Share of the exchanges' time in which kernels ran on the same rank.

    Reads, writes, messages and kernels that pass messages on are exchange; where
    several run at a time, it counts once.

    Parameters
    ----------
    trace : Trace
        All spans, or some: `trace.where(trace["point"] == 3)`.

    Returns
    -------
    float
        0: exchange and kernels take turns; 1: exchange costs no time. NaN without
        exchange, or without kernels.
    """
    if not np.any(_works(trace)):
        return np.nan
    exchanged = covered = 0.0
    for part in _parts(trace):
        works, passes = _works(part), part["label"] == RELAY
        moves = passes | np.isin(part["kind"], EXCHANGE)
        moving, working = _covered(part.where(moves)), _covered(part.where(works))
        exchanged += moving
        covered += moving + working - _covered(part.where(moves | works))
    return covered / exchanged if exchanged > 0 else np.nan


def _works(trace: Trace) -> NDArray[np.bool_]:
    """Spans of kernels that compute."""
    works: NDArray[np.bool_] = trace["kind"] == "kernel"
    return works & (trace["label"] != RELAY)


def _parts(trace: Trace) -> Iterator[Trace]:
    """Spans of each rank at each point."""
    pairs = np.stack([trace["point"], trace["rank"]], axis=1)
    for point, rank in np.unique(pairs, axis=0):
        yield trace.where((trace["point"] == point) & (trace["rank"] == rank))


def _covered(trace: Trace) -> float:
    """Time in which at least one of the spans lasts [s]."""
    order = np.argsort(trace["start"], kind="stable")
    start, end = trace["start"][order], np.maximum.accumulate(trace["end"][order])
    before = np.append(-np.inf, end[:-1])[: len(end)]
    return float(np.sum(np.maximum(end - np.maximum(start, before), 0)))


def to_perfetto(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result's trace as JSON that ui.perfetto.dev and Chrome's tracing open.

    A rank is a process, a queue is a thread; times are in microseconds, as the trace
    event format wants them.

    Raises
    ------
    ValueError
        The result has no trace, or the path cannot be written.
    """
    trace = of(result)
    events: list[dict[str, Any]] = []
    for rank in np.unique(trace["rank"]).tolist():
        events += _process(trace, rank, f"rank {rank}{_place(result, rank)}")
    about = points(result)
    names = ("point", "rank", "queue", "kind", "label", "bytes", "start", "end")
    for row in zip(*(trace[name].tolist() for name in names), strict=True):
        point, rank, queue, kind, label, size, start, end = row
        more = {"bytes": size} if size else {}
        events.append(
            {
                "ph": "X",
                "name": label or kind,
                "cat": kind,
                "pid": rank + 1,
                "tid": queue - RECEIVES + 1,
                "ts": 1e6 * start,
                "dur": 1e6 * (end - start),
                "args": {"point": about[point], **more},
            }
        )
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "result": repr(result),
            **{n: human(v, u) for n, (u, v) in result.summary.items()},
        },
    }
    with replacing(path) as file:
        file.write(json.dumps(document, allow_nan=False).encode())


def _process(trace: Trace, rank: int, name: str) -> Iterator[dict[str, Any]]:
    """Names of a rank and its queues; numbers begin at 1, as Perfetto has its own 0."""
    threads = {
        queue - RECEIVES + 1: lane(queue)
        for queue in np.unique(trace["queue"][trace["rank"] == rank]).tolist()
    }

    def told(event: str, tid: int, **args: Any) -> dict[str, Any]:
        return {"ph": "M", "name": event, "pid": rank + 1, "tid": tid, "args": args}

    yield told("process_name", 1, name=name)
    yield told("process_sort_index", 1, sort_index=rank)
    for tid, thread in threads.items():
        yield told("thread_name", tid, name=thread)
        yield told("thread_sort_index", tid, sort_index=tid)


def lane(queue: int) -> str:
    """Name of a queue."""
    names = {SAMPLE: "sample", HOST: "host", SENDS: "sends", RECEIVES: "receives"}
    return names.get(queue, f"queue {queue}")


def _place(result: Result, rank: int) -> str:
    """Say where a rank ran, if it is known."""
    hosts = result.provenance.get("hosts")
    if not isinstance(hosts, list) or rank >= len(hosts):
        return ""
    return f" on {hosts[rank]}"


def of(result: Result) -> Trace:
    """Trace of a result; ValueError if it has none."""
    if result.trace is None or not len(result.trace):
        raise ValueError(
            f"{result.name} has no trace: measure with trace=True or --trace"
        )
    return result.trace


def points(result: Result) -> list[str]:
    """Say what each point is, in a few words."""
    texts = [""]
    for number, name in enumerate(result.labels):
        unit = result.columns[name].unit
        words = [
            f"{name.replace('_', ' ')} {value}{'' if unit == '1' else f' {unit}'}"
            for value in result[name].tolist()
        ]
        before = texts * len(words) if number == 0 else [f"{t}, " for t in texts]
        texts = [a + b for a, b in zip(before, words, strict=True)]
    return texts
