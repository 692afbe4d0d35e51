"""One variant of `python -m benchmarks detection` in a process of its own.

Its argument is JSON. For every line on stdin it runs one epoch and answers with images per second.
"""

import contextlib
import io
import os
from typing import Any

import torch
import torch.utils.data
from torchvision.datasets import CocoDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2
from torchvision.tv_tensors import Mask

import fastload
from benchmarks.loaders.child import answer, epoch
from benchmarks.loaders.detection import MIXES
from fastload import detection

MEAN = (123.0, 117.0, 104.0)
SHORTEST = (480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800)
LARGE, YOLOS = (1024, 1024), (640, 640)
GREY = 114
KEYS = ("boxes", "labels", "image_id")


def preset(name: str) -> v2.Compose:
    """A --data-augmentation of torchvision's references/detection, on tensors; or what stands
    around a mix: YOLOX's for Mosaic, LSJ for CopyPaste.
    """
    flip, fill = v2.RandomHorizontalFlip(), {Mask: 0, "others": MEAN}
    moves: dict[str, list[Any]] = {
        "hflip": [flip],
        "multiscale": [v2.RandomShortestSize(SHORTEST, max_size=1333), flip],
        "lsj": [
            v2.ScaleJitter(LARGE, antialias=True),
            v2.RandomCrop(LARGE, pad_if_needed=True, fill=fill), flip,
        ],
        "ssd": [
            v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=fill), v2.RandomIoUCrop(), flip,
        ],
        "ssdlite": [v2.RandomIoUCrop(), flip],
        "mosaic": [
            detection.Mosaic(YOLOS),
            v2.RandomAffine(10, translate=(0.1, 0.1), scale=(0.5, 1.5), shear=2, fill=GREY),
            v2.RandomCrop(YOLOS), flip,
        ],
        "mixup": [v2.Resize(YOLOS), flip, detection.MixUp()],
        "copypaste": [
            v2.ScaleJitter(LARGE, antialias=True), detection.FixedSizeCrop(1024, fill=fill),
            flip, detection.CopyPaste(),
        ],
    }  # fmt: skip
    return v2.Compose([
        v2.ToImage(), *moves[name], v2.ToDtype(torch.float32, scale=True),
        v2.ConvertBoundingBoxFormat("XYXY"), v2.SanitizeBoundingBoxes(), v2.ToPureTensor(),
    ])  # fmt: skip


def collate(samples: list[Any]) -> tuple[Any, ...]:
    return tuple(zip(*samples, strict=True))


def make_loader(spec: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    images = os.path.join(spec["data"], "images", "all")
    mixed = spec["preset"] in MIXES
    moves = preset(spec["preset"])
    with contextlib.redirect_stdout(io.StringIO()):  # where it says what it does
        data = CocoDetection(
            images, os.path.join(spec["data"], "instances.json"),
            transforms=None if mixed else moves,
        )  # fmt: skip
    keys = (*KEYS, "masks") if spec["preset"] == "copypaste" else KEYS
    wrapped = wrap_dataset_for_transforms_v2(data, target_keys=keys)
    if mixed:
        wrapped = detection.WithPartners(wrapped, moves)
    common = {
        "batch_size": spec["batch_size"], "shuffle": True, "num_workers": spec["workers"],
        "collate_fn": collate,
    }  # fmt: skip
    if spec["loader"] == "torch":
        return torch.utils.data.DataLoader(wrapped, persistent_workers=True, **common)
    return fastload.DataLoader(wrapped, backend="native", **common)


if __name__ == "__main__":
    answer(make_loader, epoch)
