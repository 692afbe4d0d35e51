"""What an epoch consists of, batch by batch: the user's samplers read in the consumer's thread, from any step on."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from torch.utils.data import BatchSampler

from fastload import distributed, progressive, reading, samplers
from fastload.batches import PixelBatchSampler
from fastload.dataset import place_all
from fastload.distributed import DistributedSampler
from fastload.engine_base import Order
from fastload.errors import UsageError
from fastload.plan import Plan
from fastload.progress import Progress
from fastload.spec import Longs, Work


def works(loader: Any, plan: Plan, progress: Progress, key: int, sampler: Iterator[Any] | None = None) -> Iterator[Order]:
    """The epoch's batches from `progress.first` on. key: the seed of their draws; sampler: the batch sampler's iterator."""
    length, batches = len(loader.dataset), loader.batch_sampler
    world, rank = distributed.split(loader)
    start = Work(np.zeros(0, np.int64), np.zeros(0, np.int64), key, progress.epoch, 0, rank)
    inner: Any = batches.sampler if type(batches) in (BatchSampler, PixelBatchSampler) else None
    if type(batches) is BatchSampler and type(inner) is DistributedSampler:
        parts = inner.batches(batches.batch_size, batches.drop_last, progress.first)
        for step, part in enumerate(parts, progress.first):
            work = replace(start, samples=part.samples, occurrences=part.occurrences, step=step, valid=part.valid)
            choices = None if inner.weights is None else part.samples  # a weight of 0 may be meant to leave a sample out
            yield replace(work, size=size(loader, plan, progress.epoch, step), choices=choices)
        return
    once = type(batches) in (BatchSampler, PixelBatchSampler) and samplers.unique(inner, length)
    seen = None if once else np.zeros(length, np.int64)
    # What a sampler leaves out may be meant for validation: nothing of it may stand in for a bad sample.
    every = once and len(inner) * world > length - world
    found = samplers.order(batches, progress.first, progress.draw)
    if found is None:
        found = _replayed(loader, progress, sampler, seen)
    for step, indices in enumerate(found, progress.first):
        try:
            samples = place_all(indices, length)
        except (IndexError, TypeError) as error:
            yield error
            continue
        occurrences = samplers.occurrences(samples, seen)
        choices = None if every else samples
        yield replace(
            start, samples=samples, occurrences=occurrences, step=step, size=size(loader, plan, progress.epoch, step), choices=choices
        )


def _replayed(loader: Any, progress: Progress, sampler: Iterator[Any] | None, seen: Longs | None) -> Iterator[Any]:
    """The rest of a sampler's iterator: the first batches are drawn again and counted."""
    batches = loader._index_sampler
    read = reading.Reading(batches, iter(batches) if sampler is None else sampler, progress)
    with progress.replaying():
        for _, indices in read.passing(progress.first):
            if seen is not None:
                samplers.occurrences(_placed(indices, len(seen)), seen)
        head = list(itertools.islice(read, int(progress.resumed)))  # samplers draw when they are first asked
    return itertools.chain(head, read)


def _placed(indices: Any, length: int) -> Longs:
    """As `place_all`; nothing for a batch that is an error."""
    try:
        return place_all(indices, length)
    except (IndexError, TypeError):
        return np.zeros(0, np.int64)


def count_steps(loader: Any) -> int:
    """Batches in an epoch, where the size schedule must know; else 0. Raises UsageError."""
    try:
        return len(loader) if loader.size_schedule and loader.size_schedule.counts_steps else 0
    except TypeError:
        raise UsageError("size_schedule: total_steps needs a sampler with a length; add __len__, or give total_epochs") from None


def size(loader: Any, plan: Plan, epoch: int, step: int) -> int | None:
    """Of a batch's images, px; None for the pipeline's own."""
    if loader.size_schedule is None:
        return None
    found = progressive.checked_size(loader.size_schedule, plan.full, epoch, step, loader._steps)
    if found is not None and found not in loader._sizes:
        plan.at(found)  # raises here, in the user's thread, what a function's size makes impossible
        loader._sizes.add(found)
    return found


def explain_sizes(loader: Any, plan: Plan) -> list[str]:
    """The size schedule, as DataLoader.explain says it."""
    if loader.size_schedule is None:
        return []
    first = size(loader, plan, loader._epoch, 0) or plan.full
    return [f"  sizes   {loader.size_schedule}: {first} px at the start of epoch {loader._epoch}, {plan.full} px in the pipeline"]


def seed(loader: Any, base_seed: int) -> int:
    """Of the epoch's draws: a resumed epoch's own, the loader's, or what was drawn for this epoch (by rank 0, where ranks share it)."""
    progress: Progress = loader._progress
    if progress.seed is None:
        progress.seed = distributed.shared(base_seed, loader) if loader.seed is None else int(loader.seed)
    return progress.seed
