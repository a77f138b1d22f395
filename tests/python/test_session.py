"""The Python API on one rank: runs, calibration, bad input, signals, lazy imports."""

import os
import signal
import threading
import warnings
from copy import deepcopy
from functools import partial
from importlib import metadata

import numpy as np
import pytest
from conftest import ours, python

import hpccfpga as hf
from hpccfpga import _core, kernels, sources
from hpccfpga.components import CALIBRATION, RING
from hpccfpga.formats import dimensions
from hpccfpga.outcome import warn

SMALL = {"sizes": [1, 64, 1000], "reps": 3, "loop_upper": 16}
FEW = {"loop_upper": 8}


# ---- the package ----


def test_nothing_heavy_is_imported():
    script = "import sys, hpccfpga; print([m for m in ('numpy', 'mpi4py', 'matplotlib'"
    answer = python(script + ", 'hpccfpga._core') if m in sys.modules])")
    assert answer.stdout == "[]\n"


def test_a_run_alone_imports_no_mpi():
    answer = python(
        "import sys, hpccfpga\n"
        "r = hpccfpga.run('b_eff', exchange='host', sizes=[1], reps=1, loop_upper=8)\n"
        "print(r.verified, 'mpi4py' in sys.modules, 'rich' in sys.modules)"
    )
    assert answer.stdout == "True False False\n"


def test_every_name_is_there():
    for name in hf.__all__:
        assert getattr(hf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hf.nonsense


def test_the_public_names_show_before_they_are_used_and_no_others():
    answer = python(
        "import hpccfpga\nnames = dir(hpccfpga)\nprint({*hpccfpga.__all__} ^ {*names})"
    )
    assert answer.stdout == "set()\n"


def test_a_function_hides_the_module_of_its_name():
    names = ("published", "launch", "plot", "scaling")  # none imports a later one
    script = "import hpccfpga\n"
    for name in names:
        script += f"import hpccfpga.{name}; print(type(hpccfpga.{name}).__name__)\n"
    assert python(script).stdout.split() == ["function"] * len(names)


# ---- runs ----


def test_a_run_says_all_about_itself():
    result = hf.run("b_eff", **SMALL, seed=7)
    assert result.kind == "measured"
    assert result.verified
    assert result["message_size"].tolist() == [1, 64, 1000]
    assert result["samples"].shape == (3, 3, 1)
    assert result.units["bandwidth"] == "B/s"
    assert result.parameters["seed"] == 7
    assert result.parameters["channel_width"] == 32
    assert set(result.summary) >= {"b_eff", "b_eff_median", "latency"}
    provenance = result.provenance
    assert provenance["mpi"] is None
    assert len(provenance["hosts"]) == 1
    assert provenance["device"]["name"] == result.device
    assert len(provenance["kernel"]["binary_hash"]) == 64
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["versions"]["hpccfpga"] == metadata.version("hpccfpga")
    assert provenance["date"].endswith("+00:00")
    assert any("one rank" in note for note in provenance["notes"])
    assert hf.Result.from_json(result.to_json()).provenance == provenance


def test_columns_are_not_copies():
    result = hf.run("b_eff", exchange="host", **SMALL)
    assert not result["samples"].flags.owndata
    assert result["samples"].base is result["time"].base, "one allocation"


def test_one_session_runs_often():
    with hf.open(exchange="pcie") as session:
        assert "rank 0 of 1" in repr(session)
        assert session.device["runtime"] == "opencl"
        for sizes in ([1], "1,2,4"):
            assert session.run("b_eff", sizes=sizes, reps=1, loop_upper=8).verified
    with pytest.raises(ValueError, match="the session is closed"):
        session.run("b_eff")
    session.close()


def test_progress_is_told_point_by_point(capsys):
    told = []
    hf.run("b_eff", **SMALL, progress=lambda *row: told.append(row))
    assert [row[:2] for row in told] == [(0, 3), (1, 3), (2, 3)]
    assert told[1][2].keys() >= {"message_size", "bandwidth", "time", "verified"}
    hf.run("b_eff", **SMALL, progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0] == "b_eff pcie, 1 rank ..."
    assert "message size [B]" in lines[1]
    assert lines[4].split()[0] == "1000"


@pytest.mark.parametrize("ranks", [None, 1])
@pytest.mark.parametrize("progress", [3, "yes"])
def test_progress_that_is_no_function(ranks, progress):
    for measure in (partial(hf.run, "b_eff"), hf.calibrate):
        with pytest.raises(TypeError, match=f"^progress: {progress!r} is no function"):
            measure(sizes=[64], reps=1, ranks=ranks, progress=progress)


def test_a_calibration_takes_what_all_its_parts_have():
    with hf.open() as session:
        for given in ({"part": "step"}, {"benchmark": "b_eff"}, {"sizes_": 4096}):
            with pytest.raises(ValueError, match=r"^calibration has no parameter"):
                session.calibrate(sizes=[64], **given)


def test_an_error_in_progress_leaves_a_usable_session():
    with hf.open(exchange="host") as session:
        with pytest.raises(ZeroDivisionError):
            session.run("b_eff", **SMALL, progress=lambda *row: 1 / 0)
        assert session.run("b_eff", **SMALL).verified


def test_control_c_leaves_a_usable_session():
    with hf.open(exchange="pcie") as session:
        session.run("b_eff", **SMALL)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            timer.start()
            session.run("b_eff", sizes=[4096], reps=100_000)  # hours
        assert session.run("b_eff", **SMALL).verified


def test_kernels_that_pass_messages_on_are_taken_once():
    class Asking:
        """A session whose device may have use for them."""

        wants_relay = True

        def __init__(self, core):
            self.core, self.taken = core, []

        def __getattr__(self, name):
            return getattr(self.core, name)

        def relay(self, binary):
            self.wants_relay = False
            self.taken.append(binary)
            self.core.relay(binary)

    with hf.open("opencl:cpu", "shared") as session:
        assert not session._core.wants_relay, "a CPU moves blocks by copies"
        own = session._core = Asking(session._core)
        for _ in range(2):
            found = session.run("b_eff", sizes=[1, 4096], reps=1)
            assert found.verified
        assert own.taken == [kernels.relay(own.core)]
        with pytest.raises(hf.Error, match=r"not take the kernels of \"relay\": CL_"):
            own.core.relay(b"no program")
    with pytest.raises(ValueError, match="the session is closed"):
        own.core.relay(b"")


def test_kernels_that_cannot_pass_messages_on_are_told_of(monkeypatch):
    asked = []

    def fail(core):
        asked.append(core)
        raise hf.Error("the kernels do not compile: error: none")

    class Asking:
        wants_relay = True

        def __init__(self, core):
            self.core = core

        def __getattr__(self, name):
            return getattr(self.core, name)

    monkeypatch.setattr(kernels, "relay", fail)
    with hf.open("opencl:cpu", "shared") as session:
        session._core = Asking(session._core)
        for _ in range(2):
            found = session.run("b_eff", sizes=1, reps=1)
            assert found.verified
            (note,) = (n for n in found.provenance["notes"] if "compile" in n)
            assert note == (
                "devices do not pass messages on by themselves: "
                "the kernels do not compile: error: none"
            )
        assert len(asked) == 1


def test_calibration():
    result = hf.calibrate(sizes=[1, 4096], reps=3, **FEW)
    assert result.benchmark == "calibration"
    assert result.verified
    assert not {"part", "memory"} & set(result.parameters)  # each part has its own
    alone = ("write", "exchange", "read", "write_pageable", "read_pageable", "both")
    for part in alone:
        assert result.units[f"{part}_time"] == "s"
        assert (result[f"{part}_time"] > 0).all()
        assert result[f"{part}_samples"].shape == (2, 3, 1)
    for exchange in ("pcie", "pipelined", "shared"):
        model = hf.model("b_eff", exchange=exchange, calibration=result)
        parts = (result[f"{exchange}_{part}_time"] for part in ("copies", "exchange"))
        np.testing.assert_allclose(model["time"], sum(parts))


def test_parts_of_a_calibration_have_numbers_of_samples_of_their_own():
    result = hf.calibrate(sizes=[1, 4096], reps=0, **FEW)  # as many as each needs
    assert hf.Result.from_json(result.to_json()).verified
    names = (f"{part.name}_samples" for part in CALIBRATION)
    own = {dimensions(name, result[name])[1] for name in names}
    assert len(own) == len(CALIBRATION)


def test_a_calibration_measures_each_part(monkeypatch):
    found = []
    whole = hf.Session._result
    monkeypatch.setattr(
        hf.Session, "_result", lambda *a: found.append(whole(*a)) or found[-1]
    )
    result = hf.calibrate(sizes=[1, 4096], reps=8, rounds=3, **FEW)
    assert (result.parameters["reps"], result.parameters["rounds"]) == (8, 3)
    last = dict(zip((part.name for part in CALIBRATION), found, strict=True))
    for part in CALIBRATION:
        for name, column in part.columns.items():
            assert np.array_equal(result[name], last[part.name][column])
        samples = last[part.name]["samples"]
        assert samples.shape == (2, 8, 1)
        assert np.array_equal(result[f"{part.name}_samples"], samples)
    alone = {
        name: (one.parameters["part"], one.parameters["memory"])
        for name, one in last.items()
        if one.benchmark == "transfer" and one.parameters["part"] != "step"
    }
    assert alone == {
        "write": ("write", "pinned"),
        "read": ("read", "pinned"),
        "write_pageable": ("write", "pageable"),
        "read_pageable": ("read", "pageable"),
        "both": ("both", "pinned"),
    }


def test_a_calibration_measures_what_its_models_take():
    columns = {name for part in CALIBRATION for name in part.columns}
    taken = {
        name
        for formula in _core.models(RING)
        if formula["role"] == "calibrated"
        for name in formula["inputs"]
        if name.endswith("_time")
    }
    assert len(taken) > 6
    assert taken <= columns


def test_a_calibration_with_a_part_that_is_wrong_is_wrong(monkeypatch):
    whole, found = hf.Session._in_turns, []
    with hf.open() as session:
        monkeypatch.setattr(
            hf.Session, "_in_turns", lambda *a: found.extend(whole(*a)) or found
        )
        assert session.calibrate(sizes=[1, 4096], reps=1, **FEW).verified
        for part in range(len(CALIBRATION)):
            wrong = deepcopy(found)
            wrong[part].columns["verified"].values[1] = False
            monkeypatch.setattr(hf.Session, "_in_turns", lambda *a, w=wrong: w)
            with pytest.warns(hf.VerificationWarning, match="1 of 2 points") as given:
                result = session.calibrate()
            assert [warning.filename for warning in given] == [__file__]
            assert not result.verified
            assert result["verified"].tolist() == [True, False]


@pytest.mark.parametrize("name", ["reps", "rounds"])
@pytest.mark.parametrize("number", [-1, "few", 2.5])
def test_a_calibration_of_impossible_repetitions_is_refused(name, number):
    with pytest.raises((TypeError, ValueError), match=f"{name}: "):
        hf.calibrate(sizes=[64], **{name: number})


def test_a_calibration_opens_no_device_twice(monkeypatch):
    opened = []
    whole = hf.Session.__init__

    def counted(self, *arguments):
        opened.append(arguments[1])
        whole(self, *arguments)

    monkeypatch.setattr(hf.Session, "__init__", counted)
    for exchange, others in (("shared", ["host"]), ("host", ["pcie"])):
        with hf.open(None, exchange) as session:
            assert session.calibrate(sizes=[64], reps=1, **FEW).verified
            assert session.exchange == exchange
            assert session.run("b_eff", sizes=[64], reps=1, loop_upper=8).verified
        assert opened == [exchange, *others]
        opened.clear()


def test_wrong_data_is_a_warning(faults):
    answer = python(
        "import warnings, hpccfpga as hf\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    r = hf.run('b_eff', exchange='fault', sizes=[1, 64], reps=2)\n"
        "print(r.verified, r['verified'].tolist(), [str(w.message) for w in seen])\n"
        "print(seen[0].category is hf.VerificationWarning, r['bandwidth'][1])",
        HPCCFPGA_FAULT="flip 0 2100",
        **faults,
    )
    assert ours(answer.stderr) == ""
    first, second = answer.stdout.splitlines()
    assert first.startswith("False [")
    assert "b_eff: wrong data at 1 of 2 points (message_size " in first
    assert second.startswith("True ")


def test_verified_data_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn(hf.run("b_eff", exchange="host", **SMALL))


# ---- bad input ----


@pytest.mark.parametrize(
    ("kind", "options", "line"),
    [
        (LookupError, {"benchmark": "nbody"}, 'no benchmark "nbody"; known: b_eff'),
        (
            LookupError,
            {"exchange": "wifi"},
            f'"wifi"; known: {", ".join(hf.exchanges().names)}, auto',
        ),
        (LookupError, {"device": "abacus"}, 'no OpenCL device "abacus"; known: 0: '),
        (
            LookupError,
            {"device": "abacus"},
            f"; runtimes: {', '.join(name for name, _ in _core.components('device'))}",
        ),
        (ValueError, {"deadline": 0}, "deadline: 0 is not a positive number"),
        (ValueError, {"deadline": "soon"}, "deadline: 'soon' is not a positive"),
        (LookupError, {"device": 99}, 'no OpenCL device "99"; known: 0: '),
        (ValueError, {"colour": 1}, 'no parameter "colour"; known: sizes, loop'),
        (ValueError, {"sizes": [0]}, "sizes: 0 is not within 1 .. "),
        (ValueError, {"sizes": [-5]}, "sizes: -5 is not within 1 .. "),
        (ValueError, {"sizes": "1,two"}, 'sizes: "two" is not a number'),
        (ValueError, {"sizes": ["1", None]}, "is not a number"),
        (ValueError, {"sizes": np.datetime64("2020-01-01")}, "is not a number"),
        (ValueError, {"sizes": [np.timedelta64(5, "s")]}, "is not a number"),
        (ValueError, {"sizes": []}, "sizes: no value given"),
        (ValueError, {"sizes": [1.5]}, "sizes: 1.5 is not an integer"),
        (ValueError, {"sizes": [1 << 40]}, "sizes: 1099511627776 is not within"),
        (ValueError, {"reps": -1}, "reps: -1 is not within"),
        (
            ValueError,
            {"loop": "none"},
            'loop: no choice "none"; known: published',
        ),
        (MemoryError, {"sizes": [1 << 31]}, "2147483648"),
        (
            NotImplementedError,
            {"exchange": "host", "device": "opencl"},
            'exchange "host" moves host memory only: device "opencl" does not fit; ',
        ),
        (LookupError, {"exchange": ""}, 'no exchange scheme ""; known: channel, '),
        (TypeError, {"benchmark": np.zeros((3, 3))}, "is no text; known: b_eff, "),
        (TypeError, {"comm": 42}, "comm: 42 is no mpi4py communicator"),
        (TypeError, {"comm": "world"}, "comm: 'world' is no mpi4py communicator"),
    ],
)
def test_bad_input(kind, options, line):
    if kind is MemoryError:
        with hf.open() as session:
            largest = session.device
        if min(largest["memory"] // 2, largest["max_alloc"]) > (1 << 31) + 64 * 1024:
            pytest.skip("two messages of 2 GiB fit this device")
    with pytest.raises(kind) as raised:
        hf.run(**{"benchmark": "b_eff", "reps": 1} | options)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


NO_STREAMS = """
#undef HF_STREAM
#define HF_STREAM(kernel, arguments, ends) \\
    HF_KERNEL(kernel, HF_EACH_OPEN arguments, HF_EACH_OPEN ends)
"""


@pytest.mark.parametrize(("exchange", "file", "after", "more", "line"), [
    ("pcie", "b_eff_memory.cl", "ulong, stamp)", ", HF_VALUE(ulong, more)",
     "fill.* takes 6 .* 5$"),
    ("channel", "b_eff_stream.cl", 'nnel.h"\n', NO_STREAMS, "send_0.* takes 8 .* 9$"),
])  # fmt: skip
def test_a_kernel_with_other_arguments(tmp_path, exchange, file, after, more, line):
    """As a file that does not know HF_STREAM has them; the next run works."""
    text = (sources.kernel_dir() / file).read_text()
    path = tmp_path / file
    path.write_text(text.replace(after, after + more, 1))
    with hf.open(exchange=exchange, device="opencl:cpu") as session:
        with pytest.raises(ValueError, match=line):
            session.run("b_eff", kernel=path, **SMALL)
        assert session.run("b_eff", **SMALL).verified


def test_no_opencl_platform():
    answer = python(
        "import hpccfpga as hf\n"
        "try: hf.run('b_eff')\n"
        "except hf.Error as error: print(error)",
        OCL_ICD_VENDORS="/nowhere/",
    )
    assert answer.stdout.startswith("no OpenCL platform: install ")
    assert answer.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("", "comm: MPI is not initialised"),
        ("MPI.Init(); MPI.Finalize()", "comm: MPI is finalised already"),
        ("MPI.Init(); comm = MPI.COMM_NULL", "comm: this rank is in no communicator"),
    ],
)
def test_mpi_that_is_not_up(step, line):
    answer = python(
        "import mpi4py; mpi4py.rc.initialize = False\n"
        "from mpi4py import MPI; import hpccfpga as hf\n"
        f"comm = MPI.COMM_WORLD\n{step}\n"
        "try: hf.run('b_eff', comm=comm)\n"
        "except ValueError as error: print(error)"
    )
    assert answer.stdout.startswith(line), answer.stderr
    assert answer.stdout.count("\n") == 1


def test_a_communicator_of_another_library():
    with pytest.raises(ValueError, match="another MPI library") as raised:
        _core.Session("", "host", 0, "MPICH Version: 4.0")
    assert "\n" not in str(raised.value)


def test_a_forked_child_is_refused():
    """Neither OpenCL's threads nor its locks come along."""
    script = (
        "import os, hpccfpga as hf\n"
        "s = hf.open(device='opencl')\n"
        "if os.fork() == 0:\n"
        "    run = lambda: s.run('b_eff', sizes=[1])\n"
        "    for call in (run, run, hf.open, hf.devices):\n"
        "        try: call()\n"
        "        except ValueError as error: print(error, flush=True)\n"
        "    s.close()\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "assert s.run('b_eff', sizes=[1], reps=1, loop_upper=8).verified\n"
    )
    done = python(script)
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = done.stdout.splitlines()
    assert (first, third) == (second, fourth)
    assert first.startswith("the session belongs to process ")
    assert third.startswith("OpenCL was started in process ")
