"""One of several ranks: what it tells the process that started mpirun, how it ends.

A rank must end though others do not answer. MPI_Init and MPI_Finalize wait for all
ranks for ever and keep Python from running meanwhile; a thread of the extension ends
the process then. Who leaves without the others' agreement does not call MPI_Finalize.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hpccfpga.errors import about, line, under_mpi

EVENTS = "HPCCFPGA_EVENTS"
"""Names the pipe in which ranks tell of themselves, a line of JSON each.

By way of mpirun and its terminals they come seconds late where all cores spin. The
first word says of what: "here" and the rank; "row" and what `Callback` gets; "error",
the rank and the error; "end" and the rank.
"""

INTERRUPTED = 130

HEARING = 5.0
"""Longest wait until the process that started mpirun takes a word [s]."""

SHORTEST = 5.0
"""Time that ranks have to start and to finish, however short the deadline [s]."""


def patience(deadline: Any) -> float:
    """Longest wait for all ranks together to start or to finish [s]."""
    try:
        return max(SHORTEST, 2 + float(deadline))
    except (TypeError, ValueError):  # it is refused later
        return 60.0


def heard() -> bool:
    """Whether the process that started mpirun listens; not from another machine."""
    return os.path.exists(os.environ.get(EVENTS, ""))


def tell(*event: object) -> None:
    """Tell the process that started mpirun.

    Where it is slow and the pipe is full, a row is dropped; all else waits, and is
    dropped by the deadline: a good run does not fail for want of a listener.
    """
    pipe = _pipe()
    end = time.monotonic() + (0 if event[0] == "row" else HEARING)
    try:
        while not _sent(pipe, _event(*event)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [pipe], [], left)[1]:
                return
    finally:
        os.close(pipe)


def say(error: BaseException) -> bytes:
    """Line in which a rank tells of an error, for the pipe or for standard error."""
    if heard():
        return _event(*_failure(error))
    return f"hpccfpga: {line(error)}\n".encode()


def listen() -> None:
    """Under mpirun, say that we are here, and end soon after a signal.

    Ranks agree on it between samples; who cannot, ends alone. mpirun kills them a
    second later in any case.
    """
    from hpccfpga import _core

    rank = under_mpi()
    if rank is None:
        return
    ears, signals = os.pipe()
    os.set_blocking(ears, False)
    os.set_blocking(signals, False)
    signal.set_wakeup_fd(signals)
    out = _pipe() if heard() else 2  # open as long as we live
    delay = 1.0 if rank else 0.5  # rank 0 is heard before another ends
    _core.guard_signals(ears, out, delay, INTERRUPTED, say(KeyboardInterrupt()))
    if heard():
        tell("here", rank)


@contextmanager
def waiting(deadline: Any, code: int) -> Iterator[None]:
    """End this process with `code` and a line if the block takes too long.

    Parameters
    ----------
    deadline : float or str
        Longest wait for another rank [s].
    code : int
        Exit code.
    """
    from hpccfpga import _core

    rank, seconds = under_mpi() or 0, patience(deadline)
    text = f"rank {rank} waited {seconds:g} s for the other ranks to start"
    # Rank 0 is heard before another ends.
    _core.guard_until(seconds + (rank > 0), code, say(RuntimeError(text)))
    try:
        yield
    finally:
        _core.guard_until(0, 0, b"")


def calm() -> None:
    """From now on the rank ends by itself: signals no longer matter."""
    from hpccfpga import _core

    if under_mpi() is not None:
        _core.guard_end()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


def done() -> None:
    """Tell that this rank has all its results."""
    if under_mpi() is not None and heard():
        tell("end", under_mpi())


def report(error: BaseException, text: str, alone: bool) -> None:
    """Tell of an error as one of several ranks.

    Parameters
    ----------
    error : BaseException
        What to tell to the process that started mpirun.
    text : str
        What to tell to the user, with its end of line.
    alone : bool
        The other ranks may not know of it.
    """
    rank = under_mpi()
    if heard():
        tell(*_failure(error))
        return
    if rank and alone:
        _endable()
        time.sleep(1.5)  # where rank 0 tells it, mpirun ends us meanwhile
    if alone or not rank:
        with suppress(OSError):  # nobody may listen, or the disk be full
            sys.stderr.write(text)
            sys.stderr.flush()


def leave(code: int, deadline: Any, alone: bool) -> None:
    """End such that every rank ends, and rank 0 has been heard.

    Parameters
    ----------
    code : int
        Exit code.
    deadline : float or str
        Longest wait for another rank [s].
    alone : bool
        The other ranks may not come to MPI_Finalize.
    """
    from hpccfpga import _core

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # told already, or nobody to tell; else Python's end fails, too
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    rank = under_mpi()
    if rank is None:
        return
    if code:
        _endable()
    mpi = sys.modules.get("mpi4py.MPI")
    up = mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized()
    if up and not alone:  # MPI_Finalize lets all ranks end together
        _core.guard_until(patience(deadline), code, b"")
        return
    if rank:
        time.sleep(1)  # mpirun stops all ranks when the first one fails
    if up:
        os._exit(code)


def _endable() -> None:
    """Let signals end this process at once."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _pipe() -> int:
    return os.open(os.environ[EVENTS], os.O_WRONLY | os.O_NONBLOCK)  # if it is read


def _event(*event: object) -> bytes:
    return f"{json.dumps(event)}\n".encode()


def _failure(error: BaseException) -> tuple[str, int | None, dict[str, str]]:
    """Event of an error, its text cut to what a pipe takes whole."""
    rank, told = under_mpi(), about(error)
    while len(_event("error", rank, told)) > select.PIPE_BUF:
        told["error"] = f"{told['error'][: len(told['error']) * 3 // 4]}..."
    return "error", rank, told


def _sent(pipe: int, data: bytes) -> bool:
    """Write to the pipe, whole or not at all: words of several ranks must not mix.

    What is too long for that counts as sent: it never will be.
    """
    try:
        return len(data) > select.PIPE_BUF or bool(os.write(pipe, data))
    except BlockingIOError:
        return False
