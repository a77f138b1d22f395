"""Every benchmark over every exchange on every device that can run it, does."""

from math import comb
from pathlib import Path

import numpy as np
import pytest

import hpccfpga
from hpccfpga import _core
from hpccfpga.progress import units

SMALL = {
    "sizes": "1,3,64,1000",
    "reps": 3,
    "loop_upper": 4,
    "loop_lower": 1,
    "batch": 3,
    "size": 4096,
    "steps": 2,
}
SMALL_OF = {
    "gemm": {"sizes": "1,3,64,100"},
    "randomaccess": {"sizes": "64,256,1024,4096"},
}
ERROR_OF = {"randomaccess": "error_rate"}
BENCHMARKS = [name for name, _ in _core.components("bench")]
EXCHANGES = [name for name, _ in _core.components("exchange")]
RUNTIMES = [name for name, _ in _core.components("device")]
KERNELS = Path(__file__).parents[2] / "kernels"
STATISTICS = ("median", "low", "high", "q1", "q3", "p95", "p99")
COMMON = {
    "time": ("s", np.float64),
    **{f"time_{name}": ("s", np.float64) for name in STATISTICS},
    "verified": ("1", np.bool_),
    "error": ("1", np.float64),
    "reps": ("1", np.int64),
    "inner": ("1", np.int64),
}


@pytest.fixture(params=EXCHANGES)
def exchange(request):
    return request.param


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    return request.param


@pytest.fixture(params=BENCHMARKS)
def benchmark(request):
    return request.param


def misfit(benchmark, exchange, runtime):
    """Why these do not go together, as the refusal must say it; None: they must."""
    if exchange == "host" and runtime != "host":
        return "moves host memory only"
    device = next(d for d in hpccfpga.devices() if d["runtime"] == runtime)
    if exchange == "channel" and device["type"] == "gpu":
        return "is a GPU"
    kind = "stream" if exchange == "channel" else "memory"
    there = (KERNELS / f"{benchmark}_{kind}.cl").is_file()
    if there or (benchmark == "transfer" and kind == "memory"):
        return None  # transfer has no kernels and copies wherever there is memory
    return "does not run over exchange"


@pytest.fixture
def session(benchmark, exchange, runtime):
    if reason := misfit(benchmark, exchange, runtime):
        with (
            pytest.raises(NotImplementedError, match=reason) as refused,
            hpccfpga.open(device=runtime, exchange=exchange) as session,
        ):
            session._core.kernel(benchmark)
        pytest.skip(f"does not go together: {refused.value}")
    with hpccfpga.open(device=runtime, exchange=exchange) as session:
        yield session


def small(benchmark):
    known = {entry["name"] for entry in _core.parameters(benchmark)}
    values = SMALL | SMALL_OF.get(benchmark, {})
    return {name: value for name, value in values.items() if name in known}


def test_runs_verified_with_the_declared_columns(session, benchmark):
    result = session.run(benchmark, **small(benchmark))
    assert result.kind == "measured"
    assert result.verified is True
    assert result["verified"].all()
    points = len(result["time"])
    told = _core.quantities(benchmark)
    error = ERROR_OF.get(benchmark, "error")
    columns = {
        error if name == "error" else name: (*kind, (points,))
        for name, kind in COMMON.items()
    }
    for name, (unit, _) in told["metrics"].items():
        for column in (name, f"{name}_median"):
            columns[column] = (unit, np.float64, (points,))
    for name, (unit, _) in told["parts"].items():
        columns[name] = (unit, np.float64, (points,))
        columns[f"{name}_ranks"] = (unit, np.float64, (points, 1))
    columns[f"{error}_ranks"] = ("1", np.float64, (points, 1))
    columns["samples"] = ("s", np.float64, (points, 3, 1))
    columns["warmup"] = ("s", np.float64, (points, 2, 1))
    for name, declared in columns.items():
        column = result.columns[name]
        held = column.unit, column.values.dtype, column.values.shape
        assert held == declared, name
    assert (result["samples"] > 0).all()
    assert np.array_equal(result["time"], result["samples"].max(axis=2).min(axis=1))
    assert np.allclose(
        result["time_median"], np.median(result["samples"].max(axis=2), axis=1)
    )
    assert not np.isfinite(result["time_low"]).any(), "three samples have no interval"
    assert all(np.isfinite(q.value) for q in result.summary.values())
    figures = {f"{name}{end}" for name in told["figures"] for end in ("", "_median")}
    assert set(result.summary) == figures | {error} - {"error"}


def test_what_a_point_tells_is_what_its_columns_hold(session, benchmark):
    """Rows hold what a benchmark declares: its labels and metrics."""
    told = []
    result = session.run(
        benchmark, progress=lambda *row: told.append(row), **small(benchmark)
    )
    points = len(result["time"])
    assert [row[:2] for row in told] == [(i, points) for i in range(points)]
    assert set(result.labels) < set(told[0][2])
    for name in told[0][2]:
        column = result.columns[name]
        assert column.values.shape == (points,), name
        text = column.values.dtype.kind == "U"
        assert text or column.values.dtype in (np.float64, np.int64, np.bool_), name
        assert column.unit == units(benchmark)[name], name
        assert np.array_equal([row[2][name] for row in told], column.values), name


def test_columns_are_views_of_one_result(session, benchmark):
    result = session.run(benchmark, **small(benchmark))
    owners = {id(column.values.base) for column in result.columns.values()}
    assert len(owners) == 1, "every column is a view of one owner, without a copy"


def test_unknown_and_impossible_parameters_are_refused(session, benchmark):
    for params, words in (
        ({"speed": 1}, "speed"),
        ({"reps": -1}, "reps"),
        ({"reps": "many"}, "many"),
        ({"reps": float("nan")}, "nan"),
        ({"reps": None}, "None"),
        ({"seed": 0.5}, "0.5"),
        ({"warmup": [1, 2]}, "warmup"),
    ):
        with pytest.raises(ValueError, match=words):
            session.run(benchmark, **params)
    assert session.run(benchmark, **small(benchmark)).verified, "still usable"


@pytest.mark.parametrize("runtime", ["opencl", "host"])
@pytest.mark.parametrize("benchmark", ["gemm", "stream"])
def test_half_where_the_device_has_it(benchmark, runtime, tmp_path, monkeypatch):
    """Elsewhere it is one line, before anything is built."""
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    half = {"data_type": "half"} | small(benchmark)
    with hpccfpga.open(device=runtime) as session:
        if session.device["half"]:
            assert session.run(benchmark, **half).verified
            return
        with pytest.raises(
            ValueError, match=r"^data_type: .* not compute in half"
        ) as no:
            session.run(benchmark, **half)
    assert "\n" not in str(no.value)
    assert not any(tmp_path.iterdir())


SHAPED = [name for name in BENCHMARKS if (KERNELS / f"{name}_ndrange.cl").is_file()]


@pytest.mark.parametrize("shape", ["auto", "pipeline", "ndrange"])
@pytest.mark.parametrize("benchmark", SHAPED)
def test_the_result_names_the_kernels_that_ran(benchmark, shape):
    """On a CPU those for many work-items, unless told otherwise."""
    with hpccfpga.open(device="opencl") as session:
        suits = session.device["type"] in ("cpu", "gpu")
        r = session.run(benchmark, shape=shape, **small(benchmark))
    many = shape == "ndrange" or (shape == "auto" and suits)
    kind = "ndrange" if many else "memory"
    assert r.provenance["kernel"]["name"] == f"{benchmark}_{kind}"
    assert r.provenance["kernel"]["kind"] == kind
    assert r.parameters["shape"] == shape
    assert f'"name": "{benchmark}_{kind}"' in r.to_json()


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


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_docs_name_every_knob_and_figure(benchmark):
    docs = Path(__file__).parents[2] / "docs"
    knobs = (docs / "kernels.md").read_text()
    for entry in _core.parameters(benchmark):
        assert entry["macro"] is None or f"`{entry['macro']}`" in knobs
    figures = (docs / "units.md").read_text()
    for name in _core.quantities(benchmark)["figures"]:
        assert f"**{name}**" in figures
