"""Structs of Apache Thrift in its compact protocol, as far as Parquet has them.

Source: apache/thrift, thrift-compact-protocol.md.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

DEEPEST = 8  # structs in structs
# Kinds of values. A truth is in its kind, but in a list, where it takes a byte
TRUTHS, BYTE, I16, I32, I64, DOUBLE, BINARY = (1, 2), 3, 4, 5, 6, 7, 8
LIST, SET, MAP, STRUCT = 9, 10, 11, 12
NUMBERS, LISTS = (I16, I32, I64), (LIST, SET)
MANY = 15  # of a list: how many follows


class Thrift:
    """Values by the numbers of their fields.

    Raises IndexError at the end of the data, and where it is none of Thrift's.
    """

    def __init__(
        self,
        data: bytes,
        watched: Collection[tuple[int, ...]] = (),
        lists: Mapping[tuple[int, ...], tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        self.data, self.watched = data, watched
        # Fields that are lists, with the kind of their items and the fewest bytes of one: others
        # read them so, and go on at another place where the data say another kind
        self.lists = lists
        # Of the fields that are watched, in their order: path, and of a list how many it has, of a
        # number its value; -1: another value that is no list, or one that a list has
        self.seen: list[tuple[tuple[int, ...], int]] = []

    def varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self.data[at]
            value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return value, at
            if shift > 63:
                raise IndexError

    def number(self, at: int) -> tuple[int, int]:
        value, at = self.varint(at)
        return value >> 1 ^ -(value & 1), at

    def struct(self, at: int, depth: int) -> tuple[dict[int, Any], int]:
        fields, field = dict[int, Any](), 0
        if depth > DEEPEST:
            raise IndexError
        while head := self.data[at]:
            field, at = (field + (head >> 4), at + 1) if head >> 4 else self.number(at + 1)
            fields[_numbered(field)], at = self.value(head & 15, at, depth)
        return fields, at + 1

    def value(self, kind: int, at: int, depth: int) -> tuple[Any, int]:
        if kind in TRUTHS:
            return kind == 1, at
        if kind == BYTE:
            return self.data[at], at + 1
        if kind in NUMBERS:
            return self.number(at)
        if kind == DOUBLE:
            return None, at + 8
        if kind == BINARY:
            size, at = self.varint(at)
            return None, at + size
        if kind == STRUCT:
            return self.struct(at, depth + 1)
        raise IndexError  # lists, sets, maps: no header has them

    def paths(self) -> set[tuple[int, ...]]:
        """The fields that are there, anywhere: their numbers, from the outermost struct's on."""
        found = set[tuple[int, ...]]()
        self._pass(STRUCT, 0, (), found)
        return found

    def _pass(self, kind: int, at: int, path: tuple[int, ...], found: set[tuple[int, ...]]) -> int:
        """Where a value ends; its fields are added to `found`."""
        if kind == STRUCT:
            return self._pass_struct(at, path, found)
        if kind in LISTS:
            head = self.data[at]
            size, at = self.varint(at + 1) if head >> 4 == MANY else (head >> 4, at + 1)
            wanted, least = self.lists.get(path, (head & 15, 1))
            if size and (head & 15 != wanted or size * least > len(self.data) - at):
                raise IndexError
            self._see(path, size)
            return self._pass_items(size, (head & 15,), at, path, found)
        if kind == MAP:
            size, at = self.varint(at)
            if not size:
                return at
            return self._pass_items(size, divmod(self.data[at], 16), at + 1, path, found)
        return int(self.value(kind, at, 0)[1])

    def _see(self, path: tuple[int, ...], count: int) -> None:
        if path in self.watched:
            self.seen.append((path, count))

    def _pass_struct(self, at: int, path: tuple[int, ...], found: set[tuple[int, ...]]) -> int:
        if len(path) > DEEPEST:
            raise IndexError
        field = 0
        while head := self.data[at]:
            field, at = (field + (head >> 4), at + 1) if head >> 4 else self.number(at + 1)
            own = (*path, _numbered(field))
            found.add(own)
            if own in self.lists and head & 15 != LIST:
                raise IndexError
            if head & 15 not in LISTS:
                self._see(own, self.number(at)[0] if head & 15 in NUMBERS else -1)
            at = self._pass(head & 15, at, own, found)
        return at + 1

    def _pass_items(
        self,
        size: int,
        kinds: tuple[int, ...],
        at: int,
        path: tuple[int, ...],
        found: set[tuple[int, ...]],
    ) -> int:
        if size > len(self.data) - at or {*LISTS, MAP} & {*kinds}:
            raise IndexError  # each has a byte at least; Parquet has no lists of lists
        for _ in range(size):
            self._see(path, -1)
            for kind in kinds:
                at = self._pass(BYTE if kind in TRUTHS else kind, at, path, found)
        return at


def _numbered(field: int) -> int:
    """A field's number. Raises IndexError where other readers would cut it off."""
    if not 0 <= field < 1 << 15:
        raise IndexError
    return field
