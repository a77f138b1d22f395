"""What must be in the environment before OpenCL is first used in a process.

OpenCL's loader and PoCL read the environment once. What the user set stays.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from hpccfpga import _core
from hpccfpga.formats import replacing

KERNELS = 8
"""Kernels of a rank that run at the same time, at most."""

SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_WORKERS = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")
_VENDORS = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")  # ocl-icd's, Khronos's


def prepare(exchange: str = "") -> None:
    """Make Intel's runtimes known, and give PoCL a worker for each waiting kernel.

    Parameters
    ----------
    exchange : str
        Name of the exchange scheme that is about to be opened. PoCL wakes all its
        workers for every command, so it gets more than one per core only where kernels
        wait for each other.
    """
    known = [name for name, _ in _core.components("exchange")]
    routed = exchange in known and _core.scheme(exchange)["kernel_routed"]
    if routed and cpus() < KERNELS:
        for name in _WORKERS:
            os.environ.setdefault(name, str(KERNELS))
    if not any(name in os.environ for name in _VENDORS) and (folder := vendors()):
        for name in _VENDORS:
            os.environ[name] = str(folder)


def cpus() -> int:
    """CPUs that this process may use: PoCL has as many workers unless told."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def vendors(prefix: str = sys.prefix) -> Path | None:
    """Folder that names Intel's FPGA emulator beside the system's OpenCL runtimes.

    The packages of `pip install hpccfpga[intel]` name their libraries by a path that
    does not exist. Where the system has no runtime of its own, Intel's for CPUs, which
    comes with them, is named too; elsewhere it would take the place of the default.

    Parameters
    ----------
    prefix : str
        Where Python's packages are.

    Returns
    -------
    Path or None
        None without the emulator, or where no folder can be written.
    """
    library = Path(prefix, "lib", "libintelocl_emu.so")
    if not library.is_file():
        return None
    found = {path.name: path.read_text() for path in SYSTEM_VENDORS.glob("*.icd")}
    if not found:
        found["intel_cpu.icd"] = f"{library.with_name('libintelocl.so')}\n"
    found["intel_fpga_emu.icd"] = f"{library}\n"
    folder = Path(tempfile.gettempdir(), f"hpccfpga-icd-{os.getuid()}-{_hash(found)}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            return None
        for name, text in found.items():
            if not (folder / name).is_file():
                with replacing(folder / name) as file:
                    file.write(text.encode())
    except OSError:
        return None
    return folder


def _hash(texts: dict[str, str]) -> str:
    from hashlib import sha256

    return sha256(repr(sorted(texts.items())).encode()).hexdigest()[:12]
