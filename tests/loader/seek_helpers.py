"""Loaders that collect seek indexes, and what became of them."""

import os
from pathlib import Path

import numpy as np
import torch

import fastload
from fastload.conversion import verify
from fastload.sources import open_source, seek
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]
MERGED = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


def make(data, mode="auto", workers=2, **options):
    data = fastload.open(data, OPS) if isinstance(data, (str, Path)) else data
    return fastload.DataLoader(
        data,
        8,
        num_workers=workers,
        backend="native",
        seek_index=mode,
        **{"seed": 4, "shuffle": True, **options},
    )


def ways(loader):
    """Indexed, whole, refused: since the loader was made."""
    found = loader.decodes()
    return found["indexed"], found["whole"], found["refused"]


def same(a, b):
    return len(a) == len(b) and all(
        torch.equal(x, y) and torch.equal(i, j) for (x, i), (y, j) in zip(a, b, strict=True)
    )


def cached(root):
    """What lies in the cache of this folder."""
    return (
        sorted(os.listdir(seek.cache_folder(str(root))))
        if os.path.isdir(seek.cache_folder(str(root)))
        else []
    )


def logs(root):
    return [name for name in cached(root) if name not in MERGED]


def indexed(root):
    """Images with an index that is in the cache and right."""
    found = open_source(root)
    where = seek.cache_folder(str(root))
    if found.seek is None or os.path.dirname(found.seek.path) != where:
        return 0
    assert verify.verify(verify.prepare(str(root)), 1).damages == ()
    return int(np.count_nonzero(found.seek.size))
