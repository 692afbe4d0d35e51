"""Pipelines and comparisons that the tests of the FFCV backend share."""

import pytest
from torch.utils.data import Subset

import fastload
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

needs_ffcv = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
CROPS = [RandomResizedCrop((24, 31)), RandomHorizontalFlip()]


def pair(path, ops, batch_size=4, **options):
    """A loader by FFCV and one by the native engine."""
    data = fastload.open(path, ops)
    subset = options.pop("subset", None)
    data = data if subset is None else Subset(data, subset)
    return [
        fastload.DataLoader(data, batch_size, backend=backend, seed=3, **options)
        for backend in ("ffcv", "native")
    ]
