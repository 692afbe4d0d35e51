"""Columns of Parquet files besides images and labels: read by pyarrow when the data set is opened,
and held in memory.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import field_types, fields, parquet_files, span_files
from fastload.sources.arrow import PARSE_ERRORS
from fastload.sources.fields import Field
from fastload.sources.parquet_spans import PackedSource
from fastload.sources.table_columns import holds_bytes, is_struct
from fastload.spec import Longs
from fastload.system import limits

MOST = limits.PARQUET_GROUP  # bytes of a column, in memory


def with_fields(source: PackedSource, names: Sequence[str]) -> PackedSource:
    """The same data set, with these of its columns. Raises SourceError."""
    return replace(source, fields=tuple(_field(source, name) for name in names))


class GapsError(Exception):
    """Lists have numbers that are missing, so only JSON can hold them."""


class _Column:
    """The values of a column so far. gaps: lists of numbers are held as JSON."""

    def __init__(self, source: PackedSource, name: str, *, gaps: bool) -> None:
        self.source, self.name, self.kind, self.gaps = source, name, "", gaps
        self.data, self.sizes = io.BytesIO(), list[Longs]()
        self.missing = list[Longs]()  # int64: samples without it
        self.count = 0

    def add(self, path: str, file: IO[bytes]) -> None:
        """Of one open file. Raises SourceError and GapsError."""
        table = parquet_files.opened(path, file)
        schema = table.schema_arrow
        if self.name not in schema.names:
            raise fields.lacking(path, self.name, schema.names)
        kind = _kind(schema, self.name, gaps=self.gaps)
        if self.kind not in ("", kind):
            raise SourceError(
                f"{path}: column {self.name!r} is of another type than in other files (got {kind}, "
                f"want {self.kind}); write the data set again"
            )
        self.kind, before, said = kind, self.count, schema.field(self.name).type
        nested = is_struct(schema, self.name) and holds_bytes(schema, self.name)
        column = f"{self.name}.bytes" if nested else self.name
        try:
            for array in parquet_files.arrays(file.fileno(), table, column):
                self._add(array.field("bytes") if nested else array)
        except TypeError as error:
            raise SourceError(
                f"{path}: column {self.name!r} is of type {str(said)[:80]} (want text, numbers, "
                "bytes, or lists and structs of text and numbers); name another column"
            ) from error
        except PARSE_ERRORS as error:
            if isinstance(error, SourceError):
                raise
            raise parquet_files.damaged(path, error) from error
        if self.count - before != table.metadata.num_rows:
            raise SourceError(f"{path}: column {self.name!r} has other rows; restore it")

    def _add(self, array: Any) -> None:
        if array.null_count:
            nulls = np.array(array.is_null().to_pylist(), np.bool_)
            self.missing.append(self.count + np.flatnonzero(nulls))
        values = [] if array.null_count else _bytes(array, self.kind)
        self.sizes.append(np.array([len(value) for value in values], np.int64))
        self.data.write(b"".join(values))
        if wrong := limits.too_many(self.data.tell(), MOST):
            raise SourceError(
                f"{self.source.where}: column {self.name!r} is too large to be held ({wrong}); run "
                f"fastload convert {self.source.where} DST, and open DST"
            )
        self.count += len(array)

    def field(self) -> Field:
        """Raises SourceError."""
        if self.count != len(self.source):
            raise SourceError(f"{self.source.where}: changed since it was read; open it again")
        if self.missing:
            lacking = np.concatenate(self.missing)
            first = self.source.name(int(lacking[0]))
            raise fields.incomplete(self.source.where, self.name, len(lacking), self.count, first)
        size = np.concatenate(self.sizes)
        offset = np.cumsum(size) - size
        return Field(self.name, self.kind, offset, size, data=self.data.getvalue())


def _field(source: PackedSource, name: str) -> Field:
    try:
        return _held(source, _Column(source, name, gaps=False))
    except GapsError:
        return _held(source, _Column(source, name, gaps=True))


def _held(source: PackedSource, column: _Column) -> Field:
    """Raises SourceError and GapsError."""
    for path in source.paths:
        with span_files.readable(path) as file:
            column.add(path, file)
    return column.field()


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
