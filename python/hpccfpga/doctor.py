"""What this machine has, what it lacks, and what to install."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from hpccfpga.arguments import INSTALL_DATA
from hpccfpga.provenance import own_version

PCI = Path("/sys/bus/pci/devices")
XOCL = Path("/sys/module/xocl/version")
"""What the driver of Xilinx's cards tells, without a command of XRT."""

_ASK_MPI = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version().strip("\\0 \\n").splitlines()[0])
"""


class _Findings:
    def __init__(self) -> None:
        self.missing: list[str] = []

    def good(self, what: str, text: str) -> None:
        print(f"ok       {what}: {text}")

    def poor(self, what: str, text: str) -> None:
        """Something works less well."""
        print(f"lacking  {what}: {text}")

    def optional(self, what: str, text: str) -> None:
        """All works without it but what the text says."""
        print(f"optional {what}: {text}")

    def bad(self, what: str, text: str) -> None:
        """Name what a run needs unless it is told otherwise."""
        print(f"MISSING  {what}: {text}")
        self.missing.append(what)


def examine() -> bool:
    """Print what is found and what is missing; True if nothing is that a run needs."""
    found = _Findings()
    found.good("Python", f"{platform.python_version()} ({sys.executable})")
    try:
        from hpccfpga import _core
    except ImportError as error:
        found.bad("hpccfpga", f"its extension does not load: {error}")
        return False
    found.good("hpccfpga", f"{own_version()} ({_core.__file__})")
    _examine_devices(found)
    _examine_cards(found)
    _examine_kernels(found)
    _examine_mpi(found, _core.mpi_library().strip("\0 \n").partition("\n")[0])
    for package, use in (("pandas", "to_pandas"), ("xarray", "to_xarray")):
        if importlib.util.find_spec(package):
            found.good(package, use)
        else:
            found.optional(package, f"for {use}: {INSTALL_DATA}")
    if found.missing:
        print("what runs: only --device host and --exchange host, on plain memory")
    else:
        print("a run is possible")
    return not found.missing


def _examine_devices(found: _Findings) -> None:
    from hpccfpga.components import survey
    from hpccfpga.emulation import VENDORS, limits

    named = {name: os.environ[name] for name in VENDORS if name in os.environ}
    ways = [f"{name}={folder}" for name, folder in named.items()]
    hint = f"; is a working driver in {' and '.join(ways)}?" if ways else ""
    if not all(folder.endswith("/") for folder in named.values()):
        hint += " Some loaders want a / at the end."
    known, failures = survey()
    there = [d for d in known if d["runtime"] != "host"]
    for line in failures:
        found.bad("devices", line)
    for device in there:
        where = f"{device['platform']}, {device['version']}"
        found.good(f"device {device['runtime']}:{device['index']}", device["name"])
        print(f"         {where}, driver {device['driver']}")
        if device["runtime"] == "xrt" and ":" in device["version"]:  # an address
            print(f"         {_card(device['version'])}")
    if not there and not failures:
        found.bad(
            "OpenCL device",
            f"none; for the CPU: apt install pocl-opencl-icd{limits()}{hint}",
        )


def _examine_cards(found: _Findings) -> None:
    """Say why there is no Xilinx card, if there is none."""
    from hpccfpga import _core
    from hpccfpga.emulation import vendors

    try:
        if not _core.devices("xrt", **vendors()):
            _core.Session("xrt", _core.SCHEME, **vendors())
    except (NotImplementedError, _core.Error) as error:
        found.optional("Xilinx cards", str(error))


def _card(address: str) -> str:
    """State of a card, as far as its driver tells."""
    folder = PCI / address
    known = [f"xocl {told}"] if (told := _said(XOCL)) else []
    names = {"xclbinuuid": "xclbin", "interface_uuids": "shell", "ready": "ready"}
    for name, what in names.items():
        if told := _said(folder / name):
            known.append(f"{what} {told}")
    if _said(folder / "nodma") == "1":
        known.append("without DMA, which is not supported")
    for path in sorted(folder.glob("xmc*/xmc_power"))[:1]:
        if (told := _said(path)).isdecimal():
            known.append(f"{int(told) / 1e6:g} W")
    return ", ".join(known) or f"{folder} tells nothing: is the driver xocl loaded?"


def _said(path: Path) -> str:
    """First line of a file of the driver; "" if there is none, or none in a second."""
    told = [""]

    def read() -> None:
        with contextlib.suppress(OSError):
            told[0] = path.read_text("utf-8", "replace").strip().partition("\n")[0]

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(1)
    return told[0]


def _examine_kernels(found: _Findings) -> None:
    from hpccfpga.files import PrivateFolder
    from hpccfpga.kernels import cache_dir
    from hpccfpga.sources import kernel_dir

    try:
        found.good("kernel sources", str(kernel_dir()))
    except LookupError as error:
        found.bad("kernel sources", str(error))
    try:
        with PrivateFolder(folder := cache_dir()), tempfile.TemporaryFile(dir=folder):
            found.good("kernel cache", str(folder))
    except OSError as error:
        text = f"kernels are built anew for each run: {folder}: {error.strerror}"
        found.poor("kernel cache", f"{text}; set HPCCFPGA_CACHE")
    except ValueError as error:
        found.bad("kernel cache", f"{error}; set HPCCFPGA_CACHE")


def _examine_mpi(found: _Findings, ours: str) -> None:
    found.good("MPI of hpccfpga", ours)
    asked = subprocess.run(
        [sys.executable, "-c", _ASK_MPI],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    theirs = asked.stdout.strip()
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or ["it crashed"])[-1]
        found.poor("mpi4py", f"one rank only: {last}; pip install mpi4py")
    elif theirs != ours:
        found.poor(
            "mpi4py",
            f"one rank only: it uses {theirs}; "
            "pip install --force-reinstall --no-binary mpi4py mpi4py",
        )
    else:
        found.good("MPI of mpi4py", theirs)
    from hpccfpga import _core
    from hpccfpga.mpirun import find_mpirun

    try:
        path, said = find_mpirun()
        version = said.partition("\n")[0]
        found.good("mpirun", f"{version} ({path})")
    except _core.Error as error:
        found.poor("mpirun", f"one rank only: {error}")
