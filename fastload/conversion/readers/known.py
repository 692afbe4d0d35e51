"""What seek indexes may know of what a reader reads."""

from typing import NamedTuple

import numpy as np

from fastload.conversion.readers.base import Reader
from fastload.conversion.readers.source import OfSource
from fastload.conversion.readers.spans import SpanReader
from fastload.conversion.readers.tars import Archives
from fastload.sources import FileSource
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
    if not isinstance(reader, SpanReader) or not isinstance(reader.files, Archives):
        return None
    if reader.files.spool is not None:
        return None
    numbers = [(span.file, span.offset) for span in reader.spans]
    file, offset = np.array(numbers, np.int64).reshape(-1, 2).T
    return _Spans(reader.where, tuple(reader.files.paths.values()), file, offset)
