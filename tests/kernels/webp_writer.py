"""WebP files that no encoder makes: their chunks, and lossless bits written one by one.

Sources: RFC 9649, 2 (container) and 3 (lossless bit stream).
"""

from collections.abc import Iterable

Chunk = tuple[bytes, bytes]
LOSSLESS = 0x2F
CODE_LENGTH_ORDER = (17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
GREEN, OTHER, DISTANCE = 256 + 24, 256, 40  # symbols of each code, without a cache of colours


def chunks(data: bytes) -> list[Chunk]:
    """Of a file that is well formed."""
    found, at = [], 12
    while at < len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((data[at : at + 4], data[at + 8 : at + 8 + size]))
        at += 8 + size + size % 2
    return found


def riff(of: Iterable[Chunk]) -> bytes:
    body = b"WEBP"
    for name, content in of:
        body += name + len(content).to_bytes(4, "little") + content + bytes(len(content) % 2)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


class Bits:
    """The lowest bit of a byte comes first."""

    def __init__(self) -> None:
        self.value = self.count = 0

    def put(self, value: int, count: int) -> None:
        self.value |= value << self.count
        self.count += count

    def bytes(self) -> bytes:
        return self.value.to_bytes(-(-self.count // 8), "little")


def one_symbol(out: Bits, symbol: int = 0) -> None:
    """A code whose only symbol takes no bits. symbol: 0 or 1."""
    out.put(1, 1)  # a simple code
    out.put(0, 1)  # of one symbol
    out.put(0, 1)  # of one bit
    out.put(symbol, 1)


def eight_bits(out: Bits, symbols: int) -> None:
    """A code that gives the first 256 of its symbols 8 bits each, and the others none."""
    out.put(0, 1)
    wanted = {8: 1, 0: 1} if symbols > 256 else {8: 1}
    last = max(CODE_LENGTH_ORDER.index(length) for length in wanted)
    out.put(last + 1 - 4, 4)
    for length in CODE_LENGTH_ORDER[: last + 1]:
        out.put(wanted.get(length, 0), 3)
    out.put(0, 1)  # for all symbols
    if len(wanted) == 1:
        return  # one length, which takes no bits
    for symbol in range(symbols):  # of the two lengths the smaller one has bit 0
        out.put(int(symbol < 256), 1)


def reversed_byte(value: int) -> int:
    """A code's bits begin with its highest one."""
    return int(f"{value:08b}"[::-1], 2)


def many_codes(side: int) -> bytes:
    """A black image of side x side px that has codes of its own for each 4 x 4 px. side: a multiple
    of 4, at most 1,024.
    """
    out = Bits()
    out.put(LOSSLESS, 8)
    out.put(side - 1, 14)
    out.put(side - 1, 14)
    out.put(0, 1)  # no transparency
    out.put(0, 3)  # version
    out.put(0, 1)  # no transform
    out.put(0, 1)  # no cache of colours
    out.put(1, 1)  # several codes
    out.put(0, 3)  # for 4 x 4 px each
    out.put(0, 1)  # the image of their numbers has no cache of colours, either
    eight_bits(out, GREEN)
    eight_bits(out, OTHER)  # red
    one_symbol(out)  # blue
    one_symbol(out)  # alpha
    one_symbol(out)  # distance
    count = (side // 4) ** 2
    for number in range(count):  # green is its low byte, red its high one
        out.put(reversed_byte(number & 255), 8)
        out.put(reversed_byte(number >> 8), 8)
    for _ in range(count):
        for _ in range(5):
            one_symbol(out)
    return riff([(b"VP8L", out.bytes())])
