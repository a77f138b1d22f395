"""What tests of the runtime `xrt` share: a stand-in for XRT, xclbins, scripts."""

import json
import sys

import pytest
from conftest import ROOT
from filelock import FileLock

from hpccfpga import _core
from hpccfpga.vendor import Bitstream

sys.path.insert(0, str(ROOT / "tests" / "xrt"))
import link

# Knobs that make kernels small, and parameters of short runs, where defaults are long.
SHORT = {
    "b_eff": ({}, {"sizes": [64, 4096], "loop_upper": 2, "loop_lower": 2}),
    "fft": ({"log_size": 6}, {}),
    "gemm": ({"block_size": 32}, {"sizes": [64]}),
    "graph": ({}, {"graph": "kron:6"}),
    "linpack": ({"block_size": 32}, {"sizes": [128]}),
    "ptrans": ({"block_size": 32}, {"sizes": [128]}),
    "randomaccess": ({}, {"sizes": [4096]}),
    "stream": ({"buffer_size": 64}, {"size": 4096}),
    "transfer": ({}, {"sizes": [64, 4096], "loop_upper": 4, "loop_lower": 4}),
}


def small(name):
    """Knobs, or None for a benchmark without kernels, and parameters of a short run."""
    knobs, params = SHORT.get(name, ({}, {}))
    return knobs if any((ROOT / "kernels").glob(f"{name}_*.cl")) else None, params


SMALL = {name: small(name) for name, _ in _core.components("bench")}
REPLICATED = [
    name
    for name, (knobs, _) in SMALL.items()
    if knobs is not None
    and any(e["name"] == "replications" for e in _core.parameters(name))
]
RUNS = [(name, 1) for name in SMALL] + [(name, 2) for name in REPLICATED]
BUILDS = [(name, n) for name, n in RUNS if SMALL[name][0] is not None]


@pytest.fixture(scope="session")
def folder(common):
    """XRT's folder and the xclbins in it, made once for all workers."""
    whole, made = common / "xrt", common / "xrt.part"
    with FileLock(common / "xrt.lock"):
        if whole.is_dir():
            return whole
        (made / "lib").mkdir(parents=True)
        link.build(made)
        for name, n in BUILDS:
            knobs = {**SMALL[name][0], **({"replications": n} if n > 1 else {})}
            job = Bitstream("xilinx", "u280", f"{name}_memory", knobs)
            job.write(made / f"{name}{n}")
            link.link(job, made / f"{name}{n}")
        made.rename(whole)
    return whole


@pytest.fixture
def setting(folder):
    """Environment in which there is XRT, with an xclbin on the card."""
    holds = folder / "fft1" / "fft_memory.xclbin"
    return {"XILINX_XRT": str(folder), "HF_STANDIN_HOLDS": str(holds)}


@pytest.fixture
def without(folder):
    """Environment in which there is no XRT, whatever this machine has."""
    preload = {"LD_PRELOAD": "absent.so", "LD_LIBRARY_PATH": str(folder / "lib")}
    return preload | {"XILINX_XRT": ""}  # a path with a space would be two


def xclbin(folder, name, n=1):
    """Path of the xclbin of a benchmark with so many replications."""
    return folder / f"{name}{n}" / f"{name}_memory.xclbin"


# A session, and what runs in it: measured(name, replications).
HEAD = """
import ctypes, json, os, warnings
import hpccfpga as hf
small, folder = json.loads({small!r}), {folder!r}
warnings.simplefilter("ignore")
standin = ctypes.CDLL(folder + "/lib/libxrt_coreutil.so.2")
def plan(faults):
    standin.standin_plan(faults.encode())
def calls(name):
    return standin.standin_calls(name.encode())
def measured(session, name, n=1, **more):
    knobs, params = small[name]
    params = dict(params) | dict(reps=1, warmup=1)
    if knobs is not None:
        params["kernel"] = f"{{folder}}/{{name}}{{n}}/{{name}}_memory.xclbin"
    if n > 1:
        params["replications"] = n
    return session.run(name, **params | more)
"""


def head(folder):
    """Text in front of scripts."""
    return HEAD.format(small=json.dumps(SMALL), folder=str(folder))
