"""Runs that take their rounds in turns with those of others."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import hpccfpga as hf
from hpccfpga import _core, choice, session
from hpccfpga.choice import Expected
from hpccfpga.components import CALIBRATION
from hpccfpga.provenance import counted_ranks
from hpccfpga.turns import Turn

SMALL = {"sizes": [1, 4096], "reps": 5, "rounds": 3, "loop_upper": 8}
PCIE = next(part for part in CALIBRATION if part.name == "pcie")


@pytest.fixture
def seen(monkeypatch):
    """Runs and results of the session's rounds, in their order."""
    found = []
    own = hf.Session._take

    def take(self, ready, *others):
        found.append((ready.run, own(self, ready, *others)))
        return found[-1][1]

    monkeypatch.setattr(hf.Session, "_take", take)
    return found


class Watch:
    """Whom a session tells of turns."""

    def __init__(self):
        self.told = []

    def begin(self, *title):
        self.told.append(title)

    def __call__(self, *point):
        self.told.append(point[:2])


@pytest.mark.parametrize("all_parts", [False, True])
def test_a_benchmark_and_its_calibration_take_turns(seen, all_parts):
    watch = Watch()
    with hf.open() as opened:
        both = opened.run_calibrated(
            "b_eff", progress=watch, all_parts=all_parts, **SMALL
        )
        assert opened.exchange == "pcie"
    measured, calibration = both
    runs, results = zip(*seen, strict=True)
    parts = [*CALIBRATION] if all_parts else [PCIE]
    n, visits = 1 + len(parts), 2 * 3
    assert len(seen) == visits * n
    for visit in range(visits):
        assert runs[visit * n : (visit + 1) * n] == runs[:n]
    order = [(part.benchmark, part.exchange) for part in parts]
    at = parts.index(PCIE)  # beside the steps that its model is made of
    order.insert(at, ("b_eff", "pcie"))
    assert [(run.benchmark, run.exchange) for run in runs[:n]] == order
    assert {*results[:-n]} == {None}
    columns = results[-n:][at]["columns"]
    assert measured["samples"] is columns["samples"][1]
    begun = ("b_eff pcie in turns with a calibration, 1 rank", None)
    assert watch.told == [begun, *((turn, visits * n) for turn in range(visits * n))]
    assert measured.verified
    assert calibration.verified
    assert measured["samples"].shape == (2, 5, 1)
    assert measured["warmup"].shape == (2, 6, 1)
    assert np.array_equal(measured["time"], measured["samples"].min(axis=(1, 2)))
    assert measured.parameters["rounds"] == calibration.parameters["rounds"] == 3
    rates = measured["message_size"] / measured["time"]
    np.testing.assert_allclose(measured["bandwidth"], rates)
    np.testing.assert_allclose(measured["bandwidth_ranks"], rates[:, None])
    assert measured.summary["b_eff"].value == pytest.approx(rates.mean())
    assert measured.summary["latency"].value == measured["time"][0]
    assert (measured["inner"] == 8).all()
    medians = np.median(measured["samples"][:, :, 0], axis=1)
    assert np.array_equal(measured["time_median"], medians)
    copies, between = calibration["pcie_copies_time"], calibration["pcie_exchange_time"]
    best = calibration["pcie_samples"].min(axis=(1, 2))
    assert (copies + between <= best).all()
    assert (copies > 0).all()
    assert {n for n in calibration.columns if n.endswith("_samples")} == {
        f"{part.name}_samples" for part in parts
    }
    assert calibration["pcie_samples"].shape == (2, 5, 1)
    assert calibration["message_size"].tolist() == [1, 4096]
    assert hf.model("b_eff", calibration=calibration)["time"].shape == (2,)


@pytest.mark.parametrize(
    ("exchange", "names"),
    [
        ("host", ["exchange"]),
        ("pipelined", ["pipelined"]),
        ("shared", ["shared"]),
    ],
)
def test_every_scheme_takes_turns_with_the_parts_of_its_model(seen, exchange, names):
    with hf.open(None, exchange) as opened:
        for _ in range(2):
            seen.clear()
            measured, calibration = opened.run_calibrated("b_eff", **SMALL)
            assert opened.exchange == measured.exchange == exchange
            assert measured.verified
            assert calibration.verified
            samples = [n for n in calibration.columns if n.endswith("_samples")]
            assert samples == [f"{name}_samples" for name in names]
            order = [run.exchange for run, _ in seen[: 1 + len(names)]]
            own = ["host"] if exchange == "host" else names
            assert order == [exchange, *own]
            model = hf.model("b_eff", exchange=exchange, calibration=calibration)
            assert model["time"].shape == (2,)


@pytest.mark.parametrize("expected", [None, Expected("a test", [1.0], {"pcie": [1.0]})])
def test_auto_chooses_by_a_calibration_that_comes_first(seen, expected):
    with hf.open(device="host", exchange="auto") as opened:
        if expected is not None:
            opened.expect(expected)
        measured, calibration = opened.run_calibrated("b_eff", **SMALL)
    assert [run.exchange for run, _ in seen[:3]] == ["pcie", "pipelined", "shared"]
    assert seen[-1][1]["columns"]["samples"][1] is measured["samples"]
    assert len(seen) == 3 * 6 + 1
    chosen = choice.expected("auto", calibration, None)
    assert measured.provenance["expected"] == asdict(chosen)
    model = hf.model("b_eff", exchange="auto", calibration=calibration)
    assert measured["scheme"].tolist() == model["scheme"].tolist()


@pytest.mark.parametrize(
    ("benchmark", "exchange"), [("gemm", "pcie"), ("b_eff", "channel")]
)
def test_without_a_calibrated_model_nothing_is_measured(seen, benchmark, exchange):
    line = f"no model of {benchmark} .*calibration"
    with hf.open(None, exchange) as opened, pytest.raises(LookupError, match=line):
        opened.run_calibrated(benchmark, sizes=[8])
    with pytest.raises(LookupError, match=line):
        hf.run_calibrated(benchmark, exchange=exchange, ranks=2, sizes=[8])
    assert not seen


def test_turns_need_no_number_of_repetitions():
    with hf.open() as opened:
        own = {"sizes": [1, 64], "reps": 0, "max_reps": 6, "loop_upper": 4}
        measured, calibration = opened.run_calibrated("b_eff", **own)
    assert measured.parameters["rounds"] == 1
    assert (measured["reps"] == 6).all()
    assert calibration.verified


def test_parts_have_the_parameters_of_the_run(seen):
    own = {"seed": 7, "warmup": 3, "deadline": 50.0, "sizes": [64], "reps": 2}
    with hf.open() as opened:
        opened.run_calibrated("b_eff", all_parts=True, loop_upper=4, **own)
    for _, found in seen[-len(CALIBRATION) :]:
        assert {n: found["parameters"][n] for n in own} == own
        assert (found["columns"]["inner"][1] <= 4).all()


class Falsy(Watch):
    """Whom nothing was told yet may be an empty list."""

    def __bool__(self):
        return False


def test_who_is_told_may_be_empty():
    watch = Falsy()
    with hf.open() as opened:
        opened.run_calibrated("b_eff", progress=watch, **SMALL)
    assert watch.told[1:] == [(turn, 12) for turn in range(12)]


def test_with_a_trace_all_is_measured_at_once(seen):
    watch = Watch()
    with hf.open(trace=True) as opened:
        measured, calibration = opened.run_calibrated("b_eff", progress=watch, **SMALL)
    assert seen[0][1]["columns"]["samples"][1] is measured["samples"]
    assert len(seen) == 2
    assert measured.trace is not None
    assert measured["reps"].tolist() == [5, 5]
    assert calibration["pcie_samples"].shape == (2, 5, 1)
    assert watch.told[1:] == [(point, 4) for point in range(4)]


@pytest.mark.parametrize(("ranks", "all_parts"), [(2, False), (2, True), (None, False)])
def test_ranks_that_are_started_take_turns(ranks, all_parts):
    watch = Watch()
    both = hf.run_calibrated(
        "b_eff", ranks=ranks, progress=watch, all_parts=all_parts, **SMALL
    )
    turns = 6 * (1 + (len(CALIBRATION) if all_parts else 1))
    title = f"b_eff pcie in turns with a calibration, {counted_ranks(ranks or 1)}"
    assert watch.told == [(title, None), *((turn, turns) for turn in range(turns))]
    assert [one.benchmark for one in both] == ["b_eff", "calibration"]
    assert [one.ranks for one in both] == [ranks or 1, ranks or 1]
    assert all(one.verified for one in both)
    assert ("write_time" in both[1].columns) == all_parts


def test_words_that_nobody_has_are_refused():
    with pytest.raises(ValueError, match='b_eff has no parameter "part"; '):
        hf.run_calibrated("b_eff", part=3)
    with pytest.raises(ValueError, match="ranks: those of comm are there already"):
        hf.run_calibrated("b_eff", ranks=2, comm=1)


def test_a_run_in_turns_began_with_its_first_turn(monkeypatch):
    now = datetime(2001, 1, 1, tzinfo=UTC)

    class Clock(datetime):
        @classmethod
        def now(cls, zone):
            nonlocal now
            now += timedelta(days=1)
            return now

    monkeypatch.setattr("hpccfpga.session.datetime", Clock)
    with hf.open() as opened:
        for one in opened.run_calibrated("b_eff", **SMALL):
            assert one.provenance["date"].startswith("2001-01-02")


@pytest.fixture
def wrong_runs(monkeypatch):
    """Plant wrong data at the second point of runs of a benchmark."""
    whole = session.result_of

    def plant(benchmark):
        def planted(core, name, *others):
            result = whole(core, name, *others)
            if name == benchmark:
                result.columns["verified"].values[1] = result.verified = False
            return result

        monkeypatch.setattr(session, "result_of", planted)

    return plant


@pytest.mark.parametrize("wrong", ["b_eff", "transfer"])
def test_wrong_data_of_turns_is_one_warning(wrong_runs, wrong):
    wrong_runs(wrong)
    with (
        hf.open() as opened,
        pytest.warns(hf.VerificationWarning, match="1 of 2 points") as given,
    ):
        both = opened.run_calibrated("b_eff", **SMALL)
    assert [one.verified for one in both] == [wrong != "b_eff", wrong == "b_eff"]
    assert [warning.filename for warning in given] == [__file__]


def test_wrong_data_of_the_calibration_before_auto_is_a_warning(
    monkeypatch, wrong_runs
):
    wrong_runs("transfer")
    short = {"sizes": [1, 256], "reps": 1, "loop_upper": 2}
    monkeypatch.setattr(choice, "SHORT", short)
    line = "calibration: wrong data at 1 of 2 points"
    with (
        hf.open(device="host", exchange="auto") as opened,
        pytest.warns(hf.VerificationWarning, match=line) as given,
    ):
        assert opened.run("b_eff", **SMALL).verified
    assert [warning.filename for warning in given] == [__file__]


@pytest.mark.parametrize(
    ("words", "kind", "line"),
    [
        ({"benchmark": "b_ef"}, LookupError, 'did you mean "b_eff"'),
        ({"benchmark": 3}, TypeError, "benchmark: 3 is no text"),
        ({"reps": -1}, ValueError, "reps: -1"),
        ({"rounds": "many"}, (TypeError, ValueError), "rounds: "),
        ({"sizes": [0]}, ValueError, "sizes: 0"),
        ({"progress": 3}, TypeError, "progress: 3 is no function"),
        ({"all_parts": "no"}, TypeError, "all_parts: 'no' is not True or False"),
    ],
)
@pytest.mark.parametrize("exchange", ["pcie", "auto"])
def test_bad_input_is_refused_before_anything_is_measured(
    seen, exchange, words, kind, line
):
    given = {"benchmark": "b_eff"} | SMALL | words
    with hf.open(None, exchange) as opened:
        with pytest.raises(kind, match=line):
            opened.run_calibrated(**given)
        assert not seen
        assert opened.run("b_eff", **SMALL).verified


@pytest.mark.parametrize("point", range(0, 12, 5))
def test_an_interrupt_in_any_turn_ends_them_all(point):
    def watch(number, *_):
        if number == point:
            raise KeyboardInterrupt

    with hf.open() as opened:
        with pytest.raises(KeyboardInterrupt):
            opened.run_calibrated("b_eff", progress=watch, **SMALL)
        assert opened.exchange == "pcie"
        assert opened.run("b_eff", **SMALL).verified


def test_the_core_refuses_what_are_no_turns():
    with hf.open() as opened:
        for wrong in (3, object(), [1]):
            with pytest.raises(ValueError, match="PyCapsule"):
                opened._core.run("b_eff", {}, None, None, turns=wrong)
    with pytest.raises(ValueError, match="PyCapsule"):
        _core.turns_left(3)
    sweep = {"reps": 7, "rounds": 3, "sizes": [1, 8]}
    assert _core.turns_left(_core.turns("b_eff", sweep)) == 6
    assert _core.turns_left(_core.turns("b_eff", sweep, True)) == 1
    assert _core.turns_left(_core.turns("gemm", {"reps": 7, "sizes": [1, 8]})) == 1
    with pytest.raises(ValueError, match="rounds"):
        _core.turns("b_eff", {"rounds": 0})


def test_a_turn_tells_of_one_title():
    watch = Watch()
    for number in range(2):
        turn = Turn(watch, "both", number, 2)
        turn.begin("b_eff pcie", "b_eff")
        turn(2, 3, {})
    assert watch.told == [("both", None), (2, 6), (5, 6)]
