"""The loop of a session: what follows from the samples, and when it stops."""

from math import comb

import numpy as np
import pytest

import hpccfpga
from hpccfpga import _core


def test_figures_follow_from_the_samples():
    """Eq. 1 and the definition of the bandwidth, computed here again."""
    sizes = np.array([1, 64, 4096])
    result = hpccfpga.run("b_eff", exchange="pcie", sizes=sizes, reps=7, loop_upper=16)
    slowest = result["samples"].max(axis=2)
    rate = result.ranks * sizes / slowest.min(axis=1)
    assert np.allclose(result["bandwidth"], rate)
    assert result.summary["b_eff"].value == pytest.approx(rate.mean())
    median = result.ranks * sizes / np.median(slowest, axis=1)
    assert result.summary["b_eff_median"].value == pytest.approx(median.mean())
    assert result.summary["latency"].value == slowest.min(axis=1)[0]
    ordered = np.sort(slowest, axis=1)
    assert np.array_equal(result["time_low"], ordered[:, 0]), "7 samples: ranks 1 and 7"
    assert np.array_equal(result["time_high"], ordered[:, 6])


def test_published_loop_rule():
    result = hpccfpga.run(
        "b_eff", exchange="host", sizes=[1, 64, 65, 4096], loop_upper=100, loop_lower=3,
        channel_width=32, reps=1,
    )  # fmt: skip
    assert result["inner"].tolist() == [100, 100, 50, 3]


def test_a_benchmark_without_its_kernels_is_refused():
    core = _core.Session("host", "host")
    with pytest.raises(ValueError, match='"b_eff" needs a kernel file'):
        core.run("b_eff", {}, None, None)


def interval(samples):
    """Order statistics that enclose the median with 95 %."""
    n = len(samples)
    below = np.cumsum([comb(n, k) for k in range(n)]) / 2**n
    rank = int((below <= 0.025).sum())  # 0: there are none
    ordered = np.sort(samples)
    return (ordered[rank - 1], ordered[n - rank]) if rank else (-np.inf, np.inf)


def converged(samples):
    median = np.median(samples)
    return max(abs(end - median) for end in interval(samples)) <= 0.05 * median


@pytest.mark.parametrize("steps", [1, 20000], ids=["noisy", "steady"])
def test_adaptive_repetitions_stop_by_themselves(steps):
    """At the first repetition, from the 6th on, that has the median within 5 %."""
    result = hpccfpga.run(
        "b_eff", exchange="host", sizes=[1, 2, 64, 256, 1024, 4096], reps=0,
        max_reps=40, time_limit=60, loop_upper=steps, loop_lower=steps,
    )  # fmt: skip
    reps = result["reps"]
    assert ((reps >= 6) & (reps <= 40)).all()
    assert result["samples"].shape[1] == reps.max()
    for point, n in enumerate(reps):
        samples = result["samples"][point, :, 0]
        assert np.isfinite(samples[:n]).all()
        assert np.isnan(samples[n:]).all()
        assert n == 40 or converged(samples[:n])
        assert not any(converged(samples[:k]) for k in range(6, n))
        low, high = result["time_low"][point], result["time_high"][point]
        assert (low, high) == interval(samples[:n])


def test_adaptive_repetitions_stop_at_the_time_limit():
    result = hpccfpga.run("b_eff", exchange="host", sizes=[1], reps=0, time_limit=0)
    assert result["reps"].tolist() == [1]


def test_a_size_beyond_memory_is_refused_with_the_largest_that_fits():
    with hpccfpga.open() as session:
        device = session.device
    if device["max_alloc"] >= 1 << 31 and device["memory"] >= 3 << 31:
        pytest.skip(f"{device['name']} has room for every size that b_eff accepts")
    with pytest.raises(MemoryError, match="the largest size is"):
        hpccfpga.run("b_eff", exchange="pcie", sizes=[1, 1 << 31])


@pytest.mark.parametrize(
    ("given", "rounds"),
    [
        ({"reps": 7}, 5),
        ({"reps": 2, "rounds": 3}, 2),
        ({"reps": 4, "rounds": 1}, 1),
        ({"reps": 0, "max_reps": 6}, 1),
        ({"reps": 4, "sizes": [8]}, 1),
    ],
)
def test_a_result_tells_the_rounds_that_were_taken(given, rounds):
    words = {"sizes": [1, 8], "loop_upper": 4, "warmup": 3, "device": "host"}
    result = hpccfpga.run("b_eff", exchange="host", **(words | given))
    assert result.parameters["rounds"] == rounds
    assert result["warmup"].shape[1] == 3 * rounds
    assert np.isfinite(result["warmup"]).all()
