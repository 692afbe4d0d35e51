"""PyTorch's DataLoader with torchvision: on PIL images, of Pillow or Pillow-SIMD, and v2's on
tensors.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import v2


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import PIL

    if (spec["peer"] == "pillow_simd") != ("post" in PIL.__version__):
        raise ImportError(
            f"Pillow {PIL.__version__} is not what {spec['peer']} is measured with; run with "
            "--setup"
        )
    if spec["peer"] == "tensors":
        ops = [
            v2.RandomResizedCrop(spec["size"], antialias=True),
            v2.RandomHorizontalFlip(),
            *[v2.RandAugment()] * spec["augment"],
        ]
        return epochs(spec, ImageFolder(spec["data"], v2.Compose(ops), loader=decoded))
    return epochs(spec, ImageFolder(spec["data"], pil(spec)))


def pil(spec: dict[str, Any]) -> Any:
    """torchvision's ops on a PIL image, to uint8 [3, size, size]."""
    ops = [transforms.RandomResizedCrop(spec["size"]), transforms.RandomHorizontalFlip()]
    return transforms.Compose(
        [*ops, *[transforms.RandAugment()] * spec["augment"], transforms.PILToTensor()]
    )


def decoded(path: str) -> torch.Tensor:
    return decode_image(read_file(path), ImageReadMode.RGB)


def epochs(spec: dict[str, Any], folder: Any) -> Callable[[], Iterator[Any]]:
    """Workers live on from epoch to epoch."""
    torch.manual_seed(0)
    loader = DataLoader(
        folder,
        spec["batch_size"],
        shuffle=True,
        num_workers=spec["workers"],
        persistent_workers=True,
    )
    return lambda: (images for images, _ in loader)
