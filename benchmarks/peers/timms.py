"""timm's create_dataset and create_loader.

Its PrefetchLoader normalises what the workers made: uint8 is what it gets.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from timm.data import create_dataset, create_loader


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    torch.manual_seed(0)
    loader = create_loader(
        create_dataset("", spec["data"], split="train", is_training=True), (3, spec["size"],
        spec["size"]), spec["batch_size"],
        is_training=True, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), hflip=0.5, color_jitter=0.0,
        interpolation="bilinear",
        auto_augment="rand-m9-n2-mstd0.5" if spec["augment"] else None, num_workers=spec["workers"],
        device=torch.device("cpu"),
    )  # fmt: skip
    return lambda: (images for images, _ in loader.loader)
