"""Small networks and batches for the tests of a recipe's step."""

from dataclasses import replace

import torch

from fastload import recipes
from fastload.recipes.step import TrainingStep

WHY = "is not installed (pip install 'fastload-torch[recipes]')"


def small(name: str, network: str | None = "test_resnet", **changes: object) -> TrainingStep:
    torch.manual_seed(0)
    recipe = recipes.load(name)
    recipe = replace(recipe, training=replace(recipe.training, **changes))
    return TrainingStep(
        recipe,
        classes=10,
        device="cpu",
        model=network,
        images=recipe.training.global_batch_size * 4,
    )
