"""Run programs beside each other: the product's and the yardsticks."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CPU = "cpu"
"""Device that yardsticks run on; a GPU beside it would be taken first."""
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Any number of ranks, which mpirun binds to no cores, as hpccfpga has it.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def output(command: list[str], **environment: str) -> str:
    """Run a command to its end; what it printed, or exit with what it complained of."""
    done = subprocess.run(
        command,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


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
