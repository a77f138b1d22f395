"""What `hpccfpga graph check` finds in vertex programs."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import comes, ours
from vertex_programs import FIRST

from hpccfpga import sound
from processes import gone, leftovers

ORDER = ("a < b ? a : b", "b")
SHIFT = ("return told; }", "return told + (1 << (told % 40)); }")


@pytest.fixture
def program(tmp_path):
    """Write the program, changed: program((text, its replacement), ...)."""

    def make(*changes):
        text = FIRST
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "mine.h"
        path.write_text(text)
        return path

    return make


@pytest.fixture
def sanitizers(tmp_path):
    """Skip where no compiler makes programs that run under sanitizers."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    made = tmp_path / "nothing"
    cc = ["cc", sound.SANITIZERS, "-xc", "-", "-o", made]
    text = "int main(void) { return 0; }"
    built = subprocess.run(cc, input=text, capture_output=True, text=True)
    if built.returncode or subprocess.run(made, capture_output=True).returncode:
        pytest.skip("the C compiler has no sanitizers that work")


def alone(path):
    return [finding for _, finding in sound.alone(path, ())]


@pytest.mark.usefixtures("sanitizers")
def test_a_gather_and_a_shift_by_themselves(program):
    assert alone(program()) == [sound.FINE]
    commutes, *_ = alone(program(ORDER))
    assert "HF_GATHER does not commute" in commutes
    shifts, *_ = alone(program(SHIFT))
    assert shifts.startswith("mine.h:7:")
    assert "shift" in shifts


@pytest.mark.timeout(30)
@pytest.mark.usefixtures("sanitizers")
def test_a_long_name_among_what_sanitizers_tell(program):
    name = "f" * 4000
    function = f"__attribute__((noinline)) static int {name}(volatile int *p)"
    changes = ("HF_VERTEX", f"{function} {{ return p[2]; }}\nHF_VERTEX")
    calls = f"volatile int a[2] = {{0}}; return told + {name}(a); }}"
    found = alone(program(changes, ("return told; }", calls)))
    assert "memory: stack-buffer-overflow" in found


def test_what_does_not_run_is_not_fine(program, monkeypatch):
    """A library in front of AddressSanitizer keeps gcc's from its work."""
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    (said,) = alone(program(ORDER))
    assert "HF_GATHER does not commute" in said or said.startswith(sound.SKIPPED)


@pytest.mark.usefixtures("sanitizers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_check_that_is_ended(program, tmp_path, number):
    endless = ("v->first = got;", "for (volatile int on = 1; on;) v->first = got;")
    (folder := tmp_path / "tmp").mkdir()
    words = [sys.executable, "-m", "hpccfpga", "graph", "check", program(endless)]
    there = os.environ | {"TMPDIR": str(folder)}
    process = subprocess.Popen(words, env=there, stderr=subprocess.PIPE, text=True)
    begun = comes(lambda: any("/sound " in words for words in leftovers(str(folder))))
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert begun
    assert gone(str(folder))
    if number == signal.SIGTERM:
        assert (process.returncode, ours(said)) == (143, "hpccfpga: terminated\n")
        assert not any(folder.iterdir())


@pytest.mark.usefixtures("sanitizers")
def test_results_that_differ_are_named(program, monkeypatch):
    monkeypatch.setattr(sound, "WAYS", sound.WAYS[2:3])
    monkeypatch.setattr(sound, "GRAPHS", ("kron:6",))
    ways = sound.check(program())
    assert ways[-1]["messages"] > 0
    findings = [r["finding"] for r in ways]
    assert {finding.partition(":")[0] for finding in findings} == {sound.FINE}
    *_, last = sound.check(program(ORDER))
    assert "kron:6: 13 vertices are not as the plainest way leaves" in last["finding"]


def test_a_program_that_ends_its_process_is_a_finding(program, monkeypatch):
    monkeypatch.setattr(sound, "WAYS", sound.WAYS[2:3])
    wild = ("v->first = got;", "v->first = got; *(volatile uchar *)5 = 1;")
    *_, last = sound.check(program(wild))
    assert "rank 0" in last["finding"]
    assert "signal 11" in last["finding"]


def test_an_endless_program_is_a_finding_soon(program, monkeypatch):
    monkeypatch.setattr(sound, "WAYS", sound.WAYS[2:3])
    monkeypatch.setattr(sound, "alone", lambda *_: ())
    monkeypatch.setattr(sound, "DEADLINE", 1)
    endless = ("v->first = got;", "for (volatile int on = 1; on;) v->first = got;")
    (way,) = sound.check(program(endless))
    assert "within 1 s" in way["finding"]


def test_what_failed_is_told_in_its_own_words(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess
    monkeypatch.setattr(sound, "LONGEST", 1)
    slow = sound._done(["sleep", "60"], str(tmp_path))
    assert slow.returncode < 0
    assert sound._why(slow) == "it does not end within 1 s"
    assert sound._why(done([], 1, "", "a\nb: error: c\nd\n")) == "b: error: c"
    assert sound._why(done([], -9, "", "")) == "signal 9 ended it"
    assert sound._wrong(float("nan")).startswith("not verified: counts, digests")
    assert sound._wrong(13.0).startswith("13 vertices are not")
    assert sound._wrong(1.5).startswith("not verified: 1.5 times the error")


def test_scalars_are_a_list_as_of_a_run(call, program, monkeypatch):
    monkeypatch.setattr(sound, "WAYS", ())
    given = []
    monkeypatch.setattr(sound, "alone", lambda _, value: given.append(value) or ())
    path = str(program())
    code, out, _ = call("graph", "check", path, "--value", "3,0.5")
    assert code == 0
    assert out.startswith(f"{path} on small graphs, every way, with 1 to 3 ranks ...\n")
    assert call("graph", "check", path)[0] == 0
    assert given == [[3, 0.5], []]
    code, _, err = call("graph", "check", path, "--value", "3,x")
    assert (code, err.count("\n")) == (2, 1)
    assert '--value: "x" is not a number such as 0.5' in err


def test_a_program_that_lacks_a_part_is_refused(program, command):
    done = command("graph", "check", str(program(("HF_GATHER", "HF_GOTHER"))))
    assert done.returncode == 2
    assert "mine.h lacks HF_GATHER" in done.stderr
