"""Images inside files that Arrow has mapped, as Hugging Face's `datasets` keeps them: read where
they lie, nothing is copied.
"""

import bisect
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import seek_known
from fastload.sources.base import Location, Remote, SeekFile, open_files
from fastload.sources.columns import Numbers
from fastload.sources.fields import Field
from fastload.sources.span_index import OFFSET, SIZE, Spans
from fastload.spec import Longs


class Store(Protocol):
    """Where the files of a data set in a store come from. Picklable."""

    def samples(self, source: "SpanSource") -> Remote:
        """How its samples come."""

    def shown(self, path: str) -> str:
        """What messages call a file."""


REMEDY = "save it with save_to_disk, and take what load_from_disk gives"


@dataclass(frozen=True)
class SpanSource:
    """Samples that are spans of bytes of a few files; arrays [N], or columns that are read where
    they are used.
    """

    where: str
    paths: tuple[str, ...]
    file: Numbers
    offset: Numbers  # bytes
    size: Numbers  # bytes
    labels: Numbers
    classes: tuple[str, ...]
    fields: tuple[Field, ...] = field(default=(), kw_only=True)  # what lies beside the images
    spans: Spans | None = field(default=None, kw_only=True)  # the index that has the columns
    store: Store | None = field(default=None, kw_only=True)  # None: the files lie there
    # Its files, by the entry in the cache; a changed copy of the source opens its own
    _opened: dict[object, _native.Files] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.file)

    def __getstate__(self) -> dict[str, object]:
        own = {name: value for name, value in self.__dict__.items() if name != "remote"}
        return own | {"_opened": {}}

    @property
    def files(self) -> _native.Files:
        # Those of a store are other ones once its entry in the cache is another
        which = None if self.remote is None else self.remote.access.generation
        if (found := self._opened.get(which)) is None:
            found = self._open()
            self._opened.clear()
            self._opened[which] = found
        return found

    def _open(self) -> _native.Files:
        return open_files(self.paths)

    @cached_property
    def remote(self) -> Remote | None:
        return None if self.store is None else self.store.samples(self)

    def path(self, file: int) -> str:
        """What messages call a file."""
        return self.store.shown(self.paths[file]) if self.store else self.paths[file]

    @cached_property
    def seek(self) -> SeekFile | None:
        """Its images' seek indexes, where they lie beside the files or in the user's cache."""
        return seek_known.of(self).find().seek if len(self) <= seek_known.MOST else None

    def counts(self) -> Longs:
        """int64 [files]: how many samples each has."""
        if self.spans is not None:
            return self.spans.tables.rows
        return np.bincount(self.file, minlength=len(self.paths)).astype(np.int64)

    def locate(self, samples: Longs) -> Location:
        seek = self.seek.locate(samples) if self.seek else None
        if self.spans is None:
            return Location(
                self.file[samples], self.offset[samples], self.size[samples], None, seek
            )
        offset, size = self.spans.take(samples, OFFSET, SIZE)
        return Location(self.spans.part_of(samples), offset, size, None, seek)

    def name(self, sample: int) -> str:
        return f"{self.where}[{sample}]"


def spans(column: Any, where: str) -> tuple[tuple[str, ...], Longs, Longs, Longs]:
    """Paths, and file, offset and size int64 [N] of each value of a binary column
    (pyarrow.ChunkedArray).

    Raises SourceError for values that are missing, or in memory and not in a file.
    """
    maps, paths = _maps(), dict[str, int]()
    parts: list[tuple[Longs, Longs, Longs]] = []
    for chunk in column.chunks:
        if chunk.null_count:
            raise SourceError(f"{where}: {chunk.null_count} images have no bytes; filter them out")
        if not len(chunk):
            continue
        _, starts, data = chunk.buffers()
        width = np.int64 if str(chunk.type).startswith("large") else np.int32
        edges = np.frombuffer(starts, width)[chunk.offset : chunk.offset + len(chunk) + 1].astype(
            np.int64
        )
        path, start = (
            _find(maps, data.address, where) if data is not None and data.size else (os.devnull, 0)
        )
        number = paths.setdefault(path, len(paths))
        parts.append((np.full(len(chunk), number, np.int64), start + edges[:-1], np.diff(edges)))
    if not parts:
        raise SourceError(f"{where}: no images; give a data set that has some")
    file, offset, size = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return tuple(paths), file, offset, size


def check_whole(columns: Iterable[Any]) -> None:
    """Raise SourceError where a file that these columns (pyarrow.ChunkedArray) are mapped from was
    cut off: a touch ends the process.
    """
    maps = _maps()
    for buffer in (
        buffer
        for column in columns
        for chunk in column.chunks
        for buffer in chunk.buffers()
        if buffer is not None
    ):
        first, last, offset, path = _around(maps, buffer.address)
        if not first <= buffer.address < last:
            continue  # in memory
        end = offset + buffer.address - first + buffer.size
        size = os.stat(path).st_size if os.path.exists(path) else end
        if size < end:
            raise SourceError(
                f"{path}: was cut off while it was mapped (got {size} bytes, want {end}); load the "
                "data set again"
            )


def _maps() -> list[tuple[int, int, int, str]]:
    """The files that this process has mapped: first and last address, offset in the file, path
    (proc_pid_maps(5)).
    """
    with open("/proc/self/maps", "rb") as lines:
        rows = [line.split(maxsplit=5) for line in lines]
    maps = []
    for fields in rows:
        if len(fields) == 6 and fields[5].startswith(b"/"):
            first, last = (int(address, 16) for address in fields[0].split(b"-"))
            maps.append((first, last, int(fields[2], 16), os.fsdecode(fields[5].rstrip(b"\n"))))
    return sorted(maps)


def _around(maps: list[tuple[int, int, int, str]], address: int) -> tuple[int, int, int, str]:
    """The last map that begins before the address."""
    at = bisect.bisect_right(maps, (address, 1 << 64, 0, "")) - 1
    return maps[at] if at >= 0 else (0, 0, 0, "")


def _find(maps: list[tuple[int, int, int, str]], address: int, where: str) -> tuple[str, int]:
    """The file that is mapped at an address, and the offset there."""
    first, last, offset, path = _around(maps, address)
    if not first <= address < last:
        raise SourceError(f"{where}: its images are in memory, want a file; {REMEDY}")
    if not os.path.exists(path):
        raise SourceError(f"{path}: is mapped, but was removed or renamed; load the data set again")
    return path, offset + address - first
