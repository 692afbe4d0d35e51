"""Buckets: the sizes that batches may have, and which of them each image goes to."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastload.spec import Array, Floats, Ints, Longs
from fastload.transforms.base import MAX_SIDE

Shape = tuple[int, int]  # height, width, px


def shapes(pixels: int, step: int, max_aspect: float, slack: float) -> tuple[Shape, ...]:
    """Every (height, width) of multiples of `step` px with up to `pixels` px, no more than the
    share `slack` smaller, of at most `max_aspect` to 1; of equal aspects the largest.

    With 1024 * 1024 px, 64, 4 and 0.1 these are SDXL's (Podell et al. 2023, arXiv:2307.01952,
    appendix I).
    """
    most = min(MAX_SIDE, int((pixels * max_aspect) ** 0.5)) // step
    found: dict[float, Shape] = {}
    for height in range(step, most * step + 1, step):
        least = max(1, int((1 - slack) * pixels / height) // step) * step
        for width in range(least, min(most * step, pixels // height) + 1, step):
            near = height * width >= (1 - slack) * pixels
            if near and max(height, width) <= max_aspect * min(height, width):
                found[width / height] = (height, width)  # the last one is the largest
    return tuple(found[aspect] for aspect in sorted(found))


def assigned(sizes: Ints, buckets: Sequence[Shape]) -> Array:
    """int16 [N]: which bucket each image goes to, whose sizes are int32 [N, 2], px.

    The one with the nearest ratio of width and height, by its logarithm. Of several with that ratio
    the largest that does not enlarge the image, else the smallest. An image of unknown size (0, 0)
    goes where square ones go.
    """
    aspects = np.log([width / height for height, width in buckets])
    alike, group = np.unique(aspects.round(9), return_inverse=True)
    known = np.maximum(sizes, 1)
    wanted: Floats = np.log(known[:, 1] / known[:, 0])
    nearest = np.searchsorted((alike[1:] + alike[:-1]) / 2, wanted)
    out = np.zeros(len(sizes), np.int16)
    for number in range(len(alike)):
        members = sorted(np.flatnonzero(group == number).tolist(), key=lambda n: buckets[n])
        mine = nearest == number
        out[mine] = members[0]
        for bucket in members[1:]:
            out[mine & (sizes >= buckets[bucket]).all(axis=1)] = bucket
    return out


def cut_shares(sizes: Ints, bucket: Array, buckets: Sequence[Shape]) -> Floats:
    """float64 [N]: the share of each image that lies outside of a crop of its bucket's aspect."""
    known = np.maximum(sizes, 1)
    shape = np.array(buckets, np.float64)[bucket]
    ratio = (known[:, 1] / known[:, 0]) / (shape[:, 1] / shape[:, 0])
    out: Floats = 1 - np.minimum(ratio, 1 / ratio)
    return out


def merged(bucket: Array, least: Longs, buckets: Sequence[Shape]) -> Array:
    """int16 [N]: the same without buckets that have fewer images than `least` [K], which go to the
    one that is nearest in aspect and has as many. If there is none, all go to the largest one.
    """
    count = np.bincount(bucket, minlength=len(buckets))
    stays = count >= least
    if not stays.any():
        stays[count.argmax()] = True
    aspects = np.log([width / height for height, width in buckets])
    open_ = np.flatnonzero(stays)
    distance = np.abs(aspects[:, None] - aspects[open_][None])
    goes = np.where(stays, np.arange(len(buckets)), open_[distance.argmin(axis=1)])
    out: Array = goes.astype(np.int16)[bucket]
    return out


def shape_problems(buckets: Iterable[Any], most: int) -> list[str]:
    """What is wrong with buckets that were given; `most` of them are allowed."""
    given = list(buckets)
    if not 1 <= len(given) <= most:
        return [f"buckets has {len(given)} sizes, want 1 to {most}"]
    wrong = [one for one in given if not _is_shape(one)]
    if wrong:
        return [f"bucket is {wrong[0]!r}, want (height, width), each 1 to {MAX_SIDE} px"]
    return (
        []
        if len({str(tuple(one)) for one in given}) == len(given)
        else ["buckets has a size twice"]
    )


def _is_shape(one: object) -> bool:
    return (
        isinstance(one, (tuple, list))
        and len(one) == 2
        and all(type(px) is int and 1 <= px <= MAX_SIDE for px in one)
    )
