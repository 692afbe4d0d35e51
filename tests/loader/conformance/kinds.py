"""The three loaders that the suite runs on, over the same images."""

from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
import torch
import torch.utils.data

import fastload

from .differences import DIFFERENCES

try:
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    TRANSFORM = transforms.Compose(
        [transforms.Resize((6, 9)), transforms.ToTensor()]
    )  # nothing random: batches compare
    LOWERED = True
except (
    pytest.skip.Exception
):  # no torchvision that can be imported: two of the three loaders are left
    from .stand_in import TRANSFORM, ImageFolder

    LOWERED = False


class Mine(ImageFolder):
    """Not lowered: a class of the user's."""

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(next(iter([index])))  # a call that is not followed


class Numbers(torch.utils.data.Dataset):
    """Items are tensors [2] of the index and its square."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        if not 0 <= index < self.length:
            raise IndexError(f"no item {index}")
        return torch.tensor([index, index * index])


class Stream(torch.utils.data.IterableDataset):
    """0..count-1, with a length that may lie."""

    def __init__(self, count: int, length: int | None = None) -> None:
        self.count, self.length = count, length

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("object of type 'Stream' has no len()")
        return self.length


@contextmanager
def opened(loader):
    """An iterator that is ended at once: one that failed is in a cycle, and takes 5 s where the
    collector finds its queues first.
    """
    iterator = iter(loader)
    try:
        yield iterator
    finally:
        getattr(iterator, "_shutdown_workers", lambda: None)()


def first(loader):
    """The first batch of a loader that is not asked for more."""
    with opened(loader) as iterator:
        return next(iterator)


class Kind(NamedTuple):
    """A loader class, and the data set that makes it run as the name says."""

    name: str
    loader: Any
    data: Any

    def images(self, folder: str, transform: Any = TRANSFORM) -> Any:
        return self.data(folder, transform)

    def make(self, folder: str, *arguments: Any, **named: Any) -> Any:
        """A loader over the images."""
        made = self.loader(self.images(folder), *arguments, **named)
        if self.name != "torch":
            assert made.explain().startswith(
                "backend native" if self.name == "native" else "PyTorch's own engine"
            ), made.explain()
        return made

    def differs(self, difference: str) -> bool:
        """Whether a difference that is listed concerns this kind."""
        return self.name in DIFFERENCES[difference].kinds


KINDS = (
    Kind("torch", torch.utils.data.DataLoader, Mine),
    Kind("own", fastload.DataLoader, Mine),
    Kind("native", fastload.DataLoader, ImageFolder),
)
CLASSES = (torch.utils.data.DataLoader, fastload.DataLoader)
