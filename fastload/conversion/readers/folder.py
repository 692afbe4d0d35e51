"""Folders and shards: what fastload itself loads."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastload import _native
from fastload.conversion.readers.base import FATAL, LARGEST, Extra, stamp_of
from fastload.conversion.samples import BadSampleError
from fastload.sources import FileSource, Source
from fastload.sources.shards import ShardSource
from fastload.spec import Longs
from fastload.system import limits

SPECIAL = -1  # the size of a pipe or a device


class OfSource:
    """What a reader has from the source that it reads."""

    source: Source
    sizes: Longs

    @property
    def where(self) -> str:
        return self.source.where

    @property
    def labels(self) -> Longs:
        return self.source.labels

    @property
    def classes(self) -> tuple[str, ...]:
        return self.source.classes

    @property
    def beside(self) -> Longs:
        return np.zeros(len(self.sizes), np.int64)

    @property
    def in_order(self) -> bool:
        return False

    def __len__(self) -> int:
        return len(self.sizes)

    def name(self, sample: int) -> str:
        return self.source.name(sample)

    def extras(self, sample: int) -> tuple[Extra, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class FolderReader(OfSource):
    """Whole files, one per sample."""

    source: FileSource
    keys: Sequence[str]
    sizes: Longs

    @cached_property
    def stamp(self) -> int:
        return stamp_of(file_times(self.source.paths))

    def read(self, sample: int) -> bytes:
        return read_file(self.source.paths[sample], int(self.sizes[sample]))


@dataclass(frozen=True, eq=False)
class ShardsReader(OfSource):
    """Samples of shards, to cut or shuffle them anew."""

    source: ShardSource
    keys: Sequence[str]
    sizes: Longs

    @property
    def stamp(self) -> int:
        return self.source.index.checksum

    @property
    def beside(self) -> Longs:
        return self.source.index.extras.sizes() if self.source.index.extras else super().beside

    def read(self, sample: int) -> bytes:
        place = self.source.locate(np.array([sample], np.int64))
        want = None if place.checksum is None else int(place.checksum[0])
        return self._read(int(place.file[0]), int(place.offset[0]), int(place.size[0]), want)

    def extras(self, sample: int) -> tuple[Extra, ...]:
        if not self.source.index.extras:
            return ()
        shard = int(self.source.index.columns["shard"][np.array([sample])][0])
        return tuple(
            Extra(at.name, self._read(shard, at.offset, at.size, at.checksum))
            for at in self.source.index.extras[sample]
        )

    def _read(self, file: int, offset: int, size: int, want: int | None) -> bytes:
        if size > LARGEST:
            raise BadSampleError(
                f"is too large (got {size} bytes, want at most {LARGEST}); remove it"
            )
        try:
            data = self.source.files.read(file, offset, size)
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(
                f"cannot be read ({error}); run fastload verify {self.source.where}"
            ) from error
        if want is not None and (got := _native.xxh3(data)) != want:
            raise BadSampleError(
                f"is damaged (checksum got {got:016x}, want {want:016x}); run fastload verify "
                f"{self.source.where}"
            )
        return data


def shards_reader(source: ShardSource) -> ShardsReader:
    keys = [key for batch in source.index.batches for key in batch.column("key").to_pylist()]
    return ShardsReader(source, keys, source.index.columns["size"].all())


def read_file(path: str, size: int) -> bytes:
    """A whole file of `size` bytes. Raises BadSampleError."""
    if size == SPECIAL:  # opening a pipe would wait for ever
        raise BadSampleError("is no regular file; remove it")
    if size > LARGEST:
        raise BadSampleError(f"is too large (got {size} bytes, want at most {LARGEST}); remove it")
    try:
        data = _bytes_of(path, size)
    except OSError as error:
        if error.errno in FATAL:
            raise
        raise BadSampleError(
            f"cannot be read ({error.strerror}); make it readable or remove it"
        ) from error
    if data and len(data) != size:
        raise BadSampleError(
            "changed its size during the conversion; convert again when nothing writes to it"
        )
    return data


def _bytes_of(path: str, size: int) -> bytes:
    """Up to `size` bytes, and one more; with fewer system calls than Python's own files take.

    Raises BadSampleError, OSError.
    """
    file, most = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), size + 1
    try:
        if problem := limits.hollow(file, 0, size):
            raise BadSampleError(f"is too large ({problem}); remove it")
        data = os.read(file, most)
        while len(data) < most and (more := os.read(file, most - len(data))):
            data += more
        return data
    finally:
        os.close(file)


def file_sizes(paths: Sequence[str]) -> Longs:
    """int64 [N], bytes, or SPECIAL; 0 for a file that cannot be asked: reading it will tell why."""
    return np.fromiter((_size(path) for path in paths), np.int64, len(paths))


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else SPECIAL


def file_times(paths: Sequence[str]) -> Longs:
    """int64 [N]: when each file was changed, ns; 0 where that cannot be asked."""
    return np.fromiter((_time(path) for path in paths), np.int64, len(paths))


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
