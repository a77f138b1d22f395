"""The recipes of docs/adding.md: nothing more is needed for a new component."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from conftest import GUARD, build_dev

from hpccfpga.mpirun import command as mpirun_command

ROOT = Path(__file__).parents[2]
BUILT = Path("build", "dev")
PAGE = (ROOT / "docs" / "adding.md").read_text()
BLOCK = re.compile(r"^([^\n]*)\n\n?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:csrc|kernels|python)/[\w/.]+)`")


def recipes():
    """Take the page apart: files by path, and the lines for CMakeLists.txt."""
    files, lines = {}, []
    for before, language, text in BLOCK.findall(PAGE):
        if language == "cmake":
            lines += text.splitlines()
        else:
            files[PATH.match(before)[1]] = text
    return files, lines


FILES, LINES = recipes()
ADDED = {kind: name for kind, name in re.findall(r"component\((\w+) (\w+)", str(LINES))}


def run(*words, cwd, **environment):
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=os.environ | {"PATH": tools} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=GUARD,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}"
    return done.stdout


def add(copy):
    """Do what the page says."""
    for path, text in FILES.items():
        assert not (copy / path).exists()
        (copy / path).write_text(text)
    listed = (copy / "CMakeLists.txt").read_text()
    for line in LINES:  # beside those of its kind
        kind = re.match(r"\w+\(\w+ |\w+\(", line)[0]
        before, found, after = listed.partition(f"\n{kind}")
        assert found, line
        listed = f"{before}\n{line}{found}{after}"
    (copy / "CMakeLists.txt").write_text(listed)


# Compiles what is new, or includes a list of components: no recipe changes another file
# of C, so its object is that of build/dev.
LAUNCHER = """#!/bin/bash
object=${@: -3:1} file=${@: -1}
if cmp -s "$file" "ROOT${file#COPY}" && ! grep -q '[.]inc"' "$file"; then
    exec cp "ROOT/BUILT/$object" "$object"
fi
exec "$@"
"""


def build(copy):
    build_dev("_core", "test_harness")
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "__pycache__", "*.so")
    )
    add(copy)
    launcher = copy / "launcher"
    text = LAUNCHER.replace("ROOT", str(ROOT)).replace("COPY", str(copy))
    launcher.write_text(text.replace("BUILT", str(BUILT)))
    launcher.chmod(0o755)
    chosen = {
        "Python_EXECUTABLE": sys.executable,
        "CMAKE_C_COMPILER_LAUNCHER": launcher,
    }
    words = [f"-D{name}={value}" for name, value in chosen.items()]
    run("cmake", "--preset", "dev", *words, cwd=copy)
    run("cmake", "--build", BUILT, "--target", "_core", "test_harness", cwd=copy)


def plant(copy):
    """Plant faults in the new benchmark, and in all benchmarks over the new scheme."""
    bench, scheme = ADDED["bench"], ADDED["exchange"]
    harness = [copy / BUILT / "tests" / "test_harness", "."]
    here = copy / "kernels"
    told = run(*harness, f"bench={bench}", cwd=here)
    assert re.search(rf"^{bench} +{scheme} +opencl", told, re.MULTILINE)
    over = [*harness, "device=host", f"exchange={scheme}", "share=9"]
    told = run(*over, cwd=here)
    assert len(re.findall(rf"^\w+ +{scheme} +host", told, re.MULTILINE)) > 4
    run(*mpirun_command(), "-n", "2", *over, f"bench={bench}", cwd=here)


def conform(python):
    """Run the tests of every component, on the device that needs no compiler."""
    nouns = ("conformance", "layers", "boards")
    names = [*ADDED.values(), *(Path(path).stem for path in FILES)]
    chosen = f"({' or '.join(names)} or layers) and not opencl"
    tests = [f"tests/python/test_{noun}.py" for noun in nouns]
    told = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", chosen)
    assert re.search(r"\d\d+ passed", told), told


def compare(python):
    """Set the new model, with the new board's data, beside a measurement."""
    (board,) = (Path(path).stem for path in FILES if "/boards/" in path)
    python(
        "-c",
        "import hpccfpga as hf\n"
        f"r = hf.run({ADDED['bench']!r}, exchange={ADDED['exchange']!r}, device='host',"
        " sizes=[1, 100000], reps=2)\n"
        f"m = hf.model({ADDED['model']!r}, board={board!r}, sizes=[1, 100000])\n"
        "assert r.verified and m['bandwidth'].tolist() == [12.5e9] * 2\n"
        "print(hf.compare(r, m))",
    )


@pytest.mark.long
def test_what_the_page_says_is_all_it_takes(tmp_path, without_editable):
    copy = tmp_path / "hpccfpga"
    assert set(ADDED) == {"bench", "exchange", "model"}
    build(copy)
    plant(copy)
    path = f"{without_editable}:{copy / BUILT / 'python'}"
    python = partial(run, sys.executable, cwd=copy, PYTHONPATH=path)
    conform(python)
    compare(python)
