"""Tar archives: WebDataset's (KEY.jpg, KEY.cls, …) and those of a folder of classes.

Plain ones are read where they are.

An archive may come from anywhere: what would leave it (absolute paths, "..", links, devices) is
refused, all of it at once.
"""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from fastload import _native
from fastload.conversion.keys import unique_keys
from fastload.conversion.readers import webdataset
from fastload.conversion.readers.base import Choice, stamp_of
from fastload.conversion.readers.spans import CHUNK, SpanReader, Spool
from fastload.errors import SourceError, listed
from fastload.sources import labels as labelling
from fastload.sources.tar_members import Files, Span, members
from fastload.sources.tar_samples import all_in_folders, folder_images, has_labels
from fastload.system import limits

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> SpanReader:
    """The samples of these archives, in their order. Raises SourceError with every problem."""
    files, spans, problems = Archives(where), list[Span](), list[str]()
    for number, path in enumerate(paths):
        inside, wrong = files.scan(number, path)
        spans += inside
        problems += [f"{path}: {text}" for text in wrong]
    if not problems and not spans:
        problems.append(f"{where}: no files in {len(paths)} archives; give others")
    if problems:
        raise SourceError(listed(problems))
    stamp = stamp_of(
        [
            [os.path.basename(path), os.stat(path).st_size, os.stat(path).st_mtime_ns]
            for path in paths
        ]
    )
    if has_labels(spans) or not (choice.labelled and all_in_folders(spans)):
        return webdataset.reader(where, files, paths, spans, stamp, choice)
    return _folder(where, files, spans, stamp)


class Archives(Files):
    """Plain archives as they are; compressed ones unpacked into a spool."""

    def __init__(self, where: str) -> None:
        self.where, self.paths = where, dict[int, str]()
        self.unpacked: dict[int, int] = {}  # where each compressed archive begins in the spool
        self.spool: Spool | None = None
        self.opened: _native.Files | None = None

    def scan(self, number: int, path: str) -> tuple[list[Span], list[str]]:
        """The archive's files, and what is wrong with it."""
        try:
            with open(path, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return [], ["is no regular file; give another"]
                self.paths[number] = path
                if path.lower().endswith(".tar"):
                    return members(io.FileIO(path), number, os.fstat(file.fileno()).st_size)
                return self._unpack(number, file)
        except DAMAGED as error:  # of what is compressed
            return [], [
                f"is no tar archive, or damaged ({' '.join(str(error).split())}); restore it"
            ]
        except OSError as error:
            return [], [f"cannot be read ({error.strerror or error}); make it readable"]

    def _unpack(self, number: int, file: IO[bytes]) -> tuple[list[Span], list[str]]:
        self.spool = spool = self.spool or Spool(self.where)
        begin, packed = spool.end, os.fstat(file.fileno()).st_size
        self.unpacked[number] = begin
        with gzip.open(file) as content:
            while part := content.read(CHUNK):
                if problem := limits.swollen(
                    spool.end - begin + len(part), packed, limits.SPOOL_FREE
                ):
                    return [], [f"would be unpacked too far ({problem}); remove it"]
                spool.add(part)
        length = spool.end - begin
        return members(_Slice(spool, begin, length), number, length)

    def read(self, file: int, offset: int, size: int) -> bytes:
        if self.spool is not None and file in self.unpacked:
            return self.spool.read(0, self.unpacked[file] + offset, size)
        if self.opened is None:
            most = max(self.paths) + 1
            self.opened = _native.Files(
                [self.paths.get(number, os.devnull) for number in range(most)], keep_open=True
            )
        return self.opened.read(file, offset, size)


class _Slice(io.RawIOBase):
    """One archive of those in a spool."""

    def __init__(self, spool: Spool, begin: int, length: int) -> None:
        self.spool, self.begin, self.length, self.at = spool, begin, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.at = offset + (0, self.at, self.length)[whence]
        return self.at

    def readinto(self, buffer: Any) -> int:
        data = self.spool.read(
            0, self.begin + self.at, max(0, min(len(buffer), self.length - self.at))
        )
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def _folder(where: str, files: Archives, spans: Sequence[Span], stamp: int) -> SpanReader:
    images = folder_images(spans)
    if not images:
        raise SourceError(
            f"{where}: no images (got {len(spans)} other files); give another archive"
        )
    numbers, classes, names = labelling.of_folders(where, [span.name for span in images])
    return SpanReader(
        where,
        unique_keys(names),
        np.array([span.size for span in images], np.int64),
        numbers,
        classes,
        stamp,
        files,
        images,
    )
