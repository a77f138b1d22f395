"""How long ``import hpccfpga`` takes, and whether it drags in anything heavy.

Fresh processes, median; ends with 1 when the import takes 0.3 s or more or loads a
package that only some calls need.
"""

import json
import subprocess
import sys
from statistics import median

TARGET = 0.3  # [s]
HEAVY = ("IPython", "matplotlib", "mpi4py", "pandas", "rich", "xarray")
PROBE = f"""
import json, sys, time
start = time.perf_counter()
import hpccfpga
seconds = time.perf_counter() - start
print(json.dumps([seconds, [name for name in {HEAVY} if name in sys.modules]]))
"""


def main(processes: int = 11) -> int:
    """Measure; 0 when the target is met."""
    command = [sys.executable, "-c", PROBE]
    probes = [json.loads(subprocess.check_output(command)) for _ in range(processes)]
    seconds = median(probe[0] for probe in probes)
    heavy = probes[0][1]
    print(f"import hpccfpga: {seconds:.3f} s (target: below {TARGET})")
    print(f"heavy packages loaded: {', '.join(heavy) or 'none'}")
    return 0 if seconds < TARGET and not heavy else 1


if __name__ == "__main__":
    sys.exit(main())
