"""Kernel files: found, compiled once per device, kept in a cache, loaded by path.

A program binary is never used without its manifest, a JSON file beside it that says
what it was built for. Entries of the cache are such pairs too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from hpccfpga import _core, emulation
from hpccfpga.arguments import known
from hpccfpga.errors import debugging
from hpccfpga.files import (
    ANOTHER_CACHE,
    PrivateFolder,
    cache_dir,
    read,
    replacing,
)
from hpccfpga.manifests import (
    SCHEMA,
    TARGETS,
    check_complete,
    check_possible,
    check_same,
    read_manifest,
    text_of,
)
from hpccfpga.sources import (
    existing,
    headers,
    kernel_dir,
    named_files,
    programs,
    read_source,
    texts,
)
from hpccfpga.xclbin import BANK, fitting, kinds

LOCK_DEADLINE = 300.0
"""Longest wait for another process that builds the same kernels [s]."""

RELAY = "relay_ndrange"
"""Stem of the kernel file whose kernels pass messages on."""

FILES = 32
"""Open files that are enough to compile."""


class Kernel(NamedTuple):
    """Kernels ready to load.

    Parameters
    ----------
    stem : str
        Name of the kernel file, e.g. "b_eff_memory".
    binary : bytes
        Program binary; empty for the device `host`, whose kernels are C functions.
    manifest : dict
        What the binary was built for; `manifest["knobs"]` holds the values of the
        parameters that are built into it.
    made_of : str
        Hash on which all ranks must agree: of the source, as different processors make
        different programs of one, or of a binary that was given. "" for C functions,
        which the version stands for.
    note : str
        What a user should know about them, if anything.
    """

    stem: str
    binary: bytes
    manifest: dict[str, Any]
    made_of: str
    note: str = ""


def load(
    core: _core.Session,
    benchmark: str,
    params: Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    compiling: Callable[[], object] = bool,
) -> Kernel | None:
    """Return the kernels that a benchmark needs in a session, built if need be.

    Parameters
    ----------
    core : _core.Session
        Where they will run.
    benchmark : str
        Name of the benchmark.
    params : mapping
        Parameters of the run; those with a macro are build options.
    path : path, optional
        OpenCL C source (`.cl`), or a program binary with its manifest `<path>.json`
        beside it. Default: the package's source. For a benchmark without kernels on
        a Xilinx card by XRT: any xclbin, for its memories.
    compiling : callable
        Called where they are not there, before somebody compiles them.

    Returns
    -------
    Kernel or None
        None if the benchmark needs no kernels here.

    Raises
    ------
    LookupError
        Unknown benchmark; the message lists the known ones.
    ValueError
        No usable file at `path`, a manifest that is missing or contradicts the
        request, or a cache that other users can write.
    Error
        The source does not compile, or another process builds it for too long.
    """
    stem = core.kernel(benchmark, str(params.get("shape", "auto")))
    programs = _core.programs(core.device["runtime"])
    on_host = programs == "none"
    if path is not None and stem is None and programs == "xclbin":
        return _memories(Path(path))
    if path is not None and (stem is None or on_host):
        reason = "device host runs C functions" if stem else f"{benchmark} needs none"
        raise ValueError(
            f"kernel: {os.fspath(path)} is of no use here: {reason}{_meant(path)}"
        )
    if stem is None:
        return None
    source = kernel_dir() / f"{stem}.cl" if path is None else existing(path)
    emulation.check_room(core.device)
    if source.suffix != ".cl":
        return _loaded(core, source, stem, params)
    knobs, options = knobs_of(benchmark, params)
    _computed(core, knobs.get("data_type"))
    if on_host:
        _compiled_in(benchmark, knobs)
        picks = ("data_type", *headers(benchmark))
        typed = "_".join([stem, *(str(knobs[n]) for n in knobs if n in picks)])
        return Kernel(typed, b"", {"knobs": knobs}, "")
    text = read_source(source, named_files(benchmark, params))
    if core.prelude:  # it names what belongs to this session alone
        options = " ".join([options, *replicated(benchmark, params)])
        compiling()
        binary = _built(core, stem, core.prelude + text, options)
        hashes = {"source_hash": _hash(text.encode()), "binary_hash": _hash(binary)}
        return Kernel(stem, binary, {"knobs": knobs, **hashes}, hashes["source_hash"])
    own = texts(benchmark, knobs)
    return _cached(core, stem, text, knobs, options, own, compiling)


def relay(core: _core.Session) -> bytes:
    """Return the program binary of the kernels that pass messages on.

    Raises
    ------
    Error, ValueError
        As `load`.
    """
    text = read_source(kernel_dir() / f"{RELAY}.cl")
    return _cached(core, RELAY, text, {}, "", {}, bool).binary


def build(
    core: _core.Session, benchmark: str, params: Mapping[str, Any], folder: Path
) -> Path | None:
    """Write the program binary of a benchmark, and its manifest, into a folder.

    Parameters
    ----------
    core : _core.Session
        For which device and exchange scheme.
    benchmark : str
        Name of the benchmark.
    params : mapping
        Parameters; those with a macro are build options.
    folder : Path
        Made if it does not exist.

    Returns
    -------
    Path or None
        The binary, named after the kernel file; None if there is nothing to build.

    Raises
    ------
    LookupError, ValueError, Error
        As `load`; ValueError too if the folder cannot be written, and where kernels
        name pipes of this session alone: in Intel's emulator, over channels.
    """
    if core.prelude:
        raise ValueError(
            "exchange: kernels for channels of Intel's emulator name the pipes of one "
            "session; there is none to keep"
        )
    kernel = load(core, benchmark, params)
    if kernel is None or not kernel.binary:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"cannot write {folder}: {error.strerror}") from None
    path = folder / f"{kernel.stem}.bin"
    with replacing(path) as file:
        file.write(kernel.binary)
    with replacing(f"{path}.json") as file:
        file.write(text_of(kernel.manifest))
    return path


def knobs_of(benchmark: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Values of the parameters that are built in, and the options that do it.

    Raises
    ------
    LookupError
        Unknown benchmark; the message lists the known ones.
    ValueError
        Unknown parameters, or a value that one cannot have.
    """
    values = _core.values(benchmark, dict(params))
    macros = {e["name"]: e["macro"] for e in _core.parameters(benchmark) if e["macro"]}
    knobs = {name: values[name] for name in macros}
    defined = [name for name in knobs if not macros[name].endswith(".h")]
    return knobs, " ".join(f"-D{macros[name]}={knobs[name]}" for name in defined)


def replicated(benchmark: str, params: Mapping[str, Any]) -> list[str]:
    """Option that builds as many kernels as a run takes, where that is no knob.

    For targets where a kernel costs more than its place in a binary.
    """
    values = _core.values(benchmark, dict(params))
    knobs, _ = knobs_of(benchmark, params)
    wanted = "replications" in values and "replications" not in knobs
    return [f"-DHF_REPLICATIONS={values['replications']}"] if wanted else []


def placed(
    benchmark: str, params: Mapping[str, Any], banks: list[int]
) -> dict[str, list[int]]:
    """Memory banks by default, as published: one of `banks` for each replication."""
    if not banks:
        return {}
    values = _core.values(benchmark, dict(params))
    each = [banks[r % len(banks)] for r in range(values.get("replications", 1))]
    return {name: each for name in values if name.startswith(BANK)}


def _computed(core: _core.Session, data_type: Any) -> None:
    """Raise ValueError for a data type in which the device does not compute."""
    device = core.device
    lacks = {"half": not device["half"], "double": not device["fp64"]}
    if lacks.get(data_type):
        known = "|".join(["float", *(name for name in lacks if not lacks[name])])
        raise ValueError(
            f"data_type: {device['name']} does not compute in {data_type}; "
            f"it does in {known}"
        )


def _compiled_in(benchmark: str, knobs: Mapping[str, Any]) -> None:
    """Raise ValueError for a knob that the C functions of device host do not have.

    The data type picks among them; a word's width changes nothing that they compute.
    """
    defaults, _ = knobs_of(benchmark, {})
    for name in headers(benchmark):
        if knobs[name] not in programs():
            choices = known(knobs[name], programs())
            raise ValueError(f"{name}: device host compiles nothing; {choices}")
        defaults[name] = knobs[name]
    for name, value in knobs.items():
        if name not in ("data_type", "channel_width") and value != defaults[name]:
            raise ValueError(
                f"{name}: device host has kernels for {defaults[name]}, not {value}"
            )


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---- the cache ----


def _cached(
    core: _core.Session,
    stem: str,
    source: str,
    knobs: dict[str, Any],
    options: str,
    hashes: dict[str, dict[str, str]],
    compiling: Callable[[], object],
) -> Kernel:
    """Kernels built from `source`, by this process or an earlier one."""
    from filelock import FileLock, Timeout

    device = core.device
    benchmark, _, kind = stem.rpartition("_")
    wanted = {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "kind": kind,
        "data_type": knobs.get("data_type"),
        "knobs": knobs,
        "replications": knobs.get("replications", 1),
        "target": TARGETS[device["emulated"]],
        "device": device["name"],
        "platform": device["platform"],
        "version": device["version"],
        "driver": device["driver"],
        "source_hash": _hash(source.encode()),
        "options": options,
        **hashes,
    }
    request = _hash(json.dumps(wanted, sort_keys=True).encode())
    wanted["request_hash"] = request
    name, note = f"{stem}-{request}.bin", ""
    with ExitStack() as stack:
        cache = None
        try:
            folder = stack.enter_context(PrivateFolder(cache_dir()))
            if found := _entry(folder, name, stem, wanted):
                return found
            compiling()  # here, or in a process that has the lock
            lock = FileLock(folder.path / f"{name}.lock", LOCK_DEADLINE, 0o600)
            stack.enter_context(lock)
            if found := _entry(folder, name, stem, wanted):
                return found
            cache = folder
        except Timeout:
            raise _core.Error(
                f"waited {LOCK_DEADLINE:g} s for another process to build "
                f"{cache_dir() / name}"
            ) from None
        except ValueError as error:
            raise ValueError(f"kernel cache: {error}; {ANOTHER_CACHE}") from None
        except (OSError, NotImplementedError) as error:  # the latter: it has no locks
            note = _uncached(error)
            compiling()
        binary = _built(core, stem, source, options)
        manifest = {**wanted, "binary_hash": _hash(binary)}
        try:
            if cache:
                cache.write(name, binary)  # counts for nothing without its manifest
                cache.write(f"{name}.json", text_of(manifest))
        except OSError as error:
            note = _uncached(error)
        return Kernel(stem, binary, manifest, manifest["source_hash"], note)


def _uncached(error: Exception) -> str:
    """Note that a run works, but builds its kernels anew each time."""
    why = getattr(error, "strerror", None) or error
    return f"kernels were built and not kept: {cache_dir()}: {why}; {ANOTHER_CACHE}"


def _built(core: _core.Session, stem: str, source: str, options: str) -> bytes:
    """Program binary; PoCL's compiler, which also talks to standard error, is muted.

    PoCL has a folder for each text with its options. It puts into the binary all that
    lies there, also what another process has only begun to write: a damaged one ends
    every process that loads it. So each build has a folder of its own.
    """
    own = f"{options} -DHF_BUILD={secrets.token_hex(8)}"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < FILES:  # PoCL ends the process where it cannot open one
        raise _core.Error(
            f"kernel {stem}: a limit of {files} open files (ulimit -n) is too low to "
            f"compile it; {FILES} are enough"
        )
    try:
        return core.build(source, own, not debugging())
    except _core.Error as error:
        raise ValueError(f"kernel {stem}: {_said(stem, str(error), options)}") from None


def _said(stem: str, error: str, options: str) -> str:
    """Tell what the compiler says; of refused parameters what and why, by name."""
    benchmark = stem.rpartition("_")[0]
    names = {e["macro"]: e["name"] for e in _core.parameters(benchmark) if e["macro"]}
    refusals = re.findall(r'"(HF_[^"]*)"', error)
    told = re.sub(
        r"HF_\w+", lambda m: names.get(m[0], m[0]), "; ".join(refusals) or error
    )
    given = dict(o[2:].split("=", 1) for o in options.split() if "=" in o)
    asked = [
        f"{names.get(macro, macro)}={value}"
        for macro, value in given.items()
        if re.search(rf"\b{macro}\b", error)
    ]
    return f"{told} ({', '.join(asked)})" if asked else told


def _entry(
    folder: PrivateFolder, name: str, stem: str, wanted: dict[str, Any]
) -> Kernel | None:
    """Whole and fitting entry of the cache, or None."""
    binary, text = folder.read(name), folder.read(f"{name}.json")
    if binary is None or text is None:
        return None
    whole = {**wanted, "binary_hash": _hash(binary)}
    if text != text_of(whole):
        return None
    return Kernel(stem, binary, whole, whole["source_hash"])


# ---- a given binary ----


def _loaded(
    core: _core.Session, path: Path, stem: str, params: Mapping[str, Any]
) -> Kernel:
    """Kernels from a program binary, held against its manifest."""
    beside = Path(f"{path}.json")
    try:
        binary = read(path)
        text = read(beside) if beside.is_file() else None
    except OSError as error:
        raise ValueError(f"cannot read {error.filename}: {error.strerror}") from None
    if not binary:
        raise ValueError(f"kernel: {path} is empty")
    if text is None:
        raise ValueError(
            f"kernel: {path} is no OpenCL C source (*.cl), and as a program binary it "
            f'lacks its manifest {beside}, which "hpccfpga kernels build" writes'
        )
    manifest = read_manifest(beside, text)
    benchmark, _, kind = stem.rpartition("_")
    needed = {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "kind": kind,
        "device": core.device["name"],
        "platform": core.device["platform"],
        "binary_hash": _hash(binary),
    }
    by_xrt = _core.programs(core.device["runtime"]) == "xclbin"
    for field, value in needed.items():
        try:
            check_same(beside, field, manifest.get(field, value), value)
        except ValueError as error:
            raise ValueError(f"{error}{'' if by_xrt else _meant(path)}") from None
    names = [e["name"] for e in _core.parameters(benchmark) if e["macro"] is not None]
    check_complete(beside, "knobs.", manifest["knobs"], names)
    try:
        knobs, _ = knobs_of(benchmark, manifest["knobs"])
    except ValueError as error:
        raise ValueError(f"{beside}: knobs: {error}") from None
    check_possible(beside, benchmark, manifest, knobs)
    asked, _ = knobs_of(benchmark, {**knobs, **params})
    hashes = texts(benchmark, asked).get("texts", {})
    check_complete(beside, "texts.", manifest["texts"], hashes)
    for name, value in asked.items():
        if name not in hashes:
            check_same(beside, f"knobs.{name}", knobs[name], value)
        elif manifest["texts"][name] != hashes[name]:
            raise ValueError(f"{beside}: {name}: {value} has changed since the build")
        knobs[name] = value
    if by_xrt or path.suffix == ".xclbin":
        try:
            if by_xrt:
                own = placed(benchmark, params, manifest.get("banks", []))
                values = _core.values(benchmark, {**own, **params, **knobs})
                fitting(binary, stem, values, manifest, params)
            manifest["reached"] = kinds(binary)
        except ValueError as error:
            raise ValueError(f"kernel: {path}: {error}") from None
    if core.device.get("type") == "cpu" and core.rank == 0:
        from hpccfpga.trial import survived

        try:
            survived(
                core, benchmark, _core.values(benchmark, {**params, **knobs}), binary
            )
        except ValueError as error:
            raise ValueError(f"kernel: {path} is {error}") from None
    return Kernel(stem, binary, {**manifest, "knobs": knobs}, needed["binary_hash"])


def _meant(path: str | os.PathLike[str]) -> str:
    """End of a refusal: the runtime that loads a file, if it is an xclbin."""
    if Path(path).suffix != ".xclbin":
        return ""
    runtimes = [name for name, _ in _core.components("device")]
    (meant,) = (name for name in runtimes if _core.programs(name) == "xclbin")
    return f"; did you mean --device {meant}?"


def _memories(path: Path) -> Kernel:
    """Program whose kernels nobody runs: a card has the memories of its xclbin."""
    existing(path)
    try:
        binary = read(path)
        _core.xclbin(binary)
    except OSError as error:
        raise ValueError(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"kernel: {path}: {error}") from None
    made_of = _hash(binary)
    return Kernel(path.stem, binary, {"knobs": {}, "binary_hash": made_of}, made_of)
