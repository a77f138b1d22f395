"""Start ranks under mpirun, and bring back their results or their one line of error."""

from __future__ import annotations

import base64
import json
import math
import os
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, NoReturn

from hpccfpga import _core, emulation, mpirun
from hpccfpga.arguments import count, number
from hpccfpga.errors import INTERRUPT, Stopped, debugging, decode
from hpccfpga.hosts import placed
from hpccfpga.job import Job, packed
from hpccfpga.keeper import GRACE, LEAVING, Keeper, marked
from hpccfpga.perform import JOB, result_path, result_read
from hpccfpga.progress import Callback, compiling
from hpccfpga.ranks import EVENTS, OUTPUT, Hearing, patience
from hpccfpga.result import Result
from hpccfpga.stops import STARTING, Stops
from hpccfpga.text import printable

RANKS_PER_CORE = 64
"""Ranks that are started here at most, per core of this machine."""

ROOM = 16 << 20
"""Room for temporary files without which mpirun is not started [B]."""

ENDING = 3.0
"""Time for mpirun to end by itself after a rank's last word [s], a part of LEAVING."""

TIMEOUT = 600.0
"""Longest time of all ranks together unless told [s]."""


def longest(timeout: float) -> float:
    """Longest time of all ranks [s]: a positive number, or infinity."""
    return timeout if timeout == math.inf else number("timeout", timeout)


def start(
    job: Job,
    ranks: int,
    timeout: float = TIMEOUT,
    watch: Callback | None = None,
    hosts: Sequence[str] | None = None,
) -> list[Result]:
    """Do a job on ranks that mpirun starts.

    Parameters
    ----------
    job : Job
        What to measure.
    ranks : int
        Number of ranks, also more than there are cores, up to 64 per core.
    timeout : float
        Time for all of it, after which the ranks are stopped [s].
    watch : callable, optional
        Whom to tell of tasks and points, as `Session.run` does.
    hosts : sequence of str, optional
        On which machines, each as "a" or "a:2", with a number of ranks; default: here.

    Returns
    -------
    list of Result
        One per task.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError
        As the ranks raised them.
    Error
        So too; also if a rank was killed, the time is over, or mpirun does not work.
    """
    ranks = count("ranks", ranks)
    where = [] if hosts is None else placed(hosts, ranks)
    _check_number(ranks, len(where))
    timeout = longest(timeout)
    for name in {os.environ.get("TMPDIR", ""), tempfile.gettempdir()} - {""}:
        emulation.check_free(name, ROOM, "mpirun", "TMPDIR")
    starter = mpirun.command(patience(job.deadline), where)
    with ExitStack() as stack:
        try:
            keeper = stack.enter_context(Keeper())
        except OSError as error:
            raise _core.Error(str(error)) from None
        folder = keeper.folders[0]
        with _Ranks(job, starter, ranks, timeout, watch, keeper, where) as running:
            running.wait()
        if running.failed or not running.has_results():
            running.blame()
        results = [result_read(folder, number) for number in range(job.results)]
    for result in results:
        result.provenance["command"] = shlex.join(job.command(ranks, hosts))
    return results


class _Ranks:
    """Running mpirun: its processes and what they say."""

    def __init__(
        self,
        job: Job,
        starter: Sequence[str],
        ranks: int,
        timeout: float,
        watch: Callback | None,
        keeper: Keeper,
        hosts: Sequence[tuple[str, int]],
    ) -> None:
        self.ranks = ranks
        self.timeout = timeout
        self.hosts = ", ".join(name for name, _ in hosts)
        self.stops = Stops(min(STARTING, patience(job.deadline)))
        self.watch = watch
        self.words = mpirun.Words()
        self.explains = mpirun.explains(starter)
        self.errors: dict[int, dict[str, str]] = {}  # what each rank says it raised
        self.here: set[int] = set()  # ranks that said a word
        self.heard = time.monotonic()  # the last first word of a rank
        self.ended = False  # a rank has said its last
        self.begun = False  # all ranks have started
        self.folder = folder = keeper.folders[0]
        self.paths = [result_path(folder, number) for number in range(job.results)]
        self.files: dict[str, bytearray] = {}  # as far as they have come
        self.hearings: dict[int | None, Hearing] = defaultdict(Hearing)
        # -P: others may have put modules into the working folder.
        program = [sys.executable, "-P", "-m", "hpccfpga._rank"]
        environment = mpirun.surroundings(bool(hosts))
        os.mkfifo(folder / EVENTS)
        self.events = os.open(folder / EVENTS, os.O_RDONLY | os.O_NONBLOCK)
        environment["TMPDIR"] = str(folder)
        if hosts:
            where = [OUTPUT, *packed(job)]
        else:
            where = [str(folder)]
            (folder / JOB).write_text(json.dumps(job.document()))
            for name in ("btl_vader", "btl_sm", "osc_sm"):
                environment.setdefault(
                    f"OMPI_MCA_{name}_backing_directory", str(keeper.folders[-1])
                )
        # Open MPI need not wait 2 s for ranks: rank 0 is heard before another ends.
        environment["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        self.keeper = keeper
        try:
            self.process = subprocess.Popen(
                [*starter, "-n", str(ranks), *program, *where],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment | {keeper.mark: ""},
                # A session would starve ours: Linux shares by those. But in one with a
                # terminal ssh would ask there, in the background, and so be stopped.
                process_group=None if hosts else 0,
                start_new_session=bool(hosts),
            )
        except OSError as error:
            os.close(self.events)
            raise _core.Error(f"mpirun does not start: {error.strerror}") from None

    def __enter__(self) -> _Ranks:
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave no process behind, whatever happened."""
        self._stop()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        os.close(self.events)

    def wait(self) -> None:
        """Pass on what the ranks say until all have ended."""
        end = time.monotonic() + self.timeout
        with selectors.DefaultSelector() as selector:
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, [b""])
            selector.register(self.events, selectors.EVENT_READ, [b""])
            talks = selector.get_key(self.events)
            said = {self.process.stdout, self.process.stderr}
            while said:
                for key, _ in selector.select(0.2):
                    if self._read(key.fd, key.data):
                        continue
                    selector.unregister(key.fileobj)
                    said -= {key.fileobj}
                    # No rank holds the pipe any more: mpirun should end, too.
                    self.ended = self.ended or key is talks
                now = time.monotonic()
                if self.process.poll() is not None:  # a stray child may hold the pipes
                    end = min(end, now + GRACE)
                elif self.ended:
                    end = min(end, now + self.keeper.left() - LEAVING + ENDING)
                elif 0 not in self.here and now - self.heard > STARTING:
                    self._give_up()
                if not self.ended:  # later, a rank is found by the others' deadline
                    own = [self.process.pid]
                    self.stops.look(own if self.begun else marked(self.keeper.mark))
                if now > end:
                    break
            self._read(self.events, talks.data)
        if self.process.poll() is None and not self.ended and time.monotonic() > end:
            raise _core.Error(
                f"no result after {self.timeout:g} s: the ranks were stopped"
            )
        with suppress(subprocess.TimeoutExpired):
            self.words.code = self.process.wait(
                max(0.1, min(ENDING, end - time.monotonic()))
            )

    def _give_up(self) -> NoReturn:
        who = "rank 0 has not" if self.here else "no rank has"
        raise _core.Error(
            f"{who} started within {STARTING:g} s; mpirun said: "
            f"{self.words.of_mpirun() or 'nothing'}"
        )

    @property
    def failed(self) -> bool:
        """Whether a rank was killed or told of an error."""
        return bool(self.words.killed() or self.errors)

    def blame(self) -> NoReturn:
        """Raise for ranks that ended without a result."""
        if (killed := self.words.killed()) and not self.words.asked():
            raise _core.Error(killed)
        starved = self.words.starved()
        # Who was interrupted says so first: of an error mpirun interrupts others.
        told = {rank: decode(self.errors[rank]) for rank in self.errors}
        first = next(iter(told.values()), None)
        if isinstance(first, KeyboardInterrupt) and not starved:
            raise first
        for rank in sorted(told):
            if not isinstance(told[rank], KeyboardInterrupt):
                raise told[rank]
        if self.words.asked() and not starved:
            raise Stopped(INTERRUPT)
        code = self.words.code  # not what our own signal made of it
        if code is not None and code < 0:
            mpirun.ended_by(-code, "mpirun")
        if code and self.explains and not self.words.of_mpirun():
            raise Stopped(mpirun.ASKED)
        if self.hosts and len(self.here) < self.ranks:
            raise _core.Error(self._no_start())
        why = self.words.last() or "neither it nor a rank said why"
        raise _core.Error(f"mpirun {self.words.end()} and no result: {why}")

    def _no_start(self) -> str:
        """Line for hosts on which not all ranks have started."""
        why = self.words.of_agent() or self.words.last() or "nobody said why"
        ours = sys.executable in why or "hpccfpga" in why
        hint = f"; each host needs hpccfpga in {sys.executable}" if ours else ""
        return (
            f"hosts: {self.hosts}: mpirun {self.words.end()} before all ranks had "
            f"started: {why}{hint}"
        )

    def _read(self, fd: int, rest: list[bytes]) -> bool:
        """Take what is there; False at the end of the stream."""
        assert self.process.stderr is not None
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return True
        if fd == self.events:
            self._hear(None, data.decode())
            return bool(data)
        *lines, rest[0] = (rest[0] + data).split(b"\n")
        if not data and rest[0]:
            lines.append(rest[0])
        for line in lines:
            # PRRTE puts zeros between what it passes on.
            text = line.replace(b"\0", b"").decode(errors="replace").rstrip("\r")
            self._line(text, fd == self.process.stderr.fileno())
        return bool(data)

    def _hear(self, source: int | None, text: str) -> None:
        for event in self.hearings[source].take(text):
            self._event(event)

    def _line(self, text: str, error: bool) -> None:
        for rank, part in () if error else mpirun.told(text):
            self._hear(rank, part)
        said = self.words.take(text, error, debugging())
        # What Python says before it comes to our code stands in our error.
        if said and (debugging() or said[0] in self.here):
            print(printable(said[1]), file=sys.stderr, flush=True)

    def _event(self, event: list[Any]) -> None:
        word, *more = event
        if word == "here":
            self.here.add(*more)
            self.heard = time.monotonic()
        elif word == "begin":
            self.begun = True
            if begin := getattr(self.watch, "begin", None):
                begin(*more)
        elif word == "compiling":
            compiling(self.watch, *more)
        elif word == "row" and self.watch:
            self.watch(*more)
        elif word == "file":
            self._file(*more)
        elif word == "error":
            self.errors.setdefault(*more)
        last = word == "error" or (word == "end" and self.has_results())
        self.ended = self.ended or last

    def _file(self, name: str, length: int, piece: str) -> None:
        """Take the next piece of a file; it is there when it is whole."""
        there = self.files.setdefault(name, bytearray())
        there += base64.b64decode(piece)
        if len(there) == length:
            (self.folder / os.path.basename(name)).write_bytes(self.files.pop(name))

    def has_results(self) -> bool:
        """Whether all results are there."""
        return all(path.exists() for path in self.paths)

    def _stop(self) -> None:
        """End mpirun and whatever it started here; what hangs is left to the keeper."""
        own = self.process.pid

        def share() -> float:
            return min(GRACE, self.keeper.left() / 4)  # of four waits

        for kind in (signal.SIGTERM, signal.SIGKILL):
            # mpirun last, as it waits a second for ranks that it ends itself, and
            # politely, as there may be ranks on other machines.
            found = marked(self.keeper.mark, share())
            for pid in sorted(found, key=lambda pid: pid == own):
                with suppress(ProcessLookupError):
                    os.kill(pid, kind if pid == own else signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(share())
                return


def _check_number(ranks: int, hosts: int) -> None:
    """Raise ValueError for more ranks than may be started."""
    most = RANKS_PER_CORE * len(emulation.cpus()) * max(1, hosts)
    if ranks > most:
        where = f"on {hosts} hosts" if hosts else "here"
        raise ValueError(
            f"ranks: {ranks} are more than the {most} started {where} at most, "
            f"{RANKS_PER_CORE} per core of this machine; more go on more hosts"
        )
