"""What a loader needs of an engine, whichever backend it is of."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol, TypeAlias

import torch

from fastload.plan.bad_samples import Report
from fastload.plan.placement import Chooser
from fastload.sources.collect import Indexes
from fastload.spec import Work

# [images, target], as torch's default_collate returns pairs, and `Work.valid` where the work has
# it; of several views, images is a list.
Batch: TypeAlias = list[torch.Tensor | list[torch.Tensor]]
# An error stands for its batch, and is raised when that is due, as torch's workers do it.
WorkOrError: TypeAlias = Work | Exception


class Known(chain[WorkOrError]):
    """The batches of an iterator, in an order that asks nothing of the user's code, so that nobody
    sees how far ahead it is read.
    """


class Batches(Protocol):
    """One epoch under way: an iterator.

    A batch's own error is raised in its place, and the epoch goes on.

    Example:
        >>> from fastload.extending import Batches
        >>> class Few:
        ...     '''Two batches that are there already.'''
        ...
        ...     def __init__(self):
        ...         self.left, self.ready = [["images", "labels"]] * 2, 2
        ...
        ...     def __iter__(self):
        ...         return self
        ...
        ...     def __next__(self):
        ...         if not self.left:
        ...             raise StopIteration
        ...         return self.left.pop()
        ...
        ...     def close(self):
        ...         self.left.clear()
        >>> batches: Batches = Few()
        >>> len(list(batches))
        2
    """

    @property
    def ready(self) -> int:
        """Batches that are done before they are asked for; 0 where that is not known."""

    def __iter__(self) -> "Batches": ...
    def __next__(self) -> Batch: ...
    def close(self) -> None:
        """Drop what is under way."""


class Engine(Protocol):
    """Makes the batches of one loader, over all its epochs.

    What it keeps (threads, slots, pipelines) ends with it. A class that derives from it has to
    define `epoch` only.

    Example:
        >>> from fastload.extending import Engine
        >>> class Toy(Engine):
        ...     def epoch(self, works, timeout=0):
        ...         return (["images", "labels"] for work in works)
        >>> engine = Toy()
        >>> list(engine.epoch(iter([1, 2]))), engine.forked, engine.stats()
        ([['images', 'labels'], ['images', 'labels']], False, {})
    """

    on_bad: Callable[[Report], object]  # told of each batch's bad samples that did not raise

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> Batches:
        """Batches of `works`, in order.

        timeout: s that a batch may take, where the engine can tell; 0: any time.
        """

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that has the engine's threads."""
        return False

    def indexes(self) -> Indexes | None:
        """The seek indexes that it decodes by; None: by none."""
        return None

    def placements(self) -> Chooser | None:
        """What chooses among its placements; None: there is one."""
        return None

    def stats(self) -> dict[str, tuple[int, int, int]]:
        """`_native.Pool.stats` of threads of ours; nothing where others work."""
        return {}

    def ways(self) -> dict[str, int]:
        """`_native.Pool.ways` of threads of ours; nothing where others work."""
        return {}
