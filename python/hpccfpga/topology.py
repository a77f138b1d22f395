"""Topologies: which port of which rank is wired to which, as data."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hpccfpga import _core

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Link(NamedTuple):
    """One direction of a cable.

    Parameters
    ----------
    rank, port : int
        Who sends.
    to_rank, to_port : int
        Who receives.
    """

    rank: int
    port: int
    to_rank: int
    to_port: int


def text(topology: str | os.PathLike[str]) -> str:
    """Return a topology as parameters take it: a name, or a list of cables.

    Parameters
    ----------
    topology : str or path
        "published", "ring", "pairs", "torus:PxQ", "RANK:PORT-RANK:PORT,...", or a JSON
        file ``{"links": ["RANK:PORT-RANK:PORT", ...]}``.

    Raises
    ------
    ValueError
        A file that cannot be read, or that holds something else.
    """
    name = os.fspath(topology)
    if not name.endswith(".json"):
        return name
    try:
        cables = json.loads(Path(name).read_text("utf-8"))["links"]
    except OSError as error:
        raise ValueError(f"topology: cannot read {name}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"topology: {name}: no JSON with links: {error!r}") from None
    if not isinstance(cables, list) or not all(isinstance(c, str) for c in cables):
        raise ValueError(f"topology: {name}: links is no list of texts")
    return ",".join(cables)


def links(
    topology: str | os.PathLike[str] = "published", *, ranks: int, ports: int = 4
) -> list[Link]:
    """Return the links of a topology; every port sends once and receives once.

    Parameters
    ----------
    topology : str or path
        As for `text`.
    ranks : int
        Number of ranks.
    ports : int
        External channels of each rank.

    Raises
    ------
    ValueError
        An end that does not exist, that is used twice or not at all, or a cable with
        one direction.
    """
    return [Link(*link) for link in _core.links(text(topology), ranks, ports)]


def table(wiring: list[Link]) -> str:
    """Each cable once, one a line."""
    lines = []
    for link in wiring:
        ends = (link.rank, link.port), (link.to_rank, link.to_port)
        if ends[0] <= ends[1]:
            lines.append("{}:{} - {}:{}".format(*ends[0], *ends[1]))
    return "\n".join(lines)


def plot_topology(
    topology: str | os.PathLike[str] = "published",
    *,
    ranks: int,
    ports: int = 4,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a topology: ranks on a circle, their cables with the ports at the ends.

    Parameters
    ----------
    topology, ranks, ports
        As for `links`.
    path : path, optional
        Also write the figure there; the ending names the format.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch

    figure = Figure(figsize=(6, 6), layout="constrained")
    axis = figure.add_subplot(aspect="equal", frame_on=False, xticks=[], yticks=[])
    axis.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    axis.set_title(f"{os.fspath(topology)}, {ranks} ranks")
    place = [
        (math.sin(2 * math.pi * r / ranks), math.cos(2 * math.pi * r / ranks))
        for r in range(ranks)
    ]
    for link in links(topology, ranks=ranks, ports=ports):
        start, end = (link.rank, link.port), (link.to_rank, link.to_port)
        if start > end:
            continue
        bend = 0.12 * (1 + link.port)
        here, there = place[link.rank], place[link.to_rank]
        if link.rank == link.to_rank:
            bend, there = 1.5 + bend, (here[0] + 0.06, here[1] + 0.06)
        axis.add_patch(
            FancyArrowPatch(
                here, there, connectionstyle=f"arc3,rad={bend}", color="#0072B2"
            )
        )
        for (x, y), (u, v), port in ((here, there, start[1]), (there, here, end[1])):
            near = (0.8 * x + 0.2 * u, 0.8 * y + 0.2 * v + 0.05 * (port - 1.5))
            axis.annotate(str(port), near, fontsize=7, color="#555555")
    for rank, (x, y) in enumerate(place):
        axis.annotate(
            str(rank), (x, y), ha="center", va="center",
            bbox={"boxstyle": "circle", "facecolor": "white"},
        )  # fmt: skip
    if path is not None:
        from hpccfpga.plot import save

        save(figure, path)
    return figure
