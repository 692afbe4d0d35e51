"""Batches handed over in shared memory that is used again (`system.segments`), where fastload's
workers run a data set on PyTorch's own engine.
"""

import os
from collections.abc import Callable
from typing import Any

import torch

from fastload.loader.base import BaseLoader
from fastload.loader.divided import Collated
from fastload.lowering import loaders
from fastload.system import segments
from fastload.system.receiving import Receiver
from fastload.system.segments import MORE, Segments, Sender, Sent


def possible(loader: BaseLoader[object]) -> bool:
    """Whether a loader's batches can be handed over so."""
    # Single samples may be tensors that the data set keeps
    several = loader.num_workers > 0 and loader._auto_collation
    return several and hasattr(os, "memfd_create") and segments.by_descriptors()


def kept(loader: BaseLoader[object]) -> int:
    """Batches that a worker keeps memory of, at most."""
    return (loader.prefetch_factor or 2) + MORE


def receiver(loader: BaseLoader[object]) -> Receiver | None:
    """For an iterator of the loader's; None: its batches come as PyTorch hands them over."""
    try:
        return Receiver(loader.num_workers) if possible(loader) else None
    except OSError:
        return None


def sender(loader: BaseLoader[object], receiver: Receiver) -> Sender:
    return Sender(receiver.token, receiver.ledger, kept(loader))


class Handed:
    """A collate_fn: what the user's makes, ready to be handed over."""

    def __init__(self, collate_fn: Callable[..., object]) -> None:
        self.collate_fn = collate_fn
        own = type(collate_fn) is Collated or loaders.stacks(collate_fn, None)
        self.own = own and not loaders.patched(collate_fn)  # its tensors are new ones

    def __call__(self, samples: Any) -> object:
        data = self.collate_fn(samples)
        now = segments.current()
        if now is None:
            return data
        if self.own:
            data = _moved(data, now)
        now.over()
        return Sent(data)


def _moved(data: Any, now: Segments) -> Any:
    """Lists and dictionaries of PyTorch's default_collate are new, too."""
    if type(data) is torch.Tensor:
        return now.moved(data)
    if type(data) is list:
        data[:] = [_moved(each, now) for each in data]
    elif type(data) is dict:
        data.update((key, _moved(each, now)) for key, each in data.items())
    return data
