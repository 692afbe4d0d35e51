"""What pycocotools takes on trust in an annotation file, checked before it takes memory for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastload.system import limits

# px along a polygon's edges; pycocotools keeps 5 points for each, and ends the process where there
# is no memory. Real outlines have some thousands.
LONGEST = 1 << 22


def check_masks(annotations: Sequence[dict[str, Any]], size: tuple[int, int]) -> None:
    """Raises ValueError for an outline that no image of this height and width, px, has.

    Nor for masks that take too much memory together. Outlines of another form are left to
    torchvision, which says what it wants.
    """
    if problem := limits.too_many(len(annotations) * size[0] * size[1], limits.MASKS):
        raise ValueError(f"its masks are too large ({problem})")
    for number, one in enumerate(annotations):
        outline = one.get("segmentation")
        if isinstance(outline, dict):
            _check_size(number, outline.get("size"), size)
        elif isinstance(outline, list):
            for polygon in outline:
                _check_polygon(number, polygon)


def _check_size(number: int, said: Any, size: tuple[int, int]) -> None:
    if not isinstance(said, list) or len(said) != 2 or not all(type(one) is int for one in said):
        return
    if min(said) < 0 or said[0] * said[1] > size[0] * size[1]:
        raise ValueError(
            f"the RLE of object {number} has {said[0]}x{said[1]} px (want {size[0]}x{size[1]})"
        )


def _check_polygon(number: int, polygon: Any) -> None:
    try:
        points = np.array(polygon, np.float64).reshape(-1, 2)
    except (ValueError, TypeError):
        return
    with np.errstate(all="ignore"):
        around = np.abs(points - np.roll(points, 1, axis=0)).max(axis=1, initial=0).sum()
    if not (np.isfinite(points).all() and around <= LONGEST):
        raise ValueError(
            f"the polygon of object {number} is {around:g} px long (want {LONGEST} at most)"
        )
