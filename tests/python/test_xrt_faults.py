"""Faults planted in a stand-in for XRT: none ends in a run that says verified."""

import json
from itertools import chain
from pathlib import Path

import pytest
from conftest import ROOT, build_dev, mpirun_command, python, start

from xrt_session import BUILDS, SMALL, head, xclbin

pytest_plugins = ["xrt_session"]

FAULTS = """
def tried(name, fault):
    plan(fault)
    try:
        right = measured(session, name, **more).verified
    except hf.Error:
        right = False
    return right and standin.standin_harms() > 0
session = hf.open("xrt")
measured(session, name, **more)
plan("")
assert measured(session, name, **more).verified
found = []
n = {function: calls(function) for function, _ in planned}
for function, kind in planned:
    for at in range(n[function] + 1):  # 0: all
        fault = f"{function}:{at}:{kind}"
        if tried(name, fault):
            found.append(fault)
plan("")
assert measured(session, name, **more).verified, "the session is of use"
session.close()
assert standin.standin_objects() == 0
print(json.dumps(found))
"""


# Numbers of copies that do no harm. Writes of zeros are not counted: kernels write what
# is checked there. Nor is a kernel that runs twice and writes the same again a harm.
# gemm: what is put where the product is to come.
# graph: what spoils its state and updates, before each of two samples of two roots:
# without it, what is lost is seen. randomaccess: a table that the host overwrites, or
# has checked. stream: the array that a sample writes first.
SAMPLES = [29 * root + 13 * sample for root in range(2) for sample in range(2)]
HARMLESS_LOST = {
    "gemm": {4, 10},
    "graph": {at + k for at in SAMPLES for k in (24, 25, 26)},
    "randomaccess": {2, 5, 6, 9},
    "stream": set(range(3, 48, 6)),
}
# fft: a root of unity that no product of two numbers up to 7 has. fft, gemm: what the
# host gives back when it has checked it. graph: counts of no superstep, too. transfer:
# what later steps write over, as they do over one end of most copies.
HARMLESS_FLIPS = HARMLESS_LOST | {
    "fft": {2, 4, 7},
    "gemm": {4, 6, 10, 12},
    "graph": {at + k for at in SAMPLES for k in (24, 25, 26, 28, 29)},
    "transfer": {10, 13, 14, 15},
}
HARMLESS_CUTS = {
    "head": HARMLESS_LOST | {"transfer": {13}},
    "tail": HARMLESS_LOST | {"graph": HARMLESS_FLIPS["graph"], "transfer": {14, 15}},
}


KINDS = {
    "lost": HARMLESS_LOST,
    "head": HARMLESS_CUTS["head"],
    "tail": HARMLESS_CUTS["tail"],
    "flip": HARMLESS_FLIPS,
}


def copies(kind, numbers):
    return [f"xrtBOSync:{number}:{kind}" for number in sorted(numbers)]


@pytest.mark.parametrize("name", SMALL)
def test_what_is_lost_or_damaged_is_unverified(folder, setting, name):
    """Kernels, copies, their halves, and bits of them: each of a run, and all."""
    more = {"sources": 2} if name == "graph" else {}
    planned = [("kernel", "lost"), *(("xrtBOSync", kind) for kind in KINDS)]
    given = f"name = {name!r}; planned = {planned}; more = {more}"
    answer = python(f"{head(folder)}\n{given}\n{FAULTS}", **setting)
    assert answer.returncode == 0, answer.stderr
    found = [copies(kind, known.get(name, ())) for kind, known in KINDS.items()]
    assert json.loads(answer.stdout) == list(chain.from_iterable(found))


# Reads before a sample's last one, but for the one that is kept: in this sample later
# ones write over all but their beginnings. With blocks of 8 B, what no step of the
# warm-up reads.
HARMLESS_READS = {
    (kind, size): {first, first + 1}
    for kind in ("tail", "page")
    for size, first in ((8192, 5), (1 << 16, 4))
} | {("head", 8): {1}}


@pytest.mark.parametrize("size", [8, 8192, 1 << 16])
def test_a_read_that_is_lost_is_unverified(folder, setting, size):
    """Of most reads nothing but what was spoiled stays to be checked."""
    kinds = ["lost", "head", "tail", "page"]
    planned = [("xrtBOSync", kind) for kind in kinds]
    more = {"part": "read", "sizes": [size]}
    given = f"name = 'transfer'; planned = {planned}; more = {more}"
    answer = python(f"{head(folder)}\n{given}\n{FAULTS}", **setting)
    assert answer.returncode == 0, answer.stderr
    found = [copies(kind, HARMLESS_READS.get((kind, size), ())) for kind in kinds]
    assert json.loads(answer.stdout) == list(chain.from_iterable(found))


PAIRS = """
session = hf.open("xrt")
measured(session, name, **more)
plan("")
assert measured(session, name, **more).verified
found = []
for at in range(1, calls("xrtBOSync")):
    for second in (at + 1, at + 2):
        plan(f"xrtBOSync:{at}:lost,xrtBOSync:{second}:lost")
        try:
            right = measured(session, name, **more).verified
        except hf.Error:
            right = False
        if right and standin.standin_harms() == 2:
            found.append((at, second))
session.close()
print(json.dumps(found))
"""


@pytest.mark.parametrize(("name", "more"), [("graph", {"sources": 1}), ("ptrans", {})])
def test_two_copies_that_are_lost_are_unverified(folder, setting, name, more):
    """Where what was spoiled is sent on, and a table that two kernels agree on."""
    script = f"{head(folder)}\nname = {name!r}; more = {more}\n{PAIRS}"
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr
    harmless = HARMLESS_LOST.get(name, ())
    for pair in json.loads(answer.stdout):
        assert {*pair} <= {*harmless}


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "n"), [(1, 2), (2, 1)])
def test_the_harness_finds_no_fault_that_verifies(folder, setting, tmp_path, ranks, n):
    """The one that tries every benchmark on every device: tests/c/harness.c.

    Each in processes of its own: a kernel that outlasts a short deadline on a busy host
    keeps its card, on which no other program can be put then.
    """
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
    words = [".", "device=xrt", "guarded=1", f"share={4 * ranks}"]
    words += [f"binaries={tmp_path}", f"knobs={text}"]
    program = ROOT / "build" / "dev" / "tests" / "test_harness"
    command = [*mpirun_command(), "-n", str(ranks), str(program), *words]
    for name in SMALL:
        answer = start([*command, "exchange=pcie", f"bench={name}"], setting)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert f"\n{name} " in answer.stdout
