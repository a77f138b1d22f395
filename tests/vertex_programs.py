"""Vertex programs that several tests take, and faults in the kernels."""

import os
import pickle
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest
from conftest import GUARD, QUICKLY, ROOT
from harms import broken, faulty

import hpccfpga


def break_kernels(folder, old, new, file="graph_ndrange.cl"):
    """Put a fault into a copy of the kernels: one text, and what replaces it."""
    return broken(folder, file, (old, new), among="graph_*")


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


FOUND = re.compile(r"superstep \d+|program sssp: the path to vertex \d+ is longer")
"""What an error begins with that a check of supersteps or of lengths has found."""


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


RUNS = """
import pickle, re, warnings
from harms import done
warnings.simplefilter("ignore", hf.VerificationWarning)
def told(session, faults, fault, params):
    with done(faults, fault):
        try:
            r = session.run("graph", **params)
        except hf.Error as error:
            return str(error)
    return "verified" if r.verified else "not verified"
with open(f"{FOLDER}/runs.{size}", "rb") as file:
    runs = pickle.load(file)
with hf.open("opencl:cpu", comm=comm) as s:
    every = [(fault, params, want, told(s, faults, fault, params))
             for faults, fault, want, params in runs]
wrong = [(fault or params, got) for fault, params, want, got in every
         if not re.fullmatch(want, got, re.DOTALL)]
assert not wrong, wrong
"""


def faults_are_seen(
    on_ranks, folder, faults, file="graph_ndrange.cl", above=None, told=None, **more
):
    """Run with each fault in the kernels: not verified, or an error that tells of it.

    The same runs without a fault verify.

    Parameters
    ----------
    on_ranks : fixture
    folder : Path
        Where the kernels go.
    faults : dict of str to (str or Path, dict, str, str)
        By name, a program, what else is given, a passage of the kernels, and what
        stands in its place, as for `harms.faulty`.
    file : str, optional
        Of the kernels.
    above : str, optional
        Text of a kernel file that includes this one, and that is run in its place.
    told : dict of str to str, optional
        By name, a pattern of what the error must tell.
    """
    runs = {}
    programs = dict.fromkeys(program for program, *_ in faults.values())
    for number, program in enumerate(programs):
        own = {name: rest for name, (of, *rest) in faults.items() if of == program}
        place = folder / str(number)
        place.mkdir()
        passages = {name: (old, new) for name, (_, old, new) in own.items()}
        kernel = faulty(place, file, passages, among="graph_*")
        if above:
            kernel = place / "above.cl"
            kernel.write_text(above)
        usual = {
            "kernel": str(kernel),
            "program": str(program),
            "graph": "grid:8",
            "source": 5 if program in ("bfs", "sssp") else -1,
            "shape": "ndrange",
            "reps": 2,
            "deadline": 60,
        }
        for name, (given, *_) in own.items():
            params = usual | given | more
            ranks = runs.setdefault(params.pop("ranks", 1), [])
            control = [*own], None, "verified", params
            if control not in ranks:
                ranks.append(control)
            text = f".*{told[name]}.*" if name in (told or {}) else ".*"
            unseen = "" if name in (told or {}) else "not verified|"
            ranks.append(([*own], name, f"{unseen}(?:{FOUND.pattern}){text}", params))
    for n, pairs in runs.items():
        (folder / f"runs.{n}").write_bytes(pickle.dumps(pairs))
        on_ranks(
            n,
            f"FOLDER = {str(folder)!r}\n{RUNS}",
            PYTHONPATH=str(ROOT / "tests"),
            **QUICKLY,
        )
