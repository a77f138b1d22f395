"""Whether a program binary for Xilinx's cards is what its manifest says.

A card takes seconds to program, and keeps what it got: so what does not fit is refused
before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hpccfpga import _core

BANK = "bank_"
"""So begins a parameter that places buffers; the name of one follows. The first is for
buffers that have none."""


def kernels_built(known: Iterable[str], replications: int) -> list[str]:
    """Names of the kernels of a file; `_0` has one for each replication."""
    numbered = [re.fullmatch(r"(\w+?)(_\d+)?", name) for name in known]
    each = {None: [""], "_0": [f"_{i}" for i in range(replications)]}
    return [m[1] + end for m in numbered if m for end in each.get(m[2], [])]


def described(known: Mapping[str, _core._Kernel], name: str) -> _core._Kernel:
    """Return what is known of a kernel; numbered ones are alike."""
    return known.get(name) or known[re.sub(r"_\d+$", "_0", name)]


def units(name: str, about: _core._Kernel, replications: int) -> dict[str, list[int]]:
    """Compute units of a kernel, and which replications each serves."""
    all_of_them = range(replications)
    if about["replicated"]:
        return {f"{name}_{r + 1}": [r] for r in all_of_them}
    number = re.search(r"_(\d+)$", name)
    return {name: [int(number[1])] if number else list(all_of_them)}


def banks_told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Banks in which parameters place buffers."""
    return {n: v for n, v in values.items() if n.startswith(BANK)}


def kinds(binary: bytes) -> list[str]:
    """Kinds of memory that the kernels of an xclbin reach, e.g. ["HBM"].

    Raises
    ------
    ValueError
        No xclbin, or a damaged one.
    """
    memories = _core.xclbin(binary)["memories"]
    used = (_tag(memory) for memory in memories if memory["used"])
    return list(dict.fromkeys(tag.partition("[")[0] for tag in used))


def _tag(memory: Mapping[str, Any]) -> str:
    """Name of a memory as linkers write it: the U250's shells call DDR[0] bank0."""
    return re.sub(r"^bank(\d+)$", r"DDR[\1]", memory["tag"])


def fitting(
    binary: bytes,
    stem: str,
    values: Mapping[str, Any],
    manifest: Mapping[str, Any],
    given: Collection[str],
) -> None:
    """Hold a program binary against its manifest and the kernels that a run launches.

    Parameters
    ----------
    binary : bytes
        The program binary.
    stem : str
        Kernel file that it was built of, e.g. "gemm_memory".
    values : mapping
        Parameters of the run.
    manifest : mapping
        Of it, `replications`, `banks` and `memories` are looked at.
    given : collection of str
        Names of the parameters that are the run's own; others are the manifest's.

    Raises
    ------
    ValueError
        No xclbin, a damaged one, or one that was built of something else.
    """
    found = _core.xclbin(binary)
    typed = "_".join([stem, *(str(values[n]) for n in values if n == "data_type")])
    try:
        known = {kernel["name"]: kernel for kernel in _core.kernels(typed)}
    except LookupError:
        return  # a kernel file of the user's own
    replications = values.get("replications", 1)
    built = manifest.get("replications", replications)
    many = any(kernel["replicated"] for kernel in known.values())
    if many and built != replications:
        raise ValueError(
            f"the manifest says replications {built}, the run asks for {replications}"
        )
    _same_memories(found, manifest)
    spots = banks_told(values) or {BANK: manifest.get("banks") or [-1]}
    for name in kernels_built(known, replications):
        about = described(known, name)
        _same_arguments(found, name, about["arguments"])
        for unit, served in _units(found, name, about, replications):
            _reaches(found, unit, about["arguments"], served, spots, given)


def _units(
    found: Mapping[str, Any], name: str, about: _core._Kernel, replications: int
) -> Iterator[tuple[Mapping[str, Any], list[int]]]:
    """Compute units that a run uses of a kernel, and replications that each serves."""
    there = {u["name"]: u for u in found["units"] if u["kernel"] == name}
    wanted = units(name, about, replications)
    if len(wanted) == 1:  # it has any name
        wanted = {unit: served for served in wanted.values() for unit in there}
    many = about["replicated"] and replications > 1
    if not wanted or not there.keys() >= wanted.keys():
        needed = f"{replications} replications run on {', '.join(wanted)}"
        raise ValueError(
            f"kernel {name} has the compute units {', '.join(there) or 'none'}"
            f"{'; ' + needed if many else ''}"
        )
    for unit, served in wanted.items():
        yield there[unit], served


def _reaches(
    found: Mapping[str, Any],
    unit: Mapping[str, Any],
    arguments: Sequence[Mapping[str, Any]],
    served: Sequence[int],
    spots: Mapping[str, Sequence[int]],
    given: Collection[str],
) -> None:
    """See that a unit reaches the banks in which the run places its buffers."""
    tags = _tags(found)
    for argument, reach in zip(arguments, unit["reach"], strict=True):
        own = f"{BANK}{argument['name']}"
        source = own if own in spots else next(iter(spots))
        banks = spots[source]
        for r in [0] if argument["kind"] == "shared" else served:
            bank = banks[r % len(banks)]
            if argument["kind"] == "value" or bank < 0 or bank in reach:
                continue
            names = [tag for m, tag in enumerate(tags) if m in reach]
            names[4:] = ["..."] if len(names) > 4 else []
            raise ValueError(
                f"{source if source in given else 'banks of the manifest'}: bank "
                f"{bank}, {''.join(tags[bank : bank + 1]) or 'which is none'}: "
                f"kernel {unit['kernel']}, unit {unit['name']}, reaches "
                f"{', '.join(names)} by its argument {argument['name']}"
            )


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


def _tags(found: Mapping[str, Any]) -> list[str]:
    """Names of the memories; groups like DDR[0:1] come last, and have no numbers."""
    return [_tag(m) for m in found["memories"] if ":" not in m["tag"]]


def _same_memories(found: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """See that numbers of banks mean here what they meant to who wrote the manifest."""
    tags = _tags(found)
    named = manifest.get("memories")
    if named is not None and tags[: len(named)] != named:
        raise ValueError(
            f"its memories are {', '.join(tags)}; the manifest says "
            f"{', '.join(map(str, named))}"
        )
    for bank in manifest.get("banks", []):
        if bank >= len(tags):
            raise ValueError(
                f"the manifest has bank {bank}, the last is {len(tags) - 1}, {tags[-1]}"
            )
