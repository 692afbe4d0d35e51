"""A JPEG's markers and segments, as offsets into the file."""

import random
import struct
from collections.abc import Iterator
from typing import NamedTuple

EOI, RESTARTS = b"\xff\xd9", range(0xD0, 0xD8)
WITHOUT_LENGTH = {0x01, *RESTARTS, 0xD8, 0xD9}


class Segment(NamedTuple):
    marker: int
    begin: int  # of its 0xFF
    end: int  # behind its last byte; of a scan, behind its header


def segments(data: bytes) -> Iterator[Segment]:
    """Up to the first scan's header, with it. Of a file that is still whole."""
    at = 2
    while True:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        yield Segment(marker, at, at + 2 + length)
        at += 2 + length
        if marker == 0xDA:
            return


def scan(data: bytes) -> int:
    """The first coded byte."""
    return list(segments(data))[-1].end


def markers(data: bytes, wanted: range) -> list[int]:
    """Where they stand in the scan, and behind it."""
    found, at = [], scan(data)
    while (at := data.find(b"\xff", at)) >= 0 and at + 1 < len(data):
        if data[at + 1] in wanted:
            found.append(at)
        at += 2
    return found


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", 2 + len(content)) + content


def in_scan(data: bytes, rng: random.Random) -> int:
    return rng.randrange(scan(data), len(data) - 2)
