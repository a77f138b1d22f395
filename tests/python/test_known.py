"""Wherever names are listed, the one that was meant is named, if it is near."""

import pytest

import hpccfpga as hf
from hpccfpga import _core
from hpccfpga.arguments import known

BENCHMARKS = [name for name, _ in _core.components("bench")]


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: hf.model("b_ef"), "b_eff"),
        (lambda: hf.model("b_eff", exchange="channelx"), "channel"),
        (lambda: hf.model("b_eff", exchange="channel", clockk=3e8), "clock"),
        (lambda: hf.board("520"), "520n"),
        (lambda: hf.board("520n")["network.latencies"], "network.latency"),
        (lambda: hf.published("streamx"), "stream"),
        (lambda: hf.run("b_ef"), "b_eff"),
        (lambda: hf.run("b_eff", sizess=[1]), "sizes"),
        (lambda: hf.run("b_eff", rank=2), "ranks"),
        (lambda: hf.run("b_eff", ranks=2, exchanges="host"), "exchange"),
        (lambda: hf.calibrate(rank=2), "ranks"),
        (lambda: hf.scaling("b_eff", ranks=[1], boards="520n"), "board"),
        (lambda: hf.run_all(rank=2), "ranks"),
        (lambda: hf.run("b_eff", exchange="pci"), "pcie"),
        (lambda: hf.run_all(reeps=1), "reps"),
        (lambda: hf.run("b_eff", loop="time"), "timer"),
        (lambda: hf.run("stream", shape="pipelines"), "pipeline"),
        (lambda: hf.scaling("b_eff", ranks=[1], mode="stron"), "strong"),
        (lambda: hf.links("rings", ranks=2), "ring"),
        (lambda: hf.published("b_eff", exchange="pci"), "pcie"),
        (lambda: hf.boards()["520m"], "520n"),
        (lambda: hf.model("b_eff", board="520n", exchange="channel")["timee"], "time"),
    ],
)
def test_in_python(call, meant):
    with pytest.raises((LookupError, ValueError)) as raised:
        call()
    assert f'did you mean "{meant}"? known: ' in raised.value.args[0]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "b_eff", "--sizess=1"], "--sizes"),
        (["calibrate", "--reeps=1"], "--reps"),
        (["run", "b_eff", "--exchnage=host"], "--exchange"),
        (["showw", "r.json"], "show"),
        (["--versoin"], "--version"),
        (["list", "b_ef"], "b_eff"),
        (["published", "b_eff", "--bord=520n"], "--board"),
        (["scaling", "b_eff", "--sizess=1"], "--sizes"),
        (["boards", "520"], "520n"),
        (["model", "b_ef"], "b_eff"),
        (["published", "streamx"], "stream"),
    ],
)
def test_on_the_command_line(refused, words, meant):
    refused(words, f'did you mean "{meant}"? known: ')


@pytest.mark.parametrize(("word", "meant"), [("hots", "host"), ("opncl", "opencl")])
def test_of_runtimes(word, meant):
    with pytest.raises(LookupError, match=f"{word}.*; did you mean {meant}[?]$"):
        hf.open(word)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_all_names_are_listed(name):
    """However many there are, none is cut."""
    many = [f"{name}{number:03}" for number in range(200)]
    assert known(f"{name}_x", many).endswith(f"known: {', '.join(many)}")


def test_of_no_names():
    assert known("x", []) == "known: none"


@pytest.mark.parametrize("word", ["", "\ud800", "\0", 7, None])
def test_words_that_are_none(word):
    assert known(word, ["a"]) == "known: a"


@pytest.mark.parametrize(
    "call",
    [
        hf.board,
        hf.run,
        hf.model,
        hf.published,
        lambda word: hf.run("b_eff", exchange=word),
        lambda word: hf.model("b_eff", exchange=word),
        lambda word: hf.exchanges()[word],
    ],
)
def test_a_long_word_is_cut_in_its_midst(call):
    with pytest.raises(LookupError) as raised:
        call("x" * 10_000)
    line = str(raised.value)
    assert len(line) < 512
    assert "x..." in line or "x ... x" in line
    assert "; known: " in line, "no name is nearly the word"


@pytest.mark.parametrize("shift", range(3))
def test_no_letter_of_a_long_word_is_cut(shift):
    with pytest.raises(LookupError) as raised:
        hf.run("b_eff", exchange="x" * shift + "€" * 10_000)
    line = str(raised.value)
    assert "€ ... €" in line
    assert "\N{REPLACEMENT CHARACTER}" not in line
    assert line.endswith("auto")
