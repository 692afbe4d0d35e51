"""Compare converted shards and files of seek indexes with their checksums.

What differs is named: file, byte range, sample.
"""

import errno
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.conversion import samples, tar
from fastload.conversion.workers import Advance
from fastload.files import seals
from fastload.files.opening import no_wait
from fastload.sources.shard_index import Index, Shard
from fastload.spec import Longs
from fastload.system import limits

READ = 1 << 20  # bytes; what a disk error makes unreadable at once


class Damage(NamedTuple):
    """Something that is not as it was written."""

    file: str
    start: int  # first damaged byte; the payload's range where only its checksum is known
    end: int
    key: str | None  # of the sample, if it is one's
    what: str

    @property
    def location(self) -> str:
        span = f", bytes {self.start}..{self.end}" if self.end > self.start else ""
        return f"{self.file}{span}{f', sample {self.key}' if self.key is not None else ''}"

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


def go_on() -> None:
    """A check that never gives up."""


def check_file(
    where: str, want: Shard, check: Callable[[], None] = go_on, *, growing: bool = False
) -> list[Damage]:
    """A file of seek indexes as a whole: what is damaged in it only makes loading slower.

    check: asked between two reads; raises to give up; growing: more may be being added.
    """
    path = os.path.join(where, want.name)
    try:
        data, damages = read_shard(path, check)
    except OSError as error:
        return [
            Damage(path, 0, 0, None, f"cannot be read ({error.strerror}); run fastload index again")
        ]
    data = data[: want.bytes] if growing else data
    got = _native.xxh3(data)
    if len(data) != want.bytes:
        start, end = sorted((len(data), want.bytes))
        damages.append(
            Damage(
                path,
                start,
                end,
                None,
                f"size differs (got {len(data)} bytes, want {want.bytes}); run fastload index "
                "again",
            )
        )
    elif got != want.checksum and not damages:
        text = (
            f"checksum of the whole file differs (got {got:016x}, want {want.checksum:016x}); "
            "run fastload index again"
        )
        damages.append(Damage(path, 0, len(data), None, text))
    return damages


def check_sidecar(
    index: Index, shard: int, rows: Longs, check: Callable[[], None] = go_on
) -> list[Damage]:
    """A shard's seek indexes: the samples whose own is damaged, or else the file. check: as
    above.
    """
    want = index.sidecars[shard]
    whole = check_file(index.where, want, check)
    if not whole or "checksum" not in whole[0].what:
        return whole
    path = os.path.join(index.where, want.name)
    data, _ = read_shard(path, check)
    damages = []
    for row, at, size in zip(
        rows.tolist(),
        *(index.columns[name][rows].tolist() for name in ("index_offset", "index_size")),
        strict=True,
    ):
        part = data[at : at + size]
        if size and not seals.intact(part):
            text = "checksum of its seek index differs; run fastload index again"
            damages.append(Damage(path, at, at + size, index.key(row), text))
    return damages or whole


def read_and_check(
    index: Index, shard: int, rows: Longs, advance: Advance, check: Callable[[], None]
) -> list[Damage]:
    """Everything that is wrong with one shard. check: asked between two reads; raises to give
    up.
    """
    path = os.path.join(index.where, index.shards[shard].name)
    try:
        data, damages = read_shard(path, check)
    except OSError as error:
        advance(len(rows), 0)
        return [
            Damage(
                path, 0, 0, None, f"cannot be read ({error.strerror}); restore it, or convert again"
            )
        ]
    damages += check_shard(index, shard, rows, data)
    advance(len(rows), len(data))
    return damages


def read_shard(path: str, check: Callable[[], None] = go_on) -> tuple[memoryview, list[Damage]]:
    """A file's bytes; where the disk cannot read, zeros and a Damage.

    check: as above. Raises OSError if it cannot be opened at all.
    """
    damages = []
    file = no_wait(path, os.O_RDONLY)
    try:
        data = _memory(file)
        for start in range(0, len(data), READ):
            check()
            part = data[start : start + READ]
            try:
                got = os.preadv(file, [part], start)
            except OSError as error:
                got = 0
                damages.append(
                    Damage(
                        path,
                        start,
                        start + len(part),
                        None,
                        f"cannot be read ({error.strerror}); check the disk",
                    )
                )
            part[got:] = bytes(len(part) - got)
    finally:
        os.close(file)
    return data, damages


def _memory(file: int) -> memoryview:
    """Room for the bytes of an open file. Raises OSError."""
    size = os.fstat(file).st_size
    if problem := limits.unread(file, 0, size, limits.SHARD):
        raise OSError(errno.EFBIG, f"is larger than it can be: {problem}")
    try:
        return np.empty(size, np.uint8).data
    except MemoryError as error:
        raise OSError(errno.ENOMEM, f"does not fit into memory: needs {size} bytes") from error


def check_shard(index: Index, shard: int, rows: Longs, data: memoryview) -> list[Damage]:
    """Compare a shard's bytes with what the index says.

    rows: the shard's samples in the order of their offsets.
    """
    path, want = os.path.join(index.where, index.shards[shard].name), index.shards[shard]
    damages = list(_payloads(index, path, rows, data))
    got = _native.xxh3(data)
    if got == want.checksum and not damages:
        return []
    damages += _frames(index, path, rows, data, want.bytes)
    if len(data) != want.bytes:
        start, end = sorted((len(data), want.bytes))
        damages.append(
            Damage(
                path, start, end, None, f"size differs (got {len(data)} bytes, want {want.bytes})"
            )
        )
    if not damages:
        damages.append(
            Damage(
                path,
                0,
                len(data),
                None,
                f"checksum of the whole file differs (got {got:016x}, want {want.checksum:016x})",
            )
        )
    return sorted(damages, key=lambda damage: damage.start)


def _payloads(index: Index, path: str, rows: Longs, data: memoryview) -> Iterator[Damage]:
    offsets, sizes, wants = (
        index.columns[name][rows].tolist() for name in ("offset", "size", "checksum")
    )
    for row, *location in zip(rows.tolist(), offsets, sizes, wants, strict=True):
        yield from _payload(
            index, path, row, "the image", (location[0], location[1], location[2]), data
        )
        for extra in index.extras[row] if index.extras else ():
            yield from _payload(index, path, row, extra.name, extra[1:], data)


def _payload(
    index: Index, path: str, row: int, what: str, location: tuple[int, int, int], data: memoryview
) -> Iterator[Damage]:
    """location: offset, bytes and checksum."""
    offset, size, want = location
    if offset + size > len(data):
        yield Damage(
            path,
            offset,
            offset + size,
            index.key(row),
            f"is cut off (the shard ends at byte {len(data)})",
        )
    elif (got := _native.xxh3(data[offset : offset + size])) != want:
        yield Damage(
            path,
            offset,
            offset + size,
            index.key(row),
            f"checksum of {what} differs (got {got:016x}, want {want:016x})",
        )


def _frames(
    index: Index, path: str, rows: Longs, data: memoryview, size_of_shard: int
) -> Iterator[Damage]:
    """Damage between the payloads: what must stand there follows from the index, so the very bytes
    can be named.
    """
    offsets, sizes, labels = (
        index.columns[name][rows].tolist() for name in ("offset", "size", "label")
    )
    for row, offset, size, label in zip(rows.tolist(), offsets, sizes, labels, strict=True):
        key = index.key(row)
        head = tar.before(key, samples.extension(index.format(row)), size)
        tail = tar.after(key, label, size)
        frames = [(offset - len(head), head), (offset + size, tail)]
        for extra in index.extras[row] if index.extras else ():
            head = tar.header(f"{key}.{extra.name}".encode(), extra.size)
            frames += [
                (extra.offset - len(head), head),
                (extra.offset + extra.size, bytes(-extra.size % tar.BLOCK)),
            ]
        for start, want in frames:
            yield from _compare(path, start, data, want, key)
    # Not behind the last of them: a sample that was deleted may follow
    yield from _compare(path, size_of_shard - len(tar.END), data, tar.END, None)


def _compare(
    path: str, start: int, data: memoryview, want: bytes, key: str | None
) -> Iterator[Damage]:
    got = bytes(data[start : start + len(want)])
    if got == want or start >= len(data):  # a cut is reported as such
        return
    differ = [at for at, byte in enumerate(want) if at >= len(got) or got[at] != byte]
    yield Damage(
        path, start + differ[0], start + differ[-1] + 1, key, "tar header, label or padding differs"
    )
