"""What the order of a loader's epochs depends on: its samplers, their generators, its data set."""

import functools
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, SequentialSampler
from torch.utils.data.dataloader import _InfiniteConstantSampler
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload import _native
from fastload.attach.looking import asked
from fastload.order import distributed, loaders
from fastload.order.batches import PixelBatchSampler
from fastload.order.buckets import BucketSampler
from fastload.order.distributed import DistributedSampler
from fastload.order.loaders import OrderedLoader
from fastload.order.samplers import ShuffleSampler
from fastload.order.tokens import TokenSampler
from fastload.sources import Source

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


def is_exact(loader: OrderedLoader) -> bool:
    """Whether the order is that of an exact evaluation, which only fastload's engines can mark."""
    sampler = asked(loader.batch_sampler, "sampler", DistributedSampler)
    return sampler is not None and sampler.eval_exact is True


def order_epoch(loader: OrderedLoader) -> int | None:
    """The epoch that the sampler gives next, where it counts by itself."""
    sampler = sampler_of(loader)
    if issubclass(type(sampler), KEYED):
        return int(sampler.epoch) + 1
    return int(sampler.epoch) if issubclass(type(sampler), TorchsSampler) else None


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
