"""Published measurements, with their source, as results.

`data/<benchmark>_runs.csv` has one line per published run, `<benchmark>_points.csv` one
per point; headings name the SI unit, those of texts none. A time is seconds per step:
what was published for a loop of `inner` steps, divided by `inner`. Rates stand as
published.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np

from hpccfpga.arguments import count, known, word
from hpccfpga.records import Records
from hpccfpga.result import Column, Quantity, Result
from hpccfpga.text import brief

_FOLDER = Path(__file__).parent / "data"


def published(
    benchmark: str,
    *,
    board: str | None = None,
    exchange: str | None = None,
    ranks: int | None = None,
    source: str | None = None,
) -> Result:
    """Return the one published run that fits.

    Parameters
    ----------
    benchmark : str
        E.g. "b_eff".
    board : str, optional
        Board, as `hpccfpga.board` takes it.
    exchange : str, optional
        Exchange scheme.
    ranks : int, optional
        Number of ranks, one per device.
    source : str, optional
        Words that occur in the source or the name of the log, e.g. "readme" or
        "2021 929861".

    Returns
    -------
    Result
        Of kind "published", with labels, time [s per step] and metrics of a run, each
        [points], and its summary. `provenance` names source and log; its "counts" says
        what the numbers count, its notes what is known to be wrong.

    Raises
    ------
    LookupError
        Nothing is published about this benchmark, or nothing fits.
    ValueError
        More than one run fits; the message lists them.
    """
    if ranks is not None:
        ranks = count("ranks", ranks)
    if exchange is not None:
        word("exchange", exchange)
    if source is not None:
        word("source", source)
    runs = _runs(benchmark)
    schemes = sorted({run["exchange"] for run in runs} - {""})
    if exchange is not None and exchange not in schemes:
        raise LookupError(
            f"no published {benchmark} over exchange {brief(exchange)}; "
            f"{known(exchange, schemes)}"
        )
    fitting = [run for run in runs if _fits(run, board, exchange, ranks, source)]
    if not fitting:
        raise LookupError(f"no published {benchmark} fits; known: {_list(runs)}")
    if len(fitting) > 1:
        raise ValueError(
            f"{len(fitting)} published results of {benchmark} fit; choose by board, "
            f"exchange, ranks or source: {_list(fitting)}"
        )
    return _result(benchmark, fitting[0])


def published_list(benchmark: str) -> Records:
    """Every published run of a benchmark.

    Returns
    -------
    Records
        With `log`, `board`, `exchange`, `ranks`, what the run reached and `source`;
        tables show the first figure of these.

    Raises
    ------
    LookupError
        Nothing is published about this benchmark; the message lists the known ones.
    """
    runs = _runs(benchmark)
    figures = {h: _parts(h) for h in runs[0] if _parts(h)[1]}
    first = next(iter(figures.values()))[0]
    return Records(
        "log",
        (
            {
                **{key: run[key] for key in ("log", "board", "exchange")},
                "ranks": int(run["ranks"]),
                **{
                    name: float(run[h]) if run[h] else None
                    for h, (name, _) in figures.items()
                },
                "source": run["source"],
            }
            for run in runs
        ),
        dict(figures.values()),
        ("log", "board", "exchange", "ranks", first, "source"),
    )


def _fits(
    run: dict[str, str],
    board: str | None,
    exchange: str | None,
    ranks: int | None,
    source: str | None,
) -> bool:
    from hpccfpga.boards import board as find

    where = f"{run['source']} {run['log']}".lower()
    return (
        (board is None or find(board).key == run["board"])
        and (exchange is None or exchange == run["exchange"])
        and (ranks is None or ranks == int(run["ranks"]))
        and all(word in where for word in (source or "").lower().split())
    )


def _list(runs: list[dict[str, str]]) -> str:
    """Return the choices: by source where nothing else tells them apart."""
    groups: dict[str, list[dict[str, str]]] = {}
    for run in runs:
        groups.setdefault(f"{run['board']} {run['exchange']}".strip(), []).append(run)
    if len(groups) == 1 and len({run["ranks"] for run in runs}) == 1:
        return "; ".join(f"{run['source']}: {run['log']}" for run in runs)
    ranks = {name: sorted({int(r["ranks"]) for r in g}) for name, g in groups.items()}
    return "; ".join(
        f"{name} on {', '.join(map(str, counts))} rank{'s' * (counts != [1])}"
        for name, counts in ranks.items()
    )


def _result(benchmark: str, run: dict[str, str]) -> Result:
    rows = [row for row in _rows(f"{benchmark}_points.csv") if row["log"] == run["log"]]
    columns = {}
    for heading in list(rows[0])[1:]:
        name, unit = _parts(heading)
        dtype = {"": np.str_, "B": np.int64, "1": np.int64}.get(unit, np.float64)
        values: np.ndarray = np.array([row[heading] for row in rows]).astype(dtype)
        columns[name] = Column(unit or "1", values)
    verified = {"true": True, "false": False, "": None}[run["verified"]]
    if verified is not None:
        columns["verified"] = Column("1", np.full(len(rows), verified))
    summary = {
        name: Quantity(unit, float(text))
        for heading, text in run.items()
        for name, unit in [_parts(heading)]
        if unit and text
    }
    parameters: dict[str, int | str] = {
        name: int(run[name])
        for name in ("replications", "repetitions", "batch", "nodes", "pes")
        if run.get(name)
    }
    if "program" in run:
        parameters["program"] = run["program"]
    return Result(
        kind="published",
        benchmark=benchmark,
        exchange=run["exchange"] or None,
        device=run["board"],
        emulated=False,
        ranks=int(run["ranks"]),
        verified=verified,
        parameters=parameters,
        columns=columns,
        summary=summary,
        provenance={
            **{
                key: run[key]
                for key in ("source", "log", "version", "commit", "counts")
                if run.get(key)
            },
            "notes": [note for note in run["note"].split("; ") if note],
        },
    )


def _parts(heading: str) -> tuple[str, str]:
    """Name and unit of a heading such as "time [s]"."""
    name, _, unit = heading.partition(" [")
    return name, unit.removesuffix("]")


def _runs(benchmark: str) -> list[dict[str, str]]:
    names = sorted(p.name.removesuffix("_runs.csv") for p in _FOLDER.glob("*_runs.csv"))
    if word("benchmark", benchmark, names) not in names:
        raise LookupError(
            f"nothing published about {brief(benchmark)}; {known(benchmark, names)}"
        )
    return _rows(f"{benchmark}_runs.csv")


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
