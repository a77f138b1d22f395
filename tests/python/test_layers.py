"""The architecture's rules that a machine can check: who may include whom, and how."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CSRC = ROOT / "csrc"
SOURCES = sorted(p for p in CSRC.rglob("*.[ch]"))
KERNELS = sorted(p for p in (ROOT / "kernels").iterdir() if p.suffix in {".cl", ".h"})
BENCHES = [p for p in SOURCES if p.parent.name == "bench"]
PACKAGE = ROOT / "python" / "hpccfpga"
MODULES = sorted(p for p in PACKAGE.glob("*.py") if p.stem != "__init__")
BESIDE = [p for name in ("tests", "benchmarks") for p in (ROOT / name).rglob("*.[ch]")]

TRANSPORT = {"transport.h", "agree.h", "node.h"}
DEVICE = {"device.h", "one_core.h"}
# Headers a folder may include beside hf.h, core/ and its own.
ALLOWED = {
    "bench": {"exchange.h", "device.h", "graph.h"},
    "exchange": DEVICE | TRANSPORT,
    "device": set(),
    "graph": set(),
    "transport": set(),
    "model": set(),
    "python": {"graph.h", "model.h"},
}
# The session alone binds all four, and the registry lists them: what includes their
# headers would have all four, too.
BINDERS = {
    "core/session.h",
    "core/session.c",
    "core/run.h",
    "core/run.c",
    "core/trace.h",
    "core/trace_state.h",
    "core/registry.h",
}
# Kernels' headers that others than a benchmark of the same name may include, and why.
SHARED_WITH_KERNELS = {
    "bench/bench.h": {"hf_numbered.h"},  # how many replications there may be
    "bench/verdict.h": {"hf_finding.h"},  # what check kernels write
    "bench/sweep.h": {"hf_slide.h"},  # how far messages of a sweep slide
    "exchange/rings.h": {"hf_ring.h"},  # the memory of channels
    "exchange/relay.c": {"relay_layout.h"},  # what a relay does, and where
    "exchange/scheduler.h": {"hf_ring.h"},  # what a kernel calls that waits
}
# Calls that only these files may make, and why.
PRIVILEGED = {
    "python/guard.c": {"write", "_exit"},  # ends a process in time, with a line
    "python/vendors.c": {"write"},  # shows why a library ended the process
    "device/xrt.c": {"_exit"},  # ends a child, in which XRT would crash
    "device/xrt_library.c": {"getenv"},  # XRT ends the process over some variables
    "exchange/pipes.c": {"write"},  # unblocks kernels at the other ends of pipes
}
CORE = {f"core/{p.name}" for p in (CSRC / "core").glob("*.h")} - BINDERS
FOUR = {"bench.h", "exchange.h", "model.h"} | DEVICE | TRANSPORT
# How foreign headers begin, and the only places for them.
FOREIGN = {
    r"Python\.h": r"python/",
    r"numpy/": r"python/",
    r"mpi\.h": r"transport/mpi(_wait|_meet)?\.[ch]",
    r"CL/": r"device/opencl",
    r"xrt[./]|experimental/xrt|xcl": r"nowhere",  # prototypes are our own
}


def relative(path):
    return path.relative_to(CSRC).as_posix()


def joined(text):
    """Lines that end in a backslash as one."""
    return re.sub(r"\\[ \t]*\n", " ", text)


def uncommented(text):
    """Without comments; what is wrapped stands in one line."""
    return re.sub(r"/\*.*?\*/", "", joined(text), flags=re.S)


def includes(text):
    """Headers in order; of a name that is computed, the macro."""
    line = r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t]*$"
    found = re.findall(line, uncommented(text), re.M)
    return [re.sub(r'^["<](.+?)[">].*', r"\1", name) for name in found]


def code_of(text):
    """Without comments and the text of strings; what is wrapped stands in one line."""
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', "", joined(text), flags=re.S)
    return re.sub(r"\s*(->|[.()])\s*", r"\1", code)


def literals_of(text):
    """The strings, those that stand side by side as one."""
    return re.findall(r'"((?:\\.|[^"\\])*)"', re.sub(r'"\s*"', "", uncommented(text)))


def components(kind):
    """Names of the components of a kind, by their tables of functions."""
    table = rf"^const hf_(?:bench|\w+_ops) hf_{kind}_(\w+) ="
    texts = (path.read_text() for path in (CSRC / kind).glob("*.c"))
    found = {name for text in texts for name in re.findall(table, text, re.M)}
    assert found, f"no table of a {kind}"
    return found


def own_headers():
    return {p.name for p in SOURCES if p.suffix == ".h"}


def kernel_headers():
    return {p.name for p in KERNELS if p.suffix == ".h"}


def misplaced_headers(place, text):
    """Headers that a file at this place may not include."""
    folder = place.partition("/")[0]
    allowed = {"hf.h", "hf_components.inc", "hf_kernels.inc"}
    allowed |= {p.name for p in (CSRC / folder).glob("*.h")} if "/" in place else set()
    base = f"{place.partition('/')[2].partition('.')[0]}_"
    if folder == "core" and f"core/{base.partition('_')[0]}.h" not in BINDERS:
        allowed -= {name.partition("/")[2] for name in BINDERS}
    allowed |= FOUR if place in BINDERS else ALLOWED.get(folder, set())
    if folder == "bench":
        allowed |= {
            n for n in kernel_headers() if base.startswith(f"{n.rpartition('_')[0]}_")
        }
    allowed |= SHARED_WITH_KERNELS.get(place, set())
    return [
        header
        for header in includes(text)
        if (name := header.rpartition("/")[2]) not in allowed
        and header not in CORE
        and (
            name in own_headers() | kernel_headers()
            or not re.search(r"\.(h|inc)$", name)
        )
    ] + [
        header
        for header in includes(text)
        for begin, home in FOREIGN.items()
        if re.match(begin, header) and not re.match(home, place)
    ]


def forbidden_calls(place, text):
    """What the library leaves to others: to print, to exit, to read the environment."""
    code = code_of(text)
    calls = r"(?<![\w>.])(v?[fd]?printf|f?puts|f?putc|putchar|perror|f?write|abort|"
    calls += r"(?:_|quick_)?exit|_Exit|(?:secure_)?getenv|setenv|system)\("
    finds = [
        call
        for call in re.findall(calls, code)
        if call not in PRIVILEGED.get(place, ())
    ]
    finds += re.findall(r"\bMPI_(?:Init|Finalize|Abort|COMM_WORLD)\b", code)
    return finds + re.findall(r"#\s*if(?:def)?\b.*\bHF_WITH", code)


def overreach(text):
    """What a benchmark must not know: clocks, the scheme's name, the transport."""
    code = code_of(text)
    clocks = {"core/clock.h", "time.h", "sys/time.h", "sys/times.h", "sys/timeb.h"}
    finds = sorted(clocks & set(includes(text)))
    reads = r"\b(?:hf_clock_\w+|clock(?:_gettime)?|gettimeofday|time(?:spec_get|s)?)\("
    finds += re.findall(reads, code)
    finds += re.findall(r"(?:->|\.)net\b|\bhf_transport\w*|\bMPI_\w+", code)
    finds += re.findall(r"\b(?:str|mem)\w*\([^;]*ops->name", code)
    return finds + sorted(components("exchange") & set(literals_of(text)))


def found_in(paths, check):
    """What a check finds in files, by their names: all at once, so in one test."""
    found = {str(p.relative_to(ROOT)): check(p, p.read_text()) for p in paths}
    assert found
    return {name: finds for name, finds in found.items() if finds}


def test_includes_follow_the_arrows():
    assert found_in(SOURCES, lambda p, t: misplaced_headers(relative(p), t)) == {}


def test_library_neither_prints_nor_exits_nor_reads_the_environment():
    assert found_in(SOURCES, lambda p, t: forbidden_calls(relative(p), t)) == {}


def test_benchmarks_know_no_clock_no_scheme_and_no_transport():
    benchmarks = [p for p in SOURCES if relative(p).startswith("bench/")]
    assert found_in(benchmarks, lambda _, text: overreach(text)) == {}


def readers(sources):
    """Files that look at what check kernels wrote, which one function alone judges."""
    reads = r"\bhf_finding\w*|\bverdict(?:\.|->)(?:findings|buffer)\b"
    return {place for place, text in sources.items() if re.search(reads, code_of(text))}


def test_only_the_verdict_reads_findings():
    found = readers({relative(path): path.read_text() for path in SOURCES})
    assert found == {"bench/verdict.c", "bench/verdict.h"}
    for text in (
        "hf_finding f;\nops->read(device, buffer, 0, &f, sizeof f, NULL, NULL);",
        "double error = s->verdict\n    .findings[0].bits;",
        "ops->read(device, verdict->buffer, 0, &seen, 4, NULL, NULL);",
    ):
        assert readers({"bench/x.c": text})


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("bench/x.c", '#include "transport.h"\n'),
        ("bench/x.c", '  #  include "transport.h"\n'),
        ("bench/x.c", '#include \\\n    "transport.h"\n'),
        ("bench/x.c", "#define NET <transport.h>\n#include NET\n"),
        ("exchange/x.c", '#include "bench.h" /* for hf_env */\n'),
        ("device/host.c", "#include <CL/cl.h>\n"),
        ("bench/x.c", "#\\\ninclude <mpi.h>\n"),
        ("bench/x.c", '/* as all */ #include "transport.h"\n'),
        ("core/x.c", '#include "hf_kernel.h"\n'),
        ("core/x.c", '#include "core/session.h"\n'),
        ("core/offset.c", '#include "trace_state.h"\n'),
        ("bench/fft.c", '#include "gemm_layout.h"\n'),
        ("exchange/host.c", '#include "hf_ring.h"\n'),
    ],
)
def test_a_misplaced_header_is_seen(place, text):
    assert misplaced_headers(place, text)


@pytest.mark.parametrize(
    "text",
    [
        'f();\nfprintf\n    (stderr, "no");',
        "char *home = getenv /* of the user */ (NAME);",
        "MPI_Comm all =\n    MPI_COMM_WORLD;",
        'perror("no");',
        "_exit\n    (3);",
        'if (write(2, "no", 2) < 0)',
    ],
)
def test_a_forbidden_call_is_seen(text):
    assert forbidden_calls("core/x.c", text)


def test_privileges_are_used():
    """An exception that no file needs any more goes."""
    for place, calls in PRIVILEGED.items():
        text = (CSRC / place).read_text()
        assert set(forbidden_calls("core/x.c", text)) == calls, place
    for place, headers in SHARED_WITH_KERNELS.items():
        assert headers <= set(includes((CSRC / place).read_text())), place


@pytest.mark.parametrize(
    "text",
    [
        "s->env.exchange->net->ops->barrier(s->env.exchange->net);",
        "hf_exchange *e = s->env.exchange;\nreturn e\n    ->net\n    ->rank;",
        "int ranks = (*env->exchange)\n    .net->size;",
        "hf_transport\n    *net = find(env);",
        'bool direct = strcmp(name_of(s, 0),\n    "pcie") == 0;',
        'bool direct = strcmp(name, "ho" /* joined */\n    "st") == 0;',
        "if (strncmp(s->env.exchange\n    ->ops->name, name, 4) == 0)",
        "double start = hf_clock_now\n    ();",
        "#include \\\n<time.h>\n",
    ],
)
def test_what_a_benchmark_must_not_know_is_seen(text):
    assert overreach(text)


def functions_of(header, table):
    """Functions of a table and their parameters."""
    text = (CSRC / header).read_text()
    body = re.search(rf"struct {table} {{(.*?)^}};", text, re.S | re.M)[1]
    return dict(re.findall(r"\(\*(\w+)\)\(([^;]*)\);", code_of(body)))


def test_what_takes_time_is_traced():
    """A new command, or a new way to send, is not missing in traces."""
    device = functions_of("device/device.h", "hf_device_ops")
    commands = {name for name, what in device.items() if "hf_order" in what}
    commands |= {name for name in device if name in {"map", "unmap"}}
    waits = {name for name, what in device.items() if "hf_event *event" in what}
    assert len(commands) > 5
    net = functions_of("transport/transport.h", "hf_transport_ops")
    moves = {
        name
        for name, what in net.items()
        if re.search(r"transfer|bytes|color|reduction", what)
    }
    assert moves
    for needed, place, ops in (
        (commands | waits | {"finish", "kernel"}, "trace_device.c", "device_ops"),
        (moves | {"barrier"}, "trace_net.c", "net_ops"),
    ):
        text = (CSRC / "core" / place).read_text()
        assert needed <= set(re.findall(rf"{ops}\.(\w+) = traced_\1;", text))


def users(sources):
    """Benchmarks that fill a member of their tables or values: {member: names}."""
    found = {}
    for path, text in sources.items():
        names = [n for n in components("bench") if f"{path.stem}_".startswith(f"{n}_")]
        text = joined(text)
        filled = re.findall(r"\bhf_bench(?:_path)? \w+ = {(.*?)};", text, re.S)
        filled += re.findall(r"#define \w+_PATH\b(.*)", text)
        members = [m for body in filled for m in re.findall(r"\.(\w+) =", body)]
        value = r"\bhf_(?:outline|setting|outcome) \*(\w+)[^;{}]*{(.*?)^}"
        for name, body in re.findall(value, text, re.S | re.M):
            members += re.findall(rf"\b{name}->(\w+)", body)
        for member in members:
            found.setdefault(member, set()).update(names)
    return found


def members_of(header, *tables):
    text = (CSRC / header).read_text()
    for table in tables:
        body = re.search(rf"struct {table} {{(.*?)^}} {table};", text, re.S | re.M)[1]
        body = re.sub(
            r"\(\*(\w+)\)\([^;]*\)", r"\1", re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        )
        yield from re.findall(r"(\w+)(?:\[\w+\])?\s*[,;]", body)


def test_no_member_is_there_for_one_benchmark():
    found = users({p: p.read_text() for p in (CSRC / "bench").glob("*.c")})
    tables = "hf_bench", "hf_bench_path", "hf_outline", "hf_setting", "hf_outcome"
    members = set(members_of("bench/bench.h", *tables))
    assert {"name", "stages", "verify", "note", "most", "work"} <= members
    alone = {m for m in members if len(found.get(m, ())) < 2}
    assert alone == set()  # docs/adr/0034


def test_first_line_says_what_the_file_is():
    def other(path, text):
        first = text.partition("\n")[0]
        told = re.fullmatch(rf"/\* {re.escape(path.name)} - .+", first)
        return None if told else first

    assert found_in(SOURCES + KERNELS, other) == {}


def test_files_stay_short():
    def beyond(path, text):
        header = 120 if path in SOURCES else 160  # kernels' headers hold code
        limit = {".h": header, ".py": 540}.get(path.suffix, 455)
        lines = len(text.splitlines())
        return f"{lines} lines: split it" if lines > limit else None

    assert found_in(SOURCES + KERNELS + MODULES, beyond) == {}


def test_comments_stay_narrow():
    """Those that clang-format leaves as they are."""

    def wide(path, text):
        return [line for line in text.splitlines() if len(line) > 100]

    assert found_in(SOURCES + KERNELS + BESIDE, wide) == {}


def test_every_component_is_registered():
    listed = (ROOT / "CMakeLists.txt").read_text()
    registered = set(re.findall(r"hf_component\((\w+) (\w+)\)", listed))
    for kind in ("bench", "exchange", "device", "transport", "model"):
        for name in components(kind):
            assert (kind, name) in registered
            assert (CSRC / kind / f"{name}.c").is_file()
    on_host = re.findall(r"hf_kernels\((\w+)", listed)
    for path in (ROOT / "kernels").glob("*.cl"):  # ndrange shapes are for CPUs and GPUs
        assert path.stem in on_host or path.stem.endswith("_ndrange")


# ---- Python ----

ORDER = (
    # words and files
    {"_core", "text", "files", "tables", "words"},
    {"errors", "arguments", "stops", "daemon", "provenance"},
    {
        "records",
        "emulation",
        "formats",
        "keeper",
        "hosts",
        "entry",
        "supersteps",
        "axes",
    },
    {"cores", "mpirun"},
    {
        "npz",
        "boards",
        "components",
        "display",
        "manifests",
        "plot",
        "program",
        "traces",
    },
    {"timeline", "edges"},
    # results, and what is held against them
    {"result", "topology"},
    {"formulas"},
    {"calibration", "inputs"},
    {"comparison", "published", "models", "fit"},
    {"configuration", "choice"},
    {"automatic"},
    # runs
    {"trial", "progress", "ranks", "sources", "xclbin"},
    {"kernels", "graph", "turns"},
    {"outcome", "preparation"},
    {"session", "vendor"},
    {"job"},
    {"perform"},
    {"launch"},
    {"measure"},
    {"scaling", "sound", "suite"},
    # the command
    {"parameters", "outputs", "doctor"},
    {"options"},
    {"commands"},
    {"cli"},
    {"__main__", "_rank"},
)
"""Modules of each layer; one may import those of the layers above it."""


def imports(text):
    """Modules of the package that a text imports, wherever, but for type checkers."""
    found = set()
    unseen = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            unseen |= {id(inner) for inner in ast.walk(node)}
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found |= {n.partition(".")[2] for n in names if re.match(r"hpccfpga\b", n)}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "say hpccfpga."
            package, _, module = (node.module or "").partition(".")
            if package == "hpccfpga":
                found |= {module} if module else {alias.name for alias in node.names}
    return found


def layer(module):
    return next((n for n, names in enumerate(ORDER) if module in names), len(ORDER))


def upward(module, text):
    """What a module imports of its own layer or of one below; "" is the package."""
    return sorted(n for n in imports(text) if not n or layer(n) >= layer(module))


def test_modules_import_in_one_direction():
    assert {p.stem for p in MODULES} <= set().union(*ORDER), "give it a place in ORDER"
    assert found_in(MODULES, lambda path, text: upward(path.stem, text)) == {}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("result", "from hpccfpga.session import Session"),
        ("result", "def f():\n    from hpccfpga import suite"),
        ("result", "import hpccfpga.cli"),
        ("session", "import hpccfpga"),
        ("plot", "from hpccfpga.result import Result"),
        ("job", "from hpccfpga import models, launch"),
    ],
)
def test_an_import_in_the_other_direction_is_seen(module, text):
    assert upward(module, text)


def test_types_are_no_imports():
    text = "if TYPE_CHECKING:\n    from hpccfpga.suite import Suite"
    assert upward("result", text) == []


def test_benchmarks_that_plan_messages_take_chunks():
    """By these `auto` knows whom it has to choose for."""
    plans, takes = (
        {p.stem.partition("_")[0] for p in BENCHES if word in p.read_text()}
        for word in ("hf_plan_new(", "HF_CHUNK_PARAMS")
    )
    assert plans == takes != set()
