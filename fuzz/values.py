"""Fuzz target for the values beside images: any bytes, stored in any way and declared as any type,
give a value of that type, or the ValueError that becomes the sample's error.

The first two bytes of the input choose the kind and the type. fuzz/readers.py runs it.
"""

from pathlib import Path

import numpy as np

from fastload.sources import field_types, npy

KINDS = (
    "text", "json", "bytes", "varint", "varints", "int", "float", "ended json", "number <f4 2",
    "number |u1", "numbers <i2", "mds float32 -", "mds - 2", "mds - -", "torch", "numpy",
)  # fmt: skip
TYPES = (
    None, "text", "json", "bytes", "int", "float", "float32[2]", "int64[2]", "bool[2]", "uint8[]",
    "float16[2]", "int8[1,2]",
)  # fmt: skip
VECTOR = np.array([0.5, 2], "<f4")


def values_seeds(_: Path) -> list[bytes]:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
    file = npy.MAGIC + b"\1\0" + len(header).to_bytes(2, "little") + header + VECTOR.tobytes()
    bodies = {
        "text": b"-12", "json": b"[0.5, 2]", "bytes": file, "varints": b"\1\x96\1", "int": b"7",
        "float": b"1e-3", "ended json": b'{"a": [1]}\0', "number <f4 2": VECTOR.tobytes(),
        "mds - -": bytes([34, 4, 2]) + VECTOR.tobytes(),
        "torch": np.array([0, 1, 2], "<u4").tobytes() + VECTOR.tobytes(),
    }  # fmt: skip
    return [
        bytes([KINDS.index(kind), TYPES.index(of)]) + body
        for kind, body in bodies.items()
        for of in (None, "float", "float32[2]")
    ]


def run_values(_: Path, data: bytes) -> bool:
    if len(data) < 2:
        return False
    kind, declared = KINDS[data[0] % len(KINDS)], TYPES[data[1] % len(TYPES)]
    wanted = None if declared is None else field_types.parsed("x", declared)
    if wanted is not None and field_types.misfit(kind, wanted):
        return False
    try:
        value = field_types.decoder(kind, wanted)[1](data[2:])
    except (ValueError, RecursionError):
        return False
    if wanted is not None and wanted.numbers:
        if (value.dtype.newbyteorder("="), value.shape) != (wanted.dtype, wanted.shape):
            raise AssertionError(f"{kind} as {declared}: {value!r}")
    elif wanted is not None and wanted.text != "json":
        want = str if wanted.text == "text" else bytes
        if type(value) is not want:
            raise AssertionError(f"{kind} as {declared}: {value!r}")
    return True
