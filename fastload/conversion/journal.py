"""What a conversion has done so far: records that are only appended, each with a checksum and on disk before the next step.

u8[8] "FASTJRNL", then records: u64 XXH3-64 of what follows in the record, u64 bytes of the text, the text: JSON. The first says which job
it is. A reader stops at the first record that is not whole.
"""

import json
import os
import struct
import threading
from typing import Any, BinaryIO

from fastload import _native, limits
from fastload.errors import ConversionError

MAGIC = b"FASTJRNL"
HEAD = struct.Struct("<QQ")
VERSION = 1


class Journal:
    """An open journal; `append` may be called from any thread. records: what an earlier run has left, without the first."""

    def __init__(self, path: str, job: dict[str, Any], *, resume: bool) -> None:
        """Begin one, or with `resume` go on with what lies at `path`. Raises ConversionError if that is another job's; OSError."""
        self.path, self.lock = path, threading.Lock()
        self.records: list[dict[str, Any]] = []
        job = {"version": VERSION, **job}
        said, end = read(path) if resume else ([], 0)
        if said:
            if other := sorted(name for name in {*job, *said[0]} if job.get(name) != said[0].get(name)):
                what = f"was begun with another {', '.join(other)}"
                raise ConversionError(f"{os.path.dirname(path)}: {what}; give the same again, or leave --resume out to begin anew")
            self.records = said[1:]
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if said else os.O_TRUNC), 0o644)
        if said:
            os.ftruncate(self.file, end)  # a record that was cut off
            return
        self._write(MAGIC)
        self.append(job)

    def append(self, record: dict[str, Any]) -> None:
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


def read(path: str) -> tuple[list[dict[str, Any]], int]:
    """All whole records, and where they end; nothing if there is no journal."""
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return [], 0
            found, at = [], len(MAGIC)
            while record := _next(file, os.fstat(file.fileno()).st_size - at):
                found.append(record[0])
                at += record[1]
            return found, at
    except FileNotFoundError:
        return [], 0


def _next(file: BinaryIO, left: int) -> tuple[dict[str, Any], int] | None:
    """The next record and its bytes, of `left` that the file has; None: it is not whole, or no record of ours."""
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
