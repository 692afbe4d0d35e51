"""What the order of a loader's epochs depends on: its samplers, their generators, its data set."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, SequentialSampler
from torch.utils.data.dataloader import _InfiniteConstantSampler
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload import _native
from fastload.attach.looking import asked
from fastload.order import distributed, loaders, samplers
from fastload.order.batches import PixelBatchSampler
from fastload.order.buckets import BucketSampler
from fastload.order.distributed import DistributedSampler
from fastload.order.groups import GroupSampler
from fastload.order.loaders import OrderedLoader
from fastload.order.samplers import ShuffleSampler
from fastload.order.tokens import TokenSampler
from fastload.sources import Source
from fastload.spec import OCCURRENCES, Longs

NAMES = 64  # samples whose names and labels stand for the data set
KEYED = (ShuffleSampler, DistributedSampler, BucketSampler, TokenSampler)
# Orders that move no generator but their own
PURE = (SequentialSampler, TorchsSampler, *KEYED, list, tuple, range, _InfiniteConstantSampler)


def own_generator(loader: OrderedLoader) -> torch.Generator | None:
    """The user's generator that the order depends on, if there is one."""
    for part in (
        loader.sampler,
        loader.batch_sampler,
        asked(loader.batch_sampler, "sampler"),
        loader,
    ):
        generator: torch.Generator | None = asked(part, "generator", torch.Generator)
        if generator is not None:
            return generator
    return None


def set_epoch(loader: OrderedLoader, epoch: int) -> None:
    """Tell the samplers and the data set."""
    parts = (
        loader.sampler,
        loader.batch_sampler,
        asked(loader.batch_sampler, "sampler"),
        loader.dataset,
    )
    for part in {id(p): p for p in parts}.values():
        if callable(tell := asked(part, "set_epoch")):
            tell(epoch)


def sampler_of(loader: OrderedLoader) -> Any:
    """The sampler that says the order of the samples."""
    if loader.batch_sampler is None:
        return loader.sampler
    inner = asked(loader.batch_sampler, "sampler")
    return loader.batch_sampler if inner is None else inner


def cutting(batches: object) -> BatchSampler | PixelBatchSampler | None:
    """The batch sampler, where it is of a class whose batches are the next samples of its sampler;
    else None.
    """
    if type(batches) is BatchSampler or type(batches) is PixelBatchSampler:
        return batches
    return None


def is_exact(loader: OrderedLoader) -> bool:
    """Whether the order is that of an exact evaluation, which only fastload's engines can mark."""
    sampler = asked(_divided(loader), "sampler", DistributedSampler)
    return sampler is not None and sampler.eval_exact is True


def _divided(loader: OrderedLoader) -> object:
    """What has the sampler of the loader's samples: without batches the loader itself."""
    return loader if loader.batch_sampler is None else loader.batch_sampler


def order_epoch(loader: OrderedLoader) -> int | None:
    """The epoch that the sampler gives next, where it counts by itself."""
    sampler = sampler_of(loader)
    last = begun(sampler)
    return last + 1 if last is not None and issubclass(type(sampler), KEYED) else last


def begun(sampler: Any) -> int | None:
    """The epoch that a sampler has begun last, where it counts by itself."""
    known = issubclass(type(sampler), (*KEYED, TorchsSampler))
    return int(sampler.epoch) if known else None


def once(sampler: object, length: int) -> bool:
    """Whether the sampler is known to give each of `length` samples at most once, over all ranks,
    but for what makes their shares equal.
    """
    if type(sampler) is DistributedSampler:
        return sampler.weights is None and sampler.mixture is None and sampler.repeats == 1
    return samplers.unique(sampler, length)


def counting(loader: OrderedLoader, seen: Longs | None, length: int) -> Callable[[Longs], Longs]:
    """As `samplers.occurrences`, of a data set of this length. Where ranks share an order that is
    not known to have each sample once, no other rank has a sample's occurrences: what comes on
    several ranks, as by repeated augmentation, is drawn anew on each.
    """
    world, rank = distributed.split(loader)
    if issubclass(type(loader.batch_sampler), GroupSampler) or once(sampler_of(loader), length):
        world, rank = 1, 0
    return lambda samples: (samplers.occurrences(samples, seen) * world + rank) % OCCURRENCES


def global_batch(loader: OrderedLoader, epoch: int) -> int | None:
    """Samples of all ranks in one step; None where only a sampler of the user's knows."""
    batches, world = loader.batch_sampler, distributed.split(loader)[0]
    if type(batches) is BatchSampler:
        return int(batches.batch_size) * world
    if type(batches) is PixelBatchSampler:
        return batches.at(epoch) * world
    if type(batches) is BucketSampler or type(batches) is TokenSampler:
        return batches.global_batch
    return world if batches is None else None


def described(loader: OrderedLoader) -> str:
    """What the order depends on besides the epoch: the sampler's class and settings."""
    sampler = sampler_of(loader)
    settings = {
        name: asked(sampler, name, int) for name in ("seed", "shuffle", "replacement", "repeats")
    }
    settings["window"] = asked(sampler, "window", int) or None
    settings["mixture"] = asked(sampler, "mixture", int)
    settings["weights"] = asked(sampler, "weighted", int)
    if type(sampler) is BucketSampler or type(sampler) is TokenSampler:
        settings |= sampler.settings
    shown = [f"{name}={value}" for name, value in settings.items() if value is not None]
    return f"{type(sampler).__name__}({', '.join(shown)})"[:128]


def length(loader: OrderedLoader) -> int | None:
    """Samples of the data set; None where it has no length."""
    try:
        return loaders.length(loader.dataset)
    except TypeError:
        return None


def names(source: Source) -> str:
    """A hash of the labels and names, relative to the data set, of some samples."""
    return _names(_BySelf(source))


@functools.lru_cache(maxsize=8)
def _names(key: "_BySelf") -> str:
    source = key.source
    root = f"{source.where.rstrip('/')}/"
    samples = (
        np.unique(np.linspace(0, len(source) - 1, NAMES).astype(np.int64))
        if len(source)
        else np.zeros(0, np.int64)
    )
    lines = [
        f"{source.name(sample).removeprefix(root)}\0{label}"
        for sample, label in zip(samples.tolist(), source.labels[samples], strict=True)
    ]
    text = "\0".join([str(len(source)), *lines]).encode("utf-8", "surrogateescape")
    return f"{_native.xxh3(text):016x}"


class _BySelf:
    """A source by its identity: sources hold arrays, which have no hash."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __hash__(self) -> int:
        return id(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BySelf) and other.source is self.source
