"""Comparisons: of a measurement with a model, and of two measurements."""

import numpy as np
import pytest

import hpccfpga as hf
from example_result import measured
from hpccfpga.comparison import compare
from hpccfpga.result import Column


def modelled(at, time, ranks=2, **fields):
    size, time = np.array(at, np.int64), np.array(time)
    columns = {
        "message_size": Column("B", size),
        "time": Column("s", time),
        "bandwidth": Column("B/s", ranks * size / time),
    }
    return measured(
        kind="modelled", columns=columns, verified=None, emulated=False, **fields
    )


def test_compare_at_common_sizes():
    a = measured()
    c = compare(
        a, modelled([64, 4096, 8192], [a["time"][1] * 1.05, a["time"][2] / 1.2, 1])
    )
    assert c.at.tolist() == [64, 4096]
    np.testing.assert_allclose(c.ratio, [1 / 1.05, 1.2])
    assert [point.at for point in c.off] == [4096]
    assert c.worst.at == 4096
    assert c.worst.ratio == pytest.approx(1.2)
    assert c.verdict == (
        "the model is off by more than 10 % at 1 of 2 sizes, by 12 % in the median: "
        "most at 4096 B (+20 %)"
    )
    rows = [row for row in c.table().splitlines() if row.strip().startswith("4096")]
    assert len(rows) == 1
    assert rows[0].endswith("+20 %")
    assert c.verdict in c._repr_html_()


def test_a_model_of_another_device_is_not_off():
    a = measured()
    b = modelled(a["message_size"], a["time"] * [1, 2, 1], device="520n")
    c = compare(a, b)
    assert c.verdict == (
        "the model differs by more than 10 % at 1 of 3 sizes, by 0 % in the median: "
        "most at 64 B (-50 %)"
    )
    assert "  differs by\n" in c.table()


def test_measurements_of_two_devices_say_so():
    a, b = measured(), measured(device="x86_64")
    assert f"a is of {a.device}, b of x86_64" in compare(a, b).notes
    assert not [note for note in compare(a, a).notes if note.startswith("a is of")]
    assert not [note for note in compare(a, a).notes if "a is b_eff" in note]
    a.parameters |= {"program": "bfs", "graph": "kron:6"}
    b.parameters |= {"program": "wcc", "graph": "kron:6"}
    assert "a is b_eff bfs kron:6, b b_eff wcc kron:6" in compare(a, b).notes


def test_compare_within_ten_percent():
    a = measured()
    c = compare(a, modelled(a["message_size"], a["time"] * [1, 0.97, 1.04]))
    assert c.off == []
    assert c.verdict == (
        "the model is within 10 % at all 3 sizes: farthest at 4096 B (-4 %)"
    )


def test_compare_leaves_out_what_failed():
    a = measured(failed=2)
    c = compare(a, modelled(a["message_size"], a["time"] * [1, 1, 2]))
    assert np.isnan(c.ratio[2])
    assert c.off == []
    assert "all 2 sizes" in c.verdict
    everything = measured(failed=[0, 1, 2])
    assert compare(everything, a).worst is None
    assert "no sizes have a bandwidth in both" in compare(everything, a).verdict


def test_compare_says_when_rates_count_different_work():
    a = measured(emulated=False)
    same = modelled(a["message_size"], a["time"])
    b = modelled(a["message_size"], a["time"], ranks=4)
    for result in (a, same, b):
        result.provenance["notes"] = []
    assert compare(a, same).notes == []
    assert compare(a, b).notes == [
        "bandwidth counts 2 times as much per step in b as in a: steps differ in work; "
        "compare rates, not times"
    ]
    assert any("EMULATED" in note for note in compare(measured(), b).notes)
    a.parameters |= {"size": 1000, "data_type": "float", "unroll": 1, "seed": 1}
    b.parameters |= {"size": 2000, "data_type": "double", "unroll": 4, "seed": 2}
    (counts,) = compare(a, b).notes
    assert counts.endswith(
        "as in a: size is 1000 in a, 2000 in b; compare rates, not times"
    )
    b.parameters["size"] = 1000
    b.parameters["replications"] = 2  # and 1 where none is told
    b.provenance["notes"] = ["latency is not verified"]
    counts, caveat = compare(a, b).notes
    assert counts.endswith(
        "as in a: replications is 1 in a, 2 in b; compare rates, not times"
    )
    assert caveat == "b: latency is not verified"
    b.ranks = 4  # as the replications, but first of all
    assert (
        compare(a, b)
        .notes[0]
        .endswith("as in a: a is of 2 ranks, b of 4; compare times, or rates per rank")
    )
    b.ranks, b.parameters["replications"] = 1, 4
    assert (
        compare(a, b)
        .notes[0]
        .endswith(
            "as in a: a is of 2 ranks, b of 1; replications is 1 in a, 4 in b; "
            "unroll is 1 in a, 4 in b; compare rates per rank, not times"
        )
    )


def test_compare_takes_results_only():
    with pytest.raises(TypeError, match="only results and suites can be"):
        compare(measured(), 5)


def test_compare_refuses_what_has_nothing_in_common():
    a = measured()
    with pytest.raises(
        ValueError, match=r"no common message_size.*\[1, 64, 4096\].*\[2\]"
    ):
        compare(a, modelled([2], [1.0]))
    with pytest.raises(ValueError, match="cannot compare b_eff with stream"):
        compare(a, measured(benchmark="stream"))
    time = Column("s", np.ones(3))
    parts = {"message_size": a.columns["message_size"], "read_time": time}
    with pytest.raises(ValueError, match="nothing to compare"):
        compare(a, measured(columns=parts))


def test_compare_serves_any_benchmark():
    def gemm(rate):
        columns = {
            "n": Column("1", np.array([8, 16])),
            "time": Column("s", np.array([1.0, 2.0])),
            "rate": Column("FLOP/s", np.array(rate)),
        }
        return measured(benchmark="gemm", columns=columns)

    c = compare(gemm([1e9, 1e9]), gemm([1e9, 5e8]))
    assert c.index == "n"
    assert c.on == "rate"
    assert "the measurement is off by more than 10 % at 1 of 2 points" in c.verdict
    assert c.verdict.endswith("most at n 16 (-50 %)")
    assert "[GFLOP/s]" in c.table()


def test_a_failed_run_is_not_compared_or_drawn():
    failed = measured(columns={}, summary={}, provenance={"error": "no device"})
    for use in (lambda: compare(failed, measured()), failed.plot):
        with pytest.raises(ValueError, match="b_eff is a run that failed: no device"):
            use()


def run(**params):
    return hf.run("b_eff", exchange="host", sizes=[1], loop_upper=1, **params)


def test_two_measurements_differ_where_their_intervals_do_not_overlap():
    a, b = measured(), measured()
    for name, factors in (
        ("time_median", [1, 2, 1.02]),
        ("time_low", [1, 2, 1.02]),
        ("time_high", [1, 2, 1.02]),
        ("bandwidth_median", [1, 0.5, 1 / 1.02]),
    ):
        b.columns[name] = b.columns[name]._replace(values=b[name] * factors)
    c = compare(a, b)
    assert c.on == "bandwidth_median"
    assert np.allclose(c.ratio, [1, 0.5, 1 / 1.02])
    assert [point.at for point in c.changed] == [64]
    assert c.verdict == "bandwidth median changed at 1 of 3 sizes: 64 B (-50.0 %)"
    assert "time median a" in c.table()
    assert c.table().count("-50.0 %") == 2
    assert compare(a, a).verdict == "nothing changed beyond its interval at all 3 sizes"
    assert compare(a, a).changed == []


def test_of_many_changes_the_verdict_names_the_largest():
    a, b = measured((1, 2, 4, 8, 16)), measured((1, 2, 4, 8, 16))
    for name in ("time_median", "time_low", "time_high"):
        b.columns[name] = b.columns[name]._replace(values=b[name] * [2, 2, 3, 2, 2])
    rate = b.columns["bandwidth_median"]
    b.columns["bandwidth_median"] = rate._replace(values=rate.values / [2, 2, 3, 2, 2])
    assert compare(a, b).verdict == (
        "bandwidth median changed at 5 of 5 sizes: most at 4 B (-66.7 %)"
    )


def test_points_without_an_interval_are_not_judged():
    a, b = measured(), measured(failed=2)
    b.columns["time_low"].values[0] = np.nan
    assert compare(a, b).verdict == (
        "nothing changed beyond its interval at the one size; 2 of 3 have no interval"
    )
    b.columns["time_low"].values[:] = np.nan
    assert "which take 6 repetitions" in compare(a, b).verdict


def test_words_keep_their_order_in_a_comparison():
    r = measured(sizes=(1, 2, 3))
    names = np.array(["scale", "add", "copy"])
    columns = {"operation": Column("1", names), "time": r.columns["time"]}
    c = compare(measured(columns=columns), measured(columns=columns))
    assert c.at.tolist() == names.tolist()
