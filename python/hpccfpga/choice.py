"""exchange="auto": what models expect of schemes, by the length of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hpccfpga import _core, models
from hpccfpga.arguments import entries, number, word
from hpccfpga.boards import board as find_board
from hpccfpga.components import RING, chunks
from hpccfpga.provenance import counted_ranks
from hpccfpga.result import Result
from hpccfpga.text import brief

AUTO = _core.AUTO

SHORT = {
    "sizes": [4**k for k in range(12)],
    "reps": 9,
    "rounds": 9,
    "warmup": 1,
    "loop_upper": 64,
    "loop_lower": 2,
    "channel_width": 4096,
}
"""Parameters of the calibrations that a session makes by itself.

No channel is measured: the width stands here because `loop_upper` falls with the size
over it. So a sample has 64 steps up to 8 KiB; few short ones tell too little.
"""

OWN = "a short calibration before"
"""Source of what a session has measured by itself."""

_FROM_BOARD = [2**k for k in range(31)]


@dataclass(frozen=True)
class Expected:
    """Times that steps over exchange schemes are expected to take.

    Parameters
    ----------
    source : str
        Where they come from.
    sizes : list of float
        Lengths of messages, rising [B].
    times : dict of str to list of float
        Scheme -> seconds, of each length.
    option : str
        Option of a command that expects the same; empty if there is none.
    """

    source: str
    sizes: list[float]
    times: dict[str, list[float]]
    option: str = ""

    @classmethod
    def of(cls, document: Any) -> Expected:
        """Make it of its document.

        Raises
        ------
        TypeError, ValueError
            It is none.
        """
        if not isinstance(document, Mapping) or {*document} != {*cls.__annotations__}:
            raise ValueError(f"expected: has not {', '.join(cls.__annotations__)}")
        if not isinstance(times := document["times"], Mapping):
            raise TypeError("expected: times are of no schemes")
        return cls(
            word("expected", document["source"]),
            _numbers("expected sizes", document["sizes"]),
            {
                word("expected", name): _numbers(f"expected times of {name}", values)
                for name, values in times.items()
            },
            word("expected", document["option"]),
        )

    def core(self) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Return it as the core takes it."""
        return (
            tuple(self.times),
            np.array(self.sizes, float),
            np.array([*self.times.values()], float),
        )

    @property
    def reason(self) -> str:
        """Say which scheme is expected to be the fastest for which messages."""
        parts = [
            scheme if low is None else f"{scheme} from {low:.0f} B"
            for scheme, low in self._ranges()
        ]
        return f"exchange {AUTO} by {self.source}: {', '.join(parts)}"

    def _ranges(self) -> Iterator[tuple[str, float | None]]:
        """Fastest schemes, each with the length from which on it is; None: from any."""
        schemes, sizes, times = self.core()
        best = _core.fastest(times.T)
        for point, scheme in enumerate(best):
            if point == 0 or scheme != best[point - 1]:
                yield schemes[scheme], float(sizes[point]) if point else None


def expected(
    exchange: str, calibration: Result | None, board: str | None
) -> Expected | None:
    """Return what a calibration, or a board's data, lets models expect.

    None where neither is given: a session measures it by itself.

    Raises
    ------
    LookupError, TypeError, ValueError
        As `hpccfpga.model`; both are given, or the exchange is not "auto".
    """
    if calibration is None and board is None:
        return None
    if exchange != AUTO:
        name = "board" if calibration is None else "calibration"
        raise ValueError(
            f"{name}: it chooses the exchange where that is {AUTO}, "
            f"not {brief(exchange)}"
        )
    if calibration is not None and board is not None:
        raise ValueError("calibration, board: one of them chooses the exchange")
    if board is not None:
        key = find_board(board).key
        try:
            found = _of_models(
                f"the data of board {key}", board=board, sizes=_FROM_BOARD
            )
        except ValueError as error:
            raise ValueError(f"exchange {AUTO} by a board: {error}") from None
        return replace(found, option=f"--board={key}")
    if not isinstance(calibration, Result):
        raise TypeError(
            f"calibration: only a result can be one, not {brief(calibration)}"
        )
    for name, value in chunks(calibration.parameters).items():
        if value != AUTO:
            raise ValueError(
                f"calibration: it was made with {name} {value}; exchange {AUTO} takes "
                f"{AUTO}"
            )
    many = counted_ranks(calibration.ranks)
    source = f"a calibration on {many} of {calibration.device}"
    option = f"--calibration={calibration.file}" if calibration.file else ""
    return replace(measured(source, calibration), option=option)


def measured(source: str, calibration: Result) -> Expected:
    """Return what a calibration lets models expect, where it is right."""
    right = None
    if calibration.labels:  # else the model says what it lacks
        sizes = calibration[calibration.labels[0]]
        right = np.unique(sizes[~calibration.failed]).tolist() or None
    return _of_models(source, calibration=calibration, sizes=right)


def _of_models(source: str, **given: Any) -> Expected:
    def over(scheme: str) -> Result:
        return models.model(RING, exchange=scheme, **given)

    found, _ = models.over_each(RING, over, "calibration" in given)
    return Expected(
        source,
        found[0][found[0].labels[0]].astype(float).tolist(),
        {str(model.exchange): model["time"].tolist() for model in found},
    )


def _numbers(what: str, values: Any) -> list[float]:
    return [number(what, value) for value in entries(what, values)]
