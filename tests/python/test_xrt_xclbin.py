"""Xclbins that the runtime `xrt` refuses before it programs a card."""

import json
import struct
from pathlib import Path

import pytest
from conftest import ours, python

from hpccfpga.vendor import Bitstream
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
    "units": (lambda s: link.pack(one_unit(s)), "has 1 compute units, 2 replications"),
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


def test_a_buffer_that_a_kernel_does_not_reach_is_named(folder, setting, tmp_path):
    """By a kernel of two, by argument, unit and banks."""
    knobs = {**SMALL["ptrans"][0], "replications": 2}
    job = Bitstream("xilinx", "u280", "ptrans_memory", knobs)
    job.write(tmp_path)
    config = (tmp_path / "ptrans_memory.cfg").read_text()
    moved = config.replace("sp=ptrans_add_2.b:DDR[1]", "sp=ptrans_add_2.b:HBM[7]")
    assert moved != config
    (tmp_path / "ptrans_memory.cfg").write_text(moved)
    path = link.link(job, tmp_path)
    script = (
        f"{head(folder)}\n"
        f"params = dict(sizes=[128], replications=2, kernel={str(path)!r})\n"
        "hf.open('xrt').run('ptrans', **params)"
    )
    answer = python(script, **setting)
    last = answer.stderr.splitlines()[-1]
    assert 'kernel "ptrans_add", unit "ptrans_add_2"' in last
    assert 'argument 1, "b", is in DDR[1], the unit reaches HBM[7]' in last


def test_a_buffer_longer_than_a_bank_is_refused(command, folder, setting):
    words = ["--device=xrt", "--kernel", xclbin(folder, "stream"), f"--size={1 << 27}"]
    answer = command("run", "stream", *words, **setting)
    (line,) = ours(answer.stderr).splitlines()
    assert line.endswith(f"the largest size is {(1 << 28) // 4}"), "a bank has 256 MiB"


def test_no_kernel_is_compiled_for_a_card(command, setting):
    answer = command("run", "stream", "--device=xrt", **setting)
    (line,) = ours(answer.stderr).splitlines()
    assert "compiles nothing: give an xclbin (--kernel)" in line
