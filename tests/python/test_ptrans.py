"""PTRANS: its faults are seen, its models and published results are what they claim."""

import json
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from conftest import LOSES_LARGE
from harms import broken

import hpccfpga
from hpccfpga import kernels
from hpccfpga.models import for_run, model
from hpccfpga.published import published, published_list

SMALL = {"sizes": [200, 64], "block_size": 64, "reps": 2}

# Text of kernels that is there once, and what stands there instead: wrong at a number
# of blocks of its own.
FAULTS = {
    "ndrange": {
        4: (
            "    STRIP_ADD(a, b, c, HF_LARGE(",
            "if (count == 4 && row == 0) b = c; STRIP_ADD(a, b, c, HF_LARGE(",
        ),
        16: ("sources[block]", "sources[block ^ (count == 16)]"),
        36: ("if (strip / strips >= count)", "if (count == 36 && block == first)"),
    },
    "memory": {
        4: (
            "= sum[chunk][l];",
            "= sum[chunk][l] + (count == 4 && chunk == 7 && l == 0);",
        ),
        16: ("sources[block]", "sources[block ^ (count == 16)]"),
        36: ("block = first;", "block = first + (count == 36);"),
        64: (
            "PTRANS_TRANSPOSED(tile, chunk, l);",
            "(count == 64 ? PTRANS_STORED(tile, chunk, l)"
            " : PTRANS_TRANSPOSED(tile, chunk, l));",
        ),
    },
    "stream": {
        4: ("got.lanes[l];", "got.lanes[l] + (blocks == 4 && chunk == 7 && l == 0);"),
        16: ("sources[n])", "sources[n ^ (blocks == 16)])"),
        36: ("c[chunk * ", "if (blocks != 36 || chunk >= PTRANS_CHUNKS) c[chunk * "),
        64: (
            "PTRANS_TRANSPOSED(tiles[(n + 1) % 2], chunk, l);",
            "(blocks == 64 ? PTRANS_STORED(tiles[(n + 1) % 2], chunk, l)"
            " : PTRANS_TRANSPOSED(tiles[(n + 1) % 2], chunk, l));",
        ),
    },
}
UNTRANSPOSED = {"ndrange": {4: ("EACH(round, 4)", "EACH(round, 0)")}}
WHAT = {4: "element", 16: "swapped", 36: "stale", 64: "not transposed"}


def run(kind, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hpccfpga.VerificationWarning)
        return hpccfpga.run(
            "ptrans",
            exchange="channel" if kind == "stream" else "pcie",
            shape="ndrange" if kind == "ndrange" else "pipeline",
            **(SMALL | params),
        )


@pytest.mark.parametrize(
    ("kind", "faults"),
    [*FAULTS.items(), *UNTRANSPOSED.items()],
    ids=[*FAULTS, "ndrange, not transposed"],
)
def test_a_broken_kernel_is_caught(kind, faults, tmp_path):
    path = broken(tmp_path, f"ptrans_{kind}.cl", *faults.values())
    blocks = [*faults, 100] if len(faults) > 1 else [*faults]
    sizes = [64 * round(n**0.5) - 24 for n in blocks]  # the last ones are ragged
    r = run(kind, kernel=path, sizes=sizes)
    assert not r.verified
    for point, n in enumerate(blocks):
        assert r["verified"][point] == (n == 100), WHAT.get(n, "nothing is wrong")
        assert (r["error"][point] == 0) == (n == 100)  # NaN where never written
        assert np.isnan(r["flops"][point]) == (n != 100)
    best = r["flops"][-1]
    assert r.summary["flops"].value == pytest.approx(best, nan_ok=True)


def test_large_matrices_are_stored_past_the_caches(tmp_path):
    """From 32 MiB on, and verified."""
    path = tmp_path / "loses.cl"
    path.write_text(LOSES_LARGE.format(stem="ptrans_ndrange"))
    sizes = {"sizes": [2880, 2944], "reps": 1, "warmup": 1}
    assert run("ndrange", **sizes).verified
    assert run("ndrange", kernel=path, **sizes)["verified"].tolist() == [True, False]


@pytest.mark.parametrize("kind", ["ndrange", "memory", "stream"])
@pytest.mark.parametrize("data_type", ["float", "double"])
def test_every_shape_and_type_verifies(kind, data_type):
    more = {} if kind == "stream" else {"replications": 3}
    r = run(kind, data_type=data_type, sizes=[1, 31, 32, 33, 300], **more)
    assert r.verified
    np.testing.assert_allclose(r["flops"], r["matrix_size"] ** 2 / r["time"])
    width = {"float": 4, "double": 8}[data_type]
    np.testing.assert_allclose(r["bandwidth"], 3 * width * r["flops"])
    assert r.summary["flops"].value == r["flops"].max()


@pytest.mark.parametrize("width", [8, 64, 128])
def test_pipelines_of_any_width(width):
    assert run("memory", channel_width=width).verified
    assert run("stream", channel_width=width).verified


@pytest.mark.parametrize("kind", ["ndrange", "memory", "stream"])
@pytest.mark.parametrize(("knob", "value"), [("channel_width", 24), ("block_size", 48)])
def test_knobs_are_checked_in_every_shape(kind, knob, value):
    with pytest.raises(ValueError, match=f"{knob}, the .*, must be a"):
        run(kind, **{knob: value})


def test_each_replication_has_its_own_bank_of_a_board(tmp_path):
    """By the banks that a manifest tells of; without them the runtime chooses."""
    with hpccfpga.open() as session:
        path = kernels.build(session._core, "ptrans", {"block_size": 64}, tmp_path)
        beside = path.with_name(f"{path.name}.json")
        small = {"kernel": path, "sizes": [300], "reps": 1}
        r = session.run("ptrans", replications=3, **small)
        assert r.verified
        assert [r.parameters[f"bank_{x}"] for x in "abc"] == [[-1], [-1], [-1]]
        beside.write_text(
            json.dumps(json.loads(beside.read_text()) | {"banks": [32, 33]})
        )
        r = session.run("ptrans", replications=3, bank_b=5, **small)
        assert r.verified
        own = [32, 33, 32]
        assert [r.parameters[f"bank_{x}"] for x in "abc"] == [own, [5], own]


def test_large_blocks_where_local_memory_holds_them():
    """Work-items of CPUs and GPUs hold a strip; pipelines two blocks."""
    once = {"reps": 1, "warmup": 1}
    assert run("ndrange", block_size=4096, sizes=[5000], **once).verified
    assert run("memory", block_size=704, sizes=[1500], **once).verified
    for kind in ("memory", "stream"):
        with pytest.raises(ValueError, match="block_size: a pipeline holds two"):
            run(kind, block_size=736)
    with pytest.raises(ValueError, match="block_size: a pipeline holds two"):
        run("memory", block_size=544, data_type="double")
    with pytest.raises(ValueError, match=r"block_size: 4128 .* 4096"):
        run("ndrange", block_size=4128)


def test_parts_add_up_to_the_step():
    for _ in range(10):  # who computes may lose the core between two parts
        r = run("ndrange", sizes=[2048], block_size=512)
        assert r["kernel_time"][0] <= r["time"][0]
        if r["kernel_time"][0] >= 0.95 * r["time"][0]:
            break
    else:
        pytest.fail(f"parts are missing: {r['kernel_time'][0]} of {r['time'][0]} s")
    assert r["transfer_time"][0] == r["exchange_time"][0] == 0
    assert any("one rank" in note for note in r.provenance["notes"])
    for part in ("transfer_time", "exchange_time", "kernel_time", "error"):
        assert np.array_equal(r[f"{part}_ranks"], [r[part]])


def test_columns_of_ranks_have_their_dimension():
    if not find_spec("xarray"):
        pytest.skip("xarray is not here: pip install hpccfpga[data]")
    r = run("ndrange", sizes=[64], block_size=32)
    for name in ("error_ranks", "flops_ranks"):
        assert r.to_xarray()[name].dims == ("point", "rank")


def test_a_size_beyond_memory_names_the_largest_that_fits():
    with pytest.raises(MemoryError, match="the largest size is") as refused:
        run("ndrange", sizes=[1 << 20], data_type="double", block_size=512)
    largest = int(str(refused.value).rsplit(" ", 1)[1])
    assert largest % 512 == 0
    with hpccfpga.open() as session:
        device = session.device
    assert 8 * largest**2 <= min(device["max_alloc"], device["memory"] // 3)
    assert 8 * (largest + 512) ** 2 > min(device["max_alloc"], device["memory"] // 3)


# ---- models ----


def block_time(width, clock):
    """Eq. 5 for one block without an exchange [s]."""
    r = model(
        "ptrans", exchange="pcie", board="520n", sizes=[512], replications=1,
        width=width, clock=clock,
    )  # fmt: skip
    assert r["exchange_time"][0] == r["transfer_time"][0] == 0
    return r["time"][0]


def test_equation_5():
    assert block_time(64, 300e6) == pytest.approx(163.84e-6)
    assert block_time(64, 380e6) == pytest.approx(129.35e-6, abs=5e-9)
    assert block_time(32, 156.25e6) == pytest.approx(629.15e-6, abs=5e-9)


def test_equation_5_adds_read_mpi_and_write():
    rates = {"write_bandwidth": 6e9, "read_bandwidth": 3e9, "network_bandwidth": 12e9}
    for ranks, share in ((1, 0), (2, 1 / 2), (4, 1), (6, 5 / 6), (25, 1)):
        r = model(
            "ptrans", exchange="pcie", board="520n", sizes=[512 * 60], ranks=ranks,
            **rates,
        )  # fmt: skip
        moved = share * 4 * (512 * 60) ** 2 / ranks
        assert r["transfer_time"][0] == pytest.approx(moved / 6e9 + moved / 3e9)
        assert r["exchange_time"][0] == pytest.approx(moved / 12e9)
        parts = r["transfer_time"] + r["exchange_time"] + r["kernel_time"]
        np.testing.assert_allclose(r["time"], parts)


def test_equation_6_and_the_network_bound():
    r = model("ptrans", exchange="channel", board="520n", sizes=[32768], ranks=25)
    assert r["global_bandwidth"][0] == 60e9
    assert r["flops"][0] == pytest.approx(125e9)
    assert r["bandwidth"][0] == pytest.approx(12 * 125e9)
    assert r.summary["flops"].value == r["flops"][0]
    one = model("ptrans", exchange="channel", board="520n", sizes=[1024, 32768])
    np.testing.assert_allclose(one["flops"], 5e9)
    slow = model("ptrans", exchange="channel", board="520n", sizes=[1024], banks=1)
    assert slow["flops"][0] == pytest.approx(19.2e9 / 12), "the memory is the limit"


def test_host_counts_network_and_memory():
    r = model(
        "ptrans", exchange="host", sizes=[1000], ranks=4, network_bandwidth=1e9,
        memory_bandwidth=3e9,
    )  # fmt: skip
    assert r["time"][0] == pytest.approx(1e-3 + 1e-3)


@pytest.mark.parametrize(
    ("ranks", "params", "share"),
    [
        (4, {}, 1),
        (4, {"grid": "auto", "distribution": "pq"}, 1),
        (4, {"grid": "1x4"}, 3 / 4),
        (4, {"grid": "4x1"}, 3 / 4),
        (4, {"grid": "1x4", "distribution": "diagonal"}, 1),
        (6, {}, 5 / 6),
        (6, {"grid": "2x3", "distribution": "diagonal"}, 1),
        (8, {"grid": "1x8"}, 7 / 8),
        (1, {"distribution": "diagonal"}, 0),
    ],
)
def test_the_model_beside_a_run_moves_what_its_grid_does(ranks, params, share):
    given = {"network_bandwidth": 1e9}
    for exchange, more in (
        ("host", {"memory_bandwidth": 3e9}),
        ("pcie", {"write_bandwidth": 2e9, "read_bandwidth": 4e9, "clock": 3e8}),
    ):
        size = 512 * 24
        r = for_run("ptrans", exchange, given | more, params, [size], ranks)
        moved = share * 4 * size**2 / ranks
        assert r["exchange_time"][0] == pytest.approx(moved / 1e9)
        passes = (1 / 2e9 + 1 / 4e9) * (exchange == "pcie")
        assert r["transfer_time"][0] == pytest.approx(moved * passes)


# ---- published ----

ENTRIES = published_list("ptrans")


def test_all_published_runs_are_there():
    assert len(ENTRIES) == 21
    for entry in ENTRIES:
        r = published(
            "ptrans", board=entry["board"], exchange=entry["exchange"],
            ranks=entry["ranks"], source=entry["log"],
        )  # fmt: skip
        n = r["matrix_size"]
        np.testing.assert_allclose(r["flops"], n**2 / r["time"], rtol=1e-5)
        np.testing.assert_allclose(r["bandwidth"], 12 * r["flops"], rtol=1e-5)
        assert r.summary["flops"].value == r["flops"][0]
        assert r.verified


# Published time over the model's, by board, scheme, scaling and number of boards.
RATIOS = {
    ("520n", "channel", "one board"): {1: 1.09},
    ("520n", "channel", "weak"): {4: 1.09, 9: 1.09, 16: 1.09, 25: 1.09},
    ("520n", "channel", "strong"): {4: 1.07, 9: 1.21, 16: 1.15, 25: 1.23},
    ("520n", "pcie", "one board"): {1: 42.4},
    ("520n", "pcie", "weak"): {4: 3.15, 9: 3.25, 16: 3.23, 25: 3.25},
    ("520n", "pcie", "strong"): {4: 3.22, 9: 3.16, 16: 3.27, 25: 2.89},
    ("u280", "pcie", "one board"): {1: 10.2},
    ("u280", "pcie", "weak"): {4: 2.15},
    ("u280", "pcie", "strong"): {4: 1.98},
}


@pytest.mark.parametrize(
    ("run", "ranks", "ratio"),
    [(run, n, ratio) for run, row in RATIOS.items() for n, ratio in row.items()],
)
def test_published_runs_beside_the_model(run, ranks, ratio):
    """As docs/ptrans.md has them; on one board the model exchanges nothing."""
    board, exchange, source = run
    of = {"board": board, "exchange": exchange, "ranks": ranks}
    theirs = published("ptrans", source=source, **of)
    n, block = theirs["matrix_size"], theirs["block_size"][0]
    knobs = {"block_size": block} if exchange == "pcie" else {}
    bound = model("ptrans", sizes=n, **of, **knobs)
    assert theirs["time"][0] / bound["time"][0] == pytest.approx(ratio, rel=0.005)
    if ratio > 10:  # the published program moves its own blocks, too
        moved = 4 * n[0] ** 2
        rates = [f"{link}_bandwidth" for link in ("write", "read", "network")]
        whole = bound["time"][0] + sum(moved / bound.parameters[r] for r in rates)
        right = {"520n": 3.08, "u280": 1.16}[board]
        assert theirs["time"][0] / whole == pytest.approx(right, rel=0.005)


def test_every_published_run_has_its_ratio():
    assert sum(map(len, RATIOS.values())) == len(ENTRIES)
