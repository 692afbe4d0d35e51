"""Bad JPEGs of every kind that a decoder has failed on, made from one good one.

Kinds are added, never taken away.
"""

import struct
from collections.abc import Callable
from typing import Any

from tests.kernels.helpers import jpeg, scene
from tests.kernels.jpeg_writer import Writer, segment

HEIGHT, WIDTH = 19, 37  # px; neither is a multiple of a block
FACTORS = {"4:2:0": [(2, 2), (1, 1), (1, 1)], "4:4:4": [(1, 1)] * 3, "grey": [(1, 1)]}


def good(sampling: str = "4:2:0", **how: object) -> bytes:
    return jpeg(scene(HEIGHT, WIDTH), sampling, **how)


def written(sampling: str = "4:2:0", **how: Any) -> bytes:
    return Writer(HEIGHT, WIDTH, FACTORS[sampling], seed=3, **how).encode()


def place(data: bytes, marker: int) -> int:
    return data.index(bytes([0xFF, marker]))


def frame(data: bytes) -> int:
    return next(place(data, marker) for marker in (0xC0, 0xC2) if bytes([0xFF, marker]) in data)


def scan(data: bytes) -> int:
    """The first coded byte."""
    at = place(data, 0xDA)
    return at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def patched(data: bytes, at: int, values: bytes) -> bytes:
    return data[:at] + values + data[at + len(values) :]


def inserted(data: bytes, marker: int, values: bytes) -> bytes:
    at = place(data, marker)
    return data[:at] + values + data[at:]


def sized(height: int, width: int, **how: object) -> bytes:
    data = good(**how)
    return patched(data, frame(data) + 5, struct.pack(">HH", height, width))


def flipped(share: float, **how: object) -> bytes:
    """One bit of the scan is another one."""
    data = good(**how)
    at = scan(data) + int((len(data) - scan(data) - 2) * share)
    return patched(data, at, bytes([data[at] ^ 0x10]))


def without(marker: int) -> bytes:
    data = good()
    at = place(data, marker)
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4], "big") :]


def table(counts: list[int], symbols: bytes) -> bytes:
    """A Huffman table of DC in front of the scan: it replaces the one of luma."""
    return inserted(
        good(), 0xDA, segment(0xC4, bytes([0, *counts, *[0] * (16 - len(counts))]) + symbols)
    )


def two_frames() -> bytes:
    data = good()
    at = frame(data)
    header = patched(data[at : at + 19], 5, struct.pack(">HH", 5, 7))
    return data[:at] + header + data[at:]


def restarts(*, wrong: bool) -> bytes:
    data = written(restart=2)
    at = data.index(b"\xff\xd1", scan(data))
    return patched(data, at, b"\xff\xd5") if wrong else data[:at] + data[at + 2 :]


def many_scans() -> bytes:
    data = good(progressive=True)
    first = place(data, 0xDA)
    stop = next(
        at
        for at in range(first + 2, len(data))
        if data[at] == 0xFF and data[at + 1] not in (0, 0xDA)
    )
    return data[:stop] + data[data.rindex(b"\xff\xda") : -2] * 600 + data[stop:]


UNKNOWN, BROKEN, ENDS = (
    "cannot identify image file",
    "broken data stream when reading image file",
    "Truncated File Read",
)
BOMB = (
    "Image size (4290250000 pixels) exceeds limit of 178956970 pixels, could be decompression "
    "bomb DOS attack."
)

# Each kind, and why it cannot be decoded. None: Pillow's pixels come, since it has the last word on
# what is damaged.
KINDS: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "whole": (good, None),
    "progressive": (lambda: good(progressive=True), None),
    "grey": (lambda: written("grey"), None),
    "restart markers": (lambda: written(restart=2), None),
    "bytes behind the end": (lambda: good() + b"\0\xff\xd8\xff" * 50, None),
    "fill bytes before markers": (lambda: inserted(good(), 0xDB, b"\xff" * 9), None),
    "a comment of the longest kind": (
        lambda: inserted(good(), 0xDB, segment(0xFE, bytes(65533))),
        None,
    ),
    "nothing": (lambda: b"", UNKNOWN),
    "two bytes": (lambda: b"\xff\xd8", UNKNOWN),
    "only markers": (lambda: b"\xff\xd8\xff\xd9", UNKNOWN),
    "fill bytes for ever": (lambda: b"\xff\xd8" + b"\xff" * 5000, UNKNOWN),
    "cut in the header": (lambda: good()[:100], ENDS),
    "cut before the scan": (
        lambda: good()[: scan(good())],
        "image file is truncated (0 bytes not processed)",
    ),
    "cut in the scan": (
        lambda: good()[: (scan(good()) + len(good())) // 2],
        "image file is truncated (132 bytes not processed)",
    ),
    "progressive, cut": (
        lambda: good(progressive=True)[:-200],
        "image file is truncated (2 bytes not processed)",
    ),
    "a segment longer than the file": (
        lambda: patched(good(), place(good(), 0xDB) + 2, b"\xff\xff"),
        ENDS,
    ),
    "a segment shorter than its length": (
        lambda: patched(good(), place(good(), 0xDB) + 2, b"\0\1"),
        BROKEN,
    ),
    "taller than its scan": (lambda: sized(HEIGHT + 40, WIDTH), None),
    "no height": (lambda: sized(0, WIDTH), UNKNOWN),
    "no width": (lambda: sized(HEIGHT, 0), UNKNOWN),
    "too many pixels": (lambda: sized(65500, 65500), BOMB),
    "12 bits per value": (lambda: patched(good(), frame(good()) + 4, b"\x0c"), UNKNOWN),
    "two components": (lambda: patched(good(), frame(good()) + 9, b"\2"), UNKNOWN),
    "sampling of 0": (lambda: patched(good(), frame(good()) + 11, b"\0"), BROKEN),
    "sampling of 5": (lambda: patched(good(), frame(good()) + 11, b"\x51"), BROKEN),
    "two frames": (two_frames, BROKEN),
    "no quantisation": (lambda: without(0xDB), BROKEN),
    "no Huffman table": (lambda: without(0xC4), None),
    "a table with too many codes": (lambda: table([3], bytes(3)), BROKEN),
    "a table with no codes": (lambda: table([], b""), None),
    "a table of codes that nobody may use": (lambda: table([0] * 15 + [255], bytes(255)), None),
    "a flipped bit in the scan": (lambda: flipped(0.4), None),
    "a flipped bit at the end": (lambda: flipped(0.98), None),
    "a restart marker out of turn": (lambda: restarts(wrong=True), None),
    "a restart marker that is missing": (lambda: restarts(wrong=False), None),
    "progressive with hundreds of scans": (many_scans, BROKEN),
    "a PNG's name for random bytes": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(200)), UNKNOWN),
}
