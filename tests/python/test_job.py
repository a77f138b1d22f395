"""Jobs: one document, checked in one place, and the same job from words."""

import json
from importlib.resources import files

import numpy as np
import pytest
from conftest import ours
from hypothesis import given
from hypothesis import strategies as st

import hpccfpga as hf
from hpccfpga import _core, commands, components, emulation, job, options
from hpccfpga.arguments import MAX_COUNT
from hpccfpga.parameters import option

BENCHMARKS = [name for name, _ in _core.components("bench")]
RUN = {
    "task": "run",
    "benchmark": "b_eff",
    "kernel": None,
    "parameters": {"reps": 3},
    "parts": "model",
}
CALIBRATE = RUN | {"task": "calibrate", "benchmark": None, "parts": None}
ALONE = RUN | {"parts": None}
DOCUMENT = {
    "schema": job.SCHEMA,
    "exchange": "host",
    "device": None,
    "trace": 0,
    "expected": None,
    "tasks": [RUN, CALIBRATE],
}


@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema")
    text = (files("hpccfpga") / "data/job.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def test_a_job_is_its_document(schema):
    made = job.Job.of(DOCUMENT)
    assert made.document() == DOCUMENT
    assert [task.name for task in made.tasks] == ["b_eff", "calibration"]
    assert made.results == 3
    assert made.deadline == 60 == components.deadline()
    schema.validate(DOCUMENT)
    assert job.read(json.dumps(DOCUMENT)) == made


@pytest.mark.parametrize(
    ("tasks", "kernels"),
    [
        ([("b_eff", {})], 4),
        ([("b_eff", {"replications": 4})], 8),
        ([("ptrans", {"replications": 3}), ("fft", {})], 6),
        ([("fft", {}), ("graph", {})], 3),
        ([("linpack", {"replications": 2})], 12),
        ([("stream", {})], 0),
    ],
)
def test_kernels_that_wait_for_each_other(tasks, kernels):
    """PoCL has a worker for each, and wakes all of them for every command."""
    done = [ALONE | {"benchmark": name, "parameters": params} for name, params in tasks]
    assert job.job("channel", None, *done).kernels == kernels


@pytest.mark.parametrize("task", [CALIBRATE, ALONE | {"kernel": "four.poclbin"}])
def test_what_does_not_tell_its_kernels_has_as_many_as_there_can_be(task):
    small = ALONE | {"parameters": {"replications": 1}}
    assert job.job("channel", None, small, task).kernels == emulation.KERNELS


def test_parameters_become_json(schema, tmp_path):
    cables = tmp_path / "t.json"
    cables.write_text('{"links": ["0:0-0:1", "1:0-1:1"]}')
    given_ = {"sizes": np.array([1, 64]), "deadline": "5", "topology": cables}
    given_ |= {"loop_upper": np.int64(7), "seed": "1e3"}
    made = job.job("channel", 0, job.run_task("b_eff", tmp_path / "k.cl", given_))
    assert made.device == "0"
    assert made.deadline == 5
    (task,) = made.tasks
    assert task.kernel == str(tmp_path / "k.cl")
    assert task.parameters == {
        "sizes": [1, 64],
        "deadline": 5.0,
        "topology": "0:0-0:1,1:0-1:1",
        "loop_upper": 7,
        "seed": 1000,
    }
    schema.validate(json.loads(json.dumps(made.document())))


WRONG = [
    ([], ValueError, "not a job: no schema named"),
    ({"schema": "hpccfpga-result/1"}, ValueError, "not a job: its schema is"),
    ({"schema": "hpccfpga-job/2"}, ValueError, "reads up to hpccfpga-job/1"),
    ({"colour": 1}, ValueError, "job: no entry 'colour'; known: schema, exchange"),
    ({"exchange": 1}, TypeError, "exchange: 1 is no str"),
    ({"exchange": "pci"}, LookupError, 'did you mean "pcie"? known: channel'),
    ({"device": 0}, TypeError, "device: 0 is no str"),
    ({"trace": -1}, ValueError, "trace: -1 is not a number from 1 up"),
    ({"trace": "x"}, TypeError, "trace: 'x' is no int"),
    ({"tasks": []}, ValueError, "a job has one task at least"),
    ({"tasks": [1]}, ValueError, "1 is no task"),
    ({"tasks": [{"task": "run"}]}, ValueError, "task: benchmark is missing"),
    ({"tasks": [RUN | {"x": 1}]}, ValueError, "task: no entry 'x'; known: task"),
    ({"tasks": [RUN | {"task": "ran"}]}, ValueError, 'did you mean "run"? known: run'),
    ({"tasks": [RUN | {"benchmark": None}]}, TypeError, "benchmark: None is no text"),
    ({"tasks": [RUN | {"benchmark": "hpl"}]}, LookupError, 'no benchmark "hpl"'),
    ({"tasks": [RUN | {"kernel": 1}]}, TypeError, "kernel: 1 is no str"),
    ({"tasks": [RUN | {"parameters": {"x": 1}}]}, ValueError, 'no parameter "x"'),
    ({"tasks": [RUN | {"parameters": {"reps": -1}}]}, ValueError, "reps: -1 is not w"),
    ({"tasks": [RUN | {"parts": "some"}]}, ValueError, "no parts 'some' of run; known"),
    (
        {"tasks": [CALIBRATE | {"parts": "all"}]},
        ValueError,
        "no parts 'all' of calibrate",
    ),
    ({"tasks": [RUN | {"benchmark": "gemm"}]}, LookupError, "takes a calibration"),
    (
        {"exchange": "channel"},
        LookupError,
        "over exchange 'channel' from a calibration",
    ),
    (
        {"tasks": [CALIBRATE | {"parameters": {"topology": "ring"}}]},
        ValueError,
        'calibration has no parameter "topology"; known: sizes',
    ),
]


@pytest.mark.parametrize(("change", "kind", "line"), WRONG, ids=lambda v: str(v)[:50])
def test_other_documents_are_refused(schema, change, kind, line):
    document = DOCUMENT | change if change else change
    by_name = kind is LookupError or "parameter" in line or "reps" in line
    assert schema.is_valid(document) == by_name, "a schema knows no names and bounds"
    with pytest.raises(kind) as raised:
        job.Job.of(document)
    assert line in raised.value.args[0]
    assert "\n" not in raised.value.args[0]


def test_everything_of_a_document_is_needed():
    for key in DOCUMENT:
        with pytest.raises(ValueError, match=f"{key} is missing|no schema named"):
            job.Job.of({k: v for k, v in DOCUMENT.items() if k != key})


@st.composite
def jobs(draw):
    """Jobs of the command's tasks, with some parameters of their defaults' kind."""
    name = draw(st.sampled_from(BENCHMARKS))
    calibrates = draw(st.sampled_from(["no", "model", "all", "alone"]))
    values = _core.values(name, {})
    names = draw(st.lists(st.sampled_from(sorted(values)), unique=True))
    device = draw(st.none() | st.sampled_from(["0", "host", "stream", "a b"]))
    kernel = draw(st.none() | st.sampled_from(["k.cl", "stream"]))
    given = {n: values[n] for n in names}
    shared = {n: given[n] for n in components.calibrated() if n in given}
    if calibrates == "alone":
        return job.job("pcie", device, job.calibrate_task(shared))
    exchange = draw(st.sampled_from(["host", "pcie", "auto"]))
    trace = draw(st.booleans() | st.integers(1, MAX_COUNT))
    parts = None if calibrates == "no" or name != "b_eff" else calibrates
    task = job.run_task(name, kernel, given, parts)
    return job.job(exchange, device, task, trace=trace)


@given(jobs())
def test_a_command_line_means_the_job_that_it_came_of(made):
    """Words of a command are read once, into the job that `command` says."""
    read = options.parse(made.command(2)[1:])
    assert commands.job_of(read) == made
    assert read.ranks == 2


VALUED = [
    (["--json", "stream"], "json"),
    (["--npz", "gemm"], "npz"),
    (["--exchange", "host"], "exchange"),
    (["--device", "fft"], "device"),
    (["--kernel", "transfer"], "kernel"),
    (["--plot", "ptrans"], "plot"),
    (["--timeout", "7"], "timeout"),
    (["--ranks", "2"], "ranks"),
    (["--board", "520n"], "board"),
    (["--save-calibration", "stream"], "save_calibration"),
    (["--sizes", "1,2"], "parameter sizes"),
    (["--loop", "timer"], "parameter loop"),
]


GLUED = [(["--quiet"], "quiet"), (["--trace"], "trace"), (["b_eff"], "benchmark")]


@given(st.permutations([*VALUED, *GLUED]))
def test_the_order_of_words_does_not_matter(parts):
    found = vars(options.parse(["run", *(word for part, _ in parts for word in part)]))
    for part, name in parts:
        assert str(found[name]) in (part[-1], f"{part[-1]}.0", "True", "16384"), name


@pytest.mark.parametrize(
    ("words", "spans"),
    [([], 0), (["--trace"], 16384), (["--trace=7"], 7), (["--trace=1e3"], 1000)],
)
def test_a_trace_of_a_number_of_spans(words, spans):
    read = options.parse(["run", *words, "b_eff", "--exchange=host"])
    assert commands.job_of(read).trace == spans


@pytest.mark.parametrize("word", ["0", "-1", "x", "1.5", ""])
def test_a_trace_of_no_number(command, word):
    answer = command("run", "b_eff", "--exchange=host", f"--trace={word}")
    (line,) = ours(answer.stderr).splitlines()
    assert answer.returncode == 2
    assert "trace: " in line


def test_no_parameter_is_called_like_an_option():
    """Nor do two commands give one option different meanings."""
    fixed = options.Parser("run", "", "")
    options._run(fixed, "")
    own = {n for n, a in fixed.actions.items() if not a.dest.startswith("parameter")}
    for name in BENCHMARKS:
        table = components.parameters(name)
        assert not own & {option(entry["name"]) for entry in table}


def test_model_inputs_stand_anywhere():
    read = options.parse(["model", "--clock", "3e8", "b_eff", "--memory=hbm2"])
    assert (read.benchmark, read.overrides) == (
        "b_eff",
        {"clock": "3e8", "memory": "hbm2"},
    )


@pytest.mark.parametrize("command", ["run", "scaling", "calibrate"])
def test_help_names_units_and_defaults(capsys, command):
    words = [command, *["b_eff"] * (command != "calibrate"), "--help"]
    with pytest.raises(SystemExit) as stopped:
        options.parse(words)
    assert stopped.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "--sizes BYTES,... message sizes [B]; 1 .. 2147483648; default: 1,2,..." in text
    )
    assert "--deadline SECONDS longest wait for another rank" in text
    assert "[s]; default: 60" in text
    assert (
        "--timeout SECONDS longest time of the ranks it starts [s]; default: 600"
        in text
    )
    assert "--reps N " in text


def test_help_of_all_commands(capsys):
    for name in options.COMMANDS:
        with pytest.raises(SystemExit):
            options.parse([*name.split(), "--help"])
        text = capsys.readouterr().out
        assert text.startswith(f"usage: hpccfpga {name} ")
    with pytest.raises(SystemExit):
        options.parse(["--help"])
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in options.COMMANDS)
    with pytest.raises(SystemExit):
        options.parse(["--version"])
    assert capsys.readouterr().out == f"hpccfpga {hf.__version__}\n"


@pytest.mark.parametrize(
    ("given_", "typed"),
    [
        ({"sizes": "0", "reps": "3", "deadline": "1e9", "loop": "timer"}, None),
        ({"sizes": "1,x"}, {"sizes": "1,x"}),
        ({"colour": "1"}, {"colour": "1"}),
        ({"reps": "2.5"}, {"reps": 2.5}),
        ({"sizes": [1, 2]}, {"sizes": [1, 2]}),
    ],
)
def test_parameters_of_a_failed_run_have_types(given_, typed):
    expected = {"sizes": [0], "reps": 3, "deadline": 1e9, "loop": "timer"}
    assert components.typed("b_eff", given_) == (typed or expected)
    assert components.typed("nbody", {"n": "1"}) == {"n": "1"}
