"""The index of a data set whose samples are spans of files, in the user's cache: what was found in
each file when it was read. It is a file of rows (row_file.py), one part for each file.

It is private to the user and compared with the files' sizes, times and inodes at every use. What is
damaged or does not fit is made anew.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.files import cache
from fastload.sources import arrow, kept_rows
from fastload.sources.kept_rows import KeptRows, KeptWriter
from fastload.sources.row_file import Taken
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

    @classmethod
    def of(cls, facts: os.stat_result) -> "Stamp":
        return cls(facts.st_size, facts.st_mtime_ns, facts.st_ino)


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


class Spans(KeptRows):
    """What is in the files of a data set, in their order: columns COLUMNS.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file, kept=kept)
        self.paths, self.said, self.asked, self.texts = (
            _texts(self.told.pop(name)) for name in ("paths", "said", "asked", "texts")
        )
        lengths = {len(self.paths), len(self.said), len(self.asked), len(self.tables.rows)}
        if self.columns != COLUMNS or len(lengths) > 1 or self.tables.facts.shape[1] != len(FACTS):
            raise ValueError("other columns, or parts")
        low, high = self.tables.low[:, LABEL], self.tables.high[:, LABEL]
        if self.texts and ((low < -1) | (high >= len(self.texts))).any():
            raise ValueError("a label has no text")

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
    return kept_rows.recall(Spans, file)


def _used(known: Spans, some: Sequence[int]) -> set[int]:
    """The numbers of the texts that labels of these parts are."""
    if not known.texts or len(some) == len(known.paths):
        return {number for number, text in enumerate(known.texts) if text is not None}
    labels, found = known.column("label"), set[int]()
    for part in some:
        found.update(np.unique(labels[slice(*known.starts[part : part + 2].tolist())]).tolist())
    return found - {-1}


class Keeping(KeptWriter):
    """Writes such an index: in the cache, or in memory where nothing can be kept there.

    Args:
        index: path_of the data set.
        known: Another one, whose parts may be carried over.
        some: Those that will be; their labels are of the same texts.
    """

    def __init__(self, index: str, known: Spans | None = None, some: Sequence[int] = ()) -> None:
        super().__init__(index, COLUMNS)
        self.known = known
        self.whole = False  # whether all that was written counts
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
        self.write(lambda: self.writer.add(rows, part.names, facts))
        self.files.append((number, path, part.said, part.asked))

    def carry(self, number: int, part: int) -> None:
        """A file that is part of `known`. Raises SourceError for damage there."""
        known = self.known
        assert known is not None
        facts = known.tables.facts[part].tolist()
        self.whole = False
        self.write(lambda: self.writer.copy(known, part, facts))
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
        self.write(lambda: self.writer.finish(told, order))
        self.whole = True
        return self.name()

    def spans(self) -> Spans:
        """All of it, after `keep`."""
        return self.opened(Spans)
