"""JPEGs that are rewritten as baseline on their way into a shard: which, how much room they need,
what became of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.conversion.readers.base import LARGEST
from fastload.spec import Longs

AS_IT_IS = ("baseline", "other")  # has a seek index already, or is for other decoders
# Never decoded by the own decoder. It takes restart-marked files and skips most of them, though
# less than by a seek index.
SLOW = ("progressive", "arithmetic", "multi-scan")
# What differs between two files with the same reason
DETAIL = re.compile(r"^(Corrupt JPEG data): .*")


class Rewritten(NamedTuple):
    """An image as it goes into the shard."""

    data: bytes
    before: int  # bytes that the source has
    coding: str  # of the source's bytes, as _native.jpeg_coding says
    reason: str  # why it stays although it was to be rewritten


@dataclass(frozen=True)
class Totals:
    """What was rewritten, and what was not."""

    on: bool
    images: dict[str, int]  # how they were coded, most frequent first
    before: int  # bytes of these images
    after: int
    left: dict[str, int]  # why others stay, most frequent first
    slow: dict[str, int]  # images in the result that decode slowly, by how they are coded


@dataclass
class Tally:
    """The same for one shard, while it grows."""

    on: bool
    images: Counter[str] = field(default_factory=Counter)
    before: int = 0
    after: int = 0
    left: Counter[str] = field(default_factory=Counter)
    slow: Counter[str] = field(default_factory=Counter)

    def add(self, image: Rewritten) -> None:
        if image.coding in AS_IT_IS:
            return
        if self.on and not image.reason:
            self.images[image.coding] += 1
            self.before += image.before
            self.after += len(image.data)
            return
        if self.on:
            self.left[image.reason] += 1
        if image.coding in SLOW:
            self.slow[image.coding] += 1

    def take(self, other: "Tally") -> None:
        """Count another's too."""
        self.images += other.images
        self.before += other.before
        self.after += other.after
        self.left += other.left
        self.slow += other.slow

    def pack(self) -> list[Any]:
        """As JSON can hold it."""
        return [self.on, self.images, self.before, self.after, self.left, self.slow]

    @classmethod
    def unpack(cls, said: Sequence[Any]) -> "Tally":
        on, images, before, after, left, slow = said
        return cls(on, Counter(images), before, after, Counter(left), Counter(slow))


def kept(data: bytes, coding: str) -> Rewritten:
    """An image that is left as it is."""
    return Rewritten(data, len(data), coding, "")


def rewrite(data: bytes) -> Rewritten:
    """The image as one baseline scan if it is worth that; else as it is.

    Raises nothing: every doubt leaves it.
    """
    coding = _native.jpeg_coding(data)
    if coding in AS_IT_IS:
        return kept(data, coding)
    try:
        out, reason = _native.jpeg_transcode(data)
    except MemoryError:
        out, reason = None, "not enough memory"
    if out is not None and len(out) > min(most(len(data)), LARGEST):
        out, reason = None, "would grow by more than a quarter"
    return Rewritten(data if out is None else out, len(data), coding, DETAIL.sub(r"\1", reason))


def most(size: int) -> int:
    """Bytes that an image of `size` bytes may take after it was rewritten: photographs grow by 2 to
    14 % at most.
    """
    return size + size // 4 + 1024


def room(sizes: Longs) -> Longs:
    """`most` of each; what is no file stays so."""
    return np.where(sizes > 0, sizes + sizes // 4 + 1024, sizes)


def total(tallies: Iterable[Tally], *, on: bool) -> Totals:
    whole = Tally(on)
    for tally in tallies:
        whole.take(tally)
    return Totals(
        on,
        dict(whole.images.most_common()),
        whole.before,
        whole.after,
        *(dict(c.most_common()) for c in (whole.left, whole.slow)),
    )
