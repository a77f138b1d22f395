"""The loop of host_ring.c in pure mpi4py: the other yardstick of `host`.

``mpirun -n RANKS python host_ring.py SAMPLES SIZE:STEPS...`` prints the same lines.
"""

import json
import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI


def ring(
    comm: MPI.Comm, blocks: list[np.ndarray], steps: int, left: int, right: int
) -> None:
    """Send to the right, then to the left, each time what came before."""
    for i in range(steps):
        to, source = (left, right) if i % 2 else (right, left)
        comm.Sendrecv(blocks[i % 3], to, 0, blocks[(i + 1) % 3], source, 0)


def main() -> None:
    """Measure every size named on the command line."""
    comm = MPI.COMM_WORLD
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    samples = int(sys.argv[1])
    for size, steps in (map(int, arg.split(":")) for arg in sys.argv[2:]):
        blocks = [np.full(size, comm.rank, np.uint8) for _ in range(3)]
        ring(comm, blocks, steps, left, right)  # warm-up
        seconds = []
        for _ in range(samples):
            comm.Barrier()
            start = perf_counter()
            ring(comm, blocks, steps, left, right)
            mine = (perf_counter() - start) / steps
            seconds.append(comm.allreduce(mine, MPI.MAX))
        if comm.rank == 0:
            print(json.dumps({"size": size, "loop": steps, "samples": seconds}))


main()
