"""Faults planted in a stand-in for XRT: none ends in a run that says verified."""

import json
from pathlib import Path

import pytest
from conftest import ROOT, build_dev, mpirun_command, python, start

from xrt_session import BUILDS, SMALL, head, xclbin

pytest_plugins = ["xrt_session"]

# ---- planned faults ----

FAULTS = """
def tried(name, fault, at):
    if fault.startswith("xrtBOSync") and at in harmless:
        return False
    plan(fault)
    try:
        right = measured(session, name).verified
    except hf.Error:
        right = False
    return right and standin.standin_harms() > 0
session = hf.open("xrt")
measured(session, name)
plan("")
assert measured(session, name).verified
found = []
n = {function: calls(function) for function, _ in planned}
for function, kind in planned:
    some = {1 + i * (n[function] - 1) // 15 for i in range(16)} if n[function] else {}
    for at in sorted({0, *some}):  # 0: all
        fault = f"{function}:{at}:{kind}"
        if tried(name, fault, at):
            found.append(fault)
plan("")
assert measured(session, name).verified, "the session is of use"
session.close()
print(standin.standin_objects(), found)
"""


# Numbers of copies that nobody reads: the host overwrites them, or has checked them.
# Those of graph poison its state before a sample: without them what is lost is seen.
HARMLESS = {
    "gemm": {5, 10},
    "graph": {24, 37, 53, 66, 82, 95, 111, 124, 25, 38, 54, 67, 83, 96, 112, 125},
    "randomaccess": {2, 5, 6, 9},
}


def of_fault(name, harmless, *planned):
    """Script that prints the planned faults after which a benchmark verifies."""
    return f"name = {name!r}; planned, harmless = {list(planned)}, {harmless}\n{FAULTS}"


@pytest.mark.parametrize("name", SMALL)
def test_what_is_lost_is_unverified(folder, setting, name):
    """Copies and kernels that XRT says are made: each of sixteen of a run, and all."""
    planned = [("xrtBOSync", "lost"), ("kernel", "lost")]
    script = of_fault(name, HARMLESS.get(name, ()), *planned)
    answer = python(head(folder) + script, **setting)
    assert answer.stdout == "0 []\n", answer.stderr


# Numbers of copies of which no byte that is damaged is read: as 0, all, each is seen.
# fft: zeros that a kernel overwrites; a root of unity that no product of two numbers up
# to 7 has; the block of which the host checks some frequencies before the device checks
# all, and which is then given back. graph: figures of a superstep that was not needed,
# and a zero that a sum overwrites. linpack, ptrans: zeros, which each block overwrites.
HARMLESS_FLIPS = {
    "fft": {1, 2, 3, 4, 6, 7},
    "gemm": HARMLESS["gemm"],
    "graph": HARMLESS["graph"] | {28, 109},
    "linpack": {2, 5, 6, 7, 10, 13, 14, 15},
    "ptrans": {*range(1, 17)},
    "randomaccess": HARMLESS["randomaccess"],
}


@pytest.mark.parametrize("name", SMALL)
def test_what_is_damaged_is_unverified(folder, setting, name):
    script = of_fault(name, HARMLESS_FLIPS.get(name, ()), ("xrtBOSync", "flip"))
    answer = python(head(folder) + script, **setting)
    assert answer.stdout == "0 []\n", answer.stderr


@pytest.mark.parametrize(("ranks", "n"), [(1, 2), (2, 1)])
def test_the_harness_finds_no_fault_that_verifies(folder, setting, tmp_path, ranks, n):
    """The one that tries every benchmark on every device: tests/c/harness.c."""
    build_dev("test_harness")
    knobs = {"replications": n}
    for name, (own, _) in SMALL.items():
        if own is not None:
            path = xclbin(folder, name, n if (name, n) in BUILDS else 1)
            (tmp_path / f"{name}_memory.xclbin").symlink_to(path)
            knobs |= own
    manifest = json.loads(Path(f"{xclbin(folder, 'ptrans', n)}.json").read_text())
    banks = ",".join(map(str, manifest["banks"][:n]))
    knobs |= {f"bank_{buffer}": banks for buffer in "abc"}
    text = " ".join(f"{k}={v}" for k, v in knobs.items())
    words = [".", "device=xrt", f"binaries={tmp_path}", f"knobs={text}"]
    program = ROOT / "build" / "dev" / "tests" / "test_harness"
    command = [*mpirun_command(), "-n", str(ranks), str(program), *words]
    answer = start([*command, "exchange=pcie"], setting)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for name in SMALL:
        assert f"\n{name} " in answer.stdout


FAILS = """
def line_of(error):
    assert str(error).count(chr(10)) == 0 and "Traceback" not in str(error)
    return str(error)
for fault, words in planned:
    plan(fault)
    session = None
    try:
        session = hf.open("xrt")
        measured(session, "stream", 2)
        print(fault, "no error")
    except (hf.Error, MemoryError) as error:
        if not all(word in line_of(error) for word in words):
            print(fault, error)
    plan("")
    if session:
        assert measured(session, "stream", 2).verified, fault
        session.close()
    if standin.standin_objects():
        print(fault, standin.standin_objects(), "objects")
"""
FAILING = [
    ("xrtDeviceOpen:1:5", []),
    *(
        (f"{function}:{nth}:{kind}", [function, why])
        for function, nth in (
            ("xrtDeviceOpen", 2),
            ("xrtDeviceLoadXclbin", 1),
            ("xrtPLKernelOpen", 2),
            ("xrtKernelArgGroupId", 1),
            ("xrtBOAlloc", 1),
            ("xrtBOMap", 2),
            ("xrtBOSync", 3),
            ("xrtRunOpen", 1),
            ("xrtRunSetArg", 5),
            ("xrtRunStart", 2),
        )
        for kind, why in (
            ("5", "Input/output error: planned fault of"),
            ("12", "Cannot allocate memory"),
            ("fail", "no reason given"),
        )
    ),
    *(
        (
            f"kernel:2:state={state}",
            ['kernel "stream_apply" (unit "stream_apply_', word],
        )
        for state, word in ((5, "error"), (6, "abort"), (8, "timeout"), (10, "unknown"))
    ),
    ("kernel:0:slow,xrtRunWaitFor:1:state=5", ["error"]),  # the run goes on
    ("xrtKernelArgGroupId:1:state=33", ["in memory 33, which the xclbin does not"]),
]


def test_what_fails_is_a_line_and_the_session_is_of_use(folder, setting):
    planned = [(f, w) for f, w in FAILING if not f.startswith("xrtDeviceOpen:1")]
    answer = python(f"{head(folder)}\nplanned = {planned}\n{FAILS}", **setting)
    assert (answer.stdout, answer.returncode) == ("", 0), answer.stderr
    assert answer.stderr == "", "XRT's words are in the line alone"


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("kernel:1:hang", 'kernel "stream_apply" (unit "stream_apply_'),
        ("xrtBOSync:1:hang", "a copy"),
        ("xrtDeviceLoadXclbin:1:hang", "xrtDeviceLoadXclbin"),
    ],
)
def test_what_never_ends_is_a_line_on_all_ranks(mpirun, folder, setting, fault, what):
    """Of rank 0 alone: the other one is told, unless rank 0 gets no core for 3 s."""
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt', comm=comm)\n"
        f"if rank == 0: plan({fault!r})\n"
        "try: measured(session, 'stream', 2, deadline=2)\n"
        "except hf.Error as error: say(rank, error)\n"
        "session.close()"
    )
    answer = mpirun(2, script, **setting)
    assert answer.returncode == 0, answer.stderr
    first, second = sorted(answer.stdout.splitlines())
    assert (first[:2], second[:2]) == ("0 ", "1 ")
    assert what in first
    assert what in second or "rank 0, which does not answer" in second
    assert "within 2 s" in first or "the deadline of 2 s has passed" in first


# A process for each, of one that has not loaded XRT yet: they wait side by side.
ALONE = """
import sys
def wanted(fault):
    session = hf.open("xrt", deadline=5)
    plan(fault)
    try:
        measured(session, "stream", deadline=5)
        said = "verified"
    except hf.Error as error:
        said = str(error)
    session.close()
    try:
        hf.open("xrt", deadline=5).close()
    except hf.Error as error:
        said += "; " + str(error)
    return said
children = {}
for fault in planned:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writes, wanted(fault).encode())
        sys.exit()
    os.close(writes)
    children[fault] = pid, reads
told = {}
for fault, (pid, reads) in children.items():
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    told[fault] = code, os.read(reads, 10000).decode()
print(json.dumps(told))
"""
LATE = "has not ended within 5 s", "has not returned from"
GIVEN_UP = "; XRT has not returned from {}: start a new process"
HANGS = {
    "xrtPLKernelOpen": GIVEN_UP,
    "xrtKernelArgGroupId": GIVEN_UP,
    "xrtBOAlloc": GIVEN_UP,
    "xrtBOMap": GIVEN_UP,
    "xrtBOSync": GIVEN_UP,
    "xrtRunOpen": "",  # which a thread of the device waits for, as for what follows
    "xrtRunSetArg": "",
    "xrtRunStart": "",
    "xrtRunWaitFor": "",
}
FREES = ["xrtRunClose", "xrtKernelClose", "xrtBOFree", "xrtDeviceClose"]


@pytest.fixture(scope="module")
def alone(folder):
    """What each of these faults leads to in a process of its own: exit code, words."""
    planned = [f"{name}:1:hang" for name in [*HANGS, *FREES]]
    planned += [f"{name}:1:5" for name in FREES]
    script = f"{head(folder)}\nplanned = {planned}\n{ALONE}"
    answer = python(script, XILINX_XRT=str(folder))
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("name", HANGS)
def test_a_function_that_hangs_is_a_line_by_the_deadline(alone, name):
    code, said = alone[f"{name}:1:hang"]
    assert code == 0
    assert any(words in said for words in LATE)
    assert said.endswith(HANGS[name].format(name))
    assert "\n" not in said


@pytest.mark.parametrize("name", FREES)
def test_what_hangs_when_it_is_given_back_ends_no_run(alone, name):
    """The process ends in order, and calls XRT no more."""
    assert alone[f"{name}:1:hang"] == [0, "verified" + GIVEN_UP.format(name)]


@pytest.mark.parametrize("name", FREES)
def test_what_fails_when_it_is_given_back_ends_no_process(alone, name):
    assert alone[f"{name}:1:5"] == [0, "verified"]
