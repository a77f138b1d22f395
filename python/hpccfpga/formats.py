"""Results as files: the documents that JSON and NPZ files hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from hpccfpga import files
from hpccfpga.arguments import MAX_COUNT, known
from hpccfpga.files import replacing
from hpccfpga.text import DEEPEST, brief, printable_in

if TYPE_CHECKING:
    from hpccfpga.result import Result

SCHEMA = "hpccfpga-result/2"
TRACE = "trace."
"""What the names of a trace's columns begin with in an NPZ file."""

DTYPES = {"float64": (float, int), "int64": (int,), "bool": (bool,), "str": (str,)}
"""Names of the types that a column may have, and what its values are in JSON."""

_KNOWN = {
    **{name: ("s", "float64", 1) for name in ("time", "time_median")},
    **{name: ("s", "float64", 1) for name in ("time_low", "time_high")},
    "verified": ("1", "bool", 1),
    "samples": ("s", "float64", 3),
    "ranks": ("1", "int64", 1),
    "efficiency": ("1", "float64", 1),
    **{f"superstep_{name}": ("1", "int64", 3) for name in ("active", "edges")},
    **{
        f"superstep_{part}_time": ("s", "float64", 3) for part in ("kernel", "exchange")
    },
}
"""Unit, type and dimensions of columns that are looked at by name."""

_STEPS = {"samples": "repetition", "warmup": "warmup_repetition"}

_TYPES: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "benchmark": (str,),
    "exchange": (str, NoneType),
    "device": (str, NoneType),
    "emulated": (bool,),
    "ranks": (int,),
    "verified": (bool, NoneType),
    "parameters": (dict,),
    "columns": (dict,),
    "summary": (dict,),
    "provenance": (dict,),
}
_JSON_NAMES = {
    str: "text",
    bool: "boolean",
    int: "integer",
    dict: "object",
    NoneType: "null",
}


def document(result: Result, values: bool = True) -> dict[str, Any]:
    """Return a result as a document, with or without the values of its columns."""
    found: dict[str, Any] = {"schema": SCHEMA}
    scalars = (key for key in _TYPES if key not in ("columns", "summary", "provenance"))
    found |= {key: _plain(getattr(result, key)) for key in scalars}
    found["columns"] = _encode_columns(result.columns, values)
    if result.trace is not None:
        found["trace"] = _encode_columns(result.trace.columns, values)
    found["summary"] = {
        name: {"unit": unit, "value": _plain(value)}
        for name, (unit, value) in result.summary.items()
    }
    found["provenance"] = _plain(result.provenance)
    return found


def _encode_columns(columns: Mapping[str, Any], values: bool) -> dict[str, Any]:
    return {
        name: {"unit": column.unit, "dtype": dtype(column.values)}
        | {"shape": [*column.values.shape]}
        | ({"values": _plain(column.values)} if values else {})
        for name, column in columns.items()
    }


def fields(
    document: Any, arrays: Mapping[str, np.ndarray] | None = None
) -> dict[str, Any]:
    """Return a result's fields out of its document, columns and summary as pairs.

    `arrays` replaces the values of the columns. The trace is empty where there is none.

    Raises
    ------
    ValueError
        No document of a result, a newer schema, or one that contradicts itself.
    """
    check_schema(document, SCHEMA)
    if missing := [key for key in _TYPES if key not in document]:
        raise ValueError(f"missing {', '.join(missing)}")
    for key, types in _TYPES.items():
        if not isinstance(document[key], types):
            names = " or ".join(_JSON_NAMES[known] for known in types)
            raise ValueError(f"{key} is {brief(document[key])}, no {names}")
    if not 1 <= document["ranks"] <= MAX_COUNT:
        ranks = brief(document["ranks"])
        raise ValueError(f"ranks is {ranks}, must be within 1 .. {MAX_COUNT}")
    _check_provenance(document["provenance"])
    traced = document.get("trace", {})
    if not isinstance(traced, dict):
        raise ValueError(f"trace is {brief(traced)}, no object")
    columns = {
        name: _decode_column(name, entry, arrays)
        for name, entry in document["columns"].items()
    }
    trace = {
        name: _decode_column(TRACE + name, entry, arrays)
        for name, entry in traced.items()
    }
    summary = {
        name: _decode_quantity(name, entry)
        for name, entry in document["summary"].items()
    }
    rest = {key: document[key] for key in _TYPES}
    check_columns(columns)
    _check_points(columns)
    _check_verdict(rest["verified"], columns)
    return rest | {"columns": columns, "summary": summary, "trace": trace}


def declared_arrays(document: Any) -> dict[str, Any]:
    """Return what a document declares of each array that belongs to it."""
    found: dict[str, Any] = {}
    for key, prefix in (("columns", ""), ("trace", TRACE)):
        table = document.get(key) if isinstance(document, dict) else None
        if isinstance(table, dict):
            found |= {prefix + name: entry for name, entry in table.items()}
    return found


def family(document: Any) -> str:
    """Name of a document's schema without its version; "" if it names none."""
    schema = document.get("schema") if isinstance(document, dict) else None
    return schema.rpartition("/")[0] if isinstance(schema, str) else ""


def check_schema(document: Any, ours: str) -> None:
    """Raise ValueError unless a document is of the family and version of `ours`."""
    known, _, newest = ours.rpartition("/")
    noun = known.removeprefix("hpccfpga-")
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise ValueError(f"not a {noun}: no schema named")
    version = document["schema"].rpartition("/")[2]
    number = version.isdecimal() and len(version) < 10
    if family(document) != known or not number:
        schema = brief(document["schema"])
        raise ValueError(f"not a {noun}: its schema is {schema}")
    if int(version) > int(newest):
        raise ValueError(
            f"written as {document['schema']}, this version reads up to {ours}"
        )


def write(document: Mapping[str, Any], path: str | os.PathLike[str] | None) -> str:
    """Text of a document as JSON; also written to a file, whole or not at all."""
    text = json.dumps(document, allow_nan=False, indent=1) + "\n"
    if path is not None:
        with replacing(path) as file:
            file.write(text.encode())
    return text


@contextmanager
def read(path_or_text: str | os.PathLike[str]) -> Iterator[tuple[Any, str]]:
    """Give a document and the file that it is in, "" for a text.

    A ValueError of the block names it.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        It is no file, or not JSON.
    """
    data: str | bytes
    if isinstance(path_or_text, str) and path_or_text.lstrip().startswith("{"):
        path, data = "", path_or_text
    else:
        path, data = os.fspath(path_or_text), files.read(path_or_text)
    where = path or "text"
    try:
        document = parse(data)
    except ValueError as error:
        raise ValueError(f"{where}: {error}; not a result of hpccfpga") from None
    try:
        yield document, path
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def parse(data: str | bytes) -> Any:
    """Value of a JSON text, with no character in it that steers a terminal.

    Raises
    ------
    ValueError
        It is not JSON, or nested too deep.
    """
    try:
        return printable_in(json.loads(data))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"not JSON: nested more than {DEEPEST} deep") from None


def dimensions(name: str, values: np.ndarray) -> tuple[str, ...]:
    """Names of a column's dimensions, of which it has one to three."""
    of = name.removesuffix("_samples")  # a part of a calibration; else of one word
    own = of if of != name else name.partition("_")[0]
    step = _STEPS.get(name, f"{own}_number")
    return (("point",), ("point", "rank"), ("point", step, "rank"))[values.ndim - 1]


def check_columns(columns: Mapping[str, tuple[str, np.ndarray]]) -> None:
    """Raise ValueError for columns that cannot be saved or shown side by side."""
    first: dict[str, tuple[int, str, tuple[int, ...]]] = {}
    for name, (unit, values) in columns.items():
        found = dtype(values)
        if found not in DTYPES:
            raise ValueError(
                f"column {name!r} has dtype {values.dtype}; {known(found, DTYPES)}"
            )
        if not 1 <= values.ndim <= 3:
            raise ValueError(
                f"column {name!r} has shape {values.shape}, not 1 to 3 dimensions"
            )
        for kind, size in zip(dimensions(name, values), values.shape, strict=True):
            if size == 0 and kind in ("point", "rank"):
                raise ValueError(f"column {name!r} has shape {values.shape}: no {kind}")
            other = first.setdefault(kind, (size, name, values.shape))
            if size != other[0]:
                raise ValueError(
                    f"column {name!r} has shape {values.shape}, which does not fit "
                    f"column {other[1]!r} of shape {other[2]}"
                )
        count = 1 if name.endswith("_median") else values.ndim
        free = unit, "float64" if _timed(unit) else found, count
        needed = _KNOWN.get(name, free)
        if (unit, found, values.ndim) != needed:
            raise ValueError(
                f"column {name!r} [{unit}] is {found} in {values.ndim} dimensions, "
                f"not [{needed[0]}], {needed[1]} in {needed[2]}"
            )


def _timed(unit: str) -> bool:
    return unit == "s" or unit.endswith("/s")


def _check_points(columns: Mapping[str, tuple[str, np.ndarray]]) -> None:
    """Raise ValueError for sizes below 1, and for times, rates and powers below 0.

    Sizes are columns of bytes before those of times.
    """
    sizes = True
    for name, (unit, values) in columns.items():
        sizes = sizes and not _timed(unit)
        least = 1 if sizes and unit == "B" else 0
        if values.dtype.kind == "U" or (unit not in ("B", "W") and not _timed(unit)):
            continue
        if (low := values[values < least]).size:
            found = f"{low[0]:g} {unit}, below {least}"
            raise ValueError(f"column {brief(name)} holds {found}")


def _check_verdict(
    verified: bool | None, columns: Mapping[str, tuple[str, np.ndarray]]
) -> None:
    """Raise ValueError for a verdict that is not that of the points, or on no time."""
    if "verified" not in columns:
        return
    _, right = columns["verified"]
    if verified is not bool(right.all()):
        raise ValueError(
            f"verified is {json.dumps(verified)}, but {np.count_nonzero(right)} of "
            f"{len(right)} points are"
        )
    for name in ("time", "time_median"):
        _, times = columns.get(name, ("s", np.empty(0)))
        if (bad := ~(np.isfinite(times) & (times > 0)) & right[: len(times)]).any():
            raise ValueError(f"column {name!r} holds {times[bad][0]:g} s, verified")


def printable_array(values: np.ndarray) -> np.ndarray:
    """Return the array itself, or one of its texts made printable."""
    if values.dtype.kind != "U" or all(text.isprintable() for text in values.flat):
        return values
    texts = printable_in(values.ravel().tolist())
    return np.array(texts).reshape(values.shape)


def dtype(values: np.ndarray) -> str:
    """Name of an array's type, as documents have it."""
    return "str" if values.dtype.kind == "U" else values.dtype.name


def _plain(value: Any) -> Any:
    """Value in terms of JSON; what is not finite becomes None."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            plain = value.astype(object)
            plain[~np.isfinite(value)] = None
            return plain.tolist()
        return value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return str(value)


def _check_provenance(provenance: Mapping[str, Any]) -> None:
    """Raise ValueError for entries that cannot be shown as what they are."""
    notes = provenance.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(n, str) for n in notes):
        raise ValueError(f"notes is {brief(notes)}, no list of texts")
    for name in ("error", "source", "log", "counts"):
        if not isinstance(provenance.get(name, ""), str):
            raise ValueError(f"{name} is {brief(provenance[name])}, no text")


def _decode_quantity(name: str, entry: Any) -> tuple[str, float]:
    value: Any = entry.get("value", "") if isinstance(entry, dict) else ""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number or value is None) or not isinstance(entry.get("unit"), str):
        raise ValueError(f"summary {brief(name)} has no unit or no number")
    try:
        return entry["unit"], np.nan if value is None else float(value)
    except OverflowError:
        raise ValueError(
            f"summary {brief(name)} holds a number too large: {brief(value)}"
        ) from None


def _decode_column(
    name: str, entry: Any, arrays: Mapping[str, np.ndarray] | None
) -> tuple[str, np.ndarray]:
    """Return unit and values of a column from its entry in a document."""
    declared, shape = declared_column(name, entry)
    if arrays is None:
        if "values" not in entry:
            raise ValueError(f"column {brief(name)} lacks values")
        values = _decode_values(name, declared, shape, entry["values"])
    else:
        if name not in arrays:
            raise ValueError(f"column {brief(name)} lacks values")
        values = arrays[name]
    if values.shape != shape:
        raise ValueError(
            f"column {brief(name)} has values of shape {[*values.shape]}, "
            f"declared {[*shape]}"
        )
    if dtype(values) != declared:
        raise ValueError(
            f"column {brief(name)} has values of dtype {values.dtype}, "
            f"declared {declared}"
        )
    return entry["unit"], values


def declared_column(name: str, entry: Any) -> tuple[str, tuple[int, ...]]:
    """Name of the type and shape that a document declares for a column.

    Raises
    ------
    ValueError
        It declares none, or none that there is.
    """
    keys = ("unit", "dtype", "shape")
    missing = [k for k in keys if not isinstance(entry, dict) or k not in entry]
    if missing:
        raise ValueError(f"column {brief(name)} lacks {', '.join(missing)}")
    if not isinstance(entry["unit"], str):
        raise ValueError(f"column {brief(name)} has no text as unit")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise ValueError(
            f"column {brief(name)} has dtype {brief(entry['dtype'])}; "
            f"{known(entry['dtype'], DTYPES)}"
        )
    shape = entry["shape"]
    if not isinstance(shape, list) or not all(
        type(n) is int and 0 <= n < 2**63 for n in shape
    ):
        raise ValueError(
            f"column {brief(name)} has shape {brief(shape)}, no list of lengths"
        )
    return entry["dtype"], tuple(shape)


def _decode_values(
    name: str, declared: str, shape: tuple[int, ...], given: Any
) -> np.ndarray:
    values: np.ndarray = np.empty(0, object)
    with suppress(ValueError):  # ragged: the declared shape cannot fit
        values = np.array(given, dtype=object)
    if values.size == 0 and 0 in shape:
        values = values.reshape(shape)
    allowed = DTYPES[declared]
    for value in values.flat if values.shape == shape else ():
        void = value is None and declared == "float64"
        if type(value) not in allowed and not void:
            raise ValueError(
                f"column {brief(name)} holds {brief(value)}, no {declared}"
            )
    if values.shape != shape:
        return values
    try:
        return values.astype(declared)
    except OverflowError:
        raise ValueError(
            f"column {brief(name)} holds a number too large for {declared}"
        ) from None
