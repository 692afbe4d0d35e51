"""The first look at a version of a Lance data set: where its images lie, and their labels.

Lance's library scans the columns of both, some thousand rows at a time; no image is read but the
first ones, whose first bytes are compared with what Lance reads.
"""

import json
import os
from typing import Any, NamedTuple

import numpy as np

from fastload.errors import SourceError
from fastload.sources import arrow, lance_library, lance_versions, span_files, table_choice
from fastload.sources.kept_rows import KeptWriter
from fastload.sources.lance_library import Fragment, Table
from fastload.sources.lance_places import Places, file_at, no_blobs, places
from fastload.sources.lance_rows import COLUMNS, LanceRows
from fastload.sources.lance_versions import Version
from fastload.sources.signatures import LONGEST, check_head, is_image
from fastload.sources.span_index import Stamp
from fastload.sources.table_choice import ASK
from fastload.sources.table_columns import class_names, features_of
from fastload.sources.table_labels import Labels
from fastload.spec import Longs
from fastload.system import limits, terminal

PART = 1 << 16  # rows of a part of the index
HEAD = 1 << 12  # bytes of an image that are compared
TOLD = limits.METADATA // 2  # bytes of names of files and of classes in the index
AFTER = 2.0  # s until a line is shown


class Chosen(NamedTuple):
    """The columns that are read, as parquet_columns.Chosen has them."""

    image: str
    label: str | None
    kind: str
    names: tuple[str, ...] | None


def looked(where: str, index: str, version: Version, fields: tuple[str, str] | None) -> LanceRows:
    """At the newest version. index: where it is to lie in the cache. Raises SourceError."""
    table = lance_library.opened(where)
    look = _Look(table, chosen(table, fields), KeptWriter(index, COLUMNS))
    try:
        for fragment in table.fragments:
            look.over(fragment)
        if table.version != version.number or lance_versions.newest(where) != version:
            raise SourceError(
                f"{where}: changed while it was looked at (got version {table.version}, want "
                f"{version.number}); open it when nothing writes to it"
            )
        return look.rows(version)
    finally:
        look.line.clear()
        look.keeping.close()


def chosen(table: Table, fields: tuple[str, str] | None) -> Chosen:
    """Raises SourceError."""
    where, schema = table.where, table.schema
    images = table_choice.images_in(where, schema, fields)
    blobs = [name for name in images if name in table.blobs]
    if not blobs:
        raise no_blobs(where, images[0])
    if len(blobs) > 1:
        blobs = [name for name in blobs if _is_of_images(table, name)] or blobs
    label = table_choice.label_in(where, schema, fields)
    names = class_names(features_of(schema), label)
    kind = table_choice.kind_of(schema, label) if label else ""
    return Chosen(blobs[0], label, kind, tuple(names) if names else None)


def of_column(table: Table, fragment: Fragment, column: str, array: Any, first: int) -> Places:
    """Raises SourceError. first: the number of the array's first row in the data set."""
    if column not in fragment.files:
        raise SourceError(
            f"{table.where}: fragment {fragment.number} has no file with column {column!r}; write "
            "the data set again"
        )
    return places(table.where, column, array, fragment.files[column], first)


def inside(where: str, column: str, found: Places, sizes: Longs, first: int) -> None:
    """Raise SourceError for a value outside of its file. sizes: of the files of `found`."""
    empty = (found.size == 0) & (found.offset >= 0)
    within = empty | arrow.inside(found.offset, found.size, sizes[found.file])
    if not within.all():
        row = int(np.argmin(within))
        file, end = int(found.file[row]), int(found.offset[row]) + int(found.size[row])
        raise SourceError(
            f"{where}: row {first + row} has its {column} outside of {found.names[file]} (ends at "
            f"{end}, the file has {sizes[file]} bytes); restore it"
        )


def _is_of_images(table: Table, column: str) -> bool:
    """Whether the first value begins as an image."""
    for fragment in table.fragments:
        for batch in table.batches([column], fragment.number):
            if len(batch):
                found = of_column(table, fragment, column, batch.column(column).slice(0, 1), 0)
                path, stamp = file_at(table.where, found.names[0])
                inside(table.where, column, found, np.array([stamp.size]), 0)
                return is_image(_head(path, int(found.offset[0]), int(found.size[0])))
    return False


def _head(path: str, offset: int, size: int, most: int = LONGEST) -> bytes:
    return span_files.opened(path, lambda file: os.pread(file, min(most, size), offset))


class _Look:
    """Over all fragments of a data set."""

    def __init__(self, table: Table, chosen: Chosen, keeping: KeptWriter) -> None:
        self.table, self.chosen, self.keeping = table, chosen, keeping
        self.files, self.stamps = dict[str, int](), list[Stamp]()  # by their names
        self.labels = Labels(table.where, chosen.label or "", chosen.kind)
        self.rows_so_far = 0
        self.waiting, self.pieces = 0, list[tuple[Longs, ...]]()
        self.line = terminal.Line(AFTER)
        self.line.waited()

    def over(self, fragment: Fragment) -> None:
        """Raises SourceError."""
        image, label = self.chosen.image, self.chosen.label
        compared = set[tuple[str, bool]]()
        for batch in self.table.batches([image, *filter(None, [label])], fragment.number):
            if not len(batch):
                continue
            first = self.rows_so_far
            found = of_column(self.table, fragment, image, batch.column(image), first)
            self._add(found, first)
            none = np.zeros(len(batch), np.int64)
            labels = self.labels.add(batch.column(label)) if label else none
            self._compare(found, first, compared)
            numbers = np.array([self.files[name] for name in found.names], np.int64)
            self._put((numbers[found.file], found.offset, found.size, labels))
            self.rows_so_far += len(batch)
            if self.line.waited():
                self.line.show(f"first look at {self.table.where}: {self.rows_so_far:,} images")

    def rows(self, version: Version) -> LanceRows:
        """All of them. Raises SourceError."""
        where = self.table.where
        if not self.rows_so_far:
            raise SourceError(f"{where}: holds no rows; give another data set")
        self._flush()
        told = {
            "version": [version.number, *version.stamp],
            "names": list(self.files), "stamps": self.stamps, "texts": self.labels.texts,
            "kind": self.chosen.kind, "image": self.chosen.image,
            "label": self.chosen.label or "", "classes": self.chosen.names,
        }  # fmt: skip
        if wrong := limits.too_many(len(json.dumps(told)), TOLD):
            raise SourceError(
                f"{where}: names of files and of classes are too long ({wrong}); write it again "
                "with larger packed blobs, or number the labels"
            )
        self.keeping.finish(told)
        return self.keeping.opened(LanceRows, where)

    def _add(self, found: Places, first: int) -> None:
        """Their files, and whether they lie there. Raises SourceError."""
        where, image = self.table.where, self.chosen.image
        gone = found.missing | (found.size == 0)
        if gone.any():
            row = first + int(np.argmax(gone))
            raise SourceError(
                f"{where}: row {row} has no image ({image} is null or empty); remove it"
            )
        for name in found.names:
            if name not in self.files:
                self.stamps.append(file_at(where, name)[1])
                self.files[name] = len(self.files)
        sizes = np.array([self.stamps[self.files[name]].size for name in found.names], np.int64)
        inside(where, image, found, sizes, first)

    def _compare(self, found: Places, first: int, compared: set[tuple[str, bool]]) -> None:
        """The first image of each kind of place with what Lance reads. Raises SourceError."""
        where, column = self.table.where, self.chosen.image
        for file, name in enumerate(found.names):
            row = int(np.argmax(found.file == file))
            alone = int(found.size[row]) == self.stamps[self.files[name]].size
            kind = (os.path.splitext(name)[1], alone)  # inline, packed, dedicated
            if kind in compared:
                continue
            compared.add(kind)
            path, _ = file_at(where, name)
            head = _head(path, int(found.offset[row]), int(found.size[row]), HEAD)
            if first + row == 0:
                check_head(f"{where}: row 0, column {column}", head[:LONGEST], ASK)
            if head != self.table.head(column, first + row, len(head)):
                raise SourceError(
                    f"{where}: row {first + row} has other bytes in {name} than Lance reads; write "
                    "the data set again, or run fastload with pylance 14"
                )

    def _put(self, piece: tuple[Longs, ...]) -> None:
        self.pieces.append(piece)
        self.waiting += len(piece[0])
        if self.waiting >= PART:
            self._flush()

    def _flush(self) -> None:
        """What waits is a part."""
        if self.pieces:
            columns = [np.concatenate(column) for column in zip(*self.pieces, strict=True)]
            self.keeping.write(lambda: self.keeping.writer.add(columns, b"", ()))
            self.waiting, self.pieces = 0, []
