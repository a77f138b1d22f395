"""The runtime `xrt` over a stand-in for XRT: benchmarks and cards."""

import os
import re
import shutil
import subprocess
import sys
from itertools import chain, product
from pathlib import Path

import pytest
from conftest import ROOT, ours, python, start

from hpccfpga import Result, _core
from hpccfpga.vendor import Bitstream
from test_conformance import BENCHMARKS, columns_check, declared
from xrt_session import REPLICATED, RUNS, SMALL, head, link, xclbin

pytest_plugins = ["xrt_session"]


def test_there_is_a_card(command, setting):
    answer = command("devices", **setting, HF_STANDIN_CARDS="3", HF_STANDIN_BUSY="1")
    (first, busy, last) = (t for t in answer.stdout.splitlines() if "xrt:" in t)
    assert first.split()[:3] == ["xrt:0", link.SHELL, "XRT"]
    assert re.search(r"card 1, busy +XRT +accelerator +no +-$", busy)  # of its memory
    assert first.endswith(" 8")
    assert "xrt:2" in last
    assert ours(answer.stderr) == ""


KINDS = {name: _core.scheme(name) for name, _ in _core.components("exchange")}
SCHEMES = [
    n for n, k in KINDS.items() if not k["kernel_routed"] and not k["host_memory"]
]
CONFORMS = "test_runs_verified_with_the_declared_columns"


def test_it_conforms_as_any_device(setting, tmp_path):
    """In a process that has XRT from its beginning; nothing may be left at its end.

    The card's driver tells the power.
    """
    path = tmp_path / "cards" / "0" / "xmc.u.1" / "xmc_power"
    path.parent.mkdir(parents=True)
    path.write_text("23500000\n")
    setting = setting | {"HF_STANDIN_SYSFS": str(tmp_path / "cards")}
    words = ["-m", "pytest", "-v", "-k=xrt and not half", f"--basetemp={tmp_path}/base"]
    words += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    path = ROOT / "tests" / "python" / "test_conformance.py"
    answer = start([sys.executable, *words, str(path)], setting)
    assert answer.returncode == 0, answer.stdout
    for name, scheme in product(BENCHMARKS, SCHEMES):
        assert f"::{CONFORMS}[{name}-{scheme}-xrt] PASSED" in answer.stdout


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


@pytest.mark.parametrize("ranks", [1, 2])
def test_benchmarks_verify_by_the_command(mpirun, folder, setting, tmp_path, ranks):
    """All, with one and two replications, in turn; nothing is left of XRT."""
    jobs = [
        [*words_of(folder, *run), f"--exchange={SCHEMES[(i + ranks) % len(SCHEMES)]}"]
        for i, run in enumerate(RUNS)
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
    for i, (name, n) in enumerate(RUNS):
        result = Result.from_json(tmp_path / f"{i}.json")
        assert (result.benchmark, result.ranks) == (name, ranks)
        assert (result.verified, result.emulated) == (True, True)
        assert n == 1 or result.parameters["replications"] == n
        columns_check(result.columns, declared(result, 2, 1))


def test_replications_run_on_units_of_their_own(folder, setting):
    """Of a kernel with several units each has as many runs as the other."""
    many = {
        name: [k["name"] for k in _core.kernels(f"{name}_memory") if k["replicated"]]
        for name in REPLICATED
    }
    script = (
        f"{head(folder)}\n"
        "def runs(kernel):\n"
        "    names = f'{kernel}_1', f'{kernel}_2'\n"
        "    return [standin.standin_ran(name.encode()) for name in names]\n"
        "session = hf.open('xrt')\n"
        f"for name, kernels in {many}.items():\n"
        "    assert measured(session, name, 2).verified\n"
        "    for kernel in kernels: print(kernel, *runs(kernel))"
    )
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*chain(*many.values())]
    for line in lines:
        _, first, second = line.split()
        assert 0 < int(second) <= int(first), line


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
        f"    for name, n in {RUNS}:\n"
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
        "    r, b_eff, ptrans = (\n"
        "        measured(session, name, n)\n"
        "        for name, n in (('stream', 2), ('b_eff', 1), ('ptrans', 2))\n"
        "    )\n"
        "print(ptrans.provenance['kernel']['reached'])\n"
        "about = r.provenance['kernel']\n"
        "for reached in about['reached'], ['DDR'], ['DDR', 'HBM'], []:\n"
        "    about['reached'] = reached\n"
        "    model = models.beside(r, 'u280', [])\n"
        "    print(reached, model['bandwidth'][0] / 1e9, model.provenance['notes'])\n"
        "about['reached'] = ['HBM']\n"
        "model = models.beside(r, '520n', [])\n"
        "print(model['bandwidth'][0] / 1e9, model.provenance['notes'])\n"
        "for other, given in (b_eff, []), (ptrans, []), (ptrans, ['replications']):\n"
        "    notes = models.beside(other, 'u280', given).provenance['notes']\n"
        "    print([note for note in notes if 'reach' in note])"
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
        "[]",
        "['the kernels reach DDR: so the model has DDR']",  # as many as there are banks
        "[]",
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


def opened(setting, selectors, **more):
    """Address of the card of each selector, or the line that refuses it."""
    script = (
        "import hpccfpga as hf\n"
        f"for selector in {[*selectors]}:\n"
        "    try: print(hf.open(selector).device['version'])\n"
        "    except (hf.Error, LookupError) as error: print(error)"
    )
    return python(script, **setting, **more).stdout.splitlines()


def test_a_card_is_chosen(setting):
    chosen = {
        "xrt:1": "3c",
        "xrt:U280": "3b",
        "xrt:0000:3d:00.1": "3d",
        "xrt:3D:00.1": "3d",
        "xrt": "3b",
    }
    found = opened(setting, chosen, HF_STANDIN_CARDS="3")
    assert found == [f"0000:{address}:00.1" for address in chosen.values()]


def refusals(setting, *devices, **more):
    """What the command says of each device for a run."""
    script = (
        "from hpccfpga import cli\n"
        f"for device in {devices}:\n"
        "    assert cli.main(['run', 'transfer', f'--device={device}']) in (2, 3)"
    )
    answer = python(script, **setting, **more)
    assert answer.returncode == 0, answer.stderr
    return ours(answer.stderr).splitlines()


def test_an_unknown_card_is_answered_by_the_list(setting):
    more = {"HF_STANDIN_CARDS": "2", "HF_STANDIN_BUSY": "1"}
    line, busy = refusals(setting, "xrt:v80", "xrt:1", **more)
    cards = f"0: {link.SHELL} at 0000:3b:00.1, 1: card 1, busy"
    assert line == f'hpccfpga: no Xilinx card "v80"; known: {cards}'
    assert "card 1: xrtDeviceOpen: Device or resource busy" in busy
    assert ": wait for the process that has it, or take another card; known: " in busy
    assert busy.endswith(cards)


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


def test_cards_that_are_free_come_first(setting):
    """A card that is busy tells no address, and a part of one is none."""
    chosen = {
        "xrt:accelerator": "0000:3c:00.1",
        "xrt:0000:3b:00.1": None,
        "xrt:0000:3d:00.1": "0000:3d:00.1",
        "xrt:00:3d": None,
    }
    more = {"HF_STANDIN_CARDS": "3", "HF_STANDIN_BUSY": "0"}
    lines = opened(setting, chosen, **more)
    for line, (name, address) in zip(lines, chosen.items(), strict=True):
        none = f'no Xilinx card "{name[4:]}"; known: 0: card 0, busy, 1: {link.SHELL}'
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


def test_a_card_of_another_runtime_is_suggested(setting):
    """As any device that the usual runtime does not have."""
    names = ("u280", "0000:3B:00.1")
    *lines, last = refusals(setting, *names, "v80")
    for name, line in zip(names, lines, strict=True):
        assert line.startswith(f'hpccfpga: no OpenCL device "{name}"; known: 0: ')
        assert line.endswith(f"; did you mean xrt:{name}?")
    assert "did you mean" not in last


def test_a_runtime_that_is_written_otherwise_is_meant(without):
    meant = {"XRT:0": "xrt:0", "xrt0": "xrt:0", "XRT": "xrt"}
    for line, name in zip(refusals(without, *meant), meant.values(), strict=True):
        assert line.endswith(f"; did you mean {name}?")


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
    lines = re.findall(r"error: .*", answer.stderr)  # each ends with a name
    # By an enum in a number's place, or an xclbin in that of bytes, as told there.
    differ = ["DeviceLoadXclbin", "BOSync", "RunState", "RunWaitFor"]
    assert [re.findall(r"\w+", line)[-1] for line in lines] == differ
