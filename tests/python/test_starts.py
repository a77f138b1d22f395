"""The program of thousands of starts: what it sees, and a short form."""

import re
import shlex
import subprocess
import sys

import pytest
from conftest import GUARD, ROOT

sys.path.append(str(ROOT / "benchmarks"))
import starts

CRASH = 'exec {python} -c "import ctypes; ctypes.string_at(0)"'


def started(script, monkeypatch):
    monkeypatch.setattr(starts, "COMMAND", ["sh", "-c", script])
    monkeypatch.setattr(starts, "LATE", 0.1)
    return starts.start([])


@pytest.mark.parametrize(
    ("script", "miss", "said"),
    [
        ("exit 0", "", "code 0, "),
        ("kill -SEGV $$", "signal", "code -11, "),
        (
            CRASH.format(python=shlex.quote(sys.executable)),
            "signal",
            "Segmentation fault\n(.*\n)+",
        ),
        ("echo a rank was killed by signal 6 >&2; exit 3", "signal", "by signal 6"),
        ("exit 1", "wrong data", "code 1, "),
        ("echo no memory >&2; exit 3", "failure", "no memory"),
        ("sleep 60 &", "left behind", "sleep$"),
        ('> "$TMPDIR/a"', "left behind", "/a$"),
    ],
)
def test_each_miss_is_told(script, miss, said, monkeypatch, tmp_path):
    monkeypatch.setattr(starts.tempfile, "tempdir", str(tmp_path))
    end = started(script, monkeypatch)
    assert end.miss == miss
    assert re.search(said, end.said)
    assert bool(list(tmp_path.iterdir())) == bool(miss), "what there is to see"


def test_what_does_not_end_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(starts.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(starts, "LONGEST", 0.2)
    assert started("sleep 60", monkeypatch).miss == "no end"


def test_starts_end_in_order():
    """A short form of what is done by the thousand: alone, and on two ranks."""
    words = [sys.executable, starts.__file__, "--starts=2", "--at-once=2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("\n2 starts: 0 misses\n")
    assert "--ranks=2" in done.stdout
