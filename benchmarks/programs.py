"""Run programs beside each other: the product's and the yardsticks."""

import os
import subprocess
import sys

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Any number of ranks, not bound to cores, as hpccfpga itself starts them.
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
