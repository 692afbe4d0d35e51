"""Columns of Parquet files besides images and labels: read by pyarrow when the data set is opened,
and held in memory.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import fields, parquet_files, span_files
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


class _Column:
    """The values of a column so far."""

    def __init__(self, source: PackedSource, name: str) -> None:
        self.source, self.name, self.kind = source, name, ""
        self.data, self.sizes = io.BytesIO(), list[Longs]()
        self.missing = list[Longs]()  # int64: samples without it
        self.count = 0

    def add(self, path: str, table: Any) -> None:
        """Of one file. Raises SourceError."""
        schema = table.schema_arrow
        if self.name not in schema.names:
            raise fields.lacking(path, self.name, schema.names)
        kind = _kind(schema, self.name)
        if self.kind not in ("", kind):
            raise SourceError(
                f"{path}: column {self.name!r} is of another type than in other files (got {kind}, "
                f"want {self.kind}); write the data set again"
            )
        self.kind, before, said = kind, self.count, schema.field(self.name).type
        nested = is_struct(schema, self.name) and holds_bytes(schema, self.name)
        column = f"{self.name}.bytes" if nested else self.name
        try:
            for array in parquet_files.arrays(path, table, column):
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
    column = _Column(source, name)
    for path in source.paths:
        with span_files.readable(path) as file:
            column.add(path, parquet_files.opened(path, file))
    return column.field()


def _kind(schema: Any, name: str) -> str:
    """How fields.py calls the column's type: lists and structs are given as JSON."""
    import pyarrow as pa

    kind, plain = schema.field(name).type, pa.types
    kind = kind.value_type if plain.is_dictionary(kind) else kind
    suffix = fields.of_suffix(name)
    if plain.is_string(kind) or plain.is_large_string(kind):
        return "json" if suffix == "json" else "text"
    if holds_bytes(schema, name):
        return suffix
    if plain.is_boolean(kind):
        return f"{fields.NUMBERS} |u1"
    if plain.is_integer(kind) or plain.is_floating(kind):
        return f"{fields.NUMBERS} {np.dtype(kind.to_pandas_dtype()).newbyteorder('<').str}"
    return "json"


def _bytes(array: Any, kind: str) -> list[bytes]:
    """Each value as fields.py reads it. Raises TypeError for what is no JSON."""
    values: list[Any] = array.to_pylist()
    if kind.startswith(fields.NUMBERS):
        numbers = np.array(values, kind.split()[1])
        return [number.tobytes() for number in numbers]
    if values and isinstance(values[0], bytes):
        return values
    if values and isinstance(values[0], str):
        return [value.encode() for value in values]
    return [json.dumps(value).encode() for value in values]
