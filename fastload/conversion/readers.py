"""What a conversion reads: any source, with a key and a size for each sample."""

import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from PIL import Image

from fastload import _native
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from fastload.sources import FileSource, Source, open_source, read
from fastload.sources.beton import BetonSource
from fastload.sources.shards import ShardSource
from fastload.spec import Longs, Pixels

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")  # how Python shows bytes of a file name that are not UTF-8
SKIPPED = re.compile(r"__[^/]*__/")  # WebDataset takes such members for metadata and skips them
LARGEST = 1 << 30  # bytes of one encoded image; more is a mistake, and would have to be held in memory
PNG_MORE = 4096  # bytes that a PNG may be larger than its pixels and 1/64 of them
SPECIAL = -1  # the size of a pipe or a device
FATAL = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # not the sample's fault: the machine has run out of something


class Reader(Protocol):
    """Samples of a source as they go into shards. Implementations are immutable and used from many threads."""

    @property
    def source(self) -> Source: ...
    @property
    def keys(self) -> Sequence[str]: ...  # unique, [N]
    @property
    def sizes(self) -> Longs: ...  # bytes, [N]
    def __len__(self) -> int: ...
    def read(self, sample: int) -> bytes:
        """The encoded bytes. Raises BadSampleError."""


@dataclass(frozen=True, eq=False)
class FolderReader:
    """Whole files, one per sample."""

    source: FileSource
    keys: Sequence[str]
    sizes: Longs

    def __len__(self) -> int:
        return len(self.keys)

    def read(self, sample: int) -> bytes:
        size = int(self.sizes[sample])
        if size == SPECIAL:  # opening a pipe would wait for ever
            raise BadSampleError("is no regular file; remove it")
        if size > LARGEST:
            raise BadSampleError(f"is too large (got {size} bytes, want at most {LARGEST}); remove it")
        try:
            with open(self.source.paths[sample], "rb") as file:
                data = file.read(size + 1)
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({error.strerror}); make it readable or remove it") from error
        if data and len(data) != size:
            raise BadSampleError("changed its size during the conversion; convert again when nothing writes to it")
        return data


@dataclass(frozen=True, eq=False)
class ShardsReader:
    """Samples of shards, to cut or shuffle them anew."""

    source: ShardSource
    keys: Sequence[str]
    sizes: Longs

    def __len__(self) -> int:
        return len(self.keys)

    def read(self, sample: int) -> bytes:
        place = self.source.locate(np.array([sample], np.int64))
        checksum = place.checksum
        try:
            data = self.source.files.read(int(place.file[0]), int(place.offset[0]), int(place.size[0]))
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({error}); run fastload verify {self.source.where}") from error
        if checksum is not None and (got := _native.xxh3(data)) != checksum[0]:
            raise BadSampleError(
                f"is damaged (checksum got {got:016x}, want {int(checksum[0]):016x}); run fastload verify {self.source.where}"
            )
        return data


@dataclass(frozen=True, eq=False)
class BetonReader:
    """Images of an FFCV file: JPEGs as they are, raw ones as PNG, which keeps their pixels. sizes: of those at most.

    pngs: False where only JPEGs are of interest; raw images are then without a byte.
    """

    source: BetonSource
    keys: Sequence[str]
    sizes: Longs
    pngs: bool = True

    def __len__(self) -> int:
        return len(self.sizes)

    def read(self, sample: int) -> bytes:
        try:
            pixels = self.source.pixels(sample)
            data = read(self.source, sample) if pixels is None else _png(pixels) if self.pngs else b""
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({error}); restore the file") from error
        return data


def beton_reader(source: BetonSource) -> BetonReader:
    """Raises SourceError where the labels are no class numbers."""
    if not source.classes:
        low, high = int(source.labels.min()), int(source.labels.max())
        raise SourceError(f"{source.where}: field {source.fields[1]!r} holds no class numbers (got {low} to {high}); give another field")
    everything = np.arange(len(source), dtype=np.int64)
    place = source.locate(everything)
    keys = [f"{label:04d}/{sample:08d}" for sample, label in enumerate(source.labels.tolist())]
    return BetonReader(source, keys, place.size + np.where(place.is_raw, place.size // 64 + PNG_MORE, 0))


def _png(pixels: Pixels) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png", compress_level=1)
    return out.getvalue()


def open_reader(path: str) -> Reader:
    """What lies at `path`, ready to be converted. Raises SourceError."""
    source = open_source(path)
    if isinstance(source, FileSource):
        prefix = os.path.join(source.where, "")
        keys = unique_keys(file[len(prefix) :] for file in source.paths)
        return FolderReader(source, keys, file_sizes(source.paths))
    if isinstance(source, ShardSource):
        keys = [key for batch in source.index.batches for key in batch.column("key").to_pylist()]
        return ShardsReader(source, keys, source.index.columns["size"].all())
    if isinstance(source, BetonSource):
        return beton_reader(source)
    raise SourceError(f"{path}: cannot be converted (got {type(source).__name__}, want a folder of classes, shards or FFCV's); give these")


def file_sizes(paths: Sequence[str]) -> Longs:
    """int64 [N], bytes, or SPECIAL; 0 for a file that cannot be asked: reading it will tell why."""
    return np.fromiter((_size(path) for path in paths), np.int64, len(paths))


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else SPECIAL


def unique_keys(names: Iterable[str]) -> list[str]:
    """One key per file name (relative to the root): the second `a` becomes `a_2`, in the order of the names."""
    keys: list[str] = []
    taken: set[str] = set()
    for name in names:
        key = wanted = tidy_key(name)
        number = 1
        while key in taken:
            number += 1
            key = f"{wanted}_{number}"
        taken.add(key)
        keys.append(key)
    return keys


def tidy_key(name: str) -> str:
    """CLASS/NAME without extension, as WebDataset can read it: no dot in NAME, since it splits keys at the first one."""
    folder, base = os.path.split(readable(name))
    key = f"{folder}/{os.path.splitext(base)[0].replace('.', '_')}" if folder else os.path.splitext(base)[0].replace(".", "_")
    key = CONTROL.sub("_", key)
    return f"_{key.lstrip('_')}" if SKIPPED.match(key) else key


def readable(name: str) -> str:
    """A file name as UTF-8 can hold it: bytes that are not UTF-8 become U+FFFD."""
    return SURROGATE.sub("\ufffd", name)
