"""A map-style data set of images with boxes: on PyTorch's own loader, and natively in ours."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data

from fastload.dataset import position
from fastload.detection.objects import Find, Size, Target, target
from fastload.joint.samples import bad_annotation
from fastload.sources import FileSource, Source, read, seek
from fastload.transforms import pil

Transforms = Callable[..., Any] | None  # of an image and its target


class Detection(torch.utils.data.Dataset[tuple[Any, Any]]):
    """Pairs (image, target) in the form of the data sets that torchvision wraps for its transforms.

    The image is Pillow's, RGB. The target is a dictionary of "image_id", "boxes" (BoundingBoxes,
    float32, XYXY), "labels" (int64) and, where they were asked for, "masks" (Mask, uint8). An image
    without objects has boxes of shape [0, 4]. `yolo`, `lvis`, `open_images`, `voc` and `kept` make
    it.

    Args:
        source: Where the images are.
        find: Of an image's number its objects.
        transforms: A function of an image and its target, such as torchvision's v2.Compose; None:
            they stay.
        classes: The names of the classes in their file's order, where they are known.
        keys: Of the target.
        labels: The label of each class; None: they count from 0.

    Attributes:
        names: The name of each label, a dictionary; empty where nobody says.

    Example:
        >>> from fastload import detection
        >>> data = detection.yolo("yolo", "train")
        >>> image, target = data[0]
        >>> image.size, target["boxes"].tolist(), target["labels"].tolist()
        ((120, 90), [[30.0, 30.0, 90.0, 60.0]], [1])
    """

    def __init__(
        self,
        source: Source,
        find: Find,
        *,
        transforms: Transforms,
        classes: tuple[str, ...],
        keys: tuple[str, ...],
        labels: Sequence[int] | None = None,
    ) -> None:
        self.source, self.find, self.transforms = source, find, transforms
        self.classes, self.keys = classes, keys
        numbers = range(len(classes)) if labels is None else labels
        self.names = dict(zip(numbers, classes, strict=True))

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Image and target. Raises IndexError and SampleError."""
        number = position(index, len(self))
        name = self.source.name(number)
        try:
            image = pil.decode(read(self.source, number))
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(name, number, error) from error
        try:
            found = self.target(number, (image.height, image.width))
        except Exception as error:  # pycocotools raises what it likes
            raise bad_annotation(name, number, error) from error
        return (image, found) if self.transforms is None else self.transforms(image, found)

    def target(self, number: int, size: Size) -> Target:
        """Of an image's number and its height and width, px. Raises what its file or pycocotools
        raise.
        """
        return target(self.find(number), size, self.keys)

    def __repr__(self) -> str:
        name = os.path.basename(self.source.where.rstrip("/"))
        return f"fastload.detection {name!r}: {len(self)} images, {len(self.classes)} classes"


def of_files(where: str, paths: tuple[str, ...]) -> FileSource:
    """Images that are files below a folder."""
    labels = np.zeros(len(paths), np.int64)
    return FileSource(where, paths, labels, (), seek.attach(paths, where))
