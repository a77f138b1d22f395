"""Ranks whose process has more threads than the one that uses a session."""


def test_other_threads_go_on_while_a_session_is_dropped(mpirun, tmp_path):
    """A drop waits for the other rank, as `close` does, and that one for the thread."""
    answer = mpirun(
        2,
        "import pathlib, threading, time\n"
        f"ticked = pathlib.Path({str(tmp_path / 'ticked')!r})\n"
        "session = hf.open(device='host', exchange='host', comm=comm, deadline=20)\n"
        "begins, dropped = threading.Event(), threading.Event()\n"
        "def tick():\n"
        "    begins.wait()\n"
        "    for _ in range(20): time.sleep(0.01)\n"
        "    if not dropped.is_set(): ticked.touch()\n"
        "thread = threading.Thread(target=tick)\n"
        "if rank == 0: thread.start()\n"
        "end = time.monotonic() + 30\n"
        "while rank == 1 and not ticked.exists() and time.monotonic() < end:\n"
        "    time.sleep(0.01)\n"
        "begins.set()\n"
        "del session\n"
        "dropped.set()\n"
        "if rank == 0:\n"
        "    thread.join()\n"
        "    say(ticked.exists())",
    )
    assert answer.stdout == "True\n", answer.stderr
