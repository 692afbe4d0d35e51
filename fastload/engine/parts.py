"""Batches of patches: each is made in parts, of images that have one size, into one memory.

A part is a batch to the native engine: it is read, drawn and made as any other. So Python is
entered once for each size in a batch, and STORE writes patches to where they belong.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from fastload.backends.base import Batch, WorkOrError
from fastload.engine.slots import Ring
from fastload.spec import Array, Dtype, Ints, Size, Tokens, Work

CHANNELS = 3


class Memory:
    """A batch's patches, [N, length, patch * patch * 3]: a slot, once its first part begins."""

    def __init__(self, ring: Ring, count: int, tokens: Tokens, dtype: Dtype) -> None:
        self.ring, self.dtype = ring, dtype
        self.shape = (count, tokens.length, tokens.patch**2 * CHANNELS)
        self.slot: Array | None = None

    def rows(self, first: int, count: int) -> Array:
        """Of so many samples, from this one on."""
        if self.slot is None:
            self.slot = self.ring.take(self.shape, self.dtype)
        return self.slot[first : first + count]


@dataclass(frozen=True)
class Part(Work):
    """Samples of a batch whose images have one size."""

    memory: Memory | None = None
    first: int = 0  # which of the batch's samples it begins with


@dataclass
class Ordered:
    """A batch under way: its parts come one after the other."""

    parts: int
    work: WorkOrError
    memory: Memory | None = None  # None: an error in its place
    grids: tuple[Ints, ...] = ()  # of each part, patches high and wide
    done: list[Batch] = field(default_factory=list)  # of the parts that have come
    error: BaseException | None = None  # of the first of them that failed


Split = tuple[Ordered, list[WorkOrError]]


def split(work: WorkOrError, ring: Ring, dtype: Dtype) -> Split:
    """A batch, whose samples lie by their grids, and its parts."""
    if isinstance(work, Exception) or work.tokens is None or not len(work):
        return Ordered(1, work), [work]
    tokens = work.tokens
    memory = Memory(ring, len(work), tokens, dtype)
    starts = _starts(tokens.grids)
    ends = [*starts[1:], len(work)]
    parts: list[WorkOrError] = [
        _part(work, tokens, first, end, memory) for first, end in zip(starts, ends, strict=True)
    ]
    return Ordered(len(parts), work, memory, tuple(tokens.grids[starts])), parts


def images(work: Work) -> list[Work]:
    """A batch of images; or, in place of one of patches, a batch of images of each size."""
    if work.tokens is None or not len(work):
        return [work]
    side, grids = work.tokens.patch, work.tokens.grids
    starts = _starts(grids)
    return [
        replace(
            work,
            samples=work.samples[first:end],
            occurrences=work.occurrences[first:end],
            size=(int(grids[first, 0]) * side, int(grids[first, 1]) * side),
            tokens=None,
        )
        for first, end in zip(starts, [*starts[1:], len(work)], strict=True)
    ]


def _starts(grids: Ints) -> list[int]:
    """Where another grid begins."""
    changes = np.flatnonzero((grids[1:] != grids[:-1]).any(axis=1)) + 1
    return [0, *changes.tolist()]


def _part(work: Work, tokens: Tokens, first: int, end: int, memory: Memory) -> Part:
    of = slice(first, end)
    height, width = tokens.grids[first].tolist()
    size: Size = (height * tokens.patch, width * tokens.patch)
    mine = replace(tokens, grids=tokens.grids[of])
    return Part(
        work.samples[of], work.occurrences[of], work.seed, work.epoch, work.step, work.rank, size,
        work.view, None, work.choices, mine, memory, first
    )  # fmt: skip
