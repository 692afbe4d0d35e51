"""Small data sets of each class, and what the tests of them share."""

import numpy as np
from torchvision import datasets
from torchvision.transforms import v2

import fastload
from tests.loader.explained import FIRST

EVAL = v2.Compose([v2.Resize((12, 15)), v2.ToImage()])


def reasons(data):
    first, tier, *rest, _ = fastload.DataLoader(data, 7).explain().splitlines()
    assert first == FIRST
    assert tier.startswith("  tier 3 of 3: ")
    return [reason.strip() for reason in rest]


def made(kind, **held):
    """A data set of torchvision without its files."""
    out = getattr(datasets, kind).__new__(getattr(datasets, kind))
    out.__dict__.update(
        {"root": "root", "transform": EVAL, "target_transform": None, "transforms": None} | held
    )
    return out


def cifar(kind="CIFAR10", count=20, **held):
    images = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), np.uint8)
    return made(
        kind,
        **(
            {"data": images, "targets": [n % 7 for n in range(count)], "classes": list("abcdefg")}
            | held
        ),
    )


def files(folder):
    return datasets.ImageFolder(folder).samples
