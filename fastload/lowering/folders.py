"""Data sets of image files of torchvision and timm: which files and labels each has."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from fastload.lowering.names import altered, attribute, is_a, type_name
from fastload.lowering.rows import sequence, split


class Files(NamedTuple):
    """Image files that torchvision's or timm's default loader would read."""

    root: str
    paths: Iterable[str | os.PathLike[str]]
    labels: object
    classes: Iterable[object]


class Kind(NamedTuple):
    """A class of data sets: its files, and the attributes with samples that its `__getitem__`
    reads.
    """

    find: Callable[[Any], Files]
    reads: tuple[str, ...]


class _Folder(Protocol):
    """What torchvision's data sets of files have in common."""

    root: object


class _Lists(_Folder, Protocol):
    _image_files: object
    _labels: object


class _ImageNet(_Folder, Protocol):
    split_folder: object


class _Pets(_Folder, Protocol):
    _images: object
    _labels: object
    _target_types: Sequence[str]
    classes: Iterable[object]


def _samples(name: str = "samples") -> Kind:
    """Data sets that keep pairs (path, label) as `name`."""

    def find(dataset: _Folder) -> Files:
        paths, labels = split(getattr(dataset, name), name)
        return Files(str(dataset.root), paths, labels, getattr(dataset, "classes", ()))

    return Kind(find, (name,))


def _two_lists(dataset: _Lists) -> Files:
    paths = sequence(dataset._image_files, "_image_files")
    return Files(str(dataset.root), paths, dataset._labels, getattr(dataset, "classes", ()))


def _imagenet(dataset: _ImageNet) -> Files:
    return _samples().find(dataset)._replace(root=str(dataset.split_folder))


def _pets(dataset: _Pets) -> Files:
    kinds = {"category": dataset._labels, "binary-category": getattr(dataset, "_bin_labels", None)}
    if len(dataset._target_types) != 1 or dataset._target_types[0] not in kinds:
        raise ValueError(f"has target_types {dataset._target_types}, which are no class numbers")
    paths, labels = sequence(dataset._images, "_images"), kinds[dataset._target_types[0]]
    return Files(str(dataset.root), paths, labels, dataset.classes)


def _timm(dataset: object) -> Files:
    reader = attribute(dataset, "reader")
    if not is_a(reader, "timm.data.readers.reader_image_folder", "ReaderImageFolder") or altered(
        reader
    ):
        raise ValueError(f"has reader {type_name(reader)}, want timm's ReaderImageFolder")
    for name, want in (
        ("load_bytes", False),
        ("input_img_mode", "RGB"),
        ("additional_features", None),
    ):
        if getattr(dataset, name, want) != want:
            raise ValueError(f"has {name} {getattr(dataset, name)!r}, want {want!r}")
    paths, labels = split(reader.samples, "samples")
    return Files(
        reader.root, paths, labels, sorted(reader.class_to_idx, key=reader.class_to_idx.get)
    )


# Class → what its __getitem__ reads, where that is a file by torchvision's default loader and one
# class number.
TWO = Kind(_two_lists, ("_image_files", "_labels"))
FILES: dict[str, dict[str, Kind]] = {
    "torchvision.datasets": {
        **dict.fromkeys(("ImageFolder", "DatasetFolder", "EuroSAT", "Country211"), _samples()),
        **dict.fromkeys(
            ("GTSRB", "Imagenette", "RenderedSST2", "StanfordCars"), _samples("_samples")
        ),
        **dict.fromkeys(("DTD", "FGVCAircraft", "Flowers102", "Food101", "SUN397"), TWO),
        "ImageNet": Kind(_imagenet, ("samples",)),
        "OxfordIIITPet": Kind(_pets, ("_images", "_labels", "_bin_labels", "_target_types")),
        "Places365": _samples("imgs"),
    },
    "timm.data.dataset": {"ImageDataset": Kind(_timm, ())},
}


def kind_of(dataset: object) -> Kind | None:
    """Of a data set of files; None for others."""
    for module, kinds in FILES.items():
        for name, kind in kinds.items():
            if is_a(dataset, module, name):
                return kind
    return None
