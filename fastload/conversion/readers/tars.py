"""Tar archives: WebDataset's (KEY.jpg, KEY.cls, …) and those of a folder of classes.

Plain ones are read where they are.

An archive may come from anywhere: what would leave it (absolute paths, "..", links, devices) is
refused, all of it at once.
"""

import gzip
import io
import json
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from fastload import _native
from fastload.conversion.keys import unique_keys
from fastload.conversion.readers import labels as labelling
from fastload.conversion.readers.base import listed, stamp_of
from fastload.conversion.readers.spans import CHUNK, Files, Span, SpanReader, Spool
from fastload.conversion.readers.tar_members import TWICE, members
from fastload.errors import SourceError
from fastload.files import names as outer
from fastload.system import limits

NAMES = (".tar", ".tar.gz", ".tgz")
IMAGES = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm", "pgm", "bin")
# Key and extension: at the first dot of the last part
SPLIT = re.compile(r"((?:.*/)?[^./]*)\.([^/]+)")
LABELS = ("cls", "json")
DAMAGED = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, OverflowError)
# Bytes of a file with a label; characters of the label
LARGEST_LABEL, LONGEST_LABEL = (1 << 20, 4096)
CLASSES = "classes.json"  # beside the shards: a list of the classes' names


def looks_like_one(name: str) -> bool:
    return name.lower().endswith(NAMES)


def load(where: str, paths: Sequence[str], *, labelled: bool = True) -> SpanReader:
    """The samples of these archives, in their order. Raises SourceError with every problem."""
    files, spans, problems = _Archives(where), list[Span](), list[str]()
    for number, path in enumerate(paths):
        found, wrong = files.scan(number, path)
        spans += found
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
    if any(_split(span)[1] in LABELS for span in spans) or not (
        labelled and all("/" in span.name for span in spans)
    ):
        return _webdataset(where, files, paths, spans, stamp, labelled=labelled)
    return _folder(where, files, spans, stamp)


class _Archives(Files):
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
        except RecursionError:
            return [], [
                "is no tar archive, or damaged (one member has thousands of headers); restore it"
            ]
        except DAMAGED as error:
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


def _split(span: Span) -> tuple[str, str]:
    match = SPLIT.fullmatch(span.name)
    return (match[1], match[2].lower()) if match else (span.name, "")


def _groups(spans: Sequence[Span]) -> Iterator[tuple[str, dict[str, Span]]]:
    """WebDataset's samples: files with one key that follow each other."""
    last, group = None, dict[str, Span]()
    for span in spans:
        key, extension = _split(span)
        if (span.file, key) != last:
            if last:
                yield last[1], group
            last, group = (span.file, key), {}
        group[extension] = span
    if last:
        yield last[1], group


def _webdataset(
    where: str,
    files: _Archives,
    paths: Sequence[str],
    spans: Sequence[Span],
    stamp: int,
    *,
    labelled: bool,
) -> SpanReader:
    keys, images, texts, problems = list[str](), list[Span](), list[str](), list[str]()
    more: dict[int, tuple[Span, ...]] = {}
    seen: set[tuple[int, str]] = set()
    for key, group in _groups(spans):
        found = [extension for extension in group if extension in IMAGES]
        archive = next(iter(group.values())).file
        at = f"{paths[archive]}: sample {key!r}"
        if (archive, key) in seen:
            problems.append(f"{at} {TWICE}")
        elif len(found) != 1:
            said = (
                f"has {len(found)} images ({', '.join(found)})"
                if found
                else f"has no image (has {', '.join(group)})"
            )
            problems.append(f"{at} {said}, want one; correct the archive")
        elif (text := _label(files, group)) is None and labelled:
            problems.append(
                f'{at} has no label (want KEY.cls, or "label" in KEY.json); add it, or pass '
                "--labels none"
            )
        elif wrong := next((name for name in group if outer.suffix_problem(name)), ""):
            problems.append(
                f"{at} has a file whose extension {outer.shown(wrong)} "
                f"{outer.suffix_problem(wrong)}; rename it"
            )
        else:
            more[len(keys)] = tuple(
                span._replace(name=name)
                for name, span in group.items()
                if name not in (found[0], "cls")
            )
            keys.append(key)
            texts.append(text or "")
            images.append(group[found[0]])
        seen.add((archive, key))
    if problems:
        raise SourceError(listed(problems))
    numbers, classes = (
        labelling.numbered(where, texts, _classes(where, texts))
        if labelled
        else labelling.none(len(keys))
    )
    sizes = np.array([span.size for span in images], np.int64)
    named = unique_keys(f"{key}.x" for key in keys)
    return SpanReader(
        where,
        named,
        sizes,
        numbers,
        classes,
        stamp,
        files,
        images,
        {n: spans for n, spans in more.items() if spans},
    )


def _label(files: _Archives, group: dict[str, Span]) -> str | None:
    for name in LABELS:
        if name in group and group[name].size <= LARGEST_LABEL:
            data = files.read(*group[name][1:])
            found = (
                data.decode("utf-8", "replace").strip()
                if name == "cls"
                else labelling.of_json(data)
            )
            if found and len(found) <= LONGEST_LABEL:
                return found
    return None


def _classes(where: str, texts: Sequence[str]) -> list[str] | None:
    """The names beside the shards, if there are any that fit."""
    path = os.path.join(where, CLASSES)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            names = json.loads(file.read(LARGEST_LABEL << 4))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); correct or remove it") from error
    if (
        type(names) is not list
        or not all(type(name) is str for name in names)
        or len(set(names)) != len(names)
    ):
        raise SourceError(f"{path}: is no list of different names; correct or remove it")
    return names


def _folder(where: str, files: _Archives, spans: Sequence[Span], stamp: int) -> SpanReader:
    images = [span for span in spans if _split(span)[1].rsplit(".", 1)[-1] in IMAGES[:-1]]
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
