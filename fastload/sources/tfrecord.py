"""TFRecord files of tf.train.Example, read where they lie, without TensorFlow.

A record is the length of its data (uint64), a checksum of these 8 bytes, the data, and a checksum
of the data (uint32 each: CRC-32C, turned by 15 bits, plus a constant). The data is an Example
(tf_example.py). Opening goes over the records' heads and the small features; it reads no images,
and so it checks the checksums of the lengths only.
Source: tensorflow/core/lib/io/record_writer.cc.
"""

import os
import struct
from array import array
from functools import partial
from typing import NamedTuple

import numpy as np

from fastload.errors import SHOWN, SourceError
from fastload.sources import first_look, span_files, span_index, tf_names
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_index import Part
from fastload.sources.tf_example import (
    BYTES,
    INTEGERS,
    KINDS,
    Value,
    Window,
    WireError,
    feature,
    one_bytes,
    one_integer,
    text,
)

IMAGES = ("image/encoded", "image", "image_bytes", "image_raw", "encoded", "jpeg", "jpg", "png")
LABELS = ("image/class/label", "label", "class", "target", "cls")
HEAD, SUM = struct.Struct("<QI"), 4  # bytes of a record before and behind its data
PACKED = {b"\x1f\x8b": "GZIP", b"\x78\x01": "ZLIB", b"\x78\x9c": "ZLIB", b"\x78\xda": "ZLIB"}
REMEDY = "copy or write it again"
ASK = "name the features with images and labels: fields=(IMAGE, LABEL)"


def _table() -> tuple[int, ...]:
    """CRC-32C of each byte."""
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, sums >> 1 ^ 0x82F63B78, sums >> 1).astype(np.uint32)
    return tuple(sums.tolist())


TABLE = _table()


class Names(NamedTuple):
    """The names of the features that are read."""

    image: bytes
    label: bytes


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The records of one file, of a folder of files, or of those that a pattern names.

    fields: the names of the features with images and labels; None takes the first of IMAGES and
    LABELS that the first record has. Raises SourceError with the first problem of each file.
    """
    paths = tf_names.files(where)
    names = _chosen(where, paths, fields)
    found = first_look.parts(
        where,
        span_index.path_of("tfrecord", where, *(fields or ())),
        dict.fromkeys(paths, repr(names)),
        lambda path, file, _: _spans(path, file.fileno(), names),
        span_files.READERS,
    )
    spans = [found[path] for path in paths]
    labels = np.unique(np.concatenate([part.label for part in spans]))
    classes = tf_names.classes(paths[0], names.label.decode("utf-8", "surrogateescape"), labels)
    return span_files.joined(where, paths, spans, classes)


def masked(data: bytes) -> int:
    """The checksum that TFRecord has of these bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def _chosen(where: str, paths: list[str], fields: tuple[str, str] | None) -> Names:
    """What the first record has. Raises SourceError."""
    for path in paths:
        if names := span_files.opened(path, partial(_of_first, path, fields=fields)):
            return names
    raise SourceError(f"{where}: holds no records; {REMEDY}")


def _of_first(path: str, file: int, fields: tuple[str, str] | None) -> Names | None:
    """None: there is no record. Raises SourceError."""
    size, window = os.fstat(file).st_size, Window(file)
    if not size:
        return None
    start, stop = _record(path, window, 0, size)
    try:
        features = feature(window, start, stop, ())
        image, label = (
            _one(path, features, kind, names)
            for kind, names in (
                (BYTES, (fields[0],) if fields else IMAGES),
                (INTEGERS, (fields[1],) if fields else LABELS),
            )
        )
        at, length = one_bytes(window, features[image])
    except WireError as error:
        raise _damaged(path, 0, error) from error
    check_image(f"{path}: feature {text(image)}", file, at, length, ASK)
    return Names(image, label)


def _one(path: str, features: dict[bytes, Value], kind: int, names: tuple[str, ...]) -> bytes:
    """The first of the names that is of this kind. Raises SourceError."""
    for name in names:
        data = name.encode("utf-8", "surrogateescape")
        if data in features and features[data].kind == kind:
            return data
    has = ", ".join(
        f"{text(name)} ({KINDS[value.kind]})" for name, value in list(features.items())[:SHOWN]
    )
    raise SourceError(
        f"{path}: has no {KINDS[kind]} feature {' or '.join(map(repr, names))} (has "
        f"{has or 'none'}); {ASK}"
    )


def _spans(path: str, file: int, names: Names) -> Part:
    """Raises SourceError and OSError."""
    offset, sizes, labels = array("q"), array("q"), array("q")
    size, window, at = os.fstat(file).st_size, Window(file), 0
    while at < size:
        start, stop = _record(path, window, at, size)
        try:
            found = feature(window, start, stop, names)
            for name, kind in zip(names, (BYTES, INTEGERS), strict=True):
                if name not in found or found[name].kind != kind:
                    raise WireError(f"has no {KINDS[kind]} feature {text(name)}")
            image, length = one_bytes(window, found[names.image])
            labels.append(one_integer(window, found[names.label]))
        except WireError as error:
            raise _damaged(path, at, error) from error
        offset.append(image)
        sizes.append(length)
        at = stop + SUM
    columns = [np.array(one, np.int64) for one in (offset, sizes, labels)]
    return Part(columns[0], columns[1], columns[2])


def _record(path: str, window: Window, at: int, size: int) -> tuple[int, int]:
    """Where the data of the record at this byte begins and ends. Raises SourceError and OSError."""
    start = at + HEAD.size
    head = window.read(at, start)
    if len(head) == HEAD.size:
        length, checksum = HEAD.unpack(head)
        if masked(head[:8]) != checksum:
            if packed := PACKED.get(head[:2] if not at else b""):
                raise SourceError(
                    f"{path}: is compressed ({packed}), want plain records; unpack it, or write "
                    "it without compression"
                )
            raise SourceError(
                f"{path}: is no TFRecord file, or damaged at byte {at} (the checksum of a length "
                f"is wrong); {REMEDY}"
            )
        if start + length + SUM <= size:
            return start, start + length
    raise SourceError(
        f"{path}: is cut off in the record at byte {at} (the file has {size} bytes); {REMEDY}"
    )


def _damaged(path: str, at: int, error: WireError) -> SourceError:
    return SourceError(
        f"{path}: the record at byte {at} is no fitting tf.train.Example (it {error}); {REMEDY}"
    )
