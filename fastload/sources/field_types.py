"""What a value beside an image is: the kind in which a format stores it, and the type that a user
declares for it.

Kinds are "text", "json" and "bytes"; "number <f4" and "number <f4 2,3", numbers of one type, whose
shape is known; "numbers <f4", as many as there are bytes; "varint" and "varints", int64 of
protobuf; "int" and "float", in digits; "ended json", up to a zero byte; and those of field_arrays.
Nothing is unpickled or evaluated.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.sources import field_arrays, npy

NUMBER, NUMBERS = "number", "numbers"  # starts of kinds
VARINT, VARINTS = "varint", "varints"
ENDED_JSON = "ended json"
LONGEST_VARINT = 10  # bytes
MOST_AXES = 8
INT, FLOAT = "int", "float"
ARRAY = re.compile(
    r"(bool|u?int(?:8|16|32|64)|float(?:16|32|64))\[((?:\d{1,9}, ?)*\d{0,9})\]", re.ASCII
)
# As they are in text; whatever else Python takes for a number is none
DIGITS = {
    INT: re.compile(rb"\s*([+-]?\d{1,19})\s*"),
    FLOAT: re.compile(rb"(?i)\s*([+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|nan))\s*"),
}
LONGEST_NUMBER = 100  # characters
WANT = (
    "want text, json, bytes, int, float, or numbers with their shape, such as 'float32[512]' or "
    "'int64[]'"
)
Decoder: TypeAlias = Callable[[bytes], Any]


def _text(data: bytes) -> str:
    return data.decode()


PLAIN: Mapping[str, tuple[str, Decoder]] = MappingProxyType(
    {"text": ("UTF-8", _text), "json": ("JSON", json.loads), "bytes": ("bytes", bytes)}
)


@dataclass(frozen=True)
class Type:
    """What the user declares.

    Args:
        text: As the user wrote it.
        numbers: NumPy's type of its numbers; "": it has none.
        shape: Of its numbers.
    """

    text: str
    numbers: str = ""
    shape: tuple[int, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.numbers)

    def __str__(self) -> str:
        return self.text


def is_type(given: object) -> bool:
    try:
        return bool(parsed("", given).text)
    except SourceError:
        return False


def parsed(name: str, given: object) -> Type:
    """Raises SourceError for what is no type."""
    if isinstance(given, str):
        if given in PLAIN:
            return Type(given)
        if given in DIGITS:
            return Type(given, "int64" if given == INT else "float64")
        found = ARRAY.fullmatch(given)
        sides = [side for side in found[2].split(",") if side.strip()] if found else []
        shape = tuple(map(int, sides))
        if found and len(shape) <= MOST_AXES and 0 < math.prod(shape) < 1 << 31:
            return Type(f"{found[1]}[{','.join(map(str, shape))}]", found[1], shape)
    raise SourceError(f"target: {short(name)} is of type {short(given)} ({WANT}); correct it")


def misfit(kind: str, wanted: Type) -> str:
    """Why values of this kind can never be of that type; "" where they may be."""
    if kind in PLAIN or kind == ENDED_JSON:
        return ""
    if field_arrays.is_headed(kind):
        return "" if wanted.numbers else f"holds arrays, no {wanted}"
    dtype, shape = _stored(kind)
    has = f"holds {dtype.name}" + (f"{list(shape)}" if shape else "")
    if not wanted.numbers:
        return f"{has}, no {wanted}"
    if shape is not None and shape != wanted.shape:
        return f"{has}, and {wanted} is declared"
    if not np.can_cast(dtype, wanted.dtype, "same_kind") and not _both_whole(dtype, wanted.dtype):
        return f"{has}, and {wanted} is declared"
    return ""


def decoder(kind: str, wanted: Type | None) -> tuple[str, Decoder]:
    """What a value is called, and what makes it of its bytes: numbers as arrays. Raises ValueError,
    and RecursionError.
    """
    if kind == ENDED_JSON:
        what, decoded = decoder("json", wanted)
        return what, lambda data: decoded(data.partition(b"\0")[0])
    if wanted is None:
        if kind in PLAIN:
            return PLAIN[kind]
        if kind == VARINTS or kind.startswith(f"{NUMBERS} "):  # as JSON has lists
            return "list of numbers", lambda data: _numbers(kind, data).tolist()
        return "number", lambda data: _numbers(kind, data)
    if not wanted.numbers:
        return PLAIN[wanted.text]
    if kind not in PLAIN:
        return str(wanted), lambda data: _fitting(_numbers(kind, data), wanted)
    if wanted.text in DIGITS:
        return str(wanted), lambda data: _fitting(_digits(data, wanted.text), wanted)
    read = _of_bytes if kind == "bytes" else _of_json
    return str(wanted), lambda data: _fitting(read(data, wanted), wanted)


def in_list(kind: str, wanted: Type | None) -> bool:
    """Whether a batch has a list of the values, not one tensor."""
    if wanted is not None:
        return not wanted.numbers
    several = kind == VARINTS or kind.startswith(f"{NUMBERS} ") or field_arrays.is_headed(kind)
    return kind in PLAIN or kind == ENDED_JSON or several


def at_once(kind: str, wanted: Type | None, data: Sequence[bytes]) -> NDArray[Any] | None:
    """All values of a kind of one length, where nothing has to be looked at."""
    if wanted is not None or not kind.startswith(f"{NUMBER} "):
        return None
    dtype, shape = _stored(kind)
    size = dtype.itemsize * math.prod(shape or ())
    if any(len(one) != size for one in data):
        return None
    numbers = np.frombuffer(b"".join(data), dtype).astype(dtype.newbyteorder("="))
    return numbers.reshape(len(data), *(shape or ()))


def of_numbers(dtype: str, shape: Sequence[int] = ()) -> str:
    """The kind of numbers of a known shape."""
    return " ".join(filter(None, (NUMBER, dtype, ",".join(map(str, shape)))))


def of_several(name: str) -> str:
    """The kind of as many numbers of this type as there are bytes."""
    return f"{NUMBERS} {np.dtype(name).newbyteorder('<').str}"


def _stored(kind: str) -> tuple[np.dtype[Any], tuple[int, ...] | None]:
    """The type and shape of the numbers; None: it differs."""
    if kind in DIGITS:
        return np.dtype(f"{kind}64"), ()
    if kind in (VARINT, VARINTS):
        return np.dtype(np.int64), (() if kind == VARINT else None)
    start, dtype, *sides = kind.split()
    shape = tuple(map(int, sides[0].split(","))) if sides else ()
    return np.dtype(dtype), (None if start == NUMBERS else shape)


def _numbers(kind: str, data: bytes) -> NDArray[Any]:
    """Raises ValueError."""
    if kind in DIGITS:
        return _digits(data, kind)
    if field_arrays.is_headed(kind):
        return field_arrays.of_kind(kind, data)
    if kind == VARINT:
        return np.array(varint(data), np.int64)
    if kind == VARINTS:
        return np.array([varint(one) for one in _varints(data)], np.int64)
    dtype, shape = _stored(kind)
    size = dtype.itemsize * math.prod(shape or ())
    if (shape is not None and len(data) != size) or len(data) % dtype.itemsize:
        raise ValueError(f"got {len(data)} bytes, want {size}")
    flat = np.frombuffer(data, dtype)
    return flat if shape is None else flat.reshape(shape)


def varint(data: bytes) -> int:
    """Raises ValueError."""
    if not data or data[-1] > 0x7F or min(data[:-1], default=0x80) < 0x80:
        raise ValueError(f"{data[:LONGEST_VARINT].hex(' ') or 'nothing'}")
    value = sum((byte & 0x7F) << 7 * number for number, byte in enumerate(data[:LONGEST_VARINT]))
    if len(data) > LONGEST_VARINT or value >= 1 << 64:
        raise ValueError("it is too long")
    return value - (value >> 63 << 64)


def _varints(data: bytes) -> list[bytes]:
    """The bytes of each; of the last one as many as there are."""
    ends = [at + 1 for at, byte in enumerate(data) if byte < 0x80]
    if not ends or ends[-1] < len(data):
        ends.append(len(data))
    begins = [0, *ends[:-1]]
    return [data[begin:end] for begin, end in zip(begins, ends, strict=True)] if data else []


def _digits(data: bytes, kind: str) -> NDArray[Any]:
    """A number that is written as text. Raises ValueError."""
    found = DIGITS[kind].fullmatch(data) if len(data) <= LONGEST_NUMBER else None
    if found is None:
        raise ValueError(short(data))
    number = int(found[1]) if kind == INT else float(found[1])
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{number} is no int64")
    return np.array(number)


def _of_bytes(data: bytes, wanted: Type) -> NDArray[Any]:
    """An array as NumPy's files have it, or its plain bytes (little-endian). Raises ValueError."""
    if data.startswith(npy.MAGIC):
        return npy.array(data)
    # A byte that is no truth value is not to become one
    dtype = np.dtype(np.uint8) if wanted.dtype.kind == "b" else wanted.dtype.newbyteorder("<")
    size = dtype.itemsize * math.prod(wanted.shape)
    if len(data) != size:
        raise ValueError(f"got {len(data)} bytes, want {size}")
    return np.frombuffer(data, dtype).reshape(wanted.shape)


def _of_json(data: bytes, wanted: Type) -> NDArray[Any]:
    """Lists of numbers. Raises ValueError and RecursionError."""
    # Looked at first: of text, NumPy would make an array as wide as the longest
    flat = _flat(
        json.loads(data), wanted.shape, (bool,) if wanted.numbers == "bool" else (int, float)
    )
    found = None if flat is None else np.array(flat)
    if found is None or found.dtype.kind not in "biuf":
        raise ValueError(f"{short(data)}, want lists of numbers, in all {list(wanted.shape)}")
    return found.reshape(wanted.shape)


def _flat(value: Any, shape: Sequence[int], kinds: tuple[type, ...]) -> list[Any] | None:
    """The numbers of nested lists of this shape; None: they are none."""
    if not shape:
        return [value] if type(value) in kinds else None
    if type(value) is not list or len(value) != shape[0]:
        return None
    if len(shape) == 1:
        return value if all(type(one) in kinds for one in value) else None
    parts = [_flat(one, shape[1:], kinds) for one in value]
    whole = [part for part in parts if part is not None]
    return [one for part in whole for one in part] if len(whole) == len(parts) else None


def _fitting(found: NDArray[Any], wanted: Type) -> NDArray[Any]:
    """The same numbers with the declared type. Raises ValueError where these are others: fractions
    are rounded, whole numbers are not.
    """
    if found.shape != wanted.shape:
        raise ValueError(f"got {found.dtype.name}{list(found.shape)}")
    dtype = wanted.dtype
    if found.dtype == dtype:
        return found
    floats = dtype.kind == "f"
    if not floats and not _both_whole(found.dtype, dtype):
        raise ValueError(f"got {found.dtype.name}{list(found.shape)}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = found.astype(dtype)
    kept = np.isfinite(cast) | ~np.isfinite(found) if floats else cast == found
    if not kept.all():
        raise ValueError(f"{found[~kept].reshape(-1)[0]} is no {dtype.name}")
    return cast


def _both_whole(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether both are whole numbers, of which truth values are 0 and 1."""
    return one.kind in "biu" and other.kind in "biu"
