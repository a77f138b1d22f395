"""Run programs beside each other: the product's and the yardsticks."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import hpccfpga
from hpccfpga.mpirun import command as mpirun_command

CPU = "cpu"
"""Device that yardsticks run on; a GPU beside it would be taken first."""
TAGGED = {"--tag-output", "--output", "tag", "-prepend-rank"}


def mpirun(ranks: int) -> list[str]:
    """Words that start ranks as hpccfpga does, but for the tags of their lines."""
    words = [word for word in mpirun_command() if word not in TAGGED]
    return [*words, "-n", str(ranks)]


def compiled_for() -> str:
    """Name of OpenCL's CPU, in which PoCL says for which CPU it compiles."""
    found = hpccfpga.devices()
    there = (d for d in found if d["type"] == CPU and d["device"].startswith("opencl"))
    return str(next(there)["name"])


def output(command: list[str], **environment: str) -> str:
    """Run a command to its end; what it printed, or exit with what it complained of."""
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def compiled(name: str, folder: str | Path, *flags: str, cc: str = "cc") -> str:
    """Compile NAME.c, which lies here, into a folder; the path of the program."""
    source, program = Path(__file__).with_name(f"{name}.c"), f"{folder}/{name}"
    output([cc, str(source), "-o", program, *flags])
    return program


def result(benchmark: str, **params: Any) -> dict[str, Any]:
    """Run hpccfpga; its result as JSON, or exit if it is not verified."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        words = [f"--{k}={v}" for k, v in ({"device": CPU} | params).items()]
        command = [sys.executable, "-m", "hpccfpga", "run", benchmark, *words]
        output([*command, "--json", str(path)])
        found = json.loads(path.read_text())
    if not found["verified"]:
        sys.exit(f"{benchmark} {' '.join(words)}: wrong data")
    return found


def columns(benchmark: str, **params: Any) -> dict[str, list[float]]:
    """Columns of such a result."""
    found = result(benchmark, **params)["columns"]
    return {name: column["values"] for name, column in found.items()}
