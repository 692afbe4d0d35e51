"""Tables of URLs: Parquet, Arrow, CSV, TSV or JSON lines, one or a folder of them. A table is read
once, from front to back, into a nameless file, from which each unit takes its rows.
"""

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from fastload import _native
from fastload.conversion.readers import manifest, table_files
from fastload.conversion.readers.spans import Spool
from fastload.conversion.web.options import Columns
from fastload.errors import SourceError
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.sources.staging import at_hand
from fastload.spec import Json

TABLES, LISTS = (".parquet", ".arrow"), (".csv", ".tsv", ".jsonl")
SUFFIXES = TABLES + LISTS
# What the columns are called; the first that is there is taken
URLS, CAPTIONS = ("url", "URL"), ("caption", "text", "TEXT")
# A table with one of these holds images, or paths of files, beside its URLs
IMAGES = (*manifest.PATHS, "bytes", "jpg", "png")
BLOCK = 256  # rows that are read, and kept, together


class Row(NamedTuple):
    """One row of the table."""

    url: str  # empty: there is none
    caption: str | None  # None: the table has no captions
    checksum: str  # hex; empty: none is given
    fields: Json  # further columns, as JSON can hold them


@dataclass(frozen=True, eq=False)
class Table:
    """All rows, kept on the disk."""

    where: str
    count: int
    stamp: int  # XXH3-64 of all rows
    spool: Spool
    blocks: Sequence[tuple[int, int]]  # offset and bytes of each BLOCK rows

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """The rows of these numbers, which go up."""
        out, known, block = list[Row](), -1, list[list[Any]]()
        for number in numbers:
            if number // BLOCK != known:
                known = number // BLOCK
                block = json.loads(self.spool.read(0, *self.blocks[known]))
            out.append(Row(*block[number % BLOCK]))
        return out


def files_at(where: str) -> list[str]:
    """The tables at a path, in the order of their names; none where there are none."""
    if not os.path.isdir(where):
        return [where] if where.lower().endswith(SUFFIXES) and os.path.isfile(where) else []
    names = [name for name in _visible(where) if name.lower().endswith(SUFFIXES)]
    return [os.path.join(where, name) for name in names]


def looks_like_one(where: str) -> bool:
    """Whether a table of URLs lies there: it has a column of URLs, and none of images or paths.

    A folder has nothing beside such tables.
    """
    paths = files_at(where)
    if not paths or (os.path.isdir(where) and len(paths) < len(_visible(where))):
        return False
    try:
        names = _names(paths[0])
        if not any(name in URLS for name in names) or any(name in IMAGES for name in names):
            return False
        return not (paths[0].lower().endswith(TABLES) and _holds_bytes(_opened(paths[0]).schema))
    except (SourceError, *PARSE_ERRORS, csv.Error):
        return False  # whoever opens it says what is wrong


def _visible(folder: str) -> list[str]:
    """Names in a folder, but those that programs leave there: _SUCCESS, .crc."""
    return sorted(name for name in os.listdir(folder) if not name.startswith(("_", ".")))


def _holds_bytes(schema: Any) -> bool:
    """Whether a column may hold images: bytes, or the Hub's struct of bytes and path."""
    import pyarrow as pa

    plain = pa.types
    return any(
        plain.is_binary(one.type) or plain.is_large_binary(one.type) or plain.is_struct(one.type)
        for one in schema
    )


def load(where: str, columns: Columns) -> Table:
    """Read the table. Raises SourceError, ConversionError."""
    paths = files_at(at_hand(where))
    if not paths:
        raise SourceError(
            f"{where}: is no table of URLs (want {', '.join(SUFFIXES)}, or a folder of them); give "
            "one"
        )
    spool, blocks, count, total = Spool(where), list[tuple[int, int]](), 0, _native.Xxh3()
    rows = (row for path in paths for row in _rows(path, columns))
    while block := list(islice(rows, BLOCK)):
        data = json.dumps(block, allow_nan=False).encode()
        blocks.append((spool.add(data), len(data)))
        total.update(data)
        count += len(block)
    if not count:
        raise SourceError(f"{where}: has no rows; give a table with a row for each URL")
    return Table(where, count, total.digest(), spool, blocks)


def _rows(path: str, columns: Columns) -> Iterator[Row]:
    """The rows of one file. Raises SourceError."""
    url, caption, checksum, fields = _chosen(path, _names(path), columns)
    wanted = list(dict.fromkeys(name for name in (url, caption, checksum, *fields) if name))
    for row in _raw(path, wanted):
        text = row.get(url)
        yield Row(
            text if isinstance(text, str) else "",
            None if caption is None else _text(row.get(caption)),
            _text(row.get(checksum)).strip().lower() if checksum else "",
            {name: _plain(row.get(name)) for name in fields},
        )


def _chosen(
    path: str, names: Sequence[str], columns: Columns
) -> tuple[str, str | None, str | None, tuple[str, ...]]:
    """The columns that are read, which are all there. Raises SourceError."""
    url = columns.url or next((name for name in URLS if name in names), None)
    caption = columns.caption or next((name for name in CAPTIONS if name in names), None)
    if url is None:
        raise SourceError(
            f"{path}: no column with URLs (has {_shown(names)}, want {' or '.join(URLS)}); name it "
            "with --url-column"
        )
    wanted = [url, caption, columns.checksum, *columns.fields]
    if lacking := [name for name in wanted if name is not None and name not in names]:
        raise SourceError(
            f"{path}: no column {lacking[0]!r} (has {_shown(names)}); give the name of one that is "
            "there"
        )
    return url, caption, columns.checksum, columns.fields


def _shown(names: Sequence[str]) -> str:
    more = ", …" if len(names) > 20 else ""
    return ", ".join(name[:60] for name in names[:20]) + more


def _names(path: str) -> list[str]:
    """The columns of a file. Raises SourceError."""
    if path.lower().endswith(TABLES):
        return list(_opened(path).schema.names)
    first = next(iter(manifest.read_rows(path)), None)
    return [name for name in first or () if type(name) is str]


def _raw(path: str, wanted: Sequence[str]) -> Iterator[Json]:
    """The file's rows, with the wanted columns at least. Raises SourceError."""
    if not path.lower().endswith(TABLES):
        yield from manifest.read_rows(path)
        return
    table = _opened(path)
    for group in range(len(table.rows)):
        try:
            values = [table.values(group, name) for name in wanted]
        except PARSE_ERRORS as error:
            raise _damaged(path, error) from error
        yield from map(dict, map(partial(zip, wanted, strict=True), zip(*values, strict=True)))


def _opened(path: str) -> table_files.TableFile:
    import_arrow(path, SourceError, "a table needs")
    try:
        return table_files.opened(path)
    except PARSE_ERRORS as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: BaseException) -> SourceError:
    return SourceError(
        f"{path}: cannot be read ({' '.join(str(error).split())}); give a whole table of numbers "
        "and texts"
    )


def _text(value: object) -> str:
    plain = _plain(value)
    return "" if plain is None else str(plain)


def _plain(value: object) -> object:
    """A value as JSON can hold it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value - value != 0:  # not a number, or without end
        return None
    if value is None or isinstance(value, (str, int, float)):
        return value
    return json.dumps(value)  # of a line of JSON: lists and objects
