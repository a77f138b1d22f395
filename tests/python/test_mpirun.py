"""What mpirun and process managers say, and what they are told."""

import os
import re
import shlex

import pytest

import hpccfpga as hf
from hpccfpga.errors import under_mpi
from hpccfpga.mpirun import TAG, command, surroundings
from processes import stand_in


def test_no_mpirun(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(hf.Error, match="mpirun not found: install an MPI"):
        hf.run("b_eff", ranks=2)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "mpirun noticed that process rank 2 with PID 0 on node n7 exited on signal "
            "9 (Killed).",
            "rank 2 on n7 was killed by signal 9 (SIGKILL); all ranks were stopped",
        ),
        (
            "prterun noticed that process rank 1 with PID 77 on node n7 exited on\n"
            "signal 6 (Aborted).",
            "rank 1 on n7 was killed by signal 6 (SIGABRT); all ranks were stopped",
        ),
        (
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
            "=   RANK 1 PID 77 RUNNING AT n7\n=   KILLED BY SIGNAL: 11 (Segmentation)",
            "rank 1 on n7 was killed by signal 11 (SIGSEGV); all ranks were stopped",
        ),
        (
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            "a rank was killed by signal 9 (SIGKILL); all ranks were stopped",
        ),
        (
            "Primary job terminated normally, but 1 process returned\n"
            "a non-zero exit code.",
            "a rank was killed by signal 9 (SIGKILL); all ranks were stopped",
        ),
        (
            "not \0enough slots\n\0",
            "mpirun ended with code 137 and no result: not enough",
        ),
    ],
)
def test_what_process_managers_say(monkeypatch, tmp_path, said, line):
    (tmp_path / "said").write_text(f"-----\n{said}\n-----\n")
    stand_in(tmp_path, monkeypatch, f"cat {shlex.quote(f'{tmp_path}/said')}; exit 137")
    with pytest.raises(hf.Error) as raised:
        hf.run("b_eff", ranks=2)
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("mpirun (Open MPI) 4.1.4", ["--oversubscribe", "--tag-output"]),
        ("mpirun (Open MPI) 5.0.3", ["--map-by", ":OVERSUBSCRIBE", "--output", "tag"]),
        ("HYDRA build details:", ["-prepend-rank"]),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9", ["-prepend-rank"]),
    ],
)
def test_options_in_the_words_of_each_mpirun(monkeypatch, tmp_path, version, options):
    stand_in(tmp_path, monkeypatch, "", f'exec echo "{version}"')
    found = command()
    assert found[0] == str(tmp_path / "mpirun")
    assert set(options) <= set(found)
    assert ("--allow-run-as-root" in found) == (
        "Open MPI" in version and os.geteuid() == 0
    )


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("[1,0]<stdout>:word", "word"),
        ("[prterun-n7-12@1,3]<stderr>: word", "word"),
        ("[1,0]<stdout>:one [1,0]<stdout>:two", "one two"),
        ("[12] word", "word"),
        ("mpirun noticed [that]", "mpirun noticed [that]"),
    ],
)
def test_tags(text, bare):
    assert TAG.sub("", text) == bare


@pytest.fixture
def no_rank(monkeypatch):
    """Environment of a process that no process manager started."""
    for name in list(os.environ):
        if re.match("PMI|OMPI_COMM", name):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE": "4"}),
        ("PMIX_RANK", {"PMIX_NAMESPACE": "slurm.pmix.7.0"}),
        ("PMI_RANK", {"PMI_SIZE": "4"}),
    ],
)
def test_under_mpi(monkeypatch, no_rank, name, job):
    assert under_mpi() is None
    monkeypatch.setenv(name, "3")
    assert under_mpi() is None, "a rank of which job?"
    for of, value in job.items():
        monkeypatch.setenv(of, value)
    assert under_mpi() == 3
    monkeypatch.setenv(name, "²")
    assert under_mpi() is None


def test_a_rank_in_the_environment_of_an_ordinary_process(command, no_rank):
    answer = command("run", "b_eff", "--sizes=0", PMI_RANK="1")
    assert answer.returncode == 2
    assert "hpccfpga: sizes: 0 is not within" in answer.stderr
    small = ["--sizes=64", "--reps=2", "--loop-upper=64", "--exchange=host"]
    answer = command("run", "b_eff", *small, "--ranks=2", PMIX_RANK="7")
    assert answer.returncode == 0, answer.stderr


def test_ranks_of_one_machine_stay_off_its_network(monkeypatch):
    for name in list(os.environ):  # also where a process manager runs these tests
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    assert surroundings() == {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl_tcp_if_include": "lo",
    }
    monkeypatch.setenv("OMPI_MCA_btl_tcp_if_exclude", "eth7")  # the user's choice
    assert "OMPI_MCA_btl_tcp_if_include" not in surroundings()
