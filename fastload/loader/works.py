"""The batches of an epoch, as the user's sampler orders them: it is read batch by batch, in the
consumer's thread and from any step on.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from torch.utils.data import BatchSampler

from fastload import progressive
from fastload.backends.base import Known, WorkOrError
from fastload.dataset import place_all
from fastload.loader import sizes
from fastload.loader.base import BaseLoader
from fastload.order import distributed, epochs, loaders, samplers
from fastload.order.batches import PixelBatchSampler
from fastload.order.buckets import BucketSampler
from fastload.order.distributed import DistributedSampler
from fastload.order.samplers import ShuffleSampler
from fastload.order.tokens import TokenSampler
from fastload.plan.plan import Plan
from fastload.sources.base import NumberedFiles, Remote
from fastload.spec import Longs, Work
from fastload.state import reading
from fastload.state.progress import Progress

TOGETHER = 16  # batches of an order of arrays that are made at once


def works(
    loader: BaseLoader[object],
    plan: Plan,
    progress: Progress,
    key: int,
    sampler: Iterator[object] | None,
) -> Iterator[WorkOrError]:
    """The epoch's batches from `progress.first` on. Nothing is read before the first is asked for.

    key: the seed of their draws; sampler: the batch sampler's iterator; None opens one.
    """
    rank = distributed.split(loader)[1]
    none = np.zeros(0, np.int64)
    start = Work(none, none, key, keyed_epoch(loader, progress), 0, rank)
    batches, cut = loader.batch_sampler, epochs.cutting(loader.batch_sampler)
    if cut is not None and type(cut.sampler) is DistributedSampler:
        ordered: Iterator[WorkOrError] = Known(_shared(cut, cut.sampler, start, progress.first))
    elif type(batches) is BucketSampler or type(batches) is TokenSampler:
        ordered = _sized(batches, start, progress.first)
    else:
        ordered = _sampled(loader, plan, progress, sampler, start)
    if loader._own.size_schedule is None:
        return ordered
    sized = sizes.each(loader, plan, progress.epoch, ordered)
    known = isinstance(ordered, Known) and not progressive.runs_code(loader._own.size_schedule)
    return Known(sized) if known else sized


def keyed_epoch(loader: BaseLoader[object], progress: Progress) -> int:
    """The epoch in the keys of draws. Without a seed of the loader's each epoch has a seed of its
    own, so that a generator that is set back brings its draws back, as in PyTorch.
    """
    return 0 if loader._own.seed is None else progress.epoch


def ahead(
    loader: BaseLoader[object], far: Remote, progress: Progress, ordered: Iterator[WorkOrError]
) -> Iterator[WorkOrError]:
    """The same batches; what they need is brought from the store meanwhile."""
    from fastload.loader.ahead import Ahead  # local data sets need none of it
    from fastload.order import future

    depth = (loader.prefetch_factor or 2) * max(1, loader.num_workers)
    batches = loader.batch_sampler
    return Ahead(
        ordered, far, lambda: future.of_epoch(batches, progress.order_seed), progress.first, depth
    )


def _shared(
    batches: BatchSampler | PixelBatchSampler, inner: DistributedSampler, start: Work, first: int
) -> Iterator[Work]:
    """The batches of an order that says itself how often each sample has come before. As in all of
    these the order's epoch begins here, not when the first batch is asked for: of two iterators
    that are opened one after the other, each has the epoch that it was opened with.
    """
    size = batches.begun() if isinstance(batches, PixelBatchSampler) else batches.batch_size
    parts = inner.batches(size, batches.drop_last, first)
    # A weight of 0 may be meant to leave a sample out.
    every = inner.weights is None and inner.mixture is None
    return (
        start.batch(
            step, part.samples, part.occurrences, None if every else part.samples, part.valid
        )
        for step, part in enumerate(parts, first)
    )


def _sized(batches: BucketSampler | TokenSampler, start: Work, first: int) -> Iterator[Work]:
    """The batches of a sampler that says the sizes of images."""
    return (
        replace(
            start.batch(step, part.samples, part.occurrences, None),
            size=part.size,
            tokens=part.tokens,
        )
        for step, part in enumerate(batches.batches(first), first)
    )


def _sampled(
    loader: BaseLoader[object],
    plan: Plan,
    progress: Progress,
    sampler: Iterator[object] | None,
    start: Work,
) -> Iterator[WorkOrError]:
    """The batches of any other order, whose samples are counted as they come."""
    samples_in_all, batches = loaders.length(loader.dataset), loader.batch_sampler
    world, cut = distributed.split(loader)[0], epochs.cutting(batches)
    inner: object = None if cut is None else cut.sampler
    once = inner is not None and samplers.unique(inner, samples_in_all)
    seen = None if once else np.zeros(samples_in_all, np.int64)
    # What a sampler leaves out may be meant for validation: nothing of it may stand in for a bad
    # sample.
    every = once and loaders.length(inner) * world > samples_in_all - world
    orders = _arrays(batches, progress)
    # Arrays of a known order need no look at each.
    known = orders is not None and samplers.below(inner) <= samples_in_all
    if known and not samplers.draws_at_end(inner):
        arrays = cast("Iterator[Longs]", orders)
        return Known(_together(arrays, progress.first, seen, start, every=every))
    from_end = not isinstance(plan.source, NumberedFiles)
    return _counted(
        (lambda: orders) if orders else lambda: _replayed(loader, progress, sampler, seen),
        progress.first,
        start,
        epochs.counting(loader, seen, samples_in_all),
        None if known else partial(place_all, length=samples_in_all, from_end=from_end),
        every=every,
    )


def _arrays(batches: object, progress: Progress) -> Iterator[Longs] | None:
    """The epoch as `samplers.order` gives it, of batches of any known size."""
    if type(batches) is PixelBatchSampler and type(batches.sampler) is ShuffleSampler:
        return samplers.keyed(batches.sampler, batches.begun(), batches.drop_last, progress.first)
    return samplers.order(batches, progress.first, progress.draw)


def _counted(
    begin: Callable[[], Iterable[object]],
    first: int,
    start: Work,
    occurrences: Callable[[Longs], Longs],
    placed: Callable[[object], Longs] | None,
    *,
    every: bool,
) -> Iterator[WorkOrError]:
    """begin: gives the batches' indices, and is called when the first of them is asked for;
    placed: `place_all`, where indices may be outside; None: they are known arrays.
    """
    for step, indices in enumerate(begin(), first):
        try:
            samples = cast("Longs", indices) if placed is None else placed(indices)
        except (IndexError, TypeError) as error:
            yield error
            continue
        yield start.batch(step, samples, occurrences(samples), None if every else samples)


def _together(
    orders: Iterator[Longs], first: int, seen: Longs | None, start: Work, *, every: bool
) -> Iterator[Work]:
    """The batches of orders that ask nothing of the user's: several are made at once, since code
    that runs once for each batch is cold.
    """
    steps = enumerate(orders, first)
    while several := list(itertools.islice(steps, TOGETHER)):
        yield from [
            start.batch(
                step, samples, samplers.occurrences(samples, seen), None if every else samples
            )
            for step, samples in several
        ]


def _replayed(
    loader: BaseLoader[object],
    progress: Progress,
    sampler: Iterator[object] | None,
    seen: Longs | None,
) -> Iterator[object]:
    """The rest of a sampler's iterator: the first batches are drawn again and counted."""
    batches: Iterable[object] = loader._index_sampler
    read = reading.Reading(batches, iter(batches) if sampler is None else sampler, progress)
    with progress.replaying():
        for _, indices in read.passing(progress.first):
            if seen is not None:
                samplers.occurrences(_numbers(indices, len(seen)), seen)
        # Samplers draw when they are first asked.
        head = list(itertools.islice(read, int(progress.resumed)))
    return itertools.chain(head, read)


def _numbers(indices: object, length: int) -> Longs:
    """As `place_all`; nothing for a batch that is an error."""
    try:
        return place_all(indices, length)
    except (IndexError, TypeError):
        return np.zeros(0, np.int64)
