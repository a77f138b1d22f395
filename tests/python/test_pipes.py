"""Pipes of emulated channels lie in the folder of their job, and go with it."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import comes

from hpccfpga import emulation
from hpccfpga.keeper import new_mark
from processes import gone, rank_of

pytestmark = pytest.mark.skipif(
    not any("libintelocl_emu" in path for path in emulation.vendors()["libraries"]),
    reason="Intel's FPGA emulator is not here: pip install hpccfpga[intel]",
)


@pytest.mark.parametrize("killed", ["rank", "both"])
def test_pipes_of_what_is_killed_go_with_the_job(killed, tmp_path):
    words = ["run", "b_eff", "--ranks=2", "--sizes=1", "--reps=999931", "--quiet"]
    words += ["--exchange=channel", "--device=FPGA Emulation"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hpccfpga", *words],
        env=os.environ | {"TMPDIR": str(tmp_path), (mark := new_mark()): ""},
    )
    assert comes(lambda: len(list(tmp_path.rglob("hpccfpga-pipes-*/out*"))) >= 2)
    os.kill(rank_of(mark, 0), signal.SIGKILL)
    if killed == "both":  # the launcher, too
        process.kill()
    assert process.wait() == (3 if killed == "rank" else -signal.SIGKILL)
    assert gone(mark)
    assert comes(lambda: not list(tmp_path.iterdir()))


def test_a_folder_whose_name_no_kernel_can_hold(call, monkeypatch, tmp_path):
    (folder := tmp_path / 'a"b').mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    words = ["--exchange=channel", "--device=FPGA Emulation"]
    code, _, err = call("run", "b_eff", "--sizes=1", "--reps=1", *words)
    assert code == 2
    assert "a folder for pipes has no quote, backslash or newline in its name" in err
