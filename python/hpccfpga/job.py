"""Jobs: what to measure, as a document; checked in one place, the same on all ranks."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

from hpccfpga import _core, components, emulation, topology, traces
from hpccfpga.arguments import known, path, word
from hpccfpga.calibration import parts_of
from hpccfpga.choice import AUTO, Expected
from hpccfpga.formats import check_schema
from hpccfpga.graph import named
from hpccfpga.text import brief

SCHEMA = "hpccfpga-job/1"
"""`data/job.schema.json` describes it."""

RUN, CALIBRATE = "run", "calibrate"
MODEL, ALL = PARTS = ("model", "all")
"""Parts of exchanges that are measured in turns with a run: see `Task.parts`."""

_WORD = 1 << 16  # letters; Linux takes twice as many

_JOB: dict[str, tuple[type, ...]] = {
    "schema": (str,),
    "exchange": (str,),
    "device": (str, NoneType),
    "trace": (int,),
    "expected": (dict, NoneType),
    "tasks": (list,),
}
_TASK: dict[str, tuple[type, ...]] = {
    "task": (str,),
    "benchmark": (str, NoneType),
    "kernel": (str, NoneType),
    "parameters": (dict,),
    "parts": (str, NoneType),
}


@dataclass(frozen=True)
class Task:
    """One measurement of a job, with one result; with `parts` there are two.

    Parameters
    ----------
    task : str
        "run" or "calibrate".
    benchmark : str or None
        What "run" measures.
    kernel : str or None
        Path of the kernels that "run" uses; default: the package's own.
    parameters : dict
        Those that are given.
    parts : str or None
        "model": "run" takes turns with the parts that its model is made of; "all": with
        all parts of a calibration. Its second result is the calibration.
    """

    task: str
    benchmark: str | None
    kernel: str | None
    parameters: dict[str, Any]
    parts: str | None = None

    @property
    def name(self) -> str:
        """Benchmark of its first result."""
        return self.benchmark or "calibration"


@dataclass(frozen=True)
class Job:
    """Tasks in one session, one after the other.

    Parameters
    ----------
    exchange : str
        Exchange scheme, or "auto".
    device : str or None
        Device, as `Session` takes it.
    trace : int
        Spans of a sample that a rank records, 0 for no trace.
    expected : Expected or None
        What "auto" chooses by; None: what is calibrated in the session.
    tasks : tuple of Task
        What to measure.
    """

    exchange: str
    device: str | None
    trace: int
    expected: Expected | None
    tasks: tuple[Task, ...]

    @classmethod
    def of(cls, document: Any) -> Job:
        """Make a job of its document: the one place where jobs are checked.

        Parameters of the document may be what `Session.run` takes; those of the job are
        in terms of JSON.

        Raises
        ------
        LookupError, ValueError, TypeError
            No job, or one that names what there is not or what is out of bounds.
        """
        check_schema(document, SCHEMA)
        _check_entries("job", document, _JOB)
        _core.scheme(word("exchange", document["exchange"]))
        trace = traces.spans(document["trace"] or False)
        if not document["tasks"]:
            raise ValueError("a job has one task at least")
        told = document["expected"]
        if told is not None and document["exchange"] != AUTO:
            raise ValueError(f"expected: only exchange {AUTO} takes it")
        expected = None if told is None else Expected.of(told)
        tasks = tuple(map(_task, document["tasks"]))
        for task in tasks:
            if task.parts is not None:
                parts_of(task.name, document["exchange"])
        return cls(document["exchange"], document["device"], trace, expected, tasks)

    def document(self) -> dict[str, Any]:
        """Return the job in terms of JSON."""
        return {"schema": SCHEMA, **asdict(self), "tasks": [*map(asdict, self.tasks)]}

    @property
    def results(self) -> int:
        """Number of its results."""
        return sum(1 if task.parts is None else 2 for task in self.tasks)

    @property
    def deadline(self) -> float:
        """Longest wait of a rank for another one [s]."""
        fallback = components.deadline()
        return max(task.parameters.get("deadline", fallback) for task in self.tasks)

    @property
    def kernels(self) -> int:
        """Kernels of a rank that wait for each other over kernel-routed schemes."""
        return max(map(_kernels, self.tasks))

    def command(self, ranks: int, hosts: Sequence[str] | None = None) -> list[str]:
        """Words of a command line that does the first task."""
        first, *_ = self.tasks
        words = ["hpccfpga", first.task]
        if first.benchmark is not None:
            words += [first.benchmark, f"--exchange={self.exchange}"]
        given = {"device": self.device, "kernel": first.kernel, **first.parameters}
        for name, value in given.items():
            if value is not None:
                text = ",".join(map(str, value)) if isinstance(value, list) else value
                words.append(f"--{name.replace('_', '-')}={text}")
        if self.expected and self.expected.option:
            words.append(self.expected.option)
        if first.parts is not None:
            words.append("--calibrate" if first.parts == MODEL else "--calibrate=all")
        if self.trace:
            spans = "" if self.trace == traces.SPANS else f"={self.trace}"
            words.append(f"--trace{spans}")
        where = [] if hosts is None else [f"--hosts={','.join(hosts)}"]
        return [*words, f"--ranks={ranks}", *where]


def job(
    exchange: str,
    device: str | int | None,
    *tasks: Mapping[str, Any],
    trace: bool | int = False,
    expected: Expected | None = None,
) -> Job:
    """Make a job of what callers give; see `run_task` and `calibrate_task`.

    Raises
    ------
    LookupError, ValueError, TypeError
        As `Job.of`.
    """
    chosen = None if device is None else word("device", str(device))
    spans = traces.spans(trace)
    document = {"schema": SCHEMA, "exchange": exchange, "device": chosen}
    told = None if expected is None else asdict(expected)
    more = {"trace": spans, "expected": told, "tasks": list(tasks)}
    return Job.of(document | more)


def run_task(
    benchmark: str,
    kernel: str | os.PathLike[str] | None,
    params: Mapping[str, Any],
    parts: str | None = None,
) -> dict[str, Any]:
    """Document of a task that runs a benchmark."""
    params = named(params)
    if "topology" in params:
        params["topology"] = topology.text(params["topology"])
    own = None if kernel is None else path("kernel", kernel)
    task = {"task": RUN, "benchmark": benchmark, "kernel": own}
    return task | {"parameters": params, "parts": parts}


def calibrate_task(params: Mapping[str, Any]) -> dict[str, Any]:
    """Document of a task that calibrates."""
    task = {"task": CALIBRATE, "benchmark": None, "kernel": None}
    return task | {"parameters": dict(params), "parts": None}


def read(text: str | bytes) -> Job:
    """Job of the text of its document."""
    return Job.of(json.loads(text))


def packed(job: Job) -> list[str]:
    """Words of a command line that hold a job, none longer than Linux takes."""
    document = zlib.compress(json.dumps(job.document()).encode())
    text = base64.urlsafe_b64encode(document).decode()
    return [text[at : at + _WORD] for at in range(0, len(text), _WORD)]


def unpacked(words: Sequence[str]) -> Job:
    """Job of what `packed` gave."""
    return read(zlib.decompress(base64.urlsafe_b64decode("".join(words))))


def _task(document: Any) -> Task:
    _check_entries("task", document, _TASK)
    kind, params = document["task"], document["parameters"]
    if kind not in (RUN, CALIBRATE):
        raise ValueError(f"no task {brief(kind)}; {known(kind, (RUN, CALIBRATE))}")
    names = [name for name, _ in _core.components("bench")]
    benchmark = document["benchmark"]
    if kind == RUN:
        values = _core.values(word("benchmark", benchmark, names), params)
    else:
        components.check_calibrated(params)
        values = _core.values(components.CALIBRATION[0].benchmark, params)
    typed = {name: values[name] for name in params}
    parts = document["parts"]
    if parts is not None and (kind != RUN or parts not in PARTS):
        raise ValueError(f"no parts {brief(parts)} of {kind}; {known(parts, PARTS)}")
    return Task(kind, benchmark, document["kernel"], typed, parts)


def _kernels(task: Task) -> int:
    """Kernels that wait for each other; files may hold as many as there can be."""
    if task.benchmark is None or task.kernel is not None:
        return emulation.KERNELS
    replications = _core.values(task.benchmark, task.parameters).get("replications", 1)
    return int(_core.quantities(task.benchmark)["side_by_side"] * replications)


def _check_entries(
    what: str, document: Any, entries: Mapping[str, Sequence[type]]
) -> None:
    if not isinstance(document, dict):
        raise ValueError(f"{brief(document)} is no {what}")
    for name in document:
        if name not in entries:
            raise ValueError(f"{what}: no entry {brief(name)}; {known(name, entries)}")
    for name, types in entries.items():
        if name not in document:
            raise ValueError(f"{what}: {name} is missing")
        if not isinstance(document[name], tuple(types)):
            raise TypeError(
                f"{name}: {brief(document[name])} is no {types[0].__name__}"
            )
