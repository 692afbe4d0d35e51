"""Seek indexes, or coefficient layers, of the samples of one shard, one after another in its
sidecar.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.conversion.readers.base import Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Advance, Stop
from fastload.errors import UsageError
from fastload.files.below import DirEntry
from fastload.files.names import Inner
from fastload.sources import seek
from fastload.spec import Longs

STEP = 8  # MCUs per entry: 1.7 % of ImageNet's bytes; rows only take 0.3 %, every MCU 11 %
MOST_STEP = 0xFFFF
COEFFICIENTS = seek.COEFFICIENTS  # in place of a step: coefficient layers
# What differs between two files with the same reason
PLACE = re.compile(r"(?:^jpeg_(?:index|layer): | (?:at|near) byte \d+)")
DETAIL = re.compile(r" \(.*|; .*")  # … of a reason why a sample is bad
NO_JPEG = "not a JPEG"


class Sidecar(NamedTuple):
    """The seek indexes of one shard; rows are in the order of its samples."""

    path: str
    bytes: int  # 0: no file
    checksum: int
    offset: Longs  # [K], bytes; 0 where the sample has none
    size: Longs
    reasons: Counter[str]  # why samples have none


@dataclass(frozen=True)
class Totals:
    """What was indexed."""

    indexed: int  # samples
    bytes: int  # of all files of indexes
    reasons: dict[str, int]  # why the others were not, most frequent first


class Builder:
    """Appends one sample's index after the other.

    step: MCUs per entry, 0: rows only; COEFFICIENTS: layers; None builds nothing.
    """

    def __init__(self, step: int | None) -> None:
        self.step = step
        self.parts = [] if step is None else [header(step)]
        self.offset: list[int] = []
        self.size: list[int] = []
        self.reasons: Counter[str] = Counter()
        self.end = sum(map(len, self.parts))

    def add(self, data: bytes) -> None:
        """The next sample."""
        self.put(*(build(data, self.step) if self.step is not None else (b"", "")))

    def put(self, index: bytes, reason: str) -> None:
        """The next sample's index, or empty and why it has none."""
        if reason:
            self.reasons[PLACE.sub("", reason)] += 1
        self.offset.append(self.end if index else 0)
        self.size.append(len(index))
        self.parts.append(index)
        self.end += len(index)

    def add_sample(self, reader: Reader, sample: int) -> None:
        """The next sample, to be read; none is made of a bad one, which is for fastload verify to
        tell.
        """
        try:
            self.add(reader.read(sample))
        except BadSampleError as error:
            self.put(b"", DETAIL.sub("", str(error)))

    @property
    def indexes(self) -> list[bytes]:
        return self.parts[1:]

    def finish(self, entry: DirEntry | None, *, write: bool = True) -> Sidecar:
        """With `write` the file is on disk when this returns; without a step there is none."""
        whole = b"".join(self.parts)
        if write and self.step is not None and entry is not None:
            entry.folder.write(entry.name, whole)
        path = entry.path if entry else ""
        offset, size = np.array(self.offset, np.int64), np.array(self.size, np.int64)
        return Sidecar(path, len(whole), _native.xxh3(whole), offset, size, self.reasons)


def built(
    reader: Reader,
    numbers: Iterable[int],
    step: int,
    advance: Advance,
    stop: Stop,
    ask: Callable[[int], None] = lambda _: None,
) -> Builder:
    """The indexes of these samples. ask: is told each before it is read. Raises StoppedError."""
    builder = Builder(step)
    for sample in numbers:
        stop.check()
        ask(sample)
        builder.add_sample(reader, sample)
        advance(1, int(max(reader.sizes[sample], 0)))
    return builder


def header(step: int) -> bytes:
    """What a file of seek indexes begins with."""
    return seek.HEADER.pack(seek.MAGIC, seek.VERSION, step)


def step_in(head: bytes) -> int | None:
    """The step that a file says which begins with `head`; None: it is no file of seek indexes."""
    magic, version, step = seek.HEADER.unpack(
        head[: seek.HEADER.size].ljust(seek.HEADER.size, b"\0")
    )
    known = (magic, version) == (seek.MAGIC, seek.VERSION)
    return step if known and (step <= MOST_STEP or step == COEFFICIENTS) else None


def build(data: bytes, step: int) -> tuple[bytes, str]:
    """A sample's index, or empty and why it has none."""
    if not data.startswith(b"\xff\xd8"):
        return b"", NO_JPEG
    try:
        if step == COEFFICIENTS:
            return _native.jpeg_layer(data), ""
        return _native.jpeg_index(data, step), ""
    except ValueError as error:
        return b"", str(error)


def beside(path: str) -> str:
    """The sidecar's name of a shard's."""
    return os.path.splitext(path)[0] + ".seek"


def entry_beside(entry: DirEntry) -> DirEntry:
    """Where a shard's sidecar goes."""
    return DirEntry(entry.folder, Inner(beside(entry.name)))


def expected(sizes: Longs, step: int | None) -> int:
    """Bytes of the indexes of files of `sizes` bytes: about twice what photographs take. Of layers
    a sixth more.
    """
    if step is None:
        return 0
    known = np.maximum(sizes, 0)
    if step == COEFFICIENTS:
        return int((2048 + known * 3 // 2).sum())
    return int((128 + known // 64 + known // (4 * step if step else 256)).sum())


def total(sidecars: Iterable[Sidecar]) -> Totals:
    listed = list(sidecars)
    reasons: Counter[str] = sum((sidecar.reasons for sidecar in listed), Counter())
    indexed = sum(int(np.count_nonzero(sidecar.size)) for sidecar in listed)
    return Totals(indexed, sum(sidecar.bytes for sidecar in listed), dict(reasons.most_common()))


def check_step(step: int | None) -> None:
    if step not in (None, COEFFICIENTS) and not 0 <= step <= MOST_STEP:
        raise UsageError(
            f"seek step: got {step} (want 0 to {MOST_STEP} MCUs per entry); the default is {STEP}"
        )
