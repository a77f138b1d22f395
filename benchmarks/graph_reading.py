"""How fast files of graphs are opened, beside reading their bytes and nothing else.

Writes one graph in each format, opens each several times, and prints MB/s of the best
opening: every edge is read, checked and hashed, by all cores. Then the time of making
the one part of generators.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hpccfpga import _core


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=18, help="2^SCALE vertices")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def lines(*columns: np.ndarray, front: str = "") -> str:
    """Text with a row of the columns in each line."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "".join(f"{front}{' '.join(map(str, row))}\n" for row in rows)


def metis(vertices: int, rows: np.ndarray, others: np.ndarray) -> str:
    """Text in METIS's format."""
    names = [str(v + 1) for v in others.tolist()]
    begins = rows.tolist()
    text = "".join(
        " ".join(names[begins[v] : begins[v + 1]]) + "\n" for v in range(vertices)
    )
    return f"{vertices} {len(names) // 2}\n{text}"


def serialized(vertices: int, rows: np.ndarray, others: np.ndarray) -> bytes:
    """Bytes in GAP's format, undirected."""
    head = np.array([others.size, vertices], np.int64).tobytes()
    return b"\0" + head + rows.astype(np.int64).tobytes() + others.tobytes()


def files(folder: Path, scale: int) -> list[Path]:
    """Write the graph in each format."""
    vertices = 2**scale
    rows, others, weights = _core.graph_rows(f"kron:{scale}", 0, True)
    ends = np.repeat(np.arange(vertices), np.diff(rows.astype(np.int64)))
    told = f"{vertices} {others.size}"
    banner = "%%MatrixMarket matrix coordinate integer general\n"
    texts = {
        "a.el": lines(others, ends),
        "a.wel": lines(others, ends, weights),
        "a.gr": f"p sp {told}\n" + lines(others + 1, ends + 1, weights, front="a "),
        "a.mtx": f"{banner}{vertices} {told}\n" + lines(others + 1, ends + 1, weights),
        "a.graph": metis(vertices, rows, others),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "a.sg").write_bytes(serialized(vertices, rows, others))
    return [folder / name for name in (*texts, "a.sg")]


def best(rounds: int, work: Callable[[], object]) -> float:
    """Shortest of several times [s]."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    options = arguments()
    print(f"kron:{options.scale}, {len(os.sched_getaffinity(0))} cores")
    with tempfile.TemporaryDirectory() as folder:
        for path in files(Path(folder), options.scale):
            size = path.stat().st_size
            opened = best(options.rounds, lambda p=path: _core.graph_info(str(p), 0))
            plain = best(options.rounds, path.read_bytes)
            rate = f"{size / opened / 1e6:6.0f} MB/s"
            print(
                f"{path.suffix:7} {size / 1e6:6.1f} MB: {rate}, "
                f"{opened / plain:.1f} times as long as reading bytes alone"
            )
    for name in ("kron", "urand", "grid"):
        text = f"{name}:{options.scale}"
        edges = _core.graph_info(text, 0)["edges"]
        made = best(options.rounds, lambda t=text: _core.graph_rows(t, 0, False))
        print(f"{text:9} {made:.3f} s, {1e9 * made / edges:.1f} ns an edge")


if __name__ == "__main__":
    main()
