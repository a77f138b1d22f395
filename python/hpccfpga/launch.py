"""Start ranks under mpirun, and bring back their result or their one line of error."""

from __future__ import annotations

import json
import math
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

from hpccfpga import _core, emulation
from hpccfpga.errors import again
from hpccfpga.options import option
from hpccfpga.progress import Callback
from hpccfpga.progress import progress as make_progress
from hpccfpga.result import Result
from hpccfpga.session import warn

EVENTS = "HPCCFPGA_EVENTS"
"""Names the pipe in which rank 0 tells of points and errors, a line of JSON each.

By way of mpirun and its terminals they come seconds late where all cores spin.
"""

RANKS_PER_CORE = 64
"""Ranks that are started here at most, per core of this machine."""

GRACE = 1.0
"""Time from a polite end to a forced one [s]."""

# Of the process manager, not of a user: a second mpirun must not inherit them.
_PRIVATE = re.compile(
    r"PMI_|PMIX_|OMPI_COMM_WORLD_|OMPI_(UNIVERSE_SIZE|FIRST_RANKS|ARGV|COMMAND|"
    r"APP_CTX_NUM_PROCS|NUM_APP_CTX|FILE_LOCATION)|OMPI_MCA_(orte|ess|pmix)_|HYDI?_"
)
_TAG = re.compile(
    r"\[(?:[^\[\]]*[,@])?\d+\]<std(?:out|err)>: ?"  # Open MPI: [1,0]<stdout>:
    r"|^\[\d+\] ?"  # MPICH: [0]
)
_KILLED = re.compile(
    r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>\S+) exited on signal "
    r"(?P<signal>\d+)"
    r"|RANK (?P<rank_>\d+) PID \d+ RUNNING AT (?P<node_>\S+)\s.*?"
    r"KILLED BY SIGNAL: (?P<signal_>\d+)"
    r"|EXIT STRING: [^(]*\(signal (?P<signal__>\d+)\)",
    re.DOTALL,
)
_LIBRARY_NOISE = re.compile(r"\[[\w.-]+:\d+\] ")  # Open MPI's, of one rank


def launch(
    benchmark: str,
    *,
    ranks: int,
    exchange: str = "pcie",
    device: str | int | None = None,
    kernel: str | os.PathLike[str] | None = None,
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
    exchange, device, kernel, **params
        As for `hpccfpga.run`; `exchange` and `kernel` do not apply to "calibration".
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
    arguments = ["calibrate"] if benchmark == "calibration" else ["run", benchmark]
    options: dict[str, Any] = {"device": device}
    if benchmark != "calibration":
        options |= {"exchange": exchange, "kernel": kernel}
    params |= {name: value for name, value in options.items() if value is not None}
    arguments += [
        f"{option(name)}={_text(name, value)}" for name, value in params.items()
    ]
    with ExitStack() as stack:
        watch = progress if callable(progress) else None
        if progress is True:
            told = None if benchmark == "calibration" else benchmark
            scheme = f" {exchange}" if told else ""
            title = f"{benchmark}{scheme}, {ranks} rank{'s' * (ranks != 1)}"
            watch = stack.enter_context(make_progress(title, told))
        (result,) = start(arguments, ["--json"], ranks, timeout, watch)
    warn(result)
    return result


def start(
    arguments: Sequence[str],
    outputs: Sequence[str],
    ranks: int,
    timeout: float,
    watch: Callback | None,
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

    Returns
    -------
    list of Result
        One per entry of `outputs`.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, NotImplementedError, Error
        As the ranks raised them, and as `launch` says.
    """
    if not isinstance(ranks, int) or ranks < 1:
        raise ValueError(f"ranks: {ranks!r} is not a number from 1 up")
    most = RANKS_PER_CORE * emulation.cpus()
    if ranks > most:
        raise ValueError(
            f"ranks: {ranks} are more than the {most} started here at most, "
            f"{RANKS_PER_CORE} per core; for several machines call mpirun yourself"
        )
    if not timeout > 0:
        raise ValueError(f"timeout: {timeout!r} is not a time above 0 s")
    command = [*arguments, f"--ranks={ranks}"]
    with tempfile.TemporaryDirectory(prefix="hpccfpga-") as folder:
        paths = [Path(folder, f"{number}.json") for number in range(len(outputs))]
        files = [
            f"{option}={path}" for option, path in zip(outputs, paths, strict=True)
        ]
        pipe = Path(folder, "events")
        with _Job([*command, "--events", *files], ranks, timeout, watch, pipe) as job:
            job.wait()
        if job.killed or job.error or not all(path.exists() for path in paths):
            job.blame()
        results = [Result.from_json(path) for path in paths]
    for result in results:
        result.provenance["command"] = shlex.join(["hpccfpga", *command])
    return results


class _Job:
    """Running mpirun: its processes and what they say."""

    def __init__(
        self,
        arguments: Sequence[str],
        ranks: int,
        timeout: float,
        watch: Callback | None,
        events: Path,
    ) -> None:
        self.timeout = timeout
        self.watch = watch
        self.said: list[str] = []  # by mpirun
        self.lines: list[str] = []  # by ranks, on standard error
        self.error: dict[str, str] = {}  # what rank 0 says that all ranks raised
        program = [sys.executable, "-m", "hpccfpga", *arguments]
        command = [*_mpirun(), "-n", str(ranks), *program]
        environment = {k: v for k, v in os.environ.items() if not _PRIVATE.match(k)}
        # In case that we are killed, mpirun has a deadline of its own.
        os.mkfifo(events)
        self.events = os.open(events, os.O_RDWR | os.O_NONBLOCK)  # so it never ends
        environment[EVENTS] = str(events)
        environment["MPIEXEC_TIMEOUT"] = str(math.ceil(min(timeout, 1e9) + 10))
        # Open MPI need not wait 2 s for ranks: rank 0 is heard before another ends.
        environment["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        self.mark = new_mark()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment | {self.mark: ""},
            process_group=0,  # a session would starve ours: Linux shares by those
        )

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
            while len(selector.get_map()) > 1:
                for key, _ in selector.select(0.2):
                    if not self._read(key.fd, key.data):
                        selector.unregister(key.fileobj)
                if self.process.poll() is not None:  # a stray child may hold the pipes
                    end = min(end, time.monotonic() + GRACE)
                if time.monotonic() > end:
                    break
            self._read(self.events, selector.get_key(self.events).data)
        if self.process.poll() is None and time.monotonic() > end:
            raise _core.Error(
                f"no result after {self.timeout:g} s: the ranks were stopped"
            )
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, end - time.monotonic()))

    @property
    def killed(self) -> str:
        """Who was killed by what, if a signal ended a rank."""
        match = _KILLED.search("\n".join(self.said))
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
        if self.error:
            raise again(self.error)
        said = [line for line in self.said if line.strip(" -=")]
        last = self.lines[-1:] or [" ".join(" ".join(said).split())[:400]]
        code = self.process.returncode
        raise _core.Error(f"mpirun ended with code {code} and no result: {last[0]}")

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
            text = line.decode(errors="replace").rstrip("\r")
            if fd == self.events:
                self._event(json.loads(text))
            else:
                self._line(text, fd == self.process.stderr.fileno())
        return bool(data)

    def _line(self, text: str, error: bool) -> None:
        bare = _TAG.sub("", text)
        if bare == text:
            self.said.append(text)
        elif error and (_debug() or not _LIBRARY_NOISE.match(bare)):
            self.lines.append(bare)
            print(bare, file=sys.stderr, flush=True)

    def _event(self, event: list[Any]) -> None:
        if len(event) == 1:
            self.error = event[0]
        elif self.watch:
            self.watch(*event)

    def _stop(self) -> None:
        """End mpirun and whatever it started here."""
        own = self.process.pid
        for number in (signal.SIGTERM, signal.SIGKILL):
            # mpirun last, as it waits a second for ranks that it ends itself, and
            # politely, as there may be ranks on other machines.
            for pid in sorted(marked(self.mark), key=lambda pid: pid == own):
                with suppress(ProcessLookupError):
                    os.kill(pid, number if pid == own else signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
                return


def new_mark() -> str:
    """Name of an environment variable by which a job's processes are found again."""
    return f"HPCCFPGA_JOB_{os.urandom(8).hex()}"


def marked(mark: str) -> Iterator[int]:
    """Living processes of a job; mpirun's ranks are in groups of their own."""
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            environment = Path("/proc", str(int(entry)), "environ").read_bytes()
            if f"{mark}=".encode() in environment:
                yield int(entry)


def find_mpirun() -> tuple[str, str]:
    """Path of mpirun, and what it says about its version.

    Raises
    ------
    Error
        There is none, or it does not start.
    """
    path = shutil.which("mpirun") or shutil.which("mpiexec")
    if path is None:
        raise _core.Error(
            "mpirun not found: install an MPI, for example apt install openmpi-bin"
        )
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _core.Error(f"{path} does not start: {error}") from None
    return path, (said.stdout or said.stderr).strip()


def _mpirun() -> list[str]:
    """Path of mpirun with its options, which differ between MPI libraries."""
    path, version = find_mpirun()
    if not re.search(r"Open MPI|OpenRTE|PRRTE", version):
        return [path, "-prepend-rank"]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    if not re.search(r"\) [1-4]\.", version):
        options = ["--map-by", ":OVERSUBSCRIBE", "--output", "tag"]
    else:
        options = ["--oversubscribe", "--tag-output"]
    # Bound to one core, a CPU device would have one core for all its threads.
    return [path, *root, *options, "--bind-to", "none"]


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


def _debug() -> bool:
    return bool(os.environ.get("HPCCFPGA_DEBUG"))
