"""torchvision's data sets that hold their images in memory as pixels: CIFAR, MNIST and their like."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fastload.lowering.names import Reasons, classes, is_a
from fastload.sources import ArraySource
from fastload.spec import Longs, Stage
from fastload.transforms import Grayscale, Op

# Class → its images as [N, H, W, 3] or [N, H, W], and its labels. All make a PIL image of one of them, and an int of its label.
ARRAYS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    **dict.fromkeys(("CIFAR10", "CIFAR100"), lambda it: (it.data, it.targets)),
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST", "EMNIST"), lambda it: (it.data.numpy(), it.targets.numpy())),
    **dict.fromkeys(("STL10", "SVHN"), lambda it: (it.data.transpose(0, 2, 3, 1), it.labels)),
    "USPS": lambda it: (it.data, it.targets),
}
GREY = ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "USPS")


def knows(dataset: Any) -> bool:
    return is_a(dataset, "torchvision.datasets", *ARRAYS)


def is_grey(dataset: Any) -> bool:
    return type(dataset).__name__ in GREY


def source(dataset: Any) -> ArraySource:
    """Raises ValueError if its arrays were replaced by others."""
    images, labels = ARRAYS[type(dataset).__name__](dataset)
    images = np.asarray(images)
    if images.dtype != np.uint8 or (images.ndim != 3 if is_grey(dataset) else images.ndim != 4 or images.shape[3] != 3):
        raise ValueError(f"has data of {images.dtype} {list(images.shape)}")
    if labels is None or len(labels) != len(images):
        raise ValueError("has no label for each image")
    return ArraySource(type(dataset).__name__, images, class_numbers(labels), tuple(map(str, getattr(dataset, "classes", ()))))


def labels(dataset: Any) -> Any:
    """As an array."""
    return np.asarray(ARRAYS[type(dataset).__name__](dataset)[1])


def class_numbers(labels: Any) -> Longs:
    """int64 [N]. Raises ValueError for what are no whole numbers."""
    out = np.asarray(labels)
    if out.size and (out.dtype.kind not in "iu" or out.ndim != 1):
        raise ValueError("has labels that are no whole numbers")
    return out.reshape(-1).astype(np.int64)


def with_three_channels(kind: str, transform: Any, ops: tuple[Op, ...]) -> tuple[tuple[Op, ...], Reasons]:
    """Ops on three equal channels that give what `transform`, lowered to `ops`, gives of a grey image.

    Equal only if the image has three channels before anything but CROP sees it, and CROP pads with black.
    """
    rgb = any(isinstance(op, Grayscale) and op.num_output_channels == 3 for op in ops)
    parts = list(getattr(transform, "transforms", [transform]))
    rgb = rgb or any(type(part) in classes("RGB") for part in parts)
    first = next((op for op in ops if op.stage > Stage.CROP), None)
    tidy = isinstance(first, Grayscale) or type(parts[0]) in classes("RGB")
    if not rgb or not tidy:
        return ops, [f"{kind} has images of one channel, and the native engine stores three (add Grayscale(3) before other colour ops)"]
    if any(getattr(op, "fill", 0) not in (0, None) for op in ops if op.stage == Stage.CROP):
        return ops, [f"{kind} has images of one channel, which CROP fills with another grey than three"]
    return ops, []
