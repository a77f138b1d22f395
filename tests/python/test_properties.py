"""Whatever is given: it works, or one line says why not. `--hypothesis-profile=long`
looks for hours; what it finds becomes an example here or a test elsewhere."""

import copy
import io
import json
import linecache
import re
import traceback
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

import hpccfpga as hf
from counting_core import Core
from example_result import measured, traced
from hpccfpga import _core, cli, commands, formats, kernels, manifests, npz
from hpccfpga.errors import line
from hpccfpga.traces import hidden

# What NumPy says of numbers that are too large is for us to tell, not for it.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

PACKAGE = Path(hf.__file__).parent
TOLD = (ValueError, TypeError, LookupError, NotImplementedError, hf.Error)
ODD = [None, True, False, 0, 1, -1, 2, 0.5, 1e308, 2**31, 2**63, 2**70, 10**400]
ODD += [float("nan"), float("inf"), "", "1", "x", "\x1b[31m", "\0", "\udc80", "$a$"]
ODD += [b"x", [], [1], ["x"], [[1], [1, 2]], {}, {"a": 1}, object(), np.ones(2), {1, 2}]

texts = st.text(max_size=8) | st.sampled_from([t for t in ODD if isinstance(t, str)])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
leaves |= st.sampled_from([2**31, 2**63, 2**70, 10**400, -1, 0, 1])
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)
odd = st.sampled_from(ODD)
STOPPED = "here a run would begin"
slow = settings(suppress_health_check=list(HealthCheck))


def told(error, kinds):
    """Whether an error is of these kinds, raised by us, and one line for a terminal."""
    note("".join(traceback.format_exception(error)))
    text = line(error)
    if text == STOPPED:
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    source = linecache.getline(last.filename, last.lineno).strip()
    ours = Path(last.filename).is_relative_to(PACKAGE)
    # What the core refuses has no frame of its own; its binding raises TypeError.
    core = "core." in source and not isinstance(error, TypeError)
    return (
        isinstance(error, kinds)
        and text.isprintable()
        and 0 < len(text) < 2000
        and ours
        and (source.startswith("raise ") or core)
    )


def tried(function, *arguments, kinds=TOLD, **named):
    """What a call gives, or None if it refuses in order."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        if not told(error, kinds):
            raise
        return None


# ---- documents ----


def places(document, path=()):
    """Paths of all that a document holds, its lists as a whole."""
    yield path
    if isinstance(document, dict):
        for key, entry in document.items():
            yield from places(entry, (*path, key))


@st.composite
def damaged(draw, document):
    """A document with some values replaced, taken away or added."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([p for p in places(document) if p]))
        place = document
        for key in way:
            place = place[key]
        match draw(st.sampled_from(["replace", "remove", "add", "rename"])):
            case "replace":
                place[last] = draw(values)
            case "remove" if len(document) > 1:
                del place[last]
            case "rename":
                place[draw(texts)] = place.pop(last)
            case _:
                place[draw(texts)] = draw(values)
    return document


WHOLE = json.loads(measured().to_json())
WHOLE["provenance"] |= {"notes": ["a note"], "source": "a source"}
WHOLE["columns"]["words"] = {
    "unit": "1", "dtype": "str", "shape": [3], "values": ["a", "b", "c"]
}  # fmt: skip
SUITE = {
    "schema": "hpccfpga-suite/1",
    "benchmarks": {
        "b_eff": {"result": WHOLE, "model": WHOLE | {"kind": "modelled"}},
        "fft": {"result": None, "model": None, "error": "x", "error_type": "Error"},
    },
}


def clean(text):
    return all(c.isprintable() or c == "\n" for c in text)


def shown(result):
    """All ways to show a result."""
    assert clean(f"{result!r}{result}{result._repr_html_()}{result.label}")
    assert clean(" ".join([*result.warnings, *result.labels, *result.units]))


@given(damaged(WHOLE) | values)
def test_any_json_is_a_result_or_refused(document):
    text = json.dumps({"x": document} if not isinstance(document, dict) else document)
    result = tried(hf.Result.from_json, text, kinds=(ValueError,))
    if result is None:
        return
    shown(result)
    again = hf.Result.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    tried(hf.compare, result, measured())
    tried(hf.compare, measured(), result)
    tried(hf.fit, result)
    tried(result.to_xarray)
    result.to_pandas()


@given(damaged(SUITE))
def test_any_json_is_a_suite_or_refused(document):
    suite = tried(hf.Suite.from_json, json.dumps(document), kinds=(ValueError,))
    if suite is None:
        return
    assert clean(f"{suite!r}{suite}{suite._repr_html_()}")
    hf.Suite.from_json(suite.to_json())


@slow
@given(damaged(WHOLE))
def test_any_result_is_drawn_or_refused(tmp_path_factory, document):
    result = tried(hf.Result.from_json, json.dumps(document), kinds=(ValueError,))
    if result is None:
        return
    path = tmp_path_factory.getbasetemp() / "x.svg"
    with mock.patch("warnings.warn"):
        tried(hf.plot, result, measured(), path=path)


@slow
@given(damaged(json.loads(traced(ranks=1, steps=1).to_json())["trace"]))
def test_any_trace_is_drawn_or_refused(tmp_path_factory, trace):
    document = json.loads(traced(ranks=1, steps=1).to_json()) | {"trace": trace}
    result = tried(hf.Result.from_json, json.dumps(document), kinds=(ValueError,))
    if result is None or result.trace is None:
        return
    shown(result)
    path = tmp_path_factory.getbasetemp() / "x.svg"
    with mock.patch("warnings.warn"):
        tried(result.plot_timeline, path, kinds=(ValueError,))
    tried(result.to_perfetto, path, kinds=(ValueError,))
    hidden(result.trace)


@given(texts | st.text())
def test_any_text_is_a_result_or_refused(text):
    tried(hf.Result.from_json, "{" + text, kinds=(ValueError,))


# ---- archives ----


ARCHIVE = io.BytesIO()
npz.write(
    ARCHIVE,
    formats.document(measured(), False),
    {name: column.values for name, column in measured().columns.items()},
)


@st.composite
def archives(draw):
    """NPZ files: bytes of a good one changed, or its entries."""
    data = bytearray(ARCHIVE.getvalue())
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(data) - 1))
            data[at] = draw(st.integers(0, 255))
        return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    entry = entries[draw(st.sampled_from(sorted(entries)))]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, min(len(entry), 200) - 1))
        letters = st.sampled_from(b"(){}[],:'\"<fiUO0123456789 \n\\") | st.integers(
            0, 255
        )
        entry[at] = draw(letters)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, bytes(content))
    return out.getvalue()


@slow
@given(archives())
def test_any_archive_is_a_result_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "x.npz"
    path.write_bytes(data)
    result = tried(hf.Result.from_npz, path, kinds=(ValueError,))
    if result is not None:
        shown(result)
        result.to_npz(path)
        assert hf.Result.from_npz(path).to_json() == result.to_json()


# ---- manifests, boards, topologies ----

MANIFEST = {
    "schema": manifests.SCHEMA,
    "benchmark": "b_eff",
    "kind": "memory",
    "knobs": {"channel_width": 64},
    "device": "Device",
    "platform": "Platform",
    "banks": [0, 1],
}


@slow
@given(damaged(MANIFEST))
def test_any_manifest_fits_or_is_refused(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "x.bin"
    path.write_bytes(b"binary")
    Path(f"{path}.json").write_text(json.dumps(document))
    kernel = tried(kernels.load, Core(), "b_eff", {}, path)
    if kernel is not None:
        banks = kernel.manifest.get("banks", [])
        tried(kernels.placed, "ptrans", {}, banks)


wires = st.from_regex(re.compile(r"[a-z]*:?[0-9x:,\-]{0,12}", re.ASCII), fullmatch=True)
names = ["published", "ring", "pairs", "torus:2x2", "0:0-1:1", "0:0-0:1,1:0-1:1"]


@given(
    st.sampled_from(names) | wires | texts | odd,
    st.integers(-1, 40) | odd,
    st.integers(-1, 9) | odd,
)
def test_any_topology_is_wired_or_refused(topology, ranks, ports):
    links = tried(hf.links, topology, ranks=ranks, ports=ports)
    if links is not None:
        assert len(links) == ranks * ports


@slow
@given(damaged({"links": ["0:0-1:1", "0:1-1:0"]}) | values)
def test_any_file_of_cables_is_wired_or_refused(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "x.json"
    path.write_text(json.dumps(document))
    tried(hf.links, path, ranks=2, ports=2, kinds=(ValueError,))


# ---- arguments ----

BENCHMARKS = [name for name, _ in _core.components("bench")]
SCHEMES = [*(name for name, _ in _core.components("exchange")), "auto"]
BOARDS = hf.boards().names
benchmark = st.sampled_from(BENCHMARKS) | odd
scheme = st.sampled_from(SCHEMES) | odd
board = st.sampled_from(BOARDS) | odd
sizes = st.lists(st.integers(1, 2**20), max_size=3) | odd
graphs = st.sampled_from(["kron:3", "grid:4", "simple:urand:3:2"]) | texts | odd
graphs |= st.lists(odd | sizes, max_size=4).map(tuple)
inputs = sorted({i for b in BENCHMARKS if b in dict(_core.components("model"))
                 for f in _core.models(b) for i in f["inputs"]})  # fmt: skip
HOST = {"device": "host", "exchange": "host"}
NEVER = {"reps": 0.5}  # refused as the last: nothing is measured


def maybe(**named):
    """Some of the arguments."""
    return st.fixed_dictionaries({}, optional=named)


CALLS = {
    "board": st.tuples(board | texts).map(lambda a: (hf.board, a, {})),
    "compare": st.tuples(odd, odd).map(lambda a: (hf.compare, a, {})),
    "fit": st.tuples(odd, maybe(width=odd)).map(lambda a: (hf.fit, a[:1], a[1])),
    "plot": st.tuples(odd).map(lambda a: (hf.plot, a, {})),
    "model": st.tuples(
        benchmark,
        maybe(exchange=scheme, board=board, sizes=sizes, ranks=odd, calibration=odd),
        st.dictionaries(st.sampled_from(inputs), odd, max_size=2),
    ).map(lambda a: (hf.model, a[:1], {**a[2], **a[1]})),
    "published": st.tuples(
        benchmark, maybe(exchange=scheme, board=board, ranks=odd, source=odd)
    ).map(lambda a: (hf.published, a[:1], a[1])),
    "published_list": st.tuples(benchmark).map(lambda a: (hf.published_list, a, {})),
    "scaling": st.tuples(
        benchmark, maybe(ranks=odd, mode=odd, exchange=scheme, board=odd, timeout=odd)
    ).map(lambda a: (hf.scaling, a[:1], {"ranks": [], "timeout": "x"} | a[1])),
    "launched": st.tuples(
        benchmark, maybe(ranks=odd, exchange=scheme, device=odd, timeout=odd)
    ).map(lambda a: (hf.run, a[:1], {"ranks": 0} | a[1])),
    "run": st.tuples(
        benchmark,
        maybe(exchange=odd, device=odd, comm=odd, kernel=odd),
        st.dictionaries(st.sampled_from(["warmup", "seed", "sizes"]), odd, max_size=2),
    ).map(lambda a: (hf.run, a[:1], HOST | a[2] | a[1] | NEVER)),
    "run_all": maybe(ranks=odd, exchange=odd, board=odd, gemm=odd, timeout=odd).map(
        lambda a: (hf.run_all, (), a | NEVER)
    ),
    "calibrate": maybe(device=odd, ranks=odd, hosts=odd, comm=odd, sizes=sizes).map(
        lambda a: (hf.calibrate, (), {"device": "host"} | a | NEVER)
    ),
    "configure": st.tuples(
        benchmark | st.just("graph"),
        maybe(board=board, devices=odd, pes=odd, sizes=sizes),
        st.dictionaries(st.sampled_from(inputs), odd, max_size=2),
    ).map(lambda a: (hf.configure, a[:1], a[2] | a[1])),
    "open": maybe(
        device=odd,
        exchange=scheme,
        comm=odd,
        deadline=odd,
        trace=odd,
        calibration=odd,
        board=board,
    ).map(lambda a: (hf.open, (), HOST | a)),
    "Graph": st.tuples(
        graphs, maybe(directed=odd, weighted=odd, simple=odd, vertices=odd, seed=odd)
    ).map(lambda a: (hf.Graph, a[:1], a[1])),
    "plot_topology": st.tuples(odd, maybe(ranks=odd, ports=odd)).map(
        lambda a: (hf.plot_topology, a[:1], {"ranks": "x"} | a[1])
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_arguments_are_taken_or_refused(name):
    @slow
    @given(CALLS[name])
    def check(call):
        function, arguments, named = call
        with (
            mock.patch("hpccfpga.launch._Ranks", side_effect=hf.Error(STOPPED)),
            mock.patch("warnings.warn"),
        ):
            found = tried(function, *arguments, **named)
            if isinstance(found, hf.Graph):
                tried(repr, found)
            if isinstance(found, hf.Session):
                found.close()

    check()


@given(st.sampled_from(BENCHMARKS), st.data())
def test_any_parameters_are_taken_or_refused(name, data):
    known = [entry["name"] for entry in _core.parameters(name)]
    numbers = st.integers() | st.floats() | st.lists(st.integers(0, 2**20), max_size=3)
    given_ = data.draw(
        st.dictionaries(
            st.sampled_from(known) | texts, odd | texts | numbers, max_size=3
        )
    )
    tried(kernels.knobs_of, name, given_)


# ---- words ----

COMMANDS = sorted(cli.COMMANDS.keys() - {"doctor", "devices"})
OPTIONS = ["--json", "--npz", "--plot", "-o", "--output", "--ranks", "--exchange"]
OPTIONS += [
    "--board",
    "--sizes",
    "--target",
    "--print",
    "--mode",
    "--model",
    "--kernel",
]
OPTIONS += [
    "--calibrate",
    "--quiet",
    "--timeout",
    "--device",
    "--help",
    "--version",
    "-h",
]
OPTIONS += ["--clock", "--memory", "--source", "--ports", "--calibration", "--", "-x"]
WORDS = [*BENCHMARKS, *SCHEMES, *BOARDS, *names, "all", "r.json", "s.json", "r.npz"]
WORDS += [
    "gone.json",
    "out.png",
    "out.json",
    ".",
    "/dev/null",
    "1",
    "-1",
    "1e999",
    "nan",
]
words = st.sampled_from(OPTIONS) | st.sampled_from(WORDS) | texts


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured().to_json("r.json")
    measured().to_npz("r.npz")
    Path("s.json").write_text(json.dumps(SUITE))


@settings(suppress_health_check=list(HealthCheck))
@given(st.sampled_from(COMMANDS), st.lists(words, max_size=6), st.booleans())
@example("run", ["--json", "stream", "--exchange", "host", "b_eff"], False)
def test_any_words_are_understood_or_refused(files, command, rest, glued):
    if glued:
        rest = [f"{a}={b}" for a, b in zip(rest[::2], rest[1::2], strict=False)]
    out, err = io.StringIO(), io.StringIO()
    stop = mock.Mock(side_effect=hf.Error(STOPPED))
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(commands, "_measure", stop),
        mock.patch.object(commands.suites, "run_all", stop),
        mock.patch.object(commands, "measure_scaling", stop),
        mock.patch.object(commands, "get_ready"),
        mock.patch("warnings.warn"),
    ):
        try:
            code = cli.main([*command.split(), *rest])
        except SystemExit as ended:
            code = ended.code
    said = err.getvalue()
    note(said)
    assert "internal error" not in said
    told = command == "show"  # by a file of a run that an example stopped
    assert code in (0, 2) or (code == 3 and (told or STOPPED in said))
    assert (said == "") == (code == 0)
    assert said.count("\n") == (code != 0)
    assert clean(out.getvalue() + said)
