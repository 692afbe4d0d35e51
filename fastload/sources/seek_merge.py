"""What processes collected in their logs becomes part of the user's cache: indexes are added to
DATA, then INDEX is replaced.

Nothing is synced to the disk's platters: a cache that a power failure damages is recognised and
left aside.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from fastload import _native
from fastload.files.below import PRIVATE, DirEntry, Folder, opened, temporary
from fastload.files.names import Inner
from fastload.files.opening import no_wait
from fastload.sources import arrow, seek, sums
from fastload.sources.arrow_arrays import binaries, integers
from fastload.sources.seek import Stored
from fastload.sources.seek_data import DATA, DATA_FILE, Log, Rows, write_data
from fastload.spec import Json, Longs
from fastload.system import locks

LOG = re.compile(r"fastload\.seek\.[0-9]+-[0-9]+-[0-9]+\.log")
# Temporary names, of this version and of earlier ones. Not as in a conversion: those would make the
# folder look like unfinished shards.
LEFT = re.compile(r"\.fastload\.seek(?:\.arrow(?:\.xxh3)?)?\.(?:[0-9a-f]{16}\.)?new")
GARBAGE = 1 << 20  # bytes of replaced indexes that are not worth a new file


@contextlib.contextmanager
def locked(folder: str, seconds: float) -> Iterator[Folder | None]:
    """Hold the folder against other processes, `fastload index` too; None if that takes longer.

    Raises OSError.
    """
    with opened(folder) as there:
        until = time.monotonic() + seconds
        held = locks.try_lock(there.descriptor)
        while not held and time.monotonic() < until:
            time.sleep(0.01)
            held = locks.try_lock(there.descriptor)
        yield there if held else None


def log_names(folder: str) -> list[str]:
    """Names of the logs in the folder, of running processes and others."""
    try:
        return sorted(name for name in os.listdir(folder) if LOG.fullmatch(name))
    except OSError:
        return []


def read_logs(folder: str, names: Iterable[str], stored: Stored | None) -> list[Log]:
    """What is new in these logs, the one that was written last at the end. Needs the lock."""
    logs = []
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            ended = _ended(path)  # first: nothing is added afterwards
            start = stored.logs.get(name, 0) if stored else 0
            paths, end, records = _native.read_seek_log(path, start)
            logs.append(
                (os.stat(path).st_mtime_ns, Log(name, ended, f"{paths:016x}", end, records))
            )
    return [log for _, log in sorted(logs, key=lambda pair: pair[0])]


def _ended(path: str) -> bool:
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return locks.try_lock(opened)
    finally:
        os.close(opened)


def merge(
    folder: Folder,
    root: str,
    names: Sequence[str],
    stored: Stored | None,
    logs: Sequence[Log],
    done: Collection[str] = (),
) -> None:
    """Put the logs' records into the folder's files, those of `names` below `root` first. Needs the
    lock. Raises OSError.

    Logs of ended processes, and those in `done`, are removed: nobody has use for them.
    """
    known, others = seek.names_hash(names), _Others(root, names)
    rows = _rows(others, names, known, stored)
    for number, log in enumerate(logs):
        rows = _add(rows, log, number, others, known, folder.at(log.name))
    fresh = stored is None or _garbage(rows, stored) > max(GARBAGE, int(rows.size.sum()))
    remove_leftovers(folder)
    new = {name: temporary(name) for name in seek.PARTS}
    try:
        total = write_data(
            DirEntry(folder, new[seek.DATA] if fresh else DATA_FILE),
            rows,
            stored,
            logs,
            done,
            fresh=fresh,
        )
        running = {log.name: log.end for log in logs if not log.ended and log.name not in done}
        _commit(folder, new, rows, total, running, None if fresh or stored is None else stored.sum)
    except OSError:
        remove(folder, new.values())
        raise
    remove(folder, [log.name for log in logs if log.name not in running])


def remove(folder: Folder, names: Iterable[str]) -> None:
    """Files directly in the folder, as far as that goes."""
    for name in names:
        with contextlib.suppress(OSError):
            folder.remove(Inner(name))


def remove_leftovers(folder: Folder, known: Collection[str] = ()) -> None:
    """What a process that was killed has left under temporary names, but those that are `known`.

    Needs the lock.
    """
    left = [name for name in folder.names() if LEFT.fullmatch(name) and name not in known]
    remove(folder, left)


class _Others:
    """Images that another list has, and `names` has not: which of them are still there."""

    def __init__(self, root: str, names: Sequence[str]) -> None:
        self.root, self.names = os.fsencode(root), names

    @cached_property
    def _files(self) -> set[bytes]:
        """What our own spans are of: other places in these were images once."""
        return {os.fsencode(os.path.dirname(name)) for name in self.names}

    def there(self, name: bytes) -> bool:
        path, file = os.path.join(self.root, name), os.path.dirname(name)
        span = os.path.isfile(os.path.dirname(path)) and file not in self._files
        return span or os.path.exists(path)


def _rows(others: _Others, names: Sequence[str], known: str, stored: Stored | None) -> Rows:
    """What is stored, in the order of `names`; then what else is stored of files that exist."""
    own = os.fsencode("\0".join(names)).split(b"\0")
    if stored is None:
        file_size, offset, size = (np.zeros(len(own), np.int64) for _ in range(3))
        return Rows(own, file_size, offset, size, np.full(len(own), DATA))
    if stored.knows(len(own), known):
        return Rows(
            own,
            stored.file_size.copy(),
            stored.offset.copy(),
            stored.size.copy(),
            np.full(len(own), DATA),
        )
    there, mine = stored.names(), set(own)
    row_of = dict(zip(there, range(len(there)), strict=True))
    foreign = [name for name in there if name not in mine and others.there(name)]
    at = np.array([row_of.get(name, -1) for name in own + foreign], np.int64)
    file_size, offset, size = (
        np.where(at < 0, 0, column[at]) for column in (stored.file_size, stored.offset, stored.size)
    )
    return Rows(own + foreign, file_size, offset, size, np.full(len(at), DATA))


def _add(rows: Rows, log: Log, number: int, others: _Others, known: str, path: str) -> Rows:
    """The log's records take the place of what was known of the same images."""
    row = log.records[:, 0]
    if log.names != known:
        rows, row = _by_name(rows, log, others, path)
    good = (row >= 0) & (row < len(rows.names))
    row, records = row[good], log.records[good]
    rows.file_size[row] = records[:, 1]
    rows.offset[row] = records[:, 4]
    rows.size[row] = records[:, 5]
    rows.log[row] = number
    return rows


def _by_name(rows: Rows, log: Log, others: _Others, path: str) -> tuple[Rows, Longs]:
    """The rows of another list's records [K], -1 where the file is gone; and `rows` with those that
    are new.
    """
    # Of a name that is listed twice: the last
    row_of = dict(zip(rows.names, range(len(rows.names)), strict=True))
    new: list[bytes] = []
    out = np.full(len(log.records), -1, np.int64)
    with open(path, "rb", opener=no_wait) as file:
        for number, (at, size) in enumerate(log.records[:, 2:4].tolist()):
            name = os.pread(file.fileno(), size, at)
            if name not in row_of and others.there(name):
                row_of[name] = len(rows.names) + len(new)
                new.append(name)
            out[number] = row_of.get(name, -1)
    file_size, offset, size = (
        np.append(column, np.zeros(len(new), np.int64))
        for column in (rows.file_size, rows.offset, rows.size)
    )
    return Rows(
        [*rows.names, *new], file_size, offset, size, np.append(rows.log, np.full(len(new), DATA))
    ), out


def _garbage(rows: Rows, stored: Stored) -> int:
    """Bytes of the stored indexes that are replaced."""
    return stored.total - seek.HEADER.size - int(rows.size[rows.log == DATA].sum())


def _commit(
    folder: Folder,
    new: dict[str, Inner],
    rows: Rows,
    total: int,
    running: dict[str, int],
    old: int | None,
) -> None:
    """INDEX of the rows takes the place of the `old` one; None: there is none that DATA may be read
    with, and DATA is new too.
    """
    index = encode(
        rows,
        total,
        _file_hash(folder.at(new[seek.DATA] if old is None else seek.DATA), total),
        running,
    )
    folder.write(new[seek.INDEX], index, sync=False)
    if old is None:
        # Both: a rename onto the same file's other name does nothing
        remove(folder, [seek.INDEX, seek.DATA])
        folder.rename(new[seek.DATA], DATA_FILE)
    line = sums.line(_native.xxh3(index))
    for content in (line,) if old is None else (sums.line(old) + line, line):
        folder.replace(Inner(seek.SUM), content, PRIVATE, sync=False)
        if folder.has(new[seek.INDEX]):
            folder.rename(new[seek.INDEX], Inner(seek.INDEX))


def _file_hash(path: str, total: int) -> int:
    return _native.Files([path], keep_open=False).xxh3(0, total)


def encode(rows: Rows, total: int, checksum: int, logs: dict[str, int]) -> memoryview:
    """Content of INDEX. total, checksum: bytes of DATA and their XXH3-64."""
    pa = arrow.import_arrow(seek.INDEX)
    paths = f"{_native.xxh3(bytes(1).join(rows.names)):016x}"
    said: Json = {
        "version": seek.VERSION,
        "samples": len(rows.names),
        "paths": paths,
        "bytes": total,
        "xxh3": f"{checksum:016x}",
    }
    said |= {"logs": logs} if logs else {}
    offset = np.where(rows.size > 0, rows.offset, 0)
    arrays = {"path": binaries(pa, rows.names)} | {
        name: integers(pa, values)
        for name, values in (("file_size", rows.file_size), ("offset", offset), ("size", rows.size))
    }
    return arrow.encode(
        pa, seek.schema(pa).with_metadata({seek.METADATA: json.dumps(said)}), arrays
    )
