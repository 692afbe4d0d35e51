"""What an epoch consists of, batch by batch: the user's samplers read in the consumer's thread,
from any step on.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from torch.utils.data import BatchSampler

from fastload import progressive
from fastload.backends.base import Order
from fastload.dataset import place_all
from fastload.errors import UsageError
from fastload.loader.base import BaseLoader
from fastload.order import distributed, loaders, samplers
from fastload.order.batches import PixelBatchSampler
from fastload.order.distributed import DistributedSampler
from fastload.plan.plan import Plan
from fastload.spec import Longs, Work
from fastload.state import reading
from fastload.state.progress import Progress


def works(
    loader: BaseLoader[object],
    plan: Plan,
    progress: Progress,
    key: int,
    sampler: Iterator[object] | None,
) -> Iterator[Order]:
    """The epoch's batches from `progress.first` on.

    key: the seed of their draws; sampler: the batch sampler's iterator; None opens one.
    """
    rank = distributed.split(loader)[1]
    start = Work(np.zeros(0, np.int64), np.zeros(0, np.int64), key, progress.epoch, 0, rank)
    batches = loader.batch_sampler
    if type(batches) is BatchSampler and type(batches.sampler) is DistributedSampler:
        orders: Iterator[Order] = _shared(batches, batches.sampler, start, progress.first)
    else:
        orders = _sampled(loader, progress, sampler, start)
    for order in orders:
        if isinstance(order, Exception):
            yield order
        else:
            yield replace(order, size=size(loader, plan, progress.epoch, order.step))


def _shared(
    batches: BatchSampler, inner: DistributedSampler, start: Work, first: int
) -> Iterator[Work]:
    """The batches of an order that says itself how often each sample has come before."""
    parts = inner.batches(batches.batch_size, batches.drop_last, first)
    for step, part in enumerate(parts, first):
        yield replace(
            start,
            samples=part.samples,
            occurrences=part.occurrences,
            step=step,
            valid=part.valid,
            # A weight of 0 may be meant to leave a sample out.
            choices=None if inner.weights is None else part.samples,
        )


def _sampled(
    loader: BaseLoader[object], progress: Progress, sampler: Iterator[object] | None, start: Work
) -> Iterator[Order]:
    """The batches of any other order, whose samples are counted as they come."""
    samples_in_all, batches = loaders.length(loader.dataset), loader.batch_sampler
    world = distributed.split(loader)[0]
    inner: object = None
    if type(batches) is BatchSampler or type(batches) is PixelBatchSampler:
        inner = batches.sampler
    once = inner is not None and samplers.unique(inner, samples_in_all)
    seen = None if once else np.zeros(samples_in_all, np.int64)
    # What a sampler leaves out may be meant for validation: nothing of it may stand in for a bad
    # sample.
    every = once and loaders.length(inner) * world > samples_in_all - world
    indices_of_batches: Iterable[object] | None = samplers.order(
        batches, progress.first, progress.draw
    )
    if indices_of_batches is None:
        indices_of_batches = _replayed(loader, progress, sampler, seen)
    for step, indices in enumerate(indices_of_batches, progress.first):
        try:
            samples = place_all(indices, samples_in_all)
        except (IndexError, TypeError) as error:
            yield error
            continue
        yield replace(
            start,
            samples=samples,
            occurrences=samplers.occurrences(samples, seen),
            step=step,
            choices=None if every else samples,
        )


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
                samplers.occurrences(_placed(indices, len(seen)), seen)
        # Samplers draw when they are first asked.
        head = list(itertools.islice(read, int(progress.resumed)))
    return itertools.chain(head, read)


def _placed(indices: object, length: int) -> Longs:
    """As `place_all`; nothing for a batch that is an error."""
    try:
        return place_all(indices, length)
    except (IndexError, TypeError):
        return np.zeros(0, np.int64)


def count_steps(loader: BaseLoader[object]) -> int:
    """Batches in an epoch, where the size schedule must know; else 0. Raises UsageError."""
    try:
        return len(loader) if loader.size_schedule and loader.size_schedule.counts_steps else 0
    except TypeError:
        raise UsageError(
            "size_schedule: total_steps needs a sampler with a length; add __len__, or give "
            "total_epochs"
        ) from None


def size(loader: BaseLoader[object], plan: Plan, epoch: int, step: int) -> int | None:
    """Of a batch's images, px; None for the pipeline's own."""
    if loader.size_schedule is None:
        return None
    side = progressive.checked_size(loader.size_schedule, plan.full, epoch, step, loader._steps)
    if side is not None and side not in loader._sizes:
        plan.at(side)  # raises here, in the user's thread, what a function's size makes impossible
        loader._sizes.add(side)
    return side


def explain_sizes(loader: BaseLoader[object], plan: Plan) -> list[str]:
    """The size schedule, as DataLoader.explain says it."""
    if loader.size_schedule is None:
        return []
    first = size(loader, plan, loader._epoch, 0) or plan.full
    sizes = f"{first} px at the start of epoch {loader._epoch}, {plan.full} px in the pipeline"
    return [f"  sizes   {loader.size_schedule}: {sizes}"]


def seed(loader: BaseLoader[object], base_seed: int) -> int:
    """Of the epoch's draws: a resumed epoch's own, the loader's, or what was drawn for this epoch
    (by rank 0, where ranks share it).
    """
    progress = loader._progress
    if progress.seed is None:
        progress.seed = (
            distributed.shared(base_seed, loader) if loader.seed is None else int(loader.seed)
        )
    return progress.seed
