"""RandomIoUCrop: a crop that overlaps some box by a drawn share (Liu et al. 2016, SSD,
arXiv:1512.02325, section 2.2).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastload.joint.picture import Picture, Size
from fastload.joint.steps import Draw, JointStep, Params, Target
from fastload.spec import Bools, Floats, Longs

ROUNDS = 1000  # torchvision tries for ever


@dataclass(frozen=True)
class IoUCrop(JointStep):
    """A round draws the least overlap, and tries crops; with 1 or more the image is left whole."""

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        boxes = _corners(target)
        each = 1 + 4 * self.of.trials
        for number in range(1, ROUNDS + 1):
            u = draw(number * each)[-each:]
            least = self.of.options[int(u[0] * len(self.of.options))]
            if least >= 1.0:
                return {}
            tried = _tries(self.of, u[1:].reshape(-1, 4), picture.size)
            if (found := _first(tried, boxes, least)) is not None:
                return found
        raise ValueError(
            f"RandomIoUCrop found no crop in {ROUNDS} rounds; look at the sample's boxes, or give "
            "sampler_options that hold 1.0"
        )

    def move(self, picture: Picture, params: Params) -> None:
        if params:
            picture.cut(params["top"], params["left"], params["height"], params["width"])


class Tries(NamedTuple):
    """Crops, int64 [N]: px."""

    top: Longs
    left: Longs
    height: Longs
    width: Longs


def _tries(of: Any, u: Floats, size: Size) -> Tries:
    """Those of an aspect ratio that is allowed. u: [trials, 4]."""
    high, wide = size
    scales = of.min_scale + (of.max_scale - of.min_scale) * u[:, :2]
    width, height = (wide * scales[:, 0]).astype(np.int64), (high * scales[:, 1]).astype(np.int64)
    left = ((wide - width) * u[:, 2]).astype(np.int64)
    top = ((high - height) * u[:, 3]).astype(np.int64)
    aspect = width / np.maximum(height, 1)
    fits = (width > 0) & (height > 0)
    fits &= (of.min_aspect_ratio <= aspect) & (aspect <= of.max_aspect_ratio)
    return Tries(top[fits], left[fits], height[fits], width[fits])


def _first(tried: Tries, boxes: Floats, least: float) -> Params | None:
    """The first crop that has the centre of a box in it, and overlaps one of these by `least`."""
    top, left, height, width = (side[:, None] for side in tried)
    right, bottom = left + width, top + height
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    within: Bools = (left < x) & (x < right) & (top < y) & (y < bottom)
    wide = np.minimum(right, boxes[:, 2]) - np.maximum(left, boxes[:, 0])
    high = np.minimum(bottom, boxes[:, 3]) - np.maximum(top, boxes[:, 1])
    shared = wide.clip(0) * high.clip(0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    whole = width * height + areas - shared
    overlap = np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)
    good = (within & (overlap >= least)).any(axis=1)
    if not good.any():
        return None
    import torch

    at = int(good.argmax())
    return {
        "top": int(tried.top[at]), "left": int(tried.left[at]),
        "height": int(tried.height[at]), "width": int(tried.width[at]),
        "is_within_crop_area": torch.from_numpy(within[at].copy()),
    }  # fmt: skip


def _corners(target: Target) -> Floats:
    """float64 [N, 4], left, top, right, bottom of the sample's boxes, px. Raises ValueError."""
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    found = [box for box in target.values() if isinstance(box, tv_tensors.BoundingBoxes)]
    if len(found) != 1:
        raise ValueError(
            f"RandomIoUCrop needs the boxes of the sample (got {len(found)} tensors of boxes, want "
            "1); leave out images without boxes"
        )
    xyxy = tv_tensors.BoundingBoxFormat.XYXY
    corners: Floats = (
        functional.convert_bounding_box_format(found[0], new_format=xyxy)
        .as_subclass(torch_tensor())
        .numpy()
        .astype(np.float64)
        .reshape(-1, 4)
    )
    return corners


def torch_tensor() -> Any:
    import torch

    return torch.Tensor
