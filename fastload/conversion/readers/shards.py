"""Shards of fastload."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion.readers.base import FATAL, LARGEST, Choice, Extra
from fastload.conversion.readers.source import OfSource
from fastload.conversion.samples import BadSampleError
from fastload.sources import shards
from fastload.sources.shards import ShardSource
from fastload.spec import Longs


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
        location = self.source.locate(np.array([sample], np.int64))
        want = None if location.checksum is None else int(location.checksum[0])
        return self._read(
            int(location.file[0]), int(location.offset[0]), int(location.size[0]), want
        )

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


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> ShardsReader:
    """The data set in the folder `where`. Raises SourceError."""
    source = shards.load(where)
    keys = [key for batch in source.index.batches for key in batch.column("key").to_pylist()]
    return ShardsReader(source, keys, source.index.columns["size"].all())
