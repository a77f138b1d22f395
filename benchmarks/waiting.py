"""What a user waits for: the import, a run by default settings, and `make run`.

The import is the median of fresh processes and must drag in nothing heavy; the run has
21 sizes on 2 ranks; `make run` finds everything set up. Ends with 1 when a target is
missed.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from programs import output

ROOT = Path(__file__).parents[1]
HEAVY = ("IPython", "matplotlib", "mpi4py", "pandas", "rich", "xarray")
PROBE = f"""
import json, sys, time
start = time.perf_counter()
import hpccfpga
seconds = time.perf_counter() - start
print(json.dumps([seconds, [name for name in {HEAVY} if name in sys.modules]]))
"""


def seconds_of(*command: str) -> float:
    """Seconds that a command takes."""
    start = time.monotonic()
    output(list(command))
    return time.monotonic() - start


def main(processes: int = 11) -> int:
    """Measure; 0 when every target is met."""
    probe = [sys.executable, "-c", PROBE]
    probes = [json.loads(subprocess.check_output(probe)) for _ in range(processes)]
    heavy = probes[0][1]
    print(f"heavy packages loaded by the import: {', '.join(heavy) or 'none'}")
    make = ["make", "-C", str(ROOT), "run"]
    output(make)  # sets up what is not
    run = [sys.executable, "-m", "hpccfpga", "run", "b_eff", "--ranks", "2"]
    rows = [
        ("import hpccfpga", median(probe[0] for probe in probes), 0.3),
        ("hpccfpga run b_eff --ranks 2", seconds_of(*run), 30),
        ("make run", seconds_of(*make), 45),
    ]
    for name, seconds, most in rows:
        verdict = "ok    " if seconds < most else "MISSED"
        print(f"{verdict} {name}: {seconds:.3g} s (below {most:g})")
    return 1 if heavy or any(seconds >= most for _, seconds, most in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
