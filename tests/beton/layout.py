"""FFCV files made by hand, byte by byte, so that the reader is not tested with its own idea of the
format.
"""

import json
import struct

import numpy as np

PAGE = 1 << 16  # FFCV's are larger; the format leaves it open
KINDS = {
    "float": 0,
    "int": 1,
    "image": 2,
    "bytes": 3,
    "array": 4,
    "json": 5,
    "tensor": 6,
    "custom": 255,
}


def descriptor(name, kind, dtype=None, shape=()):
    arguments = b""
    if dtype is not None:
        said = json.dumps([["", np.dtype(dtype).str]]).encode()
        arguments = struct.pack("<32QQ", *shape, *[0] * (32 - len(shape)), len(said)) + said
    return struct.pack("<B16s1024s", KINDS[kind], name.encode(), arguments)


class Writer:
    """rows: one list of cells per sample; a cell is a number, ("jpg", bytes, h, w), ("raw", array)
    or bytes.
    """

    def __init__(self, fields, rows):
        self.fields, self.rows = fields, rows
        self.start = 24 + 1041 * len(fields)
        self.data, self.table = bytearray(), []

    def bytes(self, **header):
        size, offsets = self.row()
        self.base = -(-(self.start + size * len(self.rows)) // PAGE) * PAGE
        rows = bytearray(size * len(self.rows))
        for number, cells in enumerate(self.rows):
            for (_, kind, *_), offset, cell in zip(self.fields, offsets, cells, strict=True):
                packed = self.cell(number, kind, cell)
                rows[number * size + offset : number * size + offset + len(packed)] = packed
        self.data += bytes(-len(self.data) % PAGE)
        end = self.base + len(self.data)
        values = {
            "version": 2,
            "fields": len(self.fields),
            "page": PAGE,
            "samples": len(self.rows),
            "table": end,
        } | header
        head = struct.pack("<HHIQQ", *values.values()) + b"".join(
            descriptor(*field) for field in self.fields
        )
        body = head + rows + bytes(self.base - self.start - len(rows)) + self.data
        return bytes(body) + b"".join(struct.pack("<QQQ", *entry) for entry in self.table)

    def row(self):
        """Size of a row and where its cells begin: 8-byte numbers are aligned, the packed structs
        of images and spans are not.
        """
        widths = {
            "float": (8, 8),
            "int": (8, 8),
            "image": (13, 1),
            "bytes": (16, 1),
            "json": (16, 1),
            "array": (8, 8),
            "tensor": (8, 8),
        }
        at, offsets, largest = 0, [], 1
        for _, kind, *_ in self.fields:
            width, align = widths.get(kind, (8, 8))
            at = -(-at // align) * align
            offsets.append(at)
            at, largest = at + width, max(largest, align)
        return -(-at // largest) * largest, offsets

    def cell(self, sample, kind, value):
        if kind in ("float", "int"):
            return struct.pack("<d" if kind == "float" else "<q", value)
        if kind == "image":
            data = value[1] if value[0] == "jpg" else value[1].tobytes()
            height, width = value[2:] if value[0] == "jpg" else value[1].shape[:2]
            return struct.pack("<BHHQ", value[0] != "jpg", width, height, self.put(sample, data))
        data = json.dumps(value).encode() + b"\0" if kind == "json" else bytes(value)
        at = self.put(sample, data)
        return (
            struct.pack("<QQ", at, len(data))
            if kind in ("bytes", "json")
            else struct.pack("<Q", at)
        )

    def put(self, sample, data):
        left = -len(self.data) % PAGE
        if len(data) > left > 0:
            self.data += bytes(left)
        at = self.base + len(self.data)
        self.data += data
        self.table.append((sample, at, len(data)))
        return at
