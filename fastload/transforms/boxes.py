"""Boxes of RandomResizedCrop, in torchvision's arithmetic."""

import numpy as np

from fastload.spec import Array, Floats, Ints
from fastload.transforms.sampling import log_uniform, uniform

TRIES = 10  # torchvision 0.26, RandomResizedCrop.make_params


def crop_boxes(
    u: Floats,
    sizes: Ints,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    in_single: bool = True,
) -> Ints:
    """Random-resized-crop boxes, one per image.

    u:      float64 [N, 4 * TRIES], uniform in [0, 1)
    sizes:  int32 [N, 2], image height and width, px
    scale:  share of the image to keep; ratio: width / height, log-uniform; in_single: both are
        drawn in float32

    Returns int32 [N, 4]: top, left, height, width, px; always inside the image.
    The first try that fits is used; if none fits, the largest centred box with a legal ratio.
    """
    u = u.reshape(-1, TRIES, 4)
    full_h, full_w = sizes[:, :1].astype(np.float64), sizes[:, 1:].astype(np.float64)
    area = full_h * full_w * uniform(u[..., 0], scale, in_single)
    aspect = log_uniform(u[..., 1], ratio, in_single)
    width, height = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    top = np.floor(u[..., 2] * (full_h - height + 1))
    left = np.floor(u[..., 3] * (full_w - width + 1))
    fits: Array = (width > 0) & (width <= full_w) & (height > 0) & (height <= full_h)
    tries = np.stack([top, left, height, width], axis=-1)
    chosen = np.argmax(fits, axis=1)[:, None, None]
    first = np.take_along_axis(tries, chosen, axis=1)[:, 0]
    out: Floats = np.where(np.any(fits, axis=1)[:, None], first, _centre_boxes(sizes, ratio))
    return out.astype(np.int32)


def _centre_boxes(sizes: Ints, ratio: tuple[float, float]) -> Floats:
    """Largest centred boxes whose width / height lies in `ratio`: float64 [N, 4]."""
    height, width = sizes[:, 0].astype(np.float64), sizes[:, 1].astype(np.float64)
    shape = width / height
    box_h = np.where(shape < ratio[0], np.rint(width / ratio[0]), height)
    box_w = np.where(shape > ratio[1], np.rint(height * ratio[1]), width)
    # One pixel at least: torchvision's rounding can reach 0 here on images like 1 x 5000.
    box_h, box_w = np.clip(box_h, 1, height), np.clip(box_w, 1, width)
    return np.stack([(height - box_h) // 2, (width - box_w) // 2, box_h, box_w], axis=-1)
