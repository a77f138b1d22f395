"""Vendors' compilers for boards: their command lines, and the files they need.

Nothing here runs a compiler: a bitstream takes hours on a machine that has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpccfpga import _core
from hpccfpga.boards import board as find_board
from hpccfpga.kernels import SCHEMA, kernel_dir, knobs_of, replicated

TARGETS = ("intel", "xilinx")

# What the compilers call the boards; others by `platform`. Only the U280's is in a
# published source; an installation may have others.
_PLATFORMS = {
    ("intel", "520n"): "p520_hpc_sg280l",
    ("xilinx", "u280"): "xilinx_u280_xdma_201920_3",
    ("xilinx", "u55c"): "xilinx_u55c_gen3x16_xdma_3_202210_1",
}

# A kernel with ends of channels last among its arguments, and a macro that makes such.
_ENDED = re.compile(r"(\w+)\)?\s*\(([^(){}]*(?:HF_(?:OUT|IN)\(\w+\)\s*)+)\)\s*\{")
_END = re.compile(r"HF_(OUT|IN)\((\w+)\)")
_MAKER = re.compile(
    r"^#define (\w+)\(([\w, ]+)\)(.*\bHF_(?:OUT|IN)\(.*)$", re.MULTILINE
)


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
    params : mapping
        Parameters of the benchmark; those with a macro are built in.
    platform : str, optional
        What the compiler calls the board; default: a known one.

    Raises
    ------
    ValueError
        Unknown target, no platform known for the board, or impossible parameters.
    """

    def __init__(
        self,
        target: str,
        board: str,
        stem: str,
        params: Mapping[str, Any],
        platform: str | None = None,
    ) -> None:
        if target not in TARGETS:
            raise ValueError(f"target: {target!r} is not one of {', '.join(TARGETS)}")
        board = find_board(board).key
        found = platform or _PLATFORMS.get((target, board))
        if found is None:
            known = ", ".join(b for t, b in _PLATFORMS if t == target)
            raise ValueError(
                f"no {target} platform known for board {board!r}: give --platform; "
                f"known: {known}"
            )
        self.target, self.stem, self.platform = target, stem, found
        self.benchmark, _, self.kind = stem.rpartition("_")
        self.knobs, options = knobs_of(self.benchmark, params)
        values = _core.values(self.benchmark, dict(params))
        self.replications = values.get("replications", 1)
        self.defines = [*options.split(), *replicated(self.benchmark, params)]
        # Xilinx's runtime places what has no bank where the kernels are linked to.
        banked = target == "intel" and _core.quantities(self.benchmark)["banked"]
        self.banks = _banks(board) if banked else None
        if self.banks:
            self.defines.append("-no-interleaving=default")
        self.source = (kernel_dir() / f"{stem}.cl").read_text("utf-8")

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
        """Names of the kernels that are built in; `_0` has one for each replication."""
        names = re.findall(r"HF_HOST_KERNEL\((\w+?)(_\d+)?\)", self.source)
        each = {"": [""], "_0": [f"_{i}" for i in range(self.replications)]}
        return [base + end for base, number in names for end in each.get(number, [])]

    def config(self) -> str:
        """Options of Xilinx's linker: channels between kernels are wired.

        Ports are named only: the shell decides what they go to.
        """
        kernels = self.kernels()
        ends: dict[str, dict[str, str]] = {"OUT": {}, "IN": {}}
        for kernel, arguments in _ENDED.findall(_written_out(self.source)):
            for way, name in _END.findall(arguments) if kernel in kernels else ():
                ends[way][name] = f"{kernel}.{name}"
        sent, got = ends["OUT"], ends["IN"]
        many = re.findall(
            r"HF_COMPUTE_UNITS\(HF_REPLICATIONS\)\s+HF_KERNEL (\w+)", self.source
        )
        lines = ["[connectivity]"]
        lines += [
            f"nk={name}:{self.replications}" if name in many else f"nk={name}:1:{name}"
            for name in kernels
        ]
        lines += [f"sc={sent[name]}:{got[name]}" for name in sent if name in got]
        outer = {**sent, **got}
        if ports := [f"# {outer[n]}" for n in outer if not (n in sent and n in got)]:
            lines += [
                "# to the shell's network kernels, like sc=KERNEL.PORT:aurora_0.tx"
            ]
        return "\n".join([*lines, *ports]) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Put the sources, and a manifest for the binary, into a folder."""
        ending = {"intel": "aocx", "xilinx": "xclbin"}[self.target]
        manifest = {
            "schema": SCHEMA,
            "benchmark": self.benchmark,
            "kind": self.kind,
            "knobs": self.knobs,
            "replications": self.replications,
            "target": "hardware",
        }
        if self.banks:
            manifest["banks"] = self.banks
        texts = {p.name: p.read_text("utf-8") for p in kernel_dir().glob("*.h")}
        texts[f"{self.stem}.cl"] = self.source
        texts[f"{self.stem}.{ending}.json"] = json.dumps(manifest, indent=1) + "\n"
        if self.target == "xilinx":
            texts[f"{self.stem}.cpp"] = f'#include "{self.stem}.cl"\n'
            texts[f"{self.stem}.cfg"] = self.config()
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
        return [folder / name for name in sorted(texts)]


def _banks(board: str) -> int | None:
    """Banks of the board's first memory."""
    facts = find_board(board)
    counts = (n for n in facts if n.startswith("memory.") and n.endswith(".banks"))
    name = next(counts, None)
    return None if name is None else int(facts[name].value)


def _written_out(source: str) -> str:
    """Source with the uses of macros that make kernels written out."""
    source = source.replace("\\\n", " ")
    for name, parameters, body in _MAKER.findall(source):

        def use(match: re.Match[str], names: str = parameters, body: str = body) -> str:
            given = dict(zip(names.split(", "), match[1].split(", "), strict=True))
            words = re.sub(r"\w+", lambda word: given.get(word[0], word[0]), body)
            return words.replace("##", "")

        source = re.sub(rf"^{name}\((.*)\)$", use, source, flags=re.MULTILINE)
    return source
