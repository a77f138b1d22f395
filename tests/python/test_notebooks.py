"""Every notebook is short, clean, and runs from its first cell to its last."""

import ast
import re
from pathlib import Path

import pytest
from conftest import GUARD, ours

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

PATHS = sorted(Path(__file__).parents[2].glob("notebooks/*.ipynb"))
SMALL = {
    "01_b_eff": "ranks, sizes, reps = None, [1024, 4096, 16384], 3",
    "02_scaling": "ranks = [2]\nelements, width, reps = 4096, 256, 3",
    "03_single_device": (
        "elements, words, batch, widths = 4096, [4096, 8192], 4, [32, 64]\n"
        "setup['reps'] = 3\n"
        "from functools import partial\n"
        "few = {'b_eff': {'sizes': [64]}, 'graph': {'graph': 'kron:6'}}\n"
        "few['linpack'] = {'sizes': [64]}\n"
        "hpccfpga.run_all = partial(hpccfpga.run_all, **few)"
    ),
    "04_graph": "graph, setup['reps'] = 'kron:10', 3",
}
"""What the cell tagged `parameters` is followed by, to make the run a short one.

Ranks are started by one of them.
"""

every_notebook = pytest.mark.parametrize("path", PATHS, ids=[p.stem for p in PATHS])


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@every_notebook
def test_notebook_is_short_and_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert len(notebook.cells) <= 12
    for cell in code_cells(notebook):
        assert cell.outputs == [], "strip it: pre-commit run -a"
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 5, f"{node.name} is too long"


@pytest.mark.long
@pytest.mark.notebooks
@every_notebook
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    at = next(number for number, found in enumerate(tags) if "parameters" in found)
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(SMALL[path.stem]))
    plots = sum(len(re.findall(r"\.plot\w*\(", c.source)) for c in code_cells(notebook))
    assert plots > 0

    longest = {"timeout": GUARD, "startup_timeout": GUARD}
    nbclient.NotebookClient(notebook, **longest).execute(cwd=path.parent)

    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    figures = [o for o in outputs if "image/png" in o.get("data", {})]
    assert len(figures) == plots
    said = [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    assert ours("".join(said)) == ""
