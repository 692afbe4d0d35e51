"""The index of tars that are opened in place, in the user's cache: what their headers said when
they were read.

It is private to the user, written whole or not at all, and compared with the tars' sizes, times
and inodes at every use. What is damaged or does not fit is made anew.
"""

import json
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastload import _native
from fastload.files import cache
from fastload.sources import arrow
from fastload.sources.tar_parts import Part, Stamp
from fastload.system import limits

# Magic, version, XXH3-64 of what follows behind this header, bytes of the JSON
HEADER = struct.Struct("<8sQQQ")
MAGIC, VERSION = b"FASTTARS", 1
ALIGNED = 8  # bytes: arrays begin at such places


def path_of(where: str) -> str:
    """Where the index of a data set lies."""
    key = _native.xxh3(os.fsencode(os.path.abspath(where)))
    return cache.path("tars", f"{key:016x}.index")


def recall(where: str) -> dict[str, Part]:
    """What is known of the archives of a data set, by their paths; nothing where that is not to be
    trusted.
    """
    file = path_of(where)
    try:
        most = min(os.path.getsize(file), limits.INDEX)
        return decode(cache.recall(file, most))
    except (OSError, struct.error, RecursionError, *arrow.PARSE_ERRORS):
        return {}


def keep(where: str, parts: Mapping[str, Part]) -> bool:
    """Whether that went well: without it the next program reads the headers again."""
    return cache.keep(path_of(where), encode(parts))


def encode(parts: Mapping[str, Part]) -> bytes:
    # Archives share most of their labels' texts, so each text is there once
    texts = {text: number for number, text in enumerate(_texts(parts))}
    said = []
    for path, part in parts.items():
        lengths = (len(part.size), len(part.names), len(part.texts))
        said.append([path, *part.stamp, part.ambiguous, part.folders, *lengths])
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
    """One archive's, and where it ends. Raises ValueError."""
    *stamp, ambiguous, folders, count, names, kinds = row
    if not all(type(number) is int and number >= 0 for number in (*stamp, count, names, kinds)):
        raise ValueError("a number is none")
    arrays = []
    for length in (count, count, count, kinds):
        arrays.append(np.frombuffer(body, "<i8", length, at).astype(np.int64, copy=False))
        at += 8 * length
    offset, size, label, numbers = arrays
    if ((numbers < 0) | (numbers >= len(texts))).any():
        raise ValueError("a label has no text")
    own = tuple(str(texts[number]) for number in numbers.tolist())
    lines, facts = bytes(body[at : at + names]), (bool(ambiguous), bool(folders))
    part = Part(Stamp(*stamp), *facts, lines, offset, size, label, own)
    ends = np.full(count, part.stamp.size)
    inside = (part.size == 0) | arrow.inside(part.offset, part.size, ends)
    labelled = (part.label >= -1) & (part.label < kinds)
    if not (inside & labelled).all() or len(part.names.split(b"\n")) != max(count, 1):
        raise ValueError("an image lies outside its archive, or has no name or class")
    return part, at + names + -names % ALIGNED


def _padded(block: bytes, filler: bytes) -> bytes:
    return block + filler * (-len(block) % ALIGNED)
