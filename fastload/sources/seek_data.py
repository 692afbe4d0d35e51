"""The indexes' bytes: those of the logs are added to DATA of the cache, or DATA is written anew."""

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

import numpy as np

from fastload.files.below import DirEntry
from fastload.files.names import Inner
from fastload.files.opening import no_wait
from fastload.sources import seek
from fastload.sources.seek import Stored
from fastload.spec import Longs
from fastload.system import limits

DATA_FILE = Inner(seek.DATA)
DATA, NOWHERE = -1, -2  # in place of the number of a log
STEP = 8  # MCUs per entry of what is collected
GROUP = 256  # indexes that are copied at once


class Log(NamedTuple):
    """Records that are not merged yet, of one log."""

    name: str
    ended: bool  # its process is gone
    names: str  # names_hash of its writer's files
    end: int  # byte behind its last good record
    records: Longs  # [K, 6], see _native.read_seek_log


@dataclass(eq=False)
class Rows:
    """The new INDEX under construction; arrays [N]."""

    names: list[bytes]
    file_size: Longs
    offset: Longs
    size: Longs
    log: Longs  # where the index is: number of the log, or DATA


def write_data(
    entry: DirEntry,
    rows: Rows,
    stored: Stored | None,
    logs: Sequence[Log],
    done: Collection[str],
    *,
    fresh: bool,
) -> int:
    """The indexes that are not in DATA go to its end or, `fresh`, all to a new file.

    Returns its length; the rows know their places.
    """
    folder = entry.folder
    there, start = DATA, 0 if stored is None or fresh else stored.total
    try:
        if fresh:
            there, start = _begin_data(entry, rows, logs, done)
        # DATA may be a log's second name.
        with os.fdopen(folder.open(entry.name, os.O_RDWR, alone=False), "r+b") as out:
            out.truncate(start)
            at = out.seek(start)
            for number, name in enumerate([seek.DATA, *(log.name for log in logs)], DATA):
                moved = np.flatnonzero((rows.log == number) & (rows.size > 0) & (number != there))
                at = _copy(folder.at(name), rows, moved, out, at)
    except OSError:
        with contextlib.suppress(OSError):
            folder.remove(entry.name) if fresh else os.truncate(entry.path, start)
        raise
    return at


def _begin_data(
    entry: DirEntry, rows: Rows, logs: Sequence[Log], done: Collection[str]
) -> tuple[int, int]:
    """A new DATA: a second name of the log that gives most, so that a large first one is not
    copied. Returns its number and its end.
    """
    ours = [number for number, log in enumerate(logs) if log.ended or log.name in done]
    most = max(ours, key=lambda number: int(rows.size[rows.log == number].sum()), default=NOWHERE)
    if most != NOWHERE and 2 * int(rows.size[rows.log == most].sum()) > logs[most].end:
        with contextlib.suppress(OSError):  # not every file system has links
            folder = entry.folder.descriptor
            os.link(
                logs[most].name,
                entry.name,
                src_dir_fd=folder,
                dst_dir_fd=folder,
                follow_symlinks=False,
            )
            return most, logs[most].end
    entry.folder.write(entry.name, seek.HEADER.pack(seek.MAGIC, seek.VERSION, STEP), sync=False)
    return NOWHERE, seek.HEADER.size


def _copy(path: str, rows: Rows, moved: Longs, out: IO[bytes], at: int) -> int:
    """Append these rows' indexes from the file `path`; returns where they end."""
    if not len(moved):
        return at
    moved = moved[np.argsort(rows.offset[moved], kind="stable")]
    with open(path, "rb", opener=no_wait) as file:
        for group in _near(moved, rows):
            offsets, sizes = rows.offset[group], rows.size[group]
            begin = int(offsets[0])
            span = os.pread(file.fileno(), int(offsets[-1] + sizes[-1]) - begin, begin)
            spans = zip((offsets - begin).tolist(), (offsets - begin + sizes).tolist(), strict=True)
            out.write(b"".join([span[start:end] for start, end in spans]))
    ends = at + np.cumsum(rows.size[moved])
    rows.offset[moved] = ends - rows.size[moved]
    return int(ends[-1])


def _near(moved: Longs, rows: Rows) -> Iterator[Longs]:
    """Rows in the order of their offsets, up to GROUP that one read of limits.COPY bytes gives; one
    alone may be longer.
    """
    offsets, ends = rows.offset[moved], rows.offset[moved] + rows.size[moved]
    first = 0
    while first < len(moved):
        last = min(
            first + GROUP, int(np.searchsorted(offsets, offsets[first] + limits.COPY, side="right"))
        )
        while last > first + 1 and ends[last - 1] - offsets[first] > limits.COPY:
            last -= 1
        yield moved[first:last]
        first = last
