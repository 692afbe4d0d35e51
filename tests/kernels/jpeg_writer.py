"""A small JPEG encoder for files that no library writes: any sampling, any tables, any markers.

Coefficients are random.
"""

from dataclasses import dataclass, field

import numpy as np

ZIGZAG = sorted(
    range(64), key=lambda n: (n // 8 + n % 8, n // 8 if (n // 8 + n % 8) % 2 else n % 8)
)
AC_SYMBOLS = [0x00, 0xF0, *(run << 4 | size for size in range(1, 11) for run in range(16))]
DC_SYMBOLS = list(range(12))


def code_table(symbols: list[int], *, long: bool) -> list[tuple[int, int]]:
    """(length, symbol): codes of one length, or of lengths 2, 3, 4, … and then all of 16 bits."""
    short = max(2, (len(symbols) + 1).bit_length())
    return [(min(n + 2, 16) if long else short, symbol) for n, symbol in enumerate(symbols)]


def codes(table: list[tuple[int, int]]) -> dict[int, str]:
    out, code, last = {}, 0, 0
    for length, symbol in table:
        code <<= length - last
        out[symbol], code, last = f"{code:0{length}b}", code + 1, length
    return out


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(body) + 2).to_bytes(2, "big") + body


def dht(number: int, table: list[tuple[int, int]]) -> bytes:
    counts = [sum(length == n for length, _ in table) for n in range(1, 17)]
    return segment(0xC4, bytes([number, *counts, *(symbol for _, symbol in table)]))


def dqt(number: int, table: list[int], *, wide: bool) -> bytes:
    values = b"".join(value.to_bytes(1 + wide, "big") for value in table)
    return segment(0xDB, bytes([wide << 4 | number]) + values)


@dataclass
class Writer:
    """`factors`: (h, v) of each component."""

    height: int
    width: int
    factors: list[tuple[int, int]]
    seed: int = 0
    quant: list[int] = field(default_factory=lambda: [8] * 64)
    wide: bool = False
    long: bool = False
    restart: int = 0
    ids: tuple[int, ...] = (1, 2, 3)
    head: bytes = b""
    sof: int = 0xC0
    density: float = 0.15

    def encode(self) -> bytes:
        count = len(self.factors)
        parts = b"".join(
            bytes([self.ids[c], h << 4 | v, 0]) for c, (h, v) in enumerate(self.factors)
        )
        frame = (
            bytes([8])
            + self.height.to_bytes(2, "big")
            + self.width.to_bytes(2, "big")
            + bytes([count])
            + parts
        )
        scan = bytes([count, *(n for c in range(count) for n in (self.ids[c], 0)), 0, 63, 0])
        out = (
            b"\xff\xd8" + self.head + dqt(0, self.quant, wide=self.wide) + segment(self.sof, frame)
        )
        out += dht(0x00, code_table(DC_SYMBOLS, long=False)) + dht(
            0x10, code_table(AC_SYMBOLS, long=self.long)
        )
        if self.restart:
            out += segment(0xDD, self.restart.to_bytes(2, "big"))
        return out + segment(0xDA, scan) + self.entropy() + b"\xff\xd9"

    def entropy(self) -> bytes:
        rng = np.random.default_rng(self.seed)
        dc, ac = (
            codes(code_table(DC_SYMBOLS, long=False)),
            codes(code_table(AC_SYMBOLS, long=self.long)),
        )
        factors = self.factors if len(self.factors) > 1 else [(1, 1)]
        mcu = 8 * max(v for _, v in factors), 8 * max(h for h, _ in factors)
        total = -(-self.height // mcu[0]) * -(-self.width // mcu[1])
        out, bits, before = b"", "", [0] * len(factors)
        for n in range(total):
            if self.restart and n and n % self.restart == 0:
                out += stuffed(bits) + bytes([0xFF, 0xD0 + (n // self.restart - 1) % 8])
                bits, before = "", [0] * len(factors)
            for c, (h, v) in enumerate(factors):
                for _ in range(h * v):
                    bits += self.block(rng, dc, ac, before, c)
        return out + stuffed(bits)

    def block(self, rng, dc, ac, before, c) -> str:
        values = np.where(
            rng.random(64) < self.density, rng.normal(0, 300, 64) / np.sqrt(1 + np.arange(64)), 0
        )
        values[0] = rng.normal(0, 400)
        values = (values.clip(-900, 900) / np.array(self.quant)).astype(int)
        out = coded(dc, 0, int(values[0]) - before[c])
        before[c], run = int(values[0]), 0
        for value in values[1:].tolist():
            run += 1
            while value and run > 16:
                out, run = out + ac[0xF0], run - 16
            if value:
                out, run = out + coded(ac, run - 1, value), 0
        return out + (ac[0] if run else "")


def coded(table: dict[int, str], run: int, value: int) -> str:
    size = abs(value).bit_length()
    low = value if value >= 0 else value + (1 << size) - 1
    return table[run << 4 | size] + (f"{low:0{size}b}" if size else "")


def stuffed(bits: str) -> bytes:
    bits += "1" * (-len(bits) % 8)
    return int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:].replace(b"\xff", b"\xff\x00")
