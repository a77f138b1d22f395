"""Compile every kernel file with each value of each knob, and say what ends it.

One knob at a time: the bounds of its values, the powers of two between them, all
choices. A compiler may end its whole process (docs/adr/0011), so a worker compiles, and
another one goes on behind what ended it, or what takes ten minutes. What a kernel
cannot be built for counts as refused; what was compiled before is skipped. Ends with 1
if the compiler did not survive something. A minute or two.
"""

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

import hpccfpga
from hpccfpga import _core, kernels, sources

LONGEST = 600.0  # time for a worker until it tells of the next program [s]
MOST = 64  # replications, elements and the like: above, a build takes minutes


def exchanges() -> list[str]:
    """Schemes whose kernels are compiled; threads for channels are asked for first."""
    found = {name: _core.scheme(name) for name, _ in _core.components("exchange")}
    names = [name for name in found if not found[name]["host_memory"]]
    return sorted(names, key=lambda name: not found[name]["kernel_routed"])


def variants(benchmarks: list[str]) -> Iterator[tuple[str, str, dict[str, int | str]]]:
    """Benchmark, exchange scheme and parameters of every program that is compiled."""
    for benchmark in benchmarks:
        listed = _core.parameters(benchmark)
        shapes = [e["choices"] for e in listed if e["name"] == "shape"]
        shapes = [s for s in (shapes[0] if shapes else ["-"]) if s != "auto"]
        for exchange in exchanges():
            routed = _core.scheme(exchange)["kernel_routed"]
            for shape in shapes[:1] if routed else shapes:
                fixed = {} if shape == "-" else {"shape": shape}
                for entry in listed:
                    for value in values(entry) if entry["macro"] else []:
                        yield benchmark, exchange, fixed | {entry["name"]: value}


def values(entry: dict) -> list[int] | list[str]:
    """Values of a knob that are worth a try."""
    if entry["choices"]:
        return entry["choices"]
    low, high = (
        int(entry["low"]),
        min(int(entry["high"]), MOST * int(entry["low"] or 1)),
    )
    high = max(high, int(entry["default"]))
    powers = {2**n for n in range(high.bit_length())}
    return sorted({low, high, int(entry["default"])} | {p for p in powers if low < p})


def compile_from(benchmarks: list[str], first: int) -> None:
    """Compile the variants from number `first` on; a line of JSON for each."""
    sessions = {}
    for exchange in exchanges():
        sessions[exchange] = hpccfpga.open("opencl", exchange)
    seen: set[tuple[str | None, str]] = set()  # stream over channels is that over PCIe
    for number, (benchmark, exchange, params) in enumerate(variants(benchmarks)):
        if number < first:
            continue
        print(json.dumps([number, "begun"]), flush=True)
        core, said = sessions[exchange]._core, "skipped"
        try:
            stem = core.kernel(benchmark, str(params.get("shape", "auto")))
            _, options = kernels.knobs_of(benchmark, params)
            if stem and (stem, options) not in seen:
                seen.add((stem, options))
                text = sources.read_source(sources.kernel_dir() / f"{stem}.cl")
                kernels._built(core, stem, core.prelude + text, options)
                said = "compiled"
        except NotImplementedError:
            pass  # for another scheme
        except ValueError as error:
            said = f"refused: {error}"
        print(json.dumps([number, said]), flush=True)


def work(benchmarks: list[str], first: int) -> tuple[dict[int, str], str]:
    """Let a worker compile; what it told of each variant, and how it was ended."""
    process = subprocess.Popen(
        [sys.executable, __file__, f"--from={first}", *benchmarks],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    told: dict[int, str] = {}
    timer = threading.Timer(LONGEST, process.kill)
    timer.start()
    for line in process.stdout:
        timer.cancel()
        timer = threading.Timer(LONGEST, process.kill)
        timer.start()
        number, said = json.loads(line)
        told[number] = said
    timer.cancel()
    code = process.wait()
    if not told:
        sys.exit(f"a worker ended with {code} before it told of a program")
    return told, f"ENDED the process with {code}" if code else ""


def main() -> int:
    """Compile all of them; 0 if the compiler survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = [name for name, _ in _core.components("bench")]
    parser.add_argument("benchmark", nargs="*", default=known, help="only these")
    parser.add_argument("--from", type=int, dest="first", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first is not None:
        compile_from(options.benchmark, options.first)
        return 0
    todo, at, found = list(variants(options.benchmark)), 0, {}
    while at < len(todo):
        told, ended = work(options.benchmark, at)
        found |= told
        at = max(told) + 1
        if ended:
            found[at - 1] = ended
    for number, said in found.items():
        if said not in ("compiled", "skipped"):
            print(*todo[number], said)
    compiled = sum(said == "compiled" for said in found.values())
    ended = sum(said.startswith("ENDED") for said in found.values())
    print(f"{compiled} programs were compiled, {ended} ended the compiler")
    return int(ended > 0)


if __name__ == "__main__":
    sys.exit(main())
