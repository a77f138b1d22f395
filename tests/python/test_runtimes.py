"""Which OpenCL runtimes are loaded when, and that what they print does not show."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import QUICKLY, ROOT, leave_pocl_alone, ours, python, runtimes_of, start

import hpccfpga as hf
from hpccfpga import emulation
from hpccfpga.errors import line

SMALL = ["--sizes=1", "--reps=2", "--loop-upper=4"]

# A process whose further libraries are `loud`, after the system's.
ALSO = """
import os, sys
import hpccfpga as hf
from hpccfpga import cli, emulation
emulation.vendors = lambda: {{"libraries": {loud!r}, "quiet": True}}
loaded = lambda: any("libloud" in line for line in open("/proc/self/maps"))
"""


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Build a runtime that prints: build(*options), the path of its library."""

    def make(*options):
        path = tmp_path_factory.mktemp("loud") / "libloud.so"
        source = ROOT / "tests" / "c" / "loud_runtime.c"
        warn = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]
        cc = ["cc", "-shared", "-fPIC", *warn, *options, source, "-o", path]
        subprocess.run(cc, check=True)
        return str(path)

    return make


@pytest.fixture(scope="session")
def loud(build):
    return build()


@pytest.fixture
def system(loud, tmp_path):
    """Environment in which the system has the loud runtime, too."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    known = Path(os.environ.get("OCL_ICD_VENDORS", emulation.SYSTEM_VENDORS))
    for path in known.glob("*.icd"):
        (folder / path.name).write_text(path.read_text())
    (folder / "loud.icd").write_text(f"{loud}\n")
    buffered = {"PYTHONUNBUFFERED": ""}  # C's standard output, too, until the end
    return buffered | runtimes_of(folder)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_shows_nothing_of_a_loud_runtime(command, system, ranks):
    answer = command("run", "b_eff", *SMALL, f"--ranks={ranks}", **system)
    assert answer.returncode == 0, answer.stderr
    assert "verified" in answer.stdout
    assert "LOUD" not in answer.stdout + answer.stderr


@pytest.mark.parametrize("job", ["devices", "doctor"])
def test_a_list_shows_nothing_but_the_device(command, system, job):
    answer = command(job, **system)
    assert "Loud Emulator" in answer.stdout
    assert "LOUD" not in answer.stdout + answer.stderr


def test_debug_shows_what_runtimes_print(command, system):
    answer = command("devices", HPCCFPGA_DEBUG="1", **system)
    assert "LOUD: Unknown host CPU." in answer.stderr
    assert "LOUD: loaded" in answer.stdout


def test_an_error_of_a_loud_runtime_is_one_line(command, system):
    answer = command("run", "b_eff", "--device=Loud Emulator", **system)
    assert answer.returncode == 3
    assert "LOUD" not in answer.stderr
    (line,) = ours(answer.stderr).splitlines()
    assert line == "hpccfpga: clCreateContext: CL_DEVICE_NOT_AVAILABLE (-2)"


def test_a_library_is_loaded_when_its_device_is_wanted(loud):
    """Indices are those of the list, whatever is loaded; earlier sessions go on."""
    answer = python(
        ALSO.format(loud=[loud]) + "first = hf.open()\n"
        "also = hf.open('opencl:0')\n"
        "print(loaded())\n"
        "try: hf.open('Loud')\n"
        "except hf.Error as error: print(error)\n"
        "r = first.run('b_eff', sizes=[1], reps=1, loop_upper=8)\n"
        "print(loaded(), r.verified)\n"
        "found = [d for d in hf.devices() if d['runtime'] == 'opencl']\n"
        "print([d['index'] for d in found] == list(range(len(found))))\n"
        "print(found[-1]['name'], also.device['name'] == found[0]['name'])\n"
    )
    assert answer.stdout.splitlines() == [
        "False",
        "clCreateContext: CL_DEVICE_NOT_AVAILABLE (-2)",
        "True True",
        "True",
        "Loud Emulator True",
    ], answer.stderr
    assert "LOUD" not in answer.stderr


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("opencl:{last}", "NOT_AVAILABLE"),
        ("loud plat", "NOT_AVAILABLE"),
        ("nonsense", "{last}: Loud Emulator"),
    ],
)
def test_devices_are_chosen_as_they_are_listed(loud, selector, found):
    """Also where nothing was listed or opened before."""
    here = emulation._core.devices("opencl")
    words = [text.format(last=len(here)) for text in (selector, found)]
    script = f"cli.main(['run', 'b_eff', '--device', {words[0]!r}])"
    answer = python(ALSO.format(loud=[loud]) + script)
    assert words[1] in ours(answer.stderr), answer.stderr
    assert "LOUD" not in answer.stderr


# Names that have the words for types of other devices, and what opening each gives.
DEVICES = [
    'DEVICE("Emulated GPU", CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_NOT_AVAILABLE)',
    'DEVICE("Board beside a CPU", CL_DEVICE_TYPE_ACCELERATOR, CL_OUT_OF_RESOURCES)',
    'DEVICE("for an accelerator", CL_DEVICE_TYPE_CPU, CL_INVALID_VALUE)',
]


OF_A_TYPE = {
    "accelerator": "clCreateContext: CL_OUT_OF_RESOURCES",
    "opencl:Accelerator": "clCreateContext: CL_OUT_OF_RESOURCES",
    "cpu": "clCreateContext: CL_INVALID_VALUE",
    "opencl:gpu": 'no OpenCL device "gpu"; known: 0: Emulated GPU, ',
    "emulated gpu": "clCreateContext: CL_DEVICE_NOT_AVAILABLE",
}


def test_devices_of_a_type(build, tmp_path):
    """A word for a type is no part of a name; a board comes before its emulator."""
    library = build(f"-DDEVICES={','.join(DEVICES)}")
    (tmp_path / "loud.icd").write_text(f"{library}\n")
    script = f"for word in {[*OF_A_TYPE]}: cli.main(['run', 'b_eff', '--device', word])"
    answer = python(ALSO.format(loud=[]) + script, **runtimes_of(tmp_path))
    lines = ours(answer.stderr).splitlines()
    for text, told in zip(lines, OF_A_TYPE.values(), strict=True):
        assert told in text


def test_the_type_of_each_runtime_here():
    for runtime in "host", "opencl":
        with hf.open(device=f"{runtime}:cpu") as session:
            found = session.device["runtime"], session.device["type"]
            assert found == (runtime, "cpu")
    with pytest.raises(LookupError, match='no host device "gpu"; known: 0: '):
        hf.open(device="host:gpu")


def test_no_runtime_takes_the_place_of_one_that_has_no_device(loud):
    """PoCL has none where it cannot write; the loud one is not taken unasked."""
    script = "for words in [], ['--device=Loud']: cli.main(['run', 'b_eff', *words])"
    answer = python(ALSO.format(loud=[loud]) + script, POCL_CACHE_DIR="/proc/nope")
    first, second = ours(answer.stderr).splitlines()
    assert "PoCL has none where it cannot write its cache: HOME or POCL_CAC" in first
    assert "clCreateContext: CL_DEVICE_NOT_AVAILABLE (-2)" in second


def test_a_library_that_the_loader_knows_is_listed_once(loud, system):
    script = "print([d['name'] for d in hf.devices()].count('Loud Emulator'))"
    answer = python(ALSO.format(loud=[loud]) + script, **system)
    assert answer.stdout == "1\n", answer.stderr


def test_a_library_of_no_use_is_told(tmp_path):
    (tmp_path / "libbad.so").write_text("no library")
    libraries = [str(tmp_path / "libbad.so"), str(tmp_path / "libnone.so")]
    script = "cli.main(['run', 'b_eff', '--device', 'FPGA'])"
    (line,) = ours(python(ALSO.format(loud=libraries) + script).stderr).splitlines()
    assert 'no OpenCL device "FPGA"; known: 0: ' in line
    assert "libnone.so is of no use: " in line


def test_lines_of_other_threads_stay(build, tmp_path):
    """They wait while libraries are loaded; who is about to write does so before."""
    slow = build("-DWAIT=30")
    loud = [shutil.copy(slow, tmp_path / f"libloud{n}.so") for n in range(8)]
    answer = python(
        ALSO.format(loud=[str(path) for path in loud]) + "import threading\n"
        "stop = threading.Event()\n"
        "told = 0\n"
        "def tell():\n"
        "    global told\n"
        "    while not stop.wait(1e-4):\n"
        "        os.write(1, f'line {told}\\n'.encode())\n"
        "        told += 1\n"
        "thread = threading.Thread(target=tell)\n"
        "thread.start()\n"
        "hf.devices()\n"
        "stop.set()\n"
        "thread.join()\n"
        "print(told)\n"
    )
    *lines, told = answer.stdout.splitlines()
    assert lines == [f"line {n}" for n in range(int(told))], answer.stderr
    assert int(told) > 0


def test_more_than_a_pipe_holds(build):
    """Nobody reads while a library prints 200 kB; all of it is shown if it aborts."""
    answer = python(ALSO.format(loud=[build("-DLINES=200")]) + "hf.devices()")
    assert answer.returncode == 0
    assert "LOUD" not in answer.stderr
    ends = build("-DLINES=200", "-DEND=abort()")
    answer = python(ALSO.format(loud=[ends]) + "hf.devices()")
    assert answer.returncode == -6
    assert answer.stderr.count("LOUD: line ") == 200


@pytest.mark.parametrize(("end", "code"), [("abort()", -6), ("exit(5)", 5)])
def test_a_library_that_ends_the_process_is_heard(build, end, code):
    answer = python(ALSO.format(loud=[build(f"-DEND={end}")]) + "hf.devices()")
    assert answer.returncode == code
    assert "LOUD: Unknown host CPU." in answer.stderr


@pytest.mark.parametrize(("job", "code"), [("devices", 0), ("run", 3)])
def test_no_destructor_runs_after_a_failure(tmp_path, job, code):
    """A runtime's threads may still work on a kernel, with what it would take away."""
    (tmp_path / "end.c").write_text(
        "#include <unistd.h>\n"
        "int clCreateContext() { return 0; }\n"
        '__attribute__((destructor)) void end() { write(2, "END\\n", 4); }'
    )
    library = tmp_path / "libend.so"
    cc = ["cc", "-w", "-shared", "-fPIC", str(tmp_path / "end.c"), "-o", str(library)]
    subprocess.run(cc, check=True)
    preload = {"LD_PRELOAD": library.name, "LD_LIBRARY_PATH": str(tmp_path)}
    words = ["-m", "hpccfpga", job, *(["b_eff"] if job == "run" else [])]
    answer = start([sys.executable, *words], preload)
    assert answer.returncode == code, answer.stderr
    assert (answer.stderr.count("END") > 0) is (code == 0)


@pytest.mark.parametrize(("end", "heard"), [("abort()", True), ("return -11", False)])
def test_a_compiler_is_heard_only_if_it_ends_the_process(tmp_path, end, heard):
    code = f'fputs("COMPILER: words\\n", stderr); {end};'
    text = f"#include <stdio.h>\n#include <stdlib.h>\nint clBuildProgram() {{ {code} }}"
    (tmp_path / "loud.c").write_text(text)
    library = tmp_path / "libcompiler.so"
    cc = ["cc", "-shared", "-fPIC", str(tmp_path / "loud.c"), "-o", str(library)]
    subprocess.run(cc, check=True)
    script = "from hpccfpga import cli\ncli.main(['run', 'b_eff', '--sizes=1'])"
    cache = str(tmp_path / "cache")  # nothing is built yet
    preload = {"LD_PRELOAD": library.name, "LD_LIBRARY_PATH": str(tmp_path)}
    answer = python(script, HPCCFPGA_CACHE=cache, **preload)  # a blank would end a name
    assert ("COMPILER: words" in answer.stderr) == heard
    assert (answer.returncode == -signal.SIGABRT) == heard
    assert ("hpccfpga: kernel b_eff_memory: " in answer.stderr) != heard


def test_no_module_of_the_working_folder_is_loaded(monkeypatch, tmp_path):
    """Others may write there, as in /tmp: Python would take its modules first."""
    told = tmp_path / "told"
    for name in ("mpi4py", "numpy", "tempfile"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(told)!r}, 'a').write(__name__)"
        )
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-P", "-m", "hpccfpga"]  # as the command itself is started
    for more in (
        ["run", "b_eff", *SMALL, "--ranks=2"],
        ["kernels", "build", "b_eff", "-o", "."],
        ["run", "b_eff", *SMALL, "--kernel=b_eff_memory.bin"],
        ["doctor"],
    ):
        answer = start([*words, *more], {})
        assert answer.returncode == 0, answer.stderr
        assert not told.exists(), (more, told.read_text())


@pytest.mark.parametrize("home", [True, False])
def test_pocl_loads_kernels_from_a_folder_of_this_user_alone(tmp_path, home):
    """Others may write in the one in this home; without a home it would be in /tmp."""
    gone = ["XDG_CACHE_HOME", "POCL_CACHE_DIR", *["HOME"] * (not home)]
    script = (
        "import os\nimport hpccfpga as hf\nfrom hpccfpga import emulation\n"
        f"for name in {gone}: os.environ.pop(name, None)\n"
        "assert hf.run('b_eff', sizes=[1], reps=1, loop_upper=4).verified\n"
        "assert 'POCL_CACHE_DIR' not in emulation.for_others(os.environ)"
    )
    theirs = tmp_path / ".cache" / "pocl" / "kcache"
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)
    own = {"HPCCFPGA_CACHE": str(tmp_path / "own"), "HOME": str(tmp_path)}
    answer = python(script, **own, **QUICKLY)
    assert answer.returncode == 0, answer.stderr
    assert any((tmp_path / "own" / "pocl").iterdir())
    assert not any(theirs.iterdir())


def test_nothing_of_the_folder_for_temporary_files_is_used(command, tmp_path):
    """Other users write there: a folder of a known name is not to be trusted."""
    answer = command("devices", TMPDIR=str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    assert list(tmp_path.iterdir()) == []


LOW = """
import resource
from hpccfpga import cli
_, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, ((2 << 30) - 1, most))
raise SystemExit(cli.main({words!r}))
"""


def test_a_limit_of_files_that_no_compiler_works_with_is_a_line(tmp_path):
    words = ["sh", "-c", 'ulimit -n 14; exec "$@"', "-", sys.executable]
    words += ["-m", "hpccfpga", "run", "stream", "--size=4096", "--reps=1"]
    answer = start(words, {"HPCCFPGA_CACHE": str(tmp_path)})
    assert answer.returncode == 3
    assert re.fullmatch(
        r"hpccfpga: kernel stream_\w+: a limit of 14 open files \(ulimit -n\) is too "
        r"low to compile it; 32 are enough\n",
        ours(answer.stderr),
    )


@pytest.mark.parametrize("limit", ["unlimited", "1024"])
@pytest.mark.parametrize("place", [["--device=host"], ["--exchange=channel"], []])
def test_kernels_have_their_stack_whatever_the_limit_is(limit, place):
    """A C library gives threads 2 MiB where there is none; on it is local memory."""
    words = ["sh", "-c", f'ulimit -S -s {limit} || exit 77; exec "$@"', "-"]
    words += [sys.executable, "-m", "hpccfpga", "run", "ptrans", "--shape=pipeline"]
    if place == ["--exchange=channel"]:
        words.remove("--shape=pipeline")
    answer = start([*words, "--sizes=1024", "--reps=1", *place], {})
    if answer.returncode == 77:
        pytest.skip("the hard limit of the stack is lower")
    assert (answer.returncode, ours(answer.stderr)) == (0, "")


TOO_LOW = "the limit of 2047 MiB of addresses (ulimit -v) is too low for OpenCL"


@pytest.mark.parametrize("ranks", [[], ["--ranks=2"]])
def test_few_addresses_are_refused_before_opencl_starts(ranks):
    """Its runtimes end the process where they get no memory; `host` needs none."""
    words = ["run", "stream", "--size=1024", "--reps=2", "--quiet", *ranks]
    answer = python(LOW.format(words=words))
    (line,) = ours(answer.stderr).splitlines()
    assert line.startswith(f"hpccfpga: {TOO_LOW}")
    assert 'set "ulimit -v unlimited"' in line
    assert answer.returncode == 3
    answer = python(LOW.format(words=[*words, "--device=host"]))
    assert (answer.returncode, ours(answer.stderr)) == (0, "")


def test_too_few_addresses_to_start_are_told():
    """Where the limit is that of a shell, Python begins with it, too."""
    words = ["sh", "-c", 'ulimit -v 600000; exec "$@"', "-", sys.executable]
    answer = start([*words, "-m", "hpccfpga", "run", "b_eff"], {})
    (line,) = ours(answer.stderr).splitlines()
    assert re.search(r"ulimit -v|memory", line)
    assert "no OpenCL platform" not in answer.stderr
    assert (answer.returncode, answer.stdout) == (3, "")


def test_a_lack_of_memory_is_told(monkeypatch):
    """Python's own error of it has no text."""
    monkeypatch.setattr("resource.getrlimit", lambda what: (600 << 20, 600 << 20))
    told = "out of memory; or the limit of 600 MiB of addresses (ulimit -v) is too low"
    assert line(MemoryError()) == told
    assert line(MemoryError("no memory for a run")) == "no memory for a run"


def test_few_addresses_are_why_opencl_is_not_listed():
    answer = python(LOW.format(words=["devices"]))
    (line,) = ours(answer.stderr).splitlines()
    assert line.startswith(f"hpccfpga: no device of opencl: {TOO_LOW}")
    assert answer.returncode == 0
    assert "host:0" in answer.stdout
    assert "opencl:" not in answer.stdout
    answer = python(LOW.format(words=["doctor"]))
    assert f"MISSING  devices: no device of opencl: {TOO_LOW}" in answer.stdout
    assert "what runs: only --device host and --exchange host" in answer.stdout
    assert answer.returncode == 3


def test_devices_warns_of_a_runtime_that_it_leaves_out(monkeypatch):
    def few(runtime, **vendors):
        if runtime == "opencl":
            raise MemoryError("few addresses")
        return _core_devices(runtime, **vendors)

    _core_devices = emulation._core.devices
    monkeypatch.setattr(emulation._core, "devices", few)
    with pytest.warns(UserWarning, match="no device of opencl: few addresses"):
        assert hf.devices().names == ["host:0"]


def test_tests_know_pocl_alone(monkeypatch, tmp_path):
    for name in emulation.VENDORS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(emulation, "SYSTEM_VENDORS", tmp_path)
    (tmp_path / "pocl.icd").write_text("libpocl.so.2\n")
    (tmp_path / "pocl-removed.icd").symlink_to(tmp_path / "gone")
    assert leave_pocl_alone() is None
    (tmp_path / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    with leave_pocl_alone() as folder:
        assert os.listdir(folder) == ["pocl.icd"]
        assert {os.environ[name] for name in emulation.VENDORS} == {f"{folder}/"}
        assert leave_pocl_alone() is None  # as in a worker
