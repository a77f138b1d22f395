"""LINPACK: what it measures, what its verification sees, what it refuses."""

import harms
import numpy as np
import pytest
from linpack_harms import ALL, HARMS, REFINED, RESIDUAL, program

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
    # The error of x in the units of its bound, and in those of the published figure.
    n = r["matrix_size"]
    x_part = r["normalised_residual"] * n**1.5 * 2
    assert np.fmax(r["scaled_residual"], x_part) == pytest.approx(r["residual"])
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


@pytest.mark.parametrize("refine", ["classical", "gmres"])
def test_a_solution_is_refined_over_channels(refine):
    more = {"exchange": "channel", "ranks": 4, "sizes": [97], "refine": refine}
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


def test_the_blocks_of_a_board_verify(session):
    r = session.run("linpack", sizes=[1024], shape="pipeline", reps=1)
    assert r.verified is True
    assert r.parameters["block_size"] == 256


def test_replications_share_the_inner_blocks(session):
    r = session.run("linpack", sizes=[250], shape="pipeline", replications=3, **SMALL)
    assert r.verified is True
    with pytest.raises(ValueError, match="replications: 3, but one launch"):
        session.run("linpack", sizes=[250], shape="ndrange", replications=3, **SMALL)


@pytest.mark.parametrize(
    ("data_type", "block", "size"),
    [
        ("float", 64, 127),
        ("double", 160, 161),
        ("double", 288, 289),
        ("double", 544, 545),
    ],
)
def test_the_kernels_for_gpus(session, tmp_path, monkeypatch, data_type, block, size):
    """No GPU is needed to see that they are right.

    As much of a block as fits local memory at a time: 16, 8, 4 and 2 columns of it.
    """
    if block < 500:  # what is not made fast is compiled sooner, and does as well
        monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    path = tmp_path / "gpu.cl"
    path.write_text(
        '#undef __x86_64__\n#undef __aarch64__\n#include "linpack_ndrange.cl"\n'
    )
    more = {"data_type": data_type, "block_size": block, "sizes": [size], "reps": 1}
    assert session.run("linpack", kernel=path, **more).verified is True


@pytest.mark.parametrize("harm", HARMS)
def test_verification_sees(harmed, harm):
    with pytest.warns(hf.VerificationWarning):
        r = harmed(harm)
    assert r.verified is False
    assert np.isnan(r["flops"]).all()
    assert not (r["residual"] <= 16).any()
    assert not (r["normalised_residual"] < 1).any(), "the published bound"


def test_both_residuals_are_of_what_they_say(harmed):
    """HPL's sees what is wrong with A x, the published one does not look at it."""
    with pytest.warns(hf.VerificationWarning):
        r = harmed(RESIDUAL)
    assert r.verified is False
    assert (r["scaled_residual"] == r["residual"]).all()
    assert (r["normalised_residual"] < 0.1).all()


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
