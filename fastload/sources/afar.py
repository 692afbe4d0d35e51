"""Data sets in a store that are spans of its objects: tars, MDS, LitData's chunks, TFRecords,
Parquet. They may be larger than the cache.

Each object is brought once, while the format looks at it, and may then be dropped. What was found
is kept in the user's cache (first_look.py). From then on samples come in pieces of PIECE bytes.
"""

import fnmatch
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.files import arrivals, formats
from fastload.remote import layout as layouts
from fastload.remote.access import Access
from fastload.sources.base import Parts, Source, StoreOrder
from fastload.sources.fields import Field
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import OFFSET, SIZE, Spans
from fastload.sources.store_objects import Behind
from fastload.spec import Longs

# Whose files are opened nowhere but by span_files.py and first_look.py
FORMATS = ("webdataset", "wids", "mds", "litdata", "tfrecord", "parquet")
TOGETHER = 1 << 20  # samples whose places are looked up at once


@dataclass(frozen=True, eq=False)
class Objects:
    """The objects of a data set, and their files in the cache; a `mapped.Store`.

    Pickling keeps where they lie; the other process opens the cache again.
    """

    lying: Behind
    access: Access

    def __reduce__(self) -> tuple[Any, ...]:
        return of, (self.lying,)

    @property
    def path(self) -> str:
        """Of the data set among the files."""
        return self.lying.path(self.access.folder)

    def told(self, source: Source) -> SpanSource:
        """The data set that was opened at `path`: its samples come from the store."""
        assert isinstance(source, SpanSource)  # as those of FORMATS are
        return replace(source, where=self.lying.url.shown, store=self)

    def samples(self, source: SpanSource) -> "RemoteSpans":
        assert source.spans is not None  # as those of FORMATS have
        numbers = [self._number_of[self._name(path)] for path in source.paths]
        first = self.access.layout.file_first[np.array(numbers, np.int64)]
        return RemoteSpans(self.access, source.spans, first, source.fields)

    @contextmanager
    def present(self, path: str) -> Iterator[None]:
        number = self._number_of.get(self._name(path))
        if number is None:  # of no object: opening it will say so
            yield
            return
        first, last = self.access.layout.file_first[number : number + 2].tolist()
        with self.access.read(np.arange(first, last)):
            yield

    def shown(self, path: str) -> str:
        name = self._name(path)
        return f"{self.lying.folder.shown}/{name}" if name else self.lying.url.shown

    def _name(self, path: str) -> str:
        return path.removeprefix(self.access.folder).lstrip("/")

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.access.layout.names)}


def of(lying: Behind) -> Objects:
    """Raises CacheError."""
    found = Objects(lying, lying.access(layouts.PIECE))
    arrivals.expect(found.access.folder, found)
    return found


def in_parts(lying: Behind, format: str | None) -> Objects | None:
    """None: they are of another format, as the user or their names tell. Raises CacheError."""
    known = [formats.SOURCES[name] for name in FORMATS]
    names = [each.key.lower() for each in lying.objects]
    ends = tuple(end for one in known for end in one.suffixes)
    markers = [marker for one in known for marker in one.markers]
    # Before a file is made for each of them
    fits = any(name.endswith(ends) for name in names)
    if not fits and not any(fnmatch.filter(names, marker) for marker in markers):
        return None
    found = of(lying)
    try:
        one = formats.source_at(found.path)
    except SourceError:
        return None
    name = format or (one.name if one else formats.FOLDER)
    return found if name in FORMATS else None


class RemoteSpans:
    """Where the samples of a data set lie in its pieces; a `Remote`."""

    def __init__(
        self, access: Access, spans: Spans, first: Longs, fields: tuple[Field, ...]
    ) -> None:
        """first: int64 [files], the first cell of each; fields: what lies beside the images."""
        self.access, self.spans, self.first, self.fields = access, spans, first, fields

    def __len__(self) -> int:
        return len(self.spans)

    def cells(self, samples: Longs) -> Longs:
        cells: Longs = np.unique(self.parts(samples).cell)
        return cells

    def parts(self, samples: Longs) -> Parts:
        """Of the image, and of what lies beside it in the same file."""
        file, owner = self.spans.part_of(samples), np.arange(len(samples))
        found = [self._pieces(owner, file, *self._image(samples))]
        for field in self.fields:
            here = [number for number, way in enumerate(field.every_way()) if way.data is None]
            inside = np.isin(field.way_of(samples), here)
            some = samples[inside]
            place = field.offset[some], field.size[some]
            found.append(self._pieces(owner[inside], file[inside], *place))
        return Parts(*map(np.concatenate, zip(*found, strict=True)))

    def _image(self, samples: Longs) -> tuple[Longs, Longs]:
        """Offset and size of the bytes that it is made of; packed ones are not its alone."""
        offset, size = self.spans.take(samples, OFFSET, SIZE)
        return offset, size

    def _pieces(self, owner: Longs, file: Longs, offset: Longs, size: Longs) -> Parts:
        """Each piece of these bytes."""
        piece, end = layouts.PIECE, offset + size
        first = offset // piece
        count = np.where(size > 0, (end - 1) // piece - first + 1, 0)
        of = np.repeat(np.arange(len(owner)), count)
        number = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
        begin = np.maximum(offset[of], number * piece)
        bytes_ = np.minimum(end[of], (number + 1) * piece) - begin
        return Parts(owner[of], self.first[file[of]] + number, bytes_)

    def order(self) -> StoreOrder:
        """By the groups that images begin in; those of one group in their own order."""
        layout, count = self.access.layout, len(self.spans)
        groups = np.empty(count, np.int64)
        for begin in range(0, count, TOGETHER):
            some = np.arange(begin, min(begin + TOGETHER, count))
            cell = self.first[self.spans.part_of(some)] + self._image(some)[0] // layouts.PIECE
            groups[some] = layout.groups_of(cell)
        first = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=layout.groups))])
        if (np.diff(groups) >= 0).all():
            return StoreOrder(first.astype(np.int64), _as_they_lie)
        order = np.argsort(groups, kind="stable")
        return StoreOrder(first.astype(np.int64), partial(np.take, order))


def _as_they_lie(places: Longs) -> Longs:
    return places
