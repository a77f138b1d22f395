"""Cores of ranks that are started here."""

import os
import re
import threading
from pathlib import Path

import pytest

import hpccfpga as hf
from hpccfpga import cores, emulation, mpirun
from hpccfpga.emulation import WORKERS

SMALL = {"sizes": [1, 64], "reps": 1, "loop_upper": 2, "loop_lower": 2}
HERE = os.sched_getaffinity(0)
TWO = pytest.mark.skipif(len(HERE) < 2, reason="two ranks have no core each here")


# ---- shares ----


@pytest.mark.parametrize(
    ("ranks", "shares"),
    [
        (1, [[8, 9, 1, 5, 6, 7]]),
        (2, [[8, 9, 1], [5, 6, 7]]),
        (4, [[8], [9], [1], [5]]),  # alike: they wait for the slowest
        (6, [[8], [9], [1], [5], [6], [7]]),
        (7, [[8, 9, 1, 5, 6, 7]] * 7),
    ],
)
def test_shares_are_equal_and_in_order(ranks, shares):
    assert [cores.share([8, 9, 1, 5, 6, 7], r, ranks) for r in range(ranks)] == shares


def topology(root, places):
    """Write what Linux says of CPUs: package and core of each."""
    for cpu, (package, core) in places.items():
        about = root / f"cpu{cpu}" / "topology"
        about.mkdir(parents=True)
        (about / "physical_package_id").write_text(f"{package}\n")
        (about / "core_id").write_text(f"{core}\n")


def test_cpus_of_a_core_and_of_a_package_are_beside_each_other(tmp_path):
    """CPUs 0 and 4 are of the first core of package 0, CPU 9 says nothing of itself."""
    topology(tmp_path, {cpu: (cpu % 2, cpu % 4 // 2) for cpu in range(8)})
    assert cores.ordered(range(8), tmp_path) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert cores.ordered({9, 12, 10}, tmp_path) == [9, 10, 12]
    topology(tmp_path, {9: ("", "?")})
    assert cores.ordered({12, 9}, tmp_path) == [9, 12]


# ---- whose rank takes them ----


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Rank 1 of 2 on a node of CPUs 2 to 5: may(own, mpirun's); what is set by then."""
    monkeypatch.setattr(os, "environ", {"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"})
    topology(tmp_path, {2: (0, 0), 3: (1, 0), 4: (0, 1), 5: (1, 1)})
    monkeypatch.setattr(cores.ordered, "__defaults__", (tmp_path,))
    threads = {}

    def may(own, parents, error=None):
        known = {0: own, os.getppid(): parents}
        monkeypatch.setattr(os, "sched_getaffinity", known.__getitem__)

        def keep(thread, to):
            if error:
                raise error
            threads[thread] = [*to]

        monkeypatch.setattr(os, "sched_setaffinity", keep)
        return threads

    return may


ALL = {2, 3, 4, 5}


def test_a_rank_takes_its_share_for_all_its_threads(machine):
    """Its second half of the cores, which are not those of the highest numbers."""
    threads, ends = machine(ALL, ALL), threading.Event()
    another = threading.Thread(target=ends.wait)
    another.start()
    try:
        assert cores.take() == ALL
    finally:
        ends.set()
        another.join()
    assert threads.keys() >= {0, os.getpid(), another.native_id}
    assert all(own == [3, 5] for own in threads.values())


@pytest.mark.parametrize(
    ("own", "parents", "error", "place"),
    [
        ({4, 5}, ALL, None, {}),  # somebody has bound it
        (ALL, ALL, PermissionError(), {}),  # the system does not let
        ({2}, {2}, None, {}),
        (ALL, ALL, None, {"MPI_LOCALNRANKS": "5"}),
        (ALL, ALL, None, {"OMPI_COMM_WORLD_LOCAL_RANK": "0"}
         | {"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}),
    ],
)  # fmt: skip
def test_nothing_changes(machine, own, parents, error, place):
    threads = machine(own, parents, error)
    os.environ |= place
    assert cores.take() == set()
    assert not threads


# ---- workers of PoCL ----


@pytest.mark.parametrize(
    ("exchanges", "there", "kernels", "workers"),
    [
        (["pcie"], 2, 8, "2"),  # not every release looks which CPUs it may use
        (["channel"], 2, 8, "8"),
        (["channel"], 2, 12, "8"),  # no more wait for each other at a time
        (["channel"], 2, 4, "4"),
        (["channel"], 2, 0, "2"),
        (["host", "channel"], 2, 8, "8"),
        (["channel", "pcie"], 2, 8, "8"),  # it may not have begun yet
        (["channel"], 64, 8, "64"),
    ],
)
def test_workers_of_this_process_are_not_those_of_others(
    monkeypatch, exchanges, there, kernels, workers
):
    """What it has for kernels that wait is many for a rank with a core of its own."""
    first, second = WORKERS
    monkeypatch.setattr(emulation, "_set", {})
    monkeypatch.setattr(emulation, "cpus", lambda: range(there))
    monkeypatch.setattr(os, "environ", {second: "3"})
    with emulation.limited(kernels):
        for exchange in exchanges:
            emulation.prepare(exchange)
    assert os.environ == {first: workers, second: "3"}
    assert mpirun.surroundings(anywhere=True) == {second: "3"}


# ---- ranks ----


def cores_of_ranks():
    """Cores of each thread of the ranks that this process has started, by rank."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            parent = int(status(process, "PPid"))
            if words[2:4] != [b"-m", b"hpccfpga._rank"]:
                continue
            if int(status(Path(f"/proc/{parent}"), "PPid")) != os.getpid():
                continue
            environment = (process / "environ").read_bytes()
            rank = re.search(rb"\bOMPI_COMM_WORLD_RANK=(\d+)", environment)
            if not rank:  # it has ended since, and has none any more
                continue
            threads = (process / "task").iterdir()
            assert not any(name.encode() in environment for name in WORKERS)
            masks = {status(thread, "Cpus_allowed") for thread in threads}
        except OSError:  # it has ended
            continue
        found[int(rank[1])] = [int(mask.replace(",", ""), 16) for mask in masks]
    return found


def status(process, name):
    """Entry of /proc/.../status."""
    return re.search(rf"^{name}:\s*(\S+)", (process / "status").read_text(), re.M)[1]


def looked(ranks, more):
    """A result of ranks, and what `cores_of_ranks` found at each point of it."""
    seen = []
    result = hf.run(
        "b_eff", ranks=ranks, progress=lambda *row: seen.append(cores_of_ranks()),
        **SMALL | more,
    )  # fmt: skip
    assert result.verified
    return result, seen


def started(ranks, **more):
    """A result of ranks, and what each look at one of them found.

    On a busy machine ranks may have ended before this process hears of a point.
    """
    for _ in range(10):
        result, seen = looked(ranks, more)
        if any(len(found) == ranks for found in seen):
            return result, [masks for found in seen for masks in found.items()]
    raise AssertionError("ten times the ranks had ended")


def mask(cpus):
    """As Linux gives it."""
    return sum(1 << cpu for cpu in cpus)


@TWO
@pytest.mark.parametrize(
    "chosen",
    [{"exchange": "host"}, {"exchange": "pcie"}, {"exchange": "auto", "board": "520n"}],
    ids=lambda chosen: chosen["exchange"],
)
def test_each_rank_has_cores_of_its_own(chosen):
    """Whoever has cores of a rank: PoCL's workers, too."""
    result, seen = started(2, **chosen)
    shares = [cores.share(cores.ordered(HERE), rank, 2) for rank in range(2)]
    assert not set(shares[0]) & set(shares[1])
    for rank, masks in seen:
        assert masks == [mask(shares[rank])]
    assert result.provenance["cores"] == sorted(shares[0])


@TWO
def test_beside_an_accelerator_they_give_them_back(mpirun):
    """Others may be nearer to it: of all threads, on all ranks."""
    script = (
        "from hpccfpga import perform, ranks, session\n"
        "from hpccfpga.job import job, run_task\n"
        "facts = {}\n"
        "session.Session.device = property(lambda session: facts)\n"
        "ranks.tell = lambda *event: True\n"
        f"todo = job('pcie', None, run_task('b_eff', None, {SMALL}))\n"
        "for facts['emulated'] in False, True:  # which take them again\n"
        "    assert perform._perform(todo, lambda name, data: None) == 0\n"
        "    threads = map(int, os.listdir('/proc/self/task'))\n"
        "    say({tuple(sorted(os.sched_getaffinity(t))) for t in threads})\n"
    )
    answer = mpirun(2, script)
    assert answer.returncode == 0, answer.stderr
    shares = [cores.share(cores.ordered(HERE), rank, 2) for rank in range(2)]
    told = [str({tuple(sorted(own))}) for own in (HERE, HERE, *shares)]
    assert sorted(answer.stdout.splitlines()) == sorted(told)


@pytest.mark.skipif(len(HERE) > 4, reason="more ranks than cores would be many")
def test_more_ranks_than_cores_share_all():
    result, seen = started(len(HERE) + 1)
    assert all(masks == [mask(HERE)] for _, masks in seen)
    assert result.provenance["cores"] == sorted(HERE)


def test_where_kernels_wait_for_each_other_ranks_share_all():
    """Kernels take cores by themselves; runtimes run as many as cores are allowed."""
    result, _ = started(2, exchange="channel")
    assert result.provenance["cores"] == sorted(HERE)


def test_ranks_of_a_users_mpirun_keep_what_they_have(mpirun):
    script = f"say(hf.run('b_eff', comm=comm, **{SMALL}).provenance['cores'])"
    answer = mpirun(2, script)
    assert answer.stdout == 2 * f"{sorted(HERE)}\n", answer.stderr
