"""What must be in the environment before OpenCL is first used, for live channels."""

from __future__ import annotations

import os

KERNELS = 8
"""Kernels of a rank that run at the same time, at most."""

_WORKERS = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")


def prepare(exchange: str) -> None:
    """Give a CPU device a worker thread for each kernel that waits at a channel.

    PoCL starts as many as it has cores, and wakes all of them for every command: more
    are a loss where kernels run one by one. It reads its environment once, so this has
    no effect after the first use of OpenCL in a process; what the user set stays.

    Parameters
    ----------
    exchange : str
        Name of the exchange scheme that is about to be opened.
    """
    if exchange == "channel" and (os.cpu_count() or 1) < KERNELS:
        for name in _WORKERS:
            os.environ.setdefault(name, str(KERNELS))
