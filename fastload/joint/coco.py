"""What pycocotools takes on trust in an annotation file, checked before it takes memory for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastload.system import limits

# px along a polygon's edges; pycocotools keeps 5 points for each, and ends the process where there
# is no memory. Real outlines have some thousands.
LONGEST = 1 << 22
MOST_DIGITS = 7  # of a compressed count, which has 32 bits


def check_masks(annotations: Sequence[dict[str, Any]], size: tuple[int, int]) -> None:
    """Raises ValueError for an outline that no image of this height and width, px, has, and for
    masks that take too much memory together.

    Outlines of another form are left to pycocotools, which says what it wants.
    """
    if problem := limits.too_many(len(annotations) * size[0] * size[1], limits.MASKS):
        raise ValueError(f"its masks are too large ({problem})")
    for number, one in enumerate(annotations):
        outline = one.get("segmentation")
        for part in outline if isinstance(outline, list) else [outline]:
            if isinstance(part, dict):
                _check_rle(number, part, size)
            elif isinstance(part, list):
                _check_polygon(number, part)


def _check_rle(number: int, rle: dict[str, Any], size: tuple[int, int]) -> None:
    """pycocotools takes memory for the size that an RLE says, and leaves it as it is where the
    counts end before that.
    """
    said = rle.get("size")
    if not (isinstance(said, list) and len(said) == 2 and all(type(one) is int for one in said)):
        raise ValueError(f"the RLE of object {number} has no height and width")
    if said != list(size):
        raise ValueError(
            f"the RLE of object {number} has {said[0]}x{said[1]} px (want {size[0]}x{size[1]})"
        )
    covered = _covered(rle.get("counts"))
    if covered is not None and covered != size[0] * size[1]:
        what = "are damaged" if covered < 0 else f"cover {covered} px"
        raise ValueError(f"the counts of object {number} {what} (want {size[0] * size[1]} px)")


def _covered(counts: Any) -> int | None:
    """How many px the counts of an RLE are in all; None for what pycocotools refuses."""
    try:
        if isinstance(counts, str):
            return _sum_of_text(counts.encode("utf-8", "surrogatepass"))
        return int(np.array(counts, np.uint32).sum(dtype=np.uint64))
    except (ValueError, TypeError, OverflowError):
        return None


def _sum_of_text(text: bytes) -> int:
    """Of pycocotools' compressed counts: digits of 5 bits, the lowest first, a sixth bit where more
    follow; from the fourth on a count is the difference from the last but one. -1: these are
    damaged.
    """
    digits = np.frombuffer(text, np.uint8).astype(np.int64) - ord("0")
    first = np.flatnonzero(np.concatenate([[True], (digits[:-1] & 32) == 0]))
    if not text or digits[-1] & 32 or (digits < 0).any() or (digits > 63).any():
        return -1
    lengths = np.diff(first, append=len(digits))
    if lengths.max() > MOST_DIGITS:
        return -1
    place = np.arange(len(digits)) - np.repeat(first, lengths)
    values = np.add.reduceat((digits & 31) << 5 * place, first)
    last = digits[first + lengths - 1]
    values -= np.where(last & 16, 1 << 5 * lengths, 0)
    runs = [values[:1], np.cumsum(values[1::2]), np.cumsum(values[2::2])]
    return -1 if any((run < 0).any() for run in runs) else int(sum(run.sum() for run in runs))


def _check_polygon(number: int, polygon: list[Any]) -> None:
    try:
        values = np.array(polygon, np.float64).ravel()
    except (ValueError, TypeError):
        return
    points = values[: len(values) // 2 * 2].reshape(-1, 2)  # an odd number is left out there, too
    with np.errstate(all="ignore"):
        around = np.abs(points - np.roll(points, 1, axis=0)).max(axis=1, initial=0).sum()
        if len(values) == 4:  # pycocotools takes it for left, top, width and height
            around = max(around, 2 * np.abs(values[2:]).sum())
    if not (np.isfinite(values).all() and around <= LONGEST):
        raise ValueError(
            f"the polygon of object {number} is {around:g} px long (want {LONGEST} at most)"
        )
