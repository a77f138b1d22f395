"""Topologies: which port of which rank is wired to which, as data."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import count, need_matplotlib, path, word
from hpccfpga.files import read
from hpccfpga.formats import parse

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KNOWN = ("published", "ring", "pairs", "torus:PxQ", "RANK:PORT-RANK:PORT,...", "a file")
MAX_LINKS = 2**20
"""Most links that are listed or drawn."""


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
    name = word("topology", path("topology", topology), KNOWN)
    if not name.endswith(".json"):
        return name
    try:
        data = read(name)
    except OSError as error:
        raise ValueError(f"topology: cannot read {name}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"topology: {error}") from None
    try:
        cables = parse(data)["links"]
    except ValueError as error:
        raise ValueError(f"topology: {name}: {error}") from None
    except (KeyError, TypeError):
        raise ValueError(f"topology: {name}: no JSON object with links") from None
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

    Returns
    -------
    list of Link
        A cable is two of them, one for each direction.

    Raises
    ------
    ValueError
        An end that does not exist, that is used twice or not at all, or a cable with
        one direction.
    """
    ranks, ports = count("ranks", ranks), count("ports", ports)
    if ranks * ports > MAX_LINKS:
        raise ValueError(
            f"ranks: {ranks} with {ports} ports each have more than {MAX_LINKS} links"
        )
    return [Link(*link) for link in _core.links(text(topology), ranks, ports)]


def table(wiring: list[Link]) -> str:
    """Each cable once, one a line, below a heading."""
    lines = ["rank:port - rank:port"]
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

    Raises
    ------
    ValueError
        As for `links`, or `path` has an unknown ending.
    """
    wiring = links(topology, ranks=ranks, ports=ports)
    need_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    axis = figure.add_subplot(aspect="equal", frame_on=False, xticks=[], yticks=[])
    axis.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    axis.set_title(f"{os.fspath(topology)}, {ranks} ranks", parse_math=False)
    angles = 2 * np.pi * np.arange(ranks) / ranks
    place = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    along = np.linspace(0, 1, 51)[:, None]
    cables = [k for k in wiring if (k.rank, k.port) <= (k.to_rank, k.to_port)]
    number = Counter((link.rank, link.to_rank) for link in cables)
    drawn: Counter[tuple[int, int]] = Counter()
    for link in cables:
        pair = link.rank, link.to_rank
        here, there = place[link.rank], place[link.to_rank]
        if link.rank == link.to_rank:
            radius, turn = 0.05 * (2 + link.port), 2 * np.pi * along
            aside = np.array([here[1], -here[0]])
            curve = (1 + radius - radius * np.cos(turn)) * here
            curve += radius * np.sin(turn) * aside
        else:
            # Cables of a pair of ranks lie side by side, about the straight line.
            beside = drawn[pair] - (number[pair] - 1) / 2
            bend = 0.3 * beside * np.array([1, -1])
            middle = (here + there) / 2 + bend * (there - here)[::-1]
            curve = (1 - along) ** 2 * here + along**2 * there
            curve += 2 * along * (1 - along) * middle
        axis.plot(*curve.T, color="#0072B2", zorder=1)
        drawn[pair] += 1
        for port, at in ((link.port, curve[9]), (link.to_port, curve[-10])):
            axis.annotate(
                str(port), at, fontsize=7, ha="center", va="center",
                bbox={"boxstyle": "square,pad=0.15", "fc": "white", "ec": "none"},
            )  # fmt: skip
    for rank, (x, y) in enumerate(place):
        axis.annotate(
            str(rank), (x, y), ha="center", va="center",
            bbox={"boxstyle": "circle", "facecolor": "white"},
        )  # fmt: skip
    if path is not None:
        from hpccfpga.plot import save

        save(figure, path)
    return figure
