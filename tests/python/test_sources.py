"""Text of kernels: includes, and what stands in the place of headers."""

import pytest

from hpccfpga import sources


def test_includes_are_put_in_place(tmp_path):
    (tmp_path / "part.h").write_text("int part;\n")
    file = tmp_path / "x.cl"
    file.write_text(
        'int a;\n # include "part.h" // text\n#include <stdint.h>\nint b;\n'
    )
    lines = sources.read_source(file).split("\n")
    assert lines[:4] == ['#line 1 "x.cl"', "int a;", '#line 1 "part.h"', "int part;"]
    assert lines[5:8] == ['#line 3 "x.cl"', "#include <stdint.h>", "int b;"]


@pytest.mark.parametrize(
    "line",
    [
        '#include "gone.h"',
        '/**/#include "part.h"',
        '#/* \n */include "part.h"',
        '#inc\\\nlude "part.h"',
        '%:include "part.h"',
        '??=include "part.h"',
        '// text\r#include "part.h"',
        '/*\n// */ #import "part.h"',
        '#inc\\\nlude "graph_bits.h"',
        '/*\n// #import a */ #include "part.h"',
        "#include PART",
        "#include </etc/part.h>",
        "#include <../part.h>",
        "#include <part.h>",
    ],
)
def test_an_include_that_is_not_put_in_place_is_refused(tmp_path, line):
    """The text that a binary is kept for would lack it."""
    (tmp_path / "part.h").write_text("int part;\n")
    file = tmp_path / "x.cl"
    file.write_text(f'#define PART "part.h"\n{line}\nint a;\n')
    with pytest.raises(ValueError, match=r"x\.cl: .*is not put in place: only #incl"):
        sources.read_source(file)
    file.write_text("// no #include <../x.h>\nint a;\n")
    assert "../x.h" in sources.read_source(file)


def test_includes_are_found_among_the_packages_kernels(tmp_path):
    file = tmp_path / "x.cl"
    file.write_text('#include "hf_kernel.h"\n')
    assert "HF_KERNEL" in sources.read_source(file)


def test_a_header_with_a_guard_is_there_once(tmp_path):
    """But again behind an #if, before which nobody is sure to have seen it."""
    guarded = "// head\n#ifndef {0}\n#define {0}\n{1}#endif\n"
    (tmp_path / "a.h").write_text(guarded.format("A", "int a;\n"))
    (tmp_path / "b.h").write_text(guarded.format("B", '#include "a.h"\nint b;\n'))
    (tmp_path / "c.h").write_text("#ifndef C\nint c;\n#endif\n")  # no guard
    file = tmp_path / "x.cl"
    both = '#include "a.h"\n#include "b.h"\n'
    file.write_text(f"{both}{both}#if 1\n{both}#endif\n")
    assert sources.read_source(file).count("int a;") == 1
    file.write_text(f"#if 1\n{both}#else\n{both}#endif\n{both}{both}")
    text = sources.read_source(file)
    assert text.count("int a;") == 5  # with those of b.h: two, two and one
    assert text.count("int b;") == 3
    file.write_text('#include "c.h"\n' * 2)
    assert sources.read_source(file).count("int c;") == 2


@pytest.mark.timeout(30)
def test_a_header_of_many_comments(tmp_path):
    (tmp_path / "x.h").write_text("/**/" * 200_000 + "int a;\n")
    assert "int a;" in sources.read_source(tmp_path / "x.h")


def test_a_file_that_includes_itself(tmp_path):
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    with pytest.raises(ValueError, match=r"a\.h includes itself"):
        sources.read_source(tmp_path / "a.h")


def test_every_source_of_the_package_reads():
    files = list(sources.kernel_dir().glob("*.cl"))
    assert files
    for file in files:
        assert "HF_KERNEL" in sources.read_source(file)
