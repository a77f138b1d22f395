"""Vertex programs that several tests take, and faults in the kernels."""

from hpccfpga import sources


def break_kernels(folder, old, new):
    """Put a fault into a copy of the kernels: one text, and what replaces it."""
    files = [*sources.kernel_dir().glob("graph_*")]
    assert sum(path.read_text().count(old) for path in files) == 1, old
    for path in files:
        (folder / path.name).write_text(path.read_text().replace(old, new))
    return folder / "graph_ndrange.cl"


FIRST = """typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint first;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
HF_START(v, at, told) { v->first = *told = at.id; return at.id == at.source; }
HF_SCATTER(told, edge) { return told; }
HF_GATHER(a, b) { return a < b ? a : b; }
HF_APPLY(v, got, at, told) {
    if (v->first != at.id || at.id == at.source)
        return 0;
    v->first = got;
    *told = at.id;
    return 1;
}
"""
