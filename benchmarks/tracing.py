"""What a trace costs, and how well it places a device's times on the host's clock.

Runs b_eff with and without a trace, interleaved over several rounds with the same ranks
and sizes. Every figure is a median over rounds of a ratio taken within one round. What
sessions without a trace cost is the business of ``overhead.py``.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from programs import mpirun, output


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchange", default="pcie")
    parser.add_argument("--device")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", type=int, default=15, help="samples per size")
    parser.add_argument("--sizes", default="1,1024,65536,1048576", help="[B]")
    return parser.parse_args()


def measured(options: argparse.Namespace, path: Path, *more: str) -> dict:
    """Run once and return the document of its result."""
    words = [
        f"--{name}={getattr(options, name)}" for name in ("exchange", "reps", "sizes")
    ]
    words += [f"--device={options.device}"] if options.device else []
    command = [*mpirun(options.ranks), sys.executable, "-m", "hpccfpga"]
    output([*command, "run", "b_eff", *words, "--quiet", f"--json={path}", *more])
    return json.loads(path.read_text())


def times(document: dict, name: str) -> list[float]:
    """Seconds per step at each size."""
    return document["columns"][name]["values"]


def main() -> int:
    """Measure and print."""
    options = arguments()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        for _ in range(options.rounds):
            rounds.append((measured(options, path), measured(options, path, "--trace")))
    traced = [with_it for _, with_it in rounds]
    print(f"{traced[0]['device']}, exchange {options.exchange}, {options.ranks} ranks")
    for name in ("device_clock_error", "rank_clock_error"):
        values = [document["summary"][name]["value"] for document in traced]
        print(f"{name}: {1e6 * median(values):.3g} us")
    for point, size in enumerate(traced[0]["columns"]["message_size"]["values"]):
        plain = median(times(without, "time")[point] for without, _ in rounds)
        ratios = [
            times(with_it, "time")[point] / times(without, "time")[point]
            for without, with_it in rounds
        ]
        told = f"{1e6 * plain:8.4g} us a step, with a trace {median(ratios):.3f} times"
        print(f"{size:9} B: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
