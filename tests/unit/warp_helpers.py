"""Draws that the tests of warps and erasing share."""

import numpy as np
from hypothesis import strategies as st

from fastload.spec import Spec

COUNT = 100_000
SIDE = st.integers(1, 400)


def drawn(op, height, width, count=COUNT, seed=0, spec=Spec()):  # noqa: B008  # frozen
    u = np.random.default_rng(seed).random((count, op.draws(spec)))
    return op.params(u, np.tile(np.array([[height, width]], np.int32), (count, 1)))
