"""LINPACK: what it measures, what its verification sees, what it refuses."""

import re
from contextlib import nullcontext
from pathlib import Path

import harms
import numpy as np
import pytest
from conftest import ROOT, python
from linpack_harms import ABOVE, ALL, BELOW, HARMS, REFINED, RESIDUAL, program

import hpccfpga as hf

SMALL = {"block_size": 32, "reps": 2}


@pytest.fixture(scope="module")
def session():
    with hf.open(device="opencl") as session:
        yield session


@pytest.fixture(scope="module")
def harmed(session, tmp_path_factory):
    """Run with one of the harms, or with none."""
    path = tmp_path_factory.mktemp("harms") / "harms.cl"
    path.write_text(program())

    def run(harm, **more):
        words = {"kernel": path, "shape": "pipeline", "sizes": [96]} | SMALL | more
        with harms.done(ALL, harm):
            return session.run("linpack", **words)

    return run


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
@pytest.mark.parametrize("data_type", ["float", "double"])
def test_any_size_verifies(session, shape, data_type):
    sizes = [1, 31, 32, 33, 64, 97, 130, 250]
    r = session.run("linpack", sizes=sizes, shape=shape, data_type=data_type, **SMALL)
    assert r.verified is True
    assert (r["residual"] < 8).all(), r["residual"]
    assert (r["scaled_residual"] <= r["residual"]).all()
    assert (r["scaled_residual"] > 0)[1:].all()  # n = 1 is exact
    n, eps = r["matrix_size"], 2.0 ** (-24 if data_type == "float" else -53)
    x_error = r["normalised_residual"] * n**2 * eps
    bound = 64 * eps + 8 * np.sqrt(n) * 2.0**-53
    assert (x_error / bound * 16 <= r["residual"] * 1.001).all()
    assert (r["residual"] <= x_error / bound * 16 * np.sqrt(n) * 1.001).all(), "small x"
    assert r["normalised_residual_ranks"].shape == (len(sizes), 1)
    assert r["flops"] == pytest.approx(2 / 3 * r["matrix_size"] ** 3 / r["time"])
    assert r.summary["flops"].value == r["flops"].max()
    assert (r["solve_time"] > 0).all()
    assert (r["verify_time"] > 0).all()
    assert (r["kernel_time"] <= r["time"] * 1.001).all()


@pytest.mark.parametrize("refine", ["classical", "gmres"])
@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
@pytest.mark.parametrize("data_type", ["float", "double"])
def test_a_refined_solution_is_right_in_double(session, shape, data_type, refine):
    r = session.run(
        "linpack",
        sizes=[1, 33, 130, 700],
        shape=shape,
        data_type=data_type,
        refine=refine,
        **SMALL,
    )
    assert r.verified is True
    assert (r["residual"] < 8).all(), r["residual"]
    work = 2 / 3 * r["matrix_size"] ** 3 + 3 / 2 * r["matrix_size"] ** 2
    assert r["flops"] == pytest.approx(work / r["time"])
    assert (r["solve_time"] > 0).all()
    assert (r["refine_time"] > 0).all()
    assert (r["solve_time"] + r["refine_time"] < r["time"]).all()


def test_a_solution_is_refined_over_channels():
    more = {"exchange": "channel", "ranks": 4, "sizes": [97], "refine": "gmres"}
    r = hf.run("linpack", **more, **SMALL)
    assert r.verified is True
    assert (r["refine_time"] > 0).all()


@pytest.mark.parametrize("refine", ["none", "classical", "gmres"])
def test_no_harm_verifies(harmed, refine):
    assert harmed(None, refine=refine).verified is True


@pytest.mark.parametrize("harm", REFINED)
def test_verification_sees_what_is_wrong_in_double(harmed, harm):
    refine, kernel, *_ = REFINED[harm]
    if kernel != "product":
        assert harmed(harm).verified is True  # nobody calls it
    with pytest.warns(hf.VerificationWarning):
        r = harmed(harm, refine=refine)
    assert r.verified is False
    assert np.isnan(r["flops"]).all()


def test_refine_is_also_a_truth(session):
    for truth, word in ((True, "classical"), (False, "none")):
        r = session.run("linpack", sizes=[33], refine=truth, **SMALL)
        assert r.parameters["refine"] == word
    with pytest.raises(ValueError, match="refine: text expected, one of none"):
        session.run("linpack", sizes=[33], refine=2, **SMALL)


def test_the_blocks_of_a_board_verify(session):
    r = session.run("linpack", sizes=[1024], shape="pipeline", reps=1)
    assert r.verified is True
    assert r.parameters["block_size"] == 256


def test_the_blocks_with_most_roundings_verify(session):
    """Pipelines round the diagonal once for each column of a block.

    Above a power of 2, as n / 2 is here, the roundoff of the diagonal is largest. Of 20
    matrices the residual of the first two is.
    """
    words = {"shape": "pipeline", "block_size": 704, "sizes": [2100], "reps": 2}
    r = session.run("linpack", **words)
    assert r.verified is True
    assert (r["residual"] < 10).all(), "boards have blocks of 1024"


def test_blocks_that_are_not_next_are_beside_the_next_iteration():
    """They have queues of their own, in both shapes."""
    for shape, first in (("ndrange", "linpack_next"), ("pipeline", "linpack_inner")):
        r = hf.run("linpack", sizes=[160], shape=shape, trace=True, **SMALL)
        queues = {
            label: set(r.trace["queue"][r.trace["label"] == label].tolist())
            for label in ("linpack_lu", first, "linpack_inner")
        }
        assert queues["linpack_lu"] == {0}
        assert 0 in queues[first]
        assert queues["linpack_inner"] - {0}
        assert shape == "pipeline" or 0 not in queues["linpack_inner"]


@pytest.mark.parametrize(("exchange", "ranks"), [("pcie", 2), ("channel", 4)])
def test_iterations_add_up(exchange, ranks):
    """Each multiplies the blocks behind its own; times add up to the parts."""
    sizes = [160, 96]
    r = hf.run("linpack", sizes=sizes, exchange=exchange, ranks=ranks, **SMALL)
    for point, n in enumerate(sizes):
        blocks = r["iteration_blocks"][point].sum(axis=1)
        left = np.arange(n // 32)[::-1]
        assert np.array_equal(blocks[: len(left)], left**2)
        assert not blocks[len(left) :].any()
    seconds = [
        np.nansum(r[f"iteration_{of}_time"], axis=1) for of in ("kernel", "exchange")
    ]
    assert np.allclose(seconds[0], r["kernel_time_ranks"])
    assert np.allclose(seconds[1], r["exchange_time_ranks"] + r["transfer_time_ranks"])


def test_findings_are_those_of_the_worst_sample(session):
    """Each sample has another matrix, and a run the samples of a shorter one, too."""
    runs = [
        session.run("linpack", sizes=[96], **SMALL | {"reps": n}) for n in range(1, 8)
    ]
    for name in ("scaled_residual", "normalised_residual"):
        found = np.array([r[f"{name}_ranks"][0, 0] for r in runs])
        assert np.array_equal(found, np.maximum.accumulate(found))
        assert [r[name][0] for r in runs] == list(found)


def test_replications_share_the_inner_blocks(session):
    r = session.run("linpack", sizes=[250], shape="pipeline", replications=3, **SMALL)
    assert r.verified is True
    with pytest.raises(ValueError, match="replications: 3, but one launch"):
        session.run("linpack", sizes=[250], shape="ndrange", replications=3, **SMALL)


FOR_GPUS = """
import hpccfpga as hf
with hf.open(device="opencl") as session:
    for columns in (16, 8, 4, 2):
        r = session.run("linpack", kernel=f"{columns}.cl", block_size=96, sizes=[161],
                        data_type="float" if columns > 8 else "double", reps=1)
        assert r.verified, (columns, r["residual"])
"""


def test_the_kernels_for_gpus(tmp_path, monkeypatch):
    """No GPU is needed to see that they are right, with any number of columns at once.

    What is not made fast is compiled sooner. PoCL does so as long as a process lives,
    so the process is another one.
    """
    monkeypatch.chdir(tmp_path)
    kernel = (ROOT / "kernels" / "linpack_ndrange.cl").read_text()
    for columns in (16, 8, 4, 2):
        assert f"#define NARROW {columns}\n" in kernel
        text = re.sub(r"(#define NARROW) .*", rf"\1 {columns}", kernel)
        other = "#undef __x86_64__\n#undef __aarch64__\n"
        Path(f"{columns}.cl").write_text(other + text)
    done = python(FOR_GPUS, POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("harm", HARMS)
def test_verification_sees(harmed, harm):
    with pytest.warns(hf.VerificationWarning):
        r = harmed(harm)
    assert r.verified is False
    assert np.isnan(r["flops"]).all()
    assert not (r["residual"] <= 16).any()
    assert not (r["normalised_residual"] < 1).any(), "the published bound"


# The diagonal hides most of the others in a large matrix: what is seen all the same.
LARGE = {
    "no inner update at all": "if (j >= j1 || HARM == 1)",
    "a block that is never updated": "if (j >= j1 || HARM == 2 && i == 5 && j == 6)",
    "updates of an iteration that are lost": "if (j >= j1 || HARM == 3 && j0 == 5)",
    "products that are wrong in their eighth bit": "if (j >= j1)",
}


@pytest.fixture(scope="module")
def coarse(session, tmp_path_factory):
    """Run with one of the harms of a large matrix, or with none."""
    text = (ROOT / "kernels" / "linpack_ndrange.cl").read_text()
    begin = "if (j >= j1)"
    every = " || ".join(f"({harm[4:-1]})" for harm in LARGE.values())
    product = "- sums[r][w], hf_elements"
    assert begin in text
    assert product in text
    cut = "(HARM == 4 ? (x) + (x) / 256 : (x))"
    text = text.replace(product, "- CUT(sums[r][w]), hf_elements")
    text = harms.HARM + f"#define CUT(x) {cut}\n" + text.replace(begin, f"if ({every})")
    (path := tmp_path_factory.mktemp("large") / "large.cl").write_text(text)

    def run(harm, refine):
        with harms.done(LARGE, harm):
            return session.run(
                "linpack", kernel=path, sizes=[2048], reps=1, warmup=1, refine=refine
            )

    return run


@pytest.mark.parametrize("refine", ["none", "classical"])
@pytest.mark.parametrize("harm", [None, *LARGE])
def test_verification_of_a_large_matrix_sees(coarse, harm, refine):
    """Also where a refinement heals x."""
    with nullcontext() if harm is None else pytest.warns(hf.VerificationWarning):
        r = coarse(harm, refine)
    assert r.verified is (harm is None), r["residual"]


def test_both_residuals_are_of_what_they_say(harmed):
    """HPL's sees what is wrong with A x, the published one does not look at it."""
    with pytest.warns(hf.VerificationWarning):
        r = harmed(RESIDUAL)
    assert r.verified is False
    assert (r["scaled_residual"] == r["residual"]).all()
    assert r["scaled_residual"] == pytest.approx(1 / (2**-24 * 1.25 * 96**2), rel=0.01)
    assert (r["normalised_residual"] < 0.1).all()


def test_the_bound_is_16(harmed):
    assert harmed(BELOW).verified is True
    with pytest.warns(hf.VerificationWarning):
        assert harmed(ABOVE).verified is False


def test_what_does_not_fit_is_refused_first(session):
    with pytest.raises(MemoryError, match=r"largest size is [1-9]\d+") as refused:
        session.run("linpack", sizes=[1 << 20], **SMALL)
    largest = int(str(refused.value).split()[-1])
    assert 1000 < largest < 1 << 20
    assert largest % 32 == 0
    device = session.device

    def fits(n):
        """Has the device room for A, the panels of two iterations, and vectors?"""
        rows = -(-n // 32)
        taken = 4 * n**2 + (4 * rows + 4) * (32 + 128) * 32 * 4 + 9 * n * 8
        return taken <= device["memory"] and 4 * n**2 <= device["max_alloc"]

    assert fits(largest)
    assert not fits(largest + 32)
    with pytest.raises(ValueError, match="grid: 2x2 has 4 ranks, the run has 1"):
        session.run("linpack", grid="2x2", sizes=[64], **SMALL)
    with pytest.raises(ValueError, match="multiple of 32"):
        session.run("linpack", sizes=[64], block_size=40, reps=1)


def test_host_memory_verifies():
    r = hf.run("linpack", exchange="host", sizes=[300, 520], reps=1)
    assert r.verified is True
