"""Grids of patches: how many each image has, high and wide, and which images share a row length."""

import numpy as np

from fastload.spec import Array, Bools, Floats, Ints, Longs
from fastload.transforms.base import MAX_SIDE

# timm's search for the scale of an image: between these, until it is known to EPSILON.
EPSILON = 1e-5
LEAST, MOST = EPSILON / 10, 100.0
HALVINGS = 24  # of the range: then it is smaller than EPSILON
SQUARE = 1024  # px, in place of an unknown side


def grids(sizes: Ints, patch: int, length: int, enlarge: float | None = None) -> Ints:
    """int32 [N, 2]: patches high and wide of images of `sizes` int32 [N, 2], px.

    The image is scaled as far as its patches, begun ones too, are `length` at most; and `enlarge`
    times at most. So its aspect changes by less than a patch. An image of unknown size (0, 0) is
    taken for a square. The same numbers as timm's `get_image_size_for_seq`.

    Source: Dehghani et al. 2023, arXiv:2307.06304 (NaViT); Beyer et al. 2023, arXiv:2212.08013.
    """
    keys = sizes[:, 0].astype(np.int64) << 32 | sizes[:, 1]
    unique, inverse = np.unique(keys, return_inverse=True)
    sides: Floats = np.stack([unique >> 32, unique & 0xFFFFFFFF], axis=1).astype(np.float64)
    sides[(sides < 1).any(axis=1)] = SQUARE
    low, high = np.full(len(sides), LEAST), np.full(len(sides), MOST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        fits: Bools = _grid(sides, middle, patch).prod(axis=1) <= length
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    while (much := _grid(sides, low, patch).prod(axis=1) > length).any():
        low[much] /= 2.0  # sides of millions of px, as a header may claim them
    if enlarge is not None:
        low = np.minimum(low, enlarge)
    grid = np.minimum(_grid(sides, low, patch), MAX_SIDE // patch).astype(np.int32)
    out: Ints = grid[inverse.reshape(-1)]
    return out


def _grid(sides: Floats, scale: Floats, patch: int) -> Floats:
    out: Floats = np.maximum(np.ceil(sides * scale[:, None] / patch), 1.0)
    return out


def rows(tokens: Longs, padding: float) -> Longs:
    """int64 [K], ascending: lengths of rows, so that each image's tokens fit into one of which they
    leave at most the share `padding` free.

    tokens: int64 [N], of each image.
    """
    found: list[int] = []
    for count in np.unique(tokens)[::-1].tolist():
        if not found or count < found[-1] * (1 - padding):
            found.append(count)
    return np.array(found[::-1], np.int64)


def row_of(tokens: Longs, lengths: Longs) -> Array:
    """int16 [N]: the first of these lengths that has room for each image's tokens."""
    return np.searchsorted(lengths, tokens).astype(np.int16)
