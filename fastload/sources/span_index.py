"""The index of a data set whose samples are spans of files, in the user's cache: what was found in
each file when it was read.

It is private to the user, written whole or not at all, and compared with the files' sizes, times
and inodes at every use. What is damaged or does not fit is made anew.
"""

import json
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.files import cache
from fastload.sources import arrow
from fastload.spec import Longs
from fastload.system import limits

# Magic, version, XXH3-64 of what follows behind this header, bytes of the JSON
HEADER = struct.Struct("<8sQQQ")
MAGIC, VERSION = b"FASTSPAN", 1
ALIGNED = 8  # bytes: arrays begin at such places


class Stamp(NamedTuple):
    """Another one where a file has changed, as far as its facts tell."""

    size: int  # bytes
    time: int  # ns
    inode: int


class Part(NamedTuple):
    """One file of a data set; arrays [N] in the order of its images.

    Args:
        offset, size: Bytes.
        label: Of `texts`, where there are any, -1: none; else the labels themselves.
        names: Of the images, UTF-8, a line each; empty: they have none.
        said: What else the format has found.
        asked: How it was to be read. Where the format asks otherwise, it is read anew.
    """

    offset: Longs
    size: Longs
    label: Longs
    names: bytes = b""
    texts: tuple[str, ...] = ()
    said: str = ""
    asked: str = ""
    stamp: Stamp = Stamp(0, 0, 0)

    def name(self, row: int) -> str:
        return self.names.split(b"\n")[row].decode()


def path_of(format: str, where: str, *how: str) -> str:
    """Where the index of a data set lies. how: what else makes another one of it."""
    key = _native.xxh3(os.fsencode("\0".join([format, os.path.abspath(where), *how])))
    return cache.path("spans", f"{key:016x}.index")


def recall(file: str) -> dict[str, Part]:
    """What is known of the files of a data set, by their paths; nothing where that is not to be
    trusted.
    """
    try:
        most = min(os.path.getsize(file), limits.INDEX)
        return decode(cache.recall(file, most))
    except (OSError, struct.error, RecursionError, *arrow.PARSE_ERRORS):
        return {}


def keep(file: str, parts: Mapping[str, Part]) -> bool:
    """Whether that went well: without it the next program reads the files again."""
    return cache.keep(file, encode(parts))


def encode(parts: Mapping[str, Part]) -> bytes:
    # Files share most of their labels' texts, so each text is there once
    texts = {text: number for number, text in enumerate(_texts(parts))}
    said = []
    for path, part in parts.items():
        lengths = (len(part.size), len(part.names), len(part.texts))
        said.append([path, *part.stamp, *lengths, part.said, part.asked])
    blocks = [_padded(json.dumps([list(texts), said]).encode(), b" ")]
    for part in parts.values():
        numbers = np.array([texts[text] for text in part.texts], np.int64)
        arrays = (part.offset, part.size, part.label, numbers)
        blocks += [array.astype("<i8").tobytes() for array in arrays]
        blocks.append(_padded(part.names, b"\0"))
    body = b"".join(blocks)
    return HEADER.pack(MAGIC, VERSION, _native.xxh3(body), len(blocks[0])) + body


def _texts(parts: Mapping[str, Part]) -> Iterable[str]:
    return dict.fromkeys(text for part in parts.values() for text in part.texts)


def decode(data: bytes) -> dict[str, Part]:
    """Raises ValueError, and others of PARSE_ERRORS, for what no fastload wrote."""
    magic, version, checksum, length = HEADER.unpack_from(data)
    body = memoryview(data)[HEADER.size :]
    if (magic, version, checksum) != (MAGIC, VERSION, _native.xxh3(body)):
        raise ValueError("is damaged, or of another version")
    at, parts = length, dict[str, Part]()
    texts, said = json.loads(arrow.small_json(bytes(body[:length])))
    for path, *row in said:
        parts[path], at = _part(body, at, row, texts)
    return parts


def _part(body: memoryview, at: int, row: list[Any], texts: list[Any]) -> tuple[Part, int]:
    """One file's, and where it ends. Raises ValueError."""
    *facts, said, asked = row
    if not all(type(number) is int and number >= 0 for number in facts):
        raise ValueError("a number is none")
    if not type(said) is type(asked) is str:
        raise ValueError("a text is none")
    *stamp, count, names, kinds = facts
    arrays = []
    for length in (count, count, count, kinds):
        arrays.append(np.frombuffer(body, "<i8", length, at).astype(np.int64, copy=False))
        at += 8 * length
    offset, size, label, numbers = arrays
    if ((numbers < 0) | (numbers >= len(texts))).any():
        raise ValueError("a label has no text")
    own = tuple(str(texts[number]) for number in numbers.tolist())
    lines = bytes(body[at : at + names])
    part = Part(offset, size, label, lines, own, said, asked, Stamp(*stamp))
    inside = (size == 0) | arrow.inside(offset, size, np.full(count, part.stamp.size))
    labelled = (label >= -1) & (label < kinds) if kinds else np.True_
    if not (inside & labelled).all() or (lines and len(lines.split(b"\n")) != count):
        raise ValueError("an image lies outside its file, or has no name or class")
    return part, at + names + -names % ALIGNED


def _padded(block: bytes, filler: bytes) -> bytes:
    return block + filler * (-len(block) % ALIGNED)
