"""Manifests: JSON files beside program binaries that say what these were built for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hpccfpga import _core
from hpccfpga.arguments import known
from hpccfpga.formats import parse
from hpccfpga.text import brief

SCHEMA = "hpccfpga-kernel/1"
TARGETS = ("hardware", "emulation")

_REQUIRED = ("schema", "benchmark", "kind", "knobs")


def text_of(manifest: dict[str, Any]) -> bytes:
    """Contents of the file of a manifest."""
    return json.dumps(manifest, indent=1).encode() + b"\n"


def read_manifest(path: Path, text: bytes) -> dict[str, Any]:
    """Return a manifest of its text; ValueError names the file and what is wrong."""
    try:
        manifest = parse(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(manifest, dict):
        raise ValueError(f"{path}: no JSON object")
    check_complete(path, "", manifest, _REQUIRED)
    if not isinstance(manifest["knobs"], dict):
        raise ValueError(f"{path}: knobs is {brief(manifest['knobs'])}, no JSON object")
    if not isinstance(manifest.setdefault("texts", {}), dict):
        raise ValueError(f"{path}: texts is {brief(manifest['texts'])}, no JSON object")
    banks = manifest.get("banks", [])
    if not isinstance(banks, list) or not all(type(b) is int and b >= 0 for b in banks):
        raise ValueError(f"{path}: banks is {brief(banks)}, no list of numbers")
    memories = manifest.get("memories", [])
    if not isinstance(memories, list) or not all(type(m) is str for m in memories):
        raise ValueError(f"{path}: memories is {brief(memories)}, no list of names")
    return manifest


def check_possible(
    path: Path, benchmark: str, manifest: Mapping[str, Any], knobs: Mapping[str, Any]
) -> None:
    """Raise ValueError for what is recorded of a binary that no build can have made."""
    table = {entry["name"] for entry in _core.parameters(benchmark)}
    for field in ("replications", "data_type"):
        found = manifest.get(field)
        if found is None:
            continue
        needed = knobs.get(field, 1 if field == "replications" else None)
        if field in table and field not in knobs:
            try:
                needed = _core.values(benchmark, {field: found})[field]
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}: {error}") from None
        check_same(path, field, found, needed)
    target = manifest.get("target", TARGETS[0])
    if target not in TARGETS:
        raise ValueError(f"{path}: target is {brief(target)}; {known(target, TARGETS)}")
    for field in ("source_hash", "request_hash", "options", "version", "driver"):
        if not isinstance(manifest.get(field, ""), str):
            raise ValueError(f"{path}: {field} is {brief(manifest[field])}, no text")


def check_complete(
    path: Path, prefix: str, entries: Mapping[str, Any], names: Iterable[str]
) -> None:
    """Raise ValueError if one of `names` is missing; `prefix` is what they stand in."""
    if missing := [f"{prefix}{name}" for name in names if name not in entries]:
        raise ValueError(f"{path}: {', '.join(missing)} missing")


def check_same(path: Path, field: str, found: Any, needed: Any) -> None:
    """Raise ValueError if a field is not what is needed."""
    if found != needed:
        raise ValueError(f"{path}: {field} is {brief(found)}, {needed!r} is needed")
