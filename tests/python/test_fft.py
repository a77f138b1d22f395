"""Benchmark fft: sizes, shapes, faults that verification must see, model, published."""

import numpy as np
import pytest
from harms import broken

import hpccfpga as hf

SMALL = {"log_size": 7, "batch": 5, "reps": 2}


@pytest.mark.parametrize("log_size", [6, 7, 9, 10, 12, 13, 14, 17])
def test_sizes_of_the_many_work_items(log_size):
    r = hf.run("fft", exchange="pcie", log_size=log_size, batch=3, reps=2)
    assert r.verified, r["error"]
    assert 0 < r["error"][0] < 0.6, "the bound leaves room, but not for everything"
    assert r["transform_size"].tolist() == [1 << log_size]
    work = 3 * 5 * 2**log_size * log_size
    assert r["flops"] == pytest.approx(work / r["time"])
    assert r.summary["flops"].value == r["flops"][0]
    assert r["inner"].tolist() == [2], "there and back"


@pytest.mark.parametrize("log_size", [6, 7, 8, 12, 17])
def test_sizes_of_the_pipeline(log_size):
    words = {"exchange": "pcie", "device": "opencl:cpu", "shape": "pipeline"}
    r = hf.run("fft", log_size=log_size, batch=2, reps=1, **words)
    assert r.verified, r["error"]


@pytest.mark.parametrize("log_size", [6, 7, 12, 13])
def test_the_kernels_for_gpus(tmp_path, log_size):
    """No GPU is needed to see that their passes through local memory are right."""
    path = tmp_path / "gpu.cl"
    path.write_text('#define FFT_LANES 1\n#include "fft_ndrange.cl"\n')
    r = hf.run("fft", kernel=path, log_size=log_size, batch=3, reps=2)
    assert r.verified, r["error"]
    assert 0 < r["error"][0] < 0.6


@pytest.mark.parametrize("log_size", [6, 9])
def test_kernels_joined_by_channels(log_size):
    words = {"exchange": "channel", "device": "opencl:cpu"}
    r = hf.run("fft", log_size=log_size, batch=2, reps=1, **words)
    assert r.verified, r["error"]


ROW = "HF_GLOBAL float *y = out + (ulong)b * 2 * N;"
LOOP = "rows_transform(tile, y + 2 * k, twiddles + 2 * k, roots, sign);"
IN_LOOP = {
    "element": "if (b == 3) y[77] *= 1.01f;",
    "back element": "if (b == 3 && sign < 0) y[77] += 0.001f * N;",
    "sign": "if (b == 3 && sign > 0) y[77] = -y[77];",
    "NaN": "if (b == 3 && sign > 0) y[77] = NAN;",
    "back NaN": "if (b == 3 && sign < 0) y[77] = NAN;",
}
IN_ROW = {
    "swapped": "if (b < 2) y = out + (ulong)(1 - b) * 2 * N;",
    "stale back": "if (b == 4 && sign < 0) continue;",
    "stale": "if (b == 4 && sign > 0) continue;",
    "copy": "for (uint i = 0; i < 2 * N; i++) y[i] = x[i]; continue;",
}
BATCHES = {fault: 6 + i for i, fault in enumerate([*IN_LOOP, *IN_ROW])}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A kernel file with a fault for each number of transforms; 5 have none."""

    def code(faults):
        return " ".join(
            f"if (batch == {BATCHES[fault]}) {{ {code} }}"
            for fault, code in faults.items()
        )

    folder = tmp_path_factory.mktemp("faulty")
    path = broken(
        folder,
        "fft_ndrange.cl",
        (LOOP, f"{LOOP} {code(IN_LOOP)}"),
        (ROW, f"{ROW} {code(IN_ROW)}"),
    )
    assert hf.run("fft", exchange="pcie", kernel=path, **SMALL).verified
    return path


def fault_check(path, **params):
    with pytest.warns(UserWarning, match="wrong data"):
        r = hf.run("fft", device="opencl:cpu", shape="ndrange", kernel=path, **params)
    assert r.verified is False
    assert not r["error"][0] <= 1
    assert np.isnan(r["flops"]).all(), "no rate for wrong data"


@pytest.mark.parametrize("fault", BATCHES)
def test_each_fault_is_seen(faulty, fault):
    fault_check(faulty, **SMALL | {"batch": BATCHES[fault]})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("twiddles[N + k] = roots[k * N1]", "twiddles[N + k] = roots[0]"),
        ("x.re, im, 0, 8,", "x.re, im, 8, 0,"),
    ],
    ids=["twiddles", "parts swapped"],
)
def test_each_fault_of_the_parts_is_seen(tmp_path, old, new):
    fault_check(broken(tmp_path, "fft_ndrange.cl", (old, new)), **SMALL)


def test_same_seed_same_data(tmp_path):
    """An error in proportion to a number tells the number."""
    path = broken(tmp_path, "fft_ndrange.cl", (LOOP, LOOP + " y[77] *= 1.01f;"))

    def error(seed):
        with pytest.warns(UserWarning, match="wrong data"):
            r = hf.run("fft", exchange="pcie", kernel=path, seed=seed, **SMALL)
        return r["error"].tolist()

    assert error(7) == error(7) != error(8)


def test_a_binary_whose_knobs_contradict_the_request(tmp_path, monkeypatch):
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    assert hf.run("fft", exchange="pcie", **SMALL).verified
    (binary,) = tmp_path.glob("*.bin")
    r = hf.run("fft", exchange="pcie", kernel=binary, batch=5, reps=1)
    assert r.parameters["log_size"] == SMALL["log_size"]
    with pytest.raises(ValueError, match="log_size"):
        hf.run("fft", exchange="pcie", kernel=binary, log_size=9)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out[at - late] = done", "if (at % 31) out[at - late] = done"),
        ("cycle + 1)", "cycle + (at != packets))"),
        ("fft_fetched(fetch, packet, cycle)", "fft_fetched(fetch, packet, cycle ^ 1)"),
    ],
    ids=["packet lost", "packet misplaced", "packets swapped"],
)
def test_each_fault_of_the_pipeline_is_seen(tmp_path, old, new):
    path = broken(tmp_path, "fft_memory.cl", (old, new))
    with pytest.warns(UserWarning, match="wrong data"):
        r = hf.run("fft", exchange="pcie", shape="pipeline", kernel=path, **SMALL)
    assert r.verified is False


def test_frequencies_in_each_others_place_are_seen(tmp_path):
    """They are few of many, and the way back takes them from where they are."""
    swapped = "sign {} 0 && ({}) % FFT_CYCLES / 2 == 50 ? ({}) ^ 1 : ({})"
    path = broken(
        tmp_path,
        "fft_memory.cl",
        ("in[at]", f"in[{swapped.format('<', *['at'] * 3)}]"),
        ("out[at - late]", f"out[{swapped.format('>', *['at - late'] * 3)}]"),
    )
    words = {"exchange": "pcie", "shape": "pipeline", "log_size": 12, "batch": 2}
    with pytest.warns(UserWarning, match="wrong data"):
        assert not hf.run("fft", kernel=path, reps=1, **words).verified


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"log_size": 5}, "log_size"),
        ({"log_size": 18}, "log_size"),
        ({"log_size": 9.5}, "log_size"),
        ({"log_size": "1000"}, "log_size"),
        ({"batch": 0}, "batch"),
        ({"batch": -3}, "batch"),
        ({"batch": float("nan")}, "batch"),
        ({"shape": "round"}, "shape"),
        ({"size": 4096}, "size"),
    ],
)
def test_bad_input_is_refused_by_name(given, words):
    with pytest.raises(ValueError, match=words):
        hf.run("fft", exchange="pcie", reps=1, **given)


def test_a_batch_beyond_memory_is_refused_with_the_largest():
    """Three blocks of it, and three transforms' room for roots of unity."""
    with pytest.raises(MemoryError, match=r"the largest batch is (\d+)$") as caught:
        hf.run("fft", exchange="pcie", log_size=17, batch=1 << 24)
    most = int(str(caught.value).split()[-1])
    with hf.open() as session:
        device = session.device
    room = min(device["memory"] // 3, device["max_alloc"])
    assert (most + 1) * 8 * 2**17 <= room < (most + 2) * 8 * 2**17
    with pytest.raises(MemoryError, match=f"the largest batch is {most}$"):
        hf.run("fft", exchange="pcie", log_size=17, batch=most + 1)


def test_a_size_that_the_host_was_not_compiled_for_is_refused():
    with pytest.raises(ValueError, match="log_size"):
        hf.run("fft", exchange="host", log_size=10)
    assert hf.run("fft", exchange="host", batch=2, reps=1).verified


def test_model_at_the_published_values():
    """Documentation: 288 GFLOP/s at 2^12, 408 at 2^17; README: 1.721 us."""
    r = hf.model("fft", board="520n")
    assert r.parameters["replications"] == 2, "those of the published kernels"
    assert r["transform_size"].tolist() == [4096]
    assert r.summary["flops"].value == pytest.approx(288e9)
    r = hf.model("fft", board="520n", replications=2, sizes=[1 << 17], ranks=3)
    assert r["flops"].tolist() == pytest.approx([3 * 408e9])
    r = hf.model("fft", clock=297.5e6, memory_clock=300e6, batch=1)
    assert r["time"][0] == pytest.approx(1.721e-6, rel=1e-3)
    fast = hf.model("fft", clock=200e6, memory_clock=300e6)
    assert fast["flops"][0] == pytest.approx(5 * 12 * 8 * 200e6), "the slower clock"
    with pytest.raises(ValueError, match="memory_clock"):
        hf.model("fft", clock=1e8)


@pytest.mark.parametrize(
    ("which", "inputs", "ratio"),
    [
        ({"board": "520n", "source": "929864"}, {"board": "520n"}, 0.832),
        ({"board": "520n", "source": "2^17"}, {"board": "520n"}, 0.856),
        (
            {"board": "u280", "source": "DDR"},
            {"clock": 248e6, "memory_clock": 3e8, "replications": 1},
            0.877,
        ),
        (
            {"board": "u280", "source": "HBM2"},
            {"clock": 254e6, "memory_clock": 3e8, "replications": 15},
            0.756,
        ),
        (
            {"board": "pac_d5005"},
            {"clock": 348e6, "memory_clock": 3e8, "replications": 1},
            0.587,
        ),
    ],
)
def test_published_beside_the_model(which, inputs, ratio):
    measured = hf.published("fft", **which)
    inputs = {"replications": measured.parameters["replications"], **inputs}
    expected = hf.model("fft", sizes=measured["transform_size"], **inputs)
    assert measured["flops"][0] / expected["flops"][0] == pytest.approx(ratio, abs=1e-3)


def test_published_runs():
    runs = hf.published_list("fft")
    assert len(runs) == 11
    assert {run["ranks"] for run in runs} == {1, 2, 4, 10, 16, 26}
    r = hf.published("fft", board="520n", ranks=16)
    work = 16 * 4096 * 5 * r["transform_size"] * np.log2(r["transform_size"])
    assert r["flops"] == pytest.approx(work / r["time"], rel=1e-5)
    assert r.summary["flops"].value == r["flops"][0] == 3.83577e12


def test_a_batch_explains_the_work_beside_a_published_run():
    published = hf.published("fft", board="520n", ranks=1, source="logs of 2021")
    (counts,) = (
        note
        for note in hf.compare(hf.model("fft", board="520n"), published).notes
        if note.startswith("flops counts")
    )
    assert counts.endswith(": batch is 1024 in a, 4096 in b; compare rates, not times")


@pytest.mark.parametrize("which", ["<", ">"])
def test_a_nan_in_some_samples_is_not_forgotten(tmp_path, which):
    fault = f" if (b == 0 && sign > 0 && x[0] {which} 0) y[77] = NAN;"
    path = broken(tmp_path, "fft_ndrange.cl", (LOOP, LOOP + fault))
    with pytest.warns(UserWarning, match="wrong data"):
        r = hf.run("fft", exchange="pcie", kernel=path, **SMALL | {"reps": 10})
    assert r.verified is False
    assert np.isnan(r["error"]).all()
