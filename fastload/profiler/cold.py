"""Reading a data set's bytes with a cold and with a warm page cache: the cost of the disk alone."""

import os
import time
from dataclasses import dataclass

import numpy as np

from fastload.sources import Source, raw_pixels
from fastload.sources.layered import likely, read_as_loaded

MOST = 256  # images
# Cold by warm, below which the cache was not emptied, or the disk is as fast as memory
SLOWER = 1.5


@dataclass(frozen=True)
class Reading:
    """One thread, one image after the other, in random order. Where a loader reads coefficient
    layers alone, so does this.
    """

    images: int
    bytes_per_image: float
    cold_s: float  # per image
    warm_s: float

    @property
    def matters(self) -> bool:
        return self.cold_s > SLOWER * self.warm_s


def measure(source: Source, seconds: float) -> Reading | None:
    """Read images with a cold page cache for half of `seconds`, then the same ones again.

    None for images in memory. Only these images are dropped from the page cache, which needs no
    root. Pages that another process has mapped stay, and storage has caches of its own, so reading
    cold may cost more than this. Raises OSError.
    """
    picks = np.random.Generator(np.random.Philox(0)).permutation(len(source))[:MOST]
    if not len(picks) or raw_pixels(source, int(picks[0])) is not None:
        return None
    for sample in picks:
        drop(source, int(sample))
    start, size, count = time.perf_counter(), 0, 0
    for sample in picks:
        size += len(read_as_loaded(source, int(sample)))
        count += 1
        if time.perf_counter() - start > seconds / 2:
            break
    middle = time.perf_counter()
    for sample in picks[:count]:
        read_as_loaded(source, int(sample))
    end = time.perf_counter()
    return Reading(count, size / count, (middle - start) / count, (end - middle) / count)


def drop(source: Source, sample: int) -> None:
    """Take what is read of a sample out of the page cache. Raises OSError."""
    location = source.locate(np.array([sample], np.int64))
    files, columns = source.files, location[:3]
    if location.seek is not None and likely(location, location.seek)[0]:
        files, columns = location.seek.files, location.seek[1:]
    place = [int(column[0]) for column in columns]
    file = os.open(files.path(place[0]), os.O_RDONLY)
    try:
        offset, size = files.place(*place)
        length = max(size, 0)  # 0: to the end
        os.posix_fadvise(file, offset, length, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
