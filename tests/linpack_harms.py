"""Kernels of linpack that do harm, each in a way that must be seen."""

from harms import HARM

# A kernel that does its work, or not, and harm before or after it; three blocks in a
# row.
KERNEL = """
#undef linpack_{kernel}
__kernel void linpack_{kernel}({declared}) {{
    const uint harm = HARM;
    {before}
    right_{kernel}({passed});
    if (HF_ITEM == 0) {{ {after} }}
}}
"""
REAL = "HF_GLOBAL HF_REAL *"
FIXED = "HF_GLOBAL const HF_REAL *"
DOUBLE = "HF_GLOBAL double *"


def named(kind, names):
    """List arguments of a kind."""
    return [(kind, name) for name in names.split()]


GRID = named("uint ", "n key p grid_p q grid_q rows columns")
SIDE = [*named(REAL, "a"), *named(FIXED, "packed"), *named(REAL, "panels")]
SIDE += named("uint ", "first end at columns")
ARGUMENTS = {
    "fill": [(REAL, "a"), *GRID],
    "lu": [*named(REAL, "a packed"), ("uint ", "block")],
    "left": SIDE,
    "top": SIDE,
    "inner": [
        (REAL, "a"),
        *named(FIXED, "left top"),
        *named("uint ", "i0 i1 j0 j1 columns"),
    ],
    "product": [*named(DOUBLE, "x product"), *GRID],
    "residual": [*named(DOUBLE, "b product residual"), ("uint ", "rows")],
    "add": [
        *named(DOUBLE, "from to"),
        *named("double ", "scale factor"),
        ("uint ", "columns"),
    ],
    "dot": [*named(DOUBLE, "one other dots"), ("uint ", "columns")],
    "solve": [
        (FIXED, "a"),
        *named(DOUBLE, "sums parts kept sent x"),
        *named("uint ", "block n_parts row column upper"),
    ],
}
SWAP = (
    "if ({3}) for (ulong i = 0; i < LINPACK_SIZE; i++) {{"
    " HF_REAL was = {0}[{1} * LINPACK_SIZE + i];"
    " {0}[{1} * LINPACK_SIZE + i] = {0}[{2} * LINPACK_SIZE + i];"
    " {0}[{2} * LINPACK_SIZE + i] = was; }}"
)
# kernel, before, after
HARMS = {
    "a singular leading block": (
        "fill",
        "",
        "if (p + q == 0) for (uint i = 0; i < HF_BLOCK; i++) a[HF_BLOCK + i] = a[i];",
    ),
    "no diagonal": ("lu", "if (block == 4) return;", ""),
    "a wrong element of the diagonal": ("lu", "", "if (block == 8) a[8200] += 0.1f;"),
    "another diagonal": ("lu", "if (block == 4) block = 0;", ""),
    "swapped diagonals": ("lu", "", SWAP.format("a", 0, 4, "block == 4")),
    "a wrong packed diagonal": ("lu", "", "if (block == 0) packed[32] += 0.1f;"),
    "not a number": ("lu", "", "if (block == 0) a[1] = NAN;"),
    "infinity": ("lu", "", "if (block == 0) a[1] = INFINITY;"),
    "no left": ("left", "if (at == 1) return;", ""),
    "a wrong element of left": ("left", "", "a[3 * LINPACK_SIZE + 5] += 0.1f;"),
    "swapped blocks of left": ("left", "", SWAP.format("a", 3, 6, "at == 0")),
    "no top": ("top", "if (at == 1) return;", ""),
    "a wrong element of top": ("top", "", "a[LINPACK_SIZE + 5] += 0.1f;"),
    "swapped blocks of top": ("top", "", SWAP.format("a", 1, 2, "at == 0")),
    "no inner": ("inner", "if (i0 == 1) return;", ""),
    "no inner rest": ("inner", "if (i0 == 2) return;", ""),
    "a wrong element of inner": ("inner", "", "a[4 * LINPACK_SIZE + 7] += 0.1f;"),
    "swapped blocks of inner": ("inner", "", SWAP.format("a", 5, 7, "i0 == 2")),
    "stale left": ("inner", "if (i0 == 2) left -= LINPACK_SIZE;", ""),
    "stale top": ("inner", "if (j0 == 2) top -= LINPACK_SIZE;", ""),
    "no solution": ("solve", "if (row == 1) return;", ""),
    "another right side": ("solve", "if (row == 1) sums -= HF_BLOCK;", ""),
    "swapped unknowns": (
        "solve",
        "",
        "if (upper && row == 0) for (uint i = 0; i < HF_BLOCK; i++) {"
        " double was = x[i]; x[i] = x[HF_BLOCK + i]; x[HF_BLOCK + i] = was; }",
    ),
    "a wrong element of x": ("solve", "", "if (upper) x[33] += 0.01;"),
    "a wrong element of y": ("solve", "", "if (!upper) kept[34] += 1;"),
}


# What is wrong in double: way of refinement, harm.
REFINED = {
    "no correction": ("classical", "add", "if (columns > 0) return;", ""),
    "a wrong correction": ("classical", "add", "", "to[40] += 1e-9;"),
    "no sum": ("gmres", "add", "if (columns > 0) return;", ""),
    "a wrong sum": ("gmres", "add", "", "to[40] += 1e-9;"),
    "no scaling": ("gmres", "add", "if (scale == 0) return;", ""),
    "nothing taken away": ("gmres", "add", "if (factor < -0.5) return;", ""),
    "no product of vectors": ("gmres", "dot", "if (columns > 0) return;", ""),
    "a wrong product of vectors": ("gmres", "dot", "", "dots[0] += 0.5;"),
    "not a number for a product": ("gmres", "dot", "", "dots[0] = NAN;"),
    "no A v": ("gmres", "product", "if (columns > 0) return;", ""),
}
RESIDUAL = "a wrong residual"
BELOW, ABOVE = "a residual just below the bound", "a residual just above it"
UNIT = "(1.25 * 96 * 96 / 16777216)"  # of n = 96
ALL = {
    **HARMS,
    **{harm: change[1:] for harm, change in REFINED.items()},
    RESIDUAL: ("residual", "", "residual[40] += 1;"),
    BELOW: ("residual", "", f"residual[40] = 15.5 * {UNIT};"),
    ABOVE: ("residual", "", f"residual[40] = 16.5 * {UNIT};"),
}


def program():
    """Text of the kernels for pipelines, with all harms."""
    kernels = dict.fromkeys(kernel for kernel, _, _ in ALL.values())
    text = HARM + "".join(f"#define linpack_{name} right_{name}\n" for name in kernels)
    text += '#include "linpack_memory.cl"\n'
    for kernel in kernels:
        before, after = "", ""
        for at, (where, *codes) in enumerate(ALL.values()):
            if where == kernel:
                before += f"if (harm == {at + 1}) {{ {codes[0]} }}\n"
                after += f"if (harm == {at + 1}) {{ {codes[1]} }}\n"
        arguments = ARGUMENTS[kernel]
        text += KERNEL.format(
            kernel=kernel,
            declared=", ".join(kind + name for kind, name in arguments),
            passed=", ".join(name for _, name in arguments),
            before=before,
            after=after,
        )
    return text
