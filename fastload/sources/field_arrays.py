"""Arrays that begin with what they are, as MosaicML Streaming and LitData write them.

Their kinds are "mds TYPE SHAPE", of which "-" is said by each value ("mds float32 -"), and
"torch" and "numpy", LitData's. Source: mosaicml-streaming 0.13.0, base/format/mds/encodings.py;
LitData 0.2.76, streaming/serializers.py and constants.py.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MDS = "mds"
TORCH, NUMPY = "torch", "numpy"  # LitData's tensors and arrays
UNSAID = "-"
MOST_AXES = 32
# By the number that stands for it
MDS_TYPES: Mapping[int, str] = {
    8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 18: "float16", 32: "uint32", 33: "int32",
    34: "float32", 64: "uint64", 65: "int64", 66: "float64",
}  # fmt: skip
TORCH_TYPES: Mapping[int, str] = {
    0: "float32", 1: "float32", 2: "float64", 3: "float64", 8: "float16", 9: "float16",
    11: "uint8", 12: "int8", 13: "int16", 14: "int16", 15: "int32", 16: "int32", 17: "int64",
    18: "int64",
}  # fmt: skip
NUMPY_TYPES: Mapping[int, str] = dict(
    enumerate(
        ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64")
    )
)  # fmt: skip
TYPES = {TORCH: TORCH_TYPES, NUMPY: NUMPY_TYPES}


def is_headed(kind: str) -> bool:
    return kind in TYPES or kind.startswith(f"{MDS} ")


def of_kind(kind: str, data: bytes) -> NDArray[Any]:
    """The array that a value is. Raises ValueError."""
    return _mds(kind, data) if kind.startswith(MDS) else _litdata(TYPES[kind], data)


def _mds(kind: str, data: bytes) -> NDArray[Any]:
    _, name, sides = kind.split()
    at = 0
    if name == UNSAID:
        name, at = _type(MDS_TYPES, data[:1]), 1
    if sides != UNSAID:
        return _plain(name, tuple(map(int, sides.split(","))), data[at:])
    if at >= len(data):
        raise ValueError("it is cut off")
    axes, width = data[at] >> 2, 1 << (data[at] & 3)  # of a side, bytes
    end = at + 1 + axes * width
    return _plain(name, _shape(data[at + 1 : end], axes, width), data[end:])


def _litdata(types: Mapping[int, str], data: bytes) -> NDArray[Any]:
    name, axes = _type(types, data[:4]), int.from_bytes(data[4:8], "little")
    end = 8 + 4 * axes
    return _plain(name, _shape(data[8:end], axes, 4), data[end:])


def _type(types: Mapping[int, str], data: bytes) -> str:
    if (name := types.get(int.from_bytes(data, "little"))) is None or not data:
        raise ValueError(f"numbers of an unknown type ({data.hex(' ') or 'nothing'})")
    return name


def _shape(data: bytes, axes: int, width: int) -> tuple[int, ...]:
    if axes > MOST_AXES or len(data) != axes * width:
        raise ValueError(f"a shape of {axes} axes that is cut off, or too long")
    starts = range(0, len(data), width)
    return tuple(int.from_bytes(data[start : start + width], "little") for start in starts)


def _plain(name: str, shape: tuple[int, ...], data: bytes) -> NDArray[Any]:
    dtype = np.dtype(name).newbyteorder("<")
    if len(data) != dtype.itemsize * math.prod(shape):
        raise ValueError(f"got {len(data)} bytes of {name}{list(shape)}")
    return np.frombuffer(data, dtype).reshape(shape)
