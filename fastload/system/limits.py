"""All limits of what is taken for a file that anybody may have written: memory, and space on the
disk for unpacking.

A size that a file states is compared with the bytes that are there and with its limit, before
anything is taken. docs/formats.md has the table.
"""

import errno
import os
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

MIB, GIB = 1 << 20, 1 << 30

# One encoded image, or a file beside it. The largest that Pillow opens has 178,956,970 px: this is
# its pixels as RGB, unpacked.
SAMPLE = 512 * MIB
# Unpacked bytes to packed ones. Photographs hardly shrink, masks and drawings shrink up to some
# tens of times; deflate shrinks zeros 1,032 times.
TIMES = 100
FREE = 64 * MIB  # TIMES holds for a sample or page that is larger than this when it is unpacked,
SPOOL_FREE = GIB  # and for an archive that is larger than this: it is unpacked to the disk
# All headers of one member, and what holds for a whole archive. A path has up to 4 KiB, attributes
# up to 64 KiB.
TAR_HEADER = MIB
ZIP_DIRECTORY = 256 * MIB  # about 3 million members
PARQUET_FOOTER = 64 * MIB  # about 100,000 row groups
# The images of a row group, which is read at once. Tables are written with 100 to 1,000 rows each.
PARQUET_GROUP = 2 * GIB
# Rows of a Parquet file that is opened in place: one for so many bytes, and so many always. An
# image that is there often takes some bits each time.
PARQUET_ROW, PARQUET_ROWS = 8, 1 << 20
# Rows of a Lance data set for each byte of its data files, and PARQUET_ROWS always: where blobs lie
# beside those, a place and a label take few bits.
LANCE_ROWS = 8
INDEX = 16 * GIB  # index.arrow, fastload.seek.arrow: 160 million samples of 100 bytes each
SHARD = 8 * GIB  # a shard, which verify and repair hold whole; --shard-size goes up to 4 GiB
# Bytes of a seek index: so many, and so many times those of its image. 0.016 times is usual; it is
# 2 times where each MCU has an entry.
SEEK_FREE, SEEK_TIMES = 64 << 10, 4
TABLES = 16 * GIB  # rows and table of a .beton file: 300 million samples
# One value in a .beton file. FFCV's pages are smaller than 4 GiB, and the native engine reads no
# more than this.
PAYLOAD = 2 * GIB
RECORD = 256 * MIB  # of a conversion's journal: a part of 1 million samples
AT_ONCE = 64 * MIB  # values of a column, while their sizes are taken
COPY = 64 * MIB  # seek indexes that are copied at once
LIST = GIB  # a CSV or JSONL file: 10 million rows
LINE = MIB  # of such a file
NAMES = 64 * MIB  # a file with the names of classes: 1 million
ANNOTATIONS = 4 * GIB  # JSON with the objects of a data set; LVIS's largest file has 1.1 GB
LABELS = 16 * MIB  # a file with the objects of one image: 400,000
CONFIG = MIB  # a data set's data.yaml: names of 20,000 classes
MASKS = 2 * GIB  # the masks of one image's objects, a byte for each px: 2,000 of 1 megapixel
REPORT = 16 * MIB  # a profile as JSON: some MB; parsed, 3 bytes of JSON may take 64
METADATA = 64 * MIB  # the JSON in an index: names of 1 million classes, 100,000 shards
FILES = 1_000_000  # that one pattern names
VERSIONS = 64 * MIB  # what is told of the versions of a data set: 400,000
BAD_LIST = 64 * MIB  # a list of bad samples: 300,000


def too_many(size: int, most: int) -> str:
    """Why so many bytes are not taken; empty if they are."""
    return f"got {size} bytes, want at most {most}" if size > most else ""


def swollen(size: int, packed: int, free: int = FREE) -> str:
    """Why `packed` bytes are not unpacked to `size`; empty if they may be."""
    most = max(free, TIMES * packed)
    return f"got {size} bytes from {packed}, want at most {most}" if size > most else ""


def hollow(file: int, start: int, size: int) -> str:
    """Why these bytes of an open file are not read; empty if they may be.

    A hole takes no disk, whatever its length. Copying makes small holes out of zeros, so some are
    allowed.
    """
    if size <= FREE:
        return ""
    there = _filled(file, start, start + size, max(FREE, size // 2))
    return (
        f"got {size} bytes, of which {there} lie there, the others are a hole"
        if 2 * there < size
        else ""
    )


def _filled(file: int, at: int, end: int, enough: int) -> int:
    """Bytes in [at, end) that are in no hole, as far as the file system tells.

    They are counted up to `enough`.
    """
    count = 0
    while at < end and count < enough:
        try:
            first = os.lseek(file, at, os.SEEK_DATA)
        except OSError as error:
            # ENXIO: only a hole follows, up to the end of the file. Other errors: it cannot tell.
            return count if error.errno == errno.ENXIO else enough
        at = min(end, os.lseek(file, first, os.SEEK_HOLE))
        count += max(0, at - first)
    return count


def unread(file: int, start: int, size: int, most: int) -> str:
    """Why these bytes of an open file are not read into memory; empty if they may be.

    The file's position is left as it was.
    """
    if problem := too_many(size, most):
        return problem
    before = os.lseek(file, 0, os.SEEK_CUR)
    try:
        return hollow(file, start, size)
    finally:
        os.lseek(file, before, os.SEEK_SET)


def longest_index(image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes that the seek indexes of images of so many bytes may have; arrays [N]."""
    return np.minimum(image, SAMPLE) * SEEK_TIMES + SEEK_FREE


def small(file: BinaryIO, most: int) -> bytes:
    """The whole of a file that has up to `most` bytes. Raises ValueError."""
    data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"got over {most} bytes, want at most {most}")
    return data


def lines(file: BinaryIO, most: int = LIST) -> Iterator[bytes]:
    """A file's lines, read one by one.

    Raises ValueError for one longer than LINE, and for more than `most` bytes in all.
    """
    total = 0
    while line := file.readline(LINE + 1):
        total += len(line)
        if len(line) > LINE:
            raise ValueError(f"a line is longer than {LINE} bytes")
        if problem := too_many(total, most):
            raise ValueError(problem)
        yield line
