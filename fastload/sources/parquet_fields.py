"""Columns of Parquet files besides images and labels: read by pyarrow when the data set is opened,
and held in memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import IO

from fastload.errors import SourceError
from fastload.sources import parquet_files, span_files
from fastload.sources.arrow import PARSE_ERRORS
from fastload.sources.fields import Field
from fastload.sources.parquet_spans import PackedSource
from fastload.sources.table_columns import holds_bytes, is_struct
from fastload.sources.table_fields import GapsError, Values


def with_fields(source: PackedSource, names: Sequence[str]) -> PackedSource:
    """The same data set, with these of its columns. Raises SourceError."""
    return replace(source, fields=tuple(_field(source, name) for name in names))


class _Column(Values):
    """The values of a column of Parquet files so far."""

    def add_file(self, path: str, file: IO[bytes]) -> None:
        """Of one open file. Raises SourceError and GapsError."""
        table = parquet_files.opened(path, file)
        schema = table.schema_arrow
        self.begin(path, schema)
        before = self.count
        nested = is_struct(schema, self.name) and holds_bytes(schema, self.name)
        column = f"{self.name}.bytes" if nested else self.name
        try:
            for array in parquet_files.arrays(file.fileno(), table, column):
                self.add(array.field("bytes") if nested else array)
        except TypeError as error:
            raise self.refused(path, schema) from error
        except PARSE_ERRORS as error:
            if isinstance(error, SourceError):
                raise
            raise parquet_files.damaged(path, error) from error
        if self.count - before != table.metadata.num_rows:
            raise SourceError(f"{path}: column {self.name!r} has other rows; restore it")


def _field(source: PackedSource, name: str) -> Field:
    try:
        return _held(source, _Column(source, name, gaps=False))
    except GapsError:
        return _held(source, _Column(source, name, gaps=True))


def _held(source: PackedSource, column: _Column) -> Field:
    """Raises SourceError and GapsError."""
    for path in source.paths:
        with span_files.readable(path) as file:
            column.add_file(path, file)
    return column.field()
