"""Samples that are spans of bytes of a few files: tar archives, and the spool for what can only be
read from front to back.
"""

import os
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO

import numpy as np

from fastload import _native
from fastload.conversion.readers.base import LARGEST, Extra, Listing, Reader, Record, stamp_of, told
from fastload.conversion.samples import BadSampleError
from fastload.errors import ConversionError
from fastload.sources.tar_members import Files, Span
from fastload.spec import Longs

CHUNK = 1 << 24  # bytes copied at once


@dataclass(frozen=True, eq=False)
class SpanReader(Listing):
    """Images, and files beside them, at known offsets."""

    files: Files
    spans: Sequence[Span]  # of the images
    more: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)
    # Samples that could not be read before, and why
    bad: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def beside(self) -> Longs:
        out = np.zeros(len(self.sizes), np.int64)
        for sample, spans in self.more.items():
            out[sample] = sum(span.size for span in spans)
        return out

    def read(self, sample: int) -> bytes:
        if sample in self.bad:
            raise BadSampleError(self.bad[sample])
        return self._read(self.spans[sample])

    def extras(self, sample: int) -> tuple[Extra, ...]:
        return tuple(Extra(span.name, self._read(span)) for span in self.more.get(sample, ()))

    def _read(self, span: Span) -> bytes:
        if span.size > LARGEST:
            raise BadSampleError(
                f"is too large (got {span.size} bytes, want at most {LARGEST}); remove it"
            )
        with told("restore the archive"):
            data = self.files.read(span.file, span.offset, span.size)
        if len(data) != span.size:
            raise BadSampleError(
                f"is cut off (got {len(data)} of {span.size} bytes); restore the archive"
            )
        return data


class Spool:
    """A nameless file in the folder for temporary files: gone when nobody reads it any more,
    however the process ends.
    """

    def __init__(self, where: str) -> None:
        self.where, self.end = where, 0
        file: IO[bytes] = tempfile.TemporaryFile(prefix="fastload-", buffering=0)  # noqa: SIM115
        self.file = file
        weakref.finalize(self, file.close)

    def add(self, data: bytes) -> int:
        """Append; where it lies. Raises ConversionError when the disk is full."""
        at, view = self.end, memoryview(data)
        try:
            while view:
                view = view[self.file.write(view) :]
        except OSError as error:
            folder = tempfile.gettempdir()
            raise ConversionError(
                f"{self.where}: cannot be unpacked into {folder} ({error.strerror}); free some "
                "room there, or set TMPDIR to another folder"
            ) from error
        self.end += len(data)
        return at

    def read(self, file: int, offset: int, size: int) -> bytes:
        return os.pread(self.file.fileno(), size, offset)


def spooled(reader: Reader) -> SpanReader:
    """A copy of the source on disk, for a source that cannot be read in another order than its own.

    Raises ConversionError.
    """
    files, spans = Spool(reader.where), list[Span]()
    more, bad = dict[int, tuple[Span, ...]](), dict[int, str]()
    for sample in range(len(reader)):
        try:
            data, extras = reader.read(sample), reader.extras(sample)
        except BadSampleError as error:
            data, extras, bad[sample] = b"", (), str(error)
        spans.append(Span(reader.name(sample), 0, files.add(data), len(data)))
        if extras:
            more[sample] = tuple(
                Span(extra.name, 0, files.add(extra.data), len(extra.data)) for extra in extras
            )
    sizes = np.array([span.size for span in spans], np.int64)
    return SpanReader(
        reader.where,
        reader.keys,
        sizes,
        reader.labels,
        reader.classes,
        reader.stamp,
        files,
        spans,
        more,
        bad,
    )


def of_records(where: str, records: Iterable[Record], classes: Sequence[str]) -> SpanReader:
    """Samples that a program makes one by one, spooled."""
    files, spans, keys, labels = Spool(where), [], [], []
    more: dict[int, tuple[Span, ...]] = {}
    for number, item in enumerate(records):
        spans.append(Span(item.key, 0, files.add(item.data), len(item.data)))
        keys.append(item.key)
        labels.append(item.label)
        if item.extras:
            more[number] = tuple(
                Span(extra.name, 0, files.add(extra.data), len(extra.data)) for extra in item.extras
            )
    sizes = np.array([span.size for span in spans], np.int64)
    checksum = stamp_of([_native.xxh3(files.read(0, span.offset, span.size)) for span in spans])
    return SpanReader(
        where, keys, sizes, np.array(labels, np.int64), tuple(classes), checksum, files, spans, more
    )
