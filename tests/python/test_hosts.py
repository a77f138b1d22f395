"""Which hosts get how many ranks, what is no host, and words that mpirun breaks."""

import shlex
import tempfile

import pytest

import hpccfpga as hf
from hpccfpga import mpirun, suite
from hpccfpga.hosts import placed
from hpccfpga.job import job, packed, run_task, unpacked
from hpccfpga.ranks import Hearing, _event
from processes import stand_in

LINE = {"error": "no room", "error_type": "MemoryError"}
TODO = job("pcie", None, run_task("b_eff", None, {"sizes": [1, 64]}))


@pytest.mark.parametrize(
    ("hosts", "ranks", "found"),
    [
        (["a"], 3, [("a", 3)]),
        (["a", "b"], 4, [("a", 2), ("b", 2)]),
        (["a", "b"], 3, [("a", 2), ("b", 1)]),
        (["a", "b"], 1, [("a", 1)]),
        (("n-1.x_y:1", "b:4"), 3, [("n-1.x_y", 1), ("b", 2)]),
        (["a:2", "b:2"], 2, [("a", 2)]),
    ],
)
def test_where_ranks_go(hosts, ranks, found):
    assert placed(hosts, ranks) == found


@pytest.mark.parametrize(
    ("hosts", "kind", "line"),
    [
        ("a,b", TypeError, "hosts: 'a,b' is no list such as"),
        ({"a"}, TypeError, "hosts: {'a'} is no list such as"),
        ([1], TypeError, "hosts: 1 is no name of a host"),
        ([], ValueError, "hosts: none is named"),
        ([""], ValueError, "hosts: '' is neither a name such as n1"),
        (["-oProxyCommand=x"], ValueError, "hosts: '-oProxyCommand=x' is neither"),
        (["a b"], ValueError, "hosts: 'a b' is neither"),
        (["a:0"], ValueError, "hosts: 'a:0' is neither"),
        (["a", "b", "A"], ValueError, "hosts: a is named twice; a:2 gives it 2 ranks"),
        (["a:1", "b"], ValueError, "hosts: a:1,b: give a number of ranks to each or"),
        (["a:1", "b:1"], ValueError, "hosts: a:1,b:1 take 2 ranks, not 3"),
    ],
)
def test_what_is_no_list_of_hosts(hosts, kind, line):
    for measure in (
        lambda: hf.run("b_eff", ranks=3, hosts=hosts),
        lambda: hf.calibrate(ranks=3, hosts=hosts),
        lambda: hf.run_all(ranks=3, hosts=hosts),
        lambda: hf.scaling("b_eff", ranks=[1, 3], hosts=hosts),
    ):
        with pytest.raises(kind) as raised:
            measure()
        assert str(raised.value).startswith(line)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["run", "b_eff", "--hosts=a"], "hosts: give ranks, too"),
        (["run", "all", "--hosts=a"], "hosts: give ranks, too"),
        (["calibrate", "--hosts=a"], "hosts: give ranks, too"),
        (["run", "b_eff", "--ranks=2", "--hosts=a,a"], "hosts: a is named twice"),
        (["run", "b_eff", "--ranks=1", "--hosts=a:2,b"], "hosts: a:2,b: give"),
        (["run", "graph", "--devices=auto", "--hosts=a"], "hosts: give ranks, too"),
        (["scaling", "b_eff", "--ranks=1,3", "--hosts=a:2"], "hosts: a:2 take 2 ranks"),
    ],
)
def test_the_command_refuses_it(refused, command, line):
    refused(command, line)


def test_under_mpirun(monkeypatch, refused):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "1")
    line = "hosts: mpirun has started this process: call it without"
    with pytest.raises(ValueError, match=line):
        hf.run("b_eff", ranks=1, hosts=["a"])


def test_ranks_are_bounded_by_hosts(monkeypatch):
    monkeypatch.setattr("hpccfpga.emulation.cpus", lambda: {0, 1})
    line = "ranks: 257 are more than the 256 started on 2 hosts at most, 64 per core"
    with pytest.raises(ValueError, match=line):
        hf.run("b_eff", ranks=257, hosts=["a", "b"])


def test_an_mpirun_that_is_not_of_open_mpi(monkeypatch):
    monkeypatch.setattr(mpirun, "find_mpirun", lambda patience: ("/m", "HYDRA"))
    with pytest.raises(hf.Error, match="hosts: /m is not of Open MPI: call it your"):
        hf.run("b_eff", ranks=2, hosts=["a"])


def test_all_benchmarks_go_to_the_hosts(monkeypatch):
    seen = set()

    def run(benchmark, ranks, hosts, **more):
        seen.add((ranks, *hosts))
        raise hf.Error("no")

    monkeypatch.setattr(suite, "run", run)
    hf.run_all(ranks=2, hosts=["a", "b"])
    assert seen == {(2, "a", "b")}


def test_what_travels(monkeypatch):
    """Settings of ours and of runtimes; not what is this machine's."""
    monkeypatch.setattr(mpirun, "find_mpirun", lambda patience: ("/m", "Open MPI) 4."))
    monkeypatch.setattr(
        mpirun.os,
        "environ",
        dict.fromkeys(
            ["HPCCFPGA_CACHE", "PYTHONPATH", "TMPDIR", "POCL_X", "HOME"], "x"
        ),
    )
    words = mpirun.command(hosts=[("a", 2), ("b", 1)])
    assert words[words.index("--host") + 1] == "a:2,b:1"
    travels = [words[i + 1] for i, word in enumerate(words) if word == "-x"]
    assert travels == ["HPCCFPGA_CACHE", "POCL_X", "PYTHONPATH"]


def test_a_job_as_a_word():
    long = job("pcie", None, run_task("b_eff", None, {"sizes": list(range(1, 99999))}))
    for todo in (TODO, long):
        assert unpacked(packed(todo)) == todo
    assert max(map(len, packed(long))) < 1 << 17, "what Linux takes for one word"
    assert TODO.command(2, ["a:1", "b"])[-2:] == ["--ranks=2", "--hosts=a:1,b"]


@pytest.mark.parametrize("tag", ["[1,{}]<stdout>:", "[host:7,{}]<stdout>: "])
def test_words_that_are_broken_anywhere(tag):
    """By line ends and the words of another rank; tags may stand in a line's midst."""
    first, second = ["row", 1, 2, {"x": "[1,0]<stdout>:\n"}], ["end", 0]
    data = (_event(*first) + b"noise of a library" + _event(*second)).decode()

    def tagged(rank, text):
        own = tag.format(rank)
        return own + text.replace("\n", f"\n{own}")

    other = tagged(1, _event("end", 1).decode())
    for at in range(len(data)):
        for between in ("", "\n"):
            text = tagged(0, data[:at]) + between + other + tagged(0, data[at:])
            lines = text.split("\n")
            hearings = {0: Hearing(), 1: Hearing()}
            found = {0: [], 1: []}
            for line in lines:
                for rank, text in mpirun.told(line):
                    found[rank] += hearings[rank].take(text)
            assert found == {0: [first, second], 1: [["end", 1]]}, at


def lies(monkeypatch, folder, *events):
    """An mpirun of which rank 0 tells what is not so."""
    said = folder / "said"
    said.write_text("".join(f"[1,0]<stdout>:{_event(*e).decode()}" for e in events))
    version = 'echo "mpirun (Open MPI) 4.1.4"'
    stand_in(folder, monkeypatch, f"cat {shlex.quote(str(said))}", version=version)


def test_a_result_of_which_a_piece_is_lost_is_none(monkeypatch, tmp_path):
    lies(monkeypatch, tmp_path, ["begin", "b_eff"], ["file", "0.json", 6, "e30K"])
    with pytest.raises(hf.Error, match="mpirun ended with code 0 before all ranks had"):
        hf.run("b_eff", ranks=1, hosts=["a"])


def test_files_of_ranks_stay_in_the_folder_of_the_job(monkeypatch, tmp_path):
    lies(monkeypatch, tmp_path, ["file", "../0.json", 3, "e30K"], ["error", 0, LINE])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(MemoryError, match="no room"):
        hf.run("b_eff", ranks=1, hosts=["a"])
    assert not (tmp_path / "0.json").exists()


def test_a_word_without_its_beginning_or_end_is_none():
    whole = _event("end", 0).decode()
    hearing = Hearing()
    assert list(hearing.take(whole[4:] + whole[:4] + whole)) == [["end", 0]]
