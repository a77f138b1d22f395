"""Every benchmark over every exchange on every device that can run it, does."""

import os
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import hpccfpga
from hpccfpga import _core, formats, sources
from hpccfpga.progress import units
from xrt_session import xclbin

BENCHMARKS = [name for name, _ in _core.components("bench")]
EXCHANGES = [name for name, _ in _core.components("exchange")]
RUNTIMES = [name for name, _ in _core.components("device")]
KERNELS = Path(__file__).parents[2] / "kernels"
STATISTICS = ("median", "low", "high", "q1", "q3", "p95", "p99")
COMMON = {
    "time": ("s", "float64"),
    **{f"time_{name}": ("s", "float64") for name in STATISTICS},
    "verify_time": ("s", "float64"),
    "verified": ("1", "bool"),
    "error": ("1", "float64"),
    "reps": ("1", "int64"),
    "inner": ("1", "int64"),
}
TRAFFIC = ("packets", "stalls", "high_water")
BY_DRIVERS = {"power": ("W", "float64")}
"""What some drivers tell, of all ranks and of each."""


@pytest.fixture(params=EXCHANGES)
def exchange(request):
    return request.param


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    if not _core.devices(request.param):
        pytest.skip(f"no device of {request.param} here")
    return request.param


@pytest.fixture(params=BENCHMARKS)
def benchmark(request):
    return request.param


def parameters(benchmark):
    return {entry["name"]: entry for entry in _core.parameters(benchmark)}


def kinds(benchmark):
    """Kinds of kernel files that it has."""
    every = ("memory", "stream", "ndrange")
    return [k for k in every if (KERNELS / f"{benchmark}_{k}.cl").is_file()]


def own_runtime(exchange):
    """What a scheme takes unless it is told otherwise."""
    with hpccfpga.open(exchange=exchange) as session:
        return session.device["runtime"]


def misfit(benchmark, exchange, runtime):
    """Why these do not go together, as the refusal must say it; None: they must."""
    scheme = _core.scheme(exchange)
    if scheme["host_memory"] and runtime != own_runtime(exchange):
        return "moves host memory only"
    if scheme["kernel_routed"]:
        with hpccfpga.open(device=runtime) as session:
            if session.device["type"] == "gpu" or runtime == "xrt":
                return "needs boards with external channels"
    kind = scheme["kernels"]
    # A benchmark without kernels copies wherever there is memory.
    if kind in (kinds(benchmark) or ["memory"]):
        return None
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


LOOP = set.intersection(*(set(parameters(name)) for name in BENCHMARKS))
FEW = 12


def sizes(entry, problem):
    """Small and odd ones; those that all ranks share are cut, so powers of two."""
    cut = problem["shared"] and problem["power"] == 1
    if entry["kind"] == "ints":
        values = [4**k for k in range(7)] if cut else [1, 100, 1000]
        work = 1e6
        return [
            v for v in values if v >= entry["low"] and v ** problem["power"] <= work
        ]
    return 4096 if int(entry["default"]) > 1e6 else 3  # of an array


def small(benchmark):
    """Little of everything, by what the tables of the benchmark say."""
    problem = _core.quantities(benchmark)["problem"]
    values = {"reps": 3}
    for name, entry in parameters(benchmark).items():
        counts = entry["kind"] == "int" and entry["macro"] is None
        if entry["kind"] == "text" and (log := re.search(r":\d+$", entry["default"])):
            values[name] = entry["default"][: log.start()] + ":6"
        elif problem and name == problem["parameter"]:
            values[name] = sizes(entry, problem)
        elif counts and name not in LOOP and int(entry["default"]) > FEW:
            values[name] = FEW
    return values


@pytest.fixture
def little(benchmark, runtime):
    """What `small` says, and kernels for a device that takes nothing else."""
    values = small(benchmark)
    if runtime == "xrt" and kinds(benchmark):  # test_xrt.py has them made
        values["kernel"] = xclbin(Path(os.environ["XILINX_XRT"]), benchmark)
    return values


def declared(result, reps, warmup):
    """Unit, dtype and shape of each column of a run."""
    told = _core.quantities(result.benchmark)
    points, ranks = len(result["time"]), result.ranks
    columns = {name: (*kind, (points,)) for name, kind in COMMON.items()}
    columns[told["error"]] = columns.pop("error")
    columns[f"{told['error']}_ranks"] = ("1", "float64", (points, ranks))
    for name, (unit, dtype, _) in told["labels"].items():
        columns[name] = (unit, dtype, (points,))
    for name, (unit, dtype, _) in told["metrics"].items():
        for column in (name, f"{name}_median"):
            columns[column] = (unit, dtype, (points,))
        columns[f"{name}_ranks"] = (unit, dtype, (points, ranks))
    for name, (unit, dtype, _) in (told["findings"] | told["parts"]).items():
        columns[name] = (unit, dtype, (points,))
        if dtype == "float64":  # whole numbers are those of all ranks
            columns[f"{name}_ranks"] = (unit, dtype, (points, ranks))
    # How many stages a step has is found out in the run; all columns have as many.
    n_stages = max((result[name].shape[1] for name in told["stages"]), default=0)
    for name, (unit, dtype, _) in told["stages"].items():
        columns[name] = (unit, dtype, (points, n_stages, ranks))
    columns["verify_time_ranks"] = ("s", "float64", (points, ranks))
    columns["samples"] = ("s", "float64", (points, reps, ranks))
    rounds = int(parameters(result.benchmark).get("rounds", {"default": 1})["default"])
    rounds = min(rounds, reps) if points > 1 else 1
    assert result.parameters.get("rounds", 1) == rounds
    columns["warmup"] = ("s", "float64", (points, rounds * warmup, ranks))
    if _core.scheme(result.exchange)["kernel_routed"]:
        columns |= {name: ("1", "float64", (points,)) for name in TRAFFIC}
    for name, kind in BY_DRIVERS.items():
        if {name, f"{name}_ranks"} & result.columns.keys():
            columns[name] = (*kind, (points,))
            columns[f"{name}_ranks"] = (*kind, (points, ranks))
    return columns


def columns_check(columns, declared):
    """Compare a result's columns, all of them, with those that are declared."""
    assert columns.keys() == declared.keys()
    for name, (unit, dtype, shape) in declared.items():
        column = columns[name]
        assert (column.unit, column.values.shape) == (unit, shape), name
        assert column.values.size > 0, name
        assert formats.dtype(column.values) == dtype, name


def rows_check(rows, benchmark, result):
    """Compare what was told after each point: its labels and metrics."""
    points = len(result["time"])
    assert [row[:2] for row in rows] == [(i, points) for i in range(points)]
    assert set(result.labels) < set(rows[0][2])
    for name in rows[0][2]:
        column = result.columns[name]
        assert column.values.shape == (points,), name
        text = column.values.dtype.kind == "U"
        assert text or column.values.dtype in (np.float64, np.int64, np.bool_), name
        assert column.unit == units(benchmark)[name], name
        assert np.array_equal([row[2][name] for row in rows], column.values), name


def refusals_check(session, benchmark):
    """Unknown and impossible parameters; runs that follow are none the worse."""
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


def test_runs_verified_with_the_declared_columns(session, benchmark, little):
    refusals_check(session, benchmark)
    rows = []
    result = session.run(benchmark, progress=lambda *row: rows.append(row), **little)
    assert result.kind == "measured"
    assert result.verified is True
    assert result["verified"].all()
    # What computes has kernels of many work-items.
    real = "ndrange" not in kinds(benchmark) and session.exchange == "host"
    assert result.emulated == (session.device["emulated"] and not real)
    columns = declared(result, 3, 2)
    columns_check(result.columns, columns)
    rows_check(rows, benchmark, result)
    owners = {id(column.values.base) for column in result.columns.values()}
    assert len(owners) == 1, "every column is a view of one owner, without a copy"
    assert (result["samples"] > 0).all()
    assert (result["verify_time"] > 0).all()
    assert np.array_equal(result["time"], result["samples"].max(axis=2).min(axis=1))
    assert np.allclose(
        result["time_median"], np.median(result["samples"].max(axis=2), axis=1)
    )
    assert not np.isfinite(result["time_low"]).any(), "three samples have no interval"
    assert all(np.isfinite(q.value) for q in result.summary.values())
    told = _core.quantities(benchmark)
    figures = {f"{name}{end}" for name in told["figures"] for end in ("", "_median")}
    assert set(result.summary) == figures | {told["error"]} - {"error"}


def test_a_damaged_column_is_seen(benchmark):
    """One that is missing or undeclared, or has another unit, dtype or shape."""
    pairs = product(reversed(EXCHANGES), RUNTIMES)  # those that wait least first
    pairs = ((e, r) for e, r in pairs if _core.devices(r))
    exchange, runtime = next(pair for pair in pairs if not misfit(benchmark, *pair))
    result = hpccfpga.run(
        benchmark, device=runtime, exchange=exchange, **small(benchmark)
    )
    columns = declared(result, 3, 2)
    columns_check(result.columns, columns)
    for name in columns:
        column = result.columns[name]
        whole = column.values.dtype.kind == "i"
        other = np.zeros(column.values.shape, float if whole else int)
        rest = {k: v for k, v in result.columns.items() if k != name}
        for damaged in (
            {},
            {name: column, f"{name}_too": column},
            {name: column._replace(unit="furlong")},
            {name: column._replace(values=column.values[:-1])},
            {name: column._replace(values=column.values[..., None])},
            {name: column._replace(values=other)},
        ):
            with pytest.raises(AssertionError):
                columns_check(rest | damaged, columns)


# How hf_kernel.h and hf_channel.h define kernels, and how they would define idle ones.
TAKES = "(HF_EACH(HF_DECLARE, __VA_ARGS__))"
IDLE = {
    f"__kernel void kernel{TAKES}": f"__kernel void kernel{TAKES} {{ }} "
    f"static void kernel##_idle{TAKES}",
    "kernel##_body(HF_EACH(HF_NAME, __VA_ARGS__));": "",
}

# Lines for kernels that must tell of themselves and have told nothing.
UNTOLD = "(gemm|linpack)_shape says |the kernels do not tell what the program is"


def compiles(session):
    """Does its device take programs, not functions of this library?"""
    try:
        return bool(session._core.build("", ""))
    except NotImplementedError:
        return False


def idle_kernels(stem, folder):
    """Write the kernels of a file with what they did in functions that nobody calls."""
    benchmark, _, _ = stem.rpartition("_")
    named = sources.named_files(benchmark, {})
    text = sources.read_source(KERNELS / f"{stem}.cl", named)
    for busy, idle in IDLE.items():
        assert busy in text or not stem.endswith("_stream")
        text = text.replace(busy, idle)
    path = folder / f"{stem}.cl"
    path.write_text(text)
    return path


@pytest.mark.filterwarnings("ignore::hpccfpga.VerificationWarning")
def test_kernels_that_do_nothing_are_seen(session, benchmark, little, tmp_path):
    """A verification that finds every result right would not see them."""
    stem = session._core.kernel(benchmark)
    if not stem or not compiles(session):
        pytest.skip("no kernels are compiled here")
    once = little | {"reps": 1, "warmup": 1}
    assert session.run(benchmark, **once).verified, "it lies in memory now"
    idle = idle_kernels(stem, tmp_path)
    try:
        told = session.run(benchmark, kernel=idle, **once).verified
    except hpccfpga.Error as error:
        told = str(error)
    assert told is False or re.search(UNTOLD, str(told)), told


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        (benchmark, name)
        for benchmark in BENCHMARKS
        for name, entry in parameters(benchmark).items()
        if "half" in (entry["choices"] or ())
    ],
)
def test_half_where_the_device_has_it(
    benchmark, name, runtime, little, tmp_path, monkeypatch
):
    """Elsewhere it is one line, before anything is built."""
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    half = {name: "half"} | little
    with hpccfpga.open(device=runtime) as session:
        if session.device["half"]:
            assert session.run(benchmark, **half).verified
            return
        with pytest.raises(ValueError, match=rf"^{name}: .* not compute in half") as no:
            session.run(benchmark, **half)
    assert "\n" not in str(no.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("benchmark", "shape"),
    [
        (benchmark, shape)
        for benchmark in BENCHMARKS
        if "ndrange" in kinds(benchmark)
        for shape in parameters(benchmark)["shape"]["choices"]
    ],
)
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


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_docs_name_every_knob_and_figure(benchmark):
    docs = Path(__file__).parents[2] / "docs"
    knobs = (docs / "kernels.md").read_text()
    for entry in _core.parameters(benchmark):
        assert entry["macro"] is None or f"`{entry['macro']}`" in knobs
    figures = (docs / "units.md").read_text()
    for name in _core.quantities(benchmark)["figures"]:
        assert f"**{name}**" in figures
