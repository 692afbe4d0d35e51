"""Seek indexes made on the way: what the first epoch over files, or over spans of files, decodes
anyway is indexed, and the next epochs use it.

Worker threads append to a log of their process (_native.Collector); before an epoch begins, the
logs of all processes are merged into the user's cache (seek_merge.py), which later runs find.
Nothing is written beside the data.
"""

import contextlib
import os
import threading
import warnings
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError
from fastload.files import cache
from fastload.files.below import Folder
from fastload.sources import arrow, seek, seek_data, seek_known, seek_merge
from fastload.sources.base import FileSource, Seek, Source
from fastload.sources.mapped import SpanSource
from fastload.sources.seek import FolderSeek
from fastload.sources.seek_layers import Layer
from fastload.sources.seek_views import Found, New, Off, Picked, View
from fastload.sources.views import Subset
from fastload.spec import Longs

MODES = ("auto", "use", "off")
Collectable: TypeAlias = FileSource | SpanSource
# Bytes of indexes in memory, where the cache cannot be written: of 600,000 ImageNet images
MEMORY = 1 << 30
WAIT = 10.0  # s that an epoch may wait for another process that merges
WORTH = 64  # INDEX is written again for at least 1/64 new rows


@dataclass(frozen=True, eq=False)
class Collected:
    """Those that are known when the epoch begins; arrays [N]."""

    files: _native.Files
    collector: _native.Collector
    file: NDArray[np.uint16]
    offset: Longs  # bytes
    size: Longs  # bytes; 0: none
    no_index: Longs  # bytes of a file that is known to have none; 0: not known

    def locate(self, samples: Longs, own: Seek | None) -> Seek | None:
        if not len(self.files):
            return None
        return Seek(
            self.files,
            self.file[samples].astype(np.int64),
            self.offset[samples],
            self.size[samples],
        )

    def collect(self, samples: Longs) -> New | None:
        return self.collector, samples, self.no_index[samples]


class Fixed:
    """The same for every epoch."""

    def __init__(self, view: View) -> None:
        self.view = view

    def epoch(self) -> View:
        return self.view

    def warn(self) -> None:
        """There is nothing that can fail."""


class Collection:
    """The indexes of one loader's data set, from epoch to epoch."""

    def __init__(self, source: Collectable) -> None:
        self.source, self.known = source, seek_known.of(source)
        self.root, self.folder, _ = self.known
        self.problem = unusable(self.folder)  # why the cache is not written; for the user
        self.in_memory = bool(self.problem) or not has_arrow()
        stored = source.seek if isinstance(source.seek, FolderSeek) else None
        beside, count = self.root.rstrip("/") or "/", len(source)
        self.beside, self.cached = (
            Layer(folder, self.known, count, stored) for folder in (beside, self.folder)
        )
        self.collector = self._collector()
        self._merged = 0  # of the collector's records
        self.view: Collected | None = None  # of the last epoch
        self._made_of: object = None  # what the view is made of
        self._warned = False
        self._lock, self._process = threading.Lock(), os.getpid()

    def _collector(self) -> _native.Collector:
        """Its rows are known by what follows the prefix in its files' paths; none is opened."""
        files, prefix = self.source.files, os.path.join(self.root, "")
        if not isinstance(self.source, FileSource):
            files, prefix = _native.Files(self.known.names(), keep_open=False), ""
        return _native.Collector(files, prefix, "" if self.in_memory else self.folder, MEMORY)

    def epoch(self) -> Collected:
        """What an epoch that begins now should use.

        Merges what is worth it; raises nothing for what lies on the disk.
        """
        with self._lock:
            self.beside.read(self.collector.names)
            # A fork's child leaves the logs to its parent.
            if not self.in_memory and self._process == os.getpid():
                try:
                    self._merge()
                except OSError as error:
                    self.problem = f"{self.folder}: cannot be written ({error.strerror or error})"
            # First: more may be added meanwhile
            made_of = (self.collector.count, self.beside.sum, self.cached.sum)
            if self.view is None or made_of != self._made_of:
                self.view, self._made_of = self._make_view(), made_of
            return self.view

    def warn(self) -> None:
        """Say once that the cache cannot be written."""
        problem = "" if self._warned else self.problem or self.collector.problem
        if problem:
            self._warned = True
            text = (
                "new seek indexes serve this run only; set XDG_CACHE_HOME to a folder that can "
                'be written, or pass seek_index="use"'
            )
            warnings.warn(f"{problem}; {text}", stacklevel=4)

    def _merge(self) -> None:
        names = seek_merge.log_names(self.folder)
        if not names and not self.cached.changed():
            return
        with seek_merge.locked(self.folder, WAIT) as held:
            if held is None:
                return
            self.cached.read(self.collector.names, whole=bool(names))
            mine = {
                os.path.basename(path): number
                for number, path in enumerate(self.collector.logs())
                if path
            }
            logs = seek_merge.read_logs(
                self.folder, [name for name in names if name not in mine], self.cached.stored
            )
            count = self.collector.count
            if self._worth(logs, count - self._merged):
                self.collector.seal()
                self._merge_logs(
                    held,
                    [*logs, *seek_merge.read_logs(self.folder, mine, self.cached.stored)],
                    mine,
                )
                self._merged = count
            else:
                seek_merge.remove(held, [log.name for log in logs if log.ended])

    def _worth(self, logs: list[seek_data.Log], own: int = 0) -> bool:
        """Whether to write INDEX again: an ended log is to go, or there is much to be added."""
        new = own + sum(len(log.records) for log in logs)
        return any(log.ended and len(log.records) for log in logs) or new * WORTH >= len(
            self.source
        )

    def _merge_logs(self, folder: Folder, logs: list[seek_data.Log], mine: dict[str, int]) -> None:
        """Needs the lock. Another process may have merged most of ours."""
        some = any(len(log.records) for log in logs)
        if self.problem or self.collector.problem or (some and not self._worth(logs)):
            return
        if some:
            names = self.known.names()
            seek_merge.merge(folder, self.root, names, self.cached.stored, logs, mine)
            self.cached.read(self.collector.names)
        else:
            seek_merge.remove(folder, mine)
        for number in mine.values():
            self.collector.forget(number)

    def _make_view(self) -> Collected:
        """What this process has in its logs is the newest; then coefficient layers, of files that
        nobody has seen with another size since; then the later one of the cache and the index
        beside the data.

        The cache has only what the index beside the data lacked, or what was refused, when it was
        written.
        """
        newest = sorted((self.beside, self.cached), key=Layer.age, reverse=True)
        aged = [layer.seek for layer in newest if layer.seek]
        layers = sorted(aged, key=lambda seek: not seek.layered)
        count = len(self.source)
        file = np.zeros(count, np.uint16)
        offset, size, no_index = (np.zeros(count, np.int64) for _ in range(3))
        for number, layer in enumerate(layers):
            none = (layer.size == 0) & (layer.file_size > 0)
            no_index[none] = layer.file_size[none]
            new = (size == 0) & (layer.size > 0)
            if layer.layered and layer is not aged[0]:
                new &= (aged[0].file_size == 0) | (aged[0].file_size == layer.file_size)
            file[new], offset[new], size[new] = number, layer.offset[new], layer.size[new]
        row, log, start, length, file_size = self.collector.entries().T
        file[row], offset[row], size[row] = len(layers) + log, start, length
        no_index[row] = np.where(length == 0, file_size, 0)
        files = self.collector.open_logs([layer.path for layer in layers])
        for number in range(len(layers)):  # opened now: they may be replaced later
            with contextlib.suppress(OSError):
                files.read(number, 0, seek.HEADER.size)
        return Collected(files, self.collector, file, offset, size, no_index)


class PickedCollection:
    """The collection of a whole data set, for a loader of some of its images."""

    def __init__(self, source: Collectable, indices: Longs) -> None:
        self.whole, self.indices = Collection(source), indices

    def epoch(self) -> Picked:
        return Picked(self.whole.epoch(), self.indices)

    def warn(self) -> None:
        self.whole.warn()


Indexes: TypeAlias = Collection | PickedCollection | Fixed


def make(mode: str, source: Source) -> Indexes:
    """Where a loader's seek indexes come from. Only those of `Collectable` ones are collected, of
    up to seek_known.MOST samples.
    """
    base = source.base if isinstance(source, Subset) else source
    if mode == "auto" and isinstance(base, Collectable) and len(base) <= seek_known.MOST:
        if isinstance(source, Subset):
            return PickedCollection(base, source.indices)
        return Collection(base)
    return Fixed(Off() if mode == "off" else Found())


def unusable(folder: str) -> str:
    """Why the cache cannot be there; empty: it may."""
    if not os.path.isabs(folder):
        return "no cache folder (HOME and XDG_CACHE_HOME are not set)"
    return (
        cache.trouble(folder)
        if folder.isprintable()
        else f"{os.fsencode(folder)!r}: is no text that can be shown"
    )


def has_arrow() -> bool:
    try:
        arrow.import_arrow("")
    except SourceError:
        return False
    return True
