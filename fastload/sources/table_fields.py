"""Columns of tables besides images and labels: read when the data set is opened, and held in
memory.
"""

import io
import json
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import field_types, fields
from fastload.sources.fields import Field
from fastload.sources.mapped import SpanSource
from fastload.sources.table_columns import holds_bytes
from fastload.spec import Longs
from fastload.system import limits

MOST = limits.PARQUET_GROUP  # bytes of a column, in memory


class GapsError(Exception):
    """Lists have numbers that are missing, so only JSON can hold them."""


class Values:
    """The values of a column so far. gaps: lists of numbers are held as JSON."""

    def __init__(self, source: SpanSource, name: str, *, gaps: bool = False) -> None:
        self.source, self.name, self.kind, self.gaps = source, name, "", gaps
        self.data, self.sizes = io.BytesIO(), list[Longs]()
        self.missing = list[Longs]()  # int64: samples without it
        self.count = 0

    def begin(self, path: str, schema: Any) -> None:
        """What follows is of this file or table. Raises SourceError."""
        if self.name not in schema.names:
            raise fields.lacking(path, self.name, schema.names)
        kind = _kind(schema, self.name, gaps=self.gaps)
        if self.kind not in ("", kind):
            raise SourceError(
                f"{path}: column {self.name!r} is of another type than in other files (got {kind}, "
                f"want {self.kind}); write the data set again"
            )
        self.kind = kind

    def add(self, array: Any) -> None:
        """Raises SourceError, GapsError, and TypeError for what is no JSON."""
        nulls = np.array(array.is_null().to_pylist() if array.null_count else [], np.bool_)
        self.put(len(array), np.flatnonzero(nulls), [] if len(nulls) else _bytes(array, self.kind))

    def put(self, count: int, missing: Longs, values: list[bytes]) -> None:
        """The next values; of those that are missing the places. Raises SourceError."""
        if len(missing):
            self.missing.append(self.count + missing)
        self.sizes.append(np.array([len(value) for value in values], np.int64))
        self.data.write(b"".join(values))
        self.check(self.data.tell())
        self.count += count

    def check(self, size: int) -> None:
        """Raises SourceError for more bytes than are held."""
        if wrong := limits.too_many(size, MOST):
            raise SourceError(
                f"{self.source.where}: column {self.name!r} is too large to be held ({wrong}); run "
                f"fastload convert {self.source.where} DST, and open DST"
            )

    def refused(self, path: str, schema: Any) -> SourceError:
        """The error of a column whose values are no JSON."""
        return SourceError(
            f"{path}: column {self.name!r} is of type {str(schema.field(self.name).type)[:80]} "
            "(want text, numbers, bytes, or lists and structs of text and numbers); name another "
            "column"
        )

    def field(self) -> Field:
        """Raises SourceError."""
        if self.count != len(self.source):
            raise SourceError(f"{self.source.where}: changed since it was read; open it again")
        if self.missing:
            lacking = np.concatenate(self.missing)
            first = self.source.name(int(lacking[0]))
            raise fields.incomplete(self.source.where, self.name, len(lacking), self.count, first)
        size = np.concatenate([np.zeros(0, np.int64), *self.sizes])
        offset = np.cumsum(size) - size
        return Field(self.name, self.kind, offset, size, data=self.data.getvalue())


def _kind(schema: Any, name: str, *, gaps: bool) -> str:
    """How field_types calls the column's type: structs, and lists of other things than numbers,
    are JSON.
    """
    import pyarrow as pa

    kind, plain = schema.field(name).type, pa.types
    kind = kind.value_type if plain.is_dictionary(kind) else kind
    suffix = fields.of_suffix(name)
    if plain.is_string(kind) or plain.is_large_string(kind):
        return "json" if suffix == "json" else "text"
    if holds_bytes(schema, name):
        return suffix
    if plain.is_boolean(kind):
        return field_types.of_numbers("|u1")
    if _is_number(kind):
        return field_types.of_numbers(_dtype(kind))
    if not gaps and _is_list(kind) and _is_number(kind.value_type):
        return f"{field_types.NUMBERS} {_dtype(kind.value_type)}"
    return "json"


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _dtype(kind: Any) -> str:
    return str(np.dtype(kind.to_pandas_dtype()).newbyteorder("<").str)


def _bytes(array: Any, kind: str) -> list[bytes]:
    """Each value as fields.py reads it. Raises TypeError for what is no JSON, and GapsError."""
    if kind.startswith(f"{field_types.NUMBERS} "):
        return _lists(array, np.dtype(kind.split()[1]))
    values: list[Any] = array.to_pylist()
    if kind.startswith(f"{field_types.NUMBER} "):
        numbers = np.array(values, kind.split()[1])
        return [number.tobytes() for number in numbers]
    if values and isinstance(values[0], bytes):
        return values
    if values and isinstance(values[0], str):
        return [value.encode() for value in values]
    return [json.dumps(value).encode() for value in values]


def _lists(array: Any, dtype: np.dtype[Any]) -> list[bytes]:
    """The numbers of each list. Raises GapsError."""
    import pyarrow.compute as pc

    flat = array.flatten()
    if flat.null_count:
        raise GapsError
    data = flat.to_numpy(zero_copy_only=False).astype(dtype).tobytes()
    ends = np.cumsum(np.asarray(pc.list_value_length(array), np.int64)) * dtype.itemsize
    begins = [0, *ends[:-1].tolist()]
    return [data[begin:end] for begin, end in zip(begins, ends.tolist(), strict=False)]
