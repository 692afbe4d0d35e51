"""fastload's drop-in: PyTorch's loader with one import changed, and the same on shards."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.peers import torches


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    torch.manual_seed(0)
    opened = fastload.open if spec["peer"] in ("shards", "layers") else ImageFolder
    # native: it must not fall back to PyTorch unnoticed. "later": the first epoch, which is
    # dropped, collects the index; "collecting": each epoch does.
    loader = fastload.DataLoader(
        opened(spec["data"], torches.pil(spec)), spec["batch_size"], shuffle=True,
        num_workers=spec["workers"], backend="native",
        seek_index="auto" if spec["peer"] in ("later", "collecting") else "use",
    )  # fmt: skip
    return lambda: (images for images, _ in loader)
