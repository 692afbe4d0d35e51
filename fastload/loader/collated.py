"""Batches that the user's own function makes, of samples as the data set gives them."""

from collections.abc import Callable

from torch.utils.data._utils.pin_memory import pin_memory

from fastload.backends.base import Batch


def collated(batch: Batch, collate_fn: Callable[[list[object]], object], *, pin: bool) -> object:
    """batch: images, targets, and what says which are valid, if that is asked for.

    pin: whether tensors go to page-locked memory.
    """
    images, targets, *valid = batch
    made = collate_fn(list(zip(images, targets, strict=True)))
    if valid:
        made = [*made, *valid] if isinstance(made, list) else (made, *valid)
    pinned: Callable[[object], object] = pin_memory
    return pinned(made) if pin else made
