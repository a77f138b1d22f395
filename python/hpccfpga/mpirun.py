"""Settings of Open MPI, PRRTE and MPICH, and what they and the ranks say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import NoReturn

from hpccfpga import _core
from hpccfpga.emulation import for_others
from hpccfpga.errors import INTERRUPT, STOPS, Stopped
from hpccfpga.stops import LOOKS, SHORTEST, STARTING, Stops

# Of the process manager, not of a user: a second mpirun must not inherit them.
_PRIVATE = re.compile(
    r"PMI_|PMIX_|OMPI_COMM_WORLD_|OMPI_(UNIVERSE_SIZE|FIRST_RANKS|ARGV|COMMAND|"
    r"APP_CTX_NUM_PROCS|NUM_APP_CTX|FILE_LOCATION)|OMPI_MCA_(orte|ess|pmix)_|HYDI?_"
)
# What ranks on other machines get of our environment, too: settings of this package, of
# Python's paths and of OpenCL runtimes.
_TRAVELS = re.compile(
    r"(HPCCFPGA|POCL|OCL|OPENCL|CUDA|XILINX|XCL|OPENBLAS|OMP)_|(PYTHON|LD_LIBRARY_)PATH$"
)
TAG = re.compile(
    r"\[(?:[^\[\]]*[,@])?(?P<rank>\d+)\]<std(?:out|err)>: ?"  # Open MPI: [1,0]<stdout>:
    r"|^\[(?P<rank_>\d+)\] ?"  # MPICH: [0]
)
KILLED = re.compile(
    r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>\S+) exited on signal "
    r"(?P<signal>\d+)"
    r"|RANK (?P<rank_>\d+) PID \d+ RUNNING AT (?P<node_>\S+)\s.*?"
    r"KILLED BY SIGNAL: (?P<signal_>\d+)"
    r"|EXIT STRING: [^(]*\(signal (?P<signal__>\d+)\)"
)
# Open MPI's, of one rank: [node:12] word; since 5.0 [node][[9,1],0][file:12:func] word
NOISE = re.compile(r"\[[\w.-]+(:\d+\] |\]\[\[\d+,\d+\],\d+\])|\*\*\* ")

_ASK = (signal.SIGINT, *STOPS)
_OF_MPICH = "-prepend-rank"
ASKED = f"{INTERRUPT}: mpirun was told to end"
"""Line for a signal that asks mpirun itself to end."""


def surroundings(anywhere: bool = False) -> dict[str, str]:
    """Environment for an mpirun whose ranks are on this machine, or anywhere."""
    found = for_others(os.environ)
    found = {k: v for k, v in found.items() if not _PRIVATE.match(k)}
    if not anywhere and not any(
        re.fullmatch(r"OMPI_MCA_btl(_tcp_.*)?", name) for name in found
    ):
        # Ranks of one machine need no other, and Open MPI 5 tells each of them, on
        # standard error, which of the others it cannot use.
        found["OMPI_MCA_btl_tcp_if_include"] = "lo"
    return found


def find_mpirun(patience: float = SHORTEST) -> tuple[str, str]:
    """Path of mpirun, and what it says about its version.

    Parameters
    ----------
    patience : float
        How long it may be stopped meanwhile [s].

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
        process = subprocess.Popen(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise _core.Error(f"{path} does not start: {error}") from None
    with process:
        try:
            said = _said(process, Stops(patience))
        finally:
            process.kill()
    if said is None:
        raise _core.Error(f"{path} --version has not ended within {STARTING:g} s")
    if process.returncode < 0:
        ended_by(-process.returncode, f"{path} --version")
    return path, said


def ended_by(number: int, who: str) -> NoReturn:
    """Raise for an mpirun that a signal ended, which may be one that asks it to end."""
    if number in _ASK:
        raise Stopped(ASKED)
    raise _core.Error(f"{who} was killed by {_signal(number)}")


def _signal(number: int) -> str:
    with suppress(ValueError):  # those of real time have no names
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def _said(process: subprocess.Popen[str], stops: Stops) -> str | None:
    """Return what a process says until it ends, or None if it does not end."""
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        with suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=LOOKS)
            return (out or err).strip()
        stops.look([process.pid])
    return None


def command(
    patience: float = SHORTEST, hosts: Sequence[tuple[str, int]] = ()
) -> list[str]:
    """Path of mpirun with its options, which differ between MPI libraries.

    Parameters
    ----------
    patience : float
        As for `find_mpirun`.
    hosts : sequence of (str, int), optional
        Where to start ranks, and how many there.
    """
    path, version = find_mpirun(patience)
    if not re.search(r"Open MPI|OpenRTE|PRRTE", version):
        if hosts:
            raise _core.Error(f"hosts: {path} is not of Open MPI: call it yourself")
        return [path, _OF_MPICH]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    if not re.search(r"\) [1-4]\.", version):
        options = ["--map-by", ":OVERSUBSCRIBE", "--output", "tag"]
    else:
        options = ["--oversubscribe", "--tag-output"]
    if hosts:
        named = ",".join(f"{name}:{ranks}" for name, ranks in hosts)
        options += ["--host", named]
        for name in filter(_TRAVELS.match, sorted(surroundings(True))):
            options += ["-x", name]
    # Bound to one core, a CPU device would have one core for all its threads.
    return [path, *root, *options, "--bind-to", "none"]


def explains(command: Sequence[str]) -> bool:
    """Whether an mpirun says why it fails, unless somebody asked it to end.

    Open MPI does, 4 and 5: whatever signal asks it, it ends silently with code 1.
    """
    return _OF_MPICH not in command


def told(text: str) -> Iterator[tuple[int, str]]:
    """Give what ranks say in a line, in which several tags may stand."""
    tags = list(TAG.finditer(text))
    for tag, more in zip(tags, [*tags, None][1:], strict=True):
        yield int(tag["rank"] or tag["rank_"]), text[tag.end() : more and more.start()]


class Words:
    """What mpirun and its ranks say on their streams, sorted by who says it."""

    def __init__(self) -> None:
        self.code: int | None = None  # of mpirun, once it has ended by itself
        self._said: list[str] = []  # by mpirun
        self._lines: list[str] = []  # by ranks, on standard error
        self._noise: list[str] = []  # by their libraries, not shown

    def take(self, text: str, error: bool, debugging: bool) -> tuple[int, str] | None:
        """Take a line; return the rank and the text if a user may want to see it.

        Parameters
        ----------
        text : str
            The line, with the tag of its rank.
        error : bool
            It came on standard error.
        debugging : bool
            What libraries say may be of interest, too.
        """
        tag = TAG.search(text)
        bare = TAG.sub("", text)
        if not tag:
            self._said.append(text)
        elif error and not debugging and NOISE.match(bare):
            self._noise.append(bare)
        elif error:
            self._lines.append(bare)
            return int(tag["rank"] or tag["rank_"]), bare
        return None

    def end(self) -> str:
        """How mpirun ended, if it did."""
        return "hung" if self.code is None else f"ended with code {self.code}"

    def of_mpirun(self) -> str:
        """Join what mpirun said to one line."""
        said = " ".join(line for line in self._said if line.strip(" -="))
        return " ".join(said.split())[:400]

    def of_agent(self) -> str:
        """Join what stands before mpirun's explanations, such as the line of ssh."""
        said = takewhile(lambda line: not line.startswith("-----"), self._said)
        told = " ".join(line for line in said if not NOISE.match(line))
        return " ".join(told.split())[:400] if len(told) < len(self.of_mpirun()) else ""

    def last(self) -> str:
        """Return what tells best why a job ended, in one line, or nothing."""
        why = _last(self._lines) or self.of_mpirun() or _last(self._noise)
        return " ".join(why.split())[:400]

    def _killed(self) -> dict[str, str]:
        """Rank, node and signal of a rank that a signal ended."""
        # Open MPI 5 breaks its lines where they are full.
        said = " ".join(" ".join(self._said).split())
        match = KILLED.search(said)
        named = match.groupdict() if match else {}
        code = self.code or 0
        if not match and code > 128 and "non-zero" in said:  # early in its life
            named = {"signal": str(code - 128)}
        return {k.rstrip("_"): v for k, v in named.items() if v}

    def starved(self) -> bool:
        """Whether mpirun lacked files or memory: it ends its ranks as a user would."""
        return bool(re.search("out.of.resource", self.of_mpirun(), re.IGNORECASE))

    def asked(self) -> bool:
        """Whether a rank was ended by a signal that asks to end."""
        early = "KeyboardInterrupt" in self._lines  # as Python says before our code
        return early or int(self._killed().get("signal", 0)) in _ASK

    def killed(self) -> str:
        """Who was killed by what, if a signal ended a rank."""
        found = self._killed()
        if not found:
            return ""
        by = _signal(int(found["signal"]))
        who = (
            f"rank {found['rank']} on {found['node']}" if "rank" in found else "a rank"
        )
        return f"{who} was killed by {by}; all ranks were stopped"


def _last(lines: Sequence[str]) -> str:
    """Return the last line, with those before it that begin with the same word."""
    told = [line.split(maxsplit=1) for line in lines if line.strip()]
    if not told:
        return ""
    same = takewhile(lambda words: words[0] == told[-1][0], reversed(told))
    return " ".join([told[-1][0], *(" ".join(words[1:]) for words in [*same][::-1])])
