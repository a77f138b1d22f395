"""Text of kernels: where it lies, what it includes, and the files that users name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from hpccfpga import _core
from hpccfpga.arguments import known
from hpccfpga.files import opened, read
from hpccfpga.program import check as check_program
from hpccfpga.program import states, takes_scalars, without_comments
from hpccfpga.text import brief

DEEPEST = 32
"""Files in a chain of includes."""
MOST_TEXT = 1 << 20
"""Kernels with all that they include [B]."""

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
_OTHER = re.compile(r"(?:#|%:)\s*(?:/\*|include\w*\b|import\b|embed\b)")
_OPENS = re.compile(r"[ \t]*#[ \t]*if")
_CLOSES = re.compile(r"[ \t]*#[ \t]*endif\b")
_GUARD = re.compile(r"\s*#ifndef (\w+)\n#define \1\n")


def kernel_dir() -> Path:
    """Folder of the kernel sources.

    Raises
    ------
    LookupError
        The installation has none.
    """
    folders = (
        Path(__file__).with_name("kernels_src"),
        Path(__file__).resolve().parents[2] / "kernels",
    )
    for folder in folders:
        if (folder / "hf_kernel.h").is_file():
            return folder
    raise LookupError(
        f"no kernel sources: neither {folders[0]} nor {folders[1]} has hf_kernel.h"
    )


def read_source(path: Path, named: Mapping[str, Path] | None = None) -> str:
    """Text of a kernel file with its quoted includes put in place.

    They are looked for beside the file, then among the package's kernels. `named` are
    files in the place of headers. A header with a guard that every compiler has seen by
    then is not repeated. What the package's kernels leave to compilers is left to them.

    Raises
    ------
    ValueError
        No such file, no text, a name that no `#line` can have, or a file that
        includes itself, too much, or what is not put in place.
    """
    out = StringIO()
    _inline(out, path, (), named or {}, set())
    return out.getvalue()[:-1]


def included(path: Path, named: Mapping[str, Path]) -> dict[str, Path]:
    """Return a kernel file and the files that it includes, each once, by their names.

    `named` are files in the place of headers.
    """
    found, left = {path.name: path}, [path]
    for file in left:  # grows meanwhile
        for match in filter(None, map(_INCLUDE.match, _text(file).split("\n"))):
            near = _beside(file, match[1], named)
            if near and match[1] not in found:
                found[match[1]] = near
                left.append(near)
    return found


def programs() -> list[str]:
    """Names of the package's programs, for parameters that name one."""
    return sorted(path.stem for path in (kernel_dir() / "programs").glob("*.h"))


def named_files(benchmark: str, params: Mapping[str, Any]) -> dict[str, Path]:
    """Files that parameters name, by the header in whose place kernels get each.

    A value is a path, with a slash or the ending .h, or the name of a program of the
    package.

    Raises
    ------
    LookupError
        No such program; the message lists the known ones.
    """
    values = _core.values(benchmark, dict(params))
    return {
        header: _named(name, values[name])
        for name, header in headers(benchmark).items()
    }


def fields(benchmark: str, params: Mapping[str, Any]) -> list[np.dtype | None]:
    """Fields that a vertex's state may have, where kernels have a program."""
    paths = named_files(benchmark, params).values()
    return [state for path in paths for state in states(read_source(path))]


def scalars_check(benchmark: str, params: Mapping[str, Any]) -> None:
    """Raise ValueError where a program of one's own takes scalars and none are given.

    The default is that of a program of the package.
    """
    for path in named_files(benchmark, params).values():
        own = path.parent != kernel_dir() / "programs"
        if own and "value" not in params and takes_scalars(read_source(path)):
            raise ValueError(
                f"value: none is given, but {path} looks at at.value; give one to four "
                "numbers"
            )


def texts(benchmark: str, params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Tell, for a manifest, of files of a user's own that parameters name.

    Returns
    -------
    dict
        Field `texts`: SHA-256 of a file's text with its includes, wherever it lies, by
        parameter. Empty where no parameter names such a file.

    Raises
    ------
    ValueError
        As `read_source`.
    """
    values = _core.values(benchmark, dict(params))
    found = {}
    for name in headers(benchmark):
        if _is_path(values[name]):
            lines = read_source(_named(name, values[name])).split("\n")
            told = "\n".join(line for line in lines if not line.startswith("#line "))
            found[name] = sha256(told.encode()).hexdigest()
    return {"texts": found} if found else {}


def headers(benchmark: str) -> dict[str, str]:
    """Parameters that name a file, and the header in whose place it comes."""
    macros = {e["name"]: e["macro"] or "" for e in _core.parameters(benchmark)}
    return {name: macro for name, macro in macros.items() if macro.endswith(".h")}


def _named(parameter: str, value: str) -> Path:
    """File that a parameter names."""
    if _is_path(value):
        path = existing(value, parameter)
        check_program(read_source(path), path)
        return path
    if value not in programs():
        raise LookupError(
            f"{parameter}: no program {brief(value)}; {known(value, programs())}; "
            "one of your own by its path, such as ./mine.h"
        )
    return kernel_dir() / "programs" / f"{value}.h"


def _is_path(value: str) -> bool:
    return "/" in value or value.endswith(".h")


def _inline(
    out: StringIO,
    path: Path,
    above: tuple[Path, ...],
    named: Mapping[str, Path],
    seen: set[Path],
) -> None:
    """Write a file; `seen` are headers that say nothing more a second time."""
    if path.resolve() in above:
        raise ValueError(f"{path} includes itself")
    if len(above) == DEEPEST:
        raise ValueError(f"{path} is the file {DEEPEST + 1} of a chain of includes")
    if not path.name.isprintable() or set('"\\') & set(path.name):
        raise ValueError(
            f"{brief(str(path))}: compilers take no quotes, backslashes and control "
            "characters in the name of a file"
        )
    above = (*above, path.resolve())
    out.write(f'#line 1 "{path.name}"\n')
    lines = _text(path).split("\n")
    left = list(lines)
    guarded = _is_guarded(lines)
    depth = -int(guarded)
    for number, line in enumerate(lines, 1):
        depth += bool(_OPENS.match(line)) - bool(_CLOSES.match(line))
        match = _INCLUDE.match(line)
        found = match and _beside(path, match[1], named)
        if found:
            left[number - 1] = ""
        if found and found.resolve() in seen:
            line = ""
        elif found:
            # What stands behind an #if may not be there for what comes after it.
            _inline(out, found, above, named, set(seen) if depth > 0 else seen)
            line = f'#line {number + 1} "{path.name}"'
        out.write(f"{line}\n")
    if guarded:
        seen.add(path.resolve())
    if not path.resolve().is_relative_to(kernel_dir().resolve()):
        _check_left(path, left)
    if out.tell() > MOST_TEXT:
        raise ValueError(f"{above[0]} with its includes has more than {MOST_TEXT} B")


def _check_left(path: Path, lines: list[str]) -> None:
    """Raise ValueError for an include of which the text is not known.

    The compiler might find it, but a binary made with it would be taken for that of
    another text. Whatever a compiler may take for one counts, also in a comment.
    """
    text = "\n".join(lines).replace("\r", "\n")
    plain = text.replace("??=", "#").replace("??/", "\\")
    for line in re.sub(r"\\[ \t]*\n", "", plain).split("\n"):
        found = _OTHER.search(line)
        if not found or line in _left_to_compilers():
            continue
        if not line.strip().startswith("//") or "*/" in line:
            raise ValueError(
                f"{path}: {brief(line.strip())} is not put in place: only "
                '#include "NAME" on a line of its own is, of a file beside it or of '
                "the package's kernels"
            )


@cache
def _left_to_compilers() -> set[str]:
    """Lines of the package's headers that include what it lacks, such as <stdint.h>."""
    texts = [_text(path) for path in kernel_dir().glob("*.h")]
    lines = {line for text in texts for line in text.split("\n") if _OTHER.match(line)}
    names = {line: _INCLUDE.match(line) for line in lines}
    return {line for line, name in names.items() if not name or "/" in name[1]}


def _is_guarded(lines: list[str]) -> bool:
    """Whether all of a header is within one #ifndef: a second time it says nothing."""
    depth = 0
    if not _GUARD.match(without_comments("\n".join(lines))):
        return False
    for number, line in enumerate(lines):
        depth += bool(_OPENS.match(line))
        if _CLOSES.match(line):
            depth -= 1
            if depth == 0:
                return not "".join(lines[number + 1 :]).strip()
    return False


def _beside(path: Path, name: str, named: Mapping[str, Path]) -> Path | None:
    if name in named:
        return named[name]
    if (near := path.parent / name).is_file():
        return near
    return own if (own := kernel_dir() / name).is_file() else None


def _text(path: Path) -> str:
    try:
        text = read(path).decode()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no OpenCL C source: it is not text") from None
    if not text.strip() or "\0" in text:
        what = "not text" if text.strip() else "empty"
        raise ValueError(f"{path} is no OpenCL C source: it is {what}")
    return text


def existing(path: str | os.PathLike[str], what: str = "kernel") -> Path:
    """Path of a file that can be read; ValueError, which `what` begins, if not."""
    try:
        opened(path).close()
    except FileNotFoundError:
        raise ValueError(f"{what}: {os.fspath(path)} does not exist") from None
    except OSError as error:
        raise ValueError(
            f"{what}: cannot read {os.fspath(path)}: {error.strerror}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return Path(path)
