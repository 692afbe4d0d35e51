"""Layers that are changed: where their parts lie, and checksums that fit again."""

import struct

from fastload import _native as native

FIXED, ENTRY, SEAL = 28, 12, 8  # bytes, as in kernels/jpeg/layer/format.h


def head_size(layer):
    """Bytes before the head's checksum."""
    rows, header = struct.unpack_from("<H", layer, 6)[0], struct.unpack_from("<I", layer, 24)[0]
    return FIXED + header + rows * ENTRY


def seal(layer):
    """The same with every checksum made anew."""
    out, head = bytearray(layer), head_size(layer)
    rows = bytes(out[head + SEAL :])
    begin = 0
    for entry in range(FIXED + struct.unpack_from("<I", layer, 24)[0], head, ENTRY):
        end = struct.unpack_from("<I", out, entry + 8)[0]
        struct.pack_into("<Q", out, entry, native.xxh3(rows[begin:end]))
        begin = end
    struct.pack_into("<Q", out, head, native.xxh3(bytes(out[:head])))
    return bytes(out)
