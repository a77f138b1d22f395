"""Make an xclbin for the stand-in, as v++ would of what `kernels build` writes.

Its bitstream is a shared object of the project's kernels as C.
"""

import hashlib
import re
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARIES = {
    "libxrt_coreutil.so.2": ["fault", "xclbin", "device", "kernel"],
    "libxrt_core.so.2": ["shim"],
    "absent.so": ["absent"],
}
SHELL = "xilinx_u280_emulated_base_1"
MADE_FOR = "xilinx_u280_emulated_1_202210_1"
METADATA, MEMORIES, LINKS, IPS, CLOCKS, GROUPS, GROUP_LINKS = 2, 6, 7, 8, 11, 26, 27
_MIB = 1 << 20
U280 = [(f"HBM[{i}]", 256 * _MIB) for i in range(32)] + [
    (f"DDR[{i}]", 1 << 34) for i in range(2)
]
_VALUE = re.compile(r"HF_VALUE\(\s*(\w+),\s*(\w+)\s*\)")
_SIZES = {"uint": 4, "float": 4, "ulong": 8, "double": 8}


def _types(job, folder):
    """Types of values by name, as far as sizes do not tell them."""
    real = str(job.knobs.get("data_type", "float"))
    macros = {"HF_REAL": real, "HF_SUM": "float" if real == "half" else real}
    text = "".join(p.read_text() for p in sorted(folder.glob("*.[ch]*")))
    return {(macros.get(t, t), name) for t, name in _VALUE.findall(text)}


def _kernel(job, name, types):
    """Arguments of a kernel: name, type, bytes, whether it is a pointer."""
    from hpccfpga import _core

    typed = f"{job.stem}_{job.knobs['data_type']}" if "data_type" in job.knobs else ""
    try:
        known = _core.kernels(typed or job.stem)
    except LookupError:
        known = _core.kernels(job.stem)
    each = {k["name"]: k["arguments"] for k in known}
    for a in each.get(name) or each[re.sub(r"_\d+$", "_0", name)]:
        if a["kind"] != "value":
            yield a["name"], "void*", 8, True
            continue
        (found,) = (
            t for t, n in types if n == a["name"] and _SIZES.get(t) == a["bytes"]
        )
        yield a["name"], found, a["bytes"], False


def _range(tag, tags):
    kind, low, high = re.fullmatch(r"(\w+)\[(\d+):?(\d*)\]", tag).groups()
    return [tags.index(f"{kind}[{i}]") for i in range(int(low), int(high or low) + 1)]


def build(folder):
    """Build the stand-in's two libraries, and what hides XRT, below a folder."""
    cc = ["cc", "-std=gnu11", "-O2", "-g", "-shared", "-fPIC", "-Wall", "-Wextra"]
    cc += ["-fvisibility=hidden", f'-DSHELL="{SHELL}"', f'-DMADE_FOR="{MADE_FOR}"']
    for name, parts in LIBRARIES.items():
        path = folder / "lib" / name
        sources = [Path(__file__).with_name(f"standin_{part}.c") for part in parts]
        words = [*cc, f"-Wl,-soname,{path.name}", *sources, "-o", path]
        subprocess.run([*words, "-ldl", "-lpthread"], check=True, timeout=100)


def compiled(text, made, *flags):
    """Bytes of a shared object of C, which has the table `standin_kernels`."""
    source = made.with_suffix(".c")
    source.write_text(text)
    command = ["cc", "-std=gnu11", "-O2", "-w", "-shared", "-fPIC", *flags]
    subprocess.run([*command, source, "-o", made, "-lm"], check=True, timeout=300)
    return made.read_bytes()


def table(names):
    """The kernels that a bitstream has."""
    rows = "".join(f'{{"{name}", {name}_call}}, ' for name in names)
    return (
        "typedef struct { const char *name; void (*call)(void *const *, size_t); } "
        "row;\n"
        '__attribute__((visibility("default"))) const row standin_kernels[] = '
        f"{{{rows}{{0, 0}}}};\n"
    )


def library(job, folder):
    """Bitstream of the kernels of a job."""
    flags = [word for word in job.defines if word.startswith("-D")]
    if "data_type" in job.knobs:
        flags.append(f"-DHF_HOST_TYPE={job.knobs['data_type']}")
    flags += ["-DHF_HOST", "-Wno-psabi"]
    flags += [f"-I{p}" for p in (ROOT / "csrc", folder, ROOT / "kernels")]
    text = f'#include "{job.stem}.cl"\n{table(job.kernels())}'
    return compiled(text, folder / "bitstream.so", *flags)


def sections(job, folder, bits=b""):
    """Sections of the xclbin of a job, by its linker's options."""
    config = (folder / f"{job.stem}.cfg").read_text()
    types = _types(job, folder)
    kernels = []
    for name, n, own in re.findall(r"^nk=(\w+):(\d+)(?::(\w+))?$", config, re.M):
        units = [own] if own else [f"{name}_{i + 1}" for i in range(int(n))]
        kernels.append((name, list(_kernel(job, name, types)), units))
    return described(kernels, re.findall(r"^sp=([\w.]+):(\S+)$", config, re.M), bits)


def described(kernels, spots, bits=b""):
    """Sections that describe kernels: (name, arguments, units), (pointer, tag)."""
    spots = dict(spots)
    tags = [tag for tag, _ in U280]
    groups = sorted({tag for tag in spots.values() if ":" in tag})
    units, links, group_links, xml = [], [], [], ""
    for name, args, names in kernels:
        xml += f'<kernel name="{name}" language="c"><port name="m" mode="master"/>'
        xml += "".join(
            f'<arg name="{a}" addressQualifier="{int(pointer)}" id="{i}" port="m" '
            f'size="{size:#x}" offset="0x10" hostSize="{size:#x}" type="{kind}"/>'
            for i, (a, kind, size, pointer) in enumerate(args)
        )
        xml += "".join(f'<instance name="{unit}"/>' for unit in names) + "</kernel>"
        for unit in names:
            for i, (a, _, _, pointer) in enumerate(args):
                if not pointer:
                    continue
                tag = spots.pop(f"{unit}.{a}")  # every pointer has one
                links += [(i, len(units), m) for m in _range(tag, tags)]
                if tag in groups:
                    at = len(tags) + groups.index(tag)
                    group_links.append((i, len(units), at))
            units.append(f"{name}:{unit}")
    assert not spots, f"of no argument: {spots}"
    used = {m for _, _, m in links}
    starts = [sum(size for _, size in U280[:m]) for m in range(len(U280))]
    rows = [(m in used, starts[m], *bank) for m, bank in enumerate(U280)]
    inside = [(t, _range(t, tags)) for t in groups]
    more = [(True, starts[m[0]], t, sum(U280[i][1] for i in m)) for t, m in inside]

    def memories(rows):
        return struct.pack("<i4x", len(rows)) + b"".join(
            struct.pack("<BB6xQQ16s", 1, on, size >> 10, start, tag.encode())
            for on, start, tag, size in rows
        )

    def connections(rows):
        each = b"".join(struct.pack("<iii", *row) for row in rows)
        return struct.pack("<i", len(rows)) + each

    found = {
        0: bits,
        METADATA: (
            '<?xml version="1.0"?><project name="p"><platform name="u280"><device '
            f'name="d"><core name="OCL_REGION_0">{xml}</core></device></platform>'
            "</project>"
        ).encode(),
        MEMORIES: memories(rows),
        LINKS: connections(links),
        IPS: struct.pack("<i4x", len(units))
        + b"".join(  # XRT tells units apart by their addresses
            struct.pack("<IIQ64s", 1, 0, 0x1800000 + 0x10000 * i, unit.encode())
            for i, unit in enumerate(units)
        ),
        CLOCKS: struct.pack("<hHB5x128s", 1, 300, 1, b"DATA_CLK"),
    }
    if groups:
        found[GROUPS] = memories(rows + more)
        found[GROUP_LINKS] = connections(links + group_links)
    return found


def pack(sections, shell=MADE_FOR):
    """Bytes of an xclbin."""
    at = 456 + 40 * len(sections)
    heads = bodies = b""
    for kind, data in sections.items():
        pad = -(at + len(bodies)) % 8
        bodies += b"\0" * pad
        name = b"section"
        heads += struct.pack("<I16s4xQQ", kind, name, at + len(bodies), len(data))
        bodies += data
    length = at + len(bodies)
    header = struct.pack(
        "<QQQHBBHH16s64s16s16sI4x",
        *(length, 0, 0, 0, 2, 1, 0, 0, b"", shell.encode()),
        *(hashlib.md5(bodies).digest(), b"", len(sections)),
    )
    first = b"xclbin2\0" + struct.pack("<i", -1) + b"\xff" * 28 + b"\0" * 256
    return first + struct.pack("<Q", 1) + header + heads + bodies


def link(job, folder):
    """Write the xclbin of a Bitstream beside what that wrote into a folder."""
    path = folder / job.binary
    path.write_bytes(pack(sections(job, folder, library(job, folder))))
    return path
