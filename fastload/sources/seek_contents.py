"""Seek indexes of images that no list of files tells: those that a program opens by itself.

They are found by what is in the image, its XXH3, in one SQLite file in the user's cache. So it does
not matter who gave the bytes, and a file that was changed has no index. Processes share it: each
reads what the others have written, and writes what it has made a few at a time.

Where the path is known too, the indexes of the folder that it lies in count (seek_beside.py). So
the file has only what these lack, or what was refused.
"""

import functools
import os
import sqlite3
import threading
import time
from urllib.parse import quote

from fastload.files import cache
from fastload.sources.seek_beside import Beside

NAME = "fastload.seek.sqlite"
VERSION = 1
PAGE = 8192  # bytes: of three to five indexes of ImageNet's
MOST = 8 << 30  # bytes of the whole, of about 4 million images; then no more are collected
GROUP, DUE = 64, 1.0  # so many are written at once, or what there is after so many s
MOST_WAITING = 1024  # that could not be written, because others did
PATIENCE = 0.1  # s that a reader waits while somebody writes
_TABLE = "CREATE TABLE IF NOT EXISTS seek (hash INTEGER PRIMARY KEY, data BLOB NOT NULL)"
_left: list[sqlite3.Connection] = []  # the parent's, of children of fork, which must not close them


def folder() -> str:
    """Where the file lies."""
    return cache.path("seek", "contents")


class Contents:
    """What one process knows and writes. An index only saves work, so nothing here raises.

    Picklable: another process opens the file for itself. Thread-safe.

    Args:
        where: The folder.
        collects: Whether new ones are kept.
        top: The cache that the folder is of, of the process that says so.
    """

    def __init__(self, where: str, *, collects: bool, top: str = "") -> None:
        self.where, self.collects = where, collects
        self.top = top or cache.path()
        self.problem = ""  # why there are none
        self._lock, self._process = threading.RLock(), os.getpid()
        self._database: sqlite3.Connection | None = None
        self._beside = Beside()
        self._waiting: dict[int, bytes] = {}  # to be written
        self._due = 0.0

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(Contents, self.where, collects=self.collects, top=self.top), ()

    def find(self, key: int, path: str = "", size: int = 0) -> bytes | None:
        """The index of the image with this XXH3; b"": it has none; None: that is not known.

        path, size: of the image's file, if it is one.
        """
        with self._lock:
            self._begin()
            if self._waiting and time.monotonic() >= self._due:
                self._write()
            if key in self._waiting:
                return self._waiting[key]
            found = self._read(key)
            return self._beside.find(path, size) if found is None and path else found

    def keep(self, key: int, index: bytes) -> None:
        """A new one, or b"" of an image that has none."""
        with self._lock:
            self._begin()
            if self.problem or not self.collects:
                return
            if not self._waiting:
                self._due = time.monotonic() + DUE
            self._waiting[key] = index
            if len(self._waiting) >= GROUP:
                self._write()

    def flush(self) -> None:
        """Write what waits, as far as that goes."""
        with self._lock:
            self._begin()
            if self._waiting:
                self._write()

    def close(self) -> None:
        """Write what waits; the file is opened again when it is needed."""
        with self._lock:
            self.flush()
            self._beside.close()
            if self._database is not None:
                self._database.close()
                self._database = None

    def _begin(self) -> None:
        """In a child of fork nothing is the parent's."""
        if self._process != os.getpid():
            if self._database is not None:
                _left.append(self._database)
            self.__init__(self.where, collects=self.collects, top=self.top)  # type: ignore[misc]

    def _write(self) -> None:
        """What cannot be written waits where others are at it; else no more is collected."""
        rows = [(_signed(key), index) for key, index in self._waiting.items()]
        self._due = time.monotonic() + DUE
        try:
            database = self._open()
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany("INSERT OR REPLACE INTO seek VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            if _is_busy(error) and len(rows) < MOST_WAITING:
                return
            self.collects = self.collects and _is_busy(error)
        self._waiting.clear()

    def _read(self, key: int) -> bytes | None:
        if self.problem:
            return None
        try:
            row = (
                self._open()
                .execute("SELECT data FROM seek WHERE hash = ?", (_signed(key),))
                .fetchone()
            )
        except (sqlite3.Error, OSError) as error:
            if not _is_busy(error):
                self.problem = f"{os.path.join(self.where, NAME)}: {error}"
            return None
        return row[0] if row and isinstance(row[0], bytes) else None

    def _open(self) -> sqlite3.Connection:
        """Raises OSError and sqlite3.Error."""
        if self._database is None:
            try:
                self._database = _opened(self.where, self.top, writes=self.collects)
            except (sqlite3.Error, OSError) as error:
                if not self.collects or _is_busy(error):
                    raise
                self.collects = False
                self._database = _opened(self.where, self.top, writes=False)
        return self._database


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def trouble(where: str) -> str:
    """Why the file cannot be used; "": it can, or it is not there yet."""
    if wrong := cache.trouble(where):
        return wrong
    if not os.path.exists(os.path.join(where, NAME)):
        return ""
    contents = Contents(where, collects=False)
    contents.find(0)
    contents.close()
    return contents.problem


def _opened(where: str, top: str, *, writes: bool) -> sqlite3.Connection:
    """Raises OSError and sqlite3.Error."""
    if wrong := cache.trouble(where, top):
        raise OSError(wrong)
    if writes:
        cache.make(where, top).close()
    database = sqlite3.connect(
        f"file:{quote(os.path.join(where, NAME))}?mode={'rwc' if writes else 'ro'}",
        timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True,
    )  # fmt: skip
    try:
        _set_up(database, writes=writes)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _set_up(database: sqlite3.Connection, *, writes: bool) -> None:
    """Nothing is synced to the disk's platters: what a power failure damages is made again."""
    if writes:
        for pragma in (f"page_size = {PAGE}", "synchronous = OFF", "journal_mode = TRUNCATE"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(f"PRAGMA max_page_count = {MOST // PAGE}")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0 and writes:
        with database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version = {VERSION}")
    elif version != VERSION:
        raise sqlite3.DatabaseError(f"is of version {version} (want {VERSION}); delete it")


def _signed(key: int) -> int:
    """As SQLite has numbers: of 64 bits, with a sign."""
    return key - (1 << 64) if key >> 63 else key


def describe(mode: str) -> str:
    """One line for a loader whose option seek_index is `mode`."""
    if mode == "off":
        return "seek index: off"
    where, indexed = folder(), "seek index: of folders that are indexed (fastload index)"
    if wrong := trouble(where):
        return f"{indexed} only ({wrong})"
    if mode == "use":
        return f"{indexed}, and of images that {where} knows"
    return f"{indexed}; of other images collected into {where}"
