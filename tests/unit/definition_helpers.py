"""Draws and constants that the tests of other libraries' definitions share."""

import numpy as np

from fastload.spec import Spec

SIZE = np.array([[90, 60]], np.int32)  # height, width; px


def drawn(op, count, seed):
    """Records of `count` samples of SIZE."""
    return op.params(
        np.random.default_rng(seed).random((count, op.draws(Spec()))),
        np.repeat(SIZE, count, axis=0),
    ).records
