"""The table of changes: what is done to a data set, and to what the process sets.

`n` counts how often it is done.
"""

import os
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
import PIL.ImageFile
import torch
import torch.utils.data._utils.collate as collating
import torchvision
from torch.nn.modules import module as modules
from torchvision import transforms as v1
from torchvision.datasets import folder as folders
from torchvision.datasets.folder import default_loader
from torchvision.transforms import v2

Change = Callable[[Any, int], object]


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


def seven(label: Any) -> int:
    return int(label) % 3 + 7


def of_pairs(name: str) -> Iterator[tuple[str, Change]]:
    """Of a list of pairs (path, label)."""

    def pairs(it: Any) -> Any:
        return getattr(it, name)

    def label(it: Any, place: int, value: Any) -> None:
        pairs(it)[place] = (pairs(it)[place][0], value)

    yield "a label", lambda it, n: label(it, 3, 6 + n)
    yield "a path", lambda it, n: pairs(it).__setitem__(2, (pairs(it)[6 + n][0], pairs(it)[2][1]))
    yield "two change places", lambda it, _: pairs(it).insert(0, pairs(it).pop())
    yield "shuffled", lambda it, n: random.Random(n + 3).shuffle(pairs(it))
    yield "reversed", lambda it, _: pairs(it).reverse()
    yield "longer", lambda it, _: pairs(it).append(pairs(it)[1])
    yield "shorter", lambda it, _: pairs(it).pop(4)
    yield "a slice", lambda it, _: pairs(it).__setitem__(slice(0, 6), pairs(it)[3:9])
    yield "another list", lambda it, n: setattr(it, name, [(p, (x + n) % 3) for p, x in pairs(it)])
    yield "a tuple", lambda it, n: setattr(it, name, tuple(pairs(it)[n:]))
    yield "lists as rows", lambda it, n: setattr(it, name, [[p, x + n] for p, x in pairs(it)])
    yield "an array", lambda it, _: setattr(it, name, np.array(pairs(it), object))
    yield "a label is True", lambda it, _: [label(it, place, True) for place in range(4)]
    yield "a label is a float", lambda it, n: label(it, 0, 1.0 + n)
    yield "a label of NumPy", lambda it, n: label(it, 1, np.int64(4 + n))
    yield (
        "labels of few bits",
        lambda it, n: [label(it, place, np.uint8(3 + n)) for place in range(9)],
    )
    yield "a label is a tensor", lambda it, n: [label(it, k, torch.tensor(2 + n)) for k in range(9)]
    yield "a label is None", lambda it, _: label(it, 0, None)
    yield "a path is missing", lambda it, _: pairs(it).__setitem__(0, ("/nothing/here.jpg", 0))
    yield "all are gone", lambda it, _: pairs(it).clear()


def of_a_row(it: Any, n: int) -> None:
    """The second time in place."""
    if type(it.samples[0]) is not list:
        it.samples = [list(row) for row in it.samples]
    it.samples[2][1] = 5 + n


def of_paths() -> Iterator[tuple[str, Change]]:
    """Of two lists."""
    yield "a label", lambda it, n: it._labels.__setitem__(1, 5 + n)
    yield "labels added to", lambda it, n: setattr(it, "_labels", [x + n for x in it._labels])
    yield "labels in an array", lambda it, n: setattr(it, "_labels", np.array(it._labels) + n)
    yield "labels in few bits", lambda it, _: setattr(it, "_labels", np.array(it._labels, np.uint8))
    yield (
        "labels in a tensor",
        lambda it, n: setattr(it, "_labels", torch.tensor(list(it._labels)) + n),
    )
    yield "paths reversed", lambda it, _: it._image_files.reverse()
    yield "a path", lambda it, n: it._image_files.__setitem__(0, it._image_files[3 + n])


def of_images_in_memory(labels: str) -> Iterator[tuple[str, Change]]:
    yield "pixels", lambda it, n: it.data.__setitem__(2, 9 * n)
    yield "all pixels", lambda it, _: setattr(it, "data", 255 - it.data)
    yield "order", lambda it, _: setattr(it, "data", it.data[list(range(8, -1, -1))])
    yield "a label", lambda it, n: getattr(it, labels).__setitem__(4, 2 + n)
    yield (
        "labels of few bits",
        lambda it, _: setattr(it, labels, np.asarray(getattr(it, labels)).astype(np.uint8)),
    )
    yield (
        "labels as a tensor",
        lambda it, _: setattr(it, labels, torch.as_tensor(getattr(it, labels)) + 1),
    )
    yield (
        "labels as floats",
        lambda it, _: setattr(it, labels, np.asarray(getattr(it, labels)) + 0.0),
    )
    yield "as a list", lambda it, _: setattr(it, "data", list(it.data))
    yield (
        "fewer",
        lambda it, _: (
            setattr(it, "data", it.data[1:]),
            setattr(it, labels, getattr(it, labels)[1:]),
        ),
    )


def of_a_subset() -> Iterator[tuple[str, Change]]:
    yield "an index", lambda it, n: it.indices.__setitem__(0, 5 + n)
    yield "from the end", lambda it, n: it.indices.__setitem__(2, -n)
    yield "others", lambda it, n: setattr(it, "indices", [n, 3, 3])
    yield "a range", lambda it, n: setattr(it, "indices", range(n, 8, 2))
    yield "tensors in a list", lambda it, n: setattr(it, "indices", list(torch.tensor([3, 1, n])))
    yield "outside", lambda it, _: it.indices.__setitem__(0, 500)
    yield "a mask", lambda it, _: setattr(it, "indices", [True, False, True])
    yield (
        "another data set",
        lambda it, _: setattr(it, "dataset", type(it)(it.dataset, [6, 5, 4, 3, 2, 1, 0, 1, 2])),
    )
    yield "its data set's labels", lambda it, n: of_pairs_label(it.dataset, n)
    yield "its data set's transform", lambda it, n: setattr(it.dataset, "transform", chain(n))


def of_pairs_label(it: Any, n: int) -> None:
    it.samples[:] = [(path, label + n) for path, label in it.samples]


def chain(n: int) -> Any:
    return v1.Compose([v1.CenterCrop((9 + n, 11)), v1.ToTensor()])


def of_parts() -> Iterator[tuple[str, Change]]:
    yield "one more", lambda it, _: it.datasets.append(it.datasets[0])
    yield (
        "one more, and its size",
        lambda it, _: (
            it.datasets.append(it.datasets[0]),
            it.cumulative_sizes.append(it.cumulative_sizes[-1] + 9),
        ),
    )
    yield "sizes", lambda it, n: it.cumulative_sizes.__setitem__(0, 7 + n)
    yield "the other first", lambda it, _: it.datasets.reverse()
    yield "a part's labels", lambda it, n: of_pairs_label(it.datasets[1], n)
    yield "a part grows", lambda it, _: it.datasets[0].samples.append(it.datasets[0].samples[0])
    yield "a part's transform", lambda it, n: setattr(it.datasets[1], "transform", chain(n))


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


def of_masks() -> Iterator[tuple[str, Change]]:
    yield "pairs", lambda it, _: (it._dataset.images.reverse(), it._dataset.targets.reverse())
    yield (
        "a mask",
        lambda it, _: it._dataset.targets.__setitem__(0, f"{it._dataset.images[0]}.other"),
    )
    yield (
        "transforms",
        lambda it, n: setattr(it, "transforms", v2.Compose([v2.CenterCrop(9 + n), v2.ToImage()])),
    )
    yield "a part", lambda it, n: setattr(it.transforms.transforms[0], "size", [8 + n, 9])
    yield (
        "the inner transforms",
        lambda it, _: setattr(it._dataset, "transforms", lambda a, b: (a.rotate(180), b)),
    )
    yield "its wrapper", lambda it, _: setattr(it, "_wrapper", lambda _, sample: (sample[0], 3))
    yield "its data set", lambda it, _: setattr(it, "_dataset", Reversed(it._dataset))


class Reversed:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: int) -> Any:
        return self.inner[len(self.inner) - 1 - index]


def of_timm() -> Iterator[tuple[str, Change]]:
    yield "samples", lambda it, _: it.reader.samples.reverse()
    yield "a label", lambda it, n: it.reader.samples.__setitem__(0, (it.reader.samples[0][0], n))
    yield "mode", lambda it, _: setattr(it, "input_img_mode", "L")
    yield "reader", lambda it, _: setattr(it, "reader", Reader(it.reader))
    yield "bytes", lambda it, _: setattr(it, "load_bytes", True)
    yield "target", lambda it, _: setattr(it, "target_transform", seven)


class Reader(Reversed):
    def __getitem__(self, index: int) -> Any:
        found, label = super().__getitem__(index)
        return found, label + 1


def of_joint() -> Iterator[tuple[str, Change]]:
    yield "transforms", lambda it, n: setattr(it, "transforms", type(it.transforms)(chain(n), None))
    yield "inside", lambda it, n: setattr(it.transforms, "transform", chain(n))
    yield "target inside", lambda it, _: setattr(it.transforms, "target_transform", seven)
    yield (
        "a function",
        lambda it, _: setattr(it, "transforms", lambda _, label: (torch.zeros(2), label)),
    )


def of_pets() -> Iterator[tuple[str, Change]]:
    yield "labels", lambda it, _: it._labels.reverse()
    yield "images", lambda it, _: it._images.reverse()
    yield "kind", lambda it, _: setattr(it, "_target_types", ["binary-category"])
    yield "kind in place", lambda it, _: it._target_types.__setitem__(0, "binary-category")
    yield "two kinds", lambda it, _: it._target_types.append("binary-category")


TABLE: dict[str, list[tuple[str, Change]]] = {
    "folder": [*of_pairs("samples"), *of_a_data_set(), *of_transforms()],
    "folder v2": [*of_v2()],
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
