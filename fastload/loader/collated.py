"""Batches that the user's own function makes, of samples as the data set gives them."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from fastload.backends.base import Batch, Engine
from fastload.engine.joint import JointEngine
from fastload.lowering import loaders


def prepare(engine: Engine, collate_fn: Callable[..., object]) -> None:
    """Tell an engine of images of their own sizes whether they are stacked."""
    if isinstance(engine, JointEngine):
        engine.stacks = loaders.stacks(collate_fn, None) and not loaders.patched(collate_fn)


def collated(batch: Batch, collate_fn: Callable[[Any], object], *, pin: bool) -> object:
    """batch: images, targets, and what says which are valid, if that is asked for; tensors are
    those of a batch that was stacked as PyTorch's default_collate does.

    pin: whether tensors go to page-locked memory.
    """
    images, targets, *valid = batch
    if isinstance(images, torch.Tensor):  # stacked by the engine, which knows the function
        stacked = isinstance(targets, torch.Tensor)
        made: object = [images, targets if stacked else collate_fn(targets)]
    else:
        made = collate_fn(list(zip(images, targets, strict=True)))
    if valid:
        made = [*made, *valid] if isinstance(made, list) else (made, *valid)
    pinned: Callable[[object], object] = pin_memory
    return pinned(made) if pin else made
