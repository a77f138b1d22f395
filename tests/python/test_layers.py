"""The architecture's rules that a machine can check: who may include whom, and how."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CSRC = ROOT / "csrc"
SOURCES = sorted(p for p in CSRC.rglob("*.[ch]"))
KERNELS = sorted(p for p in (ROOT / "kernels").iterdir() if p.suffix in {".cl", ".h"})

# Headers a folder may include beside hf.h, core/ and its own.
ALLOWED = {
    "bench": {"exchange.h", "device.h"},
    "exchange": {"device.h", "transport.h"},
    "device": set(),
    "transport": set(),
    "model": set(),
    "python": {"model.h"},
}
# The session alone binds all four, and the registry lists them: what includes their
# headers would have all four, too.
BINDERS = {
    "core/session.h",
    "core/session.c",
    "core/run.h",
    "core/run.c",
    "core/registry.h",
}
CORE = {f"core/{p.name}" for p in (CSRC / "core").glob("*.h")} - BINDERS
FOUR = {"bench.h", "exchange.h", "device.h", "transport.h", "model.h"}
# How foreign headers begin, and the only places for them.
FOREIGN = {
    r"Python\.h": r"python/",
    r"numpy/": r"python/",
    r"mpi\.h": r"transport/mpi\.c",
    r"CL/": r"device/opencl",
    r"xrt[./]|experimental/xrt": r"device/xrt\.c",
}


def relative(path):
    return path.relative_to(CSRC).as_posix()


def includes(path):
    return re.findall(r'^#include ["<](.+?)[">]', path.read_text(), re.M)


def code_of(text):
    """Without comments and the text of strings."""
    return re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", text, flags=re.S)


def own_headers():
    return {p.name for p in SOURCES if p.suffix == ".h"}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_includes_follow_the_arrows(path):
    place = relative(path)
    folder = place.partition("/")[0]
    allowed = {"hf.h", "hf_components.inc"}
    allowed |= {p.name for p in (CSRC / folder).glob("*.h")} if "/" in place else set()
    allowed |= FOUR if place in BINDERS else ALLOWED.get(folder, set())
    for header in includes(path):
        name = header.rpartition("/")[2]
        fits = name in allowed or header in CORE or name not in own_headers()
        assert fits, f"{place} may not include {header}"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_foreign_headers_stay_in_their_files(path):
    for begin, place in FOREIGN.items():
        for header in includes(path):
            fits = not re.match(begin, header) or re.match(place, relative(path))
            assert fits, f"{header} in {relative(path)}"


@pytest.mark.parametrize("path", SOURCES + KERNELS, ids=lambda p: p.name)
def test_first_line_says_what_the_file_is(path):
    first = path.read_text().splitlines()[0]
    assert re.fullmatch(rf"/\* {re.escape(path.name)} - .+", first), first


@pytest.mark.parametrize("path", SOURCES + KERNELS, ids=lambda p: p.name)
def test_files_stay_short(path):
    lines = len(path.read_text().splitlines())
    header = 120 if path in SOURCES else 160  # kernels' headers hold code
    limit = header if path.suffix == ".h" else 460
    assert lines <= limit, f"{path.name} has {lines} lines: split it"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_library_neither_prints_nor_exits_nor_reads_the_environment(path):
    code = code_of(path.read_text())
    calls = re.findall(
        r"\b(v?f?printf|puts|fputs|exit|abort|getenv|setenv|system)\s*\(", code
    )
    assert not calls
    assert not re.search(r"\bMPI_(Init|Finalize|Abort|COMM_WORLD)\b", code)
    assert not re.search(r"#\s*if(def)?\b.*\bHF_WITH", code)


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if relative(p).startswith("bench/")], ids=relative
)
def test_benchmarks_know_no_clock_and_no_scheme(path):
    text = path.read_text()
    clocks = {"core/clock.h", "time.h", "sys/time.h", "sys/times.h", "sys/timeb.h"}
    assert not clocks & set(includes(path))
    reads = r"\b(hf_clock_\w+|clock(_gettime)?|gettimeofday|time(spec_get|s)?)\s*\("
    assert not re.search(reads, code_of(text)), "reads a clock"
    assert not re.search(r'strcmp\([^)]*"(host|pcie|channel)"', text)


def test_every_component_is_registered():
    listed = (ROOT / "CMakeLists.txt").read_text()
    registered = set(re.findall(r"hf_component\((\w+) (\w+)\)", listed))
    for kind in ("bench", "exchange", "device", "transport", "model"):
        for path in (CSRC / kind).glob("*.c"):
            table = re.search(
                rf"^const hf_\w+_ops hf_{kind}_(\w+) =", path.read_text(), re.M
            )
            if table:
                assert (kind, table[1]) in registered
                assert table[1] == path.stem
    on_host = re.findall(r"hf_kernels\((\w+)", listed)
    for path in (ROOT / "kernels").glob("*.cl"):  # ndrange shapes are for CPUs and GPUs
        assert path.stem in on_host or path.stem.endswith("_ndrange")
