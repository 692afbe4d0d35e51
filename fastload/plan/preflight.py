"""What a loader may need at worst, told before the first batch: of memory, since a program that a
limit kills says nothing.
"""

import warnings
from typing import NamedTuple

from fastload import _native
from fastload.plan.plan import Plan
from fastload.system import machine

# Bytes per pixel of a progressive JPEG: two for each coefficient, a bit for each, and the pixels.
# Others need less
COEFFICIENTS = 10
MIB = 1 << 20


class Need(NamedTuple):
    """Bytes at worst."""

    slots: int  # batches under way, and two that the program has
    decoding: int  # the largest images in all threads; 0 where sizes are not known before decoding
    pixels: int  # of the largest image

    @property
    def total(self) -> int:
        return self.slots + self.decoding


def need(plan: Plan, threads: int, depth: int, batch: int) -> Need:
    """depth: batches under way; batch: samples of the largest."""
    pixels = most_pixels(plan.source)
    return Need(
        (depth + 2) * batch * sample_bytes(plan),
        decoding(threads, pixels, _native.claims_most()),
        pixels,
    )


def sample_bytes(plan: Plan) -> int:
    """Of a sample's images in a batch; 0 where their size is not known before decoding."""
    return sum(
        (picture.out.height or 0) * (picture.out.width or 0) * 3 * _width(picture.out.dtype)
        for picture in plan.pictures
    )


def decoding(threads: int, pixels: int, most: int) -> int:
    """Bytes for images of up to so many px in all threads: each has its share twice (what it takes
    unasked, and what it has kept), and what is beyond claims what they have in common.

    most: bytes that claims may add up to, if not one alone is larger.
    """
    each, threads = pixels * COEFFICIENTS, max(1, threads)
    return min(threads * each, threads * 2 * _native.SHARE + max(most, each))


def most_pixels(source: object) -> int:
    """Of the largest image, where the source knows it without reading: an index, or FFCV's rows;
    else 0.
    """
    known = getattr(source, "most_pixels", None)
    return int(known()) if known else 0


def limit() -> int:
    """Bytes that this process may use: the machine's, or what its control group allows."""
    return min(machine.memory_total(), machine.memory_limit() or machine.memory_total())


def check(plan: Plan, threads: int, depth: int, batch: int | None, most: int | None = None) -> None:
    """Warn of a loader that may need more than there is; most: bytes in place of `limit`."""
    needed, most = need(plan, threads, depth, batch or 1), most or limit()
    if needed.total <= most:
        return
    warnings.warn(
        f"{plan.source.where}: up to {needed.total // MIB:,} MiB may be needed (batches "
        f"{needed.slots // MIB:,}, the largest image of "
        f"{needed.pixels / 1e6:.0f} megapixels in {max(1, threads)} threads "
        f"{needed.decoding // MIB:,}), "
        f"and there are {most // MIB:,}; "
        "take fewer workers or smaller batches, or shrink the largest images",
        RuntimeWarning,
        stacklevel=5,
    )


def _width(dtype: str) -> int:
    return {"uint8": 1, "float16": 2, "bfloat16": 2}.get(dtype, 4)
