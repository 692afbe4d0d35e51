"""Batches handed over in shared memory that is used again (`system.segments`), where fastload's
workers run a data set on PyTorch's own engine.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing import get_sharing_strategy

from fastload.loader.base import BaseLoader
from fastload.loader.divided import Collated
from fastload.lowering import loaders
from fastload.system import segments
from fastload.system.receiving import Receiver
from fastload.system.segments import MORE, Segments, Sender, Sent


def receiver(loader: BaseLoader[object]) -> Receiver | None:
    """For an iterator of the loader's; None: its batches come as PyTorch hands them over."""
    # Single samples may be tensors that the data set keeps
    if not loader._auto_collation or get_sharing_strategy() != "file_descriptor":
        return None
    try:
        return Receiver(loader.num_workers)
    except (OSError, AttributeError):
        return None


def sender(loader: BaseLoader[object], receiver: Receiver) -> Sender:
    return Sender(receiver.token, receiver.ledger, (loader.prefetch_factor or 2) + MORE)


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
