"""Writes files of rows (row_file.py), part by part: nothing but the tables is kept in memory."""

import json
import os
from collections.abc import Sequence

import numpy as np

from fastload import _native
from fastload.sources import row_blocks
from fastload.sources.row_file import HEADER, MAGIC, VERSION, Rows
from fastload.spec import Json, Longs

ALIGNED = 8  # bytes: where tables begin, and the numbers in them
CHUNK = 1 << 24  # bytes that are written or copied at once


class Writer:
    """What is written counts once `finish` was called, and again after more of it.

    Args:
        file: The descriptor of an empty file. It stays the caller's.
        columns: Their names.

    Raises OSError; what raises can be called again.
    """

    def __init__(self, file: int, columns: Sequence[str]) -> None:
        self.file, self.columns, self.end = file, tuple(columns), HEADER.size
        self.table: list[tuple[int, ...]] = []  # as row_file.Tables

    def add(self, columns: Sequence[Longs], names: bytes, facts: Sequence[int]) -> None:
        """A part. columns: [N] each; names: a line for each row, or nothing; facts: as many for
        each part.
        """
        count = len(columns[0])
        content, widths = row_blocks.encode(columns, names.split(b"\n") if names else ())
        ends = [(int(column.min()), int(column.max())) if count else (0, -1) for column in columns]
        low, high = zip(*ends, strict=True)
        self._put(content, (count, self.end, len(content), *widths, *low, *high, *facts))

    def copy(self, rows: Rows, part: int, facts: Sequence[int]) -> None:
        """A part of another file with the same columns. Raises SourceError for damage there."""
        tables = rows.tables
        widths, low, high = (
            each[part].tolist() for each in (tables.widths, tables.low, tables.high)
        )
        content = rows.bytes_of(part)
        count = int(tables.rows[part])
        self._put(content, (count, self.end, len(content), *widths, *low, *high, *facts))

    def finish(self, told: Json, order: Sequence[int]) -> None:
        """told: what Rows.told is to be, besides what the tables need. order: of the parts, by
        when they were written.
        """
        wide = len(self.table[0]) - 3 - 3 * len(self.columns) if self.table else 0
        told = {"columns": self.columns, "facts": wide, "parts": len(self.table), **told}
        text = json.dumps(told).encode()
        text += b" " * (-len(text) % ALIGNED)
        table = [self.table[number] for number in order]
        tables = text + np.array(table, "<i8").tobytes()
        at = self.end + -self.end % ALIGNED
        _write(self.file, tables, at)
        head = (VERSION, _native.xxh3(tables), at, len(tables), len(text))
        _write(self.file, HEADER.pack(MAGIC, *head), 0)
        self.end = at + len(tables)  # they hold until there are others

    def into(self, file: int) -> None:
        """Go on in another file, which gets what was written so far."""
        for at in range(0, self.end, CHUNK):
            _write(file, os.pread(self.file, min(CHUNK, self.end - at), at), at)
        self.file = file

    def _put(self, content: bytes, row: tuple[int, ...]) -> None:
        _write(self.file, content, self.end)
        self.table.append(row)
        self.end += len(content)


def _write(file: int, content: bytes, at: int) -> None:
    view = memoryview(content)
    while view:
        done = os.pwrite(file, view[:CHUNK], at)
        view, at = view[done:], at + done
