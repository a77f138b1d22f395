"""HPC Challenge benchmarks on many accelerators: measured, modelled, published.

A run gives a `Result`; so do a model and a published measurement, and `compare` and
`plot` take any of them. Nothing heavy is imported before it is used.
"""

import importlib
import sys
from types import ModuleType

TYPE_CHECKING = False  # that of typing takes a while, and the command has not begun
if TYPE_CHECKING:
    from typing import Any

    from hpccfpga._core import Error
    from hpccfpga.boards import Board, board, boards
    from hpccfpga.comparison import Comparison, compare
    from hpccfpga.components import benchmarks, devices, exchanges
    from hpccfpga.configuration import configure
    from hpccfpga.fit import fit
    from hpccfpga.graph import Graph
    from hpccfpga.measure import calibrate, launch, run, run_calibrated
    from hpccfpga.models import model
    from hpccfpga.outcome import VerificationWarning
    from hpccfpga.plot import plot
    from hpccfpga.published import published, published_list
    from hpccfpga.records import Records
    from hpccfpga.result import Column, Quantity, Result
    from hpccfpga.scaling import scaling
    from hpccfpga.session import Session
    from hpccfpga.session import open as open
    from hpccfpga.suite import Suite, run_all
    from hpccfpga.topology import Link, links, plot_topology

    __version__: str

__all__ = [
    "Board",
    "Column",
    "Comparison",
    "Error",
    "Graph",
    "Link",
    "Quantity",
    "Records",
    "Result",
    "Session",
    "Suite",
    "VerificationWarning",
    "__version__",
    "benchmarks",
    "board",
    "boards",
    "calibrate",
    "compare",
    "configure",
    "devices",
    "exchanges",
    "fit",
    "launch",
    "links",
    "model",
    "plot",
    "plot_topology",
    "published",
    "published_list",
    "run",
    "run_all",
    "run_calibrated",
    "scaling",
]

_HOME = {
    "_core": ("Error",),
    "boards": ("Board", "board", "boards"),
    "components": ("benchmarks", "devices", "exchanges"),
    "comparison": ("Comparison", "compare"),
    "configuration": ("configure",),
    "fit": ("fit",),
    "graph": ("Graph",),
    "measure": ("calibrate", "launch", "run", "run_calibrated"),
    "models": ("model",),
    "outcome": ("VerificationWarning",),
    "plot": ("plot",),
    "published": ("published", "published_list"),
    "records": ("Records",),
    "result": ("Column", "Quantity", "Result"),
    "scaling": ("scaling",),
    "session": ("Session", "open"),
    "suite": ("Suite", "run_all"),
    "topology": ("Link", "links", "plot_topology"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


class _Package(ModuleType):
    """Some modules are named as a function: `hpccfpga.plot` is the function."""

    def __setattr__(self, name: str, value: "Any") -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        value: Any = importlib.import_module(f"{__name__}._core").VERSION
    elif name in _MODULE:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
