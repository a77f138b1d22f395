"""Hosts on which mpirun starts ranks: names, and how many ranks each of them gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hpccfpga.arguments import count
from hpccfpga.errors import under_mpi
from hpccfpga.text import brief

_HOST = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)(?::(?P<ranks>[1-9]\d{0,8}))?")


def check(hosts: Any, ranks: Any, comm: Any = None) -> None:
    """Refuse hosts that are none, and ranks that cannot be started on them.

    Parameters
    ----------
    hosts : sequence of str or None
        Names, each as "a", or each as "a:2" with its number of ranks.
    ranks : int, sequence of int, or None
        Number of ranks; of `scaling`, all of them.
    comm : object, optional
        Ranks that are there already.

    Raises
    ------
    TypeError, ValueError
        What was given, and why it cannot be.
    """
    if hosts is None:
        return
    if ranks is None or comm is not None:
        raise ValueError("hosts: give ranks, too: how many are to be started there")
    if under_mpi() is not None:
        raise ValueError(
            "hosts: mpirun has started this process: call it without, or name the "
            "hosts to mpirun"
        )
    for number in ranks if isinstance(ranks, Sequence) else [ranks]:
        placed(hosts, count("ranks", number))


def placed(hosts: Any, ranks: int) -> list[tuple[str, int]]:
    """Return which hosts get ranks, and how many.

    Hosts without numbers share the ranks evenly, the first ones get what is left over.

    Raises
    ------
    TypeError, ValueError
        As `check`.
    """
    if isinstance(hosts, str | bytes) or not isinstance(hosts, Sequence):
        raise TypeError(f'hosts: {brief(hosts)} is no list such as ["a", "b"]')
    named = [_host(host) for host in hosts]
    if not named:
        raise ValueError("hosts: none is named")
    names = [name.lower() for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"hosts: {name} is named twice; {name}:2 gives it 2 ranks")
    rooms = [room for _, room in named if room is not None]
    if rooms and len(rooms) < len(named):
        raise ValueError(
            f"hosts: {','.join(hosts)}: give a number of ranks to each or to none"
        )
    if not rooms:
        least, more = divmod(ranks, len(named))
        rooms = [least + (i < more) for i in range(len(named))]
    if sum(rooms) < ranks:
        raise ValueError(
            f"hosts: {','.join(hosts)} take {sum(rooms)} ranks, not {ranks}"
        )
    found = []
    for (name, _), room in zip(named, rooms, strict=True):
        found.append((name, min(room, ranks)))
        ranks -= found[-1][1]
    return [(name, number) for name, number in found if number]


def _host(host: Any) -> tuple[str, int | None]:
    if not isinstance(host, str):
        raise TypeError(f"hosts: {brief(host)} is no name of a host")
    found = _HOST.fullmatch(host)
    if found is None:
        raise ValueError(
            f"hosts: {brief(host)} is neither a name such as n1 nor one with a number "
            "of ranks such as n1:2"
        )
    return found["name"], int(found["ranks"]) if found["ranks"] else None
