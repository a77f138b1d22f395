"""GEMM: what it measures, what its verification sees, what it refuses."""

import numpy as np
import pytest

import hpccfpga as hf

SMALL = {"sizes": [130, 64], "reps": 3}

# A kernel that does its work, or not, and harm before or after it, by the work-item
# that has the block in question. Each pair of sizes is harmed in a way of its own, 129
# in none.
BROKEN = """
#define gemm_multiply right
#include "gemm_{shape}.cl"
#undef gemm_multiply
__kernel void gemm_multiply(HF_GLOBAL const HF_SUM *a, HF_GLOBAL const HF_SUM *b,
                        HF_GLOBAL const HF_REAL *c0, HF_GLOBAL HF_REAL *c, HF_SUM alpha,
                        HF_SUM beta, uint n, uint first, uint end) {{
    const ulong row = HF_GEMM_ROW(n), last = get_global_size(0) - 1;
    const HF_REAL was = c[2 * row + 1];
    {before}
    right(a, b, c0, c, alpha, beta, n, first, end);
    {after}
}}
"""
BEFORE = {
    "nothing done": "return;",
    "another factor": "beta = 2.001f;",
    "the product left out": "alpha = 0;",
}
AFTER = {
    "a wrong element": (0, "c[3 * row + 5] += 0.01f;"),
    "a wrong element in the last row": ("last", "c[(n - 1) * row + n - 1] *= -1;"),
    "an element that was not written": (0, "c[2 * row + 1] = was;"),
    "a swapped block": (
        0,
        "for (uint i = 0; i < 16; i++) for (uint j = 0; j < 16; j++) {"
        " HF_REAL old = c[i * row + j]; c[i * row + j] = c[(16 + i) * row + 16 + j];"
        " c[(16 + i) * row + 16 + j] = old; }",
    ),
    "two swapped rows": (
        0,
        "for (uint j = 0; j < n; j++) { HF_REAL old = c[j];"
        " c[j] = c[row + j]; c[row + j] = old; }",
    ),
    "not a number": (0, "c[7 * row + 7] = NAN;"),
    "infinity": (0, "c[7 * row + 7] = INFINITY;"),
    "a row of less precision": (
        0,
        "for (uint j = 0; j < n; j++) c[j] = (HF_REAL)((int)(c[j] * 1024) / 1024.0f);",
    ),
}
HARMED = {harm: (64 + i, 130 + i) for i, harm in enumerate([*BEFORE, *AFTER])}


@pytest.fixture(scope="module")
def session():
    with hf.open(device="opencl") as session:
        yield session


@pytest.mark.parametrize("params", [
    {},
    {"data_type": "double"},
    {"alpha": 0},
    {"alpha": 0, "beta": 0},
    {"alpha": -3.25, "beta": 0},
    {"shape": "pipeline"},
    {"shape": "pipeline", "data_type": "double"},
    {"shape": "pipeline", "block_size": 32, "gemm_size": 4, "global_mem_unroll": 2},
    {"shape": "pipeline", "block_size": 32, "replications": 3},
    {"shape": "pipeline", "block_size": 128, "replications": 31},
    {"device": "host"},
    {"device": "host", "data_type": "double"},
])  # fmt: skip
def test_any_size_verifies(params):
    r = hf.run("gemm", sizes=[1, 2, 15, 16, 17, 95, 96, 97, 130], reps=2, **params)
    assert r.verified is True
    assert (r["error"] < 0.5).all(), "far from what rounding explains"
    assert (r["inner"] == 1).all()


@pytest.mark.parametrize(("params", "told"), [
    ({}, False),
    ({"alpha": 1e-9, "beta": 0}, False),
    ({"alpha": 0, "beta": 0}, True),
    ({"alpha": 0}, True),
    ({"alpha": 1e-9}, True),
    ({"alpha": 1e-9, "data_type": "double"}, False),
    ({"alpha": 1e-4, "sizes": [4, 4096]}, False),
    ({"alpha": 1e-6, "sizes": [4096, 4]}, True),
])  # fmt: skip
def test_a_product_that_the_check_hardly_sees_is_noted(session, params, told):
    r = session.run("gemm", **{"sizes": [16], "reps": 1} | params)
    said = "the check sees little of what is lost of A B"
    assert any(said in note for note in r.provenance["notes"]) == told


def test_same_seed_same_data(session):
    """Rounding errors are those of the data."""
    first, again, other = (
        session.run("gemm", seed=seed, **SMALL)["error"].tolist() for seed in (7, 7, 8)
    )
    assert first == again != other


def test_flops_are_those_of_all_sizes(session):
    r = session.run("gemm", **SMALL)
    assert r.columns["matrix_size"].values.tolist() == SMALL["sizes"]
    assert r["flops"] == pytest.approx(2.0 * r["matrix_size"] ** 3 / r["time"])
    assert r.summary["flops"].value == r["flops"].max()


def test_the_kernel_for_gpus(session, tmp_path):
    """No GPU is needed to see that its blocks are right."""
    path = tmp_path / "gpu.cl"
    path.write_text(
        '#undef __x86_64__\n#undef __aarch64__\n#include "gemm_ndrange.cl"\n'
    )
    for data_type in ("float", "double"):
        r = session.run(
            "gemm", kernel=path, data_type=data_type, sizes=[1, 127, 130, 300]
        )
        assert r.verified is True


@pytest.mark.parametrize("shape", ["ndrange", "pipeline"])
def test_verification_sees(session, tmp_path, shape):
    at = {harm: f"(n == {a} || n == {b})" for harm, (a, b) in HARMED.items()}
    before = (f"if {at[harm]} {code}" for harm, code in BEFORE.items())
    after = (
        f"if ({at[harm]} && get_global_id(0) == {item}) {{ {code} }}"
        for harm, (item, code) in AFTER.items()
    )
    path = tmp_path / "broken.cl"
    path.write_text(
        BROKEN.format(
            shape={"ndrange": "ndrange", "pipeline": "memory"}[shape],
            before="\n    ".join(before),
            after="\n    ".join(after),
        )
    )
    harms = [(n, harm) for harm, sizes in HARMED.items() for n in sizes]
    sizes = [129, *(n for n, _ in harms)]
    with pytest.warns(hf.VerificationWarning) as given:
        r = session.run("gemm", kernel=path, shape=shape, sizes=sizes, reps=3)
    assert [warning.filename for warning in given] == [__file__]
    assert r.verified is False
    assert r["verified"][0]
    assert r.summary["flops"].value == r["flops"][0]
    for i, harm in enumerate(harms, 1):
        assert not r["verified"][i], harm
        assert np.isnan(r["flops"][i]), harm
        assert not r["error"][i] <= 1, harm


@pytest.mark.parametrize("beta", [0, 1])
def test_verification_sees_that_nothing_was_computed(session, tmp_path, beta):
    """Without alpha the product may lie in memory already: zeros, or what C0 was."""
    path = tmp_path / "lost.cl"
    path.write_text(
        "#define gemm_multiply multiply_right\n"
        '#include "gemm_ndrange.cl"\n'
        "#undef gemm_multiply\n"
        "__kernel void gemm_multiply(HF_GLOBAL const HF_SUM *a, HF_GLOBAL HF_SUM *b,\n"
        "                        HF_GLOBAL const HF_REAL *c0, HF_GLOBAL HF_REAL *c,\n"
        "                        HF_SUM alpha, HF_SUM beta, uint n, uint first,\n"
        "                        uint end) {}\n"
    )
    params = {"kernel": path, "sizes": [512], "alpha": 0, "beta": beta}
    with pytest.warns(hf.VerificationWarning):
        assert not session.run("gemm", reps=2, **params)["verified"].any()


@pytest.mark.parametrize("skip", [True, False])
def test_verification_sees_panels_of_the_sample_before(session, tmp_path, skip):
    """B is packed for the first sample only: a mark behind its panels says so."""
    path = tmp_path / "stale.cl"
    path.write_text(
        "#define gemm_pack_b pack_right\n"
        "#define gemm_multiply multiply_right\n"
        '#include "gemm_ndrange.cl"\n'
        "#undef gemm_pack_b\n#undef gemm_multiply\n"
        f"#define SKIP {int(skip)}\n"
        # Not what a run before may have left there.
        f"#define MARK_IS {np.random.default_rng().integers(1, 1 << 24)}\n"
        # There is room for 128 columns more than n, of which panels fill 64 at most.
        "#define MARK(b, n) ((b) + (n + 128) * HF_GEMM_ROW(n) - 1)\n"
        "__kernel void gemm_pack_b(HF_GLOBAL const HF_REAL *b,\n"
        "                          HF_GLOBAL HF_SUM *panels, uint n) {\n"
        "    if (!SKIP || *MARK(panels, n) != MARK_IS) pack_right(b, panels, n);\n"
        "}\n"
        "__kernel void gemm_multiply(HF_GLOBAL const HF_SUM *a, HF_GLOBAL HF_SUM *b,\n"
        "                        HF_GLOBAL const HF_REAL *c0, HF_GLOBAL HF_REAL *c,\n"
        "                        HF_SUM alpha, HF_SUM beta, uint n, uint first,\n"
        "                        uint end) {\n"
        "    multiply_right(a, b, c0, c, alpha, beta, n, first, end);\n"
        "    if (get_global_id(0) == 0) *MARK(b, n) = MARK_IS;\n"
        "}\n"
    )
    params = {"kernel": path, "sizes": [130], "warmup": 1}
    if skip:
        with pytest.warns(hf.VerificationWarning):
            r = session.run("gemm", reps=1, **params)
        assert not r["verified"].any()
        assert np.isnan(r.summary["flops"].value)
    else:
        assert session.run("gemm", reps=3, **params).verified


def test_a_size_beyond_memory_is_refused_before_anything_is_allocated(session):
    with pytest.raises(MemoryError, match="the largest size is") as caught:
        session.run("gemm", sizes=[64, 1 << 20])
    most = int(str(caught.value).split()[-1])
    device = session.device
    assert 16 * most**2 <= device["memory"]
    assert 4 * most**2 <= device["max_alloc"]
    more = most + 200
    assert 24 * more**2 > device["memory"] or 4 * more**2 > device["max_alloc"]


@pytest.mark.parametrize(("params", "words"), [
    ({"shape": "pipeline", "block_size": 100}, "block_size, .* gemm_size"),
    ({"shape": "pipeline", "block_size": 24, "gemm_size": 3}, "global_mem_unroll"),
    ({"shape": "pipeline", "global_mem_unroll": 3}, "must divide 16"),
    ({"shape": "pipeline", "block_size": 736}, "up to 720, .*block_size=736"),
    ({"shape": "pipeline", "block_size": 528, "data_type": "double"}, "in double 512"),
    ({"device": "host", "block_size": 64}, "block_size: device host has"),
    ({"replications": 2}, "replications: 2, but one launch"),
    ({"replications": 32}, "replications"),
    ({"sizes": [0]}, "sizes"),
    ({"sizes": [2.5]}, "sizes"),
    ({"alpha": float("nan")}, "alpha"),
    ({"alpha": -1e-31}, "alpha: -1e-31 is too small for data type float: 0, or from"),
    ({"beta": 1e-150, "data_type": "double"}, "beta: 1e-150 is too small"),
    ({"beta": float("inf")}, "beta"),
    ({"data_type": "int"}, "data_type"),
    ({"shape": "square"}, "shape"),
])  # fmt: skip
def test_impossible_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        hf.run("gemm", **SMALL | params)


@pytest.mark.parametrize(("data_type", "width"), [("float", 720), ("double", 512)])
def test_the_largest_blocks_fit_a_thread(session, data_type, width):
    params = {"data_type": data_type, "block_size": width, "sizes": [100], "reps": 1}
    assert session.run("gemm", shape="pipeline", **params).verified


def test_blocks_that_a_kernel_file_invents_are_refused(session, tmp_path):
    path = tmp_path / "large.cl"
    path.write_text(
        "#define gemm_shape other\n"
        '#include "gemm_ndrange.cl"\n'
        "#undef gemm_shape\n"
        "__kernel void gemm_shape(HF_GLOBAL uint *shape) {\n"
        "    shape[0] = 129; shape[1] = 0; shape[2] = 1;\n"
        "}\n"
    )
    with pytest.raises(hf.Error, match="129 x 0"):
        session.run("gemm", kernel=path, **SMALL)


def test_a_binary_whose_knobs_contradict_the_request(session, tmp_path, monkeypatch):
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path))
    small = SMALL | {"shape": "pipeline"}
    assert session.run("gemm", block_size=32, **small).verified
    (binary,) = tmp_path.glob("*.bin")
    assert session.run("gemm", kernel=binary, **small).parameters["block_size"] == 32
    with pytest.raises(ValueError, match="block_size"):
        session.run("gemm", kernel=binary, block_size=64, **small)


def test_model_of_the_documentation():
    for board, rate in (("520n", 1237.1e9), ("u280", 456.1e9)):
        r = hf.model("gemm", board=board, sizes=[23040])
        assert r["flops"][0] == pytest.approx(rate, abs=0.05e9)
        assert r.summary["flops"].value == r["flops"][0]
        assert r["time"][0] == pytest.approx(2 * 23040**3 / r["flops"][0])
    wide = hf.model("gemm", board="u280", sizes=[23040], global_mem_unroll=16)
    assert wide["flops"][0] == pytest.approx(507.3e9, abs=0.05e9)


def test_model_of_the_readme():
    inputs = {
        "replications": 1, "block_size": 256, "gemm_size": 8, "global_mem_unroll": 16,
        "memory_clock": 1e9, "hidden": 1, "activation": 21.6e-9,
    }  # fmt: skip
    r = hf.model("gemm", sizes=[4096, 256], clock=300e6, **inputs)
    assert r["time"][0] == pytest.approx(452.3e-3, abs=0.05e-3)
    assert r["flops"][0] == pytest.approx(303.9e9, abs=0.05e9)
    assert r["time"][1] == pytest.approx(109.2e-6 + 19.18e-6, abs=0.05e-6)
    shown = hf.model("gemm", sizes=[256], clock=300e6, **(inputs | {"hidden": 0}))
    assert shown["time"][0] > r["time"][1]
    with pytest.raises(ValueError, match="hidden: -1 is not a positive number"):
        hf.model("gemm", sizes=[256], clock=300e6, **(inputs | {"hidden": -1}))
    r = hf.model("gemm", sizes=[8192], clock=320.8e6, **inputs)
    assert r["flops"][0] == pytest.approx(326.67e9, abs=0.01e9)


def test_model_at_its_limits():
    peak = 2 * 8**3 * 5 * 272.5e6
    r = hf.model("gemm", board="520n", sizes=[512, 513, 2**20])
    assert (r["flops"] < peak).all()
    assert r["time"][1] > 7 * r["time"][0], "part of a block takes the time of a whole"
    several = hf.model("gemm", board="520n", sizes=[512, 513, 2**20], ranks=26)
    assert several["flops"] == pytest.approx(26 * r["flops"])
    assert several["time"] == pytest.approx(r["time"])


def test_every_published_run():
    entries = hf.published_list("gemm")
    assert len(entries) == 9
    for entry in entries:
        r = hf.published("gemm", source=entry["log"])
        work = 2.0 * r.ranks * r["matrix_size"] ** 3
        assert r["flops"] == pytest.approx(work / r["time"], rel=1e-5)
        assert r.summary["flops"].value == r["flops"][0]
        model = hf.model("gemm", board=entry["board"], sizes=[23040], ranks=r.ranks)
        ratio = r["flops"][0] / model["flops"][0]
        assert ratio == pytest.approx(
            0.995 if entry["board"] == "520n" else 1.08, abs=0.01
        )
