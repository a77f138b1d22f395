"""What this machine has, what it lacks, and what to install."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from hpccfpga import _core
from hpccfpga.arguments import INSTALL_DATA
from hpccfpga.text import tell

PCI = Path("/sys/bus/pci/devices")
XOCL = Path("/sys/module/xocl/version")
"""What the driver of Xilinx's cards tells, without a command of XRT."""

PATIENCE = 1.0
"""Longest wait for that [s]."""

_LONGEST = 60.0  # that mpi4py may take to load [s]
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
        tell(f"ok       {what}: {text}")

    def poor(self, what: str, text: str) -> None:
        """Something works less well."""
        tell(f"lacking  {what}: {text}")

    def optional(self, what: str, text: str) -> None:
        """Say what does not work without it; all else does."""
        tell(f"optional {what}: {text}")

    def bad(self, what: str, text: str) -> None:
        """Name what a run needs unless it is told otherwise."""
        tell(f"MISSING  {what}: {text}")
        self.missing.append(what)


def examine() -> bool:
    """Print what is found and what is missing; True if a run has all that it needs."""
    found = _Findings()
    found.good("Python", f"{platform.python_version()} ({sys.executable})")
    found.good("hpccfpga", f"{_core.VERSION} ({_core.__file__})")
    _examine_devices(found)
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
    from hpccfpga.emulation import VENDORS
    from hpccfpga.errors import limits

    named = {name: os.environ[name] for name in VENDORS if name in os.environ}
    ways = [f"{name}={folder}" for name, folder in named.items()]
    hint = f"; is a working driver in {' and '.join(ways)}?" if ways else ""
    if not all(folder.endswith("/") for folder in named.values()):
        hint += " Some loaders want a / at the end."
    known, failures = survey()
    runs = {name: _core.programs(name) for name, _ in _core.components("device")}
    there = [d for d in known if runs[d["runtime"]] != "none"]
    cards = [d for d in there if runs[d["runtime"]] == "xclbin"]
    for name, line in failures.items():
        if runs[name] == "xclbin":
            found.poor("Xilinx cards", line)
        else:
            found.bad("devices", line)
    for device in (d for d in there if d not in cards):
        found.good(f"device {device['runtime']}:{device['index']}", device["name"])
        where = f"{device['platform']}, {device['version']}"
        print(f"         {where}, driver {device['driver']}")
    if not there and all(runs[name] == "xclbin" for name in failures):
        found.bad(
            "OpenCL device",
            "none; for the CPU: apt install pocl-opencl-icd, which has none where it "
            "cannot write its cache: HOME or POCL_CACHE_DIR names its folder"
            f"{limits()}{hint}",
        )
    _examine_cards(found, cards)
    for runtime, programs in runs.items():
        if programs == "xclbin" and not cards and runtime not in failures:
            _say_why_none(found, runtime)


def _examine_cards(found: _Findings, cards: Sequence[Mapping[str, Any]]) -> None:
    """Tell of Xilinx cards what XRT does, and their driver by its files."""
    addresses = {card["version"] for card in cards}
    bound = PCI.parent / "drivers" / "xocl"
    others = sorted({p.name for p in bound.glob("*:*:*.*")} - addresses)
    states = _states([*addresses, *others])
    for card in cards:
        what = f"device {card['runtime']}:{card['index']}"
        library = f"{card['platform']} {card['driver']}".strip()
        if address := card["version"]:
            found.good(what, card["name"])
            print(f"         {address}, {library}{states.get(address, '')}")
        else:
            found.poor(what, f"{card['name']}; {library}")
    for address in others:
        print(f"         {address}, which XRT does not tell of{states[address]}")


def _say_why_none(found: _Findings, runtime: str) -> None:
    """Say why a runtime has no card: optional where nothing of it is there."""
    from hpccfpga.emulation import vendors

    try:
        _core.Session(runtime, _core.SCHEME, **vendors()).close()
    except (NotImplementedError, ValueError, _core.Error) as error:
        wanted = os.environ.get("XILINX_XRT") or XOCL.exists()
        absent = str(error).startswith("no XRT:") and not wanted
        say = found.optional if absent else found.poor
        say("Xilinx cards", str(error))


def _states(addresses: Iterable[str]) -> dict[str, str]:
    """State of each card, as far as its driver tells, in words after a comma."""
    names = {"interface_uuids": "shell", "xclbinuuid": "xclbin"}
    folders = {address: PCI / address for address in addresses if ":" in address}
    powers = {a: [*f.glob("xmc*/xmc_power")][:1] for a, f in folders.items()}
    files = [f / name for f in folders.values() for name in (*names, "ready", "nodma")]
    told = _said([XOCL, *files, *(path for each in powers.values() for path in each)])
    found = {}
    for address, folder in folders.items():
        words = [f"driver xocl {told[XOCL]}"] if XOCL in told else []
        for name, what in names.items():
            if (path := folder / name) in told:
                words.append(f"{what} {told[path]}")
        if (ready := told.get(folder / "ready")) is not None:
            words.append("ready" if ready == "1" else "not ready")
        if told.get(folder / "nodma") == "1":
            words.append("without DMA, which is not supported")
        for path in powers[address]:
            power = told.get(path, "")
            if power.isdecimal() and int(power):  # 0: nothing measures it
                words.append(f"{int(power) / 1e6:g} W")
        words = words or [f"{folder} tells nothing: is the driver xocl loaded?"]
        found[address] = "".join(f", {word}" for word in words)
    return found


def _said(paths: Sequence[Path]) -> dict[Path, str]:
    """First lines of those files of a driver that tell something within a second.

    All have it together: one that is silent keeps nobody longer.
    """
    told: dict[Path, str] = {}

    def read(path: Path) -> None:
        with contextlib.suppress(OSError):
            line = path.read_text("utf-8", "replace").strip().partition("\n")[0]
            if line:
                told[path] = line

    threads = [Thread(target=read, args=[path], daemon=True) for path in paths]
    for thread in threads:
        thread.start()
    end = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return dict(told)


def _examine_kernels(found: _Findings) -> None:
    from hpccfpga.files import PrivateFolder, cache_dir
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
    words = [sys.executable, "-P", "-c", _ASK_MPI]
    try:
        asked = subprocess.run(
            words, capture_output=True, text=True, timeout=_LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        text = f"one rank only: it does not load within {_LONGEST:g} s"
        found.poor("mpi4py", text)
        return
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
    from hpccfpga.mpirun import find_mpirun

    try:
        path, said = find_mpirun()
        version = said.partition("\n")[0]
        found.good("mpirun", f"{version} ({path})")
    except _core.Error as error:
        found.poor("mpirun", f"one rank only: {error}")
