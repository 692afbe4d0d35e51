"""Seek indexes of a plain folder: one file of them beside the data, or in the user's cache, and one
that says which is whose.

An index only saves work: what is damaged or does not fit is left aside with a reason, and the
samples load without.
"""

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.files import cache
from fastload.files.opening import no_wait
from fastload.sources import arrow
from fastload.sources.base import Seek
from fastload.spec import Longs
from fastload.system import limits

DATA = "fastload.seek"  # the indexes, one after another
INDEX = "fastload.seek.arrow"  # whose they are
SUM = INDEX + arrow.SUFFIX
PARTS = (DATA, SUM, INDEX)  # in the order of their renames
# Before the first index of every file of them: MAGIC, VERSION, MCUs per entry
HEADER = struct.Struct("<8sII")
MAGIC = b"FASTSEEK"
VERSION = 1
COEFFICIENTS = 1 << 20  # in place of the MCUs per entry: coefficient layers
METADATA = b"fastload-seek"  # key of the JSON in the schema's metadata
REMEDY = "run fastload index again"


@dataclass(frozen=True, eq=False)
class FolderSeek:
    """Where the indexes of a folder's samples lie; arrays [N] in the order of its paths.

    Picklable.
    """

    path: str
    offset: Longs  # bytes
    size: Longs  # bytes; 0: none
    file_size: Longs  # bytes of the image when it was indexed; 0: it was not
    sum: int = 0  # XXH3-64 of INDEX
    layered: bool = False  # they are coefficient layers

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "files"}

    @cached_property
    def files(self) -> _native.Files:
        return _native.Files([self.path], keep_open=True)

    def locate(self, samples: Longs) -> Seek:
        return Seek(self.files, np.zeros_like(samples), self.offset[samples], self.size[samples])


class Problem(NamedTuple):
    """Why a seek index is left aside."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Found(NamedTuple):
    """What lies beside a folder, or in the cache."""

    seek: FolderSeek | None
    bytes: int = 0  # what the whole of seek.path should be long
    checksum: int = 0  # … and its XXH3-64
    problems: tuple[Problem, ...] = ()


def attach(paths: Sequence[str], root: str) -> FolderSeek | None:
    """The seek indexes of the images `paths` below `root`, or None.

    Never raises for what lies on the disk.
    """
    return find_beside(paths, root).seek


def find_beside(paths: Sequence[str], root: str) -> Found:
    """`attach`, with the reasons why something was left aside: the folder's own first, then the
    user's cache.
    """
    root = os.path.expanduser(root)
    return find(names(paths, root), (root, cache_folder(root)))


def find(relative: Sequence[str], folders: Sequence[str]) -> Found:
    """The seek indexes of samples with these names, from the first folder that has them."""
    problems = list[Problem]()
    for folder in folders:
        path = os.path.join(folder, INDEX)
        if not os.path.lexists(path):
            continue
        if wrong := cache.trouble(folder):
            problems.append(Problem(path, f"is not used ({wrong})"))
            continue
        try:
            stored = read(folder)
            fitting = stored.fit(relative)
        except SourceError as error:
            problems.append(_problem(folder, str(error)))
        else:
            return Found(fitting, stored.total, stored.checksum, tuple(problems))
    return Found(None, problems=tuple(problems))


def _problem(folder: str, text: str) -> Problem:
    """A message that begins with the path of one of the files."""
    paths = [os.path.join(folder, name) for name in (SUM, INDEX, DATA)]
    path = next((path for path in paths if text.startswith(f"{path}: ")), paths[1])
    return Problem(path, text.removeprefix(f"{path}: "))


def cache_folder(root: str) -> str:
    """Where the index of a folder goes that cannot be written, and what is collected while it is
    loaded.
    """
    return cache.path("seek", f"{_native.xxh3(os.fsencode(os.path.realpath(root))):016x}")


def names(paths: Sequence[str], root: str) -> list[str]:
    """Paths relative to `root`; one that is not below it stays as it is, and so matches nothing."""
    prefix = os.path.join(root, "")
    return [path[len(prefix) :] if path.startswith(prefix) else path for path in paths]


def names_hash(relative: Sequence[str]) -> str:
    """XXH3 of the list: tells whether the folder still holds the same files in the same order."""
    return f"{_native.xxh3(os.fsencode(chr(0).join(relative))):016x}"


def schema(pa: ModuleType) -> Any:
    """Columns of INDEX. Paths are bytes: file names need not be UTF-8."""
    fields = [pa.field("path", pa.binary(), nullable=False)]
    return pa.schema(
        fields
        + [pa.field(name, pa.int64(), nullable=False) for name in ("file_size", "offset", "size")]
    )


@dataclass(frozen=True, eq=False)
class Stored:
    """What INDEX says: rows in an order of its own; arrays [N]."""

    folder: str
    sum: int  # XXH3-64 of INDEX
    batches: tuple[Any, ...]  # pyarrow record batches
    paths: str  # names_hash of its paths
    file_size: Longs
    offset: Longs
    size: Longs
    total: int  # bytes of DATA; what follows is being added
    checksum: int  # … XXH3-64 of these
    logs: dict[str, int]  # logs of running processes, and up to which byte their records are here
    layered: bool = False  # DATA has coefficient layers

    def names(self) -> list[bytes]:
        return [name for batch in self.batches for name in batch.column("path").to_pylist()]

    def fit(self, relative: Sequence[str]) -> FolderSeek:
        """The rows of these paths, by position if the paths are the same."""
        if self.knows(len(relative), names_hash(relative)):
            return self.seek()
        row = _rows_of(self.names(), relative)
        offset, size, file_size = (
            np.where(row < 0, 0, column[row]) for column in (self.offset, self.size, self.file_size)
        )
        return replace(self.seek(), offset=offset, size=size, file_size=file_size)

    def knows(self, count: int, paths: str) -> bool:
        """Whether its rows are `count` paths with this names_hash."""
        return (len(self.size), self.paths) == (count, paths)

    def seek(self) -> FolderSeek:
        """The rows in their own order."""
        path = os.path.join(self.folder, DATA)
        return FolderSeek(path, self.offset, self.size, self.file_size, self.sum, self.layered)


def read(folder: str) -> Stored:
    """The files in `folder`, checked. Raises SourceError."""
    path = os.path.join(folder, INDEX)
    pa = arrow.import_arrow(path, what="seek indexes need")
    data, checksum = arrow.open_checked(path, REMEDY)
    try:
        return _parse(pa, folder, data, checksum)
    except (pa.ArrowException, struct.error, RecursionError, *arrow.PARSE_ERRORS) as error:
        if isinstance(error, SourceError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: is not a fastload seek index ({reason}); {REMEDY}") from error


def _parse(pa: ModuleType, folder: str, data: arrow.Bytes, checksum: int) -> Stored:
    path = os.path.join(folder, INDEX)
    got = pa.ipc.open_file(pa.py_buffer(data)).schema
    said = json.loads(arrow.small_json((got.metadata or {})[METADATA]))
    if said["version"] != VERSION:
        raise SourceError(
            f"{path}: format version is {said['version']!r}, this fastload reads {VERSION}; "
            f"{REMEDY}"
        )
    rows, total, logs = said["samples"], said["bytes"], said.get("logs", {})
    if not got.equals(schema(pa)) or type(rows) is not int or rows < 1 or type(total) is not int:
        raise ValueError("other columns or metadata")
    if not all(type(end) is int and 0 <= end < 1 << 62 for end in logs.values()):
        raise ValueError("logs that end nowhere")
    step = _check_data(os.path.join(folder, DATA), total)
    table = arrow.read_table(pa, path, data, got, rows, REMEDY)
    file_size, offset, size = (
        table.columns[name].all() for name in ("file_size", "offset", "size")
    )
    if not (
        (size == 0) | ((offset >= HEADER.size) & arrow.inside(offset, size, np.full(rows, total)))
    ).all():
        raise ValueError("an index lies outside its file")
    if (size > limits.longest_index(np.maximum(file_size, 0))).any():
        raise ValueError("an index is longer than its image allows")
    return Stored(
        folder,
        checksum,
        table.batches,
        str(said["paths"]),
        file_size,
        offset,
        size,
        total,
        int(said["xxh3"], 16),
        logs,
        step == COEFFICIENTS,
    )


def _rows_of(known: list[bytes], wanted: Sequence[str]) -> Longs:
    """The row of each wanted path; -1 where there is none."""
    rows = dict(zip(known, range(len(known)), strict=True))
    return np.fromiter((rows.get(os.fsencode(name), -1) for name in wanted), np.int64, len(wanted))


def _check_data(path: str, total: int) -> int:
    """The MCUs per entry that it says."""
    try:
        with open(path, "rb", opener=no_wait) as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(HEADER.size)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be opened ({error.strerror}); restore it, or {REMEDY}"
        ) from error
    if size < total:
        raise SourceError(
            f"{path}: size differs (got {size} bytes, want {total}); restore it, or {REMEDY}"
        )
    magic, version, step = HEADER.unpack(head)
    if (magic, version) != (MAGIC, VERSION):
        raise SourceError(f"{path}: does not begin as seek indexes do; {REMEDY}")
    return int(step)
