"""Kernels: knobs, sources and binaries that are loaded by path; what can be wrong."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from conftest import ours

import hpccfpga as hf
from counting_core import Core
from hpccfpga import _core, kernels, manifests, sources, trial

# ---- knobs ----


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("x", 'channel_width: "x" is not a number'),
        (None, "channel_width: None is not a number"),
        (8.5, "channel_width: 8.5 is not an integer"),
        (0, "channel_width: 0 is not within 8 .. 4096"),
        ("nan", "channel_width: nan is not a number"),
    ],
)
def test_impossible_knobs(cache, value, line):
    core = Core()
    with pytest.raises(ValueError, match=line):
        kernels.load(core, "b_eff", {"channel_width": value})
    assert core.built == []


@pytest.mark.parametrize("benchmark", ["gemm", "stream"])
@pytest.mark.parametrize(
    ("data_type", "lacks", "known"),
    [("half", "half", r"float\|double"), ("double", "fp64", r"float\|half")],
)
def test_a_type_that_the_device_lacks(cache, benchmark, data_type, lacks, known):
    """One line, before anything is built; with it, it is."""
    core = Core(half=True, fp64=True)
    assert kernels.load(core, benchmark, {"data_type": data_type})
    assert len(core.built) == 1
    core.device[lacks] = False
    line = rf"^data_type: Device does not compute in {data_type}; it does in {known}$"
    with pytest.raises(ValueError, match=line):
        kernels.load(core, benchmark, {"data_type": data_type})
    assert len(core.built) == 1


# ---- a path ----


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a folder, not a file"),
        (lambda path: path.touch(), "is no OpenCL C source: it is empty"),
        (lambda path: path.write_text(" \n"), "is no OpenCL C source: it is empty"),
        (
            lambda path: path.write_bytes(b"\xff\xfe"),
            "is no OpenCL C source: it is not",
        ),
        (lambda path: path.write_bytes(b"a\0b"), "is no OpenCL C source: it is not"),
    ],
)
def test_a_path_that_is_no_source(cache, tmp_path, make, line):
    path = tmp_path / "my.cl"
    make(path)
    with pytest.raises(ValueError, match=rf"my\.cl {line}"):
        kernels.load(Core(), "b_eff", {}, path)


def pair(tmp_path, binary=b"binary", **changes):
    """A binary with its manifest; a change to None takes a field away."""
    manifest = {
        "schema": manifests.SCHEMA,
        "benchmark": "b_eff",
        "kind": "memory",
        "knobs": {"channel_width": 64},
    } | changes
    path = tmp_path / "my.aocx"
    path.write_bytes(binary)
    text = json.dumps({k: v for k, v in manifest.items() if v is not None})
    Path(f"{path}.json").write_text(text)
    return path


def test_a_binary_brings_its_knobs(tmp_path):
    kernel = kernels.load(Core(), "b_eff", {}, pair(tmp_path))
    assert kernel.binary == b"binary"
    assert kernel.manifest["knobs"] == {"channel_width": 64}
    same = kernels.load(Core(), "b_eff", {"channel_width": "64"}, pair(tmp_path))
    assert same == kernel


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"schema": None}, "schema missing"),
        ({"schema": "other/1"}, "schema is 'other/1', 'hpccfpga-kernel/1' is needed"),
        ({"benchmark": None, "kind": None}, "benchmark, kind missing"),
        ({"benchmark": "stream"}, "benchmark is 'stream', 'b_eff' is needed"),
        ({"kind": "stream"}, "kind is 'stream', 'memory' is needed"),
        ({"device": "Board"}, "device is 'Board', 'Device' is needed"),
        ({"platform": "Other"}, "platform is 'Other', 'Platform' is needed"),
        ({"binary_hash": "0"}, "binary_hash is '0', '"),
        ({"knobs": None}, "knobs missing"),
        ({"knobs": {}}, r"knobs\.channel_width missing"),
        ({"knobs": []}, r"knobs is \[\], no JSON object"),
        ({"banks": {"0": 1}}, r"banks is \{'0': 1\}, no list of numbers"),
        ({"banks": [0, "1"]}, r"banks is \[0, '1'\], no list of numbers"),
        ({"knobs": {"channel_width": 32}}, r"knobs\.channel_width is 32, 64 is needed"),
        ({"knobs": {"channel_width": "wide"}}, 'channel_width: "wide" is not a number'),
        ({"replications": -1}, r"json: replications: -1 is not within 1 \.\. "),
        ({"replications": 10**30}, r"json: replications: 1.*0 is not within 1 \.\. "),
        ({"replications": "2"}, "json: replications is '2', 2 is needed"),
        ({"replications": {}}, "json: replications"),
        ({"data_type": "floaty"}, "json: data_type is 'floaty', None is needed"),
        ({"target": {}}, r"json: target is \{\}; known: hardware, emulation"),
        ({"target": "fpga"}, "json: target is 'fpga'; known: hardware, emulation"),
        ({"options": 5}, "json: options is 5, no text"),
    ],
)
def test_a_manifest_that_contradicts(tmp_path, changes, line):
    path = pair(tmp_path, **changes)
    with pytest.raises(ValueError, match=line):
        kernels.load(Core(), "b_eff", {"channel_width": 64}, path)


def test_a_manifest_of_another_data_type(tmp_path):
    knobs = kernels.knobs_of("stream", {"replications": 2})[0]
    for changes, line in (
        ({"data_type": "double"}, "data_type is 'double', 'float' is needed"),
        ({"replications": 3}, "replications is 3, 2 is needed"),
    ):
        path = pair(tmp_path, benchmark="stream", knobs=knobs, **changes)
        with pytest.raises(ValueError, match=line):
            kernels.load(Core(), "stream", {}, path)


def test_a_binary_without_a_manifest(tmp_path):
    path = pair(tmp_path)
    Path(f"{path}.json").unlink()
    with pytest.raises(ValueError, match=r"lacks its manifest .*my\.aocx\.json"):
        kernels.load(Core(), "b_eff", {}, path)


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_manifest_that_is_none(tmp_path, text):
    path = pair(tmp_path)
    Path(f"{path}.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"my\.aocx\.json: (not JSON|no JSON object)"):
        kernels.load(Core(), "b_eff", {}, path)


def test_an_empty_binary(tmp_path):
    with pytest.raises(ValueError, match=r"my\.aocx is empty"):
        kernels.load(Core(), "b_eff", {}, pair(tmp_path, b""))


def test_a_kernel_where_none_is_needed(tmp_path):
    with pytest.raises(ValueError, match="device host runs C functions"):
        hf.run("b_eff", exchange="host", kernel=pair(tmp_path))
    with pytest.raises(ValueError, match="transfer needs none"):
        hf.run("transfer", kernel=pair(tmp_path))


# ---- on a device ----


def test_a_built_binary_runs(tmp_path, command):
    answer = command("kernels", "build", "b_eff", "--channel-width=16", "-o", tmp_path)
    assert answer.returncode == 0, answer.stderr
    path = tmp_path / "b_eff_memory.bin"
    result = hf.run("b_eff", kernel=path, sizes=[1, 100], reps=1, loop_upper=8)
    assert result.verified
    assert result.parameters["channel_width"] == 16
    assert result.provenance["kernel"]["path"] == str(path)
    with pytest.raises(ValueError, match=r"knobs\.channel_width is 16, 32 is needed"):
        hf.run("b_eff", kernel=path, sizes=[1], reps=1, channel_width=32)


def test_a_damaged_binary_with_the_right_hash(tmp_path, call, command):
    """PoCL aborts where it cannot read one: in another process, not in this."""
    assert call("kernels", "build", "b_eff", "-o", tmp_path)[0] == 0
    path = tmp_path / "b_eff_memory.bin"
    manifest = Path(f"{path}.json")
    found = json.loads(manifest.read_text())
    data = path.read_bytes()
    noise = bytearray(data)
    noise[::50] = bytes(len(noise[::50]))
    for damaged in (data[: len(data) // 2], noise):
        path.write_bytes(damaged)
        found["binary_hash"] = sha256(damaged).hexdigest()
        manifest.write_text(json.dumps(found))
        answer = command("run", "b_eff", f"--kernel={path}", "--sizes=64", "--reps=1")
        assert answer.returncode in (2, 3)
        assert (said := ours(answer.stderr)).startswith("hpccfpga: ")
        assert said.count("\n") == 1
        assert "b_eff_memory" in said


@pytest.fixture(scope="module")
def opened():
    with hf.open() as session:
        yield session._core


OF_SEVERAL_RANKS = {
    "b_eff": {"topology": "torus:2x2"},
    "ptrans": {"grid": "2x2", "sizes": [64], "block_size": 32},
    "stream": {"size": 10**12},
}


@pytest.mark.parametrize("benchmark", OF_SEVERAL_RANKS)
def test_the_binary_of_a_run_on_several_ranks_is_tried(opened, benchmark):
    """On one rank, with what one rank can do."""
    params = _core.values(benchmark, OF_SEVERAL_RANKS[benchmark])
    kernel = kernels.load(opened, benchmark, params)
    assert trial.start(opened, benchmark, params, kernel.binary, 60) == 0


def test_a_trial_that_does_not_end(tmp_path, command, monkeypatch):
    answer = command("kernels", "build", "b_eff", "-o", tmp_path, "--device=opencl:cpu")
    assert answer.returncode == 0, answer.stderr
    monkeypatch.setattr(trial, "LONGEST", 1e-3)
    line = "has not done one repetition within 0.001 s"
    with pytest.raises(ValueError, match=rf"b_eff_memory\.bin is a program .* {line}"):
        hf.run(
            "b_eff",
            device="opencl:cpu",
            kernel=tmp_path / "b_eff_memory.bin",
            sizes=[64],
            reps=1,
        )


def test_a_source_of_ones_own(tmp_path):
    path = tmp_path / "mine.cl"
    text = (sources.kernel_dir() / "b_eff_memory.cl").read_text()
    path.write_text(text + "\n/* mine */\n")
    assert hf.run("b_eff", kernel=path, sizes=[64], reps=1, loop_upper=8).verified


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("kernel void f( {", ValueError, r"do not compile: .*"),
        (
            "kernel void f(global int *a) { *a = 1; }",
            hf.Error,
            'no kernel "b_eff_fill"',
        ),
    ],
)
def test_a_source_that_is_of_no_use(tmp_path, capfd, text, kind, line):
    path = tmp_path / "mine.cl"
    path.write_text(text)
    with pytest.raises(kind, match=line) as raised:
        hf.run("b_eff", kernel=path, sizes=[64], reps=1, loop_upper=8)
    assert "\n" not in str(raised.value)
    assert ours(capfd.readouterr().err) == ""


def test_a_binary_that_the_device_refuses(tmp_path):
    with pytest.raises(hf.Error, match="refuses the program binary"):
        hf.run("b_eff", kernel=pair(tmp_path, b"nonsense" * 100), sizes=[64], reps=1)
