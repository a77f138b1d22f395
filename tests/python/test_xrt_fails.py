"""Calls of XRT that fail or hang: a line on all ranks, by the deadline."""

import json
import os
import re

import pytest
from conftest import ours, python

from xrt_session import head, link

pytest_plugins = ["xrt_session"]

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
            ("5", f"{os.strerror(5)}: planned fault of"),
            ("12", os.strerror(12)),
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
    assert "XRT" not in answer.stderr, "its words are in the line alone"


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("kernel:1:hang", r'kernel "stream_apply" \(unit "stream_apply_[12]"\)'),
        ("xrtBOSync:1:hang", "a copy"),
        ("xrtDeviceLoadXclbin:1:hang", "xrtDeviceLoadXclbin"),
    ],
)
def test_what_never_ends_is_a_line_on_all_ranks(mpirun, folder, setting, fault, what):
    """Of rank 0 alone, which tells the other one, if not from within a copy.

    The deadline of either may pass first.
    """
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt', comm=comm)\n"
        f"if rank == 0: plan({fault!r})\n"
        "try: measured(session, 'stream', 2, deadline=8)\n"
        "except hf.Error as error: say(rank, error)\n"
        "session.close()"
    )
    answer = mpirun(2, script, **setting)
    assert answer.returncode == 0, answer.stderr
    first, second = sorted(answer.stdout.splitlines())
    told = (
        f"rank 0(: {what} has not ended within 8 s: "
        "open a new session, with a longer deadline if it takes longer"
        f"| waits for {what}; the deadline of 8 s has passed)"
    )
    silent = (
        "rank 1 waits for rank 0, which does not answer; the deadline of 8 s has passed"
    )
    if what == "a copy" and second == f"1 {silent}":
        assert first[2:] == silent or re.fullmatch(f"0 {told}", first)
    else:
        assert re.fullmatch(f"0 {told}", first)
        assert second == f"1 {first[2:]}"


LEFT = "a copy has not ended within 2 s: open a new session"
STUCK = (
    f'hpccfpga: a copy of device "{link.SHELL}" has not ended within 2 s, and no '
    "signal reaches its thread: the process ends\n"
)


@pytest.mark.parametrize(
    ("meanwhile", "code", "said", "told"),
    [
        ("signal.signal(signal.SIGRTMAX, print)", 0, LEFT, ""),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMAX])", 0, LEFT, ""),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))", 3, "", STUCK),
    ],
)
def test_a_copy_is_left_by_the_deadline_or_the_process_ends(
    folder, setting, meanwhile, code, said, told
):
    """Whatever has become of the signals since the first copy of its thread."""
    script = (
        f"{head(folder)}\n"
        "import signal\n"
        "session = hf.open('xrt')\n"
        "assert measured(session, 'stream').verified\n"
        f"{meanwhile}\n"
        "plan('xrtBOSync:1:hang')\n"
        "try: measured(session, 'stream', deadline=2)\n"
        "except hf.Error as error: print(error)\n"
    )
    answer = python(script, **setting)
    assert (answer.returncode, ours(answer.stderr)) == (code, told)
    assert answer.stdout.startswith(said)


@pytest.mark.parametrize("name", ["xrtBOSync", "kernel", "xrtBOAlloc", "xrtRunOpen"])
def test_time_in_which_a_process_stands_still_is_none_of_xrt(folder, setting, name):
    script = (
        f"{head(folder)}\n"
        "import signal, subprocess, threading, time\n"
        "def stop():\n"
        f"    while calls({name!r}) == 0: time.sleep(0.01)\n"
        "    time.sleep(0.5)\n"  # the call has been seen meanwhile
        "    goes_on = f'sleep 5; kill -CONT {os.getpid()}'\n"
        "    subprocess.Popen(['sh', '-c', goes_on])\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "session = hf.open('xrt')\n"
        "assert measured(session, 'stream').verified\n"
        f"plan('{name}:1:late=6000')\n"
        "threading.Thread(target=stop).start()\n"
        "print(measured(session, 'stream', deadline=4).verified)"
    )
    answer = python(script, **setting)
    assert (answer.stdout, answer.returncode) == ("True\n", 0), answer.stderr


@pytest.mark.parametrize(
    ("fault", "begun", "nth", "run"),
    [
        ("kernel:1:hang", "xrtRunStart", 1, "'stream', deadline=300"),
        ("xrtBOSync:0:late=300", "xrtBOSync", 1, "'transfer', sizes=[4096]"),
        ("xrtBOSync:0:late=300", "xrtBOSync", 1, f"'transfer', sizes=[{32 << 20}]"),
        ("xrtBOSync:3:late=1000", "xrtBOSync", 3, "'transfer', reps=5"),
        ("xrtBOSync:6:late=1000", "xrtBOSync", 6, "'stream', reps=5"),
    ],
)
def test_a_process_ends_beside_what_xrt_does(folder, setting, fault, begun, nth, run):
    """XRT would abort where the thread that waits for a kernel closed its run then.

    It would crash where a buffer was given back under a copy, which the caller makes
    or, if it is long, a thread. Of the last copies before Python is asked for signals,
    some end after it has.
    """
    script = (
        f"{head(folder)}\n"
        "import sys, threading, time\n"
        "session = hf.open('xrt')\n"
        "measured(session, 'stream')\n"  # the card has an xclbin
        f"plan({fault!r})\n"
        f"run = lambda: measured(session, {run})\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        f"while calls({begun!r}) < {nth}: time.sleep(0.01)\n"
        "sys.exit(0)"
    )
    answer = python(script, **setting)
    assert (answer.returncode, ours(answer.stderr)) == (0, "")


@pytest.mark.parametrize(
    ("hangs", "name"),
    [
        ("xclProbe", "xclProbe"),
        ("xrtDeviceOpen", "xrtDeviceOpen"),
        ("xrtDeviceToXclDevice", "xrtDeviceOpen"),  # which asks what it has opened
        ("xclGetDeviceInfo2", "xrtDeviceOpen"),
        ("xrtDeviceClose", "xrtDeviceClose"),
        ("xclGetSysfsPath", "xclGetSysfsPath"),
    ],
)
def test_cards_are_looked_at_by_the_deadline(folder, setting, tmp_path, hangs, name):
    """Of the session; the line tells how long it was waited for."""
    setting = setting | {"HF_STANDIN_SYSFS": str(tmp_path)}
    script = (
        f"{head(folder)}\n"
        f"plan('{hangs}:1:hang')\n"
        "for _ in range(2):\n"
        "    try: hf.open('xrt', deadline=1)\n"
        "    except hf.Error as error: print(error)"
    )
    answer = python(script, **setting)
    assert answer.stdout.splitlines() == [
        f"{name} has not ended within 1 s",
        f"XRT has not returned from {name}: start a new process",
    ], answer.stderr


def test_a_call_waits_for_another_by_its_own_deadline(folder, setting):
    """One that hangs has the longer one: it is not left before that."""
    script = (
        f"{head(folder)}\n"
        "from threading import Thread\n"
        "import time\n"
        "one = hf.open('xrt', deadline=300)\n"
        "plan('xrtBOAlloc:1:hang')\n"
        "run = lambda: measured(one, 'stream')\n"
        "Thread(target=run, daemon=True).start()\n"
        "while not calls('xrtBOAlloc'): time.sleep(0.01)\n"
        "try: hf.open('xrt', deadline=1)\n"
        "except hf.Error as error: print(error, flush=True)\n"
        "os._exit(0)"
    )
    answer = python(script, **setting)
    line = "xclProbe has not begun within 1 s: XRT has not returned from xrtBOAlloc"
    assert line in answer.stdout, answer.stderr


def test_after_a_load_that_fails_a_card_is_programmed_anew(folder, setting):
    """It may have lost what it held."""
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt')\n"
        "assert measured(session, 'stream').verified\n"
        "plan('xrtDeviceLoadXclbin:1:5')\n"
        "try: measured(session, 'gemm')\n"
        "except hf.Error as error: print(error)\n"
        "assert measured(session, 'stream').verified\n"
        "print(calls('xrtDeviceLoadXclbin'))"
    )
    answer = python(script, **setting)
    error, n = answer.stdout.splitlines()
    assert f"xrtDeviceLoadXclbin: {os.strerror(5)}" in error
    assert n == "2"


SILENT = {
    "xrtIniStringSet": f"{link.SHELL} True 23.5",  # first: when XRT is loaded
    "xrtDeviceToXclDevice": "card 0 True None",
    "xclGetDeviceInfo2": "card 0 True 23.5",
    "xclGetSysfsPath": f"{link.SHELL} True None",
    "xclProbe": "no Xilinx card: XRT finds none",
}


def test_a_card_that_does_not_tell_of_itself_computes(folder, setting, tmp_path):
    """If there is one: neither shell, nor power, nor XRT's words."""
    path = tmp_path / "0" / "xmc.u.1" / "xmc_power"
    path.parent.mkdir(parents=True)
    path.write_text("23500000\n")
    script = (
        f"{head(folder)}\n"
        f"for name in {[*SILENT]}:\n"
        "    plan(f'{name}:0:fail')\n"
        "    try:\n"
        "        with hf.open('xrt') as session:\n"
        "            r = measured(session, 'stream')\n"
        "            power = r.columns.get('power')\n"
        "            watts = power and float(power.values[0])\n"
        "            print(session.device['name'], r.verified, watts)\n"
        "    except hf.Error as error: print(error)"
    )
    answer = python(script, HF_STANDIN_SYSFS=str(tmp_path), **setting)
    assert answer.stdout.splitlines() == [*SILENT.values()], answer.stderr


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
LATE = (
    "{} has not ended within 5 s: open a new session, with a longer deadline if it "
    "takes longer"
)
GIVEN_UP = "XRT has not returned from {}: start a new process"
UNIT = 'kernel "stream_apply" (unit "stream_apply_1")'
HANGS = {  # what is late
    "xrtPLKernelOpen": "xrtPLKernelOpen",
    "xrtKernelArgGroupId": "xrtKernelArgGroupId",
    "xrtBOAlloc": "xrtBOAlloc",
    "xrtBOMap": "xrtBOMap",
    "xrtBOSync": "a copy",
    "xrtRunOpen": UNIT,
    "xrtRunSetArg": UNIT,
    "xrtRunStart": UNIT,
    "xrtRunWaitFor": UNIT,
    "xrtRunState": UNIT,
}
OF_A_RUN = ["xrtRunSetArg", "xrtRunStart", "xrtRunWaitFor", "xrtRunState"]
FREES = ["xrtRunClose", "xrtKernelClose", "xrtBOFree", "xrtDeviceClose"]


def hanging(name):
    """The fault; of a run that takes its time the state is asked."""
    return ("kernel:0:late=300," if name == "xrtRunState" else "") + f"{name}:1:hang"


def test_a_function_that_hangs_is_a_line_by_the_deadline(folder):
    """When a buffer, a run or a card is given back it ends no run, nor the process."""
    planned = [hanging(name) for name in [*HANGS, *FREES]]
    planned += [f"{name}:1:5" for name in FREES]
    script = f"{head(folder)}\nplanned = {planned}\n{ALONE}"
    answer = python(script, XILINX_XRT=str(folder))
    assert answer.returncode == 0, answer.stderr
    alone = json.loads(answer.stdout)
    for name, late in HANGS.items():
        code, said = alone[hanging(name)]
        line, _, then = said.partition("; ")
        given_up = GIVEN_UP.format(name)
        lines = [LATE.format(late)]
        if name == "xrtRunOpen":  # two threads wait for it
            lines += [f"{name} has not ended within 5 s", given_up]
        assert code == 0, (name, said)
        assert line in lines, name
        assert then == ("" if name in OF_A_RUN else given_up), name
    for name in FREES:
        assert alone[hanging(name)] == [0, "verified; " + GIVEN_UP.format(name)]
        assert alone[f"{name}:1:5"] == [0, "verified"], name
