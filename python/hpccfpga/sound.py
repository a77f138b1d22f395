"""Is a vertex program sound? It runs every way, and by itself under sanitizers."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hpccfpga import _core, program, sources
from hpccfpga.measure import run
from hpccfpga.outcome import VerificationWarning
from hpccfpga.provenance import counted_ranks
from hpccfpga.records import Records

COMPILERS = ("cc", "gcc", "clang")
SANITIZERS = "-fsanitize=address,undefined"
LONGEST = 60
"""Seconds that a compiler, or a program that it made, may take."""
DEADLINE = 20
"""Seconds that a step of a run may take; of graphs this small it takes milliseconds."""
FINE, SKIPPED = "fine", "not tried"
GRAPHS = ("kron:6", "grid:6")
"""What a program is run on."""
WAYS = (
    ("ndrange", "gravf-m", "pull", 1),
    ("ndrange", "gravf-m", "push", 1),
    ("ndrange", "gravf-m", "auto", 1),
    ("pipeline", "gravf-m", "auto", 1),
    ("ndrange", "gravf-m", "auto", 2),
    ("ndrange", "gravf-m", "auto", 3),
    ("ndrange", "gravf", "auto", 2),
    ("pipeline", "gravf", "auto", 3),
)
"""Shape, architecture, direction, ranks that are started: a program may end them."""
_PLACE = re.compile(r"([^/\s]+:\d+:\d+): runtime error: (.*)")
_BROKEN = re.compile(r"ERROR: AddressSanitizer: (\S+)")


def check(path: str | os.PathLike[str], value: Sequence[float] = ()) -> Records:
    """Run a vertex program on small graphs every way, and alone under sanitizers.

    Parameters
    ----------
    path : path
        The header of the program, or the name of one of the package's.
    value : sequence of float, optional
        Its scalars.

    Returns
    -------
    Records
        A record of each way: way, messages that were gathered on the graphs on which
        it was fine, finding ("fine", "not tried: ...", or what is wrong).

    Raises
    ------
    ValueError
        There is no such program, it does not compile, or it lacks scalars.
    """
    (header,) = sources.named_files("graph", {"program": os.fspath(path)}).values()
    program.check(header.read_text(), header)
    params: dict[str, Any] = {"program": os.fspath(path), "reps": 1, "sources": 2}
    params["deadline"] = DEADLINE
    if value:
        params["value"] = list(value)
    sources.scalars_check("graph", params)
    found: list[tuple[str, int | None, str]] = [
        (way, None, finding) for way, finding in alone(header, value)
    ]
    found += [_way(params, *way) for way in WAYS]
    heads = ("way", "messages", "finding")
    return Records("way", (dict(zip(heads, way, strict=True)) for way in found))


def _way(
    params: dict[str, Any],
    shape: str,
    architecture: str,
    direction: str,
    ranks: int,
) -> tuple[str, int | None, str]:
    """Name of a way, its messages, and what is wrong on the first graph that fails."""
    messages = 0
    name = f"{shape}, {architecture}, {direction}, {counted_ranks(ranks)}"
    for graph in GRAPHS[: 1 if ranks > 1 else None]:
        given = params | {"graph": graph, "shape": shape, "direction": direction}
        given["architecture"] = architecture
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VerificationWarning)
                result = run("graph", device="opencl", ranks=ranks, **given)
        except ValueError as error:
            if direction != "push" or "direction: push" not in str(error):
                raise
            return name, None, f"{SKIPPED}: this program only pulls"
        except _core.Error as error:
            return name, messages, f"{graph}: {error}"
        if not result.verified:
            return name, messages, f"{graph}: {_wrong(result['error'].max())}"
        messages += int(result["messages"].sum())
    return name, messages, FINE


def _wrong(error: float) -> str:
    """Say what is wrong, by the column `error`."""
    if math.isnan(error):
        return (
            "not verified: counts, digests or the tolerance are not what they should be"
        )
    if error.is_integer():
        return f"{error:g} vertices are not as the plainest way leaves them"
    return f"not verified: {error:.3g} times the error that rounding may leave"


def alone(header: Path, value: Sequence[float]) -> Iterator[tuple[str, str]]:
    """Run a program as plain C, and say what a sanitizer and its own gather tell."""
    way = "plain C, sanitizers"
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        yield way, f"{SKIPPED}: none of {', '.join(COMPILERS)} is here"
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "sound.c"
        text = sources.kernel_dir() / "graph_sound.h"
        source.write_text(sources.read_source(text, {"hf_program.h": header}))
        values = ",".join(f"{float(v)!r}f" for v in value) or "0"
        words = [compiler, "-std=gnu11", "-O1", "-w", "-DHF_HOST", SANITIZERS]
        words += [
            f"-DSOUND_VALUES={values}",
            str(source),
            "-lm",
            "-o",
            f"{folder}/sound",
        ]
        built = _done(words, folder)
        if built.returncode != 0:
            yield way, f"{SKIPPED}: {compiler} with sanitizers: {_why(built)}"
            return
        done = _done([f"{folder}/sound"], folder)
    places = {match[1]: match[2] for match in _PLACE.finditer(done.stderr)}
    said = [f"{place}: {text}" for place, text in places.items()]
    said += [f"memory: {text}" for text in _BROKEN.findall(done.stderr)]
    said += done.stdout.splitlines()
    if done.returncode < 0 and not said:
        said = [_why(done)]
    if done.returncode > 0 and not said:
        said = [f"{SKIPPED}: it does not run under sanitizers: {_why(done)}"]
    yield from ((way, text) for text in said or [FINE])


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """Say why a command failed: its first error, else what it said last."""
    lines = done.stderr.strip().splitlines()
    if lines:
        return next((line for line in lines if "error" in line), lines[-1])
    if done.returncode < 0:
        return f"signal {-done.returncode} ended it"
    return "it says nothing"


def _done(words: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; one that takes too long is ended, and `stderr` says so.

    What it leaves is in a folder.
    """
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": folder},
        process_group=0,
    ) as process:
        out = err = ""
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            err = f"it does not end within {LONGEST} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # a compiler has parts
    return subprocess.CompletedProcess(words, process.returncode, out, err)
