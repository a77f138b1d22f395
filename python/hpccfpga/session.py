"""Sessions: open a device and an exchange scheme, run benchmarks, get results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from hpccfpga import _core, choice, components, emulation, kernels, traces
from hpccfpga.arguments import flag, number, word
from hpccfpga.calibration import of_parts, parts_of
from hpccfpga.choice import AUTO, Expected
from hpccfpga.components import (
    CALIBRATION,
    RING,
    Part,
    exchanges,
    sends_blocks,
)
from hpccfpga.components import deadline as default_deadline
from hpccfpga.errors import limits, others_beside
from hpccfpga.outcome import described, result_of, warn
from hpccfpga.preparation import Prepared, prepared
from hpccfpga.progress import Callback, begin, compiling, follow
from hpccfpga.progress import check as check_progress
from hpccfpga.provenance import counted_ranks, origin
from hpccfpga.ranks import handle as handle_of
from hpccfpga.result import Result
from hpccfpga.text import printable
from hpccfpga.turns import Run, Turn, in_order, runs_of, turns_of

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


_T = TypeVar("_T")

ALONE = "under mpirun, but comm= was not given: each process measures alone"
"""Note of a run beside others that it knows nothing of."""


class Session:
    """A device and an exchange scheme, held open; use it in a `with` statement.

    Collective over the ranks of `comm`, as are all that measures, `agree` and `close`.

    Parameters
    ----------
    device : str or int, optional
        "host", "opencl", "opencl:SELECTOR" or SELECTOR, which is an index, a type
        ("cpu", "gpu", "accelerator"), or a part of a platform's or device's name or of
        a device's version; where several devices fit, each node-local rank takes its
        own. Default: what the scheme needs.
    exchange : str
        Name of the exchange scheme; or "auto": messages of each length go over the
        scheme that the calibrated model expects to be the fastest for them.
    comm : mpi4py.MPI.Comm, optional
        The ranks; default: this process alone, without MPI.
    deadline : float, optional
        Longest wait for another rank while the session opens and closes, and between
        runs, which have their own parameter `deadline` [s]; default: that parameter's.
    trace : bool or int
        Record what device and ranks do, and when, in the timed part of samples, up to
        `hpccfpga.traces.SPANS` spans of a sample on each rank or as many as told;
        `Result.trace` holds the best sample of each point, that of the column `time`.
        The same on all ranks. Recording takes time: take rates from a run without it.
    calibration : Result, optional
        What "auto" chooses by: what `calibrate` measured, on the same ranks and devices
        at best. Default: before the first run that sends blocks, a short calibration is
        made.
    board : str, optional
        Board whose data are chosen by, in place of a calibration.

    Raises
    ------
    LookupError
        Unknown exchange or device; the message lists the known ones.
    TypeError
        `comm` is no communicator.
    ValueError
        MPI is not up, or `comm` belongs to another MPI library; the ranks differ in
        version, exchange or kind of device.
    Error
        No OpenCL platform, or one that fails; a rank does not answer.
    """

    def __init__(
        self,
        device: str | int | None = None,
        exchange: str = _core.SCHEME,
        comm: Comm | None = None,
        deadline: float | None = None,
        trace: bool | int = False,
        calibration: Result | None = None,
        board: str | None = None,
    ) -> None:
        word("exchange", exchange, [*exchanges().names, AUTO])
        handle, self._mpi = handle_of(comm)
        if deadline is None:
            deadline = default_deadline()
        self._chosen, self._comm, self._deadline = device, comm, deadline
        chosen = "" if device is None else word("device", str(device))
        emulation.prepare(exchange)
        self._expected: Expected | None = None
        self._unsettled = exchange == AUTO
        self._no_relay = ""
        self._traced = (spans := traces.spans(trace)) > 0
        try:
            self._core = _core.Session(
                chosen,
                _core.SCHEME if exchange == AUTO else exchange,
                handle,
                self._mpi,
                number("deadline", deadline),
                _core.VERSION,
                trace=spans,
                folder=emulation.folder(),
                **emulation.vendors(),
            )
        except _core.Error as error:
            raise _core.Error(f"{error}{limits()}") from None
        try:
            self._expected = self._agreed(choice.expected, exchange, calibration, board)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        """Return the session itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the session."""
        self.close()

    def __repr__(self) -> str:
        """One line."""
        where = f"{self.device['name']}, rank {self.rank} of {self.size}"
        return f"<Session exchange {self.exchange}, {where}>"

    @property
    def rank(self) -> int:
        """Number of this rank, 0 .. size - 1."""
        return self._core.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._core.size

    @property
    def exchange(self) -> str:
        """Name of the exchange scheme."""
        return AUTO if self._unsettled else self._core.exchange

    @property
    def device(self) -> dict[str, Any]:
        """Device of this rank, as `hpccfpga.devices` describes it.

        `memory` [B] is what this rank may take of it: an equal share with the other
        ranks of the device, of a CPU at most of half of the host's memory.
        """
        return dict(self._core.device)

    def close(self) -> None:
        """Release the device and the ranks."""
        self._core.close()

    def agree(self, error: BaseException | None) -> None:
        """Raise on every rank if any rank gives an error.

        Among several ranks, what ValueError, MemoryError, LookupError,
        NotImplementedError and KeyboardInterrupt do not cover is raised as Error.
        """
        if error is not None and self.size == 1:
            raise error
        try:
            self._core.agree(error)
        except BaseException as agreed:
            told = type(agreed) is type(error)  # and says what `error` does
            raise agreed from (None if told else error)

    def _agreed(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call; what that raises on any rank is raised on all."""
        error: BaseException | None = None
        try:
            found = function(*arguments)
        except BaseException as raised:
            error = raised
        self.agree(error)
        return found

    def run(
        self,
        benchmark: str,
        *,
        kernel: str | os.PathLike[str] | None = None,
        progress: bool | Callback | None = None,
        **params: Any,
    ) -> Result:
        """Measure one benchmark.

        Parameters
        ----------
        benchmark : str
            One of `hpccfpga.benchmarks()`.
        kernel : path, optional
            Kernels to use: OpenCL C source (`.cl`), or a program binary with its
            manifest `<path>.json` beside it. Default: the package's own, built for the
            device and kept in a cache.
        progress : bool or callable, optional
            True shows the progress of rank 0. A callable gets, on every rank, the
            number of the point just done, the number of points, and a dict of its
            values in SI units. A method `begin` of it gets a title and the benchmark
            before the first point, a method `compiling` before kernels are compiled.
        **params : int, float, str, path or sequence of int
            Parameters of the benchmark, as `hpccfpga.benchmarks()` describes them, the
            same on every rank.

        Returns
        -------
        Result
            Of kind "measured". `samples` [s per step] is [points, reps, ranks], columns
            that end in `_ranks` are [points, ranks], all else [points]; figures are of
            the best repetition of the slowest rank. Wrong data gives a
            VerificationWarning and `verified` False, no exception.

        Raises
        ------
        LookupError
            Unknown benchmark; the message lists the known ones.
        ValueError
            Unknown or impossible parameters, unusable kernel file, closed session.
        MemoryError
            The device or the host has too little memory.
        NotImplementedError
            The benchmark cannot run over this exchange scheme.
        Error
            The device failed, or a rank did not answer by the deadline.
        """
        if self._unsettled:
            self._core.same("benchmark", printable(str(benchmark)))
        if self._unsettled and sends_blocks(benchmark):
            self._settle(progress, params)
        return self._told(
            self._run(Run(benchmark, self.exchange, kernel, params), progress)
        )

    def _told(self, result: Result, deeper: int = 0) -> Result:
        """Give a result; warn the caller of the public method if its data is wrong."""
        if self.rank == 0:
            warn(result, 4 + deeper)
        return result

    def _run(self, run: Run, progress: bool | Callback | None) -> Result:
        """Measure over the scheme that there is now, which is called `run.exchange`."""
        start = datetime.now(UTC)
        title = f"{run.benchmark} {run.exchange}, {counted_ranks(self.size)}"
        with self._following(progress) as watch:
            ready = self._prepared(run, progress, watch)
            found = self._take(ready, watch, title)
        assert found is not None
        return self._result(ready, found, start)

    def _prepared(self, run: Run, progress: Any, watch: Callback | None) -> Prepared:
        """Check all of a run before it begins, and build what it needs; collective."""

        def prepare() -> Prepared:
            check_progress(progress)
            ready = prepared(self._core, run, partial(compiling, watch, run.benchmark))
            self._take_relay()
            return ready

        return self._agreed(prepare)

    def _take(
        self,
        ready: Prepared,
        watch: Callback | None,
        title: str,
        turns: _core._Turns | None = None,
    ) -> _core._Run | None:
        """Measure; of `turns` take the next one: None unless it is the last."""
        return self._core.run(
            ready.run.benchmark,
            ready.parameters,
            ready.loaded,
            watch,
            begin=partial(begin, watch, title, ready.run.benchmark),
            turns=turns,
        )

    def _result(self, ready: Prepared, found: _core._Run, start: datetime) -> Result:
        """Make a result of what was found by a run that began at `start`."""
        benchmark, exchange = ready.run.benchmark, ready.run.exchange
        settled = exchange == AUTO and not self._unsettled
        chosen = self._expected if settled else None
        notes = [
            *filter(None, [ready.kernel and ready.kernel.note, self._no_relay]),
            *([chosen.reason] if chosen and "scheme" in found["columns"] else []),
            *([ALONE] if self._comm is None and others_beside() else []),
        ]
        provenance = {
            **origin(start),
            "mpi": self._mpi.strip("\0\n ").partition("\n")[0] or None,
            "kernel": ready.kernel and described(ready.kernel, ready.source),
            **({"expected": asdict(chosen)} if chosen else {}),
        }
        return result_of(
            self._core, benchmark, exchange, found, ready.fields, provenance, notes
        )

    def _take_relay(self) -> None:
        """Let the device pass messages on, if it may; if that fails, a note says so."""
        if self._no_relay or not self._core.wants_relay:
            return
        try:
            self._core.relay(kernels.relay(self._core))
        except _core.Error as error:
            self._no_relay = f"devices do not pass messages on by themselves: {error}"

    def calibrate(
        self, *, progress: bool | Callback | None = None, **params: Any
    ) -> Result:
        """Measure the parts of exchanges, which `hpccfpga.model` puts together.

        Device writes and device reads, with pinned and with pageable memory of the
        host; a read and a write at once; the exchange over the host's network. All
        ranks do the same at a time. Then the parts of steps of "pcie", "pipelined" and
        "shared", as these take them. The parts take turns, size by size, in `rounds`
        among which repetitions are divided. Schemes other than this session's are
        opened for that time.

        Parameters
        ----------
        progress : bool or callable, optional
            As for `run_calibrated`.
        **params
            Parameters that all parts have: sizes [B], reps, rounds, warmup, seed, ...

        Returns
        -------
        Result
            Of benchmark "calibration": message_size [B]; write_time, exchange_time,
            read_time, write_pageable_time and read_pageable_time [s], each alone;
            both_time [s], of a read and a write at once; `<scheme>_copies_time` and
            `<scheme>_exchange_time` [s] of a step (best repetition, slowest rank), all
            [points]; and `<part>_samples` [s], [points, reps, ranks].

        Raises
        ------
        LookupError, ValueError, TypeError, MemoryError, Error
            As `Session` and `run`.
        """
        return self._told(self._calibrate(CALIBRATION, progress, params))

    def run_calibrated(
        self,
        benchmark: str,
        *,
        kernel: str | os.PathLike[str] | None = None,
        progress: bool | Callback | None = None,
        all_parts: bool = False,
        **params: Any,
    ) -> tuple[Result, Result]:
        """Measure b_eff and, in turns, the parts that its calibrated model is made of.

        A turn is a visit to one message size in one round: b_eff visits the first size,
        then each part does so, then all visit the next one; after the last size the
        next round begins. So both meet the same other work on the host. In a session
        with a trace each takes all of its samples at once; over "auto" the calibration
        comes first, and the run chooses by it.

        Parameters
        ----------
        benchmark : str
            "b_eff": no other model takes a calibration.
        kernel, **params
            As for `run`; the parts take those that a calibration has, too.
        progress : bool or callable, optional
            As for `run`, with the number of the turn just done, the number of all
            turns, of b_eff and the parts alike, and values of the samples so far.
        all_parts : bool
            Measure all parts, as `calibrate` does, not only those of this model.

        Returns
        -------
        tuple of Result
            What `run` gives and what `calibrate` gives; `hpccfpga.model` takes the
            second one as `calibration`.

        Raises
        ------
        LookupError
            No model of the benchmark over this scheme takes a calibration.
        ValueError, TypeError, MemoryError, NotImplementedError, Error
            As `run` and `calibrate`.
        """
        self._core.same("all_parts", str(self._agreed(flag, "all_parts", all_parts)))
        own = self._agreed(parts_of, benchmark, self.exchange)
        parts, shared = CALIBRATION if all_parts else own, components.shared(params)
        run = Run(benchmark, self.exchange, kernel, params)
        if self.exchange == AUTO:
            self._agreed(turns_of, [run], progress, self._traced)
            calibration = self._told(self._calibrate(parts, progress, shared))
            expected = self._agreed(choice.expected, AUTO, calibration, None)
            assert expected is not None
            self.expect(expected)
            return self._told(self._run(run, progress)), calibration
        runs = self._agreed(runs_of, parts, shared)
        at = parts.index(own[0])  # beside what its model is made of
        runs.insert(at, run)
        what = f"{benchmark} {self.exchange} in turns with a calibration"
        found = self._in_turns(what, runs, progress)
        measured = found.pop(at)
        return self._told(measured), self._told(of_parts(parts, found))

    def expect(self, expected: Expected) -> None:
        """From now on take exchange schemes as "auto" does, by these times."""
        self._core.take_exchange(AUTO, *expected.core())
        self._expected, self._unsettled = expected, False

    def _settle(
        self, progress: bool | Callback | None, params: Mapping[str, Any]
    ) -> None:
        """Measure what the schemes do, unless it is expected already, and choose.

        It ends by the deadline of the run that it is for.
        """
        chunks, expected = components.chunks(params), self._expected
        self._agreed(_core.check_ranks, RING, AUTO, chunks, self.size)
        if expected is None:
            parts = parts_of(RING, AUTO)
            own = {name: params[name] for name in params.keys() & {"deadline"}}
            found = self._calibrate(parts, progress, choice.SHORT | own)
            self._told(found, deeper=1)
            expected = self._agreed(choice.measured, choice.OWN, found)
        self.expect(expected)

    def _calibrate(
        self,
        some: Sequence[Part],
        progress: bool | Callback | None,
        params: Mapping[str, Any],
    ) -> Result:
        """Measure some parts of a calibration."""
        runs = self._agreed(runs_of, some, params)
        return of_parts(some, self._in_turns("calibration", runs, progress))

    def _in_turns(
        self, what: str, runs: Sequence[Run], progress: bool | Callback | None
    ) -> list[Result]:
        """Take a turn of each run, then the next one of each; give their results."""
        start, title = datetime.now(UTC), f"{what}, {counted_ranks(self.size)}"
        turns = self._agreed(turns_of, runs, progress, self._traced)
        order = in_order([*map(_core.turns_left, turns)])
        with ExitStack() as stack:
            watch = stack.enter_context(self._following(progress))
            sessions = self._over(stack, runs)
            ready: list[Prepared] = []
            found: dict[int, _core._Run | None] = {}
            for session, run in zip(sessions, runs, strict=True):
                with session._exchanging(run.exchange):
                    ready.append(session._prepared(run, progress, watch))
            for visit, at in enumerate(order):
                told = watch if watch is None else Turn(watch, title, visit, len(order))
                with sessions[at]._exchanging(runs[at].exchange) as session:
                    found[at] = session._take(ready[at], told, title, turns[at])
            return [
                self._agreed(sessions[at]._result, ready[at], found[at], start)
                for at in range(len(runs))
            ]

    def _over(self, stack: ExitStack, runs: Sequence[Run]) -> list[Session]:
        """Give a session of each run: this one, where its device goes with the scheme.

        Others are opened in the same order on all ranks.
        """
        own, found = _core.scheme(self.exchange), []
        others: dict[bool, Session] = {}
        for run in runs:
            host = _core.scheme(run.exchange)["host_memory"]
            if host == own["host_memory"] and not own["kernel_routed"]:
                found.append(self)
                continue
            if host not in others:
                device = None if host else self._chosen
                options = device, run.exchange, self._comm, self._deadline
                others[host] = stack.enter_context(Session(*options))
            found.append(others[host])
        return found

    def _following(
        self, progress: bool | Callback | None
    ) -> AbstractContextManager[Callback | None]:
        """Whom to tell of points; of all ranks, 0 shows them."""
        if progress is True and self.rank:
            progress = None
        return follow(progress)

    @contextmanager
    def _exchanging(self, exchange: str) -> Iterator[Session]:
        """Give this session over another scheme, on the same device, for a while."""
        own = self._core.exchange
        if own == exchange:
            yield self
            return
        back = self._expected.core() if own == AUTO and self._expected else ()
        self._core.take_exchange(exchange)
        try:
            yield self
        except BaseException:
            with suppress(_core.Error):  # the transport may be broken
                self._core.take_exchange(own, *back)
            raise
        self._core.take_exchange(own, *back)


def open(
    device: str | int | None = None,
    exchange: str = _core.SCHEME,
    comm: Comm | None = None,
    deadline: float | None = None,
    trace: bool | int = False,
    calibration: Result | None = None,
    board: str | None = None,
) -> Session:
    """Open a device and an exchange scheme; see `Session`.

    Examples
    --------
    >>> with hpccfpga.open(exchange="pcie", comm=MPI.COMM_WORLD) as session:
    ...     short = session.run("b_eff", sizes=[1, 64])
    ...     long = session.run("b_eff", sizes=[1 << 20], reps=0)
    """
    return Session(device, exchange, comm, deadline, trace, calibration, board)
