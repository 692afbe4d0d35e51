"""Damaged JPEGs, drawn by a seed from good ones: what disks, networks and programs do to files, and
what a fuzzer would.

Kinds are added, never taken away. No kind says whether its file is bad: Pillow does.
"""

import random
import struct
from collections.abc import Callable
from io import BytesIO

from PIL import Image

from tests.hostile.applications import application

from .segments import EOI, RESTARTS, WITHOUT_LENGTH, in_scan, markers, scan, segment, segments

Damage = Callable[[bytes, random.Random], bytes]


def _put(data: bytes, at: int, new: bytes, instead: int = 0) -> bytes:
    return data[:at] + new + data[at + instead :]


def _flipped(data: bytes, places: range, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.choice(places)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _replaced(data: bytes, places: range, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.choice(places)] = rng.choice((0, 0xFF, rng.randrange(256)))
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.choice((rng.randrange(1, len(data)), len(data) - rng.randrange(1, 40)))]


def cut_and_closed(data: bytes, rng: random.Random) -> bytes:
    return data[: in_scan(data, rng)] + EOI


def bits(data: bytes, rng: random.Random) -> bytes:
    return _flipped(data, range(scan(data), len(data)), rng)


def overwritten(data: bytes, rng: random.Random) -> bytes:
    return _replaced(data, range(scan(data), len(data)), rng)


def bits_of_the_header(data: bytes, rng: random.Random) -> bytes:
    return _flipped(data, range(2, scan(data)), rng)


def bytes_of_the_header(data: bytes, rng: random.Random) -> bytes:
    return _replaced(data, range(2, scan(data)), rng)


def block_lost(data: bytes, rng: random.Random) -> bytes:
    """A disk's block: zeros, 0xFF, noise, or another one's bytes."""
    size = min(rng.choice((16, 512, 4096)), len(data) // 4)
    at, other = rng.randrange(len(data) - size), rng.randrange(len(data) - size)
    return _put(
        data,
        at,
        rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size), data[other : other + size])),
        size,
    )


def bytes_lost(data: bytes, rng: random.Random) -> bytes:
    return _put(data, in_scan(data, rng), b"", rng.choice((1, 2, 3, 100, 4096)))


def bytes_added(data: bytes, rng: random.Random) -> bytes:
    return _put(data, in_scan(data, rng), rng.randbytes(rng.choice((1, 2, 3, 100))))


def marker_added(data: bytes, rng: random.Random) -> bytes:
    """Without a segment behind it, as chance makes it."""
    return _put(
        data,
        in_scan(data, rng),
        bytes([0xFF, rng.choice((*WITHOUT_LENGTH, 0xFF, rng.randrange(256)))]),
    )


def segment_added(data: bytes, rng: random.Random) -> bytes:
    marker = rng.choice(
        (0xC0, 0xC2, 0xC4, 0xDA, 0xDB, 0xDC, 0xDD, 0xE0, 0xE1, 0xFE, 0xF0, rng.randrange(1, 256))
    )
    new = segment(marker, rng.randbytes(rng.choice((0, 1, 2, 10, 65, 200))))
    return _put(data, rng.choice((in_scan(data, rng), *(one.begin for one in segments(data)))), new)


def segment_lost(data: bytes, rng: random.Random) -> bytes:
    lost = rng.choice(list(segments(data)))
    return _put(data, lost.begin, b"", lost.end - lost.begin)


def segment_again(data: bytes, rng: random.Random) -> bytes:
    all_of_them = list(segments(data))
    one, before = rng.choice(all_of_them), rng.choice(all_of_them)
    return _put(data, before.begin, data[one.begin : one.end])


def length_wrong(data: bytes, rng: random.Random) -> bytes:
    one = rng.choice(list(segments(data)))
    length = one.end - one.begin - 2
    new = rng.choice((0, 1, 2, 0xFFFF, length - 1, length + 1, rng.randrange(1 << 16)))
    return _put(data, one.begin + 2, struct.pack(">H", new), 2)


def table_damaged(data: bytes, rng: random.Random) -> bytes:
    one = rng.choice([one for one in segments(data) if one.marker in (0xC4, 0xDB)])
    return _replaced(data, range(one.begin + 4, one.end), rng)


def frame_damaged(data: bytes, rng: random.Random) -> bytes:
    one = rng.choice([one for one in segments(data) if one.marker in (0xC0, 0xC1, 0xC2, 0xDA)])
    return rng.choice((_replaced, _flipped))(data, range(one.begin + 1, one.end), rng)


def application_damaged(data: bytes, rng: random.Random) -> bytes:
    """Segments that libjpeg passes over, and Pillow reads; some are whole."""
    at = rng.choice([one.begin for one in segments(data)])
    for _ in range(rng.choice((1, 1, 2))):
        data = _put(data, at, application(rng))
    return data


def end_lost(data: bytes, rng: random.Random) -> bytes:
    return data[: -rng.choice((1, 2))] + rng.choice((b"", bytes(2), b"\xff" * 3, rng.randbytes(9)))


def garbage_behind(data: bytes, rng: random.Random) -> bytes:
    return data + rng.choice(
        (bytes(9), rng.randbytes(999), data[: len(data) // 2], data, EOI, b"\xff")
    )


def garbage_before_the_end(data: bytes, rng: random.Random) -> bytes:
    return _put(
        data,
        len(data) - 2,
        rng.choice(
            (
                bytes(2),
                b"\xff\xff",
                rng.randbytes(5),
                data[: len(data) // 2],
                segment(0xFE, b"late"),
            )
        ),
    )


def garbage_between(data: bytes, rng: random.Random) -> bytes:
    at = rng.choice([one.begin for one in segments(data)])
    return _put(
        data,
        at,
        rng.choice((bytes(1), b"\xff", b"\xff\0", rng.randbytes(3), b"\xff\xd8", b"\xff\xd0")),
    )


def an_image_within(data: bytes, rng: random.Random) -> bytes:
    return _put(data, in_scan(data, rng), rng.choice((b"\xff\xd8", data[: scan(data) + 50], data)))


def height_later(data: bytes, rng: random.Random) -> bytes:
    """DNL, as T.81 allows: the height is 0 in the frame's header."""
    one = next(one for one in segments(data) if one.marker in (0xC0, 0xC1, 0xC2))
    height = data[one.begin + 5 : one.begin + 7]
    zeroed = data if rng.random() < 0.3 else _put(data, one.begin + 5, bytes(2), 2)
    return _put(zeroed, len(zeroed) - 2, segment(0xDC, height))


def interval_added(data: bytes, rng: random.Random) -> bytes:
    """Restart markers are announced, and there are none, or others."""
    return _put(
        data,
        list(segments(data))[-1].begin,
        segment(0xDD, struct.pack(">H", rng.choice((0, 1, 7, 1000, 65535)))),
    )


def restarts_damaged(data: bytes, rng: random.Random) -> bytes:
    places = markers(data, range(0xD0, 0xD8))
    if not places:
        return marker_added(data, rng)
    at, other = rng.choice(places), rng.choice(places)
    swapped = _put(_put(data, at, data[other : other + 2], 2), other, data[at : at + 2], 2)
    renumbered = _put(data, at + 1, bytes([rng.choice(RESTARTS)]), 1)
    one_more = _put(data, len(data) - 2, bytes([0xFF, rng.choice(RESTARTS)]))
    interval_lost = _put(data, min(at, other), b"", abs(other - at))
    return rng.choice((_put(data, at, b"", 2), _put(data, at, data[at : at + 2]), _put(data, at,
        b"\xff"), swapped, renumbered,
                       one_more, interval_lost))  # fmt: skip


def scans_lost(data: bytes, rng: random.Random) -> bytes:
    """Of a progressive file: closed behind one of its scans."""
    begins = [at for at in markers(data, range(0xC4, 0xDB)) if data[at + 1] in (0xC4, 0xDA)]
    return data[: rng.choice(begins)] + EOI if begins else cut_and_closed(data, rng)


def scan_swapped(data: bytes, rng: random.Random) -> bytes:
    begins = [at for at in markers(data, range(0xC4, 0xDB)) if data[at + 1] in (0xC4, 0xDA)]
    if len(begins) < 3:
        return segment_again(data, rng)
    a, b, c = sorted(rng.sample(begins, 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def whole(data: bytes, rng: random.Random) -> bytes:
    return data


KINDS: list[Damage] = [
    cut, cut_and_closed, bits, overwritten, bits_of_the_header, bytes_of_the_header, block_lost,
    bytes_lost, bytes_added, marker_added,
    segment_added, segment_lost, segment_again, length_wrong, table_damaged, frame_damaged,
    application_damaged, end_lost, garbage_behind,
    garbage_before_the_end, garbage_between, an_image_within, height_later, interval_added,
    restarts_damaged, scans_lost, scan_swapped,
    whole,
]  # fmt: skip
CODINGS: dict[str, dict[str, object]] = {"as it was": {}, "restarts": {"restart_marker_blocks": 7},
    "rows": {"restart_marker_rows": 1},
                                         "progressive": {"progressive": True},
                                         "grey": {}}  # fmt: skip


def recoded(data: bytes, coding: str) -> bytes:
    if coding == "as it was":
        return data
    out = BytesIO()
    with Image.open(BytesIO(data)) as image:
        image.convert("L" if coding == "grey" else "RGB").save(
            out, "JPEG", quality=80, **CODINGS[coding]
        )
    return out.getvalue()


def damaged(good: bytes, number: int, seed: int = 0) -> tuple[str, bytes]:
    """The number-th damaged file, and what was done: every kind in turn."""
    rng = random.Random(f"{seed} {number}")
    kind = KINDS[number % len(KINDS)]
    needs = {
        restarts_damaged: ("restarts", "rows"),
        scans_lost: ("progressive",),
        scan_swapped: ("progressive",),
    }
    coding = rng.choice(needs.get(kind, ("as it was", "as it was", *CODINGS)))
    return f"{kind.__name__}, {coding}", kind(recoded(good, coding), rng)
