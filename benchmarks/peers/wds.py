"""WebDataset: tar files, a shuffle buffer, torchvision on PIL images, batches made in the
workers.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import webdataset

from benchmarks.peers import torches

BUFFER = 1000  # samples, not decoded yet


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    torch.manual_seed(0)
    paths = sorted(map(str, Path(spec["data"]).glob("*.tar")))
    data = webdataset.WebDataset(paths, shardshuffle=len(paths)).shuffle(BUFFER).decode("pil")
    data = (
        data.to_tuple("jpg;png;webp", "cls")
        .map_tuple(torches.pil(spec), int)
        .batched(spec["batch_size"])
    )
    loader = webdataset.WebLoader(
        data, batch_size=None, num_workers=spec["workers"], persistent_workers=True
    )
    return lambda: (images for images, _ in loader)
