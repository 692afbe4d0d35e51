"""Data sets of torchvision, timm and torch: the same samples in the same order and pixels, or a
reason.
"""

import pickle

import numpy as np
import pytest
import torch
import torch.utils.data as torch_data
from timm.data.dataset import ImageDataset
from torch.utils.data import ConcatDataset, Subset, random_split
from torchvision import datasets
from torchvision.transforms import v2

import fastload
from fastload import sources

from .dataset_helpers import EVAL, cifar, files, made, reasons
from .test_dataset_reasons import MyDataset

# timm, and some of torchvision, leave closing files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
KNOWN = "backend native, 2 threads, device cpu"


def same_batches(data, shuffle_by=None):
    """Batches of PyTorch's loader and of fastload's, which must run natively."""
    mine, theirs = (
        {}
        if shuffle_by is None
        else {"shuffle": True, "generator": torch.Generator().manual_seed(shuffle_by)}
        for _ in range(2)
    )
    ours = fastload.DataLoader(data, 7, num_workers=2, **mine)
    assert ours.explain().splitlines()[0] == KNOWN, ours.explain()
    batches = 0
    for (images, labels), (want, want_labels) in zip(
        ours, torch_data.DataLoader(data, 7, **theirs), strict=True
    ):
        assert images.dtype == want.dtype
        assert torch.equal(images, want)
        assert labels.dtype == want_labels.dtype
        assert torch.equal(labels, want_labels)
        batches += 1
    assert batches == len(ours)


def by_files(folder):
    """A data set of each class of torchvision that reads files, over the same images."""
    pairs, loader = files(folder), datasets.folder.default_loader
    paths, labels = map(list, zip(*pairs, strict=True))
    joint = datasets.vision.StandardTransform(EVAL, None)
    yield datasets.DatasetFolder(folder, loader, (".jpg",), EVAL)
    yield from (
        made(kind, samples=pairs, loader=loader)
        for kind in ("ImageNet", "EuroSAT", "Country211")
        if kind != "ImageNet"
    )
    yield made(
        "ImageNet", samples=pairs, loader=loader, split="train", classes=[("a", "b"), ("c",)]
    )
    yield from (
        made(kind, _samples=pairs, loader=loader)
        for kind in ("Imagenette", "RenderedSST2", "StanfordCars")
    )
    yield made("GTSRB", _samples=pairs)
    for kind in ("DTD", "FGVCAircraft", "Flowers102", "Food101", "SUN397"):
        yield made(kind, _image_files=paths, _labels=labels, loader=loader)
    yield made(
        "OxfordIIITPet",
        _images=paths,
        _labels=labels,
        _target_types=["category"],
        transforms=joint,
        transform=None,
        classes=[],
    )
    yield made("Places365", imgs=pairs, loader=loader, transforms=joint, transform=None)
    yield ImageDataset(folder, transform=EVAL)


def test_every_class_that_reads_files(folder):
    kinds = []
    for data in by_files(folder):
        same_batches(data)
        kinds.append(type(data).__name__)
    assert len(set(kinds)) == 16


@pytest.mark.parametrize("kind", ["CIFAR10", "CIFAR100"])
def test_cifar_is_read_from_memory(kind):
    same_batches(cifar(kind), shuffle_by=3)
    same_batches(Subset(cifar(kind), [5, 3, 3, -1]))


def test_other_arrays():
    images = np.random.default_rng(0).integers(0, 256, (9, 3, 20, 24), np.uint8)
    for kind in ("STL10", "SVHN"):
        same_batches(made(kind, data=images, labels=np.arange(9) % 4))
    grey = torch.from_numpy(images[:, 0])
    rgb_first, grey_last = (
        [v2.RGB(), EVAL, v2.RandomPosterize(3, 1.0)],
        [v2.Resize((9, 14)), v2.Grayscale(3), v2.ToImage()],
    )
    rgb_first = [v2.RGB(), v2.Resize((9, 14)), v2.RandomPosterize(3, 1.0), v2.ToImage()]
    for kind in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST"):
        for chain in (rgb_first, grey_last):
            same_batches(
                made(kind, data=grey, targets=torch.arange(9), transform=v2.Compose(chain))
            )
    same_batches(
        made("USPS", data=grey.numpy(), targets=list(range(9)), transform=v2.Compose(grey_last))
    )


def test_training_on_cifar_gives_the_references_pixels():
    crop = [
        v2.RandomCrop(32, 4),
        v2.RandomHorizontalFlip(),
        v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10),
    ]
    chain = v2.Compose([*crop, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    data = cifar(transform=chain)
    native, reference = (
        fastload.DataLoader(data, 6, seed=2, backend=backend) for backend in ("native", "torch")
    )
    for (images, _), (want, _) in zip(native, reference, strict=True):
        assert torch.equal(images, want)


def test_grey_images_that_stay_grey():
    pixels = torch.arange(3 * 20 * 24).reshape(3, 20, 24).to(torch.uint8)
    data = made("MNIST", data=pixels, targets=torch.arange(3))
    same_batches(data)
    data.transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    same_batches(data)
    data.transform = v2.Compose([v2.RandomInvert(), v2.ToImage()])
    text = (
        "MNIST has images of one channel, and the native engine stores three (add Grayscale(3) "
        "before other colour ops)"
    )
    assert reasons(data) == [text]
    data.transform = v2.Compose([v2.RandomInvert(), v2.Grayscale(3), v2.ToImage()])
    assert reasons(data) == [text]
    data.transform = v2.Compose([v2.Pad(3, 7), v2.Grayscale(3), v2.ToImage()])
    assert reasons(data) == [
        "MNIST has images of one channel, which CROP fills with another grey than three"
    ]


def test_labels_changed_in_place_are_noticed():
    data = cifar()
    loader = fastload.DataLoader(data, 20)
    assert next(iter(loader))[1].tolist() == data.targets
    data.targets[3] = 6
    data.data[0] = 9
    images, labels = next(iter(loader))
    assert labels.tolist() == data.targets
    assert (images[0] == 9).all()


def test_subsets_and_concatenations(folder):
    data = datasets.ImageFolder(folder, EVAL)
    for part in random_split(data, [0.3, 0.7], torch.Generator().manual_seed(1)):
        same_batches(part)
    same_batches(Subset(Subset(data, torch.arange(30)), np.array([4, -1, 4, 0])))
    both = ConcatDataset([data, Subset(data, [3, 1]), cifar()])
    same_batches(both, shuffle_by=1)
    same_batches(Subset(both, [0, -1, 41, 40, 39]))
    same_batches(ConcatDataset([fastload.open(folder, EVAL), data]))
    assert reasons(Subset(data, [0, 40])) == [
        "Subset has indices from 0 to 40, but its data set has 40 samples"
    ]
    assert reasons(Subset(data, [0.5])) == ["Subset has indices that are no whole numbers"]
    other = datasets.ImageFolder(
        folder, v2.Compose([v2.Resize((12, 15)), v2.RandomInvert(), v2.ToImage()])
    )
    assert reasons(ConcatDataset([data, other])) == [
        "ConcatDataset has parts with different transforms"
    ]
    other.transform = None
    assert reasons(ConcatDataset([data, Subset(other, [1])])) == [
        "ImageFolder has no transform, so its images are no tensors"
    ]


def test_subsets_collect_the_seek_indexes_of_their_folder(folder, cache):
    data = datasets.ImageFolder(folder, EVAL)
    first, second = (Subset(data, half) for half in ([*range(20)], [*range(39, 19, -1)]))
    for part in (first, second):
        loader = fastload.DataLoader(part, 5)
        assert "seek index: 0 of 20 images; others are collected into" in loader.explain()
        want = [images for images, _ in loader]
        for epoch in range(2):
            for images, other in zip(loader, want, strict=True):
                assert torch.equal(images[0], other), epoch
        assert loader.decodes()["indexed"] == 40
        assert "seek index: 20 of 20 images" in loader.explain()
    assert fastload.DataLoader(data, 5).explain().endswith("seek index: 40 of 40 images")


def test_views_of_sources_can_be_sent_to_other_processes(folder):
    whole = sources.open_source(folder)
    parts = sources.Concat((sources.Subset(whole, np.array([3, 2, 3])), sources.Concat((whole,))))
    assert len(parts.files) == 80
    copy = pickle.loads(pickle.dumps(parts))
    assert [copy.name(n) for n in range(43)] == [parts.name(n) for n in range(43)]
    assert (
        sources.read(copy, 1)
        == sources.read(parts, 1)
        == sources.read(sources.open_source(folder), 2)
    )
    assert copy.labels.tolist() == parts.labels.tolist()


def test_timms_data_set(folder, monkeypatch):
    same_batches(ImageDataset(folder, transform=EVAL))
    assert (
        "MyDataset is not one that fastload can follow"
        in reasons(MyDataset(folder, transform=EVAL))[0]
    )
    data = ImageDataset(folder, transform=EVAL, input_img_mode="L")
    assert reasons(data) == ["ImageDataset has input_img_mode 'L', want 'RGB'"]
    data = ImageDataset(folder, transform=EVAL)
    data.reader.__class__ = type("Reader", (type(data.reader),), {})
    assert reasons(data) == [
        f"ImageDataset has reader {__name__}.Reader, want timm's ReaderImageFolder"
    ]
    monkeypatch.setattr(ImageDataset, "__getitem__", lambda *_: 3)
    assert reasons(ImageDataset(folder, transform=EVAL)) == [
        "timm.data.dataset.ImageDataset has its own __getitem__"
    ]
