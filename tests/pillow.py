"""How the installed Pillow rounds. Builds for Arm round a product and a sum together, once (fused
multiply-add); those for x86-64 round twice, as fastload does on every machine.
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pytest
from PIL import Image


def _fuses() -> bool:
    """By Pillow's blend of all pairs of values."""
    first = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 256, axis=1)
    second, share = np.ascontiguousarray(first.T), np.float32(1.45)
    product = share * (second.astype(np.float32) - first.astype(np.float32))
    twice = np.clip(np.trunc(first.astype(np.float32) + product), 0, 255)
    got = Image.blend(Image.fromarray(first), Image.fromarray(second), float(share))
    return bool((np.asarray(got) != twice).any())


FUSES = _fuses()
# By how much a value differs from Pillow's, at most, after one op that blends or interpolates
LEVELS = 1 if FUSES else 0
rounds_twice = pytest.mark.skipif(
    FUSES,
    reason="this Pillow fuses products and sums, and later ops enlarge the differences; "
    "tests/kernels/test_digests.py compares with x86-64",
)


def where_chains(names: Iterable[str], chains: Collection[str]) -> list[Any]:
    """Of a parametrised test: those of `chains` want a Pillow that rounds twice."""
    return [pytest.param(one, marks=rounds_twice) if one in chains else one for one in names]
