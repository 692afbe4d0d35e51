"""The file with an index's checksum: `INDEX.xxh3`.

It has one line, XXH3-64 of the whole in 16 hexadecimal digits. It has two while the index is being
replaced, the old one's and the new one's. A longer form tells where an index is damaged: MAGIC, the
same line, one for each block of BLOCK bytes, and one of all that stands before it.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from fastload import _native

BLOCK = 1 << 16  # bytes
MOST = 1 << 25  # bytes of such a file: blocks of an index of 120 GiB
MAGIC = b"blocks\n"
HEAD = len(MAGIC) + 2 * 17  # bytes: two lines
LINES = re.compile(rb"(?:[0-9a-f]{16}\n)+")


class Sums(NamedTuple):
    """What such a file says."""

    whole: tuple[int, ...]  # any of these is right
    blocks: tuple[int, ...]  # of each BLOCK bytes; empty: not said


def line(checksum: int) -> bytes:
    return b"%016x\n" % checksum


def text(content: Any) -> bytes:
    """The file for an index, with its blocks. content: bytes-like."""
    view = memoryview(content)
    blocks = [_native.xxh3(view[at : at + BLOCK]) for at in range(0, len(view), BLOCK)]
    return of(_native.xxh3(view), blocks)


def of(whole: int, blocks: Sequence[int]) -> bytes:
    """The same of an index with these checksums."""
    lines = MAGIC + line(whole) + b"".join(map(line, blocks))
    return lines + line(_native.xxh3(lines))


def parse(said: bytes) -> Sums | None:
    """None for what no writer of ours wrote, or that is damaged itself."""
    body = said.removeprefix(MAGIC)
    if not LINES.fullmatch(body):
        return None
    numbers = [int(each, 16) for each in body.split()]
    if body is said:
        return Sums(tuple(numbers), ()) if len(numbers) <= 2 else None
    sealed = len(numbers) >= 2 and _native.xxh3(said[: -len(line(0))]) == numbers[-1]
    return Sums((numbers[0],), tuple(numbers[1:-1])) if sealed else None


def whole_in(start: bytes) -> tuple[int, ...]:
    """What such a file says of the whole, by its first HEAD bytes; whether the rest is right is not
    asked.
    """
    lines = start.removeprefix(MAGIC).split(b"\n")[: 1 if start.startswith(MAGIC) else 2]
    return tuple(int(each, 16) for each in lines if LINES.fullmatch(each + b"\n"))


def damaged(content: Any, blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """Ranges of bytes whose blocks are not as they were: first, and behind the last; neighbours are
    one range.
    """
    view, wanted = memoryview(content), len(blocks) * BLOCK
    wrong = [
        at
        for at, want in zip(range(0, wanted, BLOCK), blocks, strict=True)
        if _native.xxh3(view[at : at + BLOCK]) != want
    ]
    ends = [len(view) if at < len(view) and at + BLOCK == wanted else at + BLOCK for at in wrong]
    if len(view) > wanted and wanted not in ends:
        wrong, ends = [*wrong, wanted], [*ends, len(view)]
    starts = [at for at in wrong if at not in ends]
    return list(zip(starts, [end for end in ends if end not in wrong], strict=True))
