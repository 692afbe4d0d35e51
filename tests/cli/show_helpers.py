"""What the tests of show and replay share."""

from dataclasses import replace

import numpy as np

import fastload
from fastload import recipes
from fastload import transforms as T

NUMBERS = (T.ToDtype, T.Normalize)  # without them a recipe gives uint8


def unmixed(recipe: str) -> recipes.Recipe:
    found = recipes.load(recipe)
    return replace(found, training=replace(found.training, mixup=None))


def unnormalised(
    folder: str, recipe: recipes.Recipe, epoch: int, seed: int, batch_size: int
) -> list[list[np.ndarray]]:
    """The epoch's batches as pixels [H, W, 3] of each image, from a loader that does not
    normalise.
    """
    ops = [op for op in recipe.ops() if not isinstance(op, NUMBERS)]
    loader = fastload.DataLoader(
        fastload.open(folder, ops), batch_size, shuffle=True, seed=seed, mix=recipe.mix()
    )
    loader.set_epoch(epoch)
    return [list(images.permute(0, 2, 3, 1).numpy()) for images, _ in loader]
