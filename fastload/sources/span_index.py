"""The index of a data set whose samples are spans of files, in the user's cache: what was found in
each file when it was read. It is a file of rows (row_file.py), one part for each file.

It is private to the user and compared with the files' sizes, times and inodes at every use. What is
damaged or does not fit is made anew.
"""

import contextlib
import os
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.files import cache
from fastload.files.below import Folder
from fastload.files.names import Inner
from fastload.sources import arrow
from fastload.sources.row_blocks import fill
from fastload.sources.row_file import Rows, Taken, in_memory
from fastload.sources.row_writer import Writer
from fastload.spec import Longs

COLUMNS = ("offset", "size", "label", "skip", "unpacked")
OFFSET, SIZE, LABEL = range(3)
# What the tables say of a file besides: its stamp, and how many of its labels are below 0
FACTS = ("size", "time", "inode", "lacking")


class Stamp(NamedTuple):
    """Another one where a file has changed, as far as its facts tell."""

    size: int  # bytes
    time: int  # ns
    inode: int


class Part(NamedTuple):
    """One file of a data set; arrays [N] in the order of its images.

    Args:
        offset, size: Bytes.
        label: Of `texts`, where there are any, -1: none; else the labels themselves.
        names: Of the images, UTF-8, a line each; empty: they have none.
        said: What else the format has found.
        asked: How it was to be read. Where the format asks otherwise, it is read anew.
        skip, unpacked: Of a packed image, bytes: how many of what is unpacked come before its own,
            and its own; 0: it is not packed. None: none is.
    """

    offset: Longs
    size: Longs
    label: Longs
    names: bytes = b""
    texts: tuple[str, ...] = ()
    said: str = ""
    asked: str = ""
    stamp: Stamp = Stamp(0, 0, 0)
    skip: Longs | None = None
    unpacked: Longs | None = None


class Spans(Rows):
    """What is in the files of a data set, in their order: columns COLUMNS.

    Args:
        where: The index's path.
        file: Its descriptor.
        kept: Whether it lies there; else it is in memory only.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file)
        self.kept = kept
        self.paths, self.said, self.asked, self.texts = (
            _texts(self.told.pop(name)) for name in ("paths", "said", "asked", "texts")
        )
        lengths = {len(self.paths), len(self.said), len(self.asked), len(self.tables.rows)}
        if self.columns != COLUMNS or len(lengths) > 1 or self.tables.facts.shape[1] != len(FACTS):
            raise ValueError("other columns, or parts")
        low, high = self.tables.low[:, LABEL], self.tables.high[:, LABEL]
        if self.texts and ((low < -1) | (high >= len(self.texts))).any():
            raise ValueError("a label has no text")

    def __reduce__(self) -> tuple[Any, ...]:
        if self.kept:
            return reopened, (self.where, self.checksum)
        content = bytearray(os.fstat(self.file).st_size)
        fill(self.file, 0, memoryview(content))
        return in_a_copy, (self.where, bytes(content))

    def damaged(self, at: int, what: str) -> SourceError:
        if self.kept:
            cache.forget(self.where, self.file)
        return SourceError(
            f"{self.where}: is damaged ({what}, at byte {at}), and was removed; open the data set "
            "again, which makes it anew"
        )

    def settled(self) -> "Spans":
        """The same, without what is only compared at open: a data set has its paths itself."""
        self.paths, self.asked = [], []
        return self

    def stamps(self) -> Longs:
        """int64 [files, fields of Stamp]."""
        return self.tables.facts[:, : len(Stamp._fields)]

    def lacking(self) -> Longs:
        """int64 [files]: how many labels are below 0."""
        return self.tables.facts[:, FACTS.index("lacking")]

    def first_lacking(self) -> int:
        """The first sample whose label is below 0; there is one."""
        part = int(np.argmax(self.lacking() > 0))
        begin, end = self.starts[part : part + 2].tolist()
        labels: Longs = self.column("label")[begin:end]
        return int(begin) + int(np.argmax(labels < 0))

    def _check(self, taken: Taken, place: Callable[[int], int]) -> None:
        super()._check(taken, place)
        offset, size = taken.values[:2]
        inside = (size == 0) | arrow.inside(offset, size, self.tables.facts[taken.part, 0])
        if not inside.all():
            raise self.damaged(place(int(np.argmin(inside))), "an image outside of its file")


def _texts(said: Any) -> list[Any]:
    """Raises ValueError. None: a text that no label is any more."""
    if type(said) is not list or not all(type(text) is str or text is None for text in said):
        raise ValueError("a text is none")
    # Most files say the same
    return [text and sys.intern(text) for text in said]


def path_of(format: str, where: str, *how: str) -> str:
    """Where the index of a data set lies. how: what else makes another one of it."""
    key = _native.xxh3(os.fsencode("\0".join([format, os.path.abspath(where), *how])))
    return cache.path("spans", f"{key:016x}.index")


def recall(file: str) -> Spans | None:
    """What is known of the files of a data set; None where that is not to be trusted."""
    try:
        return Spans(file, cache.recalled(file), kept=True)
    except (OSError, struct.error, RecursionError, *arrow.PARSE_ERRORS):
        return None


def reopened(file: str, checksum: int) -> Spans:
    """The same index in another process. Raises SourceError."""
    found = recall(file)
    if found is None or found.checksum != checksum:
        raise SourceError(f"{file}: was replaced while in use; open the data set again")
    return found


def in_a_copy(where: str, content: bytes) -> Spans:
    """The same of one that lies nowhere."""
    return Spans(where, in_memory(content), kept=False)


def _used(known: Spans, some: Sequence[int]) -> set[int]:
    """The numbers of the texts that labels of these parts are."""
    if not known.texts or len(some) == len(known.paths):
        return {number for number, text in enumerate(known.texts) if text is not None}
    labels, found = known.column("label"), set[int]()
    for part in some:
        found.update(np.unique(labels[slice(*known.starts[part : part + 2].tolist())]).tolist())
    return found - {-1}


class Keeping:
    """Writes such an index: in the cache, or in memory where nothing can be kept there.

    Args:
        index: path_of the data set.
        known: Another one, whose parts may be carried over.
        some: Those that will be; their labels are of the same texts.
    """

    def __init__(self, index: str, known: Spans | None = None, some: Sequence[int] = ()) -> None:
        self.index, self.known = index, known
        self.folder: Folder | None = None
        try:
            self.folder, self.new, self.file = cache.begun(index)  # with a name that nobody knows
        except OSError:
            self.file = in_memory()
        self.named = False  # whether it has its name in the cache
        self.whole = False  # whether all that was written counts
        self.writer = Writer(self.file, COLUMNS)
        # Of each part that was written: its number in the data set, path, said, asked
        self.files: list[tuple[int, str, str, str]] = []
        self.texts: list[str | None] = [] if known is None else list(known.texts)
        self.number_of = dict(zip(self.texts, range(len(self.texts)), strict=True))
        self.used = set[int]() if known is None else _used(known, some)

    def add(self, number: int, path: str, part: Part) -> None:
        """A file that was read, of this number in the data set."""
        numbers = [self._number(text) for text in part.texts]
        self.used.update(numbers)
        label = part.label
        if numbers:
            label = np.where(label < 0, -1, np.array(numbers, np.int64)[label])
        facts = (*part.stamp, int(np.count_nonzero(label < 0)))
        self.whole = False
        plain = np.zeros_like(label)
        packing = [plain if one is None else one for one in (part.skip, part.unpacked)]
        rows = (part.offset, part.size, label, *packing)
        self._write(lambda: self.writer.add(rows, part.names, facts))
        self.files.append((number, path, part.said, part.asked))

    def carry(self, number: int, part: int) -> None:
        """A file that is part of `known`. Raises SourceError for damage there."""
        known = self.known
        assert known is not None
        facts = known.tables.facts[part].tolist()
        self.whole = False
        self._write(lambda: self.writer.copy(known, part, facts))
        self.files.append((number, known.paths[part], known.said[part], known.asked[part]))

    def _number(self, text: str) -> int:
        number = self.number_of.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def keep(self) -> bool:
        """What was written so far counts; whether it lies in the cache. Raises OSError."""
        texts = [text if number in self.used else None for number, text in enumerate(self.texts)]
        order = sorted(range(len(self.files)), key=self.files.__getitem__)
        _, *columns = zip(*map(self.files.__getitem__, order), strict=True) if order else ((),) * 4
        told = {**dict(zip(("paths", "said", "asked"), columns, strict=True)), "texts": texts}
        self._write(lambda: self.writer.finish(told, order))
        self.whole = True
        if self.folder is not None and not self.named:
            try:
                self.folder.rename(self.new, Inner(os.path.basename(self.index)))
                self.named = True
            except OSError:
                self._leave()
        return self.folder is not None

    def spans(self) -> Spans:
        """All of it, after `keep`."""
        return Spans(self.index, os.dup(self.file), kept=self.folder is not None)

    def close(self) -> None:
        os.close(self.file)
        if self.folder is not None:
            self.folder.close()

    def _write(self, write: Callable[[], None]) -> None:
        """In memory, where the cache has no room any more. Raises OSError."""
        try:
            write()
        except OSError:
            if self.folder is None:
                raise
            self._leave()
            write()

    def _leave(self) -> None:
        """Go on in memory."""
        assert self.folder is not None
        file = in_memory()
        self.writer.into(file)
        os.close(self.file)
        self.file = file
        with contextlib.suppress(OSError):
            if not self.named:
                self.folder.remove(self.new)
        self.folder.close()
        self.folder = None
