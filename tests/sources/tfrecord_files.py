"""A writer of TFRecords after the format, for tests."""

import struct
from pathlib import Path


def crc32c(data: bytes) -> int:
    """Bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    turned = (crc >> 15) | (crc << 17) & 0xFFFFFFFF
    return struct.pack("<I", (turned + 0xA282EAD8) % (1 << 32))


def record(data: bytes) -> bytes:
    """The checksum of the data is one of nothing: nobody reads it, and this writer is slow."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(b"")


def varint(value: int) -> bytes:
    value %= 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes | int) -> bytes:
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(value: object, packed: bool = True) -> bytes:
    """A tf.train.Feature of bytes, integers or floats, or of lists of them."""
    values = value if isinstance(value, list) else [value]
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, one) for one in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    if packed:
        return field(3, field(1, b"".join(map(varint, values))))
    return field(3, b"".join(field(1, one) for one in values))


def entry(name: str, value: bytes, swapped: bool = False) -> bytes:
    parts = [field(1, name.encode()), field(2, value)]
    return field(1, b"".join(reversed(parts) if swapped else parts))


def example(features: dict[str, object], **options: bool) -> bytes:
    """A tf.train.Example."""
    return field(
        1, b"".join(entry(name, feature(one), **options) for name, one in features.items())
    )


def write(path: Path, examples: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(record, examples)))
    return path
