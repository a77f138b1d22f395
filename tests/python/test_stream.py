"""STREAM: what it measures, what its verification sees, what it refuses."""

import numpy as np
import pytest
from conftest import LOSES_LARGE

import hpccfpga as hf
from hpccfpga.models import for_run

SMALL = {"size": 65536, "steps": 2, "reps": 2}
OPERATIONS = ["copy", "scale", "add", "triad"]

# A kernel that calls the right one, and does harm before or after it; then how many
# elements are wrong after two steps, at least and at most: the second goes on from what
# the first made.
BROKEN = """
#define stream_apply right
#include "stream_{shape}.cl"
#undef stream_apply
__kernel void stream_apply(HF_GLOBAL HF_REAL *out, HF_GLOBAL const HF_REAL *one,
                       HF_GLOBAL const HF_REAL *two, const float scalar,
                       const uint sum, const ulong n) {{
    {before}
    right(out, one, two, scalar, sum, n);
    if (get_global_id(0) == 0) {{ {after} }}
}}
"""
HARMS = {
    "one wrong element": ("", "out[5] += 1;", 1, 2),
    "the least wrong bit": ("", "((HF_GLOBAL uint *)out)[7] ^= 1;", 1, 2),
    "a lost update": ("const HF_REAL was = out[2];", "out[2] = was;", 2, 2),
    "not a number": ("", "out[3] = NAN;", 2, 2),
    "a swapped block": (
        "",
        "for (uint i = 0; i < 64; i++) {"
        " HF_REAL was = out[i]; out[i] = out[64 + i]; out[64 + i] = was; }",
        60,
        256,
    ),
    "an input that changed": ("", "((HF_GLOBAL HF_REAL *)one)[9] += 1;", 1, 2),
    "a scalar of another kind": ("", "out[4] = 2 * one[4];", 1, 2),
    "nothing done": ("if (n > 0) return;", "", 60000, 131072),
    "now and then nothing done": ("if (one[n - 1] > 100) return;", "", 10000, 131072),
}


@pytest.fixture(scope="module")
def session():
    with hf.open(device="opencl:cpu") as session:
        yield session


@pytest.mark.parametrize("params", [
    {},
    {"shape": "pipeline"},
    {"shape": "pipeline", "replications": 4, "buffer_size": 512},
    {"replications": 2, "vector": 4, "unroll": 3, "size": 24 * 1001},
    {"data_type": "double"},
    {"data_type": "double", "shape": "pipeline", "vector": 1, "size": 65521},
    {"data_type": "double", "shape": "pipeline", "buffer_size": 786432},
    {"size": 16},
    {"steps": 1, "size": 16381 * 16},
])  # fmt: skip
def test_every_knob_verifies(session, params):
    r = session.run("stream", **SMALL | params)
    assert r.verified is True
    assert r["operation"].tolist() == OPERATIONS
    assert (r["error"] == 0).all()
    assert (r["inner"] == r.parameters["steps"]).all()


@pytest.mark.parametrize("data_type", ["float", "double"])
def test_device_host(data_type):
    r = hf.run("stream", device="host", data_type=data_type, **SMALL)
    assert r.verified is True


def test_bandwidth_counts_arrays_read_and_written(session):
    r = session.run("stream", data_type="double", **SMALL)
    work = np.array([2, 2, 3, 3]) * 8 * SMALL["size"]
    assert r["bandwidth"] == pytest.approx(work / r["time"])
    assert {name: r.summary[name].value for name in OPERATIONS} == dict(
        zip(OPERATIONS, r["bandwidth"], strict=True)
    )
    for name in ("write_time", "read_time"):
        assert r.columns[name].unit == "s"
        assert (r[name] > 0).all()


@pytest.mark.parametrize(
    ("shape", "file"), [("ndrange", "ndrange"), ("pipeline", "memory")]
)
@pytest.mark.parametrize("harm", HARMS)
def test_verification_sees(session, tmp_path, shape, file, harm):
    before, after, least, most = HARMS[harm]
    path = tmp_path / "broken.cl"
    path.write_text(BROKEN.format(shape=file, before=before, after=after))
    with pytest.warns(hf.VerificationWarning):
        r = session.run("stream", kernel=path, shape=shape, **SMALL | {"reps": 6})
    assert r.verified is False
    wrong = ~r["verified"]
    assert wrong.any()
    assert np.isnan(r["bandwidth"][wrong]).all()
    assert r["error"][wrong].min() >= least
    assert r["error"].max() <= most


@pytest.mark.parametrize(
    ("shape", "file"), [("ndrange", "ndrange"), ("pipeline", "memory")]
)
def test_large_arrays_are_stored_past_the_caches(session, tmp_path, shape, file):
    """From 32 MiB on, and verified."""
    path = tmp_path / "loses.cl"
    path.write_text(LOSES_LARGE.format(stem=f"stream_{file}"))
    large = {"shape": shape, "size": 2**23, "steps": 1, "reps": 1, "warmup": 1}
    assert session.run("stream", **large).verified
    small = large | {"size": 2**23 - 16}
    assert session.run("stream", kernel=path, **small).verified
    with pytest.warns(hf.VerificationWarning):
        r = session.run("stream", kernel=path, **large)
    assert not r["verified"].any()


def test_all_of_an_array_is_checked(session, tmp_path):
    """Also what lies behind the first piece of 4 MiB, in each bank."""
    path = tmp_path / "last.cl"
    path.write_text(BROKEN.format(shape="memory", before="", after="out[n - 1] += 1;"))
    large = {"shape": "pipeline", "replications": 2, "size": 3 * 2**21, "steps": 1}
    with pytest.warns(hf.VerificationWarning):
        r = session.run("stream", kernel=path, **large, reps=1, warmup=1)
    assert (r["error"] == 2).all()


def test_each_operation_is_checked_by_itself(session, tmp_path):
    """A kernel that always doubles does the first step of two operations."""
    path = tmp_path / "copy.cl"
    path.write_text(BROKEN.format(
        shape="ndrange", before="", after="").replace("scalar, sum, n)", "2, 0, n)")
    )  # fmt: skip
    with pytest.warns(hf.VerificationWarning):
        r = session.run("stream", kernel=path, **SMALL | {"steps": 1})
    assert r["verified"].tolist() == [True, True, False, False]


def test_same_seed_same_data(session, tmp_path):
    """The elements tell which results the kernel spoils."""
    path = tmp_path / "spoilt.cl"
    after = "for (uint i = 0; i < 4096; i++) if (one[i] > 100) out[i] = 0;"
    path.write_text(BROKEN.format(shape="memory", before="", after=after))

    def spoilt(seed):
        given = SMALL | {"steps": 1, "shape": "pipeline"}
        with pytest.warns(hf.VerificationWarning):
            r = session.run("stream", kernel=path, seed=seed, **given)
        return r["error"].tolist()

    assert spoilt(7) == spoilt(7) != spoilt(8)


def test_a_size_that_does_not_divide(session):
    with pytest.raises(ValueError, match=r"1000 is not a multiple .* 64; the next"):
        session.run("stream", size=1000, replications=4)
    assert session.run("stream", size=1024, replications=4, reps=1).verified


def test_a_size_beyond_memory_is_refused_before_anything_is_allocated(session):
    with pytest.raises(MemoryError, match="the largest size is") as caught:
        session.run("stream", size=1e12)
    most = int(str(caught.value).split()[-1])
    device = session.device
    assert most % 16 == 0
    assert 12 * most <= device["memory"]
    assert 4 * most <= device["max_alloc"]
    assert 12 * most > device["memory"] - 200 or 4 * most > device["max_alloc"] - 200


@pytest.mark.parametrize(("params", "words"), [
    ({"vector": 3}, "vector, the elements of a vector, must be a power of two"),
    ({"shape": "pipeline", "buffer_size": 24, "size": 4096}, "buffer_size, the el"),
    (
        {"shape": "pipeline", "data_type": "double", "buffer_size": 1 << 20},
        "786432 elements in double.*buffer_size=1048576",
    ),
    ({"data_type": "int"}, "data_type"),
    ({"shape": "square"}, "shape"),
    ({"replications": 33}, "replications"),
    ({"steps": 0}, "steps"),
    ({"size": float("nan")}, "size"),
])  # fmt: skip
def test_impossible_parameters(session, params, words):
    with pytest.raises(ValueError, match=words):
        session.run("stream", **SMALL | {"size": 65520} | params)


def test_a_binary_whose_knobs_contradict_the_request(session, tmp_path, monkeypatch):
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    assert session.run("stream", vector=8, **SMALL).verified
    (binary,) = tmp_path.glob("*.bin")
    assert session.run("stream", kernel=binary, **SMALL).parameters["vector"] == 8
    with pytest.raises(ValueError, match="vector"):
        session.run("stream", kernel=binary, vector=16, **SMALL)


def test_model_is_banks_times_what_a_bank_or_the_clock_gives():
    r = hf.model("stream", board="520n")
    assert r["operation"].tolist() == OPERATIONS
    assert (r["bandwidth"] == 76.8e9).all()
    assert r["time"][0] == pytest.approx(2 * 4 * 2**24 / 76.8e9)
    assert r.summary["triad"].value == 76.8e9
    slow = hf.model("stream", board="520n", clock=100e6, ranks=3)
    assert (slow["bandwidth"] == 3 * 4 * 6.4e9).all()
    assert (hf.model("stream", board="u280")["bandwidth"] == 38.4e9).all()
    hbm = hf.model("stream", board="u280", memory="hbm2")
    assert (hbm["bandwidth"] == 32 * 14.375e9).all()


@pytest.mark.parametrize(
    ("replications", "clock", "rate"),
    [(1, 341.67e6, 19.2e9), (3, 341.67e6, 57.6e9), (4, 341.67e6, 76.8e9),
     (8, 341.67e6, 76.8e9), (1, 100e6, 6.4e9), (8, 100e6, 51.2e9)],
)  # fmt: skip
def test_model_of_a_run_has_its_replications(replications, clock, rate):
    """Each has a bank of its own, until there are more of them."""
    given = {"replications": replications}
    board = {"banks": 4, "bank_bandwidth": 19.2e9, "clock": clock}
    for model in (
        hf.model("stream", board="520n", clock=clock, **given),
        for_run("stream", None, board, given),
    ):
        assert model["bandwidth"][0] == pytest.approx(rate)
        assert model.parameters["replications"] == replications


def test_published_triad_is_88_percent_of_the_model():
    for board, measured in (("520n", 67.7346e9), ("u280", 33.9133e9)):
        r = hf.published("stream", board=board, ranks=1, source="2021")
        assert r.summary["triad"].value == measured
        bytes_moved = 12 * 2**30
        assert r["bandwidth"][3] == pytest.approx(bytes_moved / r["time"][3])
        model = hf.model("stream", board=board).summary["triad"].value
        assert measured / model == pytest.approx(0.8825, abs=1e-3)


def test_every_published_run():
    entries = hf.published_list("stream")
    assert len(entries) == 15
    for entry in entries:
        r = hf.published("stream", source=entry["log"])
        assert r["operation"].tolist() == OPERATIONS
        assert [r.summary[name].value for name in OPERATIONS] == r["bandwidth"].tolist()
