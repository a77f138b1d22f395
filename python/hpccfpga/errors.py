"""Errors as one line: told by one rank, raised again by another process."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hpccfpga.text import printable

KINDS = (
    ValueError,
    TypeError,
    LookupError,
    NotImplementedError,
    MemoryError,
    KeyboardInterrupt,
)
"""What keeps its kind on its way; all else becomes `hpccfpga.Error`."""


def under_mpi() -> int | None:
    """Rank that a process manager gave this process, or None without one."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def debugging() -> bool:
    """Whether a user wants to see what is held back otherwise."""
    return bool(os.environ.get("HPCCFPGA_DEBUG"))


def line(error: BaseException) -> str:
    """Text of an error in one line."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror}")
    if isinstance(error, OSError) and error.strerror:
        return f"input or output failed: {error.strerror}"
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    return printable(" ".join(str(said).split())) or type(error).__name__


def about(error: BaseException) -> dict[str, str]:
    """Error in terms of JSON, as the provenance of a failed run holds it."""
    kinds = (kind.__name__ for kind in KINDS if isinstance(error, kind))
    return {"error": line(error), "error_type": next(kinds, "Error")}


def again(told: Mapping[str, str]) -> BaseException:
    """Make an error of what `about` said."""
    from hpccfpga._core import Error

    kinds = {kind.__name__: kind for kind in KINDS}
    return kinds.get(told["error_type"], Error)(printable(told["error"]))
