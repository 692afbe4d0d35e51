"""What programs do to data sets: to their lists, their arrays and their parts.

`n` counts how often it is done."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

Change = Callable[[Any, int], object]


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
