"""What a loader reads of a sample: its bytes, or in their place its coefficient layer.

A JPEG that is known by its size and checksum is not read where its layer names the same two. The
engine finds that out when it has the layer (kernels/engine/fetch.cpp). Here it is told beforehand.
"""

import numpy as np
from numpy.typing import NDArray

from fastload.sources.base import Location, Seek, Source, read, reading
from fastload.spec import Longs

# A seek index is 1 to 12 % of its JPEG, a layer more than all of it. One over this is between.
SHARE = 4


def likely(location: Location, seek: Seek | None) -> NDArray[np.bool_]:
    """bool [N]: of which samples a loader reads the layer alone, as far as sizes tell.

    seek: the seek indexes that it uses.
    """
    if seek is None or location.checksum is None:
        return np.zeros(len(location.file), np.bool_)
    return seek.size * SHARE > location.size


def read_as_loaded(source: Source, sample: int) -> bytes:
    """What a loader with the source's own indexes reads of a sample. Raises as `read`."""
    samples: Longs = np.array([sample], np.int64)
    location = source.locate(samples)
    if location.seek is None or not likely(location, location.seek)[0]:
        return read(source, sample)
    file, offset, size = (int(column[0]) for column in location.seek[1:])
    with reading(source, samples):
        return location.seek.files.read(file, offset, size)


def sizes_as_loaded(source: Source, samples: Longs) -> Longs:
    """int64 [N]: bytes that it reads of each. Reads those whose size nobody knows."""
    location = source.locate(samples)
    sizes: Longs = location.size.copy()
    if location.seek is not None:
        sizes = np.where(likely(location, location.seek), location.seek.size, sizes)
    if location.raw is not None:
        pixels = location.raw.astype(np.int64).prod(axis=1) * 3
        sizes = np.where(pixels > 0, pixels, sizes)
    for row in np.flatnonzero(sizes < 0).tolist():
        sizes[row] = len(read(source, int(samples[row])))
    return sizes
