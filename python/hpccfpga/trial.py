"""Try a program binary in a process of its own: one that is damaged may end it.

A CPU's runtime runs what is in a binary in the process that loads it, and PoCL aborts
where it cannot read one. A hash tells that nobody changed a file since its manifest
was written, not that what was written works.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from hpccfpga import _core, emulation

LONGEST = 60.0
"""Time that a trial may take; among several ranks at most their deadline [s]."""


def survived(
    core: _core.Session, benchmark: str, params: Mapping[str, Any], binary: bytes
) -> None:
    """Run one repetition at the first point of a run, in another process, on one rank.

    What that run says does not matter: errors come again where they are told.

    Parameters
    ----------
    core : _core.Session
        Device and exchange scheme to use.
    benchmark : str
        What to run.
    params : mapping
        Every parameter of the run, with those that are built into the binary.
    binary : bytes
        The program binary.

    Raises
    ------
    ValueError
        A signal ended it, or it did not end in time.
    """
    # The other ranks wait meanwhile.
    longest = LONGEST if core.size == 1 else min(LONGEST, params["deadline"])
    try:
        code = start(core, benchmark, params, binary, longest)
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"a program binary that has not done one repetition within {longest:g} s"
        ) from None
    if code < 0:
        name = signal.Signals(-code).name
        raise ValueError(
            f"a program binary that kills its process ({name}): it is damaged"
        )


def start(
    core: _core.Session,
    benchmark: str,
    params: Mapping[str, Any],
    binary: bytes,
    longest: float,
) -> int:
    """Exit code of a trial: 0 if it ran, a signal's number below 0."""
    job = {
        "device": f"{core.device['runtime']}:{core.device['index']}",
        "exchange": core.exchange,
        "benchmark": benchmark,
        "params": _first(params),
        "least": _first(_independent(benchmark, params)),
    }
    with tempfile.TemporaryDirectory(prefix="hpccfpga-") as folder:
        # PoCL would keep what it reads, and use it for good binaries of that name.
        return subprocess.run(
            [sys.executable, "-P", "-m", "hpccfpga.trial"],
            input=json.dumps(job).encode() + b"\n" + binary,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"POCL_CACHE_DIR": folder},
            timeout=longest,
            check=False,
        ).returncode


def _first(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of one repetition at the first point."""
    first = {n: v[:1] if isinstance(v, list) else v for n, v in params.items()}
    return {**first, "reps": 1, "warmup": 1}


def _independent(benchmark: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that a binary needs, all else by default, as fits one rank.

    What is built in, and what is chosen of a list, does not depend on the number of
    ranks as a grid, a topology, or a size that only several can hold does.
    """
    chosen = {
        entry["name"]: params[entry["name"]]
        for entry in _core.parameters(benchmark)
        if entry["macro"] or entry["choices"]
    }
    return _core.values(benchmark, chosen)


def main() -> None:
    """Take a job from standard input: a line of JSON, then the binary."""
    job = json.loads(sys.stdin.buffer.readline())
    core = _core.Session(job["device"], job["exchange"], **emulation.vendors())
    benchmark = job["benchmark"]
    stem = core.kernel(benchmark, str(job["params"].get("shape", "auto")))
    assert stem is not None
    kernel = (stem, sys.stdin.buffer.read(), "")
    try:
        core.run(benchmark, job["params"], kernel, None)
    except (ValueError, MemoryError, NotImplementedError):  # not for one rank
        core.run(benchmark, job["least"], kernel, None)


if __name__ == "__main__":
    main()
