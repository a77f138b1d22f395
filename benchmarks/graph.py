"""Graph beside direction-optimising BFS, PageRank, Afforest and delta-stepping.

Both on the same graph and from the same sources, on as many threads, in alternating
rounds; medians of ratios of the best times, the yardstick's over ours. What a yardstick
reached must be what a run reached. The yardsticks are `graph_yardstick.c`, which
build/dev has where OpenMP is there. Ends with 1 when a target is missed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from programs import output

YARDSTICK = Path(__file__).parents[1] / "build/dev/tests/graph_yardstick"
# Program, graph, partition, and the least ratio.
TARGETS = [
    ("pagerank", "kron:20", "cyclic", 1.0),
    ("pagerank", "urand:20", "cyclic", 1.0),
    ("pagerank", "kron:20", "sorted", 1.25),
    ("bfs", "kron:20", "cyclic", 1.0),
    ("bfs", "kron:16", "cyclic", 0.6),
    ("bfs", "grid:20", "cyclic", 0.6),
    ("bfs", "kron:20", "sorted", 2.5),
    ("wcc", "kron:20", "cyclic", 1.3),
    ("wcc", "urand:20", "cyclic", 0.9),
    ("wcc", "grid:20", "cyclic", 0.15),
    ("wcc", "kron:20", "sorted", 4.0),
    ("sssp", "kron:20", "cyclic", 0.6),
    ("sssp", "urand:20", "cyclic", 0.9),
    ("sssp", "grid:20", "cyclic", 0.6),
]
SEED = "1"
SIGNED = {"bfs": "reached", "sssp": "reached"}


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=3, help="samples per round")
    parser.add_argument("--scale", type=int, help="of all graphs, for a quick look")
    parser.add_argument("--only", default="", help="a part of the names")
    return parser.parse_args()


def ours(program: str, graph: str, partition: str, reps: int) -> dict[str, list[float]]:
    """Columns of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [sys.executable, "-m", "hpccfpga", "run", "graph"]
        command += ["--program", program, "--graph", graph, "--partition", partition]
        command += [
            "--seed",
            SEED,
            "--sources",
            "2",
            "--reps",
            str(reps),
            "--json",
            str(path),
        ]
        output(command)
        result = json.loads(path.read_text())
    if not result["verified"]:
        sys.exit(f"{program} on {graph}: wrong data")
    return {name: column["values"] for name, column in result["columns"].items()}


def theirs(
    program: str, graph: str, reps: int, sources: list[int]
) -> list[list[float]]:
    """Seconds and what shows that it is right, of each source."""
    at = [str(max(0, source)) for source in sources]
    command = [str(YARDSTICK), graph, SEED, program, str(reps), *at]
    lines = output(command).splitlines()
    return [[float(word) for word in line.split()] for line in lines]


def main() -> int:
    """Compare, print a line for each target."""
    options = arguments()
    if not YARDSTICK.exists():
        sys.exit(
            f"{YARDSTICK} is not there: cmake --preset dev, cmake --build build/dev"
        )
    missed = measured = 0
    for program, graph, partition, target in TARGETS:
        if options.scale:
            graph = f"{graph.split(':')[0]}:{options.scale}"
        name = f"{program}, {graph}, {partition}"
        if options.only not in name:
            continue
        ratios = []
        for _ in range(options.rounds):
            run = ours(program, graph, partition, options.reps)
            sources = [int(source) for source in run["source"]]
            found = theirs(program, graph, options.reps, sources)
            if program in SIGNED:
                signs = [sign for _, sign in found]
                if signs != run[SIGNED[program]]:
                    sys.exit(f"{name}: {run[SIGNED[program]]} reached, theirs {signs}")
            ratios += [t / o for (t, _), o in zip(found, run["time"], strict=True)]
        ratio = median(ratios)
        measured += 1
        missed += ratio < target
        verdict = "met" if ratio >= target else "MISSED"
        print(f"{name:32} {ratio:6.2f}  target {target:4.2f}  {verdict}", flush=True)
    return int(missed > 0 or measured == 0)


if __name__ == "__main__":
    sys.exit(main())
