"""Ranks on two machines by `hosts`: results, whence they come, and what ends them."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import GUARD, ours

from hpccfpga.mpirun import command as mpirun_command
from nodes import FAR, NEAR, SPACE, WITHOUT, Nodes, why_not

BOTH = f"{NEAR},{FAR}"
SMALL = ["--exchange", "host", "--sizes", "64", "--reps", "2", "--quiet"]
HERE = [sys.executable, "-m", "hpccfpga"]
LONG = [
    *HERE,
    "run",
    "b_eff",
    "--exchange",
    "host",
    "--sizes",
    "64",
    "--reps",
    "1000000",
]

# One mpirun for each scheme: the start of Python takes longer than the measurements.
JOBS = f"""
import json
from hpccfpga.job import job, run_task
from hpccfpga.launch import start
small = dict(reps=2, warmup=1)
tasks = [
    run_task("b_eff", None, dict(sizes=[1, 1 << 20], loop_upper=2, **small)),
    run_task("ptrans", None, dict(sizes=[128], block_size=32, **small)),
    run_task("linpack", None, dict(sizes=[128], block_size=32, **small)),
    run_task("graph", None, dict(graph="kron:8", **small)),
]
full = run_task("b_eff", None, dict(sizes=[{SPACE // 4}], loop_upper=2, **small))
for scheme in ("pipelined", "shared"):
    for r in start(job(scheme, None, *tasks, full), 3, hosts=["{FAR}:2", "{NEAR}:1"]):
        own = r.provenance
        print(json.dumps([r.benchmark, r.exchange, r.verified, sorted(own["hosts"]),
                          own["notes"], own["command"], own["hosts"][0],
                          len(own["cores"])]))
"""

# Sizes of all benchmarks that take no time.
LEAST = (
    "b_eff.sizes=64 ptrans.sizes=128 ptrans.block-size=32 linpack.sizes=128 "
    "linpack.block-size=32 graph.graph=kron:8 gemm.sizes=64 fft.log-size=6 "
    "fft.batch=16 stream.size=1024 randomaccess.sizes=64"
)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    if why := why_not():
        pytest.skip(why)
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.end()


@pytest.fixture
def fails(nodes):
    """Run what must fail, by one line and with nothing left: its code and the line."""

    def run(*words):
        done = nodes.run(*HERE, *words)
        (line,) = ours(done.stderr).splitlines()
        assert nodes.empty()
        return done.returncode, line

    return run


def test_results_are_right_and_say_where(nodes):
    """Three ranks: two of one node, so that schemes of chunks have both kinds of pairs.

    The last run over each wants more memory than a node has.
    """
    done = nodes.run(sys.executable, "-c", JOBS)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 10
    full = "B each: No space left on device"
    here = len(os.sched_getaffinity(0))
    pairs = "5 of 9 pairs of ranks exchange by common memory, the others by messages"
    for n, (benchmark, scheme, verified, hosts, notes, *more) in enumerate(told):
        command, first, cores = more
        assert verified, (benchmark, scheme)
        assert hosts == [FAR, FAR, NEAR]
        last = n % 5 == 4
        assert (pairs in notes) is not last
        assert any(full in note for note in notes) is last, notes
        assert command.endswith(f" --ranks=3 --hosts={FAR}:2,{NEAR}:1")
        assert cores == (here // hosts.count(first) or here), "of rank 0"
    assert nodes.empty()


def test_scaling_from_a_machine_without_ranks(nodes):
    """Alone on the other machine, rank 0 gives its results by mpirun."""
    words = ["--ranks", "1,2", "--hosts", f"{FAR},{NEAR}"]
    done = nodes.run(
        *HERE, "scaling", "b_eff", *words, *SMALL, "--json", "/dev/shm/r.json"
    )
    assert done.returncode == 0, done.stderr
    inside = subprocess.run(
        [*nodes.near.enter, "sh", "-c", "cat /dev/shm/r.json; rm /dev/shm/r.json"],
        capture_output=True,
        check=True,
    )
    runs = json.loads(inside.stdout)["provenance"]["runs"]
    assert [sorted(run["hosts"]) for run in runs] == [[FAR], [FAR, NEAR]]


def test_all_benchmarks_by_an_mpirun_of_ones_own(nodes):
    """In one session, over `pcie`."""
    own = [f"--{word}" for word in LEAST.split()]
    ranks = [*mpirun_command(hosts=[(NEAR, 1), (FAR, 1)]), "-n", "2"]
    done = nodes.run(*ranks, *HERE, "run", "all", "--reps=1", "--quiet", *own)
    assert done.returncode == 0, done.stderr
    assert ", 2 ranks on 2 hosts, verified" in done.stdout


def test_all_benchmarks_by_hosts(nodes):
    """Each by an mpirun of its own; one of them shows it."""
    few = (
        "from hpccfpga import cli, suite\n"
        "suite.benchmarks = lambda: ['b_eff']\n"
        f"raise SystemExit(cli.main({['run', 'all', '--ranks=2', f'--hosts={BOTH}']}"
        " + ['--reps=1', '--quiet', '--b_eff.sizes=64']))"
    )
    done = nodes.run(sys.executable, "-c", few)
    assert done.returncode == 0, done.stderr
    assert ", 2 ranks on 2 hosts, verified" in done.stdout
    assert nodes.empty()


def test_a_link_that_breaks(nodes):
    """Both sides end by the deadline, and mpirun's daemon, which waits for TCP."""
    words = [*LONG, "--deadline", "4", "--ranks", "2", "--hosts", BOTH]
    with nodes.begun(*words) as (process, _):
        nodes.link("down")
        _, err = process.communicate(timeout=GUARD)
    assert nodes.empty()
    nodes.link("up")
    assert nodes.files() == []
    assert process.returncode == 3
    (line,) = ours(err).splitlines()
    assert "which does not answer; the deadline of 4 s has passed" in line


def test_a_launcher_that_is_killed(nodes):
    with nodes.begun(*LONG, "--ranks", "2", "--hosts", BOTH) as (_, launcher):
        os.kill(launcher, signal.SIGKILL)
    assert nodes.empty()
    assert nodes.files() == []


def test_a_host_that_nobody_knows(fails):
    code, line = fails("run", "b_eff", *SMALL, "--ranks=2", f"--hosts={NEAR},nowhere")
    assert code == 3
    assert line == (
        f"hpccfpga: hosts: {NEAR}, nowhere: mpirun ended with code 255 before all "
        "ranks had started: agent: no host nowhere"
    )


def test_a_host_without_the_package(fails):
    hosts = f"{NEAR},{WITHOUT}"
    code, line = fails("run", "b_eff", *SMALL, "--ranks=2", f"--hosts={hosts}")
    assert code == 3
    assert "hpccfpga" in line.partition("before all ranks had started: ")[2]
    assert "; each host needs hpccfpga in " in line


def test_what_a_far_rank_refuses(fails):
    """Its error keeps its kind: bad input."""
    words = ["--kernel", "/dev/shm/k.cl", "--ranks=2", f"--hosts={FAR}"]
    code, line = fails("run", "b_eff", *SMALL[2:], *words)
    assert (code, line) == (2, "hpccfpga: kernel: /dev/shm/k.cl does not exist")
