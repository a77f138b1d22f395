"""A rank that does not start, is interrupted, or does not end: the others end, too."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GUARD, comes, ours

from hpccfpga import keeper
from hpccfpga.keeper import SHARED_MEMORY, new_mark
from hpccfpga.mpirun import TAG, command
from processes import gone, rank_of

RUN = [sys.executable, "-m", "hpccfpga", "run", "b_eff", "--sizes=1", "--reps=1"]

# In each rank, before anything else; `last` is rank 1.
SITE = """
import ctypes, os, signal, time
from pathlib import Path
rank = os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ.get('PMI_RANK')
if rank:
    from hpccfpga import ranks
    last, here = rank == '1', Path(os.environ['HERE'])
    world, leave = ranks.world, ranks.leave
"""


class Ranks:
    """A command on two ranks, whose files all lie in one folder."""

    def __init__(self, folder, words, script):
        body = script.replace("\n", "\n    ")
        (folder / "sitecustomize.py").write_text(f"{SITE}    {body}\n")
        (folder / "here").mkdir()
        self.folder, self.mark = folder, new_mark()
        own = {
            "HERE": str(folder / "here"),
            "OMPI_MCA_odls_base_sigkill_timeout": "0",
            "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
            "TMPDIR": str(folder / "temporary"),
        }
        (folder / "temporary").mkdir()
        if words[0] != sys.executable:  # an mpirun of its own
            own["OMPI_MCA_btl_vader_backing_directory"] = own["TMPDIR"]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | own | {self.mark: ""},
        )

    def end(self):
        """Exit code, output and our lines, once nothing of it is left."""
        told = self.process.communicate(timeout=GUARD)
        out, err = (re.sub(TAG.pattern, "", text, flags=re.M) for text in told)
        assert gone(self.mark)
        assert list((self.folder / "temporary").iterdir()) == []
        assert list(SHARED_MEMORY.glob(f"hpccfpga-{self.process.pid}-*")) == []
        return self.process.returncode, out, ours(err)


@pytest.fixture
def two(tmp_path):
    """Start a command on two ranks: two(words, script)."""
    started = []

    def start(words, script):
        started.append(Ranks(tmp_path, words, script))
        return started[-1]

    yield start
    for ranks in started:
        keeper.end(ranks.mark)


def test_a_rank_that_is_stopped_before_python_starts(two):
    """Under a user's own mpirun: nobody else looks for what is stopped."""
    script = '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || kill -STOP $$\nexec "$@"'
    words = [*command(), "-n", "2", "sh", "-c", script, "sh"]
    words += [*RUN, "--exchange=host", "--deadline=0.1"]
    code, out, line = two(words, "ranks.SHORTEST = 1.0").end()
    assert (code, out) == (3, "")
    assert line == "hpccfpga: rank 0 waited 2.1 s for the other ranks to start\n"


def test_a_rank_whose_end_of_mpi_does_not_return(two):
    """MPI first calls what deletes the attributes of a communicator: here, `pause`."""
    script = (
        "def leaves(*how, **more):\n"
        "    from mpi4py import MPI\n"
        "    ranks._patience, key = 0.5, ctypes.c_int()\n"
        "    library, hang = ctypes.CDLL(MPI.__file__), ctypes.CDLL(None).pause\n"
        "    comm = ctypes.c_void_p(MPI._handleof(MPI.COMM_SELF))\n"
        "    library.MPI_Comm_create_keyval(hang, hang, ctypes.byref(key), None)\n"
        "    if last:\n"
        "        library.MPI_Comm_set_attr(comm, key, None)\n"
        "    leave(*how, **more)\n"
        "ranks.leave = leaves"
    )
    words = [*command(), "-n", "2", *RUN, "--exchange=host"]
    code, out, line = two(words, script).end()
    assert code == 3
    assert "verified" in out
    assert line == "hpccfpga: rank 0 waited 0.5 s for MPI to end\n"


# What ranks do where they begin with MPI: the last one is interrupted there, by itself
# or while it waits for the other.
MOMENTS = {
    "in MPI_Init": (
        "def begins(deadline):\n"
        "    if not last: time.sleep(600)\n"
        "    return world(deadline)"
    ),
    "by itself, between MPI_Init and open": (
        "def begins(deadline):\n"
        "    comm = world(deadline)\n"
        "    if last: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return comm"
    ),
    "in open": (
        "def begins(deadline):\n"
        "    comm = world(deadline)\n"
        "    if not last: time.sleep(600)\n"
        "    (here / 'opens').touch()\n"
        "    return comm"
    ),
}


def is_there(running, moment):
    """Process of the last rank, where it is at a moment."""
    pid = rank_of(running.mark, 1)
    if pid and moment == "in MPI_Init":  # the first thing that mpi4py does
        return "mpi4py/MPI." in Path(f"/proc/{pid}/maps").read_text() and pid
    return (running.folder / "here" / "opens").exists() and pid


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    "words",
    [[*command(), "-n", "2", *RUN], [*RUN, "--ranks=2", "--exchange=channel"]],
    ids=["mpirun", "--ranks, channel"],
)
def test_an_interrupt_of_one_rank_while_all_start(two, words, moment):
    running = two(words, f"{MOMENTS[moment]}\nranks.world = begins")
    if not moment.startswith("by itself"):
        assert comes(lambda: is_there(running, moment))
        os.kill(rank_of(running.mark, 1), signal.SIGINT)
    code, out, lines = running.end()
    assert (code, out) == (130, "")
    if words[0] != sys.executable:  # mpirun asks the other to end, who may say so, too
        lines = lines.removeprefix("hpccfpga: interrupted\n") or lines
    assert lines == "hpccfpga: interrupted\n"
