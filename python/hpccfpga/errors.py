"""Errors as one line and as exit codes: told by one rank, raised again elsewhere."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping

from hpccfpga.text import both_ends, printable

KINDS = (
    ValueError,
    TypeError,
    LookupError,
    NotImplementedError,
    MemoryError,
    KeyboardInterrupt,
)
"""What keeps its kind on its way; all else becomes `hpccfpga.Error`."""


OK, WRONG_DATA, BAD_INPUT, FAILED, INTERRUPTED, UNREAD = 0, 1, 2, 3, 130, 141
"""Exit codes: all data verified, some not, bad input, failed, interrupted, and that
nobody read the output to its end. Another signal ends with 128 and its number."""


STOPS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""Signals that ask a command to end, as Ctrl-C does, and its line for each."""


INTERRUPT = "interrupted"
"""Line for Ctrl-C."""


class Stopped(KeyboardInterrupt):
    """An interrupt that has a line and an exit code of its own."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        numbers = (128 + number for number, said in STOPS.items() if said == line)
        self.code = next(numbers, INTERRUPTED)


def exit_code(error: BaseException) -> int:
    """Code with which a command ends for an error."""
    if isinstance(error, Stopped):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    bad = (ValueError, LookupError, NotImplementedError)
    return BAD_INPUT if isinstance(error, bad) or _names_a_file(error) else FAILED


def outdated(error: BaseException) -> bool:
    """Whether the extension lacks what the modules need, as one of before may."""
    core = sys.modules.get("hpccfpga._core")
    return core is not None and isinstance(error, AttributeError) and error.obj is core


def _names_a_file(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.filename is not None


_RANKS = {
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK": "PMIX_NAMESPACE",
    "PMI_RANK": "PMI_SIZE",
}
"""What process managers call a rank, and what each of them says of the job with it."""


def under_mpi() -> int | None:
    """Rank that a process manager gave this process, or None without one.

    A rank without its job may be left in a user's environment. Who took it for one
    would leave all words to a rank 0 that is not there.
    """
    for name, job in _RANKS.items():
        if os.environ.get(name, "").isdecimal() and os.environ.get(job):
            return int(os.environ[name])
    return None


def others_beside() -> bool:
    """Whether a process manager started other ranks beside this one."""
    names = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    sizes = [os.environ[name] for name in names if name in os.environ]
    return under_mpi() is not None and any(size != "1" for size in sizes)


def debugging() -> bool:
    """Whether a user wants to see what is held back otherwise."""
    return bool(os.environ.get("HPCCFPGA_DEBUG"))


def line(error: BaseException) -> str:
    """Text of an error in one line."""
    if isinstance(error, KeyboardInterrupt) and not isinstance(error, Stopped):
        return INTERRUPT
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and _names_a_file(error):
        said = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror:
        said = f"input or output failed: {error.strerror}"
    elif isinstance(error, AttributeError) and outdated(error):
        said = f"its extension has no {error.name}: install hpccfpga again"
    elif isinstance(error, MemoryError) and not str(error):  # Python's own
        said = f"out of memory{limits()}"
    return _shown(" ".join(str(said).split())) or type(error).__name__


def limits() -> str:
    """Say if this process has few addresses, so that libraries may not load."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return ""
    return f"; or the limit of {most >> 20} MiB of addresses (ulimit -v) is too low"


def _shown(text: str) -> str:
    return both_ends(printable(text))


def encode(error: BaseException) -> dict[str, str]:
    """Error in terms of JSON, as the provenance of a failed run holds it."""
    kinds = [kind.__name__ for kind in KINDS if isinstance(error, kind)]
    kinds += ["ValueError"] * _names_a_file(error)
    return {"error": line(error), "error_type": next(iter(kinds), "Error")}


def decode(told: Mapping[str, str]) -> BaseException:
    """Make an error of what `encode` said."""
    from hpccfpga._core import Error

    kinds = {kind.__name__: kind for kind in KINDS} | {"KeyboardInterrupt": Stopped}
    return kinds.get(told.get("error_type", ""), Error)(_shown(told["error"]))
