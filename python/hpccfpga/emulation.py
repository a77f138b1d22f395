"""Runtimes that stand in for accelerators: how they are found, and their workers.

PoCL reads the environment once in a process. What the user set stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from hpccfpga import _core
from hpccfpga.errors import debugging
from hpccfpga.files import PrivateFolder, cache_dir

KERNELS = 8
"""Kernels of a rank that wait for each other, at most."""
_waiting = KERNELS
"""How many of the kernels of this process wait for each other."""

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
CACHE = "POCL_CACHE_DIR"
"""Variable that names the folder in which PoCL keeps kernels."""

ROOM = 4 << 20
"""Room there without which kernels are not loaded [B]."""

ROOM_FILES = 64
"""Files for which a folder of temporary files has room at least."""

WORKERS = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")
"""Variables that tell PoCL's releases their number of workers."""
_set: dict[str, str] = {}
"""What is set here for this process."""
VENDORS = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")
"""Variables that name the known runtimes to OpenCL's loader: ocl-icd's, Khronos's."""


def prepare(exchange: str = "") -> None:
    """Give PoCL a worker for each CPU, or for each kernel that waits for others.

    Parameters
    ----------
    exchange : str
        Name of the exchange scheme that is about to be opened. PoCL wakes all its
        workers for every command, so it gets more than one per CPU only where kernels
        wait for each other. Not every release looks which CPUs it may use.
    """
    number = max(len(cpus()), _waiting * routed(exchange))
    for name in WORKERS:
        if os.environ.get(name) == _set.get(name):  # not the user's
            number = max(number, int(_set.get(name, 0)))
            os.environ[name] = _set[name] = str(number)


@contextmanager
def limited(kernels: int) -> Iterator[None]:
    """Open a session for a job, whose kernels that wait for each other are so many.

    Any other session may be asked for all kernels that there are.
    """
    global _waiting
    _waiting = min(kernels, KERNELS)
    try:
        yield
    finally:
        _waiting = KERNELS


def _set_cache() -> None:
    """Let PoCL keep its kernels, which it loads, in a folder of this user alone.

    Without a home folder it would take one in /tmp, and a home may be another user's.
    """
    if CACHE in os.environ:
        return
    home = os.environ.get("HOME")
    base = os.environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
    tried = [[Path(base, "pocl", "kcache").absolute()]] if base else []
    with suppress(ValueError):
        tried.append([cache_dir(), cache_dir() / "pocl"])
    chosen = Path(os.devnull, "none")  # there PoCL has no device
    for folders in tried:
        with suppress(OSError, ValueError), ExitStack() as stack:
            for folder in folders:
                stack.enter_context(PrivateFolder(folder))
            chosen = folders[-1]
            break
    os.environ[CACHE] = _set[CACHE] = str(chosen)


def check_room(device: Mapping[str, Any]) -> None:
    """Raise Error where PoCL cannot keep kernels: it would end the process."""
    folder = os.environ.get(CACHE)
    if folder and "Portable Computing" in device["platform"]:
        check_free(folder, ROOM, "PoCL", CACHE)


def check_free(folder: str, room: int, who: str, variable: str) -> None:
    """Raise Error for a folder with less room than that [B]."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return  # all who use it take another, or say so
    free = found.f_bavail * found.f_frsize
    if free < room or (found.f_files > 0 and found.f_favail < ROOM_FILES):
        raise _core.Error(
            f"{folder} has room for {free} B and {found.f_favail} files; {who} "
            f"needs some {room} B and {ROOM_FILES} files there: set {variable}"
        )


def for_others(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what is set here for this process."""
    return {k: v for k, v in environment.items() if _set.get(k) != v}


def routed(exchange: str) -> bool:
    """Whether kernels send and receive themselves, so that they wait for each other."""
    known = [name for name, _ in _core.components("exchange")]
    return exchange in known and bool(_core.scheme(exchange)["kernel_routed"])


def counts(benchmark: str, exchange: str) -> bool:
    """Whether what a benchmark times is a device's: messages of the host are not."""
    computes = _core.quantities(benchmark)["computes"]
    return computes or not _core.scheme(exchange)["host_memory"]


def cpus() -> set[int]:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def folder() -> str:
    """Folder for pipes of emulated channels: a job's own, which its keeper removes."""
    return os.path.abspath(os.environ.get("TMPDIR") or "/tmp")


def vendors() -> dict[str, Any]:
    """Say what may be loaded beside the runtimes that OpenCL knows, and how.

    The packages of `pip install hpccfpga[intel]` bring Intel's FPGA emulator, a library
    that the system does not know; a user who names the known ones himself gets no
    other. Where the system knows none, Intel's for CPUs, which comes with them, may be
    loaded, too; elsewhere PoCL does the same. Each is loaded only when a device of it
    is wanted, or all are listed.

    Returns
    -------
    dict
        Keyword arguments of `_core.Session` and `_core.devices`: `libraries`, paths in
        the order in which they are looked at; `quiet`, whether what libraries print
        when they are loaded is dropped.
    """
    _set_cache()
    names = ["libintelocl.so"] * (not any(SYSTEM_VENDORS.glob("*.icd")))
    names += ["libintelocl_emu.so"]
    paths = [Path(sys.prefix, "lib", name) for name in names]
    chosen = any(name in os.environ for name in VENDORS)
    return {
        "libraries": [str(p) for p in paths if p.is_file() and not chosen],
        "quiet": not debugging(),
    }
