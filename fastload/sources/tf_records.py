"""The records of a TFRecord file.

A record is the length of its data (uint64), a checksum of these 8 bytes, the data, and a checksum
of the data (uint32 each: CRC-32C, turned by 15 bits, plus a constant). The data is an Example
(tf_example.py). Only the checksums of the lengths are checked: those of the data cover the images.
Source: tensorflow/core/lib/io/record_writer.cc.
"""

import os
import struct
from collections.abc import Iterator

import numpy as np

from fastload.errors import SourceError
from fastload.sources.tf_example import Window, WireError

HEAD, SUM = struct.Struct("<QI"), 4  # bytes of a record before and behind its data
PACKED = {b"\x1f\x8b": "GZIP", b"\x78\x01": "ZLIB", b"\x78\x9c": "ZLIB", b"\x78\xda": "ZLIB"}
REMEDY = "copy or write it again"


def _table() -> tuple[int, ...]:
    """CRC-32C of each byte."""
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, sums >> 1 ^ 0x82F63B78, sums >> 1).astype(np.uint32)
    return tuple(sums.tolist())


TABLE = _table()


def masked(data: bytes) -> int:
    """The checksum that TFRecord has of these bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def every(path: str, window: Window) -> Iterator[tuple[int, int, int]]:
    """Where each record of a file begins, and where its data begins and ends.

    Raises SourceError and OSError.
    """
    at, size = 0, os.fstat(window.file).st_size
    while at < size:
        start, stop = _record(path, window, at, size)
        yield at, start, stop
        at = stop + SUM


def damaged(path: str, at: int, error: WireError) -> SourceError:
    """The record at this byte is no sample."""
    return SourceError(
        f"{path}: the record at byte {at} is no fitting tf.train.Example (it {error}); {REMEDY}"
    )


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
