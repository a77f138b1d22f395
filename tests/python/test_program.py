"""The state of a vertex, as the text of its program says."""

from pathlib import Path

import numpy as np
import pytest

from hpccfpga.program import check, states

UINT, FLOAT = np.dtype([("a", "u4")]), np.dtype([("b", "f4")])
A, B = "HF_VERTEX(uint a;)\n", "HF_VERTEX(float b;)\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"#if 0\n{A}#endif\n{B}", [FLOAT]),
        (f"#if 0\n{A}#else\n{B}#endif\n", [FLOAT]),
        (f"# if 1\n{A}#elif X\n{B}#else\n{B}#endif\n", [UINT]),
        (f"#if 0\n#if 1\n{A}#endif\n{A}#elif X\n{B}#endif\n", [FLOAT]),
        ("HF_VERTEX(uint a, b;)", [None]),
        (f"#ifdef X\n{A}#else\n{B}#endif\n", [UINT, FLOAT]),
        (f"#define T uint\n{A.replace('uint', 'T')}", [UINT]),
        (f"#define T uint\n#undef T\n{A.replace('uint', 'T')}", [None]),
        (f"#ifdef X\n#define T uint\n#endif\n{A.replace('uint', 'T')}", [None]),
        (f"#define T uint\n#define T float\n{A.replace('uint', 'T')}", [None]),
        (f"{A}#define a far\n", [None]),
        (f"#define a(v) ((v)->a)\n{A}", [UINT]),
        ("#define M HF_VERTEX(T a;)\n#define T uint\nM", [None]),
        ("HF_VERTEX(uint a; float a;)", [None]),
        (f"#define QUOTE '\"' // {A}{B}", [FLOAT]),
        (f'#define WORDS "/* // \\" /*"\n{A}', [UINT]),
        ("HF_VERTEX(uint a[99999999999];)", [None]),
        (f"HF_VERTEX(uint a[{'9' * 5000}];)", [None]),
    ],
)
def test_the_fields_that_are_compiled(text, found):
    assert states(text) == found


def test_the_fields_of_a_vertex():
    text = "/* HF_VERTEX(int no;) */ HF_VERTEX(uint a; // first\n float b[2];\n)"
    assert states(text) == [np.dtype([("a", "u4"), ("b", "f4", 2)])]
    assert states("HF_VERTEX(struct pair x;)") == [None]


@pytest.mark.timeout(30)  # minutes where each part is looked for to the end
@pytest.mark.parametrize(
    "text",
    [
        "//\n" + "/* " * 300_000,
        '"\\' * 400_000,
        "HF_VERTEX(" * 100_000,
        "#if X\n" * 80_000 + "\n" * 500_000,
    ],
    ids=["comments", "texts", "states", "conditions"],
)
def test_a_long_text_takes_no_longer_for_what_does_not_end(text):
    with pytest.raises(ValueError, match=r"^program: long\.h lacks hf_update"):
        check(text, Path("long.h"))
    assert all(state is None for state in states(text))
