"""The model of LINPACK: published runs, equations summed up anew, refusals."""

import time

import numpy as np
import pytest

from hpccfpga.models import for_run, model
from hpccfpga.published import published


def linpack(**inputs):
    return model("linpack", board="520n", **inputs)


def test_points_by_another_name_than_sizes_are_refused():
    line = "matrix_size: the points of a model are given as sizes"
    with pytest.raises(ValueError, match=line):
        linpack(matrix_size=1024)
    with pytest.raises(ValueError, match=line):
        linpack(exchange="auto", matrix_size=1024)


def test_linpack_of_the_520n_is_within_3_percent_of_the_published_sweep():
    sweep = published("linpack", board="520n", exchange="channel", source="sizes")
    large = published("linpack", board="520n", exchange="channel", source="m48-1021915")
    for found in (sweep, large):
        sizes = found["matrix_size"][found["matrix_size"] >= 1024]
        rate = found["flops"][found["matrix_size"] >= 1024]
        expected = linpack(exchange="channel", sizes=sizes)["flops"]
        assert expected == pytest.approx(rate, rel=0.03)
    checked = [1024, 2048, 4096, 8192, 12288, 20480, 24576]
    rates = np.array([*np.interp(checked[:-1], sweep["matrix_size"], sweep["flops"])])
    rates = np.append(rates, large["flops"])
    off = linpack(exchange="channel", sizes=checked)["flops"]
    assert (100 * (rates / off - 1)).round(1).tolist() == pytest.approx(
        [-0.7, 2.2, 2.4, 2.9, 1.9, 1.6, 0.7], abs=0.11
    )


@pytest.mark.parametrize("ranks", [16, 25])
def test_linpack_of_many_520n_is_within_3_percent_of_the_published_runs(ranks):
    measured = published("linpack", board="520n", exchange="channel", ranks=ranks)
    sizes = measured["matrix_size"].tolist()
    expected = linpack(exchange="channel", sizes=sizes, ranks=ranks)
    assert expected["flops"] == pytest.approx(measured["flops"], rel=0.03)


def test_linpack_without_overlap_is_off_as_documented():
    found = published("linpack", board="520n", exchange="channel", source="sizes")
    sizes = [1024, 4096, 8192, 20480]
    rates = np.interp(sizes, found["matrix_size"], found["flops"])
    inputs = {"clock": 244e6, "memory_clock": 300e6}
    expected = linpack(exchange="pcie", sizes=sizes, **inputs)["flops"]
    off = 100 * (expected / rates - 1)
    assert off == pytest.approx([21.9, 1.5, -17.3, -25.5], abs=0.11)


@pytest.mark.parametrize(
    ("ranks", "rows", "given"), [(6, 2, "auto"), (6, 1, "1x6"), (3, 1, "auto")]
)
def test_linpack_counts_blocks_on_grids_that_are_not_square(ranks, rows, given):
    n, b, s, r, f, memory = 4096, 512, 8, 5, 244e6, 300e6
    side = 2 * b**2 / (s * f) + b**2 / (2 * s * f) + b * (s + 100) / f
    side += b * (b / s) ** 2 / (2 * f)
    product = 2 * b**2 / (s * f) + (b / s) ** 3 / f
    time = side
    for k in range(1, n // b):
        blocks = np.ceil((k - 1) * k / (ranks * r))
        time += k / min(rows, ranks / rows) * side + blocks * product + (b / s) ** 2 / f
    inputs = {"clock": f, "memory_clock": memory, "grid": given}
    found = linpack(exchange="pcie", sizes=[n], ranks=ranks, **inputs)
    assert found["time"] == pytest.approx(time)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_linpack_overlaps_blocks_on_a_torus(p):
    """The equation of the published evaluation, summed up anew."""
    n, b, g, r, f = 16384, 512, 8, 5, 244e6
    product = 3.5 * b**2 / (g * f) + (b / g) ** 3 / f
    rows = np.arange(b)
    lu = 4 * b**2 / (g * f) + np.sum(
        300 / f + b / g / 157e6 + b * (b - g * (rows // g)) / (g**2 * f)
    )
    time = lu + max(n / b / p - 2, 0) * lu
    for k in range(1, n // b):
        panels = max(np.ceil(k / p) - 2, 0) * lu
        beside = (2 * k / p - 1) / r * product + lu + panels
        time += max(beside, (k / p) ** 2 / r * product)
    found = linpack(exchange="channel", sizes=[n], ranks=p**2, clock=f)
    assert found["time"] == pytest.approx(time)


def test_a_model_refuses_a_grid_of_other_ranks():
    for benchmark in ("linpack", "ptrans"):
        with pytest.raises(ValueError, match="grid: 3x3 has 9 ranks, the run has 4"):
            model(benchmark, exchange="pcie", board="520n", ranks=4, grid="3x3")


@pytest.mark.parametrize("exchange", ["channel", "pcie"])
def test_a_model_that_gives_no_time_says_why(exchange):
    """Sums over more blocks than anybody waits for are no result of dashes."""
    with pytest.raises(
        ValueError, match=r"^matrix size 10000000001: no time by .* 1e7"
    ):
        model(
            "linpack",
            exchange=exchange,
            board="520n",
            sizes=[1024, 10**10 + 1],
            block_size=1000,
            clock=2e8,
        )


REFINED = [("classical", "float", 3, 2), ("gmres", "float", 4, 3)]
REFINED += [("classical", "double", 2, 1), ("gmres", "double", 3, 2)]


@pytest.mark.parametrize(("refine", "data_type", "solutions", "products"), REFINED)
@pytest.mark.parametrize("exchange", ["channel", "pcie"])
def test_linpack_refined_takes_its_solutions_and_products(
    exchange, refine, data_type, solutions, products
):
    n, run = 8192, {"exchange": exchange, "sizes": [8192], "ranks": 4}
    clock = linpack(**run).parameters["clock"]
    words = {"refine": refine, "data_type": data_type}
    refined = for_run("linpack", exchange, "520n", words, [n], 4)
    passes = solutions / 2 + products / 4  # on a column of boards, on all
    after = refined["time"] - linpack(**run)["time"]
    assert after == pytest.approx(passes * n**2 / (16 * clock))
    work = 2 / 3 * n**3 + 3 / 2 * n**2
    assert refined["flops"] == pytest.approx(work / refined["time"])


def test_linpack_refined_on_a_processor_takes_the_given_rates():
    rates = {"product_rate": 1e11, "memory_bandwidth": 2e10, "element_rate": 1e9}
    n = 1000
    found = for_run("linpack", "host", rates, {"refine": "gmres"}, [n], 2)
    parts = (2 / 3 * n**3 / 2e11, 4 * 4 * n**2 / 4e10, 3 * n**2 / 2e9)
    assert found["time"] == pytest.approx(sum(parts))
    plain = for_run("linpack", "host", rates, {"refine": "none"}, [n], 2)
    assert plain["time"] == pytest.approx(parts[0])


@pytest.mark.parametrize("benchmark", ["linpack", "ptrans"])
def test_a_model_refuses_ranks_that_no_run_can_have(benchmark):
    def on(ranks, **words):
        return model(benchmark, exchange="channel", board="520n", ranks=ranks, **words)

    line = "as many rows as columns, the grid is 49x51; 2401 or 2500 ranks can be"
    with pytest.raises(NotImplementedError, match=line):
        on(2499)
    assert on(2500).ranks == 2500
    if benchmark == "ptrans":
        assert on(2499, distribution="diagonal").ranks == 2499


def test_linpack_scales_to_many_boards_at_once():
    """And 2500 boards take about the time of one, not that of their blocks."""

    def timed(ranks):
        begin = time.process_time()
        sizes = [int(ranks**0.5) * 24576]
        made = linpack(exchange="channel", ranks=ranks, sizes=sizes)
        return time.process_time() - begin, made

    seconds, many = min((timed(2500) for _ in range(5)), key=lambda made: made[0])
    at_one, one = min((timed(1) for _ in range(5)), key=lambda made: made[0])
    assert seconds < 50 * at_one
    assert 0.8 < many["flops"][0] / (2500 * one["flops"][0]) < 1.2
    strong = linpack(exchange="channel", ranks=25, sizes=[25600])
    small = linpack(exchange="channel", sizes=[25600 // 5])
    assert strong["flops"][0] == pytest.approx(25 * small["flops"][0], rel=0.4)
