"""What kernels make and check by one formula: the host looks at some by its own."""

import pytest
from harms import broken

import hpccfpga as hf
from hpccfpga import sources
from hpccfpga._core import parameters

# Benchmark, and a passage of its formula with what stands in its place.
POOR = {
    "b_eff, bytes": ("(h >> 24) + 47 * window", "0 * window"),
    "ptrans, elements": ("(int)hf_mix(", "(int)(0 * "),
    "linpack, elements": ("(int)linpack_hash(row, column, key) >> 8", "0"),
    "linpack, solution": ("column < n ? size : 0", "0"),
}


def kernels():
    """Every kernel file of these benchmarks, with each of its formulas."""
    for name in POOR:
        own = f"{name.partition(',')[0]}_*.cl"
        for path in sorted(sources.kernel_dir().glob(own)):
            yield pytest.param(path.name, name, id=f"{path.stem}, {name}")


@pytest.mark.parametrize(("kernel", "name"), [*kernels()])
def test_a_poor_formula_is_seen(tmp_path, kernel, name):
    benchmark, shape = kernel.removesuffix(".cl").rsplit("_", 1)
    path = broken(tmp_path, kernel, POOR[name], among="*.[ch]*")
    params = {"kernel": path, "sizes": [256], "reps": 1}
    params["exchange"] = "channel" if shape == "stream" else "pcie"
    if shape == "memory" and any(p["name"] == "shape" for p in parameters(benchmark)):
        params["shape"] = "pipeline"
    with pytest.warns(hf.VerificationWarning):
        assert not hf.run(benchmark, device="opencl:cpu", **params).verified
