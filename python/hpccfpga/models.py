"""What performance models expect; the equations themselves are C (`csrc/model/`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hpccfpga import _core, formulas, inputs
from hpccfpga.arguments import count, entries, number
from hpccfpga.boards import board as find_board
from hpccfpga.calibration import curves as curves_of
from hpccfpga.calibration import cut_alike
from hpccfpga.emulation import counts
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.text import brief


def model(
    benchmark: str,
    *,
    exchange: str | None = None,
    board: str | None = None,
    sizes: Iterable[int] | None = None,
    ranks: int | None = None,
    calibration: Result | None = None,
    **overrides: float | str | np.ndarray,
) -> Result:
    """Return what the performance model of a benchmark expects.

    Each input of the model's formula is given by name, or comes from the board, or has
    a default; an unknown name is answered by the list of all. Those that a parameter of
    a run tells have its name and words: `refine="gmres"`, `data_type="double"`. A board
    with several kinds of memory lends the first, or e.g. `memory="hbm2"`.

    b_eff: over "channel" (Eq. 3 and 4) the inputs are channels (per kernel pair,
    default 2), replications (kernel pairs, default the board's ports / channels), width
    [B], clock [Hz] and latency [s]. Over "pcie" (Eq. 2) and "host" they are the curves
    of a calibration, or latencies and bandwidths of links: pcie_latency [s],
    write_bandwidth, read_bandwidth [B/s], network_latency [s], network_bandwidth [B/s],
    and, for Eq. 7 alone, pcie_bandwidth [B/s], which may be missing.

    Parameters
    ----------
    benchmark : str
        One of `hpccfpga.benchmarks()` that has a model.
    exchange : str, optional
        Scheme that it runs over; default as for `hpccfpga.run`, where it matters. Over
        "auto" each point is that of the fastest scheme, which column `scheme` names.
    board : str, optional
        Board whose data feed the model, as `hpccfpga.board` takes it.
    sizes : iterable of int, optional
        Points of the sweep, e.g. message sizes [B]; default those of the calibration,
        else of a run.
    ranks : int, optional
        Number of ranks; default that of the calibration, else 1.
    calibration : Result, optional
        b_eff only: what `hpccfpga.calibrate` measured. Between its sizes, times are
        interpolated on logarithmic axes; outside them nothing is guessed.
    **overrides : float, str or array
        Inputs by name, in place of the board's; arrays have a value of each point.

    Returns
    -------
    Result
        Of kind "modelled", with the labels, time [s per step] and metrics of a measured
        one, each [points]; so too its summary. b_eff also has the parts [s] of its
        scheme that its inputs tell: write_time, exchange_time, read_time of a board's
        data, `<scheme>_copies_time` and `<scheme>_exchange_time` of a calibration;
        where pcie_bandwidth is known, pair_bound [B/s] (Eq. 7, for two ranks). Where
        the lowest of several bounds is the rate, `limit` names it.
        `provenance["counts"]` says what the numbers count.

    Raises
    ------
    LookupError
        Unknown benchmark, exchange or board; the message lists the known ones.
    TypeError
        A calibration that is no result.
    ValueError
        Unknown, missing or impossible inputs; sizes outside the calibration.
    NotImplementedError
        A number of ranks that no run over this scheme can have.
    """
    if not (calibration is None or isinstance(calibration, Result)):
        raise TypeError(
            f"calibration: only a result can be one, not {brief(calibration)}"
        )
    if exchange == _core.AUTO:
        several = None if sizes is None else entries("sizes", sizes)

        def over(scheme: str) -> Result:
            return model(
                benchmark,
                exchange=scheme,
                board=board,
                sizes=several,
                ranks=ranks,
                calibration=calibration,
                **_own(benchmark, scheme, calibration is not None, overrides),
            )

        return _fastest(benchmark, over, calibrated=calibration is not None)
    formula = formulas.check(benchmark, exchange, calibrated=calibration is not None)
    if calibration is not None and board is not None:
        raise ValueError("a calibration takes no board")
    if calibration is not None:
        overrides = cut_alike(calibration, overrides)
    if ranks is None:
        ranks = 1 if calibration is None else calibration.ranks
    ranks = count("ranks", ranks)
    if formula["exchange"] is not None:
        told = inputs.told_by_words(formula["inputs"], overrides)
        _core.check_ranks(benchmark, formula["exchange"], told, ranks)
    hardware = None if board is None else find_board(board)
    label, at = formulas.label(benchmark, formula, sizes, calibration)
    if label in overrides:
        raise ValueError(f"{label}: the points of a model are given as sizes")
    curves: dict[str, Column] = {}
    if calibration is not None:
        curves = curves_of(formula, label, at, calibration)
    feed = {
        label: at.values,
        **{name: column.values for name, column in curves.items()},
        "ranks": ranks,
    }
    for name in formula["inputs"].keys() & overrides.keys():
        if isinstance(values := overrides[name], np.ndarray) and values.ndim > 0:
            zero = formula["inputs"][name]["zero"]
            if values.shape != at.values.shape:
                raise ValueError(
                    f"{name}: {values.size} values of {at.values.size} points"
                )
            feed[name] = np.array([number(name, value, zero) for value in values])
            del overrides[name]
    scalars, sources, notes = inputs.gather(
        benchmark, formula, feed, hardware, overrides
    )
    feed |= scalars
    made = formulas.evaluate(benchmark, formula, feed)
    nothing = np.logical_and.reduce([np.isnan(values) for _, values in made.values()])
    for value in at.values[np.broadcast_to(nothing, at.values.shape)]:
        raise ValueError(
            f"{label.replace('_', ' ')} {value}: no time by the model of {benchmark}: "
            f"{formula['summary'].partition(';')[0]}"
        )
    feed |= {name: column for name, (_, column) in made.items()}
    scheme = formula["exchange"]
    by = " calibrated" if calibration is not None else ""
    provenance = {
        "formula": f"{benchmark} {scheme or 'device'}{by}",
        "counts": formula["summary"],
        "sources": sources,
        "notes": notes,
    }
    emulated = False
    if calibration is not None:
        provenance["calibration"] = calibration.provenance
        if calibration.ranks != ranks:
            notes.append(f"calibrated on {calibration.ranks} ranks, used for {ranks}")
        emulated = calibration.emulated and counts(benchmark, str(scheme))
    choices = _core.quantities(benchmark)["labels"][label][2]  # a run has those words
    points = {} if choices else {"sizes": at.values.tolist()}
    return Result(
        kind="modelled",
        benchmark=benchmark,
        exchange=scheme,
        device=getattr(hardware, "key", None) or getattr(calibration, "device", None),
        emulated=emulated,
        ranks=ranks,
        verified=None,
        parameters={**points, **scalars},
        columns={
            label: Column(at.unit, np.array(choices)) if choices else at,
            **{
                name: Column(unit, np.broadcast_to(column, at.values.shape))
                for name, (unit, column) in formulas.with_limit(made).items()
            },
            **curves,
        },
        summary=formulas.summary(benchmark, formula, label, feed),
        provenance=provenance,
    )


def beside(
    result: Result, board: str | Mapping[str, Any], given: Iterable[str]
) -> Result:
    """Return the model of a run that was measured, to stand beside its result.

    What a program binary was built with counts as given. Of the board's memories it is
    that which the binary's kernels reach, where that is told.

    Parameters
    ----------
    result : Result
        Of the run: its points, its ranks, and the values of its parameters.
    board : str or mapping
        Board whose data feed the model, or the model's inputs by name.
    given : iterable of str
        Parameters that were given: in place of what the board says.

    Raises
    ------
    LookupError, ValueError
        As `model`.
    """
    if result.exchange == _core.AUTO:

        def over(scheme: str) -> Result:
            return beside(replace(result, exchange=scheme), board, given)

        return _fastest(result.benchmark, over)
    program = result.provenance.get("kernel") or {}
    reached = program.get("reached", [])
    memory, note = _memory(board, reached) if reached else ({}, "")
    is_binary = not str(program.get("path", ".cl")).endswith(".cl")
    built_in = program["knobs"] if is_binary else {}
    formula = formulas.check(result.benchmark, result.exchange)
    told = {
        name: result.parameters[name]
        for name in (*built_in, *inputs.words(formula["inputs"]), *given)
    }
    found = {
        name: result[name]
        for name in formula["inputs"]
        if name in result.columns and name not in (*result.parameters, result.labels[0])
    }
    made = for_run(
        result.benchmark,
        result.exchange,
        board,
        found | told | memory,
        result[result.labels[0]],
        result.ranks,
    )
    facts = [
        formula["inputs"][name]["fact"] or ""
        for name, source in made.provenance["sources"].items()
        if name in formula["inputs"] and source not in ("given", "default")
    ]
    if note and any(fact.startswith("memory.") for fact in facts):
        made.provenance["notes"].append(note)
    return made


def _memory(
    board: str | Mapping[str, Any], reached: Sequence[str]
) -> tuple[dict[str, str], str]:
    """Return the memory of a board that kernels reach, if it is one, and say which."""
    names = find_board(board).memories if isinstance(board, str) else {}
    text = f"the kernels reach {' and '.join(reached)}"
    found = [kind for kind in names if kind in reached]
    if len(found) == 1 == len(reached):
        return {"memory": names[found[0]]}, f"{text}: so the model has {found[0]}"
    return {}, f"{text}: the model has one memory, {''.join([*names][:1])}"


def for_run(
    benchmark: str,
    exchange: str | None,
    board: str | Mapping[str, Any],
    params: Mapping[str, Any],
    sizes: Iterable[Any] | None = None,
    ranks: int = 1,
) -> Result:
    """Return the model of a run with parameters `params`, before or after it.

    Those which the formula has as inputs are its inputs; `board` may be a mapping of
    the others. `sizes` is a run's first label; words stand for themselves.

    Raises
    ------
    LookupError, ValueError
        As `model`.
    """
    if exchange == _core.AUTO:

        def over(scheme: str) -> Result:
            return for_run(benchmark, scheme, board, params, sizes, ranks)

        return _fastest(benchmark, over)
    formula = formulas.check(benchmark, exchange)
    (label, (*_, choices)), *_ = _core.quantities(benchmark)["labels"].items()
    names = {*inputs.names(formula["inputs"]), "memory"} - {label, "ranks"}
    found = {name: value for name, value in params.items() if name in names}
    if not isinstance(board, str):
        found |= board
    return model(
        benchmark,
        exchange=exchange,
        board=board if isinstance(board, str) else None,
        sizes=None if choices is not None or sizes is None else list(sizes),
        ranks=ranks,
        **found,
    )


def over_each(
    benchmark: str, over: Callable[[str], Result], calibrated: bool
) -> tuple[list[Result], list[ValueError]]:
    """Models over those schemes of the benchmark that `over` can give, and its errors.

    One at least. A board may not tell what each needs; a calibration has to.

    Raises
    ------
    LookupError, ValueError
        As `model`.
    """
    found: list[Result] = []
    errors: list[ValueError] = []
    for scheme in formulas.schemes(benchmark, calibrated):
        try:
            found.append(over(scheme))
        except ValueError as error:
            if calibrated:
                raise
            errors.append(error)
    if not found:
        raise errors[0]
    return found, errors


def _own(
    benchmark: str, scheme: str, calibrated: bool, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the given inputs without those that only other schemes take."""
    own, *others = (
        {*inputs.names(formulas.check(benchmark, name, calibrated)["inputs"])}
        for name in (scheme, *formulas.schemes(benchmark, calibrated))
    )
    foreign = set().union(*others) - own
    return {name: value for name, value in given.items() if name not in foreign}


def _fastest(
    benchmark: str, over: Callable[[str], Result], calibrated: bool = False
) -> Result:
    """Return a model over "auto": at each point, the model over the fastest scheme."""
    found, errors = over_each(benchmark, over, calibrated)
    first = found[0]
    if first.exchange is None:
        return first
    best = _core.fastest(np.transpose([result["time"] for result in found]))
    columns = {
        name: Column(column.unit, np.choose(best, [result[name] for result in found]))
        for name, column in first.columns.items()
        if all(name in result.columns for result in found)
    }
    label, *_ = columns
    names = np.array([result.exchange for result in found])
    made = {name: c.values for name, c in columns.items() if c.values.dtype.kind == "f"}
    notes = [note for k in np.unique(best) for note in found[k].provenance["notes"]]
    notes += [f"left out: {error}" for error in errors]
    return replace(
        first,
        exchange=_core.AUTO,
        parameters={n: v for r in reversed(found) for n, v in r.parameters.items()},
        columns=columns | {"scheme": Column("1", names[best])},
        summary={
            name: Quantity(*pair)
            for name, pair in _core.figures(
                benchmark, columns[label].values, made
            ).items()
        },
        provenance=first.provenance
        | {
            "formula": f"{benchmark} {_core.AUTO}",
            "sources": {
                n: v
                for r in reversed(found)
                for n, v in r.provenance["sources"].items()
            },
            "notes": list(dict.fromkeys(notes)),
        },
    )
