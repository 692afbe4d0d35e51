"""What the tests of the DALI backends share."""

import torch

import fastload
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

TRAIN = [RandomResizedCrop((24, 31)), RandomHorizontalFlip()]
BOTH = ("dali", "dali-own")


def loader(path, ops=TRAIN, backend="dali", batch_size=7, **options):
    return fastload.DataLoader(
        fastload.open(path, ops),
        batch_size,
        **{"shuffle": True, "seed": 5, "backend": backend, **options},
    )


def equal(first, second):
    return len(first) == len(second) and all(
        torch.equal(x, y)
        for a, b in zip(first, second, strict=True)
        for x, y in zip(a, b, strict=True)
    )


def reasons(caught):
    *lines, last = str(caught.value).splitlines()
    assert last == "backend native can run it; pass backend='native'"
    return [line.partition(" cannot run this plan: ")[2] for line in lines]
