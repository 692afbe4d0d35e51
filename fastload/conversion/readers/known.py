"""What seek indexes may know of what a reader reads."""

from typing import NamedTuple

import numpy as np

from fastload.conversion.readers.base import Reader
from fastload.conversion.readers.source import OfSource
from fastload.conversion.readers.spans import SpanReader
from fastload.conversion.readers.table_files import ParquetFile
from fastload.conversion.readers.tables import TableReader
from fastload.conversion.readers.tars import Archives
from fastload.errors import SourceError
from fastload.files.formats import PARQUET
from fastload.sources import FileSource, load, seek_known
from fastload.sources.mapped import SpanSource
from fastload.sources.seek_known import Spans
from fastload.spec import Longs


class _Spans(NamedTuple):
    """Of plain tars, as their source has them."""

    where: str
    paths: tuple[str, ...]
    file: Longs
    offset: Longs


def known(reader: Reader) -> FileSource | Spans | None:
    """None: its seek indexes lie elsewhere, or there are none."""
    if isinstance(reader, OfSource) and isinstance(reader.source, FileSource | SpanSource):
        return reader.source
    if isinstance(reader, TableReader):
        return _of_tables(reader)
    if not isinstance(reader, SpanReader) or not isinstance(reader.files, Archives):
        return None
    if reader.files.spool is not None:
        return None
    numbers = [(span.file, span.offset) for span in reader.spans]
    file, offset = np.array(numbers, np.int64).reshape(-1, 2).T
    return _Spans(reader.where, tuple(reader.files.paths.values()), file, offset)


def _of_tables(reader: TableReader) -> Spans | None:
    """Of Parquet that is opened in place, too. Where its images lie is asked for only where there
    is an index.
    """
    paths = tuple(table.path for table in reader.tables if isinstance(table, ParquetFile))
    nothing = np.zeros(0, np.int64)
    if len(paths) < len(reader.tables):
        return None
    if not seek_known.of(_Spans(reader.where, paths, nothing, nothing)).lies():
        return None
    try:
        source = load(PARQUET, reader.where)
    except SourceError:  # it is no data set in place
        return None
    return source if isinstance(source, SpanSource) and source.paths == paths else None
