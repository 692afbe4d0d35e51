"""What is in the files of a data set whose samples are spans of files: as it was kept, or as a
format reads it now.

A format says which files there are, and how one is read. Whatever is read is kept from time to
time, so that who interrupts the first look at thousands of files does not begin anew.
"""

import contextlib
import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TypeAlias

import numpy as np

from fastload.errors import SourceError, listed
from fastload.files.opening import no_wait
from fastload.sources import span_index
from fastload.sources.span_index import Part, Stamp
from fastload.spec import Longs
from fastload.system import terminal

# What is in an open file, which has a path and so many bytes. Raises SourceError and OSError
Read: TypeAlias = Callable[[str, IO[bytes], int], Part]
AFTER, EVERY = 2.0, 0.25  # s until a line is shown; s between two changes
KEEP = 10.0  # s of reading, after which it is kept
SHARE = 20  # … and as many times as long as keeping takes


def parts(
    where: str, index: str, files: Mapping[str, str], read: Read, threads: int = 1
) -> dict[str, Part]:
    """One for each file, by its path. Raises SourceError with every problem.

    where: the data set, as the user calls it. index: span_index.path_of it.
    files: their paths, and of each how it is to be read, in any words.
    """
    look = _Look(where, index, files, read)
    problems, found = list[str](), dict[str, Part]()
    try:
        with contextlib.closing(look.over(threads)) as each:
            for path, one in zip(files, each, strict=True):
                if isinstance(one, Part):
                    found[path] = one
                else:
                    problems += str(one).split("\n")
    finally:
        look.end()
    if problems:
        raise SourceError(listed(problems))
    return found


def part(path: str, read: Read, asked: str = "") -> Part:
    """What is in one file. Raises SourceError."""
    try:
        with open(path, "rb", opener=no_wait) as file:
            before = _stamp(os.fstat(file.fileno()))
            found = read(path, file, before.size)
            after = _stamp(os.fstat(file.fileno()))
    except OSError as error:
        raise _unreadable(path, error) from error
    if after != before:
        raise SourceError(
            f"{path}: changed while it was looked at (got {after.size} bytes, want {before.size}); "
            "open it when nothing writes to it"
        )
    return found._replace(asked=asked, stamp=before)


def joined(found: Sequence[Part]) -> tuple[Longs, Longs, Longs]:
    """File, offset and size of all images: int64 [N] each."""
    return (
        np.repeat(np.arange(len(found)), [len(part.size) for part in found]),
        np.concatenate([part.offset for part in found]),
        np.concatenate([part.size for part in found]),
    )


def _stamp(facts: os.stat_result) -> Stamp:
    return Stamp(facts.st_size, facts.st_mtime_ns, facts.st_ino)


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError(
        f"{path}: cannot be read ({error.strerror or error}); restore it, or make it readable"
    )


class _Look:
    """Over all files of a data set, and what is kept of it."""

    def __init__(self, where: str, index: str, files: Mapping[str, str], read: Read) -> None:
        self.where, self.index, self.files, self.read = where, index, files, read
        self.known = span_index.recall(index)  # of files that may be gone, too
        self.of = {path: os.path.abspath(path) for path in files}
        self.changed = not self.known.keys() <= set(self.of.values())
        self.line, self._shown_at = terminal.Line(AFTER), 0.0
        self._kept_at, self._patience = time.monotonic(), KEEP

    def over(self, threads: int) -> Generator[Part | SourceError]:
        """In the order of the files."""
        self.line.waited()
        if threads == 1:
            yield from self._counted(map(self._one, self.files))
            return
        pool = ThreadPoolExecutor(threads, "fastload-look")
        try:
            yield from self._counted(pool.map(self._one, self.files))
        finally:
            pool.shutdown(cancel_futures=True)

    def _one(self, path: str) -> Part | SourceError:
        try:
            known = self.known.get(self.of[path])
            if known and (known.asked, known.stamp) == (self.files[path], self._stamp_of(path)):
                return known
            return part(path, self.read, self.files[path])
        except SourceError as error:
            return error

    def _stamp_of(self, path: str) -> Stamp:
        try:
            return _stamp(os.stat(path))
        except OSError as error:
            raise _unreadable(path, error) from error

    def _counted(self, found: Iterator[Part | SourceError]) -> Iterator[Part | SourceError]:
        """The same; what is new is kept, and a line on the terminal says how far it is."""
        for number, (path, each) in enumerate(zip(self.files, found, strict=True), 1):
            if isinstance(each, Part) and self.known.get(self.of[path]) is not each:
                self.known[self.of[path]], self.changed = each, True
                self._keep_now_and_then()
            waited = self.line.waited()
            if waited >= self._shown_at + EVERY:
                self._shown_at = waited
                left = waited / number * (len(self.files) - number)
                self.line.show(
                    f"first look at {self.where}: {number:,} of {len(self.files):,} files, "
                    f"{left:,.0f} s left"
                )
            yield each

    def _keep_now_and_then(self) -> None:
        begin = time.monotonic()
        if begin - self._kept_at >= self._patience:
            self._keep()
            self._kept_at = time.monotonic()
            self._patience = max(self._patience, SHARE * (self._kept_at - begin))

    def end(self) -> None:
        """Also of a look that was interrupted."""
        self.line.clear()
        if self.changed:
            self._keep()

    def _keep(self) -> None:
        """Of the files of this data set alone; what is known of a changed one is out of date, and
        is noticed at the next use.
        """
        mine = {path: self.known[path] for path in self.of.values() if path in self.known}
        if not span_index.keep(self.index, mine):
            self._patience = math.inf
        self.changed = False
