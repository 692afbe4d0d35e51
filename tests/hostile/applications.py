"""Segments of applications as Pillow's parser reads them (JFIF, EXIF, ICC, MPF, Photoshop, Adobe),
whole and damaged, drawn by a seed.
"""

import random
import struct


def tiff(
    big: bool, entries: list[tuple[int, int, int, bytes]], rest: bytes = b"", first: int = 8
) -> bytes:
    """tag, type, count, value of 4 bytes."""
    order = ">" if big else "<"
    head = (b"MM\0*" if big else b"II*\0") + struct.pack(order + "L", first)
    table = b"".join(
        struct.pack(order + "HHL", tag, kind, count) + value for tag, kind, count, value in entries
    )
    return head + struct.pack(order + "H", len(entries)) + table + bytes(4) + rest


def exif(rng: random.Random) -> bytes:
    """With a resolution, now and then of a strange type, count or place."""
    big = rng.random() < 0.5
    order = ">" if big else "<"
    strange = rng.random() < 0.6
    kind, count = (
        (rng.randrange(0, 14), rng.choice((0, 1, 1, 2, 5, 1 << 31))) if strange else (5, 1)
    )
    unit, units = (
        (rng.randrange(0, 14), rng.choice((0, 1, 3))) if strange and rng.random() < 0.5 else (3, 1)
    )
    where = rng.choice((0, 8, 62, 10_000, rng.getrandbits(32))) if strange else 62
    entries = [
        (0x10F, 2, 4, b"abc\0"), (0x112, 3, 1, struct.pack(order + "HH", rng.choice((1, 6, 99)),
        0)),
        (0x11A, kind, count, struct.pack(order + "L", where)), (0x128, unit, units,
        struct.pack(order + "HH", rng.choice((1, 2, 3)), 0)),
    ]  # fmt: skip
    if rng.random() < 0.2:
        entries.append(rng.choice(entries))
    rest = struct.pack(order + "LL", rng.choice((72, 0, 300)), rng.choice((1, 0, 7)))
    return b"Exif\0\0" + tiff(big, entries, rest)


def mpf(rng: random.Random) -> bytes:
    big = rng.random() < 0.5
    order = ">" if big else "<"
    images, said = (
        rng.choice((1, 2, 3)),
        rng.choice((0, 1, 2, 3, 1 << 31)) if rng.random() < 0.3 else None,
    )
    count = struct.pack(order + "L", images if said is None else said)
    entries = [(0xB000, 7, 4, b"0100"), (0xB001, rng.choice((4, 4, 4, 3, 2, 7)), rng.choice((1, 1,
        1, 0, 2)), count),
               (0xB002, rng.choice((7, 7, 7, 4, 2)), 16 * images - rng.choice((0, 0, 0, 1, 16)),
               struct.pack(order + "L", 50))]  # fmt: skip
    table = b"".join(
        struct.pack(order + "LLLHH", rng.choice((0x030000, 1 << 24)), 999, 99, 0, 0)
        for _ in range(images)
    )
    return b"MPF\0" + tiff(big, entries, table)


def icc(rng: random.Random) -> bytes:
    return b"ICC_PROFILE\0" + bytes([rng.choice((0, 1, 2)), rng.choice((0, 1, 2))]) + bytes(20)


def photoshop(rng: random.Random) -> bytes:
    blocks = b"".join(
        b"8BIM"
        + struct.pack(">HBx", rng.choice((0x3ED, 0x404)), rng.choice((0, 0, 3, 255)))
        + struct.pack(">L", size)
        + bytes(size)
        for size in (rng.choice((0, 1, 3, 16)) for _ in range(rng.choice((0, 1, 3))))
    )
    return b"Photoshop 3.0\0" + blocks


def jfif(rng: random.Random) -> bytes:
    return b"JFIF\0" + bytes(
        [rng.choice((0, 1, 1, 2)), 2, rng.choice((0, 1, 2)), 0, 72, 0, 72, 0, 0]
    )


def adobe(rng: random.Random) -> bytes:
    return b"Adobe\0" + bytes([100, 0, 0, 0, 0, rng.choice((0, 1, 2))])


def xmp(rng: random.Random) -> bytes:
    return b"http://ns.adobe.com/xap/1.0/\0" + rng.choice(
        (b'<x tiff:Orientation="6" hdrgm:Version="1.0"/>', b"", b"\xff\xfe", rng.randbytes(30))
    )


KINDS = {exif: 0xE1, mpf: 0xE2, icc: 0xE2, photoshop: 0xED, jfif: 0xE0, adobe: 0xEE, xmp: 0xE1}


def application(rng: random.Random) -> bytes:
    """A whole segment, its content as it should be, cut, or with some bytes changed."""
    kind = rng.choice(list(KINDS))
    content = kind(rng)
    way = rng.random()
    if way < 0.3:
        content = content[: rng.randrange(len(content) + 1)]
    elif way < 0.5:
        changed = bytearray(content)
        for _ in range(rng.choice((1, 2, 4))):
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 255, rng.randrange(256)))
        content = bytes(changed)
    return bytes([0xFF, KINDS[kind]]) + struct.pack(">H", 2 + len(content)) + content
