"""Where a result comes from: when, by which command, of which versions."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from hpccfpga import _core

_OURS = ("__main__.py", "_rank.py")


def origin(start: datetime) -> dict[str, Any]:
    """Provenance that every measurement has.

    Parameters
    ----------
    start : datetime
        When it began.
    """
    script = Path(sys.argv[0])
    ours = script.name == "hpccfpga" or (
        script.parent.name == "hpccfpga" and script.name in _OURS
    )
    words = ["hpccfpga" if ours else "python", *sys.argv[ours:]]
    return {
        "date": start.isoformat(timespec="seconds"),
        "command": shlex.join(words),
        "versions": {
            "hpccfpga": _core.VERSION,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "mpi4py": getattr(sys.modules.get("mpi4py"), "__version__", None),
        },
    }


def counted_ranks(ranks: int) -> str:
    """Count ranks in words."""
    return f"{ranks} rank{'s' * (ranks != 1)}"


def ranks_where(ranks: int, provenance: Mapping[str, Any]) -> str:
    """Count the ranks of a result, and the hosts where there were several."""
    hosts = provenance.get("hosts")
    several = len(set(map(str, hosts))) if isinstance(hosts, list) else 1
    where = f" on {several} hosts" if several > 1 else ""
    return counted_ranks(ranks) + where
