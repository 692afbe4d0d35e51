"""Any source as a reader: what `fastload.open` reads can be converted."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from fastload.conversion.readers.base import FATAL, LARGEST, Choice, Extra, stamp_of
from fastload.conversion.readers.files import file_sizes, file_times
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from fastload.sources import Source, columns, raw_pixels, read
from fastload.sources import labels as labelling
from fastload.spec import Longs, Pixels

PNG_MORE = 4096  # bytes that a PNG may be larger than its pixels and 1/64 of them


class OfSource:
    """What a reader has from the source that it reads."""

    source: Source
    sizes: Longs

    @property
    def where(self) -> str:
        return self.source.where

    @cached_property
    def labels(self) -> Longs:
        return np.asarray(self.source.labels)

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
class SourceReader(OfSource):
    """Encoded images as they are; pixels that are not encoded as PNG, which keeps them. sizes: of
    those at most.

    pngs: False where only encoded images are of interest; others are then without a byte.
    unlabelled: whether labels are left aside.
    """

    source: Source
    keys: Sequence[str]
    sizes: Longs
    pngs: bool = True
    unlabelled: bool = False

    @cached_property
    def labels(self) -> Longs:
        if self.unlabelled:
            return labelling.none(len(self.sizes))[0]
        return np.asarray(self.source.labels)

    @property
    def classes(self) -> tuple[str, ...]:
        return labelling.none(0)[1] if self.unlabelled else self.source.classes

    @cached_property
    def stamp(self) -> int:
        files = self.source.files
        paths = [files.path(number) for number in range(len(files))]
        return stamp_of(self.sizes, self.labels, file_sizes(paths), file_times(paths))

    def read(self, sample: int) -> bytes:
        try:
            pixels = raw_pixels(self.source, sample)
            if pixels is None:
                check_size(int(self.sizes[sample]))
                return read(self.source, sample)
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({error}); restore the file") from error
        return png(pixels) if self.pngs else b""


def check_size(size: int) -> None:
    """Raises BadSampleError."""
    if size > LARGEST:
        raise BadSampleError(f"is too large (got {size} bytes, want at most {LARGEST}); remove it")


def source_reader(source: Source, choice: Choice) -> SourceReader:
    """Raises SourceError where labels are no class numbers and are wanted."""
    low, high = columns.extremes(source.labels)
    good = low >= 0 and high < len(source.classes)
    aside = not choice.labelled or (choice.optional and not good)
    if not good and not aside:
        most = len(source.classes) or labelling.MOST_CLASSES
        raise SourceError(
            f"{source.where}: labels are no class numbers (got {low} to {high}, want 0 to "
            f"{most - 1}); correct the data set, or pass --labels none"
        )
    keys = numbered_keys(source, unlabelled=aside)
    return SourceReader(source, keys, sizes_at_most(source), unlabelled=aside)


def numbered_keys(source: Source, *, unlabelled: bool) -> list[str]:
    """LABEL/NUMBER of each sample."""
    labels = [0] * len(source) if unlabelled else np.asarray(source.labels).tolist()
    return [f"{label:04d}/{sample:08d}" for sample, label in enumerate(labels)]


def sizes_at_most(source: Source) -> Longs:
    """int64 [N], bytes: of each image as `read` gives it, or a little more."""
    location = source.locate(np.arange(len(source), dtype=np.int64))
    sizes = location.size
    if whole := np.flatnonzero(sizes < 0).tolist():  # to the end of its file
        sizes = sizes.copy()
        paths = [source.files.path(int(location.file[sample])) for sample in whole]
        sizes[whole] = file_sizes(paths) - location.offset[whole]
    return np.where(location.is_raw, sizes + sizes // 64 + PNG_MORE, sizes)


def png(pixels: Pixels) -> bytes:
    """pixels: uint8 [H, W, 3]."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png", compress_level=1)
    return out.getvalue()
