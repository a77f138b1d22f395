"""Vendors' compilers for boards: their command lines, and the files they need.

Nothing here runs a compiler: a bitstream takes hours on a machine that has one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpccfpga import _core
from hpccfpga.arguments import known
from hpccfpga.boards import Board
from hpccfpga.boards import board as find_board
from hpccfpga.kernels import knobs_of, placed, replicated
from hpccfpga.manifests import SCHEMA, text_of
from hpccfpga.sources import included, kernel_dir, named_files, texts
from hpccfpga.text import brief
from hpccfpga.xclbin import BANK, banks_told, described, kernels_built, units

TARGETS = ("intel", "xilinx")

# What the compilers call the boards, Xilinx's by their last platforms; others by
# `platform`.
_PLATFORMS = {
    ("intel", "520n"): "p520_hpc_sg280l",
    ("xilinx", "u250"): "xilinx_u250_gen3x16_xdma_4_1_202210_1",
    ("xilinx", "u280"): "xilinx_u280_gen3x16_xdma_1_202211_1",
    ("xilinx", "u55c"): "xilinx_u55c_gen3x16_xdma_3_202210_1",
}

_INTEL = ("Stratix", "Arria", "Agilex")
"""So begin the names of Intel's FPGAs; those of all others are Xilinx's."""


class Bitstream:
    """A bitstream to be built.

    Parameters
    ----------
    target : str
        "intel" (aoc) or "xilinx" (v++).
    board : str or None
        Name of a board's data sheet; None: 520n for intel.
    stem : str
        Kernel file, e.g. "b_eff_stream".
    params : mapping
        Parameters of the benchmark; those with a macro are built in.
    platform : str, optional
        What the compiler calls the board; default: a known one.
    regions : str, optional
        Super logic regions of a Xilinx device, "0,1": replication r goes to number
        r modulo their number, all other kernels to the first. Default: the linker's
        choice.

    Raises
    ------
    ValueError
        Unknown target, a board that is not for it, no platform known for the board, or
        impossible parameters.
    """

    def __init__(
        self,
        target: str,
        board: str | None,
        stem: str,
        params: Mapping[str, Any],
        platform: str | None = None,
        regions: str | None = None,
    ) -> None:
        if target not in TARGETS:
            raise ValueError(f"no target {brief(target)}; {known(target, TARGETS)}")
        built = [b for t, b in _PLATFORMS if t == target]
        if board is None and target != "intel":
            raise ValueError(
                f"--target {target}: give --board; known: {', '.join(built)}"
            )
        hardware = find_board(board or "520n")
        part = hardware["fpga.part"].value
        if (target == "intel") != part.startswith(_INTEL):
            raise ValueError(
                f"--target {target}: board {hardware.key} has the FPGA {part}; "
                f"known: {', '.join(built)}"
            )
        self.tags, first = _memory(hardware)
        if not self.tags and target == "xilinx":
            raise ValueError(
                f"the memory banks of board {hardware.key} are not known; "
                f"{known(hardware.key, built)}"
            )
        found = platform or _PLATFORMS.get((target, hardware.key))
        if found is None:
            raise ValueError(
                f"no {target} platform known for board {hardware.key!r}: give "
                f"--platform; {known(hardware.key, built)}"
            )
        self.target, self.stem, self.platform = target, stem, found
        self.binary = f"{stem}.{'aocx' if target == 'intel' else 'xclbin'}"
        self.benchmark, _, self.kind = stem.rpartition("_")
        self.knobs, options = knobs_of(self.benchmark, params)
        values = _core.values(self.benchmark, dict(params))
        self.replications = values.get("replications", 1)
        self.defines = [*options.split(), *replicated(self.benchmark, params)]
        if regions is not None and target != "xilinx":
            raise ValueError("slr: only Xilinx's devices have such regions")
        self.regions = _regions(regions, hardware) if regions is not None else []
        self.banked = bool(self.tags) and _core.quantities(self.benchmark)["banked"]
        if self.banked and target == "intel":
            self.defines.append("-no-interleaving=default")
        own = placed(self.benchmark, params, first)
        self.values = _core.values(self.benchmark, {**own, **params})
        told = banks_told(self.values)
        self.given_banks = {n: v for n, v in told.items() if n in params}
        self.banks = (
            first if own else _numbers(self.tags, _kind("".join(self.tags[:1])))
        )
        if self.given_banks:
            numbers = dict.fromkeys(n for banks in told.values() for n in banks)
            self.banks = [n for n in numbers if n >= 0]
        self.hardware = hardware
        self.named = named_files(self.benchmark, params)
        self.source = kernel_dir() / f"{stem}.cl"
        self._known = {kernel["name"]: kernel for kernel in _core.kernels(stem)}

    def commands(self, folder: Path) -> list[list[str]]:
        """Command lines, in the order in which they are run."""
        binary = str(folder / self.binary)
        if self.target == "intel":
            head = ["aoc", f"-board={self.platform}", "-DHF_INTEL", *self.defines]
            return [
                [*head, f"-I{folder}", str(folder / f"{self.stem}.cl"), "-o", binary]
            ]
        source = str(folder / f"{self.stem}.cpp")
        head = ["v++", "-t", "hw", "--platform", self.platform]
        objects, lines = [], []
        for kernel in self.kernels():
            objects.append(str(folder / f"{kernel}.xo"))
            flags = ["-DHF_XILINX", *self.defines, *self._ports(), f"-I{folder}"]
            flags += ["-k", kernel]
            lines.append([*head, "-c", *flags, source, "-o", objects[-1]])
        config = ["--config", str(folder / f"{self.stem}.cfg")]
        return [*lines, [*head, "-l", *config, *objects, "-o", binary]]

    def advice(self, folder: Path, printed: bool = False) -> str:
        """Return how to go on from the files, and lines that were printed, to a run."""
        words = ["hpccfpga", "run", self.benchmark]
        by_xrt = self.target == "xilinx" and self.kind == "memory"
        words += ["--device", "xrt"] if by_xrt else []
        words += ["--exchange", "channel"] if self.kind == "stream" else []
        values = _core.values(self.benchmark, {})
        chosen = {**self.knobs, "replications": self.replications}
        chosen = {n: v for n, v in chosen.items() if values.get(n, v) != v}
        chosen |= {n: ",".join(map(str, v)) for n, v in self.given_banks.items()}
        words += [f"--{n.replace('_', '-')}={value}" for n, value in chosen.items()]
        words += ["--kernel", str(folder / self.binary)]
        compiler = self.commands(folder)[0][0]
        how = (
            f"run these lines where {compiler} is"
            if printed
            else f"compile where {compiler} is (--print shows the command lines)"
        )
        return (
            f"nothing was compiled; {how}, keep {self.binary}.json beside "
            f"{self.binary}, then: "
            f"{shlex.join(words)}"
        )

    def kernels(self) -> list[str]:
        """Names of the kernels that are built in; `_0` has one for each replication."""
        return kernels_built(self._known, self.replications)

    def _arguments(self, kernel: str, *kinds: str) -> list[str]:
        """Names of a kernel's arguments of some kinds."""
        return [a["name"] for a in self._described(kernel) if a["kind"] in kinds]

    def _described(self, kernel: str) -> list[_core._Argument]:
        return described(self._known, kernel)["arguments"]

    def config(self) -> str:
        """Options of Xilinx's linker: memory banks, and channels between kernels.

        Ports are named only: the shell decides what they go to.
        """
        kernels = self.kernels()
        sent = {n: f"{k}.{n}" for k in kernels for n in self._arguments(k, "out")}
        got = {n: f"{k}.{n}" for k in kernels for n in self._arguments(k, "in")}
        many = [name for name, kernel in self._known.items() if kernel["replicated"]]
        lines = ["[connectivity]"]
        lines += [
            f"nk={name}:{self.replications}" if name in many else f"nk={name}:1:{name}"
            for name in kernels
        ]
        for kernel in kernels:
            lines += self._spots(kernel)
        for kernel in kernels if self.regions else ():
            lines += [
                f"slr={unit}:SLR{self.regions[served[0] % len(self.regions)]}"
                for unit, served in self._units(kernel).items()
            ]
        depth = {
            a["name"]: a["depth"]
            for kernel in kernels
            for a in self._described(kernel)
            if a["kind"] == "out"
        }
        lines += [
            f"sc={sent[name]}:{got[name]}:{depth[name]}" for name in sent if name in got
        ]
        outer = {**sent, **got}
        if ports := [f"# {outer[n]}" for n in outer if not (n in sent and n in got)]:
            lines += [
                "# to the shell's network kernels, like sc=KERNEL.PORT:aurora_0.tx"
            ]
        return "\n".join([*lines, *ports]) + "\n"

    def _units(self, kernel: str) -> dict[str, list[int]]:
        """Compute units of a kernel, and which replications each serves."""
        return units(kernel, described(self._known, kernel), self.replications)

    def _spots(self, kernel: str) -> list[str]:
        """Where a kernel's buffers go, one line for each pointer of each unit.

        Each replication's go to the banks of its own, and a kernel that serves them all
        reaches all their banks; what they share lies in the bank of the first. Where
        replications have none, each pointer reaches all banks of one kind: the runtime
        spreads buffers over them.
        """
        lines = []
        for unit, replications in self._units(kernel).items():
            lines += [
                f"sp={unit}.{name}:{self._tag(name, replications)}"
                for name in self._arguments(kernel, "read", "write")
            ]
            lines += [
                f"sp={unit}.{name}:{self._tag(name, [0])}"
                for name in self._arguments(kernel, "shared")
            ]
        return lines

    def _ports(self) -> list[str]:
        """Option for a port of each pointer, where those of a unit lie apart.

        A bank has a limited number of ports.
        """
        tags: dict[str, set[str]] = {}
        for kernel in self.kernels():
            for line in self._spots(kernel):
                unit, _, pointer = line.partition(".")
                tags.setdefault(unit, set()).add(pointer.partition(":")[2])
        return ["-DHF_PORTS"] if any(len(each) > 1 for each in tags.values()) else []

    def _tag(self, buffer: str, replications: list[int]) -> str:
        """Banks of a buffer by Xilinx's names."""
        told = banks_told(self.values)
        first = next(iter(told.values()), list(range(self.replications)))
        banks = told.get(f"{BANK}{buffer}", first)
        numbers = [banks[r % len(banks)] for r in replications]
        if not self.banked or min(numbers) < 0:
            return _joined(
                [tag for tag in self.tags if _kind(tag) == _kind(self.tags[0])]
            )
        if max(numbers) >= len(self.tags):
            n, last = len(self.tags), self.tags[-1]
            name = f"{BANK}{buffer}"
            if name in self.given_banks:
                raise ValueError(
                    f"{name}: no bank {max(numbers)}; the last is {n - 1}, {last}"
                )
            raise ValueError(
                f"replications: {self.replications} need a bank each for {buffer}; "
                f"board {self.hardware.key} has {n}"
            )
        low, high = self.tags[min(numbers)], self.tags[max(numbers)]
        if _kind(low) != _kind(high):
            raise ValueError(f"{buffer}: no kernel reaches both {low} and {high}")
        return _joined([low, high])

    def write(self, folder: Path) -> list[Path]:
        """Put the sources, and a manifest for the binary, into a folder.

        Raises
        ------
        ValueError
            There is a binary of which another manifest tells.
        """
        manifest = {
            "schema": SCHEMA,
            "benchmark": self.benchmark,
            "kind": self.kind,
            "knobs": self.knobs,
            "replications": self.replications,
            "target": "hardware",
            **texts(self.benchmark, self.knobs),
        }
        if self.banked:
            manifest["banks"] = self.banks
        if self.target == "xilinx":
            manifest["memories"] = self.tags
        files = included(self.source, self.named)
        contents = {name: path.read_text("utf-8") for name, path in files.items()}
        contents[f"{self.binary}.json"] = told = text_of(manifest).decode()
        binary, there = folder / self.binary, folder / f"{self.binary}.json"
        if binary.exists() and there.exists() and there.read_bytes() != told.encode():
            raise ValueError(
                f"{binary} was built with other parameters: choose another --output"
            )
        if self.target == "xilinx":
            contents[f"{self.stem}.cpp"] = f'#include "{self.stem}.cl"\n'
            contents[f"{self.stem}.cfg"] = self.config()
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (folder / name).write_text(text, "utf-8")
        return [folder / name for name in sorted(contents)]


def _kind(tag: str) -> str:
    """Kind of a bank, "HBM" of "HBM[3]"."""
    return tag.partition("[")[0]


def _joined(tags: list[str]) -> str:
    """Banks of one kind from the first to the last, e.g. "HBM[0:3]"."""
    low, high = tags[0], tags[-1]
    return low if low == high else low.replace("]", ":") + high.partition("[")[2]


def _numbers(tags: list[str], kind: str) -> list[int]:
    """Numbers of the banks of a kind."""
    return [number for number, tag in enumerate(tags) if _kind(tag) == kind]


def _memory(board: Board) -> tuple[list[str], list[int]]:
    """Names of all banks, in the order in which runtimes count them: HBM before DDR.

    Beside them the numbers of those in the board's first memory.
    """
    banks = {kind: f"memory.{name}.banks" for kind, name in board.memories.items()}
    sizes = {
        kind: int(board[path].value) for kind, path in banks.items() if path in board
    }
    kinds = sorted(sizes, key=lambda kind: kind != "HBM")
    tags = [f"{kind}[{i}]" for kind in kinds for i in range(sizes[kind])]
    return tags, _numbers(tags, next(iter(sizes), ""))


def _regions(text: str, board: Board) -> list[str]:
    """Super logic regions out of text like 0,1."""
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text):
        raise ValueError(f"slr: {brief(text)} is no list of numbers, such as 0,1")
    fact = board.get("fpga.slr")
    there = [str(i) for i in range(fact.value)] if fact else text.split(",")
    for number in text.split(","):
        if number not in there:
            raise ValueError(
                f"slr: {board.key} has no {number}; {known(number, there)}"
            )
    return text.split(",")
