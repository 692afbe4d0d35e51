"""Arrays as NumPy writes them to files (.npy), without numpy.load: nothing is evaluated or
unpickled, and no memory is taken by what a header says.

Source: numpy.lib.format, versions 1.0 and 2.0, in the form in which every NumPy writes the header.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
LENGTHS = {b"\1\0": 2, b"\2\0": 4}  # by version: bytes of the number that says the header's length
HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*\d{0,18})\), \} *\n?"
)
LONGEST = 1 << 12  # bytes of a header


def array(data: bytes) -> NDArray[Any]:
    """What a file holds, as a view of its bytes. Raises ValueError."""
    start = len(MAGIC) + 2
    width = LENGTHS.get(data[len(MAGIC) : start])
    if width is None or not data.startswith(MAGIC):
        raise ValueError(f"not NumPy's format 1.0 or 2.0 (begins with {data[:start].hex(' ')})")
    begin = start + width
    end = begin + int.from_bytes(data[start:begin], "little")
    found = HEADER.fullmatch(data[begin:end]) if end - begin <= LONGEST else None
    if found is None:
        raise ValueError(
            f"its header says no plain numbers ({data[begin : begin + 40].decode('latin-1')!r})"
        )
    try:
        # A byte that is no truth value is not to become one
        dtype = np.dtype(found[1].decode().replace("b", "u"))
    except TypeError as error:
        raise ValueError(f"numbers of type {found[1].decode()!r}") from error
    shape = [int(side) for side in found[3].split(b",") if side.strip()]
    want = dtype.itemsize
    for side in shape:
        want *= side
    if len(data) - end != want:
        raise ValueError(f"got {len(data) - end} bytes, its shape {shape} takes {want}")
    flat = np.frombuffer(data, dtype, offset=end)
    return flat.reshape(shape, order="F" if found[2] == b"True" else "C")
