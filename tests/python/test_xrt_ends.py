"""What of XRT would end a process, or is not there."""

import os
import shutil
import subprocess

import pytest
from conftest import ours, python

from xrt_session import head, link

pytest_plugins = ["xrt_session"]

MAIN = "libxrt_coreutil.so.2"


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
    words = ["run", "stream", "--device=xrt"]
    alone = python(
        "from hpccfpga import cli\n"
        f"for path in {[*map(str, ends)]}: cli.main([*{words}, '--kernel=' + path])",
        **without,
    )
    ranks = command(*words, f"--kernel={gone}", "--ranks=2", **without)
    lines = ours(alone.stderr + ranks.stderr).splitlines()
    for told, end in zip(lines, [*ends.values(), ends[gone]], strict=True):
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
def test_modes_that_end_or_hang_the_process_are_refused(setting, mode, line):
    script = (
        "from hpccfpga import cli\n"
        "cli.main(['run', 'stream', '--device=xrt'])\n"
        "cli.main(['devices'])"
    )
    answer = python(script, XCL_EMULATION_MODE=mode, **setting)
    refused, listed = ours(answer.stderr).splitlines()
    assert refused.startswith(f"hpccfpga: {line}")
    assert f"no device of xrt: {line}" in listed
    assert "host:0" in answer.stdout
    assert "xrt:" not in answer.stdout


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
