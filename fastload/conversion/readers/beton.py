"""FFCV's files."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from fastload.conversion.readers.base import FATAL
from fastload.conversion.readers.folder import OfSource
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from fastload.sources import read
from fastload.sources.beton import BetonSource
from fastload.spec import Longs, Pixels

PNG_MORE = 4096  # bytes that a PNG may be larger than its pixels and 1/64 of them


@dataclass(frozen=True, eq=False)
class BetonReader(OfSource):
    """Images of an FFCV file: JPEGs as they are, raw ones as PNG, which keeps their pixels. sizes:
    of those at most.

    pngs: False where only JPEGs are of interest; raw images are then without a byte.
    """

    source: BetonSource
    keys: Sequence[str]
    sizes: Longs
    pngs: bool = True

    @property
    def stamp(self) -> int:
        return self.source.sum

    def read(self, sample: int) -> bytes:
        try:
            pixels = self.source.pixels(sample)
            data = (
                read(self.source, sample) if pixels is None else _png(pixels) if self.pngs else b""
            )
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({error}); restore the file") from error
        return data


def beton_reader(source: BetonSource) -> BetonReader:
    """Raises SourceError where the labels are no class numbers."""
    if not source.classes:
        low, high = int(source.labels.min()), int(source.labels.max())
        raise SourceError(
            f"{source.where}: field {source.fields[1]!r} holds no class numbers (got {low} to "
            f"{high}); give another field"
        )
    everything = np.arange(len(source), dtype=np.int64)
    place = source.locate(everything)
    keys = [f"{label:04d}/{sample:08d}" for sample, label in enumerate(source.labels.tolist())]
    return BetonReader(
        source, keys, place.size + np.where(place.is_raw, place.size // 64 + PNG_MORE, 0)
    )


def _png(pixels: Pixels) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png", compress_level=1)
    return out.getvalue()
