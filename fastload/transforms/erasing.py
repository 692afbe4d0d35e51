"""STORE: RandomErasing fills random boxes of a tensor.

Source: Zhong et al. 2017, arXiv:1708.04896.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fastload.spec import Floats, Ints, Records, Spec, Stage
from fastload.transforms.base import (
    Op,
    Params,
    definition_problems,
    is_number,
    probability_problems,
)
from fastload.transforms.kinds import window_words
from fastload.transforms.sampling import log_uniform, uniform

TRIES = 10  # torchvision 0.26 and timm 1.0.31
KINDS = ("random", "random_colour")  # N(0, 1) per value, or per channel of a box
MAX_BOXES = 32


@dataclass(frozen=True)
class RandomErasing(Op):
    """With probability p, fill a box: its area from `scale`, its shape from `ratio`.

    Args:
        p: Probability, 0 to 1.
        scale: Share of the image: smallest, largest.
        ratio: Height / width of the box: smallest, largest.
        value: A number, one per channel, "random" (normal noise) or "random_colour" (timm's
            "rand": one normal colour per box).
        inplace: torchvision's argument; batches are always written in place.
        min_count: Boxes of an image, timm's; their areas share `scale`.
        max_count: The most of them.
        definition: Whose way of drawing: "torchvision" in float32, "timm" in float64.

    Example:
        >>> import torch
        >>> from fastload import transforms as T
        >>> erased = T.RandomErasing(p=1.0)(torch.ones(3, 48, 64))
        >>> bool((erased == 0).any())
        True
    """

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: Any = 0
    inplace: bool = False
    min_count: int = 1
    max_count: int = 1
    definition: Literal["torchvision", "timm"] = field(default="torchvision", repr=False)

    stage = Stage.STORE
    keeps_masks = True
    torchvision = ("p", "scale", "ratio", "value", "inplace")

    def __post_init__(self) -> None:
        for name in ("scale", "ratio"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(
            self, "value", tuple(self.value) if isinstance(self.value, list) else self.value
        )

    @classmethod
    def timm(
        cls, probability: float = 0.5, min_area: float = 0.02, max_area: float = 1 / 3,
        min_aspect: float = 0.3, max_aspect: float | None = None, mode: str = "const",
        min_count: int = 1, max_count: int | None = None,
    ) -> "RandomErasing":  # fmt: skip
        """timm 1.0.31's arguments and defaults (data/random_erasing.py); mode: const, rand or
        pixel.
        """
        value = {"const": 0, "rand": "random_colour", "pixel": "random"}.get(mode, mode)
        ratio = (min_aspect, max_aspect or 1 / min_aspect)
        most = max_count or min_count
        return cls(
            probability, (min_area, max_area), ratio, value, min_count=min_count, max_count=most,
            definition="timm"
        )  # fmt: skip

    def problems(self, spec: Spec) -> list[str]:
        problems = probability_problems("p", self.p)
        problems += definition_problems(self.definition, "torchvision", "timm")
        if not _rising(self.scale, 0, 1):
            problems.append(f"scale is {self.scale}, want two rising numbers from 0 to 1")
        if not _rising(self.ratio, 1e-6, float("inf")):
            problems.append(f"ratio is {self.ratio}, want two rising numbers above 0")
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        if self.value not in KINDS and not (
            all(is_number(v) for v in values) and len(values) in (1, spec.channels)
        ):
            problems.append(
                f"value is {self.value!r}, want a number, one for each of {spec.channels} "
                f"channels, or {', '.join(KINDS)}"
            )
        if self.value in KINDS and spec.dtype == "uint8":
            problems.append(
                f"value is {self.value!r}, but images are uint8, want float; put ToDtype(float32, "
                "scale=True) before it"
            )
        counts = (self.min_count, self.max_count)
        if (
            not all(isinstance(c, int) for c in counts)
            or not 1 <= self.min_count <= self.max_count <= MAX_BOXES
        ):
            problems.append(
                f"min_count and max_count are {counts}, want two rising whole numbers from 1 to "
                f"{MAX_BOXES}"
            )
        if not spec.tensor:
            problems.append("the image is no tensor yet; put ToImage before it")
        return problems

    def draws(self, spec: Spec) -> int:
        # Whether and how many; for each box area, ratio, top and left of each try, and a noise key
        return 2 + self.max_count * (4 * TRIES + 1)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, max_count, 5] top, left, height, width of each box (height 0: none),
        px, and the noise's key.
        """
        count = self.min_count + np.floor(u[:, 1] * (self.max_count - self.min_count + 1)).astype(
            np.int64
        )
        parts = u[:, 2:].reshape(len(sizes), self.max_count, 4 * TRIES + 1)
        boxes = erased_boxes(
            parts[..., 1:], sizes, self.scale, self.ratio, count, self.definition == "torchvision"
        )
        wanted = (u[:, :1] < self.p) & (np.arange(self.max_count) < count[:, None])
        keys = (parts[..., :1] * 2.0**32).astype(np.uint32).view(np.int32)
        records = np.concatenate([np.where(wanted[..., None], boxes, 0), keys], axis=-1)
        return Params(records.astype(np.int32), sizes)

    def words(self, record: Records, before: Spec) -> str:
        return ", ".join(window_words(box[:4]) for box in record if box[2] and box[3]) or "nothing"


def _rising(values: Sequence[float], low: float, high: float) -> bool:
    return (
        len(values) == 2
        and all(is_number(v) for v in values)
        and low <= values[0] <= values[1] <= high
    )


def erased_boxes(
    u: Floats,
    sizes: Ints,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    count: ArrayLike,
    in_single: bool = True,
) -> Ints:
    """Boxes int32 [N, K, 4]: top, left, height, width, px; all 0 where no try is smaller than the
    image.

    u: float64 [N, K, 4 * TRIES]; sizes: int32 [N, 2]; count: int [N], what the area is shared by;
        ratio: height / width; in_single: area and ratio are drawn in float32.
    """
    u = u.reshape(*u.shape[:2], TRIES, 4)
    full_h, full_w = (sizes[:, None, None, i].astype(np.float64) for i in (0, 1))
    shared_by = np.expand_dims(count, (1, 2))
    area = full_h * full_w * uniform(u[..., 0], scale, in_single) / shared_by
    aspect = log_uniform(u[..., 1], ratio, in_single)
    height, width = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    fits = (height < full_h) & (width < full_w)
    top = np.floor(u[..., 2] * (full_h - height + 1))
    left = np.floor(u[..., 3] * (full_w - width + 1))
    tries = np.stack([top, left, height, width], axis=-1)
    first = np.take_along_axis(tries, fits.argmax(axis=-1)[..., None, None], axis=2)[:, :, 0]
    return np.where(fits.any(axis=-1)[..., None], first, 0).astype(np.int32)
