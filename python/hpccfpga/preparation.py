"""What a run needs before it begins: parameters as the core takes them, and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hpccfpga import _core, kernels, sources, topology
from hpccfpga.arguments import path, word
from hpccfpga.components import benchmarks
from hpccfpga.graph import METIS, Graph, named

if TYPE_CHECKING:
    import numpy as np

    from hpccfpga.turns import Run


class Prepared(NamedTuple):
    """A run that may begin.

    Parameters
    ----------
    run : Run
        What it is.
    parameters : dict
        As the core takes them, with those that are built into the kernels.
    kernel : Kernel or None
        Its kernels, if it needs some.
    source : str or None
        Path that they were given by.
    fields : list of numpy.dtype or None
        What records of its result may be.
    """

    run: Run
    parameters: dict[str, Any]
    kernel: kernels.Kernel | None
    source: str | None
    fields: list[np.dtype | None]

    @property
    def loaded(self) -> tuple[str, bytes, str] | None:
        """Kernels as the core takes them."""
        if self.kernel is None:
            return None
        return self.kernel.stem, self.kernel.binary, self.kernel.made_of[:16]


def prepared(
    core: _core.Session, run: Run, compiling: Callable[[], object]
) -> Prepared:
    """Check a run, and build its kernels if need be.

    Raises
    ------
    LookupError, ValueError, TypeError, MemoryError, Error
        As `hpccfpga.Session.run`.
    """
    word("benchmark", run.benchmark, benchmarks().names)
    source = None if run.kernel is None else path("kernel", run.kernel)
    params = named(run.parameters)
    if params.get("partition") == METIS:
        values = _core.values(run.benchmark, params)
        cut = Graph(values["graph"], seed=values["seed"])
        params["partition"] = cut.partition(METIS, core.size)
    if "topology" in params:
        params["topology"] = topology.text(params["topology"])
    kernel = kernels.load(core, run.benchmark, params, source, compiling)
    if kernel is not None:
        banks = kernel.manifest.get("banks", [])
        own = kernels.placed(run.benchmark, params, banks)
        params = {**own, **params, **kernel.manifest["knobs"]}
    fields = sources.fields(run.benchmark, params)
    sources.scalars_check(run.benchmark, params)
    return Prepared(run, params, kernel, source, fields)
