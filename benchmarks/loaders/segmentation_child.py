"""One variant of `python -m benchmarks segmentation` in a process of its own.

Its argument is JSON. For every line on stdin it runs one epoch and answers with images per second.
"""

from typing import Any

import torch
import torch.utils.data
from torchvision.datasets import VOCSegmentation, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2
from torchvision.tv_tensors import Image, Mask

import fastload
from benchmarks.loaders.child import MEAN, STD, answer, epoch

BASE, CROP = 520, 480  # px, of torchvision's references
SHORTEST, WIDER_CROP = (256, 1024), 512  # px, as trainings on ADE20K have them
FILL = {Mask: 255, "others": 0}


class PadUpTo(v2.Transform):
    """Below and to the right, up to a size: the references have such a class of their own."""

    def __init__(self, size: int, fill: Any = 0) -> None:
        super().__init__()
        self.size = size
        self.fill = v2._utils._setup_fill_arg(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = v2._utils.query_size(flat_inputs)
        return {"padding": [0, 0, max(self.size - width, 0), max(self.size - height, 0)]}

    def transform(self, value: Any, params: dict[str, Any]) -> Any:
        if not any(params["padding"]):
            return value
        fill = v2._utils._get_fill(self.fill, type(value))
        return v2.functional.pad(value, padding=params["padding"], fill=fill)


def preset(name: str) -> v2.Compose:
    """train and eval: those of torchvision's references/segmentation. colour: as trainings on
    ADE20K and Cityscapes have it.
    """
    moves: dict[str, list[Any]] = {
        "train": [
            v2.RandomResize(int(0.5 * BASE), 2 * BASE), v2.RandomHorizontalFlip(),
            PadUpTo(CROP, FILL), v2.RandomCrop(CROP),
        ],
        "eval": [v2.Resize((BASE, BASE))],
        "colour": [
            v2.RandomResize(*SHORTEST),
            v2.RandomCrop(WIDER_CROP, pad_if_needed=True, fill=FILL),
            v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4, 0.4),
        ],
    }  # fmt: skip
    types = {Image: torch.float32, Mask: torch.int64, "others": None}
    return v2.Compose([
        v2.ToImage(), *moves[name], v2.ToDtype(types, scale=True), v2.Normalize(MEAN, STD),
        v2.ToPureTensor(),
    ])  # fmt: skip


def make_loader(spec: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    data = VOCSegmentation(spec["data"], image_set="train", transforms=preset(spec["preset"]))
    wrapped = wrap_dataset_for_transforms_v2(data)
    common = {
        "batch_size": spec["batch_size"], "shuffle": True, "num_workers": spec["workers"],
        "drop_last": True,
    }  # fmt: skip
    if spec["loader"] == "torch":
        return torch.utils.data.DataLoader(wrapped, persistent_workers=True, **common)
    return fastload.DataLoader(wrapped, backend="native", **common)


if __name__ == "__main__":
    answer(make_loader, epoch)
