"""torchvision's data sets that hold their images in memory as pixels:

CIFAR, MNIST and their like.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from fastload.errors import PipelineError
from fastload.lowering.chain import Ops, Pictures
from fastload.lowering.names import Reasons, attribute, classes, is_a, type_name
from fastload.plan.steps import infer_specs
from fastload.sources import ArraySource
from fastload.spec import Longs, Stage
from fastload.transforms import CenterCrop, Compose, Grayscale, Op
from fastload.transforms.kinds import Values


class Kind(NamedTuple):
    """A class of data sets in memory.

    Each makes a PIL image of one of its images, and a class number of its label.
    """

    images: Callable[[Any], object]  # [N, H, W, 3] or [N, H, W], a view of `data`
    labels: str  # the attribute
    converts: bool = True  # whether it gives int(label); else the label as it is


ARRAYS: dict[str, Kind] = {
    **dict.fromkeys(("CIFAR10", "CIFAR100"), Kind(lambda it: it.data, "targets", converts=False)),
    **dict.fromkeys(
        ("MNIST", "FashionMNIST", "KMNIST", "EMNIST"), Kind(lambda it: it.data.numpy(), "targets")
    ),
    **dict.fromkeys(("STL10", "SVHN"), Kind(lambda it: it.data.transpose(0, 2, 3, 1), "labels")),
    "USPS": Kind(lambda it: it.data, "targets"),
}
NUMBERS = {int, np.int64}  # of labels in a list: torch makes int64 of them
GREY = ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "USPS")


def knows(dataset: object) -> bool:
    return is_a(dataset, "torchvision.datasets", *ARRAYS)


def is_grey(dataset: object) -> bool:
    return type(dataset).__name__ in GREY


def source(dataset: object) -> ArraySource:
    """Raises ValueError if its arrays were replaced by others."""
    kind, name = ARRAYS[type(dataset).__name__], type(dataset).__name__
    images, labels = kind.images(dataset), getattr(dataset, kind.labels)
    if not isinstance(images, np.ndarray):
        # Elements of anything else would be copied, and later changes would not be seen.
        raise ValueError(f"has data of class {type_name(images)}")  # noqa: TRY004  as below
    shaped = images.ndim == 3 if is_grey(dataset) else images.ndim == 4 and images.shape[3] == 3
    if images.dtype != np.uint8 or not shaped or 0 in images.shape[1:]:
        raise ValueError(f"has data of {images.dtype} {list(images.shape)}")
    if labels is None or len(labels) != len(images):
        raise ValueError("has no label for each image")
    numbers = class_numbers(labels, as_given=not kind.converts)
    return ArraySource(name, images, numbers, tuple(map(str, getattr(dataset, "classes", ()))))


def reads(dataset: object) -> list[object]:
    """What `__getitem__` reads: the images, whose pixels are read when a batch is made, and the
    labels.
    """
    return [
        getattr(dataset, "data", None),
        getattr(dataset, ARRAYS[type(dataset).__name__].labels, None),
    ]


def class_numbers(labels: object, *, as_given: bool) -> Longs:
    """int64 [N]. as_given: the data set gives the label itself, so that a batch has its type.

    Raises ValueError for what are no whole numbers, or would be another type in a batch.
    """
    if type(labels) not in (list, tuple, np.ndarray, torch.Tensor):
        raise ValueError(
            f"has labels of class {type_name(labels)}, want a list, an array or a tensor"
        )
    out = np.asarray(labels)
    if out.size and (out.dtype.kind not in "iu" or out.ndim != 1):
        raise ValueError("has labels that are no whole numbers")
    if isinstance(labels, (list, tuple)) and (odd := set(map(type, labels)) - NUMBERS):
        raise ValueError(f"has labels of class {', '.join(sorted(map(type_name, odd)))}, want int")
    if out.size and as_given and out.dtype != np.int64:
        raise ValueError(
            f"has labels of {out.dtype}, which batches keep; the native engine makes int64"
        )
    return out.reshape(-1).astype(np.int64)


def with_three_channels(
    kind: str, transform: object, ops: tuple[Op, ...]
) -> tuple[tuple[Op, ...], Reasons]:
    """Ops on three equal channels that give what `transform`, lowered to `ops`, gives of a grey
    image.

    Equal only if the image has three channels before anything but CROP sees it, and CROP pads with
    black.
    """
    if all(op.stage is Stage.CROP or isinstance(op, Values) for op in ops) and not _filled(ops):
        last = next(number for number, op in enumerate(ops) if op.stage > Stage.CROP)
        return (
            *ops[:last],
            Grayscale(1),
            *ops[last:],
        ), []  # of equal channels any one is the image
    rgb = any(isinstance(op, Grayscale) and op.num_output_channels == 3 for op in ops)
    chain = type(transform) in (Compose, *classes("Compose"))
    parts = list(attribute(transform, "transforms")) if chain else [transform]
    rgb = rgb or any(type(part) in classes("RGB") for part in parts)
    first = next((op for op in ops if op.stage > Stage.CROP), None)
    tidy = isinstance(first, Grayscale) or type(parts[0]) in classes("RGB")
    if not rgb or not tidy:
        return ops, [
            (
                f"{kind} has images of one channel, and the native engine stores three (add "
                "Grayscale(3) before other colour ops)"
            )
        ]
    if _filled(ops):
        return ops, [
            f"{kind} has images of one channel, which CROP fills with another grey than three"
        ]
    return ops, []


def _filled(ops: tuple[Op, ...]) -> bool:
    """Whether CROP shows something else than black beyond the image."""
    return any(getattr(op, "fill", 0) not in (0, None) for op in ops if op.stage == Stage.CROP)


def sized(source: ArraySource, made: Pictures) -> Pictures:
    """The same ops, beginning with the size that all images have where they do not say one."""

    def of_size(ops: Ops) -> Ops:
        try:
            known = not ops or infer_specs(ops)[1].height is not None
        except PipelineError:  # which the plan says
            known = True
        if known:
            return ops
        return (CenterCrop(source.images.shape[1:3]), *ops)

    return made._replace(ops=of_size(made.ops), views=tuple(map(of_size, made.views)))
