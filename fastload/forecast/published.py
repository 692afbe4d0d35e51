"""What others published, from `published.toml`: accuracies, and runs to test the model by."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fastload import recipes
from fastload.forecast.bands import Band, exactly
from fastload.forecast.edges import Edges
from fastload.forecast.run import PERFECT, Run
from fastload.recipes import Recipe
from fastload.recipes.parse import read_toml

PATH = os.path.join(os.path.dirname(__file__), "published.toml")
IMAGENET = 1_281_167  # training images


@dataclass(frozen=True)
class Result:
    """A recipe's published accuracy after so many epochs."""

    recipe: str
    epochs: int
    top1: float  # 0..1, ImageNet's validation images
    source: str
    ramp: tuple[int, int] | None = None  # of FFCV's sizes: first and last epoch

    def loaded(self) -> Recipe:
        return lasting(recipes.load(self.recipe), self.epochs, self.ramp)


@dataclass(frozen=True)
class Timed:
    """A run whose rates and time are published."""

    name: str
    epochs: int
    minutes: float
    rates: dict[int, float]  # images/s by side in px; 0: at every size
    same: bool  # whether the rates are of the very machine, loader and recipe
    source: str
    differs: str
    recipe: str = ""
    ramp: tuple[int, int] | None = None
    evaluation: float = 0.0  # s after each epoch
    begin: float = 0.0  # s of the first epoch beyond the others

    def forecast(self) -> float:
        """Minutes, computed from the rates."""
        sizes = (0,) * self.epochs
        if 0 not in self.rates:
            sizes = lasting(recipes.load(self.recipe), self.epochs, self.ramp).size_per_epoch()
        seconds = np.array([1 / self.rates[size] for size in sizes])
        band, nothing = Band(seconds, seconds, seconds), np.zeros(len(sizes))
        free = Band(nothing, nothing, nothing)
        edges = Edges(exactly(self.evaluation))
        run = Run(sizes, IMAGENET, band, free, free, exactly(PERFECT), edges)
        return (run.total.value + self.begin) / 60

    @property
    def off(self) -> float:
        """The forecast's error, as a share of what was published."""
        return self.forecast() / self.minutes - 1


@dataclass(frozen=True)
class Published:
    results: tuple[Result, ...]
    timed: tuple[Timed, ...] = field(default=())

    def of(self, recipe: str) -> tuple[Result, ...]:
        return tuple(one for one in self.results if one.recipe == recipe)


def load() -> Published:
    table = read_toml(PATH)
    timed = [
        Timed(**_exact({**{key: one[key] for key in one if key != "runs"}, **run}))
        for one in table["timed"]
        for run in one["runs"]
    ]
    results = (Result(**_exact(one)) for one in table["result"])
    return Published(tuple(results), tuple(timed))


def _exact(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the file with the types of ours: TOML's keys are text."""
    if "ramp" in row:
        row = {**row, "ramp": tuple(row["ramp"])}
    if "rates" in row:
        row = {**row, "rates": {int(size): rate for size, rate in row["rates"].items()}}
    return row


def lasting(recipe: Recipe, epochs: int, ramp: tuple[int, int] | None = None) -> Recipe:
    """The recipe over another number of epochs: its size schedule is stretched.

    ramp: first and last epoch of FFCV's sizes; None: those of the recipe, stretched.
    """
    training = replace(recipe.training, epochs=epochs)
    if old := training.resolution_ramp:
        by = epochs / recipe.training.epochs
        start, end = ramp or (round(old.start * by), round(old.end * by))
        training = replace(training, resolution_ramp=replace(old, start=start, end=end))
    return replace(recipe, training=training)
