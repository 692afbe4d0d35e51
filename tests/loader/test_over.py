"""What an epoch has used is given back when it is over."""

import gc
import weakref
from pathlib import Path

import pytest
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload

TRANSFORM = transforms.Compose([transforms.RandomResizedCrop(8), transforms.PILToTensor()])


@pytest.mark.parametrize("batches", [1, 10], ids=["dropped", "finished"])
def test_an_epoch_that_is_over_is_held_by_nobody(folder: Path, batches: int) -> None:
    """Not until the next one either: it holds batches, and files of the seek index."""
    loader = fastload.DataLoader(ImageFolder(folder, TRANSFORM), 4, num_workers=2)
    assert len(loader) == 10
    gc.collect()
    gc.disable()  # nothing of it is in a cycle
    try:
        iterator = iter(loader)
        for _ in range(batches):
            next(iterator)
        thread = iterator._batches.thread
        held = [weakref.ref(part) for part in (iterator._batches, iterator._batches.feed)]
        del iterator, loader
        thread.join()
        assert [part() for part in held] == [None, None]
    finally:
        gc.enable()
