"""What the frameworks' tests share."""

import importlib.util
import os
from typing import Any

import pytest
import torch
import torch.utils.data
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload

RANDOM = transforms.Compose(
    [transforms.RandomResizedCrop(16), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
)
FIXED = transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()])
CLASSES = 3  # of conftest's folder, which has 40 images


class Mine(ImageFolder):
    """Not lowered: a class of the user's."""

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(hash(index))  # a call that is not followed


KINDS = {
    "torch": (torch.utils.data.DataLoader, Mine),
    "own": (fastload.DataLoader, Mine),
    "native": (fastload.DataLoader, ImageFolder),
}


def made(kind, folder, transform=RANDOM, batch_size=8, **arguments):
    """A loader of the kind; native ones are checked to be."""
    cls, data = KINDS[kind]
    loader = cls(data(folder, transform), batch_size, **arguments)
    if kind != "torch":
        assert loader.explain().startswith(
            "backend native" if kind == "native" else "PyTorch's own engine"
        ), loader.explain()
    return loader


def network():
    return torch.nn.Sequential(
        torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(12, CLASSES)
    )


def needs(*packages):
    """Skip the module where a package is missing; one that FASTLOAD_REQUIRE names must be there, so
    that CI cannot pass empty.
    """
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if not missing:
        return
    text = f"{', '.join(missing)} not installed (.ci/run installs what the guides need)"
    if set(missing) & set(os.environ.get("FASTLOAD_REQUIRE", "").split(",")):
        pytest.fail(f"FASTLOAD_REQUIRE names what is missing: {text}", pytrace=False)
    pytest.skip(text, allow_module_level=True)
