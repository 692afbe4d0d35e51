"""What seek indexes and coefficient layers say of their own bytes."""

from fastload import _native

LAYER = b"FLCL"  # what a coefficient layer begins with
SIZE = 8  # bytes of the checksum at the end of a seek index


def intact(part: bytes | memoryview) -> bool:
    """Whether a seek index, or a layer, has its own checksums."""
    if bytes(part[: len(LAYER)]) == LAYER:
        return _native.jpeg_layer_intact(bytes(part))
    if len(part) < SIZE:
        return False
    return _native.xxh3(part[:-SIZE]) == int.from_bytes(part[-SIZE:], "little")
