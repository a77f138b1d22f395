"""Vendors' compilers for boards: their command lines, and the files they need.

Nothing here runs a compiler: a bitstream takes hours on a machine that has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpccfpga.kernels import SCHEMA, kernel_dir

TARGETS = ("intel", "xilinx")

# What the compilers call the boards; others by `platform`. Only the U280's is in a
# published source; an installation may have others.
_PLATFORMS = {
    ("intel", "520n"): "p520_hpc_sg280l",
    ("xilinx", "u280"): "xilinx_u280_xdma_201920_3",
    ("xilinx", "u55c"): "xilinx_u55c_gen3x16_xdma_3_202210_1",
}


class Job:
    """A bitstream to be built.

    Parameters
    ----------
    target : str
        "intel" (aoc) or "xilinx" (v++).
    board : str
        Name of a board's data sheet.
    stem : str
        Kernel file, e.g. "b_eff_stream".
    knobs : mapping
        Parameters that are built in: name -> value.
    macros : mapping
        Their macros: name -> macro.
    platform : str, optional
        What the compiler calls the board; default: a known one.
    replications : int
        Pairs of kernels to build in.

    Raises
    ------
    ValueError
        Unknown target, or no platform known for the board.
    """

    def __init__(
        self,
        target: str,
        board: str,
        stem: str,
        knobs: Mapping[str, Any],
        macros: Mapping[str, str],
        platform: str | None = None,
        replications: int = 2,
    ) -> None:
        if target not in TARGETS:
            raise ValueError(f"target: {target!r} is not one of {', '.join(TARGETS)}")
        found = platform or _PLATFORMS.get((target, board))
        if found is None:
            known = ", ".join(b for t, b in _PLATFORMS if t == target)
            raise ValueError(
                f"no {target} platform known for board {board!r}: give --platform; "
                f"known: {known}"
            )
        self.target, self.stem, self.platform = target, stem, found
        self.knobs, self.replications = dict(knobs), replications
        defines = {macros[name]: value for name, value in self.knobs.items()}
        defines["HF_REPLICATIONS"] = replications
        self.defines = [f"-D{macro}={value}" for macro, value in defines.items()]

    def commands(self, folder: Path) -> list[list[str]]:
        """Command lines, in the order in which they are run."""
        if self.target == "intel":
            binary = str(folder / f"{self.stem}.aocx")
            head = ["aoc", f"-board={self.platform}", "-DHF_INTEL", *self.defines]
            return [
                [*head, f"-I{folder}", str(folder / f"{self.stem}.cl"), "-o", binary]
            ]
        source = str(folder / f"{self.stem}.cpp")
        head = ["v++", "-t", "hw", "--platform", self.platform]
        objects, lines = [], []
        for kernel in self.kernels():
            objects.append(str(folder / f"{kernel}.xo"))
            flags = ["-DHF_XILINX", *self.defines, f"-I{folder}", "-k", kernel]
            lines.append([*head, "-c", *flags, source, "-o", objects[-1]])
        config = ["--config", str(folder / f"{self.stem}.cfg")]
        binary = str(folder / f"{self.stem}.xclbin")
        return [*lines, [*head, "-l", *config, *objects, "-o", binary]]

    def kernels(self) -> list[str]:
        """Names of the kernels that are built in."""
        text = (kernel_dir() / f"{self.stem}.cl").read_text("utf-8")
        names = re.findall(r"HF_HOST_KERNEL\((\w+)\)", text)
        pair = re.compile(r"_(\d+)$")
        kept = []
        for name in names:
            number = pair.search(name)
            if number is None or int(number[1]) < self.replications:
                kept.append(name)
        return kept

    def config(self) -> str:
        """Options of Xilinx's linker: inner channels; the network's are the shell's."""
        kernels = self.kernels()
        lines = ["[connectivity]"]
        lines += [f"nk={name}:1:{name}" for name in kernels]
        for name in kernels:
            if match := re.fullmatch(r"b_eff_recv_(\d+)", name):
                i = match[1]
                lines.append(f"sc={name}.held_{i}:b_eff_send_{i}.held_{i}")
        lines += [
            "# The ports out_0, in_0, ... go to the network kernels of the shell, e.g.",
            "# sc=b_eff_send_0.out_0:aurora_0.tx",
        ]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Put the sources, and a manifest for the binary, into a folder."""
        benchmark, _, kind = self.stem.rpartition("_")
        ending = {"intel": "aocx", "xilinx": "xclbin"}[self.target]
        manifest = {
            "schema": SCHEMA,
            "benchmark": benchmark,
            "kind": kind,
            "knobs": self.knobs,
            "replications": self.replications,
            "target": "hardware",
        }
        texts = {p.name: p.read_text("utf-8") for p in kernel_dir().glob("*.h")}
        source = kernel_dir() / f"{self.stem}.cl"
        texts[source.name] = source.read_text("utf-8")
        texts[f"{self.stem}.{ending}.json"] = json.dumps(manifest, indent=1) + "\n"
        if self.target == "xilinx":
            texts[f"{self.stem}.cpp"] = f'#include "{source.name}"\n'
            texts[f"{self.stem}.cfg"] = self.config()
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
        return [folder / name for name in sorted(texts)]
