"""The keys and values of an LMDB file (data.mdb), and where each value lies, without that library.

The file is pages. The first two say where the tree's root is: the one of the later transaction
counts. A page of the tree has nodes in the order of their keys: those of a branch name a page
below, those of a leaf have a value, or name the pages on which a large one lies in one piece.
Every number is checked before it is used, and no page is looked at twice, so a damaged file ends
in an error. Source: LMDB 0.9, lmdb.h and mdb.c, as 64-bit machines with little-endian numbers
write it.
"""

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from fastload.errors import SourceError

MAGIC, VERSION = 0xBEEFC0DE, 1
HEAD = struct.Struct("<QHHHH")  # number, padding, flags, end of the pointers, begin of the nodes
NODE = struct.Struct("<HHHH")  # low and high part of the size, flags, size of the key
PAGE = struct.Struct("<Q")
META = struct.Struct("<IIQQ48s48sQQ")  # of it are: magic, version, trees of free pages and of keys
TREE = struct.Struct("<IHHQQQQQ")  # page size or padding, flags, depth, pages, entries, root
BRANCH, LEAF, OVERFLOW = 0x01, 0x02, 0x04  # flags of pages
LARGE, TREE_BELOW, MANY = 0x01, 0x02, 0x04  # flags of nodes
NO_ROOT = (1 << 64) - 1
SMALLEST, LARGEST = 1 << 9, 1 << 16  # bytes of a page
DEEPEST = 32  # as LMDB itself
REMEDY = "copy it again while nobody writes, or write it again"


class Entry(NamedTuple):
    """A key, and where its value lies."""

    key: bytes
    offset: int  # bytes
    size: int


class Tree(NamedTuple):
    """What the file's first pages say."""

    page: int  # bytes of each
    entries: int
    root: int
    flags: int


def entries(path: str, file: int) -> Iterator[Entry]:
    """All of them, in the order of the keys. Raises SourceError and OSError."""
    size = os.fstat(file).st_size
    tree = _newest(path, file)
    if tree.flags & MANY:
        raise SourceError(
            f"{path}: has several values per key (flags {tree.flags:#x}); {REMEDY} with one each"
        )
    if tree.root == NO_ROOT:
        return
    seen, todo, count = set[int](), [(tree.root, 0)], 0
    while todo:
        number, depth = todo.pop()
        if number in seen or depth > DEEPEST or (number + 1) * tree.page > size:
            raise _damaged(path, f"page {number} is there twice, too deep, or outside of the file")
        seen.add(number)
        data = os.pread(file, tree.page, number * tree.page)
        flags, nodes = _nodes(path, number, data)
        if flags & LEAF:
            for entry in _leaf(path, number, data, nodes, tree.page, size):
                count += 1
                yield entry
        else:
            below = [_branch(data, node) for node in nodes]
            todo += [(page, depth + 1) for page in reversed(below)]
    if count != tree.entries:
        raise _damaged(path, f"it has {count} entries, want {tree.entries}")


def _newest(path: str, file: int) -> Tree:
    """Raises SourceError and OSError."""
    first = _meta(path, os.pread(file, HEAD.size + META.size, 0))
    second = _meta(path, os.pread(file, HEAD.size + META.size, first[1].page))
    return max(first, second, key=lambda one: one[0])[1]


def _meta(path: str, data: bytes) -> tuple[int, Tree]:
    """The number of the transaction, and its tree. Raises SourceError."""
    if len(data) < HEAD.size + META.size:
        raise SourceError(f"{path}: is no LMDB file, or cut off; {REMEDY}")
    magic, version, _, _, free, main, _, transaction = META.unpack_from(data, HEAD.size)
    if (magic, version) != (MAGIC, VERSION):
        raise SourceError(
            f"{path}: is no LMDB file of version {VERSION} (magic {magic:#x}, version {version}); "
            f"{REMEDY}"
        )
    page = TREE.unpack(free)[0]
    _, flags, _, _, _, _, count, root = TREE.unpack(main)
    if page & (page - 1) or not SMALLEST <= page <= LARGEST:
        raise _damaged(path, f"pages have {page} bytes")
    return transaction, Tree(page, count, root, flags)


def _nodes(path: str, number: int, data: bytes) -> tuple[int, tuple[int, ...]]:
    """A page's flags, and where its nodes begin. Raises SourceError."""
    if len(data) < HEAD.size:
        raise _damaged(path, f"page {number} is cut off")
    said, _, flags, end, upper = HEAD.unpack_from(data)
    kind = flags & (BRANCH | LEAF | OVERFLOW)
    count = (end - HEAD.size) // 2
    wrong = said != number or kind not in (BRANCH, LEAF) or flags & 0x60
    if wrong or not HEAD.size <= end <= upper <= len(data) or end % 2:
        raise _damaged(path, f"page {number} is none of the tree (flags {flags:#x})")
    nodes = struct.unpack_from(f"<{count}H", data, HEAD.size)
    if nodes and not end <= min(nodes) <= max(nodes) <= len(data) - NODE.size:
        raise _damaged(path, f"page {number} has nodes outside of it")
    return kind, nodes


def _branch(data: bytes, at: int) -> int:
    """The page below."""
    low, high, flags, _ = NODE.unpack_from(data, at)
    return int(low | high << 16 | flags << 32)


def _leaf(
    path: str, number: int, data: bytes, nodes: tuple[int, ...], page: int, size: int
) -> Iterator[Entry]:
    """The entries of a leaf: its nodes do not overlap. Raises SourceError."""
    left = len(data)
    for at in nodes:
        low, high, flags, length = NODE.unpack_from(data, at)
        begin = at + NODE.size + length
        key, bytes_ = data[at + NODE.size : begin], low | high << 16
        if flags & (TREE_BELOW | MANY):
            raise SourceError(
                f"{path}: has a database of its own, or several values, under the key {key!r:.60}; "
                "write one database without a name, with one value for each key"
            )
        offset = number * page + begin
        if flags & LARGE:
            if begin + PAGE.size > len(data):
                raise _damaged(path, f"page {number} has nodes outside of it")
            offset = PAGE.unpack_from(data, begin)[0] * page + HEAD.size
        elif begin + bytes_ > len(data):
            raise _damaged(path, f"page {number} has nodes outside of it")
        left -= NODE.size + length + (PAGE.size if flags & LARGE else bytes_)
        if left < 0:
            raise _damaged(path, f"page {number} has nodes that overlap")
        if offset + bytes_ > size:
            raise _damaged(
                path, f"the value of {key!r:.60} ends at byte {offset + bytes_} of {size}"
            )
        yield Entry(key, offset, bytes_)


def _damaged(path: str, what: str) -> SourceError:
    return SourceError(f"{path}: is damaged ({what}); {REMEDY}")
