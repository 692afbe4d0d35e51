"""Ops by stage, under torchvision v2's names and defaults."""

from fastload.transforms.base import Op, Params
from fastload.transforms.colout import ColOut
from fastload.transforms.geometry import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from fastload.transforms.output import ConvertImageDtype, Normalize, PILToTensor, ToDtype, ToImage, ToTensor
from fastload.transforms.policies import RandAugment, TrivialAugmentWide

__all__ = [
    "CenterCrop",
    "ColOut",
    "ConvertImageDtype",
    "Normalize",
    "Op",
    "PILToTensor",
    "Params",
    "RandAugment",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToDtype",
    "ToImage",
    "ToTensor",
    "TrivialAugmentWide",
]
