"""Results as NPZ files; what is unpacked of one is what its header declares."""

from __future__ import annotations

import json
import math
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from hpccfpga import formats
from hpccfpga.files import LARGEST

HEADER = "header.json"
"""Name of the entry that is no column."""

_RESULT = "a result"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write(
    file: IO[bytes], document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a document without values, and the columns that it declares.

    Raises
    ------
    ValueError
        A column has the name of the header, or of a trace's.
    """
    if len(arrays) < sum(len(document.get(key, {})) for key in ("columns", "trace")):
        raise ValueError("a column of the result has the name of one of its trace")
    if HEADER in arrays:
        raise ValueError(f"no column of an NPZ file can be called {HEADER!r}")
    header = np.array(json.dumps(document, allow_nan=False))
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in {HEADER: header, **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, values, allow_pickle=False)


def read(file: IO[bytes]) -> tuple[Any, dict[str, np.ndarray]]:
    """Return what `write` wrote: the document and its arrays.

    Raises
    ------
    ValueError
        No such file, or its entries are not what its header declares.
    """
    archive, entries = _opened(file, _RESULT)
    with _undamaged(_RESULT):
        header = _array(archive, entries[HEADER], "str", ())
    document = formats.parse(header.item())
    found = {}
    for name, entry in formats.declared_arrays(document).items():
        dtype, shape = formats.declared_column(name, entry)
        if name in entries:
            with _undamaged(_RESULT):
                found[name] = _array(archive, entries[name], dtype, shape)
    return document, found


def arrays(file: IO[bytes], what: str) -> dict[str, np.ndarray]:
    """Return all arrays of a file that should be of `what`.

    Raises
    ------
    ValueError
        No such file.
    """
    archive, entries = _opened(file, what)
    with _undamaged(what):
        return {name: _array(archive, info) for name, info in entries.items()}


def _opened(
    file: IO[bytes], what: str
) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """Archive and its entries, which do not unpack to more than there may be."""
    with _undamaged(what):
        archive = zipfile.ZipFile(file)
        entries = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
    total = sum(info.file_size for info in entries.values())
    if total > LARGEST:  # a small file can declare any size
        raise ValueError(f"unpacks to {total} B, more than {LARGEST} B")
    return archive, entries


@contextmanager
def _undamaged(what: str) -> Iterator[None]:
    """Raise one kind of error for what zipfile, zlib, tokenize and NumPy raise."""
    try:
        yield
    except (_Undeclared, MemoryError):
        raise
    except Exception:
        raise ValueError(f"not an NPZ file of {what}") from None


class _Undeclared(ValueError):
    """An entry that is not what the header declares."""


def _array(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    dtype: str | None = None,
    shape: tuple[int, ...] = (),
) -> np.ndarray:
    """Array of an entry, unpacked only if it has this type, if told, and shape."""
    with archive.open(info) as entry:
        found, _, kind = _HEADERS[npy.read_magic(entry)](entry)
        name = "str" if kind.kind == "U" else kind.name
        if dtype is not None and (found, name) != (shape, dtype):
            raise _Undeclared(
                f"column {info.filename.removesuffix('.npy')!r} is of {name} "
                f"{[*found]}, declared {dtype} {[*shape]}"
            )
        if entry.tell() + math.prod(found) * kind.itemsize != info.file_size:
            raise EOFError
    with archive.open(info) as entry:
        values = npy.read_array(entry, allow_pickle=False)
    if kind.kind == "U":  # NumPy makes broken strings of what is no character
        codes = np.frombuffer(values.tobytes(), f"{kind.str[0]}u4")
        if np.any(codes > sys.maxunicode):
            raise UnicodeError
    return values
