"""Plots: axes, scales, words and files of pictures."""

import re
import sys

import numpy as np
import pytest
from conftest import ours, python

from example_result import measured
from hpccfpga.plot import plot
from hpccfpga.published import published
from hpccfpga.result import Column

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "p.png"


def texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_results_of_the_same_label_are_told_apart(path):
    first, second = texts(plot(measured(), measured(), path=path))
    assert (first[:3], second[:3]) == ("1: ", "2: ")
    assert first[3:] == second[3:] == texts(plot(measured(), path=path))[0]


def test_a_picture_is_written_without_pyplot(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    measured().plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 10_000


def test_axes_are_logarithmic_and_in_units_that_people_read(path):
    time, rate = plot(measured(), path=path).axes
    for axis in (time, rate):
        assert axis.get_xscale() == axis.get_yscale() == "log"
        assert axis.get_xlabel() == "message size [B]"
    assert time.get_ylabel() == "time per step [µs]"
    assert rate.get_ylabel() == "bandwidth [GB/s]"


def test_an_axis_has_one_notation_which_is_exact(path):
    for result, powers in (
        (measured(), {(2e-4, 2e5): 0, (2e-5, 200): 1, (2, 2e7): 1, (2e-5, 8e-5): 1}),
        (words(), {(0, 300): 0, (0, 1.6e6): 1, (0, 3e-4): 1}),
    ):
        axis, _ = plot(result, path=path).axes
        for limits, power in powers.items():
            axis.set_ylim(*limits)
            labels = axis.yaxis.get_ticklabels(which="both")
            told = {t.get_text(): t.get_position()[1] for t in labels}
            numbers = {text for text in told if text not in ("", "0")}
            assert len(numbers) > 2
            assert {"^" in text for text in numbers} == {power}, told
            for text in numbers:
                plain = re.sub(r"10\^{(.+)}", r"1e\1", text.strip("$"))
                factors = map(float, plain.split(r"\cdot"))
                assert np.isclose(np.prod([*factors]), told[text]), told


def test_samples_best_and_median_are_drawn(path):
    r = measured()
    time, rate = plot(r, path=path).axes
    lines = [line.get_ydata() for line in time.lines]
    assert any(np.allclose(y, r["time"] * 1e6) for y in lines)
    for repetition in range(5):
        slowest = r["samples"][:, repetition].max(axis=1) * 1e6
        assert any(np.allclose(y, slowest) for y in lines)
    bars = time.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([b[0][1] for b in bars], r["time_low"] * 1e6)
    np.testing.assert_allclose([b[1][1] for b in bars], r["time_high"] * 1e6)
    slow = r["bandwidth"] / 1.4 / 1e9
    assert any(np.allclose(line.get_ydata(), slow) for line in rate.lines)
    bars = rate.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([b[0][1] for b in bars], r["bandwidth"] / 1.3e9)


def test_a_failed_point_has_no_rate(path):
    _, rate = plot(measured(failed=1), path=path).axes
    for line in rate.lines:
        y = np.asarray(line.get_ydata(), float)
        if len(y) == 3:
            assert np.isnan(y[1])


def test_numbers_and_names_beyond_measure(path):
    """As a file may hold: neither warnings of NumPy nor minutes of drawing."""
    result = measured()
    for name in ("time", "samples", "bandwidth"):
        unit, values = result.columns[name]
        result.columns[name] = Column(unit, np.full_like(values, 1e308))
    result.device = "x" * (1 << 20)
    with np.errstate(all="raise"):
        figure = plot(result, measured(), path=path)
    assert all(len(t.get_text()) <= 200 for t in figure.findobj(matplotlib.text.Text))


def test_legend_tells_kinds_apart_and_marks_emulation(path):
    theirs = published("b_eff", board="520n", exchange="channel", ranks=2)
    columns = {n: theirs.columns[n] for n in ("message_size", "time", "bandwidth")}
    model = measured(kind="modelled", columns=columns, emulated=False, device="520n")
    figure = plot(measured(), model, theirs, path=path)
    assert texts(figure) == [
        "measured pcie, 2 ranks, EMULATED",
        "model pcie, 520n, 2 ranks",
        "published channel, 520n, 2 ranks",
    ]
    styles = [handle.get_linestyle() for handle in figure.legends[0].legend_handles]
    assert styles == ["-", "--", ":"]
    assert len({h.get_color() for h in figure.legends[0].legend_handles}) == 3


def test_measurements_of_other_devices_are_told_apart(path):
    figure = plot(measured(), measured(device="x86_64"), path=path)
    assert [text.rpartition(", ")[2] for text in texts(figure)] == [
        measured().device,
        "x86_64",
    ]


def columns_of_legend(figure):
    figure.draw_without_rendering()
    texts = figure.legends[0].get_texts()
    return len({round(text.get_window_extent().x0) for text in texts})


def test_a_legend_stays_in_its_picture(path):
    long = measured(device="a device of a long name that takes half of a picture, and")
    figure = plot(measured(), long, path=path)
    assert figure.legends[0].get_window_extent().xmin >= 0
    assert columns_of_legend(figure) == 1
    assert columns_of_legend(plot(measured(), measured(), path=path)) == 2


def test_axes_can_be_given(path):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plot(measured(), ax=axes) is figure
    assert axes[0].lines
    with pytest.raises(ValueError, match="two axes"):
        plot(measured(), ax=axes[:1])


def test_other_benchmarks_are_drawn_by_the_same_rules(path):
    columns = {
        "n": Column("1", np.array([8, 16])),
        "time": Column("s", np.array([1.0, 2.0])),
        "rate": Column("FLOP/s", np.array([1e9, 2e9])),
    }
    time, rate = plot(measured(benchmark="gemm", columns=columns), path=path).axes
    assert time.get_xlabel() == "n"
    assert rate.get_ylabel() == "rate [GFLOP/s]"


def words(**fields):
    """Result over four words instead of sizes."""
    r = measured(sizes=(4096, 4096, 8192, 8192), **fields)
    columns = {"operation": Column("1", np.array(["copy", "scale", "add", "triad"]))}
    columns |= {n: c for n, c in r.columns.items() if n != "message_size"}
    r.columns = columns
    return r


def test_words_stand_side_by_side_without_lines_between_them(path):
    model = words(kind="modelled")
    time, rate = plot(words(), model, path=path).axes
    for axis in (time, rate):
        names = [text.get_text() for text in axis.get_xticklabels()]
        assert names == ["copy", "scale", "add", "triad"]
        assert axis.get_yscale() == "linear"
        assert axis.get_ylim()[0] == 0
        ours, theirs = (axis.collections[i].get_segments() for i in (0, -1))
        for mine, other in zip(ours, theirs, strict=True):
            assert mine[1][0] < other[0][0], "beside each other"
        assert all(line.get_linestyle() == "None" for line in axis.lines)
    best = [segment[0][1] for segment in time.collections[0].get_segments()]
    np.testing.assert_allclose(best, words()["time"] * 1e6)


def test_values_of_words_that_are_far_apart_are_on_a_logarithmic_axis(path):
    far = words()
    far.columns["time"].values[:] *= [1, 1, 1, 1e-3]
    assert plot(far, path=path).axes[0].get_yscale() == "log"


def searched(failed=None):
    """Give what a run of graph has: sources in the order of the run."""
    r = measured(sizes=(233, 13, 3000000000, 55), failed=failed, benchmark="graph")
    r.columns = {
        {"message_size": "source", "bandwidth": "edge_rate"}.get(name, name): column
        for name, column in r.columns.items()
    }
    r.columns["source"] = Column("1", r["source"])
    r.columns["edge_rate"] = Column("1/s", r["edge_rate"])
    return r


def test_vertices_are_names_side_by_side(path):
    for axis in plot(searched(), path=path).axes:
        names = [text.get_text() for text in axis.get_xticklabels()]
        assert names == ["233", "13", "3000000000", "55"]
        assert len(axis.collections[0].get_segments()) == 4
        assert all(line.get_linestyle() == "None" for line in axis.lines)


def test_where_no_point_has_a_rate_the_picture_says_so(path):
    wrong = searched()
    wrong.columns["verified"] = Column("1", np.zeros(4, bool))
    _, rate = plot(wrong, path=path).axes
    assert [text.get_text() for text in rate.texts] == ["no verified rate"]
    assert len(rate.get_yticks()) == 0


def test_a_single_point_is_seen(path):
    one = measured(sizes=(64,))
    time, _ = plot(one, path=path).axes
    assert [text.get_text() for text in time.get_xticklabels()] == ["64"]
    assert len(time.collections[0].get_segments()) == 1
    time, _ = plot(measured(), measured(sizes=(64,), kind="modelled"), path=path).axes
    assert any(len(a.get_xdata()) == 1 and a.get_marker() == "_" for a in time.lines)


def test_parts_of_a_measured_time_are_drawn_and_named(path):
    r, model = measured(), measured(kind="modelled")
    for result, factor in ((r, 0.5), (model, 0.25)):
        result.columns["write_time"] = Column("s", factor * result["time"])
    model.columns["guess_time"] = Column("s", model["time"])
    time, rate = plot(r, model, path=path).axes
    drawn = [line.get_ydata() for line in time.lines]
    for factor in (0.5, 0.25):
        assert any(np.allclose(y, factor * r["time"] * 1e6) for y in drawn)
    assert [text.get_text() for text in time.texts] == ["write", "write"]
    assert not rate.texts
    assert not plot(model, path=path).axes[0].texts, "a model alone is one line"


def test_scaling_is_drawn_with_its_ideal_and_its_model(path):
    r = measured(sizes=(1, 2, 4), parameters={"mode": "weak"})
    columns = {"ranks": Column("1", np.array([1, 2, 4]))}
    columns |= {n: c for n, c in r.columns.items() if n != "message_size"}
    columns["bandwidth"] = Column("B/s", np.array([1e9, 1.5e9, 2e9]))
    columns["efficiency"] = Column("1", np.array([1, 0.75, 0.5]))
    columns["bandwidth_model"] = Column("B/s", np.array([2e9, 4e9, 6e9]))
    r.columns = columns
    figure = plot(r, path=path)
    rate, efficiency = figure.axes
    assert rate.get_ylabel() == "bandwidth [GB/s]"
    assert efficiency.get_ylabel() == "efficiency"
    assert efficiency.get_yscale() == "linear"
    assert [text.get_text() for text in rate.get_xticklabels()] == ["1", "2", "4"]
    for axis, expected in (
        (rate, [[1, 1.5, 2], [1, 2, 4], [2, 4, 6]]),
        (efficiency, [[1, 0.75, 0.5], [1, 1, 0.75]]),
    ):
        drawn = [line.get_ydata() for line in axis.lines if len(line.get_ydata()) == 3]
        for values in expected:
            assert any(np.allclose(y, values) for y in drawn), values
    assert figure.get_supxlabel().endswith(
        "repetitions; right: of the best repetitions"
    )
    assert texts(figure) == [
        "measured pcie, weak scaling on 1, 2, 4 ranks, EMULATED",
        "ideal",
        "model",
    ]


def test_a_median_without_its_interval(path):
    """A result that somebody else has written need not have both ends."""
    for gone in ("time_low", "time_high"):
        result = measured()
        del result.columns[gone]
        result.plot(path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_backend_that_there_is_not(tmp_path):
    commands = [
        ["model", "b_eff", "--board=520n", "--exchange=channel"],
        ["run", "b_eff"],
        ["topology", "ring", "--ranks=2"],
    ]
    script = (
        "from hpccfpga import cli\n"
        f"for words in {commands}:\n"
        f"    assert cli.main([*words, '--plot={tmp_path}/p.png']) == 2"
    )
    answer = python(script, MPLBACKEND="foo")
    assert answer.returncode == 0, answer.stderr
    line = "hpccfpga: MPLBACKEND: 'foo': "
    lines = ours(answer.stderr).splitlines()
    assert [text.startswith(line) for text in lines] == [True] * len(commands)


def test_bad_paths_are_one_clear_line(tmp_path):
    for path, match in [
        (tmp_path / "none" / "p.png", "cannot write .*: there is no folder .*none"),
        (tmp_path / "p.xyz", r"cannot write .*p\.xyz: no format 'xyz'; known: "),
        (tmp_path / "p", r"cannot write .*/p: no ending names its format; known: png"),
    ]:
        with pytest.raises(ValueError, match=match) as caught:
            plot(measured(), path=path)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_drawn_is_refused(path):
    with pytest.raises(ValueError, match="at least one result"):
        plot(path=path)
    with pytest.raises(TypeError, match=r"not 'r\.json'; for a file: path="):
        plot("r.json", path=path)
    with pytest.raises(ValueError, match="no points with a time"):
        plot(measured(columns={}), path=path)
    other = {"n": Column("1", np.array([8])), "time": Column("s", np.array([1.0]))}
    line = "^b_eff is over n, not over message_size as b_eff: no axis is common to both"
    with pytest.raises(ValueError, match=line):
        plot(measured(), measured(columns=other), path=path)
    alone = measured().columns | {"efficiency": Column("1", np.ones(3))}
    with pytest.raises(ValueError, match=r"^b_eff has efficiency, but no ranks or no"):
        plot(measured(columns=alone), path=path)
    assert not path.exists()


def test_a_calibration_is_drawn_by_its_parts(tmp_path):
    names = ("write_time", "exchange_time", "read_time")
    columns = {"message_size": Column("B", np.array([1, 64]))}
    columns |= {name: Column("s", np.array([1e-6, 2e-6])) for name in names}
    r = measured(benchmark="calibration", exchange=None, columns=columns, summary={})
    time, rate = plot(r, path=tmp_path / "c.png").axes
    assert {text.get_text() for text in time.texts} == {"write", "exchange", "read"}
    assert time.get_ylabel() == "time per step [µs]"
    assert not rate.axison


def test_what_is_no_part_of_the_step_sets_no_scale():
    columns = measured(benchmark="ptrans").columns
    columns |= {
        "kernel_time": Column("s", columns["time"].values / 2),
        "verify_time": Column("s", columns["time"].values * 1e6),
    }
    r = measured(benchmark="ptrans", columns=columns)
    figure = plot(r)
    assert [text.get_text() for text in figure.axes[0].texts] == ["kernel"]
    assert figure.axes[0].get_ylim()[1] < columns["verify_time"].values[0] * 1e6
    assert figure.get_supxlabel().endswith("thin: parts of the step")


def test_an_axis_of_a_small_range_has_labels():
    columns = measured().columns
    columns["time"] = columns["time_median"] = Column(
        "s", np.array([43, 44, 52]) * 1e-6
    )
    columns = {n: c for n, c in columns.items() if n != "samples"}
    for end in ("low", "high"):
        columns[f"time_{end}"] = columns["time"]
    axis = plot(measured(columns=columns)).axes[0]
    low, high = axis.get_ylim()
    assert sum(low <= tick <= high for tick in axis.get_yticks()) >= 4
