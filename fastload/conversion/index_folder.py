"""The files with the seek indexes of a plain folder. The images are only read."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fastload import _native
from fastload.conversion import seek_writer, workers
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.readers import Reader
from fastload.conversion.seek_writer import Builder, Totals
from fastload.conversion.workers import Advance, Stop
from fastload.files.below import DirEntry, Folder, temporary
from fastload.files.names import Inner
from fastload.sources import seek, seek_data, seek_merge, sums
from fastload.sources.seek_data import Rows
from fastload.spec import Longs

TASK = 64  # files that one worker indexes at once
MODE = 0o666  # of the files, less the umask
# Tasks between two writes. Their indexes are held in memory, to be written in the files' order.
ROUND = 256


def write(
    reader: Reader,
    names: Sequence[str],
    folder: Folder,
    step: int,
    count: int,
    advance: Advance,
    committing: Committing = delayed,
) -> Totals:
    """Index all samples, which are known by `names`, into `folder`; on any error the files there
    stay as they were. Raises OSError.

    committing: as in job.run.
    """
    seek_merge.remove_leftovers(folder)
    new = {name: temporary(name) for name in seek.PARTS}
    try:
        size, reasons = _write_data(reader, DirEntry(folder, new[seek.DATA]), step, count, advance)
        total = seek.HEADER.size + int(size.sum())
        index = _index(reader, names, size, total, _file_hash(folder.at(new[seek.DATA])))
        folder.write(new[seek.SUM], sums.line(_native.xxh3(index)))
        folder.write(new[seek.INDEX], index)
        with committing():
            _commit(folder, new)
    except BaseException:
        seek_merge.remove(folder, new.values())
        raise
    return Totals(int(np.count_nonzero(size)), total, dict(reasons.most_common()))


def _write_data(
    reader: Reader, entry: DirEntry, step: int, count: int, advance: Advance
) -> tuple[Longs, Counter[str]]:
    """All indexes, one after another: their sizes [N], bytes, and why there is none."""
    sizes: list[int] = []
    reasons: Counter[str] = Counter()
    with os.fdopen(entry.folder.create(entry.name), "wb") as file:
        file.write(seek_writer.header(step))
        for builder in _built(reader, step, count, advance):
            file.writelines(builder.indexes)
            sizes += builder.size
            reasons += builder.reasons
        file.flush()
        os.fsync(file.fileno())
    return np.array(sizes, np.int64), reasons


def _built(reader: Reader, step: int, count: int, advance: Advance) -> Iterator[Builder]:
    """The indexes of TASK files at a time, in their order."""
    total = len(reader.sizes)

    def work(start: int, stop: Stop) -> Builder:
        builder = Builder(step)
        for sample in range(start, min(start + TASK, total)):
            stop.check()
            builder.add_sample(reader, sample)
            advance(1, int(max(reader.sizes[sample], 0)))
        return builder

    for first in range(0, total, TASK * ROUND):
        yield from workers.run(range(first, min(first + TASK * ROUND, total), TASK), work, count)


def _file_hash(path: str) -> int:
    return _native.Files([path], keep_open=False).xxh3(0, os.path.getsize(path))


def _index(
    reader: Reader, known: Sequence[str], size: Longs, total: int, checksum: int
) -> memoryview:
    """Content of the file that says whose the indexes are. total, checksum: of the file with the
    indexes.
    """
    names = [os.fsencode(name) for name in known]
    offset = np.where(size > 0, seek.HEADER.size + np.cumsum(size) - size, 0)
    rows = Rows(
        names, np.maximum(reader.sizes, 0), offset, size, np.full(len(names), seek_data.DATA)
    )
    return seek_merge.encode(rows, total, checksum, {})


def _commit(folder: Folder, new: Mapping[str, Inner]) -> None:
    """The old index goes first, so that it never stands beside new data. The new one comes last."""
    with contextlib.suppress(FileNotFoundError):
        folder.remove(Inner(seek.INDEX))
        folder.sync()
    for name in seek.PARTS:
        if name == seek.INDEX:
            folder.sync()
        folder.put(new[name], Inner(name), MODE)
    folder.sync()
