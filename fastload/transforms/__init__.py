"""Ops by stage, under torchvision v2's names and defaults."""

from typing import TYPE_CHECKING, NoReturn

from fastload.errors import unknown_name
from fastload.transforms.augmix import AugMix
from fastload.transforms.autoaugment import AutoAugment
from fastload.transforms.base import Op, Params
from fastload.transforms.blur import GaussianBlur
from fastload.transforms.choose import RandomApply, RandomChoice, RandomOrder
from fastload.transforms.color import ColorJitter, Grayscale, RandomGrayscale
from fastload.transforms.colout import ColOut
from fastload.transforms.compose import Compose
from fastload.transforms.erasing import RandomErasing
from fastload.transforms.flips import RandomHorizontalFlip, RandomVerticalFlip
from fastload.transforms.functions import custom
from fastload.transforms.geometry import CenterCrop, RandomResizedCrop, Resize
from fastload.transforms.lookup import (
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from fastload.transforms.mix import CutMix, LabelSmoothing, MixUp
from fastload.transforms.mixing import Mix
from fastload.transforms.output import (
    ConvertImageDtype,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToTensor,
)
from fastload.transforms.padding import Pad, RandomCrop
from fastload.transforms.policies import RandAugment, TrivialAugmentWide
from fastload.transforms.views import Views
from fastload.transforms.warp import RandomAffine, RandomPerspective, RandomRotation

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColOut",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "GaussianBlur",
    "Grayscale",
    "LabelSmoothing",
    "Mix",
    "MixUp",
    "Normalize",
    "Op",
    "PILToTensor",
    "Pad",
    "Params",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToImage",
    "ToTensor",
    "TrivialAugmentWide",
    "Views",
    "custom",
]


if not TYPE_CHECKING:  # else type checkers would take every name

    def __getattr__(name: str) -> NoReturn:
        raise unknown_name(__name__, name, __all__)


def __dir__() -> list[str]:
    return list(__all__)  # not the modules that the ops come from
