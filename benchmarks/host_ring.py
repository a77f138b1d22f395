"""The loop of host_ring.c in pure mpi4py: the other yardstick of `host`.

``mpirun -n RANKS python host_ring.py SAMPLES SIZE:STEPS:SLIDE...``, the same lines
without ``in_place``.
"""

import json
import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI


def ring(
    comm: MPI.Comm,
    chains: list[np.ndarray],
    size: int,
    slide: int,
    steps: int,
    left: int,
    right: int,
) -> None:
    """Send to the right, then to the left, each time what came before, further on."""
    for i in range(steps):
        to, source = (left, right) if i % 2 else (right, left)
        at = slide * (i + 1)
        came = at + slide // 2
        sent, got = (
            chains[i % 2][at : at + size],
            chains[(i + 1) % 2][came : came + size],
        )
        comm.Sendrecv(sent, to, 0, got, source, 0)


def main() -> None:
    """Measure every size named on the command line."""
    comm = MPI.COMM_WORLD
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    samples = int(sys.argv[1])
    for size, steps, slide in (map(int, arg.split(":")) for arg in sys.argv[2:]):
        room = size + slide * (steps + 1)
        chains = [np.full(room, comm.rank, np.uint8) for _ in range(2)]
        ring(comm, chains, size, slide, steps, left, right)  # warm-up
        seconds = []
        for _ in range(samples):
            comm.Barrier()
            start = perf_counter()
            ring(comm, chains, size, slide, steps, left, right)
            mine = (perf_counter() - start) / steps
            seconds.append(comm.allreduce(mine, MPI.MAX))
        if comm.rank == 0:
            print(json.dumps({"size": size, "loop": steps, "samples": seconds}))


main()
