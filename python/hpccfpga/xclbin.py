"""Whether a program binary for Xilinx's cards is what its manifest says.

A card takes seconds to program, and keeps what it got: so what does not fit is refused
before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hpccfpga import _core


def kernels_built(known: Iterable[str], replications: int) -> list[str]:
    """Names of the kernels of a file; `_0` has one for each replication."""
    numbered = [re.fullmatch(r"(\w+?)(_\d+)?", name) for name in known]
    each = {None: [""], "_0": [f"_{i}" for i in range(replications)]}
    return [m[1] + end for m in numbered if m for end in each.get(m[2], [])]


def kinds(binary: bytes) -> list[str]:
    """Kinds of memory that the kernels of an xclbin reach, e.g. ["HBM"].

    Raises
    ------
    ValueError
        No xclbin, or a damaged one.
    """
    used = (m["tag"] for m in _core.xclbin(binary)["memories"] if m["used"])
    return list(dict.fromkeys(tag.partition("[")[0] for tag in used))


def fitting(
    binary: bytes, stem: str, knobs: Mapping[str, Any], manifest: Mapping[str, Any]
) -> None:
    """Hold a program binary against its manifest and the kernels that a run launches.

    Parameters
    ----------
    binary : bytes
        The program binary.
    stem : str
        Kernel file that it was built of, e.g. "gemm_memory".
    knobs : mapping
        What is built into it.
    manifest : mapping
        Of it, `replications`, `banks` and `memories` are looked at.

    Raises
    ------
    ValueError
        No xclbin, a damaged one, or one that was built of something else.
    """
    found = _core.xclbin(binary)
    typed = "_".join([stem, *(str(knobs[n]) for n in knobs if n == "data_type")])
    try:
        known = {kernel["name"]: kernel for kernel in _core.kernels(typed)}
    except LookupError:
        return  # a kernel file of the user's own
    replications = manifest.get("replications", 1)
    for name in kernels_built(known, replications):
        about = known.get(name) or known[re.sub(r"_\d+$", "_0", name)]
        _same_arguments(found, name, about["arguments"])
        units = [u for u in found["units"] if u["kernel"] == name]
        needed = replications if about["replicated"] else 1
        if len(units) < needed:
            raise ValueError(
                f"kernel {name} has {len(units)} compute units, "
                f"{needed} replications need {needed}"
            )
    _same_memories(found, manifest)


def _same_arguments(
    found: Mapping[str, Any], name: str, wanted: Sequence[Mapping[str, Any]]
) -> None:
    each = {kernel["name"]: kernel["arguments"] for kernel in found["kernels"]}
    if name not in each:
        raise ValueError(f"no kernel {name}; {_core.known(name, list(each))}")
    if len(each[name]) != len(wanted):
        raise ValueError(
            f"kernel {name} has {len(each[name])} arguments, {len(wanted)} are needed"
        )
    for number, (has, needs) in enumerate(zip(each[name], wanted, strict=True)):
        value = needs["kind"] == "value"
        kinds = [
            f"{bytes} B" if value else "a pointer"
            for bytes, value in (
                (has["bytes"], not has["pointer"]),
                (needs["bytes"], value),
            )
        ]
        names = [has["name"], needs["name"]]
        if kinds[0] != kinds[1] or names[0] != names[1]:
            raise ValueError(
                f"kernel {name}: argument {number} is {names[0]}, {kinds[0]}; "
                f"{names[1]}, {kinds[1]}, is needed"
            )


def _same_memories(found: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """See that numbers of banks mean here what they meant to who wrote the manifest."""
    tags = [memory["tag"] for memory in found["memories"]]
    named = manifest.get("memories")
    if named is not None and tags[: len(named)] != named:
        raise ValueError(
            f"its memories are {', '.join(tags)}; the manifest says "
            f"{', '.join(map(str, named))}"
        )
    for bank in manifest.get("banks", []):
        if bank >= len(tags):
            raise ValueError(f"no bank {bank}, of which the manifest tells")
