"""The table of changes: what is done to a data set, and to what the process sets.

`n` counts how often it is done.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import PIL.Image
import PIL.ImageFile
import torch
import torch.utils.data._utils.collate as collating
import torchvision
from PIL import ImageOps
from torch.nn.modules import module as modules
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.datasets import folder as folders
from torchvision.datasets.folder import default_loader
from torchvision.transforms import v2

from .data_sets import (
    Change,
    chain,
    of_a_row,
    of_a_subset,
    of_images_in_memory,
    of_joint,
    of_masks,
    of_pairs,
    of_pairs_label,
    of_parts,
    of_paths,
    of_pets,
    of_timm,
    seven,
)
from .worlds import TwoViews


class Mutation(NamedTuple):
    world: str
    name: str
    change: Change


class Own(folders.ImageFolder):
    """A class of the program's."""

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return -image, label + 1


class OwnResize(v1.Resize):
    def forward(self, image: Any) -> Any:
        return super().forward(image).point(lambda value: 255 - value)


def inverted(path: Any) -> Any:
    return PIL.Image.open(path).convert("RGB").point(lambda value: 255 - value)


def of_a_data_set() -> Iterator[tuple[str, Change]]:
    """Of ImageFolder, besides its samples."""
    yield "class", lambda it, _: setattr(it, "__class__", Own)
    yield "loader", lambda it, _: setattr(it, "loader", inverted)
    yield "target_transform", lambda it, _: setattr(it, "target_transform", seven)
    yield "no transform", lambda it, _: setattr(it, "transform", None)
    yield "transform", lambda it, n: setattr(it, "transform", chain(n))
    yield "transforms, which are not read", lambda it, _: setattr(it, "transforms", None)
    yield "targets, which are not read", lambda it, _: it.targets.reverse()
    yield (
        "a method on the object",
        lambda it, _: setattr(it, "__getitem__", lambda _: (torch.zeros(3), 0)),
    )
    yield "rows, then in place", of_a_row
    yield "all labels", of_pairs_label


def parts(it: Any) -> list[Any]:
    found: list[Any] = it.transform.transforms
    return found


def of_transforms() -> Iterator[tuple[str, Change]]:
    """Of Compose([Resize, ToTensor, Normalize])."""
    yield "size", lambda it, n: setattr(parts(it)[0], "size", (10 + n, 9))
    yield (
        "interpolation",
        lambda it, _: setattr(parts(it)[0], "interpolation", v1.InterpolationMode.NEAREST),
    )
    yield "mean in place", lambda it, n: parts(it)[2].mean.__setitem__(0, 0.1 * n)
    yield "std", lambda it, n: setattr(parts(it)[2], "std", (0.1 * n, 1.0, 2.0))
    yield "one less", lambda it, _: parts(it).pop()
    yield "one more", lambda it, n: parts(it).insert(0, v1.CenterCrop(20 + n))
    yield "another", lambda it, n: parts(it).__setitem__(0, v1.CenterCrop((11, 13 + n)))
    yield "another list", lambda it, _: setattr(it.transform, "transforms", parts(it)[:2])
    yield "class of a part", lambda it, _: setattr(parts(it)[0], "__class__", OwnResize)
    yield "own part", lambda it, n: parts(it).__setitem__(0, OwnResize((12, 15 + n)))
    yield (
        "forward on a part",
        lambda it, _: setattr(parts(it)[0], "forward", lambda image: image.resize((7, 8))),
    )
    yield "a lambda", lambda it, _: parts(it).append(v1.Lambda(lambda image: -image))
    yield (
        "a hook",
        lambda it, n: parts(it)[0].register_forward_hook(
            lambda *_: PIL.Image.new("RGB", (15, 12), (9, 8, n))
        ),
    )
    yield (
        "a hook before",
        lambda it, _: parts(it)[2].register_forward_pre_hook(lambda _, given: (given[0] * 2,)),
    )
    yield (
        "a module",
        lambda it, _: setattr(
            it, "transform", torch.nn.Sequential(v1.Resize((8, 9)), v2.ToImage())
        ),
    )
    yield "wrapped once more", lambda it, _: setattr(it, "transform", v1.Compose([it.transform]))


def of_v2() -> Iterator[tuple[str, Change]]:
    """Of v2's Compose([Resize, CenterCrop, ToImage, ToDtype, Normalize])."""
    yield "size in place", lambda it, n: parts(it)[0].size.__setitem__(0, 30 + n)
    yield "crop in place", lambda it, n: parts(it)[1].size.__setitem__(1, 11 + n)
    yield "mean in place", lambda it, n: parts(it)[4].mean.__setitem__(1, 0.2 * n)
    yield "scale", lambda it, _: setattr(parts(it)[3], "scale", False)
    yield "dtype", lambda it, _: setattr(parts(it)[3], "dtype", torch.float64)
    yield "half", lambda it, _: setattr(parts(it)[3], "dtype", torch.float16)
    yield "flip", lambda it, _: parts(it).insert(1, v2.RandomHorizontalFlip(1.0))
    yield "pad", lambda it, n: parts(it).insert(2, v2.Pad([n, 1], fill=[1, 2, 3]))
    yield "grey", lambda it, _: parts(it).insert(1, v2.Grayscale(3))
    yield "antialias", lambda it, _: setattr(parts(it)[0], "antialias", False)
    yield "unknown", lambda it, _: parts(it).insert(2, v2.ElasticTransform(0.0))
    yield "transform", lambda it, _: setattr(parts(it)[0], "transform", lambda image, _: image)


def of_own_classes() -> Iterator[tuple[str, Change]]:
    """Of TwoViews."""
    yield "what it holds", lambda it, n: setattr(it.transform, "first", v1.Resize((9, 9 + n)))
    yield "inside that", lambda it, n: setattr(it.transform.first, "size", (9 + n, 12))
    yield "radius", lambda it, n: setattr(it.transform, "radius", 0.5 * n)
    yield "radius of a class", lambda it, _: setattr(it.transform, "radius", torch.tensor(1.0))
    yield "count", lambda it, n: setattr(it.transform, "count", 2 + n)
    yield "no views", lambda it, _: setattr(it.transform, "count", 0)
    yield "list in place", lambda it, n: it.transform.last.insert(0, v1.CenterCrop((5 + n, 6)))
    yield "last is gone", lambda it, _: it.transform.last.pop()
    yield "a lambda", lambda it, n: it.transform.last.append(lambda image: image * n)
    yield (
        "a method on the object",
        lambda it, n: setattr(it.transform, "blur", lambda image: image.reduce(n + 1)),
    )
    yield "a class", lambda it, _: setattr(it.transform, "__class__", OwnViews)
    yield "attributes", lambda it, _: vars(it.transform).update(first=inverted_image)


class OwnViews(TwoViews):
    def blur(self, image: Any) -> Any:
        return super().blur(image).point(lambda value: 255 - value)


def inverted_image(image: Any) -> Any:
    return ImageOps.invert(image.resize((15, 12)))


TABLE: dict[str, list[tuple[str, Change]]] = {
    "folder": [*of_pairs("samples"), *of_a_data_set(), *of_transforms()],
    "folder v2": [*of_v2()],
    "own classes": [*of_own_classes()],
    "lists": [*of_paths()],
    "_samples": [*of_pairs("_samples")][:8],
    "GTSRB": [*of_pairs("_samples")][:4],
    "Places365": [*[*of_pairs("imgs")][:4], *of_joint()],
    "pets": [*of_pets(), *of_joint()],
    "masks": [*of_masks()],
    "timm": [*of_timm()],
    "CIFAR": [*of_images_in_memory("targets")],
    "MNIST": [*of_images_in_memory("targets")],
    "SVHN": [*of_images_in_memory("labels")],
    "subset of a list": [*of_a_subset()],
    "subset of an array": [*of_a_subset(), ("added to", lambda it, n: it.indices.__iadd__(n))],
    "subset of a tensor": [*of_a_subset(), ("added to", lambda it, n: it.indices.add_(n))],
    "concatenation": [*of_parts()],
    "nested": [("inner index", lambda it, n: it.dataset.datasets[0].indices.__setitem__(0, 6 + n))],
}
DATA = [
    Mutation(world, name, change) for world, changes in TABLE.items() for name, change in changes
]


def _dtype(dtype: torch.dtype) -> Change:
    return lambda patch, _: (
        patch.callback(torch.set_default_dtype, torch.get_default_dtype()),
        torch.set_default_dtype(dtype),
    )


def _tv_tensors(patch: Any, _: int) -> None:
    patch.callback(tv_tensors.set_return_type, "Tensor")
    tv_tensors.set_return_type("TVTensor")


def _item(mapping: Any, key: Any, value: Any) -> Change:
    return lambda patch, _: patch.setitem(mapping, key, value)


def _attribute(holder: Any, name: str, value: Any) -> Change:
    return lambda patch, _: patch.setattr(holder, name, value)


def _unchanged(_module: Any, _given: Any, out: Any) -> Any:
    return out


def _hook(patch: Any, _: int) -> None:
    made = modules.register_module_forward_hook(_unchanged)
    patch.callback(made.remove)


def _accimage(path: Any) -> Any:
    return inverted(path)


def stacked(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return torch.stack(batch) + 1


def grouped(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return [torch.stack([image for image, _ in batch]), [label for _, label in batch]]


def numbers(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return torch.tensor(batch) + 1


# What the process sets, for a world; `change` gets a monkeypatch that also has `callback(function,
# *arguments)`.
SETTINGS = [
    *(Mutation(world, f"default dtype {dtype}", _dtype(dtype))
      for dtype in (torch.float64, torch.float16, torch.bfloat16) for world in ("folder",
      "folder v2", "timm", "CIFAR")),
    Mutation("folder v2", "tensors of torchvision's", _tv_tensors),
    Mutation("folder", "image backend", lambda patch, _: (
        patch.setattr(folders, "accimage_loader", _accimage), patch.setattr(torchvision,
        "_image_backend", "accimage"))),
    Mutation("folder", "collate tensors", _item(collating.default_collate_fn_map, torch.Tensor,
    stacked)),
    Mutation("folder", "collate pairs", _item(collating.default_collate_fn_map, tuple, grouped)),
    Mutation("folder", "collate numbers", _item(collating.default_collate_fn_map, int, numbers)),
    Mutation("folder", "hooks of all modules", _hook),
    Mutation("folder", "truncated images", _attribute(PIL.ImageFile, "LOAD_TRUNCATED_IMAGES",
    True)),
    Mutation("folder", "working directory", lambda patch, _: patch.chdir(os.sep)),
    Mutation("folder", "the name of default_loader", _attribute(folders, "default_loader",
    inverted)),
    Mutation("folder", "a decoder of its own", _item(PIL.Image.OPEN, "JPEG",
    (lambda *_: PIL.Image.new("RGB", (30, 20)), None))),
]  # fmt: skip
assert default_loader is folders.default_loader
