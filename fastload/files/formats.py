"""The tables of all formats, and which of them lies at a path. docs/extending.md tells how another
distribution adds one.

Only facts are here, and what needs them imports nothing else: help texts, error messages, `fastload
doctor`.
"""

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator

from fastload.errors import ConversionError, SourceError
from fastload.files.own_formats import (
    FOLDER,
    OWN,
    PAIRS,
    PARQUET,
    SHARDS,
    TFRECORD,
    WEBDATASET,
    Format,
)
from fastload.files.patterns import expanded, is_pattern
from fastload.system.extensions import Table

__all__ = [
    "FOLDER",
    "OWN",
    "PAIRS",
    "PARQUET",
    "READERS",
    "SHARDS",
    "SOURCES",
    "TFRECORD",
    "WEBDATASET",
    "WRITERS",
    "Format",
    "broken",
    "files_in",
    "in_order",
    "inside",
    "known",
    "of_target",
    "recognize",
    "seen_at",
    "source_at",
    "summary_of",
]

SOURCES = Table(
    "fastload.sources", Format, [one for one in OWN if one.source], SourceError, "source"
)
READERS = Table(
    "fastload.readers", Format, [one for one in OWN if one.reader], SourceError, "reader"
)
WRITERS = Table(
    "fastload.writers", Format, [one for one in OWN if one.writer], ConversionError, "writer"
)

SEEK = "fastload.seek"  # begins the names of seek indexes, which may lie in any folder


def recognize(path: str, *tables: Table[Format]) -> Format | None:
    """The format of what lies at `path`, as far as names tell; None: of none.

    fastload's own are asked first, then those of other distributions. A plain folder is of none.
    """
    is_file = os.path.isfile(path)
    names = [] if is_file else _names(path)
    if not is_file and not names:
        return None

    def fits(one: Format) -> bool:
        if is_file:
            return path.lower().endswith(one.suffixes)
        return any(fnmatch.filter(names, marker) for marker in one.markers)

    return next(filter(fits, in_order(*tables)), None)


def inside(names: Iterable[str]) -> tuple[str, Format] | None:
    """The first folder below another one that a format of fastload's lies in, and which: by the
    paths of files, from the upper one. None: there is none, or the upper one has such files itself.
    """
    own = [one for one in SOURCES.own.values() if one.markers]
    marked = re.compile("|".join(fnmatch.translate(each) for one in own for each in one.markers))
    found = [name for name in names if marked.match(name.rpartition("/")[2])]
    if not found or any("/" not in name for name in found):
        return None
    folder, _, base = found[0].rpartition("/")
    return folder, next(one for one in own if any(fnmatch.filter([base], m) for m in one.markers))


def of_target(where: str) -> Format | None:
    """The format that a target's name asks for; None: it says nothing."""
    if not os.path.splitext(where)[1]:
        return None

    def fits(one: Format) -> bool:
        return bool(one.written_as) and where.lower().endswith(one.written_as)

    return next(filter(fits, in_order(WRITERS)), None)


def known(*tables: Table[Format]) -> str:
    """The formats that are there, in words, for help texts and errors; others' by their names, so
    that nothing is loaded. A name that two tables have is that of the first.
    """
    words: dict[str, str] = {}
    for table in tables:
        for name in table:
            words.setdefault(name, table.own[name].summary if name in table.own else name)
    return ", ".join(words.values())


def broken(*tables: Table[Format]) -> list[str]:
    """Lines that tell why a format of another distribution was not asked."""
    return [line for table in tables for line in table.problems()]


def summary_of(kind: str) -> str:
    """The words for what `inspect` calls a format."""
    matches = (one for one in in_order(READERS, SOURCES) if kind in (one.kind, one.name))
    return next((one.summary for one in matches), "") or kind


def seen_at(where: str) -> str:
    """The words for what `open_source` takes the data set at `where` for."""
    return (source_at(where) or SOURCES[FOLDER]).summary


def source_at(where: str) -> Format | None:
    """The format that `open_source` takes the data set at `where` for.

    None: of a file, none; of a folder, a plain one.
    """
    if not os.path.exists(where):
        return _of_pattern(where) if is_pattern(where) else None
    many = (one for one in SOURCES.own.values() if one.many)
    return recognize(where, SOURCES) or next((one for one in many if _is_full_of(one, where)), None)


def _of_pattern(where: str) -> Format:
    """The format of the files that a pattern names. Raises SourceError."""
    name, records = os.path.basename(expanded(where)[0]), SOURCES[TFRECORD]
    if name.lower().endswith(SOURCES[PARQUET].suffixes):
        return SOURCES[PARQUET]
    fits = any(fnmatch.fnmatch(name, marker) for marker in records.markers)
    return records if fits else SOURCES[WEBDATASET]


def _is_full_of(one: Format, where: str) -> bool:
    """Whether a folder itself has such files. A folder `data` in it may be a class; one of Parquet
    is none, where there is no other.
    """
    paths, folders = files_in(one, where), [*filter(_may_be_a_class, _entries(where))]
    alone = one.name == PARQUET and [entry.name for entry in folders] == ["data"]
    return any(alone or os.path.dirname(path) == where.rstrip("/") for path in paths)


def files_in(one: Format, where: str) -> tuple[str, ...]:
    """Paths of a format's files in a folder, or in its folder `data`, where the Hub has them.

    Sorted. None in a folder with folders: they are classes, and an archive happens to lie there.
    """
    for folder in (where, os.path.join(where, "data")):
        entries = _entries(folder)
        if folder == where and any(map(_may_be_a_class, entries)):
            continue
        names = sorted(
            entry.name
            for entry in entries
            if entry.name.lower().endswith(one.suffixes)
            and not entry.name.startswith(SEEK)
            and entry.is_file()
        )
        if names:
            return tuple(os.path.join(folder, name) for name in names)
    return ()


def in_order(*tables: Table[Format]) -> Iterator[Format]:
    """fastload's own first; then, loaded only when they are reached, the others'."""
    for table in tables:
        yield from table.own.values()
    for table in tables:
        yield from table.loaded()


def _may_be_a_class(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder other than those that programs leave: .cache, _tmp."""
    return entry.is_dir() and not entry.name.startswith((".", "_"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
