"""Results as files: the documents that JSON and NPZ files hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import NoneType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hpccfpga.result import Result

SCHEMA = "hpccfpga-result/1"
DTYPES = {"float64": (float, int), "int64": (int,), "bool": (bool,), "str": (str,)}
"""Names of the types that a column may have, and what its values are in JSON."""

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
    found["columns"] = {
        name: {"unit": column.unit, "dtype": dtype(column.values)}
        | {"shape": [*column.values.shape]}
        | ({"values": _plain(column.values)} if values else {})
        for name, column in result.columns.items()
    }
    found["summary"] = {
        name: {"unit": unit, "value": _plain(value)}
        for name, (unit, value) in result.summary.items()
    }
    found["provenance"] = _plain(result.provenance)
    return found


def fields(
    document: Any, arrays: Mapping[str, np.ndarray] | None = None
) -> dict[str, Any]:
    """Return a result's fields out of its document, columns and summary as pairs.

    `arrays` replaces the values of the columns.

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
            raise ValueError(f"{key} is {document[key]!r}, no {names}")
    if document["ranks"] < 1:
        raise ValueError(f"ranks is {document['ranks']}, must be at least 1")
    columns = {
        name: _decode_column(name, entry, arrays)
        for name, entry in document["columns"].items()
    }
    try:
        summary = {
            name: (
                str(entry["unit"]),
                np.nan if entry["value"] is None else float(entry["value"]),
            )
            for name, entry in document["summary"].items()
        }
    except (KeyError, TypeError, ValueError):
        raise ValueError("a summary entry has no unit or no number") from None
    rest = {key: document[key] for key in _TYPES}
    return rest | {"columns": columns, "summary": summary}


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
    if family(document) != known or not version.isdigit():
        raise ValueError(f"not a {noun}: its schema is {document['schema']!r}")
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
def read(path_or_text: str | os.PathLike[str]) -> Iterator[Any]:
    """Give the document of a file or a text; a ValueError of the block names it.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        It is not JSON.
    """
    if isinstance(path_or_text, str) and path_or_text.lstrip().startswith("{"):
        where, data = "text", path_or_text.encode()
    else:
        where, data = os.fspath(path_or_text), Path(path_or_text).read_bytes()
    try:
        yield json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: not JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends without error.

    Raises
    ------
    ValueError
        The path cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


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


def _decode_column(
    name: str, entry: Any, arrays: Mapping[str, np.ndarray] | None
) -> tuple[str, np.ndarray]:
    keys = ["unit", "dtype", "shape"] + ["values"] * (arrays is None)
    missing = [k for k in keys if not isinstance(entry, dict) or k not in entry]
    if missing or (arrays is not None and name not in arrays):
        raise ValueError(f"column {name!r} lacks {', '.join(missing) or 'values'}")
    if entry["dtype"] not in DTYPES:
        raise ValueError(
            f"column {name!r} has dtype {entry['dtype']!r}; known: {', '.join(DTYPES)}"
        )
    shape = entry["shape"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"column {name!r} has shape {shape!r}, no list of lengths")
    if arrays is None:
        values: np.ndarray = np.empty(0, object)
        with suppress(ValueError):  # ragged: the shape below cannot fit
            values = np.array(entry["values"], dtype=object)
        if values.size == 0 and 0 in shape:
            values = values.reshape(shape)
    else:
        values = arrays[name]
    if values.shape != tuple(shape):
        raise ValueError(
            f"column {name!r} has values of shape {[*values.shape]}, declared {shape}"
        )
    if arrays is None:
        allowed = DTYPES[entry["dtype"]]
        for value in values.flat:
            void = value is None and entry["dtype"] == "float64"
            if type(value) not in allowed and not void:
                raise ValueError(
                    f"column {name!r} holds {value!r}, no {entry['dtype']}"
                )
        values = values.astype(entry["dtype"])
    elif dtype(values) != entry["dtype"]:
        raise ValueError(
            f"column {name!r} has values of dtype {values.dtype}, "
            f"declared {entry['dtype']}"
        )
    return str(entry["unit"]), values
