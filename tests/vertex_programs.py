"""Vertex programs that several tests take, and their runs."""

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest
from conftest import GUARD, QUICKLY

import hpccfpga

FIRST = """typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint first;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
HF_START(v, at, told) { v->first = *told = at.id; return at.id == at.source; }
HF_SCATTER(told, edge) { return told; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    if (v->first != at.id || at.id == at.source)
        return 0;
    v->first = got;
    *told = at.id;
    return 1;
}
"""


def run(**params):
    return hpccfpga.run(
        "graph", **({"graph": "kron:8", "reps": 2, "warmup": 1} | params)
    )


def check_table(r):
    """Hold the table of supersteps against the columns of all, point by point."""
    last = r["supersteps"].max() + 1
    assert r["superstep_active"].shape == (len(r["source"]), last, r.ranks)
    for name, of in (("active", "updates"), ("messages", None), ("bytes", None)):
        table = r[f"superstep_{name}"].sum(axis=(1, 2))
        assert table.tolist() == r[of or name].tolist(), name
    for point, n in enumerate(r["supersteps"]):
        times = r["superstep_kernel_time"][point]
        assert (times[: n + 1] > 0).all()
        assert np.isnan(times[n + 1 :]).all()
        assert np.nansum(times, axis=0) == pytest.approx(r["kernel_time_ranks"][point])


def _begin():
    os.environ.update(QUICKLY)
    warnings.simplefilter("ignore", hpccfpga.VerificationWarning)


@cache
def _apart():
    return ProcessPoolExecutor(1, get_context("spawn"), _begin)


def quickly(**params):
    """Run by kernels that PoCL compiles quickly; nobody hears of warnings."""
    return _apart().submit(run, **params).result(GUARD)


def verifies(**params):
    return quickly(**params).verified
