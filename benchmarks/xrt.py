"""What the runtime `xrt` costs, by the stand-in that tests have in XRT's place.

Runs b_eff over `pcie` on the devices `host` and `xrt` in turn, alone or on the ranks of
an mpirun, and prints the time per step of each size. The card's memory is the host's in
both: what differs is what the runtime adds. Then times the list of devices where there
is no XRT. Ratios are medians over rounds, each taken within one round. Ends with 1 when
a target is missed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median

from mpi4py import MPI

import hpccfpga as hf
from hpccfpga.vendor import Bitstream

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "xrt"))
import link

RATIO = 1.1  # of times on `xrt` to those on `host`
LIST = 1e-3  # of all devices, where there is no XRT [s]
PROBE = """
import sys, time
from hpccfpga import _core
assert not [line for line in open("/proc/self/maps") if "libxrt" in line]
start = time.perf_counter()
assert _core.devices("xrt") == []
print(time.perf_counter() - start)
"""


@contextmanager
def standin(comm: MPI.Comm) -> Iterator[Path]:
    """XRT's stand-in for all ranks of a node; the xclbin of b_eff in it."""
    with tempfile.TemporaryDirectory() as own:
        folder = Path(comm.bcast(own))
        if comm.rank == 0:
            (folder / "lib").mkdir()
            link.build(folder)
            job = Bitstream("xilinx", "u280", "b_eff_memory", {})
            job.write(folder)
            link.link(job, folder)
        comm.barrier()
        os.environ["XILINX_XRT"] = str(folder)
        yield folder / "b_eff_memory.xclbin"
        comm.barrier()


def copies(comm: MPI.Comm, rounds: int, reps: int) -> bool:
    """Print the times of b_eff on both; whether the target is met at all sizes."""
    times: dict[str, list[dict[int, float]]] = {"host": [], "xrt": []}
    ranks = {"comm": comm} if comm.size > 1 else {}
    with (
        standin(comm) as binary,
        hf.open("host", exchange="pcie", **ranks) as host,
        hf.open("xrt", exchange="pcie", **ranks) as xrt,
    ):
        for _ in range(rounds):
            for name, session in (("host", host), ("xrt", xrt)):
                more = {"kernel": str(binary)} if name == "xrt" else {}
                r = session.run("b_eff", reps=reps, **more)
                assert r.verified
                times[name].append(dict(zip(r["message_size"], r["time"], strict=True)))
    if comm.rank > 0:
        return True
    pairs = list(zip(times["host"], times["xrt"], strict=True))
    print(f"{'size [B]':>10}{'host [us]':>12}{'xrt [us]':>12}{'ratio':>8}")
    good = True
    for size in pairs[0][0]:
        each = [1e6 * median(t[size] for t in times[name]) for name in times]
        ratio = median(x[size] / h[size] for h, x in pairs)
        good = good and ratio <= RATIO
        print(f"{size:>10}{each[0]:>12.3f}{each[1]:>12.3f}{ratio:>8.3f}")
    whole = median(bandwidth(h) / bandwidth(x) for h, x in pairs)
    print(f"effective bandwidth of host over that of xrt: {whole:.3f} (target {RATIO})")
    print(f"each size: {'met' if good else 'missed'}")
    return good and whole <= RATIO


def bandwidth(times: dict[int, float]) -> float:
    """Mean over the sizes [B/s per rank]."""
    return fmean(size / seconds for size, seconds in times.items())


def listing(processes: int = 11) -> bool:
    """Print what the list costs; whether it is little enough."""
    empty = os.environ | {"XILINX_XRT": ""}
    probe = [sys.executable, "-c", PROBE]
    seconds = median(
        float(subprocess.check_output(probe, env=empty)) for _ in range(processes)
    )
    print(f"list without XRT: {1e6 * seconds:.0f} us (below {1e6 * LIST:.0f})")
    return seconds < LIST


def main() -> int:
    """Measure; 0 when every target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--reps", type=int, default=7, help="samples per size")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # both devices are emulated
    comm = MPI.COMM_WORLD
    good = copies(comm, options.rounds, options.reps)
    good = (comm.rank > 0 or listing()) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
