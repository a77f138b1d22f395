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
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hpccfpga.errors import (
    FAILED,
    INTERRUPTED,
    OK,
    UNREAD,
    WRONG_DATA,
    debugging,
    encode,
    exit_code,
    line,
    outdated,
    under_mpi,
)
from hpccfpga.stops import SHORTEST, STARTING
from hpccfpga.text import brief

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

EVENTS = "events"
"""Pipe in the folder of a job, in which ranks tell of themselves.

What they tell is JSON. Its first word says of what: "here" and the rank; "compiling"
and a benchmark; "begin", a title and a benchmark; "row" and what `Callback` gets;
"file", a name, bytes of it all, and the next piece; "error", the rank and the error;
"end" and the rank.
"""

OUTPUT = "-"
"""In place of that pipe, for ranks on any machines: their standard output.

mpirun brings it, seconds late where all cores spin.
"""

HEARING = 5.0
"""Longest wait until the process that started mpirun takes a word [s]."""

PIECE = 2880
"""Longest piece of a file [B]: with its other words a pipe takes it whole."""

_START, _END = "\x02", "\x03"

_pipe_path: str | None = None
_output: int | None = None
_patience: float = SHORTEST


def patience(deadline: float) -> float:
    """Longest wait for ranks where something of the job is stopped or lost [s]."""
    return max(SHORTEST, 2 + deadline)


def heard() -> bool:
    """Whether the process that started mpirun listens."""
    return _output is not None or (
        _pipe_path is not None and os.path.exists(_pipe_path)
    )


def tell(*event: object) -> bool:
    """Tell the process that started mpirun; False if it did not take it.

    Where it is slow and the pipe is full, a row is dropped; all else waits, and is
    dropped by the deadline: a good run does not fail for want of a listener.
    """
    pipe, data = _pipe(), _event(*event)
    end = time.monotonic() + (0 if event[0] == "row" else HEARING)
    try:
        while data := _rest(pipe, data):
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [pipe], [], left)[1]:
                break
    finally:
        os.close(pipe)
    return not data


def give(name: str, data: bytes) -> None:
    """Give the process that started mpirun a file of the job, by its name.

    Raises
    ------
    Error
        It does not take it.
    """
    import base64

    from hpccfpga._core import Error

    for at in range(0, len(data), PIECE):
        piece = base64.b64encode(data[at : at + PIECE]).decode()
        if not tell("file", name, len(data), piece):
            raise Error(
                f"after {at} of {len(data)} B of {name}, mpirun took no more of it "
                f"within {HEARING:g} s"
            )


class Hearing:
    """Finds what ranks told in what comes from them, however mpirun broke it."""

    def __init__(self) -> None:
        self._rest = ""

    def take(self, text: str) -> Iterator[list[Any]]:
        """Give what was told, once it is there to its end."""
        *told, rest = (self._rest + text).split(_END)
        self._rest = rest[rest.rfind(_START) :] if _START in rest else ""
        for words in told:
            _, begun, whole = words.rpartition(_START)
            with suppress(ValueError):  # the end of one whose beginning was dropped
                if begun:
                    yield json.loads(whole)


def say(error: BaseException) -> bytes:
    """Line in which a rank tells of an error, for the pipe or for standard error."""
    if heard():
        return _event(*_failure(error))
    return f"hpccfpga: {line(error)}\n".encode()


def attend(work: Callable[[], int], events: str | None = None) -> int:
    """Do the work of this process, which may be one of several ranks.

    Parameters
    ----------
    work : callable
        Returns the exit code, or raises.
    events : str, optional
        Pipe in which the process that started mpirun listens, or `OUTPUT`.

    Returns
    -------
    int
        Exit code, the same on every rank.
    """
    code = UNREAD  # until the work has come to its end
    listen(events)
    try:
        code = work()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        calm()  # mpirun ends the others: what is told now is whole
        code = exit_code(error)
        report(error, _text(error), alone=_alone(code))
    if code in (OK, WRONG_DATA):
        done()
    leave(code, alone=_alone(code))
    return code


def _alone(code: int) -> bool:
    """Whether the other ranks may not know why this one ends."""
    return code in (FAILED, INTERRUPTED)


def _text(error: BaseException) -> str:
    """Return what a user is told of an error, once for all ranks."""
    if debugging():
        traceback.print_exception(error)
        return ""
    ours = type(error).__module__.startswith("hpccfpga")
    known = ours or exit_code(error) != FAILED or outdated(error)
    known = known or isinstance(error, MemoryError | ImportError | OSError)
    bug = "" if known else f"internal error: {type(error).__name__}: "
    hint = "" if known else " (HPCCFPGA_DEBUG=1 shows where)"
    return f"hpccfpga: {bug}{line(error)}{hint}\n"


def listen(events: str | None = None) -> None:
    """Under mpirun, say that we are here, and end soon after a signal.

    Ranks agree on it between samples; who cannot, ends alone. mpirun kills them a
    second later in any case. `events` is as for `attend`.
    """
    from hpccfpga import _core

    global _pipe_path, _output
    rank = under_mpi()
    if events == OUTPUT:
        from hpccfpga import daemon

        daemon.watch()
        _output = _taken_output()
    else:
        _pipe_path = events
    if rank is None:
        return
    ears, signals = os.pipe()
    os.set_blocking(ears, False)
    os.set_blocking(signals, False)
    signal.set_wakeup_fd(signals)
    out = _pipe() if heard() else 2  # open as long as we live
    delay = 1.5 if rank else 0.5  # rank 0 is heard before another ends
    _core.guard_signals(ears, out, delay, INTERRUPTED, say(KeyboardInterrupt()))
    if heard():
        tell("here", rank)


def world(deadline: float) -> Comm | None:
    """Communicator of the ranks that mpirun started, or None without it.

    Parameters
    ----------
    deadline : float
        Longest wait for another rank, from now until this one has left [s].
    """
    global _patience
    _patience = patience(deadline)
    if under_mpi() is None:
        return None
    import mpi4py

    # No other thread calls MPI. At any other level Open MPI takes locks, which cost as
    # much as a short message.
    mpi4py.rc.thread_level = "single"
    with _waiting():
        from mpi4py import MPI

    return MPI.COMM_WORLD


@contextmanager
def _waiting() -> Iterator[None]:
    """End this process, as a run that failed, if the block takes too long."""
    from hpccfpga import _core

    # Who started mpirun here sees what is stopped: what is slow has its time.
    most = max(_patience, STARTING) if heard() else _patience
    _end_after(most, FAILED, "the other ranks to start")
    try:
        yield
    finally:
        _core.guard_until(0, 0, b"")


def _end_after(most: float, code: int, what: str) -> None:
    """End this process if it still waits for something then.

    Rank 0 is heard first: mpirun takes a second to ask the others to end.
    """
    from hpccfpga import _core

    rank = under_mpi() or 0
    text = f"rank {rank} waited {most:g} s for {what}"
    _core.guard_until(most + 2 * (rank > 0), code, say(RuntimeError(text)))


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


def leave(code: int, alone: bool) -> None:
    """End such that every rank ends, and rank 0 has been heard.

    Parameters
    ----------
    code : int
        Exit code.
    alone : bool
        The other ranks may not come to MPI_Finalize.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # told already, or nobody to tell; else Python's end fails, too
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    rank = under_mpi()
    if rank is None:
        return
    _endable()
    mpi = sys.modules.get("mpi4py.MPI")
    up = mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized()
    if up and not alone:  # MPI_Finalize lets all ranks end together
        _end_after(_patience, code or FAILED, "MPI to end")
        return
    if rank:
        time.sleep(1)  # mpirun stops all ranks when the first one fails
    if up:
        os._exit(code)


def _endable() -> None:
    """Let signals end this process at once."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _taken_output() -> int:
    """Keep standard output for words: what libraries print there is lost."""
    output = os.dup(1)
    os.set_blocking(output, False)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return output


def _pipe() -> int:
    if _output is not None:
        return os.dup(_output)
    assert _pipe_path is not None
    return os.open(_pipe_path, os.O_WRONLY | os.O_NONBLOCK)  # if it is read


def _event(*event: object) -> bytes:
    # Without a <, no word is taken for a tag of mpirun.
    told = json.dumps(event).replace("<", r"\u003c")
    return f"{_START}{told}{_END}\n".encode()


def _failure(error: BaseException) -> tuple[str, int | None, dict[str, str]]:
    """Event of an error, its text cut to what a pipe takes whole."""
    rank, told = under_mpi(), encode(error)
    while len(_event("error", rank, told)) > select.PIPE_BUF:
        told["error"] = f"{told['error'][: len(told['error']) * 3 // 4]}..."
    return "error", rank, told


def _rest(pipe: int, data: bytes) -> bytes:
    """Write to the pipe, and return what it has not taken.

    It takes all or nothing, so that words of several ranks do not mix. What is too long
    for that counts as taken: it never will be. A terminal, of one rank alone, may take
    a part.
    """
    try:
        return b"" if len(data) > select.PIPE_BUF else data[os.write(pipe, data) :]
    except BlockingIOError:
        return data


def handle(comm: Comm | None) -> tuple[int | None, str]:
    """Fortran handle of a communicator, and the version of its MPI library."""
    if comm is None:
        return None, ""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Comm):
        raise TypeError(f"comm: {brief(comm)} is no mpi4py communicator")
    if not mpi.Is_initialized():
        raise ValueError("comm: MPI is not initialised; call MPI.Init() first")
    if mpi.Is_finalized():
        raise ValueError("comm: MPI is finalised already")
    if comm == mpi.COMM_NULL:
        raise ValueError("comm: this rank is in no communicator (COMM_NULL)")
    if comm.Is_inter():
        raise ValueError("comm: an intercommunicator has no common ranks")
    return comm.py2f(), mpi.Get_library_version()
