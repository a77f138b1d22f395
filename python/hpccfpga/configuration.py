"""Which configuration a model expects to be the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import count, known, word
from hpccfpga.boards import board as find_board
from hpccfpga.boards import boards
from hpccfpga.formulas import of_role
from hpccfpga.models import model
from hpccfpga.result import Result
from hpccfpga.tables import human
from hpccfpga.text import brief

MAX_TRIED = 4096
"""Most configurations to try."""


def configure(
    benchmark: str,
    *,
    board: str | None = None,
    devices: int | None = None,
    pes: int | None = None,
    **inputs: Any,
) -> Result:
    """Return the model of the configuration that it expects to be the best.

    Every number of devices and of processing elements is tried: the highest rate comes
    first, then the fewest processing elements that reach it, then the fewest devices
    (Engelhardt and So, GraVF-M).

    Parameters
    ----------
    benchmark : str
        "graph".
    board : str, optional
        As for `hpccfpga.model`.
    devices : int, optional
        As many as there are; default those of the board's published system.
    pes : int, optional
        Processing elements that a device has room for; default the board's.
    **inputs
        As for `hpccfpga.model`, e.g. `sizes`, `edges` and `program`.

    Returns
    -------
    Result
        As of `hpccfpga.model`; `ranks` and `parameters["pes"]` are what was chosen, and
        its last note says why.

    Raises
    ------
    LookupError, ValueError
        As `hpccfpga.model`; LookupError also for a benchmark without a choice,
        ValueError where no configuration has the memory.
    """
    rule = rule_of(benchmark)
    if "ranks" in inputs:
        raise ValueError(
            "ranks: what is to be chosen; devices= says how many there are"
        )
    most = {"ranks": devices, "pes": pes}
    for name, term in rule["inputs"].items():
        if name in most:
            most[name] = _most(name, most[name], board, str(term["fact"]))
    if int(most["ranks"] or 1) * int(most["pes"] or 1) > MAX_TRIED:
        raise ValueError(
            f"devices: {most['ranks']} with pes: {most['pes']} are more than "
            f"{MAX_TRIED} configurations"
        )
    tried = [
        model(benchmark, board=board, ranks=n, pes=p, **inputs)
        for n in range(1, int(most["ranks"] or 1) + 1)
        for p in range(1, int(most["pes"] or 1) + 1)
    ]
    rates = np.array([r.summary["edge_rate"].value for r in tried])
    index = chosen(
        benchmark,
        np.array([r.ranks for r in tried], float),
        np.array([r.parameters["pes"] for r in tried], float),
        rates,
    )
    if index < 0:
        raise ValueError(
            f"no configuration of up to {most['ranks']} devices has the memory; "
            f"{tried[-1]['fewest_devices'].max():.0f} devices would"
        )
    best = tried[index]
    best.provenance["notes"].append(_reason(tried, rates, index))
    return best


def rules() -> dict[str, _core._Formula]:
    """Formulas that choose among configurations, by benchmark."""
    return {
        name: rule
        for name, _ in _core.components("model")
        for rule in of_role(name, "chosen")
    }


def rule_of(benchmark: str) -> _core._Formula:
    """Return the formula that chooses among configurations.

    Raises
    ------
    LookupError
        No such benchmark, or none that has a choice.
    """
    found = rules()
    if word("benchmark", benchmark, found) not in found:
        raise LookupError(
            f"no choice of configurations of {brief(benchmark)}; "
            f"{known(benchmark, found)}"
        )
    return found[benchmark]


def chosen(
    benchmark: str, ranks: np.ndarray, pes: np.ndarray, rates: np.ndarray
) -> int:
    """Index of the best configuration, -1 where no rate is a number.

    The highest rate comes first, then the fewest processing elements, then the fewest
    ranks.
    """
    inputs = {"ranks": ranks, "pes": pes, "edge_rate": rates}
    found = _core.evaluate(benchmark, rule_of(benchmark)["index"], inputs)
    return int(found["index"])


def _most(name: str, given: int | None, board: str | None, fact: str) -> int:
    """How many there are: given, or the board's."""
    if given is not None:
        return count("devices" if name == "ranks" else name, given)
    facts = find_board(board) if board is not None else {}
    if fact not in facts:
        what = "devices" if name == "ranks" else name
        who = "a board" if board is None else f"another board than {board}"
        having = ", ".join(key for key in boards().names if fact in find_board(key))
        raise ValueError(f"{what}: none given; give a number, or {who}: {having}")
    return int(facts[fact].value)


def _reason(tried: list[Result], rates: np.ndarray, index: int) -> str:
    """Why this one: its limit, and the best of each other number of devices."""
    chosen = tried[index]
    limits = " and ".join(sorted(set(chosen["limit"].tolist())))
    best: dict[int, float] = {}
    for result, rate in zip(tried, rates, strict=True):
        if result.ranks != chosen.ranks:
            best[result.ranks] = np.fmax(best.get(result.ranks, np.nan), rate)
    others = ", ".join(
        f"{n} at best {human(rate, '1/s')}" if rate > 0 else f"{n} lack memory"
        for n, rate in best.items()
    )
    return (
        f"chosen: {chosen.ranks} devices of {chosen.parameters['pes']:g} processing "
        f"elements, {human(rates[index], '1/s')} at the bound of {limits}"
        + (f"; devices: {others}" if others else "")
    )
