"""LINPACK: what it measures, what its verification sees, what it refuses."""

import numpy as np
import pytest

import hpccfpga as hf

SMALL = {"block_size": 32, "reps": 2}

# A kernel that does its work, or not, and harm before or after it; three blocks in a
# row.
BROKEN = """
#define linpack_{kernel} right
#include "linpack_{shape}.cl"
#undef linpack_{kernel}
__kernel void linpack_{kernel}({declared}) {{
    {before}
    right({passed});
    if (HF_ITEM == 0) {{ {after} }}
}}
"""
REAL = "HF_GLOBAL HF_REAL *"
FIXED = "HF_GLOBAL const HF_REAL *"
DOUBLE = "HF_GLOBAL double *"
SIDE = [(REAL, "a"), (FIXED, "packed"), (REAL, "panels")]
SIDE += [("uint ", name) for name in ("first", "end", "at", "columns")]
ARGUMENTS = {
    "lu": [(REAL, "a"), (REAL, "packed"), ("uint ", "block")],
    "left": SIDE,
    "top": SIDE,
    "inner": [(REAL, "a"), (FIXED, "left"), (FIXED, "top")]
    + [("uint ", name) for name in ("i0", "i1", "j0", "j1", "columns")],
    "solve": [(FIXED, "a"), *((DOUBLE, name) for name in ("sums", "parts"))]
    + [(DOUBLE, name) for name in ("kept", "sent", "x")]
    + [("uint ", name) for name in ("block", "n_parts", "row", "column", "upper")],
}
SWAP = (
    "if ({3}) for (ulong i = 0; i < LINPACK_SIZE; i++) {{"
    " HF_REAL was = {0}[{1} * LINPACK_SIZE + i];"
    " {0}[{1} * LINPACK_SIZE + i] = {0}[{2} * LINPACK_SIZE + i];"
    " {0}[{2} * LINPACK_SIZE + i] = was; }}"
)
# kernel, before, after
HARMS = {
    "no diagonal": ("lu", "if (block == 4) return;", ""),
    "a wrong element of the diagonal": ("lu", "", "if (block == 8) a[8200] += 0.1f;"),
    "a wrong packed diagonal": ("lu", "", "if (block == 0) packed[32] += 0.1f;"),
    "not a number": ("lu", "", "if (block == 0) a[1] = NAN;"),
    "infinity": ("lu", "", "if (block == 0) a[1] = INFINITY;"),
    "no left": ("left", "if (at == 1) return;", ""),
    "a wrong element of left": ("left", "", "a[3 * LINPACK_SIZE + 5] += 0.1f;"),
    "swapped blocks of left": ("left", "", SWAP.format("a", 3, 6, "at == 0")),
    "no top": ("top", "if (at == 1) return;", ""),
    "a wrong element of top": ("top", "", "a[LINPACK_SIZE + 5] += 0.1f;"),
    "swapped blocks of top": ("top", "", SWAP.format("a", 1, 2, "at == 0")),
    "no inner": ("inner", "if (i0 == 1) return;", ""),
    "no inner rest": ("inner", "if (i0 == 2) return;", ""),
    "a wrong element of inner": ("inner", "", "a[4 * LINPACK_SIZE + 7] += 0.1f;"),
    "swapped blocks of inner": ("inner", "", SWAP.format("a", 5, 7, "i0 == 2")),
    "stale left": ("inner", "if (i0 == 2) left -= LINPACK_SIZE;", ""),
    "no solution": ("solve", "if (row == 1) return;", ""),
    "a wrong element of x": ("solve", "", "if (upper) x[33] += 0.01;"),
    "a wrong element of y": ("solve", "", "if (!upper) kept[34] += 1;"),
}


@pytest.fixture(scope="module")
def session():
    with hf.open(device="opencl") as session:
        yield session


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
@pytest.mark.parametrize("data_type", ["float", "double"])
def test_any_size_verifies(session, shape, data_type):
    sizes = [1, 31, 32, 33, 64, 97, 130, 250]
    r = session.run("linpack", sizes=sizes, shape=shape, data_type=data_type, **SMALL)
    assert r.verified is True
    assert (r["residual"] < 8).all(), r["residual"]
    assert r["flops"] == pytest.approx(2 / 3 * r["matrix_size"] ** 3 / r["time"])
    assert r.summary["flops"].value == r["flops"].max()
    assert (r["solve_time"] > 0).all()
    assert (r["verify_time"] > 0).all()
    assert (r["kernel_time"] <= r["time"] * 1.001).all()


def test_replications_share_the_inner_blocks(session):
    r = session.run("linpack", sizes=[250], shape="pipeline", replications=3, **SMALL)
    assert r.verified is True
    with pytest.raises(ValueError, match="replications: 3, but one launch"):
        session.run("linpack", sizes=[250], shape="ndrange", replications=3, **SMALL)


def test_the_kernels_for_gpus(session, tmp_path):
    """No GPU is needed to see that they are right."""
    path = tmp_path / "gpu.cl"
    path.write_text(
        '#undef __x86_64__\n#undef __aarch64__\n#include "linpack_ndrange.cl"\n'
    )
    for data_type, block in (("float", 64), ("double", 128), ("float", 160)):
        r = session.run(
            "linpack",
            kernel=path,
            data_type=data_type,
            block_size=block,
            sizes=[127, 400],
            reps=1,
        )
        assert r.verified is True


@pytest.mark.parametrize("harm", HARMS)
def test_verification_sees(session, tmp_path, harm):
    kernel, before, after = HARMS[harm]
    arguments = ARGUMENTS[kernel]
    path = tmp_path / "broken.cl"
    path.write_text(
        BROKEN.format(
            kernel=kernel,
            shape="memory",
            declared=", ".join(kind + name for kind, name in arguments),
            passed=", ".join(name for _, name in arguments),
            before=before,
            after=after,
        )
    )
    with pytest.warns(hf.VerificationWarning):
        r = session.run("linpack", kernel=path, shape="pipeline", sizes=[96], **SMALL)
    assert r.verified is False
    assert np.isnan(r["flops"]).all()
    assert not (r["residual"] <= 16).any()


def test_what_does_not_fit_is_refused_first(session):
    with pytest.raises(MemoryError, match=r"largest size is [1-9]\d+") as refused:
        session.run("linpack", sizes=[1 << 20], **SMALL)
    largest = int(str(refused.value).split()[-1])
    assert 1000 < largest < 1 << 20
    assert largest % 32 == 0
    with pytest.raises(ValueError, match="grid: 2x2 has 4 ranks, the run has 1"):
        session.run("linpack", grid="2x2", sizes=[64], **SMALL)
    with pytest.raises(Exception, match="multiple of 32"):
        session.run("linpack", sizes=[64], block_size=40, reps=1)


def test_host_memory_verifies():
    r = hf.run("linpack", exchange="host", sizes=[300, 520], reps=1)
    assert r.verified is True
