"""CROP by Pillow on an image that was decoded at 1/2, 1/4 or 1/8 of its size."""

from typing import Any

from PIL import Image

from fastload.backends.native import crop
from fastload.plan.plan import Plan
from fastload.spec import Stage
from fastload.transforms import pil


def cropped(plan: Plan, image: Image.Image, record: Any, filter: int | None) -> Image.Image:
    """CROP by one record of crop.fold on an image at 1/scale: its px that the box touches, resized
    from the box's place in them.

    filter: PIL's number, where each sample has its own.
    """
    (
        top,
        left,
        height,
        width,
        resized_height,
        resized_width,
        window_top,
        window_left,
        flip,
        scale,
    ) = (int(v) for v in record)
    x, y = left // scale, top // scale
    right, bottom = -(-(left + width) // scale), -(-(top + height) // scale)
    box = (
        left / scale - x,
        top / scale - y,
        (left + width) / scale - x,
        (top + height) / scale - y,
    )
    steps = plan.stage(Stage.CROP)
    resampling = (
        pil.RESAMPLING[crop.interpolation(steps)] if filter is None else Image.Resampling(filter)
    )
    resized = image.crop((x, y, right, bottom)).resize(
        (resized_width, resized_height), resampling, box
    )
    out_height, out_width = crop.final_size(plan.cropped)
    shown = resized.crop(
        (window_left, window_top, window_left + out_width, window_top + out_height)
    )
    return shown.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else shown
