"""Seconds per image of a training step that cannot be run here."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fastload.errors import UsageError
from fastload.forecast.bands import Band, Range, exactly
from fastload.recipes import Recipe
from fastload.recipes.parse import read_toml
from fastload.recipes.rates import Rate

PATH = os.path.join(os.path.dirname(__file__), "assumed.toml")
FULL = 224  # px at which rates by name are given
MODEL = "resnet50"  # whose rates they are


@dataclass(frozen=True)
class Gpu:
    """One GPU's rate at `at` px; said: where it comes from."""

    images_per_s: Range
    at: int
    said: str


def named(rate: Rate, recipe: Recipe) -> Gpu:
    """A GPU of the table. Raises UsageError for another network than the table's."""
    if recipe.training.model != MODEL:
        raise UsageError(
            f"plan: the rate of {rate.gpu} is of {MODEL} (recipe {recipe.name} trains "
            f"{recipe.training.model}); give its own with --step-rate"
        )
    speed = Range(rate.images_per_s, rate.low, rate.high)
    return Gpu(speed, FULL, f"{rate.describe()} ({rate.source}){_longer(recipe)}")


def given(images_per_s: float, recipe: Recipe) -> Gpu:
    """A GPU whose rate at the recipe's full size the user gave."""
    full = recipe.spec().width or max(recipe.sizes())
    return Gpu(
        exactly(images_per_s),
        full,
        f"{images_per_s:,.0f} images/s of one GPU at {full} px, as given{_longer(recipe)}",
    )


def per_image(gpu: Gpu, sizes: Sequence[int], gpus: int, recipe: Recipe) -> Band:
    """Seconds per image of all GPUs together, epoch by epoch."""
    area = (np.array(sizes, np.float64) / gpu.at) ** 2
    speed, together, extra = gpu.images_per_s, several(gpus), sam(recipe)
    shares = [fixed + (1 - fixed) * area for fixed in _fixed()]
    return Band(
        extra * shares[1] / (speed.value * together.value),
        extra * np.minimum(shares[0], shares[2]) / (speed.high * together.high),
        extra * np.maximum(shares[0], shares[2]) / (speed.low * together.low),
    )


def sam(recipe: Recipe) -> float:
    """Gradients per step: SAM takes two of them every few steps."""
    return 1 + 1 / recipe.training.sam.interval if recipe.training.sam else 1.0


def _longer(recipe: Recipe) -> str:
    """That SAM's second gradients are counted, which the rate does not have."""
    return f"; SAM makes its steps {sam(recipe):g} times as long" if recipe.training.sam else ""


def several(gpus: int) -> Range:
    """How many times one GPU's rate so many give."""
    if gpus == 1:
        return exactly(1.0)
    table = _assumed()["gpus"]
    return Range(gpus * table["share"], gpus * table["low"], gpus * table["high"])


def most_gpus() -> int:
    """Beyond so many no source says how they scale."""
    return int(_assumed()["gpus"]["most"])


def _fixed() -> tuple[float, float, float]:
    table = _assumed()["size"]
    return float(table["low"]), float(table["fixed"]), float(table["high"])


@cache
def _assumed() -> dict[str, Any]:
    return read_toml(PATH)
