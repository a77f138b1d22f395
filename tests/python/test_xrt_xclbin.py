"""Xclbins that the runtime `xrt` refuses before it programs a card."""

import json
import struct
from pathlib import Path

import pytest
from conftest import ours, python
from vertex_programs import FIRST

from hpccfpga import _core
from hpccfpga.vendor import Bitstream
from hpccfpga.xclbin import fitting, kinds
from xrt_session import SMALL, head, link, xclbin

pytest_plugins = ["xrt_session"]

BAD = {
    "text": (lambda s: b"no xclbin", 'no xclbin: it does not begin with "xclbin2"'),
    "cut": (lambda s: link.pack(s)[:-100], "an xclbin of "),
    "head": (lambda s: link.pack(s)[:455], "an xclbin of 455 B, which is cut"),
    "short": (
        lambda s: link.pack({**s, link.MEMORIES: b"1234567"}),
        "an xclbin with 7 B of memories, at least 8 B are needed",
    ),
    "long": (lambda s: link.pack(s) + b"x", "that says it has"),
    "none": (lambda s: link.pack({0: b""}), "an xclbin without MEM_TOPOLOGY"),
    "count": (
        lambda s: link.pack({**s, link.IPS: struct.pack("<i4x", 9999)}),
        "with 9999 units in 8 B",
    ),
    "link": (
        lambda s: link.pack({**s, link.LINKS: struct.pack("<iiii", 1, 0, 7, 0)}),
        "connects argument 0 of unit 7 to memory 0",
    ),
    "no memory": (
        lambda s: link.pack({**s, link.LINKS: struct.pack("<i", 0)}),
        'unit "stream_apply_1" reaches no memory by argument 0, "out"',
    ),
    "groups": (
        lambda s: link.pack({**s, link.GROUPS: s[link.MEMORIES]}),
        "an xclbin with GROUP_TOPOLOGY or GROUP_CONNECTIVITY alone",
    ),
    "kernel": (
        lambda s: link.pack(renamed(s, b"stream_apply", b"stream_other")),
        "no kernel stream_apply; ",
    ),
    "argument": (
        lambda s: link.pack(renamed(s, b'name="scalar"', b'name="factor"')),
        "argument 3 is factor, 4 B; scalar, 4 B, is needed",
    ),
    "size": (
        lambda s: link.pack(renamed(s, b'size="0x4"', b'size="0x8"')),
        "argument 3 is scalar, 8 B; scalar, 4 B, is needed",
    ),
    **{
        f"no {name}": (
            lambda s, text=text: link.pack(renamed(s, text.encode(), b"")),
            f'"stream_apply" has an argument 3, "scalar", without a valid {name}',
        )
        for name, text in (
            ("type", ' type="float"'),
            ("addressQualifier", ' addressQualifier="0"'),
            ("size", ' size="0x4"'),
        )
    },
    "size is text": (
        lambda s: link.pack(renamed(s, b'size="0x4"', b'size="int"')),
        "without a valid size",
    ),
    "bytes": (
        lambda s: link.pack(renamed(s, b"_apply:", b"_\xff\n\xc3_a:", link.IPS)),
        'that it does not describe, "stream_\ufffd?\ufffd_a"',
    ),
    "units": (
        lambda s: link.pack(one_unit(s)),
        "kernel stream_apply has the compute units stream_apply_1; "
        "2 replications run on stream_apply_1, stream_apply_2",
    ),
    "banks": (
        lambda s: link.pack(renamed(s, b"HBM[", b"DDR[", link.MEMORIES)),
        "its memories are DDR[0]",
    ),
}


def renamed(sections, old, new, *kinds):
    kinds = kinds or (link.METADATA, link.IPS)
    return {k: v.replace(old, new) if k in kinds else v for k, v in sections.items()}


def one_unit(sections):
    """Without the second compute unit."""
    (n,) = struct.unpack_from("<i", sections[link.LINKS])
    rows = [
        struct.unpack_from("<iii", sections[link.LINKS], 4 + 12 * i) for i in range(n)
    ]
    kept = [struct.pack("<iii", *row) for row in rows if row[1] == 0]
    links = struct.pack("<i", len(kept)) + b"".join(kept)
    ips = struct.pack("<i4x", 1) + sections[link.IPS][8:88]
    return {**sections, link.IPS: ips, link.LINKS: links}


@pytest.fixture(scope="module")
def refusals(folder, tmp_path_factory):
    """Try every bad xclbin in one process; what it said, and what it programmed."""
    made = tmp_path_factory.mktemp("bad")
    knobs = {**SMALL["stream"][0], "replications": 2}
    job = Bitstream("xilinx", "u280", "stream_memory", knobs)
    sections = link.sections(job, folder / "stream2", b"bits")
    manifest = (folder / "stream2" / "stream_memory.xclbin.json").read_text()
    for name, (make, _) in BAD.items():
        (made / f"{name}.xclbin").write_bytes(make(sections))
        (made / f"{name}.xclbin.json").write_text(manifest)
    script = (
        f"{head(folder)}\n"
        "session, said = hf.open('xrt'), {}\n"
        "plan('')\n"
        f"for name in {list(BAD)}:\n"
        f"    path = f'{made}/{{name}}.xclbin'\n"
        "    try: session.run('stream', size=4096, replications=2, kernel=path)\n"
        "    except (ValueError, hf.Error) as error: said[name] = str(error)\n"
        "print(json.dumps([calls('xrtDeviceLoadXclbin'), said]))"
    )
    answer = python(script, XILINX_XRT=str(folder))
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_xclbin_is_refused(refusals, name):
    _, said = refusals
    assert BAD[name][1] in said[name]
    assert "\n" not in said[name]


def test_a_bad_xclbin_programs_nothing(refusals):
    assert refusals[0] == 0


def test_a_shell_may_call_its_memories_banks(tmp_path):
    """As the U250's do, whose manifests have the linker's names."""
    job = Bitstream("xilinx", "u280", "ptrans_memory", {"replications": 2})
    job.write(tmp_path)
    sections = link.sections(job, tmp_path)
    for i in range(2):
        old, new = f"DDR[{i}]".encode(), f"bank{i}\0".encode()
        sections = renamed(sections, old, new, link.MEMORIES)
    binary = link.pack(sections)
    assert kinds(binary) == ["DDR"]
    manifest = json.loads((tmp_path / "ptrans_memory.xclbin.json").read_text())
    fitting(binary, job.stem, job.values, manifest, ())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["stream", "--device=host"], "device host runs C functions"),
        (["transfer"], "transfer needs none"),
        (["stream", "--shape=ndrange"], "kind is 'memory', 'ndrange' is needed"),
    ],
)
def test_an_xclbin_elsewhere_is_told_its_runtime(refused, tmp_path, words, line):
    job = Bitstream("xilinx", "u280", "stream_memory", {})
    job.write(tmp_path)
    path = tmp_path / job.binary
    path.write_bytes(b"xclbin2")
    told = f"{line}; did you mean --device xrt?\n"
    refused(["run", *words, f"--kernel={path}"], told)


def test_an_xclbin_for_another_shell_is_refused_by_xrt(folder, setting, tmp_path):
    """A card and what is made for it have other names: XRT tells what fits."""
    path = tmp_path / "stream_memory.xclbin"
    data = xclbin(folder, "stream").read_bytes()
    other = b"xilinx_u55c_1".ljust(len(link.MADE_FOR), b"\0")
    path.write_bytes(data.replace(link.MADE_FOR.encode(), other))
    manifest = Path(f"{xclbin(folder, 'stream')}.json").read_text()
    Path(f"{path}.json").write_text(manifest)
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt')\n"
        f"try: measured(session, 'stream', kernel={str(path)!r})\n"
        "except ValueError as error: print(error)\n"
        "assert measured(session, 'stream').verified\n"
    )
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr
    (line,) = answer.stdout.splitlines()
    shells = f'an xclbin for the shell "xilinx_u55c_1", the card has "{link.SHELL}": '
    assert shells + "xrtDeviceLoadXclbin: Operation not supported" in line


# By what is wrong: in the xclbin, in the manifest, in the run; what is said.
UNLIKE = {
    "names": (
        (b"ptrans_add_1", b"ptrans_add_3"),
        {},
        {},
        "kernel ptrans_add has the compute units ptrans_add_3, ptrans_add_2; "
        "2 replications run on ptrans_add_1, ptrans_add_2",
    ),
    "replications": (
        (),
        {"replications": 1},
        {},
        "the manifest says replications 1, the run asks for 2",
    ),
    "bank": (
        (),
        {"banks": [5]},
        {},
        "banks of the manifest: bank 5, HBM[5]: kernel ptrans_fill, unit ptrans_fill, "
        "reaches DDR[0], DDR[1] by its argument a",
    ),
    "a replication's bank": (
        (),
        {"banks": [33, 32]},
        {"bank_a": "32,33", "bank_b": "32,33"},
        "banks of the manifest: bank 33, DDR[1]: kernel ptrans_add, unit "
        "ptrans_add_1, reaches DDR[0] by its argument c",
    ),
    "no bank": (
        (),
        {"banks": [32, 34]},
        {},
        "the manifest has bank 34, the last is 33, DDR[1]",
    ),
    "option": (
        (),
        {},
        {"bank_b": [5]},
        "bank_b: bank 5, HBM[5]: kernel ptrans_fill, unit ptrans_fill, "
        "reaches DDR[0], DDR[1] by its argument b",
    ),
    "option, a group": (
        (),
        {},
        {"bank_c": [34]},
        "bank_c: bank 34, which is none: kernel ptrans_add, unit ptrans_add_1, "
        "reaches DDR[0] by its argument c",
    ),
}


def written(path, data, manifest):
    path.write_bytes(data)
    Path(f"{path}.json").write_text(json.dumps(manifest))
    return str(path)


def add_units(folder):
    """Job of a ptrans with two units that add, and its manifest."""
    knobs = {**SMALL["ptrans"][0], "replications": 2}
    job = Bitstream("xilinx", "u280", "ptrans_memory", knobs)
    manifest = Path(f"{xclbin(folder, 'ptrans', 2)}.json").read_text()
    return job, json.loads(manifest)


def test_what_contradicts_a_run_is_refused_before_a_card_is_programmed(
    folder, tmp_path
):
    job, manifest = add_units(folder)
    sections = link.sections(job, folder / "ptrans2", b"bits")
    tried = []
    for name, (names, more, params, _) in UNLIKE.items():
        found = renamed(sections, *names) if names else sections
        path = tmp_path / f"{name}.xclbin"
        tried.append([written(path, link.pack(found), manifest | more), params])
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt')\n"
        "plan('')\n"
        f"for path, params in {tried}:\n"
        "    params |= dict(sizes=[128], replications=2, kernel=path)\n"
        "    try: session.run('ptrans', **params)\n"
        "    except (ValueError, hf.Error) as error: print(error)\n"
        "print(calls('xrtDeviceLoadXclbin'))"
    )
    answer = python(script, XILINX_XRT=str(folder))
    assert answer.returncode == 0, answer.stderr
    *said, loads = answer.stdout.splitlines()
    for (path, _), line, (*_, end) in zip(tried, said, UNLIKE.values(), strict=True):
        assert line == f"kernel: {path}: {end}"
    assert loads == "0"


def test_an_xclbin_of_a_program_that_has_changed(folder, setting, tmp_path):
    """The text counts, also where it lies elsewhere: as in the folder of the build."""
    program = tmp_path / "first.h"
    program.write_text(FIRST)
    job = Bitstream("xilinx", "u280", "graph_memory", {"program": str(program)})
    job.write(tmp_path / "made")
    link.link(job, tmp_path / "made")
    program.write_text(FIRST.replace("HF_NOBODY", "0xFFFFFFFFu"))
    path = str(tmp_path / "made" / "graph_memory.xclbin")
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt')\n"
        f"def run(where): return measured(session, 'graph', kernel={path!r},\n"
        f"    program={str(tmp_path)!r} + where, source=[5])\n"
        "plan('')\n"
        "try: run('/first.h')\n"
        "except ValueError as error: print(error)\n"
        "print(calls('xrtDeviceLoadXclbin'))\n"
        "print(run('/made/hf_program.h').verified)"
    )
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr
    said, loads, verified = answer.stdout.splitlines()
    assert said.endswith(f"program: {program} has changed since the build")
    assert (loads, verified) == ("0", "True")


def test_a_replication_has_the_unit_of_its_number(folder, setting, tmp_path):
    """In whatever order they are, and also where no manifest tells how many."""
    job, manifest = add_units(folder)
    job.write(tmp_path)
    config = tmp_path / "ptrans_memory.cfg"
    pairs = ("sp=ptrans_add_1.", "sp=ptrans_add_2."), (b"_add_1\0", b"_add_2\0")
    config.write_text(swapped(config.read_text(), *pairs[0], "sp=ptrans_add_0."))
    sections = link.sections(job, tmp_path, link.library(job, tmp_path))
    sections[link.IPS] = swapped(sections[link.IPS], *pairs[1], b"_add_0\0")
    del manifest["replications"]
    path = written(tmp_path / "ptrans_memory.xclbin", link.pack(sections), manifest)
    script = (
        f"{head(folder)}\n"
        "session = hf.open('xrt')\n"
        f"run = lambda n: measured(session, 'ptrans', n, kernel={path!r})\n"
        "assert run('2').verified and run(2).parameters['replications'] == 2\n"
    )
    script = script.replace("n > 1", "n != 1")
    answer = python(script, **setting)
    assert answer.returncode == 0, answer.stderr


def swapped(text, one, other, neither):
    return text.replace(one, neither).replace(other, one).replace(neither, other)


def test_a_buffer_that_a_kernel_does_not_reach_is_named(folder, setting, tmp_path):
    """By a kernel of two, by argument, unit and banks; no manifest tells of these."""
    job, manifest = add_units(folder)
    job.write(tmp_path)
    config = (tmp_path / "ptrans_memory.cfg").read_text()
    moved = config.replace("sp=ptrans_add_2.b:DDR[1]", "sp=ptrans_add_2.b:HBM[7]")
    assert moved != config
    (tmp_path / "ptrans_memory.cfg").write_text(moved)
    path = link.link(job, tmp_path)
    del manifest["banks"]
    Path(f"{path}.json").write_text(json.dumps(manifest))
    script = (
        f"{head(folder)}\n"
        f"params = dict(sizes=[128], replications=2, kernel={str(path)!r})\n"
        "hf.open('xrt').run('ptrans', **params)"
    )
    answer = python(script, **setting)
    last = answer.stderr.splitlines()[-1]
    assert 'kernel "ptrans_add", unit "ptrans_add_' in last
    assert "the unit reaches " in last, last


def test_a_bank_that_a_kernel_does_not_reach_is_named(folder, setting, tmp_path):
    """By kernel, unit and argument; a group of memories has no number."""
    job = Bitstream("xilinx", "u280", "stream_memory", {"replications": 2})
    job.write(tmp_path)
    config = tmp_path / "stream_memory.cfg"
    config.write_text(config.read_text().replace(":HBM[0]", ":DDR[0:1]"))
    path = link.link(job, tmp_path)
    manifest = json.loads(Path(f"{path}.json").read_text())
    del manifest["banks"]
    Path(f"{path}.json").write_text(json.dumps(manifest))
    script = (
        "import hpccfpga as hf\n"
        f"params = dict(size=4096, replications=2, kernel={str(path)!r})\n"
        "hf.open('xrt').run('stream', **params)"
    )
    answer = python(script, **setting)
    assert answer.stderr.splitlines()[-1].endswith(
        'bank 0, HBM[0]: kernel "stream_apply", unit "stream_apply_1", argument 0, '
        '"out", reaches DDR[0], DDR[1]'
    )


def test_a_folder_is_no_xclbin(setting, tmp_path):
    words = ["--device=xrt", f"--kernel={tmp_path}"]
    script = (
        "from hpccfpga import cli\n"
        f"for name in 'transfer', 'stream': cli.main(['run', name, *{words}])"
    )
    line = f"hpccfpga: kernel: {tmp_path} is a folder, not a file"
    assert ours(python(script, **setting).stderr).splitlines() == [line] * 2


def test_a_buffer_longer_than_a_bank_is_refused(command, folder, setting):
    words = ["--device=xrt", "--kernel", xclbin(folder, "stream"), f"--size={1 << 27}"]
    answer = command("run", "stream", *words, **setting)
    (line,) = ours(answer.stderr).splitlines()
    assert line.endswith(f"the largest size is {(1 << 28) // 4}"), "a bank has 256 MiB"


def test_no_kernel_is_compiled_for_a_card(command, setting):
    answer = command("run", "stream", "--device=xrt", **setting)
    (line,) = ours(answer.stderr).splitlines()
    assert "compiles nothing: give an xclbin (--kernel)" in line


# ---- what is read ----

ARGS = [("a", "int*", 8, True), ("n", "float", 4, False)]
PLAIN = link.described([("k", ARGS, ["k_1"])], [("k_1.a", "DDR[0]")])


@pytest.mark.parametrize(
    ("old", "new", "args"),
    [
        ('"float"', "'float'", ARGS),
        ('id="1"', "id='1'", ARGS),
        ('"int*"', '"ap_uint&lt;8>*"', [("a", "ap_uint&lt;8>*", 8, True), ARGS[1]]),
        ('"a"', '"a" note=" id=\'7\' > "', ARGS),
        ("<kernel", '<!-- > <kernel name="o"/> don\'t --><!----><kernel', ARGS),
        ("</core>", '<arg name="b"/></core>', ARGS),
        ("<instance", '<arg name="b" id=""/><instance', ARGS),
        ('addressQualifier="1"', 'addressQualifier="2"', ARGS),
    ],
)
def test_metadata_is_read_as_it_is_meant(old, new, args):
    text = PLAIN[link.METADATA].replace(old.encode(), new.encode(), 1)
    assert text != PLAIN[link.METADATA]
    (kernel,) = _core.xclbin(link.pack({**PLAIN, link.METADATA: text}))["kernels"]
    names = ("name", "type", "bytes", "pointer")
    assert kernel["name"] == "k"
    assert [tuple(a[n] for n in names) for a in kernel["arguments"]] == args


@pytest.mark.parametrize(
    ("old", "new"), [(b"</project>", b"<!-- --"), (b"</project>", b"<a b='>")]
)
def test_metadata_that_ends_in_a_tag_is_refused(old, new):
    text = PLAIN[link.METADATA].replace(old, new)
    with pytest.raises(ValueError, match="metadata ends in a tag"):
        _core.xclbin(link.pack({**PLAIN, link.METADATA: text}))


def test_what_is_no_kernel_is_no_unit():
    more = struct.pack("<IIQ64s", 2, 0, 0, b"clock")
    ips = struct.pack("<i4x", 2) + PLAIN[link.IPS][8:] + more
    whole = _core.xclbin(link.pack({**PLAIN, link.IPS: ips}))
    assert [u["kernel"] for u in whole["units"] if u["kernel"]] == ["k"]
