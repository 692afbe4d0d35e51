"""Where the values of a tf.train.Example lie, by protobuf's wire format, without TensorFlow.

    Example:  features = 1 (Features)
    Features: feature = 1, of each a name = 1 (string) and a value = 2 (Feature)
    Feature:  one of bytes_list = 1, float_list = 2, int64_list = 3; each has values = 1

Fields that nobody knows are passed over by their wire types, as protobuf wants it. What else is not
as above is an error: names that are there twice, groups, lengths beyond their message. Nothing is
recursive, and long values are not read. Source: protobuf.dev/programming-guides/encoding.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from fastload.files.names import shown

WINDOW = 1 << 10  # bytes that are read at once: as many as all but the image take
VARINT, LENGTH, FLOAT = 0, 2, 5  # wire types
FIXED = {1: 8, FLOAT: 4}  # bytes of those of one length
LONGEST_VARINT = 10  # bytes
BYTES, FLOATS, INTEGERS = 1, 2, 3
KINDS = {0: "empty", BYTES: "bytes", FLOATS: "float", INTEGERS: "int64"}
MOST_FIELDS = 1 << 14  # of one record, however they are nested
LONGEST_NAME = 1 << 10
SHORT = 0x84  # bytes: two tags and lengths, and a name of less than 128 bytes


class WireError(ValueError):
    """What a record is, and should not be."""


class SeveralError(WireError):
    """There are several values, and one was wanted."""


class Value(NamedTuple):
    """The values of a feature: their kind, and where their message begins and ends."""

    kind: int
    start: int
    stop: int


class Window:
    """A file that is read in places, a piece around each."""

    def __init__(self, file: int) -> None:
        self.file, self.first, self.data, self.left = file, 0, b"", MOST_FIELDS

    def read(self, start: int, stop: int) -> bytes:
        """These bytes; fewer at the end of the file. Raises OSError."""
        at = start - self.first
        if not 0 <= at <= at + stop - start <= len(self.data):
            self.data = os.pread(self.file, max(WINDOW, stop - start), start)
            self.first, at = start, 0
        return self.data[at : at + stop - start]

    def varint(self, start: int, stop: int) -> tuple[int, int]:
        """An unsigned number that lies before `stop`, and where it ends.

        Raises WireError and OSError.
        """
        if start < stop and 0 <= start - self.first < len(self.data):
            byte = self.data[start - self.first]
            if byte < 0x80:  # most are one byte
                return byte, start + 1
        value = 0
        for number, byte in enumerate(self.read(start, min(stop, start + LONGEST_VARINT))):
            value |= (byte & 0x7F) << 7 * number
            if byte < 0x80:
                if value >= 1 << 64:
                    break
                return value, start + number + 1
        raise WireError("has a number that is cut off or too long")

    def other(self, start: int, begins: tuple[bytes, ...]) -> int:
        """Bytes of the field here, where it is a short feature with another name for sure: most
        are, and need no more than this look; else 0. begins: how those with the right names begin.
        """
        data, at = self.data, start - self.first
        if self.left > 0 and 0 <= at < len(data) - SHORT and data[at] == data[at + 2] == 0x0A:
            size = data[at + 1]
            if size < 0x80 and data[at + 3] < 0x80 and not data.startswith(begins, at + 2):
                self.left -= 1
                return 2 + size
        return 0


def feature(window: Window, start: int, stop: int, names: tuple[bytes, ...]) -> dict[bytes, Value]:
    """Those features of the Example in these bytes of a file that have these names; all of them
    without names.

    Raises WireError and OSError.
    """
    window.left, found = MOST_FIELDS, dict[bytes, Value]()
    begins = tuple(b"\x0a%c%s" % (len(name), name) for name in names if len(name) < 0x80)
    quick = begins if len(begins) == len(names) else ()
    for at, end in _messages(window, start, stop):
        while at < end:
            if quick and (size := window.other(at, quick)):
                at += size
                continue
            number, wire, begin, at = _field(window, at, end)
            if (number, wire) != (1, LENGTH):
                continue
            name, *value = _entry(window, begin, at)
            if names and name not in names:
                continue
            if name in found:
                raise WireError(f"has the feature {text(name)} twice")
            found[name] = _value(window, *value)
        if at > end:
            raise WireError("has a feature that is longer than its message")
    return found


def one_bytes(window: Window, value: Value) -> tuple[int, int]:
    """Where the only value of a BytesList lies, and how long it is. Raises WireError, OSError."""
    found = [(at, end - at) for at, end in _messages(window, value.start, value.stop)]
    if len(found) != 1 or not found[0][1]:
        raise WireError(f"has {len(found)} values or an empty one, want one")
    return found[0]


def one_integer(window: Window, value: Value) -> int:
    """The only value of an Int64List. Raises WireError and OSError."""
    at, size = one_varint(window, value)
    number = window.varint(at, at + size)[0]
    return number - (number >> 63 << 64)


def one_varint(window: Window, value: Value) -> tuple[int, int]:
    """Where the only value of an Int64List lies, and how long it is. Raises WireError, OSError."""
    found = list[tuple[int, int]]()
    for number, wire, at, end in _fields(window, value.start, value.stop):
        if number != 1 or wire not in (VARINT, LENGTH):
            continue
        while at < end and len(found) < 2:
            begin, at = at, window.varint(at, end)[1]
            found.append((begin, at - begin))
    return _only(found)


def one_float(window: Window, value: Value) -> tuple[int, int]:
    """Where the only value of a FloatList lies, and how long it is. Raises WireError, OSError."""
    found = list[tuple[int, int]]()
    for number, wire, at, end in _fields(window, value.start, value.stop):
        if number != 1 or wire not in (FLOAT, LENGTH) or at == end:
            continue
        if (end - at) % FIXED[FLOAT]:
            raise WireError(f"has numbers of {end - at} bytes")
        found += [(at, FIXED[FLOAT])] * min(2, (end - at) // FIXED[FLOAT])
    return _only(found)


def one_piece(window: Window, value: Value) -> tuple[int, int] | None:
    """Like `one_bytes`; the value may be empty, and None says that there is none."""
    found = [(at, end - at) for at, end in _messages(window, value.start, value.stop)]
    return _only(found) if found else None


def packed(window: Window, value: Value) -> tuple[int, int]:
    """Where all values of a list of numbers lie in one piece, as protobuf writes several, and how
    long they are. Raises WireError and OSError.
    """
    found = [
        (at, end - at)
        for number, wire, at, end in _fields(window, value.start, value.stop)
        if number == 1 and (wire != LENGTH or end > at)
    ]
    at, size = _only(found)
    if value.kind == FLOATS and size % FIXED[FLOAT]:
        raise WireError(f"has numbers of {size} bytes")
    return at, size


def _only(found: list[tuple[int, int]]) -> tuple[int, int]:
    """Raises WireError."""
    if len(found) > 1:
        raise SeveralError("has several values, want one")
    if not found:
        raise WireError("has no value, want one")
    return found[0]


def text(name: bytes) -> str:
    """A feature's name as a message shows it."""
    return shown(name.decode("utf-8", "replace"))


def _field(window: Window, start: int, stop: int) -> tuple[int, int, int, int]:
    """Number, wire type, first byte and end of the content of the field that begins here."""
    window.left -= 1
    if window.left < 0:
        raise WireError(f"has more than {MOST_FIELDS} fields")
    tag, at = window.varint(start, stop)
    wire = tag & 7
    if wire == LENGTH:
        size, at = window.varint(at, stop)
        end = at + size
    elif wire == VARINT:
        end = window.varint(at, stop)[1]
    elif wire in FIXED:
        end = at + FIXED[wire]
    else:
        raise WireError(f"has a field of wire type {wire}")
    if end > stop or tag < 8:
        raise WireError("has a field that is longer than its message, or without a number")
    return tag >> 3, wire, at, end


def _fields(window: Window, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field of a message."""
    while start < stop:
        number, wire, at, start = _field(window, start, stop)
        yield number, wire, at, start


def _messages(window: Window, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """First byte and end of each field 1 that has a length."""
    for number, wire, at, end in _fields(window, start, stop):
        if number == 1 and wire == LENGTH:
            yield at, end


def _entry(window: Window, start: int, stop: int) -> tuple[bytes, int, int]:
    """A feature's name, and where its message begins and ends."""
    name, value = b"", (stop, stop)
    for number, wire, at, end in _fields(window, start, stop):
        if wire != LENGTH:
            continue
        if number == 1:
            if end - at > LONGEST_NAME:
                raise WireError(f"has a feature with a name of {end - at} bytes")
            name = window.read(at, end)
        elif number == 2:
            value = at, end
    return name, *value


def _value(window: Window, start: int, stop: int) -> Value:
    found = [
        Value(number, at, end)
        for number, wire, at, end in _fields(window, start, stop)
        if wire == LENGTH and number in KINDS
    ]
    if len(found) > 1:
        raise WireError("has a feature with values of several kinds")
    return found[0] if found else Value(0, stop, stop)
