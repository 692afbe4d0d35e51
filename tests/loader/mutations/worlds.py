"""Small data sets of every kind that is lowered, each made anew from one folder."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import ImageFilter, ImageOps
from timm.data import transforms as timm_transforms
from timm.data.dataset import ImageDataset
from torch.utils.data import ConcatDataset, Subset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder, wrap_dataset_for_transforms_v2
from torchvision.datasets.folder import default_loader
from torchvision.transforms import v2

SIZE = (12, 15)
NUMBERS = np.random.default_rng(0)
PIXELS = NUMBERS.integers(0, 256, (9, 32, 32, 3), np.uint8)


def plain() -> Any:
    """Nothing random, so that batches can be compared."""
    return v1.Compose(
        [v1.Resize(SIZE), v1.ToTensor(), v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
    )


def plain_v2() -> Any:
    parts = [
        v2.Resize([20, 22]),
        v2.CenterCrop(list(SIZE)),
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
    ]
    return v2.Compose([*parts, v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])


def made(kind: str, **held: Any) -> Any:
    """A data set of torchvision without its files."""
    out = getattr(datasets, kind).__new__(getattr(datasets, kind))
    own = {"root": "root", "transform": plain(), "target_transform": None, "transforms": None}
    out.__dict__.update(own | held)
    return out


def rows(folder: str) -> tuple[list[Any], list[str], list[int]]:
    pairs = ImageFolder(folder).samples
    return pairs, [path for path, _ in pairs], [label for _, label in pairs]


def joint(kind: str, **held: Any) -> Any:
    both = datasets.vision.StandardTransform(plain(), None)
    return made(kind, transforms=both, transform=None, **held)


def lists(folder: str) -> Any:
    _, paths, labels = rows(folder)
    return made("Food101", _image_files=paths, _labels=labels, loader=default_loader)


def pets(folder: str) -> Any:
    _, paths, labels = rows(folder)
    bins = [number % 2 for number in labels]
    given = {"_labels": labels, "_bin_labels": bins, "_target_types": ["category"], "classes": []}
    return joint("OxfordIIITPet", _images=paths, **given)


def masks(folder: str) -> Any:
    _, paths, _ = rows(folder)
    held = {"images": paths, "targets": [f"{path}.mask" for path in paths], "transform": None}
    inner = made("VOCSegmentation", **held)
    inner.transforms = v2.Compose([v2.Resize(SIZE), v2.ToImage(), v2.ToPureTensor()])
    return wrap_dataset_for_transforms_v2(inner)


def timm_folder(folder: str) -> Any:
    parts = [timm_transforms.CenterCropOrPad(SIZE), timm_transforms.MaybeToTensor()]
    return ImageDataset(folder, transform=v1.Compose([v1.Resize(20), *parts]))


def cifar(_: str) -> Any:
    return made("CIFAR10", data=PIXELS.copy(), targets=[n % 5 for n in range(9)], classes=[])


def mnist(_: str) -> Any:
    grey = v1.Compose([v1.Resize(SIZE), v1.Grayscale(3), v1.ToTensor()])
    data = torch.from_numpy(PIXELS[..., 0].copy())
    return made("MNIST", data=data, targets=torch.arange(9), transform=grey)


def svhn(_: str) -> Any:
    return made("SVHN", data=PIXELS.transpose(0, 3, 1, 2).copy(), labels=np.arange(9) % 4)


def folder_v1(folder: str) -> Any:
    return ImageFolder(folder, plain())


def subset_of(indices: Callable[[list[int]], Any]) -> Callable[[str], Any]:
    return lambda folder: Subset(folder_v1(folder), indices([4, 1, 1, 8, 0, 7]))


def nested(folder: str) -> Any:
    data = folder_v1(folder)
    return Subset(ConcatDataset([Subset(data, [1, 5, 2]), data]), np.array([0, 3, 5, 2, 9]))


def bright(image: Any) -> Any:
    return ImageOps.solarize(image.convert("RGB"), 99)


class TwoViews:
    """A class of the program's."""

    def __init__(self, first: Any, radius: float) -> None:
        self.first, self.radius, self.count = first, radius, 2
        self.last = [bright, v1.ToTensor()]

    def blur(self, image: Any) -> Any:
        return image.filter(ImageFilter.GaussianBlur(self.radius))

    def __call__(self, image: Any) -> Any:
        views = [self.blur(self.first(image)) for _ in range(self.count)]
        for part in self.last:
            views = [part(view) for view in views]
        return views


WORLDS: dict[str, Callable[[str], Any]] = {
    "folder": folder_v1,
    "folder v2": lambda folder: ImageFolder(folder, plain_v2()),
    "own classes": lambda folder: ImageFolder(folder, TwoViews(v1.Resize(SIZE), 1.5)),
    "lists": lists,
    "_samples": lambda folder: made("Imagenette", _samples=rows(folder)[0], loader=default_loader),
    "GTSRB": lambda folder: made("GTSRB", _samples=rows(folder)[0]),
    "Places365": lambda folder: joint("Places365", imgs=rows(folder)[0], loader=default_loader),
    "pets": pets,
    "masks": masks,
    "timm": timm_folder,
    "CIFAR": cifar,
    "MNIST": mnist,
    "SVHN": svhn,
    "subset of a list": subset_of(list),
    "subset of an array": subset_of(np.array),
    "subset of a tensor": subset_of(torch.tensor),
    "concatenation": lambda folder: ConcatDataset([folder_v1(folder), folder_v1(folder)]),
    "nested": nested,
}
