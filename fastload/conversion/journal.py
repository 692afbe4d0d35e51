"""What a conversion has done so far: records that are only appended, each with a checksum and on
disk before the next step.

u8[8] "FASTJRNL", then records: u64 XXH3-64 of what follows in the record, u64 bytes of the text,
the text: JSON. The first says which job it is. A reader stops at the first record that is not
    whole.
"""

import json
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from fastload import _native
from fastload.errors import ConversionError
from fastload.files.below import DirEntry
from fastload.files.names import Inner, NameRefusedError
from fastload.spec import Json
from fastload.system import limits

Record = Json

MAGIC = b"FASTJRNL"
HEAD = struct.Struct("<QQ")
VERSION = 1
CHECKSUM = 17  # characters before the name in a part's list of files: XXH3-64, a blank


class Journal:
    """An open journal; `append` may be called from any thread.

    records: what an earlier run has left, without the first.
    """

    def __init__(self, entry: DirEntry, job: Record, *, resume: bool) -> None:
        """Begin one, or with `resume` go on with what lies there.

        Raises ConversionError if that is another job's; OSError.
        """
        self.lock = threading.Lock()
        self.records: list[Record] = []
        job = {"version": VERSION, **job}
        said, end = read(entry) if resume else ([], 0)
        if said:
            if other := different(job, said[0]):
                what = f"was begun with another {', '.join(other)}"
                raise ConversionError(
                    f"{entry.folder.path}: {what}; give the same again, or leave --resume out to "
                    "begin anew"
                )
            self.records = said[1:]
        if said:
            self.file = entry.folder.open(entry.name, os.O_WRONLY | os.O_APPEND)
            os.ftruncate(self.file, end)  # a record that was cut off
            return
        if entry.folder.has(entry.name):
            entry.folder.remove(entry.name)
        self.file = entry.folder.create(entry.name, flags=os.O_WRONLY | os.O_APPEND)
        self._write(MAGIC)
        self.append(job)

    def append(self, record: Record) -> None:
        """On disk when this returns. Raises OSError."""
        text = json.dumps(record, separators=(",", ":")).encode()
        body = HEAD.pack(0, len(text))[8:] + text
        with self.lock:
            self._write(_native.xxh3(body).to_bytes(8, "little") + body)
            os.fsync(self.file)

    def close(self) -> None:
        os.close(self.file)

    def _write(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(self.file, view) :]


def different(one: Record, other: Record) -> list[str]:
    """Names of what two jobs do otherwise. A job has a version of Pillow only with edits: where
    edits differ, the version is not named, too.
    """
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return [name for name in names if name != "Pillow" or "edits" not in names]


def read(entry: DirEntry) -> tuple[list[Record], int]:
    """All whole records, and where they end; nothing if there is no journal.

    Raises OSError for a link or a pipe in its place.
    """
    try:
        with os.fdopen(entry.folder.open(entry.name), "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return [], 0
            records, at = [], len(MAGIC)
            while record := _next(file, os.fstat(file.fileno()).st_size - at):
                records.append(record[0])
                at += record[1]
            return records, at
    except FileNotFoundError:
        return [], 0


def _next(file: BinaryIO, left: int) -> tuple[Record, int] | None:
    """The next record and its bytes, of `left` that the file has; None: it is not whole, or no
    record of ours.
    """
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    checksum, size = HEAD.unpack(head)
    if size > min(left - HEAD.size, limits.RECORD):
        return None
    text = file.read(size)
    if len(text) < size or _native.xxh3(head[8:] + text) != checksum:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (record, HEAD.size + size) if type(record) is dict else None


def files(records: Sequence[Record]) -> Iterator[Inner]:
    """The files of all parts, below the folder that parts are written to.

    What is no such name is passed over.
    """
    for record in records:
        yield from _names([record.get("path"), *_listed(record.get("sidecar"))[:1]])
        yield from _names([str(line)[CHECKSUM:] for line in _listed(record.get("names"))])


def committed(records: Sequence[Record]) -> Iterator[tuple[Inner, Inner]]:
    """What a commit has renamed or was about to: temporary and final name, directly in the folder.

    Whoever can write the folder can write a journal: a name that leads out of it is passed over.
    """
    for record in records:
        for pair in _listed(record.get("commit")):
            names = list(_names(_listed(pair)))
            if len(names) == 2 and not any("/" in name for name in names):
                yield names[0], names[1]


def _listed(said: object) -> list[Any]:
    return said if type(said) is list else []


def _names(said: Sequence[object]) -> Iterator[Inner]:
    for each in said:
        if isinstance(each, str) and each:
            try:
                yield Inner(each)
            except NameRefusedError:
                continue
