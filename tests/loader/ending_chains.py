"""Transforms with steps of the user's own; how a loader's batches are compared with PyTorch's."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.transforms import v2

import fastload
from tests.image.helpers import jpeg

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Own:
    """A step of the user's own, which draws from torch's generator."""

    def __call__(self, image):
        return image.point(lambda value: value // 2) if torch.rand(()) < 0.5 else image


class Arrays:
    """As Albumentations is called: arrays in, arrays out."""

    def __call__(self, image):
        pixels = np.array(image)
        return np.ascontiguousarray(pixels[:, ::-1]) if pixels.sum() % 2 else pixels


class Tensors:
    """A step on tensors."""

    def __call__(self, image):
        return image + torch.rand(()) if image.sum().long() % 2 else image


HEAD = [transforms.RandomResizedCrop((40, 56)), transforms.RandomHorizontalFlip()]
END = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
V2 = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
NAMES = ("ToTensor", "Normalize")
CHAINS = {
    "end": ([*HEAD, Own(), *END], NAMES),
    "middle": ([HEAD[0], Own(), HEAD[1], *END], NAMES),
    "first": ([Own(), *HEAD, *END], NAMES),
    "arrays": ([*HEAD, Arrays(), *END], NAMES),
    "tensors": ([*HEAD, *END, Tensors()], NAMES),
    "erasing": ([*HEAD, Own(), *END, transforms.RandomErasing(0.5)], NAMES),
    "lambda": ([*HEAD, transforms.Lambda(Own().__call__), *END], NAMES),
    "no Normalize": ([*HEAD, Own(), transforms.ToTensor()], NAMES[:1]),
    "to float": (
        [*HEAD, Own(), transforms.PILToTensor(), transforms.ConvertImageDtype(torch.float32)],
        ("PILToTensor", "ConvertImageDtype"),
    ),
    "grey": ([*HEAD, Own(), transforms.Grayscale(3), *END], NAMES),
}

# That workers run what the tests' own process runs does not depend on the chain: some say it in
# the suite, the others in the long set.
IN_WORKERS = ("end", "arrays", "erasing")
CASES = [(name, 0) for name in CHAINS] + [
    pytest.param(name, 2, marks=() if name in IN_WORKERS else pytest.mark.long) for name in CHAINS
]


def chain(name):
    steps, _ = CHAINS[name]
    return transforms.Compose(steps)


class Rgb:
    def __call__(self, image):
        image.getpixel((0, 0))
        return image.convert("RGB")


def images(tmp_path):
    """A folder of two classes, of JPEGs of many sizes and a PNG."""
    for number in range(11):
        path = tmp_path / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg(150 - 6 * number, 90 + 5 * number))
    Image.open(io.BytesIO(jpeg(100, 80))).save(tmp_path / "a" / "grey.png")
    return tmp_path


def batches(loader):
    torch.manual_seed(5)
    return list(loader)


def check(data, **options):
    """The batches of both loaders are the same, in every way that a program can see."""
    options = {"batch_size": 4, "shuffle": True, **options}
    ours = batches(fastload.DataLoader(data, **options))
    options.pop("multiprocessing_context", None)  # forks are the fastest to begin
    theirs = batches(DataLoader(data, **options))
    assert len(ours) == len(theirs)
    for batch, want in zip(ours, theirs, strict=True):
        assert type(batch) is type(want)
        for one, other in zip(batch, want, strict=True):
            assert type(one) is type(other)
            assert (one.dtype, one.shape, one.stride()) == (
                other.dtype,
                other.shape,
                other.stride(),
            )
            assert torch.equal(one, other)
    return ours
