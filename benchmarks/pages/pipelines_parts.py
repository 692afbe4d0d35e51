"""What the tables of public pipelines are made of: torchvision's and timm's classes with the
numbers of public scripts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from timm.data import create_transform
from torchvision import transforms as T
from torchvision.transforms import v2

from benchmarks.pages import pipelines_user as user

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR_MEAN, CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
BICUBIC, BILINEAR = T.InterpolationMode.BICUBIC, T.InterpolationMode.BILINEAR
TIMM = "huggingface/pytorch-image-models"


@dataclass(frozen=True)
class Pipeline:
    name: str
    source: str
    size: int  # px of the recipe
    make: Callable[[int], Any]  # the transform for a size
    data: str = "ImageFolder"  # of `benchmarks.pages.pipelines.DATA`
    reason: str = ""  # why it is not run natively


def floats(*before: Any, mean: Any = MEAN, std: Any = STD) -> T.Compose:
    return T.Compose([*before, T.ToTensor(), T.Normalize(mean, std)])


def reference(size: int, *policy: Any, erase: float = 0.0) -> T.Compose:
    """torchvision's references/classification: presets.py."""
    last = [T.PILToTensor(), T.ConvertImageDtype(torch.float), T.Normalize(mean=MEAN, std=STD)]
    erasing = [T.RandomErasing(p=erase)] if erase else []
    return T.Compose(
        [
            T.RandomResizedCrop(size, interpolation=BILINEAR),
            T.RandomHorizontalFlip(0.5),
            *policy,
            *last,
            *erasing,
        ]
    )


def second_api(size: int) -> v2.Compose:
    crop = [
        v2.RandomResizedCrop(size, interpolation=BILINEAR, antialias=True),
        v2.RandomHorizontalFlip(0.5),
    ]
    policy = v2.TrivialAugmentWide(interpolation=BILINEAR)
    last = [v2.PILToTensor(), v2.ToDtype(torch.float, scale=True), v2.Normalize(mean=MEAN, std=STD)]
    return v2.Compose([*crop, policy, *last, v2.RandomErasing(p=0.1), v2.ToPureTensor()])


def evaluation(size: int, resized: int, of: int = 224, **options: Any) -> T.Compose:
    return floats(T.Resize(round(size * resized / of), **options), T.CenterCrop(size))


def timm(size: int, **options: Any) -> Any:
    return create_transform(size, **{"is_training": True, "mean": MEAN, "std": STD} | options)


def jitter(*strength: float) -> T.RandomApply:
    return T.RandomApply([T.ColorJitter(*strength)], p=0.8)


def blur(size: int, p: float) -> T.RandomApply:
    """A kernel of a tenth of the image."""
    return T.RandomApply([T.GaussianBlur(size // 20 * 2 + 1, sigma=(0.1, 2.0))], p=p)


def simclr(size: int) -> T.Compose:
    crop = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    return T.Compose(
        [*crop, jitter(0.8, 0.8, 0.8, 0.2), T.RandomGrayscale(p=0.2), blur(size, 0.5), T.ToTensor()]
    )


def byol(size: int, blurred: float, solarized: float) -> T.Compose:
    crop = [T.RandomResizedCrop(size, interpolation=BICUBIC), T.RandomHorizontalFlip()]
    colour = [
        jitter(0.4, 0.4, 0.2, 0.1),
        T.RandomGrayscale(p=0.2),
        blur(size, blurred),
        T.RandomSolarize(128, p=solarized),
    ]
    return floats(*crop, *colour)


def moco(size: int) -> Any:
    colour = [
        jitter(0.4, 0.4, 0.4, 0.1),
        T.RandomGrayscale(p=0.2),
        T.RandomApply([user.PILBlur(0.1, 2.0)], p=0.5),
    ]
    return user.TwoViews(
        floats(T.RandomResizedCrop(size, scale=(0.2, 1.0)), *colour, T.RandomHorizontalFlip())
    )


def dino(size: int) -> Any:
    colour = [
        T.RandomHorizontalFlip(p=0.5),
        jitter(0.4, 0.4, 0.2, 0.1),
        T.RandomGrayscale(p=0.2),
        user.PILBlur(0.1, 2.0),
    ]
    large = floats(T.RandomResizedCrop(size, scale=(0.4, 1.0), interpolation=BICUBIC), *colour)
    small = floats(
        T.RandomResizedCrop(size * 96 // 224, scale=(0.05, 0.4), interpolation=BICUBIC), *colour
    )
    return user.MultiCrop([large, large, *[small] * 8])


def cifar(size: int, *policy: Any, last: tuple[Any, ...] = (), **crop: Any) -> T.Compose:
    normalised = [T.ToTensor(), T.Normalize(CIFAR_MEAN, CIFAR_STD)]
    return T.Compose(
        [
            T.RandomCrop(size, padding=size // 8, **crop),
            T.RandomHorizontalFlip(),
            *policy,
            *normalised,
            *last,
        ]
    )


def fixmatch(size: int) -> Any:
    weak = [T.RandomHorizontalFlip(), T.RandomCrop(size, padding=size // 8, padding_mode="reflect")]
    return user.WeakAndStrong(
        T.Compose(weak),
        T.Compose([*weak, T.RandAugment(2, 10)]),
        floats(mean=CIFAR_MEAN, std=CIFAR_STD),
    )


def deit3(size: int) -> T.Compose:
    one_of = T.RandomChoice([T.Grayscale(3), user.Solarization(), user.PILBlur(0.1, 2.0)])
    return floats(
        T.RandomResizedCrop(size, interpolation=BICUBIC),
        T.RandomHorizontalFlip(),
        one_of,
        T.ColorJitter(0.3, 0.3, 0.3),
    )
