"""Command lines and files for the vendors' compilers."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import GUARD

from hpccfpga import _core
from hpccfpga.sources import kernel_dir
from hpccfpga.vendor import Bitstream

HLS = Path(__file__).parents[1] / "kernels" / "hls"


@pytest.fixture
def command(call):
    """Run the command in this process: nothing here needs one of its own."""

    def run(*words):
        return SimpleNamespace(
            **dict(zip(("returncode", "stdout", "stderr"), call(*words), strict=True))
        )

    return run


def build(command, folder, *words):
    return command(
        "kernels",
        "build",
        "b_eff",
        "--exchange=channel",
        "--print",
        "-o",
        folder,
        *words,
    )


def compile_as_hls(source, *flags):
    """Last in a test: without a compiler the rest is skipped."""
    if not (compiler := shutil.which("c++")):
        pytest.skip("no C++ compiler: c++ is not on PATH")
    check = [compiler, "-std=c++14", f"-I{HLS}", "-fsyntax-only", "-w", *flags]
    subprocess.run([*check, str(source)], check=True, timeout=GUARD)


def test_intel(command, tmp_path):
    answer = build(command, tmp_path, "--target=intel", "--channel-width=64")
    assert answer.returncode == 0, answer.stderr
    (told,) = (t for t in answer.stdout.splitlines() if t.startswith("aoc "))
    line = shlex.split(told)
    assert {"-DHF_INTEL", "-DHF_CHANNEL_WIDTH=64", "-DHF_REPLICATIONS=2"} <= set(line)
    assert str(tmp_path / "b_eff_stream.cl") in line
    manifest = json.loads((tmp_path / "b_eff_stream.aocx.json").read_text())
    assert manifest["knobs"] == {"channel_width": 64}
    for header in ("hf_kernel.h", "hf_channel.h", "b_eff_payload.h"):
        assert (tmp_path / header).is_file()


def test_the_files_are_those_that_the_kernel_includes(command, tmp_path):
    """And what is printed says how to go on with them."""
    words = ["--exchange=channel", "--target=intel", "--replications=3", "-o", tmp_path]
    answer = command("kernels", "build", "b_eff", *words)
    assert answer.returncode == 0, answer.stderr
    own = {"b_eff_stream.cl", "b_eff_stream.aocx.json", "b_eff_payload.h"}
    names = {path.name for path in tmp_path.iterdir()}
    assert own < names
    assert all(n.startswith("hf_") for n in names - own), "others' headers"
    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert all(any(f'"{n}"' in text for text in texts) for n in names - own)
    (told,) = (t for t in answer.stdout.splitlines() if not t.startswith("wrote "))
    assert "where aoc is" in told
    line = f"b_eff --exchange channel --replications=3 --kernel {tmp_path}/"
    assert told.endswith(f"then: hpccfpga run {line}b_eff_stream.aocx")
    card = Bitstream("xilinx", "u280", "stream_memory", {}).advice(tmp_path)
    assert "hpccfpga run stream --device xrt --kernel" in card


def test_the_advised_line_has_what_was_given(tmp_path):
    """Banks, also the default, and a folder whose name has a blank."""
    params = {"replications": 2, "bank_b": "4,5", "bank_c": "-1"}
    job = Bitstream("xilinx", "u280", "ptrans_memory", params)
    line = shlex.split(job.advice(tmp_path / "my dir").partition("then: ")[2])
    assert line[:3] == ["hpccfpga", "run", "ptrans"]
    assert {"--replications=2", "--bank-b=4,5", "--bank-c=-1"} <= set(line)
    assert line[-2:] == ["--kernel", f"{tmp_path}/my dir/ptrans_memory.xclbin"]


def test_arguments_are_those_of_the_definitions():
    """A kernel of each kind of argument, and what linkers and checks need of it."""
    kernels = {k["name"]: k for k in _core.kernels("b_eff_stream")}
    last = kernels["b_eff_recv_2"]["arguments"]
    assert [(a["name"], a["kind"], a["bytes"]) for a in last[2:5]] == [
        ("key", "value", 4), ("last", "write", 32), ("in_4", "in", 4096)
    ]  # fmt: skip
    (gemm,) = _core.kernels("gemm_memory_double")
    sizes = {a["name"]: a["bytes"] for a in gemm["arguments"]}
    assert (sizes["c0"], sizes["alpha"], sizes["n"]) == (8, 8, 4)
    assert gemm["replicated"]
    (update,) = _core.kernels("randomaccess_memory")
    kinds = {a["name"]: a["kind"] for a in update["arguments"]}
    assert (kinds["table"], kinds["starts"]) == ("write", "shared")
    with pytest.raises(LookupError, match='no kernels "b_eff"'):
        _core.kernels("b_eff")


def test_xilinx(command, tmp_path):
    words = ("--target=xilinx", "--board=u280", "--replications=1")
    answer = build(command, tmp_path, *words)
    assert answer.returncode == 0, answer.stderr
    lines = [line for line in answer.stdout.splitlines() if line.startswith("v++")]
    assert len(lines) == 3, "two kernels and the link"
    assert (
        "sc=b_eff_recv_0.held_0:b_eff_send_0.held_0:4"
        in (tmp_path / "b_eff_stream.cfg").read_text().splitlines()
    )
    flags = [word for word in shlex.split(lines[0]) if word.startswith("-D")]
    compile_as_hls(tmp_path / "b_eff_stream.cpp", *flags)


@pytest.mark.parametrize(
    ("benchmark", "links"),
    [
        (
            "fft",
            {
                "sc=fft_fetch_points.fetched:fft_transform.fetched:64",
                "sc=fft_transform.transformed:fft_store_points.transformed:64",
            },
        ),
        (
            "graph",
            {
                f"sc={kernel}.{kernel}_told:graph_sender.{kernel}_told:16"
                for kernel in map(
                    "graph_{}".format, ("start", "pull", "apply", "admit", "share")
                )
            }
            | {"sc=graph_receiver.passed:graph_sender.passed:2048"},
        ),
        ("ptrans", {"sc=ptrans_send_0.held_0:ptrans_recv_0.held_0:16"}),
        (
            "linpack",
            {
                "sc=linpack_lu.factored:linpack_network.factored:16",
                "sc=linpack_network.lower:linpack_top.lower:16",
                "sc=linpack_network.upper:linpack_left.upper:16",
                "sc=linpack_left.lefts:linpack_network_left.lefts:16",
                "sc=linpack_top.tops:linpack_network_top.tops:16",
            },
        ),
    ],
)
def test_xilinx_links_follow_from_the_kernels(command, tmp_path, benchmark, links):
    words = ["--exchange=channel", "--target=xilinx", "--board=u280", "-o", tmp_path]
    answer = command("kernels", "build", benchmark, *words)
    assert answer.returncode == 0, answer.stderr
    config = (tmp_path / f"{benchmark}_stream.cfg").read_text().splitlines()
    assert {line for line in config if line.startswith("sc=")} == links
    ways = {"": ("right", "down"), "_left": ("left",), "_top": ("up",)}
    ports = {
        "graph": {"# graph_sender.ring_out", "# graph_receiver.ring_in"},
        "ptrans": {"# ptrans_send_0.out_0", "# ptrans_recv_0.in_0"},
        "linpack": {
            f"# linpack_network{network}.{way}_{end}"
            for network, names in ways.items()
            for way in names
            for end in ("in", "out")
        },
    }
    told = {line for line in config if line.startswith(f"# {benchmark}")}
    assert told == ports.get(benchmark, set())
    compile_as_hls(tmp_path / f"{benchmark}_stream.cpp", "-DHF_XILINX")


@pytest.mark.parametrize(
    ("benchmark", "kernels"),
    [
        ("randomaccess", [f"randomaccess_update_{i}:1:" for i in range(4)]),
        ("gemm", ["gemm_multiply:4"]),
    ],
)
def test_xilinx_builds_each_replication(command, tmp_path, benchmark, kernels):
    words = ["--target=xilinx", "--board=U280", "--replications=4", "--print"]
    answer = command("kernels", "build", benchmark, *words, "-o", tmp_path)
    assert answer.returncode == 0, answer.stderr
    config = (tmp_path / f"{benchmark}_memory.cfg").read_text()
    assert [line for line in kernels if f"nk={line}" not in config] == []
    for name in (line.split(":")[0] for line in kernels):
        assert f"-k {name} " in answer.stdout


def test_every_benchmark_has_a_job(command, tmp_path):
    words = ["--target=intel", "--print", "--replications=4", "-o", tmp_path]
    answer = command("kernels", "build", *words)
    assert answer.returncode == 0, answer.stderr
    lines = [line for line in answer.stdout.splitlines() if line.startswith("aoc")]
    sources = {path.name for path in kernel_dir().glob("*_memory.cl")}
    assert {path.name for path in tmp_path.glob("*.cl")} == sources
    assert len(lines) == len(sources)
    alone = ("fft_memory.cl", "graph_memory.cl")  # have one pipeline
    for line in lines:
        assert ("-DHF_REPLICATIONS=4" in line) != any(name in line for name in alone)
    (gemm,) = (line for line in lines if "gemm_memory.cl" in line)
    assert "-DHF_REAL=float" in gemm
    manifest = json.loads((tmp_path / "gemm_memory.aocx.json").read_text())
    assert manifest["knobs"]["data_type"] == "float"


@pytest.mark.parametrize(("board", "banks"), [("520n", 4), ("520n_mx", 32)])
def test_a_manifest_tells_the_banks_of_its_board(command, tmp_path, board, banks):
    """Buffers are placed in Intel's only without interleaving."""
    banked = ("ptrans", "randomaccess", "stream")
    words = ["--target=intel", f"--board={board}", "--platform=some", "--print"]
    answer = command("kernels", "build", *words, "-o", tmp_path)
    assert answer.returncode == 0, answer.stderr
    for line in answer.stdout.splitlines():
        if line.startswith("aoc"):
            placed = any(f"{n}_memory.cl" in line for n in banked)
            assert ("-no-interleaving=default" in line) == placed
    found = {p.name: json.loads(p.read_text()) for p in tmp_path.glob("*.aocx.json")}
    told = {name: m["banks"] for name, m in found.items() if "banks" in m}
    assert told == {f"{name}_memory.aocx.json": list(range(banks)) for name in banked}


def spots(command, folder, benchmark, *words):
    """Lines of the linker's options that place arguments, and the manifest's banks."""
    words = ["--target=xilinx", "--platform=some", "-o", folder, *words]
    answer = command("kernels", "build", benchmark, *words)
    assert answer.returncode == 0, answer.stderr
    (config,) = folder.glob("*.cfg")
    (manifest,) = folder.glob("*.json")
    lines = config.read_text().splitlines()
    placed = {line[3:] for line in lines if line.startswith("sp=")}
    return placed, json.loads(manifest.read_text()).get("banks")


@pytest.mark.parametrize(
    ("board", "kind", "banks"),
    [
        ("u250", "DDR", [0, 1, 2, 3]),
        ("u55c", "HBM", [*range(32)]),
        ("u280", "DDR", [32, 33]),  # the data sheet's first, after 32 of HBM
    ],
)
def test_xilinx_links_each_replication_to_its_bank(
    command, tmp_path, board, kind, banks
):
    words = (f"--board={board}", "--replications=2")
    placed, told = spots(command, tmp_path, "ptrans", *words)
    assert told == banks
    fill = {f"ptrans_fill.{name}:{kind}[0:1]" for name in ("a", "b", "places")}
    check = {f"ptrans_check.{name}:{kind}[0:1]" for name in ("c", "places", "findings")}
    add = {
        f"ptrans_add_{r + 1}.{name}:{kind}[{r}]"
        for name in ("a", "b", "c", "sources")
        for r in (0, 1)
    }
    assert placed == fill | check | add


def test_xilinx_links_pairs_of_kernels_to_banks(command, tmp_path):
    words = ("--board=u280", "--exchange=channel", "--replications=2", "--bank-b=4,5")
    folder = tmp_path / "given"
    placed, banks = spots(command, folder, "ptrans", *words, "--bank-c=-1")
    assert banks == [32, 33, 4, 5]
    assert {
        line for line in placed if "_fill" not in line and "_check" not in line
    } == {
        "ptrans_send_0.a:DDR[0]",
        "ptrans_send_0.sources:DDR[0]",
        "ptrans_recv_0.b:HBM[4]",
        "ptrans_send_1.a:DDR[1]",
        "ptrans_send_1.sources:DDR[1]",
        "ptrans_recv_1.b:HBM[5]",
        "ptrans_recv_0.c:HBM[0:31]",  # the runtime's choice
        "ptrans_recv_1.c:HBM[0:31]",
    }


@pytest.mark.parametrize(
    ("benchmark", "lines"),
    [
        ("stream", {f"stream_apply_{r + 1}.{a}:HBM[{r}]" for r in (0, 1)
                    for a in ("out", "one", "two")}),
        ("randomaccess", {f"randomaccess_update_{r}.{a}" for r in (0, 1)
                          for a in (f"table:HBM[{r}]", "starts:HBM[0]")}),
        ("gemm", {f"gemm_multiply_{r + 1}.{a}:HBM[0:31]" for r in (0, 1)
                  for a in ("a", "b", "c0", "c")}),
    ],
)  # fmt: skip
def test_xilinx_links_to_the_banks_that_a_run_uses(command, tmp_path, benchmark, lines):
    """Which the manifest lists, if it tells of any."""
    words = ("--board=u280", "--replications=2")
    placed, banks = spots(command, tmp_path, benchmark, *words)
    assert placed == lines
    assert banks == (None if benchmark == "gemm" else [*range(32)])


@pytest.mark.parametrize("stem", sorted(p.stem for p in kernel_dir().glob("*_*.cl")))
@pytest.mark.parametrize("board", ["u280", "u250"])
def test_xilinx_places_every_pointer_of_every_unit(board, stem):
    benchmark, _, kind = stem.rpartition("_")
    if kind == "ndrange":
        pytest.skip("for CPUs and GPUs")
    names = [entry["name"] for entry in _core.parameters(benchmark)]
    params = {"replications": 2} if "replications" in names else {}
    job = Bitstream("xilinx", board, stem, params, platform="some", regions="0,1")
    lines = job.config().splitlines()
    known = {kernel["name"]: kernel["arguments"] for kernel in _core.kernels(stem)}
    wanted, units = set(), []
    for line in (line[3:] for line in lines if line.startswith("nk=")):
        name, n, *own = line.split(":")
        units += own or [f"{name}_{i + 1}" for i in range(int(n))]
        for unit in own or [f"{name}_{i + 1}" for i in range(int(n))]:
            arguments = known.get(name) or known[re.sub(r"_\d+$", "_0", name)]
            pointers = [
                a for a in arguments if a["kind"] in ("read", "write", "shared")
            ]
            wanted |= {f"{unit}.{a['name']}" for a in pointers}
    placed = [line[3:].partition(":")[0] for line in lines if line.startswith("sp=")]
    assert sorted(placed) == sorted(wanted)
    regions = [line for line in lines if line.startswith("slr=")]
    assert [line[4:].partition(":")[0] for line in regions] == units
    assert {line.partition(":")[2] for line in regions} <= {"SLR0", "SLR1"}


APART = {
    "randomaccess_memory": [{"replications": 1}, {"replications": 2}],
    "ptrans_memory": [{"replications": 2}, {"bank_a": 1, "bank_b": 2, "bank_c": 3}],
    "ptrans_stream": [{"bank_a": 1, "bank_b": 2, "bank_c": 3}],
    "stream_memory": [{"replications": 2}],
    "linpack_stream": [{}],
    "graph_memory": [{}],
}


@pytest.mark.parametrize("stem", APART)
def test_pointers_that_lie_apart_have_ports_of_their_own(tmp_path, stem):
    """All that share a port of a unit are linked to the same banks."""
    if not (compiler := shutil.which("c++")):
        pytest.skip("no C++ compiler: c++ is not on PATH")
    for params in APART[stem]:
        job = Bitstream("xilinx", "u280", stem, params)
        job.write(tmp_path)
        flags = [w for w in job.commands(tmp_path)[0] if w[:2] in ("-D", "-I")]
        source = tmp_path / f"{stem}.cpp"
        words = [compiler, "-E", "-P", "-std=c++14", f"-I{HLS}", *flags, source]
        text = subprocess.run(
            words, check=True, timeout=GUARD, capture_output=True, text=True
        ).stdout
        banks = {}
        pattern = r"^sp=((\w+?)(?:_\d+)?)\.(\w+):(\S+)$"
        for unit, kernel, name, tag in re.findall(pattern, job.config(), re.M):
            head = re.search(rf"void {kernel}(_0)?\((.*?)\{{(.*?)\}}", text, re.S)
            port = re.search(rf"m_axi port = {name} .*bundle = (\w+)", head[3])
            banks.setdefault((unit, port[1] if port else None), set()).add(tag)
        assert banks
        assert all(len(each) == 1 for each in banks.values()), banks


def test_replications_take_regions_in_turn(command, tmp_path):
    words = ["--target=xilinx", "--board=u280", "--replications=3", "-o", tmp_path]
    answer = command("kernels", "build", "gemm", *words, "--slr=2,0")
    assert answer.returncode == 0, answer.stderr
    config = (tmp_path / "gemm_memory.cfg").read_text().splitlines()
    assert [line for line in config if line.startswith("slr=")] == [
        "slr=gemm_multiply_1:SLR2",
        "slr=gemm_multiply_2:SLR0",
        "slr=gemm_multiply_3:SLR2",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--target=xilinx", "--board=u280", "--slr=SLR0"], "slr: 'SLR0' is no list"),
        (
            ["--target=xilinx", "--board=u280", "--slr=0,3"],
            "slr: u280 has no 3; known: 0, 1, 2",
        ),
        (
            ["--target=xilinx", "--board=u250", "--slr=4"],
            "slr: u250 has no 4; known: 0, 1, 2, 3",
        ),
        (["--target=intel", "--slr=0"], "slr: only Xilinx's devices have such regions"),
        (["--target=intel", "--replications=x"], 'replications: "x" is not a number'),
        (["--target=amd"], "no target 'amd'; known: intel, xilinx"),
        (["--target=xilinx"], "--target xilinx: give --board; known: u250, u280, u5"),
        (["--target=xilinx", "--platform=some"], "--target xilinx: give --board;"),
        (
            ["--target=xilinx", "--board=ac510"],
            "the memory banks of board ac510 are not known; known: u250, u280, u55c",
        ),
        (
            ["--target=intel", "--board=pac_d5005"],
            "no intel platform known for board 'pac_d5005': give --platform; known: 52",
        ),
        (
            ["--target=xilinx", "--board=520n_mx", "--platform=some"],
            "board 520n_mx has the FPGA Stratix 10 MX2100; known: u250, u280, u55c",
        ),
        (
            ["--target=intel", "--board=u280", "--platform=some"],
            "--target intel: board u280 has the FPGA xcu280; known: 520n",
        ),
        (["--target=intel", "--device=0"], "--device goes without --target"),
        (["--board=u280"], "--board goes with --target"),
        (["--slr=0"], "--slr goes with --target"),
        (["--platform=some"], "--platform goes with --target"),
        (["--print"], "--print goes with --target"),
        (["--target=intel", "--board=999x"], "999x"),
    ],
)
def test_refused(command, tmp_path, words, line):
    answer = build(command, tmp_path, *words)
    assert answer.returncode == 2
    assert line in answer.stderr


def test_a_binary_keeps_the_manifest_that_it_was_built_with(command, tmp_path):
    words = ["kernels", "build", "stream", "--target=xilinx", "--board=u280"]
    words += ["-o", tmp_path]
    assert command(*words).returncode == 0
    assert command(*words, "--vector=4").returncode == 0  # nothing is built yet
    (tmp_path / "stream_memory.xclbin").touch()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert command(*words, "--vector=4").returncode == 0
    answer = command(*words)
    assert answer.returncode == 2
    line = "stream_memory.xclbin was built with other parameters: choose another --outp"
    assert line in answer.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["ptrans", "--bank-a=34"], "bank_a: no bank 34; the last is 33, DDR[1]"),
        (["ptrans", "--bank-c=99"], "bank_c: no bank 99; the last is 33, DDR[1]"),
        (["ptrans", "--bank-a=3,32"], "a: no kernel reaches both HBM[3] and DDR[0]"),
        (
            ["stream", "--board=u250", "--replications=8"],
            "replications: 8 need a bank each for out; board u250 has 4",
        ),
        (["stream", "--shape=ndrange"], "shape: boards have no kernels for ndrange"),
    ],
)
def test_what_no_board_has_is_refused(command, tmp_path, given, line):
    words = ["--target=xilinx", "--board=u280", "--replications=2"]
    answer = command("kernels", "build", *words, *given, "-o", tmp_path)
    assert answer.returncode == 2
    assert line in answer.stderr
