"""What PoCL makes of pipelines for this host: words move whole, not by element."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, python

from test_conformance import BENCHMARKS, small

MOST = 32  # of a kernel; words unrolled by element made 128 gathers and 96 scatters
PIPELINES = [b for b in BENCHMARKS if (ROOT / f"kernels/{b}_memory.cl").is_file()]
BY_LANE = re.compile(r"\sv?p?(?:gather|scatter)\w+\s")


def machine_code(folder):
    """Instructions of each program that PoCL keeps there, as text."""
    return {
        path: subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", path],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for path in folder.rglob("*.so")
    }


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump, of binutils")
@pytest.mark.skipif(
    "avx512f" not in Path("/proc/cpuinfo").read_text().split(),
    reason="needs AVX-512, for which LLVM moves words by element",
)
@pytest.mark.long
def test_pipelines_gather_and_scatter_next_to_nothing(tmp_path, monkeypatch):
    """On AVX-512 LLVM moves words by element where pipelines unroll them."""
    monkeypatch.delenv("POCL_LLVM_CPU_NAME", raising=False)  # it is for this CPU
    runs = {b: small(b) | {"reps": 1, "warmup": 1} for b in PIPELINES}
    script = (
        "import hpccfpga as hf\n"
        "with hf.open('opencl:cpu', exchange='pcie') as session:\n"
        f"    for name, params in {runs}.items():\n"
        "        assert session.run(name, **params).verified, name"
    )
    code = {"POCL_CACHE_DIR": str(tmp_path), "POCL_WORK_GROUP_SPECIALIZATION": "1"}
    answer = python(script, **code)
    assert answer.returncode == 0, answer.stderr
    codes = machine_code(tmp_path)
    if not codes:
        pytest.skip("this PoCL keeps no .so of a kernel in its cache")
    found = {path.parent: len(BY_LANE.findall(code)) for path, code in codes.items()}
    assert {path: n for path, n in found.items() if n > MOST} == {}
