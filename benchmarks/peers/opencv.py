"""PyTorch's DataLoader with OpenCV: imread, a crop, resize, a flip."""

from collections.abc import Callable, Iterator
from typing import Any

import cv2
import torch
from torchvision.datasets import ImageFolder

from benchmarks.peers import draws, torches

FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION  # as torchvision reads


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    cv2.setNumThreads(0)  # workers are its parallelism
    size = (spec["size"], spec["size"])

    def transform(image: Any) -> torch.Tensor:
        left, top, width, height = draws.crop(image.shape[1], image.shape[0])
        out = cv2.resize(
            image[top : top + height, left : left + width], size, interpolation=cv2.INTER_LINEAR
        )
        out = cv2.flip(out, 1) if draws.flipped() else out
        return torch.from_numpy(cv2.cvtColor(out, cv2.COLOR_BGR2RGB))

    return torches.epochs(
        spec, ImageFolder(spec["data"], transform, loader=lambda path: cv2.imread(path, FLAGS))
    )
