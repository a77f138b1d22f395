"""What a rank tells a launcher that is slow to listen."""

import os
import select
import subprocess
import sys
import threading
import time

import pytest

from hpccfpga import ranks


@pytest.fixture
def pipe(monkeypatch, tmp_path):
    """The launcher's end, of which nobody reads."""
    path = tmp_path / "events"
    os.mkfifo(path)
    monkeypatch.setattr(ranks, "_pipe_path", str(path))
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield end
    os.close(end)


def fill(count=5000):
    for number in range(count):
        ranks.tell("row", number, count, {"time": 1e-6})
    for _ in range(16):  # and what is shorter than any other word
        ranks.tell("row")


def lines(pipe):
    """All that is in the pipe; each line is whole."""
    found = b""
    while select.select([pipe], [], [], 0)[0] and (data := os.read(pipe, 1 << 16)):
        found += data
    return list(ranks.Hearing().take(found.decode()))


def test_rows_that_nobody_reads_are_dropped(pipe):
    fill()
    told = [row for row in lines(pipe) if row[1:]]
    assert [row[:2] for row in told] == [["row", n] for n in range(len(told))]
    assert 0 < len(told) < 5000


@pytest.mark.parametrize("word", ["error", "end"])
def test_the_last_word_waits_until_it_is_read(pipe, monkeypatch, word):
    monkeypatch.setattr(ranks, "HEARING", 60.0)
    fill()
    found = []
    thread = threading.Timer(0.3, lambda: found.extend(lines(pipe)))
    thread.start()
    if word == "end":
        ranks.done()
    else:
        ranks.report(ValueError("bad"), "", alone=False)
    thread.join()
    found += lines(pipe)
    assert found[-1][:2] == [word, 0]


def test_the_last_word_does_not_wait_for_ever(pipe, monkeypatch):
    monkeypatch.setattr(ranks, "HEARING", 0.2)
    fill()
    start = time.monotonic()
    ranks.done()
    assert time.monotonic() - start >= 0.2
    assert "end" not in [told[0] for told in lines(pipe)]


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001d11e", '"'])
def test_a_long_error_is_cut_to_what_a_pipe_takes_at_once(pipe, letter):
    ranks.report(ValueError(f"sizes: {letter * 9000}"), "", alone=False)
    ((word, rank, told),) = lines(pipe)
    assert (word, rank, told["error_type"]) == ("error", 0, "ValueError")
    assert told["error"].startswith(f"sizes: {letter}")
    assert "..." in told["error"]


@pytest.mark.parametrize("why", ["signals(ears, full, 0.1", "until(0.1"])
def test_the_guard_does_not_wait_for_a_reader(why):
    """A line that a full pipe does not take is lost; the process ends all the same."""
    script = (
        "import os, time\nfrom hpccfpga import _core\n"
        "(ears, signals), (_, full) = os.pipe(), os.pipe()\n"
        "os.set_blocking(full, False)\n"
        "try:\n    while True: os.write(full, bytes(4096))\n"
        "except BlockingIOError: os.set_blocking(full, True)\n"
        "_core.guard_signals(ears, full, 60, 6, b'line')\n"
        f"_core.guard_{why}, 7, b'line')\n"
        "os.write(signals, b'x')\n"
        "time.sleep(20)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=60)
    assert done.returncode == 7
