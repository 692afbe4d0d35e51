"""The files with the seek indexes of a plain folder. The images are only read."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

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


class Run(Protocol):
    """The indexes of some samples that follow each other.

    indexes: their bytes, in any pieces; size: of each sample's, bytes; reasons: why some have none.
    """

    @property
    def indexes(self) -> Sequence[bytes]: ...
    @property
    def size(self) -> list[int]: ...
    @property
    def reasons(self) -> Counter[str]: ...


# Makes all indexes, with the help of files in the folder, and adds them in the samples' order
Build = Callable[[Folder, Callable[[Run], None]], None]


def write(
    reader: Reader,
    names: Sequence[str],
    folder: Folder,
    step: int,
    build: Build,
    committing: Committing = delayed,
) -> Totals:
    """Index all samples, which are known by `names`, into `folder`; on any error the files there
    stay as they were. Raises OSError.

    committing: as in job.run.
    """
    seek_merge.remove_leftovers(folder)
    new = {name: temporary(name) for name in seek.PARTS}
    try:
        size, reasons = _write_data(DirEntry(folder, new[seek.DATA]), step, build)
        total = seek.HEADER.size + int(size.sum())
        index = _index(reader, names, size, total, _file_hash(folder.at(new[seek.DATA])))
        folder.write(new[seek.SUM], sums.line(_native.xxh3(index)))
        folder.write(new[seek.INDEX], index)
        seek_merge.remove_leftovers(folder, new.values())  # of workers that were stopped
        with committing():
            _commit(folder, new)
    except BaseException:
        seek_merge.remove_leftovers(folder)
        raise
    return Totals(int(np.count_nonzero(size)), total, dict(reasons.most_common()))


def _write_data(entry: DirEntry, step: int, build: Build) -> tuple[Longs, Counter[str]]:
    """All indexes, one after another: their sizes [N], bytes, and why there is none."""
    sizes: list[int] = []
    reasons: Counter[str] = Counter()
    with os.fdopen(entry.folder.create(entry.name), "wb") as file:
        file.write(seek_writer.header(step))

        def add(run: Run) -> None:
            file.writelines(run.indexes)
            sizes.extend(run.size)
            reasons.update(run.reasons)

        build(entry.folder, add)
        file.flush()
        os.fsync(file.fileno())
    return np.array(sizes, np.int64), reasons


def by_threads(reader: Reader, step: int, count: int, advance: Advance) -> Build:
    """The indexes of TASK files at a time."""
    total = len(reader.sizes)

    def work(start: int, stop: Stop) -> Builder:
        numbers = range(start, min(start + TASK, total))
        return seek_writer.built(reader, numbers, step, advance, stop)

    def build(_: Folder, add: Callable[[Run], None]) -> None:
        for first in range(0, total, TASK * ROUND):
            tasks = range(first, min(first + TASK * ROUND, total), TASK)
            for builder in workers.run(tasks, work, count):
                add(builder)

    return build


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
