"""Data sets that are not taken, and the reasons that are told."""

import numpy as np
import pytest
from timm.data.dataset import ImageDataset
from torchvision import datasets

import fastload

from .dataset_helpers import EVAL, cifar, files, made, reasons

# timm, and some of torchvision, leave closing files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


class MyDataset(ImageDataset):
    pass


def collect_paths(path):
    return datasets.folder.default_loader(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"loader": collect_paths}, f"Food101 has its own loader ({__name__}.collect_paths)"),
        ({"target_transform": str}, "Food101 has a target_transform"),
        ({"transform": None}, "Food101 has no transform, so its images are no tensors"),
        ({"_labels": ["cat"] * 40}, "Food101 has labels that are no whole numbers"),
    ],
    ids=["loader", "target_transform", "transform", "labels"],
)
def test_reasons_of_file_data_sets(folder, change, reason):
    paths, labels = map(list, zip(*files(folder), strict=True))
    held = {"_image_files": paths, "_labels": labels, "loader": datasets.folder.default_loader}
    data = made("Food101", **held | change)
    assert fastload.lowering.lower(data)[1] == [reason]


def test_targets_that_are_no_classes(folder):
    paths, labels = map(list, zip(*files(folder), strict=True))
    joint = datasets.vision.StandardTransform(EVAL, None)
    pets = made(
        "OxfordIIITPet",
        _images=paths,
        _labels=labels,
        _target_types=["category", "segmentation"],
        transforms=joint,
        classes=[],
    )
    text = "OxfordIIITPet has target_types ['category', 'segmentation'], which are no class numbers"
    assert fastload.lowering.lower(pets)[1] == [text]
    pets.transforms = lambda image, target: (image, target)
    assert (
        "OxfordIIITPet has transforms of image and target (" in fastload.lowering.lower(pets)[1][0]
    )


@pytest.mark.parametrize("gone", ["data", "targets", "transform", "target_transform"])
def test_attributes_that_are_not_there_are_a_reason(gone):
    data = cifar()
    del data.__dict__[gone]
    assert (
        "CIFAR10 is not as fastload knows it (AttributeError: 'CIFAR10' object has no attribute "
        in reasons(data)[0]
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"data": np.zeros((20, 32, 32, 3))}, "CIFAR10 has data of float64 [20, 32, 32, 3]"),
        ({"data": np.zeros((20, 32, 32), np.uint8)}, "CIFAR10 has data of uint8 [20, 32, 32]"),
        ({"data": np.zeros((20, 0, 32, 3), np.uint8)}, "CIFAR10 has data of uint8 [20, 0, 32, 3]"),
        ({"targets": [0.5] * 20}, "CIFAR10 has labels that are no whole numbers"),
        ({"targets": [1] * 3}, "CIFAR10 has no label for each image"),
    ],
    ids=["floats", "grey", "no rows", "labels", "few labels"],
)
def test_arrays_of_another_kind_are_a_reason(change, reason):
    assert reasons(cifar(**change)) == [reason]
    assert (
        fastload.DataLoader(cifar(), 5)
        .explain()
        .endswith("seek index: none, the images are pixels in memory")
    )


def test_wrapped_data_sets_are_not_taken(folder):
    wrapped = datasets.wrap_dataset_for_transforms_v2(datasets.ImageFolder(folder, EVAL))
    assert "WrappedImageFolder is not one that fastload reads" in reasons(wrapped)[0]
