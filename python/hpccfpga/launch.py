"""Start ranks under mpirun, and bring back their result or their one line of error."""

from __future__ import annotations

import json
import math
import os
import select
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from hpccfpga import _core, emulation, keeper, mpirun
from hpccfpga.arguments import count, number, word
from hpccfpga.errors import again, debugging
from hpccfpga.keeper import GRACE, marked
from hpccfpga.options import option
from hpccfpga.progress import Callback
from hpccfpga.progress import progress as make_progress
from hpccfpga.ranks import EVENTS, patience
from hpccfpga.result import Result
from hpccfpga.session import warn
from hpccfpga.text import printable

RANKS_PER_CORE = 64
"""Ranks that are started here at most, per core of this machine."""

ROOM, ROOM_FILES = 16 << 20, 64
"""Room for temporary files without which mpirun is not started [B], [files]."""

STARTING = 60.0
"""Longest wait for the first word of a rank, or of one more [s]."""

ENDING = 5.0
"""Time for mpirun to end after a rank's last word [s]."""

SHARED_MEMORY = Path("/dev/shm")


def launch(
    benchmark: str,
    *,
    ranks: int,
    exchange: str = "pcie",
    device: str | int | None = None,
    kernel: str | os.PathLike[str] | None = None,
    trace: bool = False,
    timeout: float = 600,
    progress: bool | Callback | None = None,
    **params: Any,
) -> Result:
    """Measure one benchmark on ranks that mpirun starts on this machine.

    For notebooks and scripts that do not run under mpirun themselves.

    Parameters
    ----------
    benchmark : str
        One of `hpccfpga.benchmarks()`, or "calibration".
    ranks : int
        Number of ranks, also more than there are cores, up to 64 per core.
    exchange, device, kernel, trace, **params
        As for `hpccfpga.run`; `exchange`, `kernel` and `trace` do not apply to
        "calibration".
    timeout : float
        Time for all of it, after which the ranks are stopped [s].
    progress : bool or callable, optional
        True shows the progress. A callable gets the number of the point just done, the
        number of points, and a dict of its values in SI units.

    Returns
    -------
    Result
        Of kind "measured", as from `hpccfpga.run`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError
        As `hpccfpga.run` raises on the ranks.
    Error
        So too; also if a rank was killed, the time is over, or mpirun does not work.
    """
    known = ["calibration", *(name for name, _ in _core.components("bench"))]
    word("benchmark", benchmark, known)
    arguments = ["calibrate"] if benchmark == "calibration" else ["run", benchmark]
    options: dict[str, Any] = {"device": device}
    if benchmark != "calibration":
        options |= {"exchange": exchange, "kernel": kernel}
    params |= {name: value for name, value in options.items() if value is not None}
    arguments += [
        f"{option(name)}={_text(name, value)}" for name, value in params.items()
    ]
    if trace and benchmark != "calibration":
        arguments.append("--trace")
    with ExitStack() as stack:
        watch = progress if callable(progress) else None
        if progress is True:
            told = None if benchmark == "calibration" else benchmark
            scheme = f" {exchange}" if told else ""
            title = f"{benchmark}{scheme}, {ranks} rank{'s' * (ranks != 1)}"
            watch = stack.enter_context(make_progress(title, told))
        deadline = params.get("deadline")
        (result,) = start(arguments, ["--json"], ranks, timeout, watch, deadline)
    warn(result)
    return result


def start(
    arguments: Sequence[str],
    outputs: Sequence[str],
    ranks: int,
    timeout: float,
    watch: Callback | None,
    deadline: Any = None,
) -> list[Result]:
    """Run the command `hpccfpga` on ranks of its own.

    Parameters
    ----------
    arguments : sequence of str
        Of the command, without `--ranks` and without options for output files.
    outputs : sequence of str
        Its options for result files that are wanted; the first is "--json".
    ranks : int
        Number of ranks.
    timeout : float
        Time after which they are stopped [s].
    watch : callable or None
        As for `launch`.
    deadline : float or str, optional
        That of the ranks, among `arguments`, too [s].

    Returns
    -------
    list of Result
        One per entry of `outputs`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As the ranks raised them, and as `launch` says.
    """
    ranks = count("ranks", ranks)
    most = RANKS_PER_CORE * emulation.cpus()
    if ranks > most:
        raise ValueError(
            f"ranks: {ranks} are more than the {most} started here at most, "
            f"{RANKS_PER_CORE} per core; for several machines call mpirun yourself"
        )
    if timeout != math.inf:
        timeout = number("timeout", timeout)
    command = [*arguments, f"--ranks={ranks}"]
    _check_room()
    starter = mpirun.command()
    with _Keeper() as kept:
        paths = [kept.folders[0] / f"{number}.json" for number in range(len(outputs))]
        files = [
            f"{option}={path}" for option, path in zip(outputs, paths, strict=True)
        ]
        words = [*command, "--events", *files]
        with _Job(starter, words, ranks, timeout, watch, kept, deadline) as job:
            job.wait()
        if job.killed or job.errors or not all(path.exists() for path in paths):
            job.blame()
        results = [Result.from_json(path) for path in paths]
    for result in results:
        result.provenance["command"] = shlex.join(["hpccfpga", *command])
    return results


class _Keeper:
    """The program that keeps the folders of a job, and ends the job if we are killed.

    Whatever the ranks and mpirun leave in files lies in `folders`, one on a disk and
    one in memory.
    """

    def __enter__(self) -> _Keeper:
        parents = [tempfile.gettempdir()]
        if os.access(SHARED_MEMORY, os.W_OK):
            parents.append(str(SHARED_MEMORY))
        self.mark = new_mark()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, self.mark, *parents],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.folders = [Path(os.fsdecode(path)) for path in self._told()]
        if len(self.folders) == len(parents):
            return self
        self.__exit__()
        raise _core.Error(f"no folders could be made in {' and '.join(parents)}")

    def __exit__(self, *exception: object) -> None:
        """Tell it that all is well; a keeper that does not hear it is not needed."""
        try:
            self.process.communicate(b"done", 10 * GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        except OSError:  # somebody killed it
            pass
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _told(self) -> list[bytes]:
        """Paths of the folders, as far as they come in time."""
        assert self.process.stdout is not None
        said, end = b"", time.monotonic() + STARTING
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.process.stdout], [], [], left)[0]:
                break
            if not (more := os.read(self.process.stdout.fileno(), 4096)):
                break
            said += more
        return said.split(b"\0")[:-1]


class _Job:
    """Running mpirun: its processes and what they say."""

    def __init__(
        self,
        starter: Sequence[str],
        arguments: Sequence[str],
        ranks: int,
        timeout: float,
        watch: Callback | None,
        kept: _Keeper,
        deadline: Any,
    ) -> None:
        self.timeout = timeout
        self.patience = min(STARTING, patience(deadline))
        self.watch = watch
        self.said: list[str] = []  # by mpirun
        self.lines: list[str] = []  # by ranks, on standard error
        self.noise: list[str] = []  # by their libraries, not shown
        self.errors: dict[int, dict[str, str]] = {}  # what each rank says it raised
        self.here: set[int] = set()  # ranks that said a word
        self.heard = time.monotonic()  # the last first word of a rank
        self.ended = False  # a rank has said its last
        self.looked = self.moving = self.heard  # at mpirun; it was not stopped
        program = [sys.executable, "-m", "hpccfpga", *arguments]
        command = [*starter, "-n", str(ranks), *program]
        environment = mpirun.surroundings()
        events = kept.folders[0] / "events"
        os.mkfifo(events)
        self.events = os.open(events, os.O_RDONLY | os.O_NONBLOCK)
        environment[EVENTS] = str(events)
        environment["TMPDIR"] = str(kept.folders[0])
        for name in ("btl_vader", "btl_sm", "osc_sm"):
            environment.setdefault(
                f"OMPI_MCA_{name}_backing_directory", str(kept.folders[-1])
            )
        # Open MPI need not wait 2 s for ranks: rank 0 is heard before another ends.
        environment["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        self.mark = kept.mark
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment | {self.mark: ""},
                process_group=0,  # a session would starve ours: Linux shares by those
            )
        except OSError as error:
            os.close(self.events)
            raise _core.Error(f"mpirun does not start: {error.strerror}") from None

    def __enter__(self) -> _Job:
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
                    end = min(end, now + ENDING)
                elif 0 not in self.here and now - self.heard > self.patience:
                    self._give_up()
                self._look(now)
                if now > end:
                    break
            self._read(self.events, talks.data)
        if self.process.poll() is None and not self.ended and time.monotonic() > end:
            raise _core.Error(
                f"no result after {self.timeout:g} s: the ranks were stopped"
            )
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, end - time.monotonic()))

    def _look(self, now: float) -> None:
        """Once in a second: a stopped mpirun ends nothing and passes nothing on."""
        if now < self.looked + 1:
            return
        self.looked = now
        with suppress(OSError):
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] != "T":
                self.moving = now
        if now > self.moving + self.patience:
            raise _core.Error(
                f"mpirun, process {self.process.pid}, has been stopped for "
                f"{self.patience:g} s"
            )

    def _give_up(self) -> NoReturn:
        who = "rank 0 has not" if self.here else "no rank has"
        raise _core.Error(
            f"{who} started within {self.patience:g} s; mpirun said: "
            f"{self._words() or 'nothing'}"
        )

    def _words(self) -> str:
        """Join what mpirun said to one line."""
        said = " ".join(line for line in self.said if line.strip(" -="))
        return " ".join(said.split())[:400]

    @property
    def killed(self) -> str:
        """Who was killed by what, if a signal ended a rank."""
        # Open MPI 5 breaks its lines where they are full.
        match = mpirun.KILLED.search(" ".join(" ".join(self.said).split()))
        if not match:
            return ""
        found = {k.rstrip("_"): v for k, v in match.groupdict().items() if v}
        number = int(found["signal"])
        with suppress(ValueError):
            found["signal"] = f"signal {number} ({signal.Signals(number).name})"
        who = (
            f"rank {found['rank']} on {found['node']}" if "rank" in found else "a rank"
        )
        return f"{who} was killed by {found['signal']}; all ranks were stopped"

    def blame(self) -> NoReturn:
        """Raise for ranks that ended without a result."""
        if self.killed:
            raise _core.Error(self.killed)
        if self.errors:
            raise again(self.errors[min(self.errors)])
        code = self.process.returncode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            raise _core.Error(
                f"mpirun was killed by signal {-code} ({name}); all ranks were stopped"
            )
        why = _last_words(self.lines) or self._words() or _last_words(self.noise)
        why = " ".join(why.split())[:400] or "neither it nor a rank said why"
        raise _core.Error(f"mpirun ended with code {code} and no result: {why}")

    def _read(self, fd: int, rest: list[bytes]) -> bool:
        """Take what is there; False at the end of the stream."""
        assert self.process.stderr is not None
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return True
        *lines, rest[0] = (rest[0] + data).split(b"\n")
        if not data and rest[0]:
            lines.append(rest[0])
        for line in lines:
            # PRRTE puts zeros between what it passes on.
            text = line.replace(b"\0", b"").decode(errors="replace").rstrip("\r")
            if fd == self.events:
                self._event(json.loads(text))
            else:
                self._line(text, fd == self.process.stderr.fileno())
        return bool(data)

    def _line(self, text: str, error: bool) -> None:
        tag = mpirun.TAG.search(text)
        bare = mpirun.TAG.sub("", text)
        if not tag:
            self.said.append(text)
        elif error and not debugging() and mpirun.NOISE.match(bare):
            self.noise.append(bare)
        elif error:
            self.lines.append(bare)
            # What Python says before it comes to our code stands in our error.
            if debugging() or int(tag["rank"] or tag["rank_"]) in self.here:
                print(printable(bare), file=sys.stderr, flush=True)

    def _event(self, event: list[Any]) -> None:
        word, *more = event
        if word == "here":
            self.here.add(*more)
            self.heard = time.monotonic()
        elif word == "row" and self.watch:
            self.watch(*more)
        elif word == "error":
            self.errors[more[0]] = more[1]
        self.ended = self.ended or word in ("error", "end")

    def _stop(self) -> None:
        """End mpirun and whatever it started here."""
        own = self.process.pid
        for kind in (signal.SIGTERM, signal.SIGKILL):
            # mpirun last, as it waits a second for ranks that it ends itself, and
            # politely, as there may be ranks on other machines.
            for pid in sorted(marked(self.mark), key=lambda pid: pid == own):
                with suppress(ProcessLookupError):
                    os.kill(pid, kind if pid == own else signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
                return


def _last_words(lines: Sequence[str]) -> str:
    """Return the last line, with those before it that begin with the same word."""
    told = [line.split(maxsplit=1) for line in lines if line.strip()]
    if not told:
        return ""
    same = takewhile(lambda words: words[0] == told[-1][0], reversed(told))
    return " ".join([told[-1][0], *(" ".join(words[1:]) for words in [*same][::-1])])


def _check_room() -> None:
    """Raise Error for a folder of temporary files in which mpirun gets stuck."""
    for folder in {os.environ.get("TMPDIR", ""), tempfile.gettempdir()} - {""}:
        try:
            found = os.statvfs(folder)
        except OSError:
            continue  # all who use it take another
        free = found.f_bavail * found.f_frsize
        if free < ROOM or (found.f_files > 0 and found.f_favail < ROOM_FILES):
            raise _core.Error(
                f"{folder} has room for {free} B and {found.f_favail} files; mpirun "
                f"needs some {ROOM} B and {ROOM_FILES} files there: set TMPDIR"
            )


def new_mark() -> str:
    """Name of an environment variable by which a job's processes are found again."""
    return f"HPCCFPGA_JOB_{os.urandom(8).hex()}"


def _text(name: str, value: Any) -> str:
    """Value as an option of the command."""
    if value is None:
        raise ValueError(f"{name}: None is not a number")
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    try:
        return ",".join(str(entry) for entry in value)
    except TypeError:
        return str(value)
