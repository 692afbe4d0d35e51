"""Random joint transforms on random samples: fastload, and torchvision told the same draws."""

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

from fastload import detection
from fastload import rng as keys
from fastload.joint.picture import Picture
from fastload.joint.samples import moves
from fastload.lowering import joint_steps
from fastload.lowering.chain import lower_parts
from fastload.spec import Work
from tests import keypoints
from tests.conftest import textured

Random = np.random.Generator
FORMATS = ("XYXY", "XYWH", "CXCYWH")


def _range(rng: Random, low: float, high: float) -> tuple[float, float]:
    first, last = np.sort(rng.uniform(low, high, 2))
    return float(first), float(last)


def _fill(rng: Random) -> Any:
    """A list is for images alone."""
    colour = [int(v) for v in rng.integers(0, 256, 3)]
    return [int(colour[0]), {tv_tensors.Mask: colour[1], "others": colour}][rng.integers(0, 2)]


def _sides(rng: Random) -> tuple[int, int]:
    high, wide = rng.integers(8, 90, 2)
    return int(high), int(wide)


def _filter(rng: Random) -> v2.InterpolationMode:
    modes = (
        v2.InterpolationMode.NEAREST, v2.InterpolationMode.BILINEAR, v2.InterpolationMode.BICUBIC,
    )  # fmt: skip
    return modes[rng.integers(0, 3)]


MAKERS: dict[str, Callable[[Random], Any]] = {
    "RandomHorizontalFlip": lambda _: v2.RandomHorizontalFlip(0.7),
    "Resize": lambda rng: v2.Resize(
        [_sides(rng), int(rng.integers(8, 90))][rng.integers(0, 2)],
        interpolation=[v2.InterpolationMode.BILINEAR, v2.InterpolationMode.BICUBIC][
            rng.integers(0, 2)
        ],
    ),
    "RandomResize": lambda _: v2.RandomResize(20, 60),
    "RandomShortestSize": lambda rng: v2.RandomShortestSize(
        [16, 40, 64], [None, 70][rng.integers(0, 2)]
    ),
    "ScaleJitter": lambda rng: v2.ScaleJitter(_sides(rng), _range(rng, 0.5, 2.0)),
    "RandomCrop": lambda rng: v2.RandomCrop(
        _sides(rng), padding=int(rng.integers(0, 5)), pad_if_needed=True, fill=_fill(rng)
    ),
    "FixedSizeCrop": lambda rng: detection.FixedSizeCrop(_sides(rng), fill=_fill(rng)),
    "RandomRotation": lambda rng: v2.RandomRotation(
        int(rng.integers(1, 180)), _filter(rng), bool(rng.integers(0, 2)), fill=_fill(rng)
    ),
    "RandomAffine": lambda rng: v2.RandomAffine(
        int(rng.integers(0, 180)),
        _range(rng, 0.0, 0.4),
        _range(rng, 0.5, 1.5),
        [None, 10, _range(rng, -30, 30), (*_range(rng, -30, 30), *_range(rng, -30, 30))][
            rng.integers(0, 4)
        ],
        _filter(rng),
        _fill(rng),
        [None, _range(rng, 0, 40)][rng.integers(0, 2)],
    ),
    "RandomPerspective": lambda rng: v2.RandomPerspective(
        float(rng.uniform(0.05, 0.7)), 0.8, _filter(rng), _fill(rng)
    ),
    "RandomZoomOut": lambda rng: v2.RandomZoomOut(_fill(rng), _range(rng, 1.0, 4.0), 0.9),
    "RandomIoUCrop": lambda _: v2.RandomIoUCrop(),
    "RandomPhotometricDistort": lambda _: v2.RandomPhotometricDistort(p=0.7),
    "ConvertBoundingBoxFormat": lambda rng: v2.ConvertBoundingBoxFormat(
        FORMATS[rng.integers(0, 3)]
    ),
    "ClampBoundingBoxes": lambda _: v2.ClampBoundingBoxes(),
    "SanitizeBoundingBoxes": lambda rng: v2.SanitizeBoundingBoxes(float(rng.integers(1, 8))),
    **({"ClampKeyPoints": lambda _: v2.ClampKeyPoints()} if keypoints.KNOWN else {}),
}


def sample(rng: Random) -> tuple[np.ndarray, dict[str, Any]]:
    """uint8 [H, W, 3] and boxes, masks, keypoints and labels; some boxes reach beyond the image."""
    height, width = (int(v) for v in rng.integers(24, 70, 2))
    count = int(rng.integers(1, 6))
    ends = rng.uniform(-0.1, 1.1, (count, 2, 2))
    corners = np.concatenate([ends.min(axis=1), ends.max(axis=1) + 0.02], axis=1)
    boxes = torch.from_numpy((corners * ([width, height] * 2)).astype(np.float32))
    xyxy = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width))
    wanted = tv_tensors.BoundingBoxFormat[FORMATS[rng.integers(0, 3)]]
    masks = rng.integers(0, 2, (count, height, width), np.uint8)
    points = (rng.uniform(0, 1, (count, 4, 2)) * [width, height]).astype(np.float32)
    target = {
        "boxes": v2.functional.convert_bounding_box_format(xyxy, new_format=wanted),
        "masks": tv_tensors.Mask(torch.from_numpy(masks)),
        "labels": torch.arange(count),
    }
    if keypoints.KNOWN:
        size = {"canvas_size": (height, width)}
        target["points"] = tv_tensors.KeyPoints(torch.from_numpy(points), **size)
    return textured(height, width, int(rng.integers(0, 1000))), target


def differences(transforms: list[Any], seed: int) -> list[str]:
    """What of a random sample is not torchvision's, after these transforms with the same draws."""
    rng = np.random.default_rng(seed)
    pixels, target = sample(rng)
    lowered = joint_steps.of(
        v2.Compose([*transforms, v2.PILToTensor()]), partial(lower_parts, own=False)
    )
    assert not lowered.unknown, lowered.unknown
    picture = Picture(pixels, pixels.shape[:2])
    work = Work(np.array([seed]), np.array([0]), 7, 0, 0)
    uniforms = lambda op, count: keys.sample_uniforms(work, op, count)[0]  # noqa: E731
    got, image = target, Image.fromarray(pixels)
    want: Any = target
    for part, one in zip(transforms, moves(lowered.steps, picture, target, uniforms), strict=True):
        got = one.target
        mine = copy.copy(part)
        mine.__dict__["make_params"] = lambda _, params=one.params: params
        if hasattr(mine, "p"):
            mine.p = 0.0 if one.params is None else 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image, want = mine(image, want)
    out = [key for key in want if not same(got[key], want[key])]
    made = picture.made()
    alike = made.shape == np.asarray(image).shape and np.array_equal(made, np.asarray(image))
    return out if alike else ["image", *out]


def same(got: Any, want: Any) -> bool:
    facts = all(getattr(got, key, 0) == getattr(want, key, 0) for key in ("format", "canvas_size"))
    return (
        facts and type(got) is type(want) and got.dtype == want.dtype
        and got.shape == want.shape and torch.equal(got, want)
    )  # fmt: skip
