"""Graph beside direction-optimising BFS, PageRank, Afforest and delta-stepping.

Both on the same graph and from the same sources, on as many threads, in alternating
rounds; medians of ratios of the best times, the yardstick's over ours. What a yardstick
reached must be what a run reached. The yardsticks are `graph_yardstick.c`, which
build/dev has where OpenMP is there. Other figures follow, of `graph_figures.py`. A line
for each; `--only` takes those with this part of a name: yardstick, ranks, superstep,
verification, scipy, memory, auto. Ends with 1 when a target is missed.
"""

import argparse
import sys
from pathlib import Path
from statistics import median

import graph_figures
from programs import columns, output

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
    parser.add_argument("--reps", type=int, default=9, help="samples per round")
    parser.add_argument("--scale", type=int, help="of all graphs, for a quick look")
    parser.add_argument("--only", default="", help="a part of the lines' names")
    return parser.parse_args()


def verdict(line: str, value: float, target: float, most: bool = False) -> bool:
    """Print a line for a target, an upper bound with `most`. Whether it is missed."""
    missed = value > target if most else value < target
    word = "at most" if most else "target"
    end = "MISSED" if missed else "met"
    print(f"{line:52} {value:7.2f}  {word} {target:5.2f}  {end}", flush=True)
    return missed


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
        if options.only not in f"yardstick, {name}":
            continue
        ratios = []
        for _ in range(options.rounds):
            run = columns(
                "graph",
                program=program,
                graph=graph,
                partition=partition,
                seed=SEED,
                sources=2,
                reps=options.reps,
            )
            sources = [int(source) for source in run["source"]]
            found = theirs(program, graph, options.reps, sources)
            if program in SIGNED:
                signs = [sign for _, sign in found]
                if signs != run[SIGNED[program]]:
                    sys.exit(f"{name}: {run[SIGNED[program]]} reached, theirs {signs}")
            ratios += [t / o for (t, _), o in zip(found, run["time"], strict=True)]
        measured += 1
        missed += verdict(f"yardstick, {name}", median(ratios), target)
    for figure in graph_figures.FIGURES:
        if options.only in figure.name:
            for line, value in figure.measure(options.scale, options.rounds):
                measured += 1
                missed += verdict(line, value, figure.target, figure.most)
    if measured == 0:
        sys.exit(f'no line has "{options.only}" in its name')
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
