"""Kernels of linpack that do harm, each in a way that must be seen."""

# A kernel that does its work, or not, and harm before or after it; three blocks in a
# row.
BROKEN = """
#define linpack_{kernel} right
#include "linpack_{shape}.cl"
#undef linpack_{kernel}
__kernel void linpack_{kernel}({declared}) {{
    {before}
    right({passed});
    if (HF_ITEM == 0) {{ {after} }}
}}
"""
REAL = "HF_GLOBAL HF_REAL *"
FIXED = "HF_GLOBAL const HF_REAL *"
DOUBLE = "HF_GLOBAL double *"
SIDE = [(REAL, "a"), (FIXED, "packed"), (REAL, "panels")]
SIDE += [("uint ", name) for name in ("first", "end", "at", "columns")]
ARGUMENTS = {
    "fill": [(REAL, "a")]
    + [("uint ", name) for name in ("n", "key", "p", "grid_p", "q", "grid_q")]
    + [("uint ", name) for name in ("rows", "columns")],
    "lu": [(REAL, "a"), (REAL, "packed"), ("uint ", "block")],
    "left": SIDE,
    "top": SIDE,
    "inner": [(REAL, "a"), (FIXED, "left"), (FIXED, "top")]
    + [("uint ", name) for name in ("i0", "i1", "j0", "j1", "columns")],
    "residual": [(DOUBLE, "b"), (DOUBLE, "product"), (DOUBLE, "residual")]
    + [("uint ", "rows")],
    "correct": [(DOUBLE, "change"), (DOUBLE, "x"), ("uint ", "columns")],
    "solve": [(FIXED, "a"), *((DOUBLE, name) for name in ("sums", "parts"))]
    + [(DOUBLE, name) for name in ("kept", "sent", "x")]
    + [("uint ", name) for name in ("block", "n_parts", "row", "column", "upper")],
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
    "no solution": ("solve", "if (row == 1) return;", ""),
    "a wrong element of x": ("solve", "", "if (upper) x[33] += 0.01;"),
    "a wrong element of y": ("solve", "", "if (!upper) kept[34] += 1;"),
}


def broken(kernel, before, after):
    """Text of the kernels for pipelines, one of them with harm."""
    arguments = ARGUMENTS[kernel]
    return BROKEN.format(
        kernel=kernel,
        shape="memory",
        declared=", ".join(kind + name for kind, name in arguments),
        passed=", ".join(name for _, name in arguments),
        before=before,
        after=after,
    )
