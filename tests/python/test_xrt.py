"""The runtime `xrt` over a stand-in for XRT: benchmarks, cards, processes."""

import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from threading import Thread

import pytest
from conftest import ROOT, ours, python, start

from hpccfpga import Result, _core, doctor
from hpccfpga.vendor import Bitstream
from test_conformance import BENCHMARKS, columns_check, declared
from xrt_session import BUILDS, SMALL, head, link, xclbin

pytest_plugins = ["xrt_session"]

MAIN = "libxrt_coreutil.so.2"

# ---- what is right ----


def test_there_is_a_card(command, setting):
    answer = command("devices", **setting, HF_STANDIN_CARDS="3", HF_STANDIN_BUSY="1")
    (first, busy, last) = (t for t in answer.stdout.splitlines() if "xrt:" in t)
    assert first.split()[:3] == ["xrt:0", link.SHELL, "XRT"]
    assert re.search(r"card 1, busy +XRT +accelerator +no +-$", busy)  # of its memory
    assert first.endswith(" 8")
    assert "xrt:2" in last
    assert ours(answer.stderr) == ""


SCHEMES = ["pcie", "pipelined", "shared"]
CONFORMS = [
    "test_runs_verified_with_the_declared_columns",
    "test_unknown_and_impossible_parameters_are_refused",
]


def test_it_conforms_as_any_device(setting, tmp_path):
    """In a process that has XRT from its beginning; nothing may be left at its end."""
    words = ["-m", "pytest", "-v", "-k=xrt and not half", f"--basetemp={tmp_path}/base"]
    words += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    path = ROOT / "tests" / "python" / "test_conformance.py"
    answer = start([sys.executable, *words, str(path)], setting)
    assert answer.returncode == 0, answer.stdout
    for name, scheme in product(BENCHMARKS, SCHEMES):
        for test in CONFORMS:
            assert f"::{test}[{name}-{scheme}-xrt] PASSED" in answer.stdout


def test_it_computes_in_half(folder, setting, tmp_path):
    """Where the kernels of an xclbin do."""
    script = f"{head(folder)}\nsession = hf.open('xrt')\n"
    for name in SMALL:
        entries = {e["name"]: e["choices"] for e in _core.parameters(name)}
        if "half" not in (entries.get("data_type") or ()):
            continue
        knobs = SMALL[name][0] | {"data_type": "half"}
        job = Bitstream("xilinx", "u280", f"{name}_memory", knobs)
        job.write(tmp_path / name)
        path = str(link.link(job, tmp_path / name))
        more = f"kernel={path!r}, data_type='half'"
        script += f"assert measured(session, {name!r}, {more}).verified\n"
    assert script.count("verified") == 2
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr


def words_of(folder, name, n):
    """What a command says of a benchmark with so many replications."""
    knobs, params = SMALL[name]
    words = [name, "--device=xrt", "--quiet", "--reps=2", "--warmup=1"]
    for key, value in params.items():
        each = value if isinstance(value, list) else [value]
        words.append(f"--{key.replace('_', '-')}={','.join(map(str, each))}")
    if knobs is not None:
        words.append(f"--kernel={xclbin(folder, name, n)}")
    return words + [f"--replications={n}"] * (n > 1)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_benchmarks_verify_by_the_command(mpirun, folder, setting, tmp_path, ranks):
    """All, with one and two replications, in turn; nothing is left of XRT."""
    runs = [*BUILDS, ("transfer", 1)]
    jobs = [
        [*words_of(folder, *run), f"--exchange={SCHEMES[(i + ranks) % len(SCHEMES)]}"]
        for i, run in enumerate(runs)
    ]
    script = (
        f"{head(folder)}\n"
        "from hpccfpga import cli\n"
        f"for i, words in enumerate({jobs}):\n"
        f"    code = cli.main(['run', *words, f'--json={tmp_path}/{{i}}.json'])\n"
        "    assert code == 0, words\n"
        "assert standin.standin_objects() == 0"
    )
    answer = mpirun(ranks, script, **setting)
    assert answer.returncode == 0, answer.stderr
    for i, (name, n) in enumerate(runs):
        result = Result.from_json(tmp_path / f"{i}.json")
        assert (result.benchmark, result.ranks) == (name, ranks)
        assert (result.verified, result.emulated) == (True, True)
        assert n == 1 or result.parameters["replications"] == n
        columns_check(result.columns, declared(name, len(result["time"]), 2, 1, ranks))


def test_the_command_starts_ranks(command, folder, setting):
    words = words_of(folder, "stream", 2)
    answer = command("run", *words, "--ranks=2", **setting)
    assert answer.returncode == 0, answer.stderr
    assert "2 ranks, verified" in answer.stdout
    assert "EMULATED" in answer.stdout


def test_benchmarks_follow_each_other_in_a_session(folder, setting):
    """Each has the card programmed anew; nothing of XRT is left behind."""
    script = (
        f"{head(folder)}\n"
        "with hf.open('xrt') as session:\n"
        f"    for name, n in {[*BUILDS, ('transfer', 1)]}:\n"
        "        assert measured(session, name, n).verified, (name, n)\n"
        "assert standin.standin_objects() == 0"
    )
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr


def test_the_model_beside_a_run_has_the_memory_of_its_kernels(folder, setting):
    """HBM for those that are linked to it, also where the board's first is DDR."""
    script = (
        f"{head(folder)}\n"
        "from hpccfpga import models\n"
        "with hf.open('xrt') as session:\n"
        "    r = measured(session, 'stream', 2)\n"
        "    print(measured(session, 'ptrans', 2).provenance['kernel']['reached'])\n"
        "about = r.provenance['kernel']\n"
        "for reached in about['reached'], ['DDR'], ['DDR', 'HBM'], []:\n"
        "    about['reached'] = reached\n"
        "    model = models.beside(r, 'u280', [])\n"
        "    print(reached, model['bandwidth'][0] / 1e9, model.provenance['notes'])\n"
        "about['reached'] = ['HBM']\n"
        "model = models.beside(r, '520n', [])\n"
        "print(model['bandwidth'][0] / 1e9, model.provenance['notes'])"
    )
    answer = python(script, **setting)
    assert answer.stdout.splitlines() == [
        "['DDR']",
        "['HBM'] 28.75 ['the kernels reach HBM: so the model has HBM']",
        "['DDR'] 38.4 ['the kernels reach DDR: so the model has DDR']",
        "['DDR', 'HBM'] 38.4 "
        "['the kernels reach DDR and HBM: the model has one memory, DDR']",
        "[] 38.4 []",
        "38.4 ['the kernels reach HBM: the model has one memory, DDR']",
    ], answer.stderr


def test_sessions_of_a_process_share_a_card(folder, setting):
    """One programs it anew behind the other's back."""
    script = (
        f"{head(folder)}\n"
        "with hf.open('xrt') as one, hf.open('xrt') as other:\n"
        "    for session, name in (one, 'stream'), (other, 'gemm'), (one, 'stream'):\n"
        "        print(measured(session, name).verified)\n"
    )
    answer = python(script, **setting)
    assert answer.stdout.split() == ["True"] * 3, answer.stderr


@pytest.mark.parametrize(
    ("selector", "address"),
    [
        ("xrt:1", "3c"),
        ("xrt:U280", "3b"),
        ("xrt:0000:3d:00.1", "3d"),
        ("xrt:3D:00.1", "3d"),
        ("xrt", "3b"),
    ],
)
def test_a_card_is_chosen(folder, setting, selector, address):
    script = f"import hpccfpga as hf\nprint(hf.open({selector!r}).device['version'])"
    answer = python(script, **setting, HF_STANDIN_CARDS="3")
    assert answer.stdout == f"0000:{address}:00.1\n", answer.stderr


def test_an_unknown_card_is_answered_by_the_list(command, setting):
    more = {"HF_STANDIN_CARDS": "2", "HF_STANDIN_BUSY": "1"}
    answer = command("run", "transfer", "--device=xrt:v80", **setting, **more)
    (line,) = ours(answer.stderr).splitlines()
    cards = f"0: {link.SHELL} at 0000:3b:00.1, 1: card 1, busy"
    assert line == f'hpccfpga: no Xilinx card "v80"; known: {cards}'
    answer = command("run", "transfer", "--device=xrt:1", **setting, **more)
    (line,) = ours(answer.stderr).splitlines()
    assert "card 1: xrtDeviceOpen: Device or resource busy" in line
    assert ": wait for the process that has it, or take another card; known: " in line
    assert line.endswith(cards)


def test_an_address_of_two_cards_needs_its_domain(command, setting):
    words = ["run", "transfer", "--device=xrt:3b:00.1"]
    answer = command(*words, **setting, HF_STANDIN_CARDS="9")
    (line,) = ours(answer.stderr).splitlines()
    start = 'hpccfpga: 2 Xilinx cards "3b:00.1": give the domain; '
    assert line.startswith(start)
    assert f"known: 0: {link.SHELL} at 0000:3b:00.1, 1: " in line


def test_cards_that_are_all_busy_are_told(command, setting):
    answer = command("run", "transfer", "--device=xrt", **setting, HF_STANDIN_BUSY="0")
    (line,) = ours(answer.stderr).splitlines()
    assert line == "hpccfpga: no Xilinx card is ready: 0: card 0, busy"


def test_a_card_may_have_any_name(command, setting):
    """Also one that is no text; b"\\xff" in an environment is "\\udcff" here."""
    answer = command("devices", **setting, HF_STANDIN_SHELL="a\udcff\nb")
    (line,) = (t for t in answer.stdout.splitlines() if "xrt:" in t)
    assert line.split()[:2] == ["xrt:0", "a\ufffd?b"]
    answer = command(
        "run", "transfer", "--device=xrt:9", **setting, HF_STANDIN_SHELL="\udcff"
    )
    assert 'no Xilinx card "9"; known: 0: \ufffd' in answer.stderr


@pytest.mark.parametrize(
    ("selector", "address"),
    [
        ("xrt:accelerator", "0000:3c:00.1"),
        ("xrt:0000:3b:00.1", None),
        ("xrt:0000:3d:00.1", "0000:3d:00.1"),
        ("xrt:00:3d", None),
    ],
)
def test_cards_that_are_free_come_first(folder, setting, selector, address):
    """A card that is busy tells no address, and a part of one is none."""
    script = (
        "import hpccfpga as hf\n"
        f"try: print(hf.open({selector!r}).device['version'])\n"
        "except hf.Error as error: print(error)\n"
        "except LookupError as error: print(error)"
    )
    more = {"HF_STANDIN_CARDS": "3", "HF_STANDIN_BUSY": "0"}
    answer = python(script, **setting, **more)
    (line,) = answer.stdout.splitlines()
    none = f'no Xilinx card "{selector[4:]}"; known: 0: card 0, busy, 1: {link.SHELL}'
    assert line.startswith(address or none)


def test_ranks_of_a_node_take_cards_in_turn(mpirun, setting):
    script = "say(hf.open('xrt', comm=comm).device['index'])"
    answer = mpirun(2, script, **setting, HF_STANDIN_CARDS="2")
    assert sorted(answer.stdout.split()) == ["0", "1"], answer.stderr


def test_power_is_a_column_where_a_driver_tells_it(mpirun, folder, setting, tmp_path):
    """After the timed steps; a card of two ranks counts once, one of 0 W tells none.

    A driver that does not answer, as a pipe that nobody writes to, holds no run.
    """
    for card, microwatts in enumerate((23500000, 30250000, 0)):
        path = tmp_path / str(card) / "xmc.u.1" / "xmc_power"
        path.parent.mkdir(parents=True)
        path.write_text(f"{microwatts}\n")
    (tmp_path / "4" / "xmc.u.1").mkdir(parents=True)
    os.mkfifo(tmp_path / "4" / "xmc.u.1" / "xmc_power")
    script = (
        f"{head(folder)}\n"
        "for card in ('xrt', 'xrt:0', 'xrt:2', 'xrt:3', 'xrt:4'):\n"
        "    with hf.open(card, comm=comm) as session:\n"
        "        r = measured(session, 'stream')\n"
        "    told = [r.columns.get(name) for name in ('power', 'power_ranks')]\n"
        "    if rank == 0:\n"
        "        say(card, *(t and (t.unit, t.values[0].tolist()) for t in told))"
    )
    more = {"HF_STANDIN_CARDS": "5", "HF_STANDIN_SYSFS": str(tmp_path)}
    answer = mpirun(2, script, **setting, **more)
    assert answer.stdout.splitlines() == [
        "xrt ('W', 53.75) ('W', [23.5, 30.25])",
        "xrt:0 ('W', 23.5) ('W', [23.5, 23.5])",
        "xrt:2 None None",
        "xrt:3 None None",
        "xrt:4 None None",
    ], answer.stderr


def test_a_card_has_the_memories_of_an_xclbin(folder, tmp_path):
    """One without any gets one by --kernel, also where no kernels run."""
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "nodma").write_text("1\n")
    (tmp_path / "bad.xclbin").write_text("text")
    script = (
        f"{head(folder)}\n"
        "def tried(work):\n"
        "    try: return work().verified\n"
        "    except Exception as error: return f'{type(error).__name__}: {error}'\n"
        "with hf.open('xrt') as session:\n"
        f"    for path in None, '{tmp_path}/bad.xclbin', '{xclbin(folder, 'fft')}':\n"
        "        print(tried(lambda: measured(session, 'transfer', kernel=path)))\n"
        f"os.environ['HF_STANDIN_SYSFS'] = {str(tmp_path)!r}\n"
        "print(tried(lambda: hf.open('xrt')))"
    )
    answer = python(script, XILINX_XRT=str(folder))
    none, bad, good, shell = answer.stdout.splitlines()
    assert '"hpccfpga run transfer --device xrt --kernel FILE.xclbin" loads one' in none
    assert bad.endswith('bad.xclbin: no xclbin: it does not begin with "xclbin2"')
    assert good == "True", answer.stderr
    assert shell == (
        f'NotImplementedError: card "{link.SHELL}" has a shell without DMA: '
        "these are not supported"
    )


def test_the_stand_in_is_used_by_hand_as_the_page_says(tmp_path):
    page = (ROOT / "docs" / "xrt.md").read_text()
    (script,) = re.findall(r"```\n(python - <<END\n.*?)```", page, re.S)
    for name in ("csrc", "kernels", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = ["bash", "-ec", f"cd {tmp_path}\n{script}"]
    answer = start(words, {"PATH": path})
    assert answer.returncode == 0, answer.stderr
    assert "2 ranks, verified" in answer.stdout


# ---- what would end the process ----


def test_without_xrt_a_line_says_where_it_was_looked_for(command, without, tmp_path):
    line = "no XRT: libxrt_coreutil.so.2 is neither in "
    for root in ("", str(tmp_path)):
        setting = without | {"XILINX_XRT": root}
        answer = command("run", "stream", "--device=xrt", **setting)
        (told,) = ours(answer.stderr).splitlines()
        assert answer.returncode != 0
        assert told.startswith(f"hpccfpga: {line}")
        assert str(tmp_path) in told or root == ""
        assert told.endswith("/opt/xilinx/xrt/lib")
    answer = command("devices", **without)
    assert answer.returncode == 0
    assert "host:0" in answer.stdout
    assert "xrt:" not in answer.stdout


def test_an_xrt_that_does_not_load_is_no_xrt_that_is_not_there(command, tmp_path):
    """One of something else, or that needs a library which is missing."""
    (tmp_path / "lib").mkdir()
    main, other = (tmp_path / "lib" / name for name in (MAIN, "libother.so"))
    main.write_text("no library, but long enough to be looked at" + 99 * " ")
    told = [command("run", "stream", "--device=xrt", XILINX_XRT=str(tmp_path))]
    cc = ["cc", "-shared", "-xc", os.devnull, "-xnone", "-o"]
    subprocess.run([*cc, other, "-Wl,-soname,libother.so"], check=True)
    subprocess.run([*cc, main, "-Wl,--no-as-needed", other], check=True)
    other.unlink()
    told.append(command("run", "stream", "--device=xrt", XILINX_XRT=str(tmp_path)))
    lines = [ours(answer.stderr) for answer in told]
    start = "hpccfpga: XRT's library does not load: "
    assert lines[0].startswith(f"{start}{main}: ")
    assert lines[1].startswith(f"{start}libother.so: ")


def test_without_xrt_a_kernel_that_is_missing_is_named_too(command, without, tmp_path):
    """After what keeps the device from opening: one run less to find both."""
    there, gone = tmp_path / "there.xclbin", tmp_path / "gone.xclbin"
    there.touch()
    ends = {there: "/xrt/lib", gone: f"; kernel: {gone} does not exist"}
    for ranks in ((), ("--ranks=2",)):
        for file, end in ends.items():
            words = ["stream", "--device=xrt", f"--kernel={file}", *ranks]
            answer = command("run", *words, **without)
            (told,) = ours(answer.stderr).splitlines()
            assert told.startswith("hpccfpga: no XRT: ")
            assert told.endswith(end)
    script = (
        "import hpccfpga as hf\n"
        "try: hf.run('stream', device='xrt', kernel='/gone.xclbin')\n"
        "except NotImplementedError as error: print(error)"
    )
    answer = python(script, **without)
    assert answer.stdout.endswith("; kernel: /gone.xclbin does not exist\n")


def test_a_folder_of_xrt_that_is_a_file_ends_no_search(folder):
    script = "import hpccfpga as hf\nhf.open('xrt')"
    file = str(folder / "lib" / MAIN)
    answer = python(script, LD_LIBRARY_PATH=str(folder / "lib"), XILINX_XRT=file)
    assert answer.returncode == 0, answer.stderr


def test_the_version_is_that_of_the_file(folder, tmp_path):
    (tmp_path / "lib").mkdir()
    for name in (MAIN, "libxrt_core.so.2"):
        shutil.copy(folder / "lib" / name, tmp_path / "lib")
    main = tmp_path / "lib" / MAIN
    main.rename(f"{main}.13.466")
    main.symlink_to(f"{MAIN}.13.466")
    script = "import hpccfpga as hf\nprint(hf.open('xrt').device['driver'])"
    answer = python(script, XILINX_XRT=str(tmp_path))
    assert answer.stdout == "2.13.466\n", answer.stderr


def test_a_variable_that_is_not_set_ends_nothing(folder, command):
    """XRT aborts without XILINX_XRT unless its driver library is there."""
    answer = command("devices", LD_LIBRARY_PATH=str(folder / "lib"), XILINX_XRT="")
    assert "xrt:0" in answer.stdout, answer.stderr
    script = "import os\nos.environ.pop('XILINX_XRT', 0)\nimport hpccfpga as hf\n"
    script += "print(hf.open('xrt').device['name'])"
    answer = python(script, LD_LIBRARY_PATH=str(folder / "lib"))
    assert answer.stdout == f"{link.SHELL}\n", answer.stderr


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("bogus", "XCL_EMULATION_MODE=bogus; known: noop, or unset for cards"),
        ("", "XCL_EMULATION_MODE=; known: noop, or unset for cards"),
        ("hw_emu", "XCL_EMULATION_MODE=hw_emu: emulation by Vitis is not supported"),
        ("sw_emu", "XCL_EMULATION_MODE=sw_emu: emulation by Vitis is not supported"),
    ],
)
def test_modes_that_end_or_hang_the_process_are_refused(command, setting, mode, line):
    answer = command(
        "run", "stream", "--device=xrt", XCL_EMULATION_MODE=mode, **setting
    )
    (told,) = ours(answer.stderr).splitlines()
    assert told.startswith(f"hpccfpga: {line}")
    answer = command("devices", XCL_EMULATION_MODE=mode, **setting)
    assert "host:0" in answer.stdout
    assert "xrt:" not in answer.stdout
    (told,) = ours(answer.stderr).splitlines()
    assert f"no device of xrt: {line}" in told


def test_a_function_that_is_missing_is_named(tmp_path):
    (tmp_path / "lib").mkdir()
    text = "int xrtIniStringSet() { return 0; }\n"
    path = tmp_path / "lib" / "libxrt_coreutil.so.2"
    cc = ["cc", "-xc", "-", "-shared", "-fPIC", "-o", str(path)]
    subprocess.run(cc, input=text, text=True, check=True)
    script = "import hpccfpga as hf\nhf.open('xrt')"
    answer = python(script, XILINX_XRT=str(tmp_path))
    assert "XRT has no function xrtDeviceOpen: version 2.8" in answer.stderr


@pytest.mark.parametrize("hangs", [False, True])
def test_a_process_ends_with_its_sessions_open(folder, setting, hangs):
    """XRT crashes if it has buffers then; also with a kernel that does not end."""
    script = (
        f"{head(folder)}\n"
        "from hpccfpga import _core\n"
        "session = hf.open('xrt')\n"
        f"if {hangs}: plan('kernel:1:hang')\n"
        "try: measured(session, 'stream', deadline=1)\n"
        "except hf.Error: pass\n"
        "print('open', flush=True)\n"
        "kept = ctypes.pythonapi\n"
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(session._core))\n"
    )
    answer = python(script, **setting)
    assert (answer.returncode, answer.stdout) == (0, "open\n"), answer.stderr


def test_a_child_ends_in_order_beside_buffers_of_its_parent(folder, setting):
    """XRT's part in the end of a process is not for it; what it wrote is not lost."""
    script = (
        f"{head(folder)}\n"
        "import sys\n"
        "session = hf.open('xrt')\n"
        "plan('kernel:1:hang')\n"
        "try: measured(session, 'stream', deadline=1)\n"
        "except hf.Error: pass\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    print('child')\n"
        "    sys.exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    answer = python(script, **setting)
    assert answer.stdout.split() == ["child", "3"], answer.stderr


def test_threads_allocate_and_free_at_once(folder, setting):
    """XRT corrupts its memory if two do: a session in each of four threads."""
    script = (
        f"{head(folder)}\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def work(i):\n"
        "    with hf.open('xrt') as session:\n"
        "        return all(measured(session, 'stream').verified for _ in range(3))\n"
        "print(list(ThreadPoolExecutor(4).map(work, range(4))))\n"
    )
    answer = python(script, **setting, HF_STANDIN_CARDS="4")
    assert answer.stdout == f"{[True] * 4}\n", answer.stderr


# ---- XRT itself ----


def test_nothing_verifies_over_xrt_without_a_card(folder, tmp_path):
    """XRT's own library in its mode noop, in which no kernel runs and no data moves."""
    if python("import ctypes\nctypes.CDLL('libxrt_noop.so.2')").returncode:
        pytest.skip("XRT's libxrt_noop is not installed: Debian has it in libxrt1")
    for name, (knobs, _) in SMALL.items():
        if knobs is not None:
            made = shutil.copytree(folder / f"{name}1", tmp_path / f"{name}1")
            job = Bitstream("xilinx", "u280", f"{name}_memory", knobs)
            whole = link.pack(link.sections(job, made, b"none"))
            xclbin(tmp_path, name).write_bytes(whole)
    jobs = [words_of(tmp_path, name, 1) for name in SMALL]
    script = (
        "from hpccfpga import cli\n"
        f"for words in {jobs}:\n"
        "    print('code', cli.main(['run', *words]))"
    )
    answer = python(script, XCL_EMULATION_MODE="noop")
    codes = dict(
        zip(SMALL, re.findall(r"^code (\d+)$", answer.stdout, re.M), strict=True)
    )
    errors = [name for name, code in codes.items() if code == "3"]
    assert errors == ["graph", "linpack"], "kernels tell the host of their program"
    assert set(codes.values()) == {"1", "3"}
    assert answer.stdout.count("NOT VERIFIED") == len(SMALL) - len(errors)
    assert answer.stderr.count("hpccfpga: ") == len(errors)


def test_what_is_declared_of_xrt_is_in_its_headers():
    cc = ["cc", "-std=gnu11", "-fsyntax-only", "-I/usr/include/xrt"]
    probe = [*cc, "-include", "xrt/xrt_device.h", "-xc", os.devnull]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("XRT's headers are not installed: Debian has them in libxrt-dev")
    folders = [f"-I{ROOT}/csrc", f"-I{ROOT}/csrc/core", f"-I{ROOT}/csrc/device"]
    command = [*cc, *folders, ROOT / "tests" / "xrt" / "headers.c"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"(error: .*)", answer.stderr)
    # By an enum in a number's place, or an xclbin in that of bytes, as told there.
    differ = ["DeviceLoadXclbin", "BOSync", "RunState", "RunWaitFor"]
    assert found == [f'error: static assertion failed: "{name}"' for name in differ]


# ---- what doctor says ----


def driver_files(folder, files):
    """What a driver tells of cards, by their paths."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_doctor_tells_of_cards_what_the_driver_does(monkeypatch, tmp_path):
    card, other = "0000:3b:00.1", "0000:3c:00.1"
    files = {"xclbinuuid": "abc\n", "ready": "1\n", "xmc.u.1/xmc_power": "23500000\n"}
    files["nodma"] = "1\n"
    driver_files(tmp_path / card, files)
    driver_files(tmp_path, {"version": "2.13.466,abc\n"})
    monkeypatch.setattr(doctor, "PCI", tmp_path)
    monkeypatch.setattr(doctor, "XOCL", tmp_path / "version")
    monkeypatch.setattr(doctor, "PATIENCE", 3)
    told = doctor._states([card])[card]
    says = ", driver xocl 2.13.466,abc, xclbin abc, ready"
    assert told == f"{says}, without DMA, which is not supported, 23.5 W"
    driver_files(tmp_path / card, {"xmc.u.1/xmc_power": "0\n"})
    assert not doctor._states([card])[card].endswith("W"), "nothing measures it"
    driver_files(tmp_path / card, files)
    os.mkfifo(tmp_path / card / "interface_uuids")
    assert doctor._states([card])[card] == told, "it is left without an answer"
    (tmp_path / "version").unlink()
    assert doctor._states([other])[other].endswith("is the driver xocl loaded?")


def test_silent_files_of_drivers_have_one_deadline(monkeypatch, tmp_path):
    waits = []

    class Watched(Thread):
        def join(self, timeout=None):
            waits.append(timeout)
            super().join(timeout)

    monkeypatch.setattr(doctor, "Thread", Watched)
    monkeypatch.setattr(doctor, "PATIENCE", 0.2)
    paths = [tmp_path / str(i) for i in range(3)]
    for path in paths:
        os.mkfifo(path)
    assert doctor._said(paths) == {}
    assert 0 < waits[0] <= 0.2
    assert max(waits[1:]) < 0.01


def test_doctor_lists_cards_or_says_why_not(command, setting, without):
    more = {"HF_STANDIN_CARDS": "2", "HF_STANDIN_BUSY": "1"}
    answer = command("doctor", **setting, **more)
    assert f"ok       device xrt:0: {link.SHELL}\n         0000:3b" in answer.stdout
    assert "lacking  device xrt:1: card 1, busy; XRT" in answer.stdout
    answer = command("doctor", **without)
    assert "optional Xilinx cards: no XRT: libxrt_coreutil.so.2 is" in answer.stdout
    for wrong, line in (
        (setting | {"HF_STANDIN_CARDS": "0"}, "no Xilinx card: XRT"),
        (setting | {"XCL_EMULATION_MODE": "hw_emu"}, "XCL_EMULATION_MODE=hw_emu: "),
        (without | {"XILINX_XRT": "/nowhere"}, "no XRT: libxrt_coreutil.so.2 is"),
    ):
        answer = command("doctor", **wrong)
        assert f"lacking  Xilinx cards: {line}" in answer.stdout
        assert answer.stdout.count(line) == 1


def test_doctor_and_a_run_read_the_same_files(folder, setting, tmp_path):
    """Those of the card's address are where XRT says that its driver's are."""
    address = "0000:3b:00.1"
    driver_files(tmp_path / "0", {"ready": "1\n", "xmc.u.1/xmc_power": "23500000\n"})
    (tmp_path / address).symlink_to(tmp_path / "0")
    script = (
        f"{head(folder)}\n"
        "from pathlib import Path\n"
        "from hpccfpga import doctor\n"
        f"doctor.PCI, doctor.XOCL = Path({str(tmp_path)!r}), Path('/none')\n"
        "doctor.PATIENCE = 20\n"
        "doctor.examine()\n"
        "with hf.open('xrt') as session:\n"
        "    print('drawn', measured(session, 'stream')['power'][0])"
    )
    answer = python(script, HF_STANDIN_SYSFS=str(tmp_path), **setting)
    assert f"         {address}, XRT, ready, 23.5 W\n" in answer.stdout, answer.stderr
    assert "drawn 23.5\n" in answer.stdout


def test_doctor_tells_of_cards_that_xrt_does_not(capsys, monkeypatch, tmp_path):
    """Of those that the driver has: one that is busy has no address by XRT."""
    card = {"runtime": "xrt", "index": 0, "name": "card 0, busy", "version": ""}
    card |= {"platform": "XRT", "driver": "2.16.204"}
    driver_files(tmp_path / "devices" / "0000:3c:00.1", {"ready": "0\n"})
    (tmp_path / "drivers" / "xocl" / "0000:3c:00.1").mkdir(parents=True)
    monkeypatch.setattr(doctor, "PCI", tmp_path / "devices")
    monkeypatch.setattr(doctor, "XOCL", tmp_path / "none")
    doctor._examine_cards(doctor._Findings(), [card])
    assert capsys.readouterr().out.splitlines() == [
        "lacking  device xrt:0: card 0, busy; XRT 2.16.204",
        "         0000:3c:00.1, which XRT does not tell of, not ready",
    ]


def test_a_card_of_another_runtime_is_suggested(command, setting):
    """As any device that the usual runtime does not have."""
    for name in ("u280", "0000:3B:00.1"):
        answer = command("run", "transfer", f"--device={name}", **setting)
        (line,) = ours(answer.stderr).splitlines()
        assert line.startswith(f'hpccfpga: no OpenCL device "{name}"; known: 0: ')
        assert line.endswith(f"; did you mean xrt:{name}?")
    answer = command("run", "transfer", "--device=v80", **setting)
    assert "did you mean" not in answer.stderr


def test_a_runtime_that_is_written_otherwise_is_meant(command, without):
    for name, meant in (("XRT:0", "xrt:0"), ("xrt0", "xrt:0"), ("XRT", "xrt")):
        answer = command("run", "transfer", f"--device={name}", **without)
        (line,) = ours(answer.stderr).splitlines()
        assert line.endswith(f"; did you mean {meant}?")


def test_xrt_is_looked_for_once_and_when_it_is_asked_for(without):
    """Not when the package is imported, and no more by a second list."""
    script = (
        "import ctypes\n"
        "from hpccfpga import _core\n"
        "asked = ctypes.CDLL(None).absent_asked\n"
        "print(asked(), *(_core.devices('xrt') or asked() for _ in range(2)))"
    )
    answer = python(script, **without)
    assert answer.stdout == "0 2 2\n", answer.stderr
