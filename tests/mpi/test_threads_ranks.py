"""Ranks whose process has more threads than the one that uses a session."""


def test_other_threads_go_on_while_a_session_is_dropped(mpirun):
    """Its end waits for the other ranks, here for a second, as `close` does."""
    answer = mpirun(
        2,
        "import threading, time\n"
        "session = hf.open(device='host', exchange='host', comm=comm)\n"
        "ticks, stop = [], threading.Event()\n"
        "def tick():\n"
        "    while not stop.wait(0.01): ticks.append(time.monotonic())\n"
        "thread = threading.Thread(target=tick)\n"
        "thread.start()\n"
        "if rank == 1: time.sleep(1)\n"
        "start = time.monotonic()\n"
        "del session\n"
        "end = time.monotonic()\n"
        "stop.set()\n"
        "thread.join()\n"
        "if rank == 0: say(end - start > 0.5, sum(start < t < end for t in ticks) > 5)",
    )
    assert answer.stdout == "True True\n", answer.stderr
