"""Verification can fail, and a rank that fails takes all ranks out by one clear line.

The faults are planted by the exchange scheme `fault` of a build with -DHF_TESTS=ON
(tests/c/fault.c): another scheme, `pcie` unless told, with one fault of one rank.
"""

import json
from pathlib import Path

import pytest
from conftest import comes, ours

RUN = ["run", "b_eff", "--device=host", "--exchange=fault"]
RUN += ["--sizes=64,1000", "--reps=2"]
LOOP = ["--loop-upper", "4", "--loop-lower", "4"]

SHARED = Path("/dev/shm")

# Every fault in a session of its own, all in one process per rank. Moves 0 and 1 of a
# size are the two warm-ups, 2 .. 5 and 6 .. 9 the two samples of four steps.
CASES = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
found = {}
for case in json.loads(os.environ["CASES"]):
    os.environ["HPCCFPGA_FAULT"] = case
    r = hf.run("b_eff", device="host", exchange="fault", comm=comm, sizes=[64, 1000],
               rounds=1, reps=2, loop_upper=4, loop_lower=4)
    found[case] = [r["verified"].tolist(), r["bandwidth"].tolist(),
                   r.summary["b_eff"].value, r.verified]
if rank == 0:
    print(json.dumps(found))
"""


def test_wrong_data_gets_no_rate(mpirun, faults):
    """What becomes of a result; tests/c/harness.c shows which faults are seen."""
    kinds = ("flip", "swap", "shift")
    cases = ["none -1 0"] + [f"{kind} 1 {move}" for kind in kinds for move in (0, 3, 9)]
    done = mpirun(2, CASES, CASES=json.dumps(cases), **faults)
    assert done.returncode == 0, done.stderr
    for case, (verified, rates, b_eff, whole) in json.loads(done.stdout).items():
        wrong = not case.startswith("none")
        assert verified == [not wrong, True], case
        assert (rates[0] != rates[0]) is wrong, (
            f"{case}: a rate is shown for wrong data"
        )
        assert rates[1] > 0, case
        assert (b_eff != b_eff) is wrong, case
        assert whole is not wrong, case


@pytest.fixture
def run(command, faults, tmp_path):
    """Run b_eff on three ranks with a fault; the process and its JSON."""

    def run(fault, deadline):
        path = tmp_path / f"{fault}.json"
        done = command(
            *RUN, *LOOP, "--deadline", deadline, "--ranks", 3, "--json", path,
            HPCCFPGA_FAULT=fault, **faults,
        )  # fmt: skip
        return done, json.loads(path.read_text())

    return run


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("setup 1 0", "rank 1: planted: set-up failed"),
        ("fail 1 5", "rank 1: planted: a move failed"),
        ("launch 1 3", "rank 1: planted: a launch failed"),
    ],
    ids=["set-up", "point", "verification"],
)
def test_one_failing_rank_stops_all_at_once(run, fault, words):
    done, result = run(fault, 1000)
    lines = ours(done.stderr).splitlines()
    assert done.returncode == 3, done.stderr
    assert len(lines) == 1, done.stderr
    assert words in lines[0]
    assert result["verified"] is False
    assert words in result["provenance"]["error"]


def test_all_ranks_have_the_code_of_the_one_that_fails(mpirun, faults):
    """Before they leave: mpirun ends the others with the first."""
    codes = {
        "setup 1 0": 3,
        "fail 1 5": 3,
        "launch 1 3": 3,
        "flip 1 5": 1,
        "none -1 0": 0,
    }
    done = mpirun(
        3,
        "from hpccfpga import cli, ranks\n"
        "ranks.leave = ranks.report = lambda *words, **more: None\n"
        f"for fault in {list(codes)}:\n"
        "    os.environ['HPCCFPGA_FAULT'] = fault\n"
        f"    say(fault, 'is', cli.main({[*RUN, *LOOP, '--quiet']}))",
        **faults,
    )
    lines = done.stdout.splitlines()
    for fault, code in codes.items():
        assert lines.count(f"{fault} is {code}") == 3, (fault, done)


ENDS = {  # deadline, and what the line says
    "kill": (1000, "SIGKILL"),
    "hang": (3, "rank 1, which does not answer; the deadline of 3 s"),
    "fail": (1000, "rank 1: planted: a move failed"),
}


@pytest.mark.parametrize(
    ("call", "words", "kind"),
    [
        (3, "ptrans --grid=1x4 --sizes=2000 --reps=3", "hang"),
        (3, "linpack --sizes=600 --reps=1", "kill"),
        (25, "linpack --sizes=600 --reps=1", "hang"),
        (25, "linpack --sizes=600 --reps=1", "fail"),
    ],
)
def test_a_rank_that_fails_in_an_exchange_ends_all(command, faults, call, words, kind):
    deadline, line = ENDS[kind]
    done = command(
        "run", *words.split(), "--ranks=4", "--exchange=fault", "--device=host",
        f"--deadline={deadline}", HPCCFPGA_FAULT=f"{kind} 1 {call}", **faults,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    lines = ours(done.stderr).splitlines()
    assert len(lines) == 1, done.stderr
    assert line in lines[0]


# The write to the device that follows when a rank has seen its block in the window.
@pytest.mark.parametrize(
    ("fault", "deadline", "words"),
    [
        ("hangwrite 1 7", 3, "rank 1, which does not answer; the deadline of 3 s"),
        ("stopwrite 1 7", 3, "rank 1, which does not answer; the deadline of 3 s"),
        ("killwrite 1 7", 1000, "SIGKILL"),
    ],
)
def test_a_rank_that_stops_before_it_copies_from_the_window(
    run, monkeypatch, fault, deadline, words
):
    """The others end, and nothing of the window is left."""
    monkeypatch.setenv("HPCCFPGA_FAULT_OVER", "shared")
    before = set(SHARED.glob("hpccfpga_window.*"))
    done, result = run(fault, deadline)
    lines = ours(done.stderr).splitlines()
    assert done.returncode == 3, done.stderr
    assert len(lines) == 1, done.stderr
    assert words in lines[0]
    assert result["verified"] is False
    assert "rank 1" in result["provenance"]["error"]
    left = set(SHARED.glob("hpccfpga_window.*")) - before
    # Those of other tests go.
    assert comes(lambda: not any(path.exists() for path in left)), left


# Slots of the window are used again: each message has 16 chunks. A single slot, or the
# first where chunks come one by one, has a chunk where the one before was.
WINDOW = """
import json, os, warnings
warnings.simplefilter("ignore", hf.VerificationWarning)
for case in ("none -1 0", "flipwrite 1 40", "stalewrite 1 40", "nopin 1 0"):
    os.environ["HPCCFPGA_FAULT"] = case
    r = hf.run("b_eff", device="host", exchange="fault", comm=comm, sizes=[65536],
               chunk_size=4096, chunk_depth=os.environ["DEPTH"], reps=2, loop_upper=4,
               loop_lower=4)
    say(json.dumps([case.split()[0], r.verified, r.provenance["notes"]]))
"""


@pytest.mark.parametrize("depth", ["auto", "1"])
def test_a_window_whose_chunks_are_wrong_or_not_pinned(mpirun, faults, depth):
    faults = faults | {"HPCCFPGA_FAULT_OVER": "shared", "DEPTH": depth}
    done = mpirun(2, WINDOW, **faults)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 8, done
    for case, verified, notes in found:
        assert verified is ("write" not in case), case
        slow = [note for note in notes if "common memory is not pinned on each" in note]
        assert len(slow) == (case == "nopin"), (case, notes)
        assert all("rank 1: planted: " in note for note in slow), notes


def test_a_result_says_that_its_ranks_share_no_memory(mpirun):
    """A limit on files is one on shared memory, too."""
    done = mpirun(
        2,
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "r = hf.run('b_eff', exchange='shared', device='host', comm=comm,\n"
        "           sizes=[1000], reps=2)\n"
        "say(r.verified, r.provenance['notes'])",
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done
    for line in lines:
        assert line.startswith("True"), done
        assert "all ranks exchange by messages: " in line, done
