"""Sources made of sources: some samples of one, or several one after the other."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.sources import columns, fields
from fastload.sources.base import Location, Parts, Remote, Seek, Source, raw_pixels, remote
from fastload.sources.columns import Numbers
from fastload.sources.fields import Field
from fastload.spec import Longs, Pixels

if TYPE_CHECKING:
    from fastload.remote.access import Access

FEW = 256  # files that are kept open


def part_of(source: Source, samples: Longs) -> Longs:
    """int64 [K]: which part of a mix each sample is of; 0 where there is no mix."""
    find = getattr(source, "part_of", None)
    return np.zeros_like(samples) if find is None else find(samples)


@dataclass(frozen=True)
class Subset:
    """The samples `indices` (0..len(base)-1, any order, repeats allowed) of `base`."""

    base: Source
    indices: Longs

    @property
    def where(self) -> str:
        return self.base.where

    @cached_property
    def labels(self) -> Numbers:
        return columns.picked(self.base.labels, self.indices)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.base.classes

    @property
    def files(self) -> _native.Files:
        return self.base.files

    def __len__(self) -> int:
        return len(self.indices)

    def locate(self, samples: Longs) -> Location:
        return self.base.locate(self.indices[samples])

    def pixels(self, sample: int) -> Pixels | None:
        return raw_pixels(self.base, int(self.indices[sample]))

    def most_pixels(self) -> int:
        known = getattr(self.base, "most_pixels", None)
        return int(known()) if known else 0

    def name(self, sample: int) -> str:
        return self.base.name(int(self.indices[sample]))

    def part_of(self, samples: Longs) -> Longs:
        return part_of(self.base, self.indices[samples])

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field.at(self.indices) for field in fields.known(self.base))

    @property
    def remote(self) -> "_SomeOf | None":
        far = remote(self.base)
        return None if far is None else _SomeOf(far, self.indices)


@dataclass(frozen=True)
class _SomeOf:
    """Some samples of a data set in a store."""

    base: Remote
    indices: Longs

    def __len__(self) -> int:
        return len(self.base)

    @property
    def access(self) -> "Access":
        return self.base.access

    def cells(self, samples: Longs) -> Longs:
        return self.base.cells(self.indices[samples])

    def parts(self, samples: Longs) -> Parts:
        return self.base.parts(self.indices[samples])

    def order(self) -> None:
        return None


@dataclass(frozen=True)
class Concat:
    """All samples of the parts, one part after the other. Classes are the first part's."""

    parts: tuple[Source, ...]

    def __getstate__(self) -> dict[str, object]:
        return {"parts": self.parts}

    @cached_property
    def _starts(self) -> Longs:
        """int64 [parts + 1]: the first sample of each part, and the end."""
        return np.cumsum([0, *map(len, self.parts)], dtype=np.int64)

    @property
    def where(self) -> str:
        return " + ".join(part.where for part in self.parts)

    @cached_property
    def labels(self) -> Numbers:
        return columns.joined([part.labels for part in self.parts])

    @property
    def classes(self) -> tuple[str, ...]:
        return self.parts[0].classes

    @cached_property
    def files(self) -> _native.Files:
        return _joined([part.files for part in self.parts])

    @cached_property
    def _seek_files(self) -> list[_native.Files | None]:
        files = [part.locate(np.zeros(0, np.int64)).seek for part in self.parts]
        return [seek.files if seek else None for seek in files]

    @cached_property
    def _all_seek_files(self) -> _native.Files:
        return _joined([files for files in self._seek_files if files])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def locate(self, samples: Longs) -> Location:
        file, offset, size = (np.zeros_like(samples) for _ in range(3))
        seek = (
            Seek(self._all_seek_files, *(np.zeros_like(samples) for _ in range(3)))
            if any(self._seek_files)
            else None
        )
        raw = np.zeros((len(samples), 2), np.int32)
        sums: list[tuple[NDArray[np.bool_], NDArray[np.uint64] | None]] = []
        first, first_seek = 0, 0
        for part, start, end, its in zip(
            self.parts, self._starts[:-1], self._starts[1:], self._seek_files, strict=True
        ):
            mine = (samples >= start) & (samples < end)
            location = part.locate(samples[mine] - start)
            file[mine] = location.file + first
            offset[mine], size[mine] = location.offset, location.size
            if seek and location.seek and its:
                seek.file[mine] = location.seek.file + first_seek
                seek.offset[mine] = location.seek.offset
                seek.size[mine] = location.seek.size
            raw[mine] = 0 if location.raw is None else location.raw
            sums.append((mine, location.checksum))
            first, first_seek = first + len(part.files), first_seek + (len(its) if its else 0)
        return Location(
            file, offset, size, None if raw.any() else _checksums(sums, len(samples)), seek, raw
        )

    def part_of(self, samples: Longs) -> Longs:
        out = np.zeros_like(samples)
        starts = self._starts
        for part, start, end in zip(self.parts, starts[:-1], starts[1:], strict=True):
            mine = (samples >= start) & (samples < end)
            out[mine] = part_of(part, samples[mine] - start)
        return out

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What all parts have."""
        return fields.joined([fields.known(part) for part in self.parts])

    def pixels(self, sample: int) -> Pixels | None:
        part, at = self._find(sample)
        return raw_pixels(part, at)

    def name(self, sample: int) -> str:
        part, at = self._find(sample)
        return part.name(at)

    def _find(self, sample: int) -> tuple[Source, int]:
        number = int(np.searchsorted(self._starts, sample, side="right")) - 1
        return self.parts[number], sample - int(self._starts[number])


def _joined(parts: list[_native.Files]) -> _native.Files:
    paths = [files.path(file) for files in parts for file in range(len(files))]
    first = np.cumsum([0, *map(len, parts)])
    starting = list(zip(parts, first.tolist(), strict=False))
    packed = [(start + its, index) for files, start in starting for its, index in files.packed]
    arrays = [(start + its, array) for files, start in starting for its, array in files.arrays]
    return _native.Files(paths, keep_open=len(paths) <= FEW, packed=packed, arrays=arrays)


def _checksums(
    parts: list[tuple[NDArray[np.bool_], NDArray[np.uint64] | None]], count: int
) -> NDArray[np.uint64] | None:
    """All samples' checksums, if all have one."""
    out = np.zeros(count, np.uint64)
    for mine, sums in parts:
        if sums is None and mine.any():
            return None
        out[mine] = 0 if sums is None else sums
    return out
