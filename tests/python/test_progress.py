"""Lines of a run's progress."""

from __future__ import annotations

import pytest

from hpccfpga.progress import Progress, Watch


def test_headings_are_apart_and_above_their_values(capsys):
    row = {"source": 33.0, "edges": 16384.0, "edge_rate": 3.67e6, "verified": 1.0}
    with Progress("graph", "graph") as shown:
        shown(0, 2, row)
        shown(1, 2, row | {"verified": 0.0})
    title, heads, right, wrong = capsys.readouterr().out.splitlines()
    assert title == "graph ..."
    assert heads.split("  ")[-1] == "edge rate [million/s]"
    assert wrong == right + "  WRONG DATA"
    for head, value in ("source", "33"), ("edges", "16384"), ("[million/s]", "3.670"):
        end = f"{heads}  ".index(f"{head}  ") + len(head)
        assert right[:end].endswith(f" {value}"), heads


def test_a_task_without_rows_tells_its_quarters(capsys):
    with Progress("calibration, 2 ranks") as shown:
        for point in range(10):
            shown(point, 10, {})
    title, *told = capsys.readouterr().out.splitlines()
    assert title == "calibration, 2 ranks ..."
    assert told == [f"  {done} of 10 measurements" for done in (3, 5, 8, 10)]


@pytest.mark.parametrize("watched", [True, False])
def test_kernels_that_are_compiled_are_told_of_where_somebody_watches(
    capsys, monkeypatch, watched
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: watched)
    monkeypatch.setenv("TERM", "xterm")
    with Watch() as watch:
        watch.compiling("gemm")
    line = "compiling kernels of gemm; later runs find them ready ...\n"
    assert capsys.readouterr().out == line * watched
