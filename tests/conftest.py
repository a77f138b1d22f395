"""Start commands and ranks with a deadline; a kernel cache for the tests alone."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from hpccfpga import _core, cli, emulation
from hpccfpga.keeper import marked, new_mark
from hpccfpga.mpirun import KILLED, TAG, surroundings
from hpccfpga.mpirun import command as mpirun_command

# `short` takes a few seconds and is the same each time; `long` is for runs by hand.
# Neither minds a busy machine.
at_ease = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "short", at_ease, max_examples=30, derandomize=True, database=None
)
settings.register_profile("long", at_ease, max_examples=20_000)
settings.load_profile("short")

ROOT = Path(__file__).parents[1]

# Tests take functions of it, too, before they name it as a plugin.
pytest.register_assert_rewrite("xrt_session")

# What takes longer hangs, on however slow or busy a machine [s].
GUARD = 400

# A shell ignores Ctrl-C for what it starts in the background, as do all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Schemes take turns in this process, and PoCL counts its workers once. What a user has
# set for it, or to load runtimes, is kept by runs, not by tests.
for name in ("OCL_ICD_FILENAMES", "POCL_DEVICES", *emulation.WORKERS):
    os.environ.pop(name, None)
emulation.prepare("channel")


def runtimes_of(folder):
    """Environment in which OpenCL knows the runtimes of a folder and no others."""
    return dict.fromkeys(emulation.VENDORS, f"{folder}/")  # NVIDIA's loader needs the /


def leave_pocl_alone():
    """Let OpenCL know PoCL alone: where there is a GPU, it is the first device."""
    known = {p for p in emulation.SYSTEM_VENDORS.glob("*.icd") if p.is_file()}
    pocl = {p for p in known if p.name.startswith("pocl")}
    if pocl in (set(), known) or any(name in os.environ for name in emulation.VENDORS):
        return None
    folder = TemporaryDirectory(prefix="hpccfpga-vendors-")
    for path in pocl:
        Path(folder.name, path.name).write_text(path.read_text())
    os.environ.update(runtimes_of(folder.name))
    return folder  # which is there as long as this is


_vendors = leave_pocl_alone()

# Ranks of two tests share the cores: none may spin on one that another waits for.
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
# Else each rank looks for Omni-Path, whose library takes 0.1 s to tell the time, twice.
os.environ.setdefault("OMPI_MCA_pml", "ob1")
# Else mpirun and each rank look for cards on the bus, and ask OpenCL: half of a start.
os.environ.setdefault("HWLOC_COMPONENTS", "-pci,-linuxio,-opencl,-gl")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Else PoCL compiles each kernel twice: for groups of any size, as a program binary
# needs it, and for those of a launch. Tests in C take the second.
os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")

# An editable install finds its modules before PYTHONPATH is searched.
_WITHOUT_EDITABLE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
"""


def pytest_configure():
    """Refuse to test another checkout: one that is installed, or built."""
    places = Path(cli.__file__).resolve().parents
    found = next((p for p in places if (p / "csrc" / "hf.h").is_file()), ROOT)
    if found != ROOT:
        raise pytest.UsageError(f"hpccfpga is that of {found}, the tests are of {ROOT}")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among thousands of tests: half of the time it takes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Begin with those that take long: at the end nothing would run beside them."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


_OURS = re.compile(r"hpccfpga: |Traceback|.*\w(Warning|Error): ")


def ours(text):
    """Keep the lines of hpccfpga and of Python: a library may print what it likes."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if _OURS.match(line))


def killed(text):
    """Rank of which mpirun says that signal 9 ended it; None where it says of none."""
    said = KILLED.search(" ".join(text.split()))  # 5.0 breaks its lines
    found = {k.rstrip("_"): v for k, v in said.groupdict().items() if v} if said else {}
    return int(found["rank"]) if found.get("signal") == "9" else None


# PoCL compiles in a third of the time what need not be fast. It goes on so as long as a
# process lives: runs that take this have a process of their own.
QUICKLY = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}


# A kernel whose stores past the caches, those of large arrays, do not all arrive.
LOSES_LARGE = """
#include "hf_kernel.h"
#undef HF_STORE_PAST
#define HF_STORE_PAST(address, x) \\
    if (((size_t)(address) & 8191) != 4096) __builtin_nontemporal_store(x, address)
#include "{stem}.cl"
"""


@pytest.fixture(scope="session")
def common(tmp_path_factory):
    """A folder for all workers of pytest-xdist together."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(common):
    """Never build into the user's cache, nor twice."""
    os.environ["HPCCFPGA_CACHE"] = str(common / "cache")


def comes(truth):
    """Whether something becomes true by itself."""
    end = time.monotonic() + GUARD
    while not truth() and time.monotonic() < end:
        time.sleep(0.05)
    return truth()


def start(command, environment):
    """Run a command, of which nothing survives.

    Returns
    -------
    subprocess.CompletedProcess
        With text, the tags of mpirun taken away.
    """
    clean = surroundings()
    clean["MPIEXEC_TIMEOUT"] = str(GUARD + 10)  # in case that we are killed
    mark = new_mark()
    process = subprocess.Popen(
        command,
        env=clean | environment | {mark: ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        out, err = process.communicate(timeout=GUARD)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{command} took more than {GUARD} s")
    finally:
        for pid in marked(mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    out, err = (
        re.sub(TAG.pattern, "", text, flags=re.MULTILINE) for text in (out, err)
    )
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def python(script, **environment):
    """Run a script in a Python of its own."""
    return start([sys.executable, "-c", script], environment)


@pytest.fixture
def call(capfd, monkeypatch, tmp_path):
    """Call the command in this process; exit code, output, our lines of errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        capfd.readouterr()
        code = cli.main([str(word) for word in words])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return code, out, ours(err)

    return run


@pytest.fixture
def refused(call):
    """Call the command with what it must refuse in one line: refused(words, line)."""

    def check(words, line):
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert line in err
        assert err.startswith("hpccfpga: ")
        assert err.count("\n") == 1

    return check


@pytest.fixture
def command():
    """Run `hpccfpga` with arguments: command(*words, **environment)."""

    def run(*words, **environment):
        words = [sys.executable, "-m", "hpccfpga", *map(str, words)]
        return start(words, environment)

    return run


@pytest.fixture
def mpirun():
    """Run a script, or `hpccfpga` with a list of arguments, on n ranks.

    mpirun(n, script_or_arguments, **environment); the text of a script may use `comm`,
    `rank`, `size`, `hf`, `say` to print a line that stays whole, and `any_kernels` to
    let ranks run different ones, which is refused otherwise.
    """

    def run(n, what, **environment):
        if isinstance(what, str):
            head = (
                "import gc\ngc.disable()\n"  # as the command does
                "import os\nfrom mpi4py import MPI\nimport hpccfpga as hf\n"
                "import hpccfpga.session\ngc.freeze()\ngc.enable()\n"
                "comm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"
                "def say(*words):\n"
                "    os.write(1, (' '.join(map(str, words)) + '\\n').encode())\n"
                "def any_kernels():\n"
                "    from hpccfpga.preparation import Prepared\n"
                "    Prepared.loaded = property(\n"
                "        lambda p: p.kernel and (p.kernel.stem, p.kernel.binary, ''))\n"
            )
            words = ["-c", head + what]
        else:
            words = ["-m", "hpccfpga", *map(str, what)]
        command = [*mpirun_command(), "-n", str(n), sys.executable, *words]
        # Else each failure costs the 2 s that Open MPI gives the other ranks.
        hurry = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
        return start(command, hurry | environment)

    return run


@pytest.fixture
def on_ranks(mpirun):
    """Run a script on n ranks, each of which must come to its end."""

    def run(n, script, **options):
        answer = mpirun(n, f"{script}\nsay('done')", **options)
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.split() == ["done"] * n

    return run


@pytest.fixture
def twice_at_once(on_ranks, tmp_path):
    """Run a script twice, each on 2 ranks with an mpirun of its own.

    Its text may use `number`, 0 or 1, and `meet`, which as the progress of a run has
    all four ranks wait for each other after each point.
    """
    head = (
        "from pathlib import Path\nfrom time import monotonic, sleep\n"
        "def meet(point, *more):\n"
        f"    folder, end = Path({str(tmp_path)!r}), monotonic() + {GUARD / 2}\n"
        "    (folder / f'{number}.{rank}.{point}').touch()\n"
        "    while len(list(folder.glob(f'?.?.{point}'))) < 4:\n"
        "        assert monotonic() < end, 'alone'\n"
        "        sleep(1e-3)\n"
    )

    def run(script):
        scripts = [f"number = {number}\n{head}{script}" for number in range(2)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda script: on_ranks(2, script), scripts))

    return run


def _build(command):
    """Bring build/dev up to date, with the tools of this Python's environment."""
    tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if sys.prefix != sys.base_prefix:
        tools["VIRTUAL_ENV"] = sys.prefix
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | tools,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=GUARD,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.fail(f"no build with -DHF_TESTS=ON: {error}")
    if done.returncode:
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}")


@pytest.fixture(scope="session")
def without_editable(tmp_path_factory):
    """A folder for PYTHONPATH, behind which a package that was built is found first."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(_WITHOUT_EDITABLE)
    return folder


def build_dev(*targets):
    """Build targets of build/dev; workers take turns."""
    (ROOT / "build").mkdir(exist_ok=True)
    with FileLock(ROOT / "build" / "dev.lock"):
        _build(["cmake", "--preset", "dev"])
        _build(["cmake", "--build", "--preset", "dev", "--target", *targets])


@pytest.fixture(scope="session")
def faults(without_editable):
    """Environment in which the package has the exchange scheme `fault`."""
    if "fault" in dict(_core.components("exchange")):
        return {}
    build_dev("_core")
    built = ROOT / "build" / "dev" / "python"
    return {"PYTHONPATH": f"{without_editable}:{built}"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Folder of the cache of kernels, of this test alone."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HPCCFPGA_CACHE", str(folder))
    return folder
