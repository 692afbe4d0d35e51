"""MIX: what mixing a batch is made of.

Partners are of the same batch, and finished images are mixed: after ColOut, erasing, Normalize.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fastload.errors import PipelineError
from fastload.spec import Floats, Ints, Longs
from fastload.transforms.base import is_number
from fastload.transforms.mix_records import MixRecords, Weights

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Mix(ABC):
    """What becomes of a batch, for `DataLoader(mix=...)`.

    It is a frozen description without pixels, as an op is of an image. Called with a batch, images
    [N, C, H, W] and labels int64 [N], it gives the mixed images and labels float32 [N, classes].
    It draws from torch's default generator.

    Example:
        >>> import torch
        >>> from fastload import transforms as T
        >>> mix: T.Mix = T.CutMix(num_classes=3)
        >>> images, labels = mix(torch.rand(2, 3, 48, 64), torch.tensor([0, 2]))
        >>> labels.dtype, tuple(labels.shape)
        (torch.float32, (2, 3))
    """

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def classes(self) -> int | None:
        """How many there are, if that is given."""
        classes: int | None = getattr(self, "num_classes", None)
        return classes

    def problems(self) -> list[str]:
        """Everything that is wrong with the arguments: "what (got, want)"."""
        return []

    @abstractmethod
    def draws(self, count: int) -> int:
        """How many uniforms a batch of `count` samples takes."""

    def gammas(self, count: int) -> tuple[tuple[slice, float], ...]:
        """Which of the uniforms become gamma values, and with which alpha: they are made for many
        batches at once.
        """
        return ()

    @abstractmethod
    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        """Records of a batch: u float64 [draws] in [0, 1); height and width of its images, px.

        A pure function.
        """

    def __call__(
        self, images: "torch.Tensor", labels: "torch.Tensor"
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Raises PipelineError."""
        # The pixels are apart from the descriptions.
        import torch

        from fastload.transforms.reference import mix

        if problem := _batch_problem(images, labels):
            raise PipelineError([f"{self.name}: {problem}"])
        ends = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
        if problems := [*self.problems(), *class_problems(self, 0, *ends)]:
            raise PipelineError(f"{self.name}: {problem}" for problem in problems)
        count, (height, width) = len(images), images.shape[-2:]
        u = torch.rand(self.draws(count), dtype=torch.float64).numpy()
        records = self.records(u, count, int(height), int(width))
        soft = torch.from_numpy(soft_labels(labels.numpy(force=True), records, self.classes or 0))
        return mix.mix(images, records), soft.to(labels.device)


def _batch_problem(images: object, labels: object) -> str:
    """Why these are no images of a batch and their class numbers."""
    import torch

    both = [value for value in (images, labels) if isinstance(value, torch.Tensor)]
    if len(both) < 2 or both[0].ndim != 4 or both[1].shape != both[0].shape[:1]:
        got = " and ".join(
            str(list(value.shape)) if isinstance(value, torch.Tensor) else type(value).__name__
            for value in (images, labels)
        )
        return f"images and labels are {got}, want [N, C, H, W] and [N]; give a batch"
    kind = str(both[1].dtype).removeprefix("torch.")
    whole = not (kind == "bool" or both[1].is_floating_point() or both[1].is_complex())
    return "" if whole else f"labels are {kind}, want class numbers; give whole numbers"


def class_problems(mix: Mix, known: int, lowest: int, highest: int) -> list[str]:
    """Why labels from `lowest` to `highest` cannot be soft. known: classes of the data set; 0: not
    known.
    """
    count = mix.classes if mix.classes is not None else known
    if not count:
        return [
            "num_classes is not given, and the data set does not name its classes; give num_classes"
        ]
    problems = []
    if lowest < 0:
        problems.append(f"the smallest label is {lowest}, want 0 or more")
    if highest >= count:
        problems.append(
            f"num_classes is {count}, but the largest label is {highest}; give "
            f"num_classes={highest + 1} or more"
        )
    return problems


def soft_labels(labels: Longs, records: MixRecords, classes: int) -> Weights:
    """float32 [N, classes]: one-hot labels, smoothed and mixed. labels: int64 [N].

    In float32 and in torchvision's order: each label times its share, then the sum.
    """
    own_off, other_off = (np.float32(s / classes) for s in records.smoothing)
    own_on, other_on = (np.float32(1 - s + s / classes) for s in records.smoothing)
    own_share, other_share = records.shares.T
    every, others = np.arange(len(labels)), labels[records.partner]
    out = np.empty((len(labels), classes), np.float32)
    out[:] = (own_off * own_share + other_off * other_share)[:, None]
    out[every, others] = own_off * own_share + other_on * other_share
    same = labels == others
    out[every, labels] = own_on * own_share + np.where(same, other_on, other_off) * other_share
    return out


def weights(own: ArrayLike, other: ArrayLike, count: int) -> Weights:
    """float32 [count, 2] from float64 values, one or `count` of each."""
    out: Weights = np.stack([np.broadcast_to(v, count) for v in (own, other)], axis=1).astype(
        np.float32
    )
    return out


NO_BOX = np.zeros(4, np.int32)


def blended(
    partner: Longs, own: ArrayLike, other: ArrayLike, smoothing: tuple[float, float]
) -> MixRecords:
    """Weighted sums of whole images, and their labels with the same weights."""
    both = weights(own, other, len(partner))
    return MixRecords(partner, np.tile(NO_BOX, (len(partner), 1)), both, both, smoothing)


def pasted(
    partner: Longs, box: Ints, height: int, width: int, smoothing: tuple[float, float]
) -> MixRecords:
    """The partner's box [1 or N, 4] in the image, and labels by area."""
    count = len(partner)
    share = kept_share(box, height, width)
    boxes = np.ascontiguousarray(np.broadcast_to(box, (count, 4)))
    return MixRecords(
        partner, boxes, weights(1.0, 0.0, count), weights(share, 1 - share, count), smoothing
    )


def kept_share(box: Ints, height: int, width: int) -> Floats:
    """float64 [...]: share of the image outside its box [..., 4]."""
    out: Floats = 1.0 - box[..., 2].astype(np.int64) * box[..., 3] / float(height * width)
    return out


def centred(u: Floats, before: Longs, after: Longs, height: int, width: int) -> Ints:
    """Boxes int32 [..., 4] around random pixels, cut at the border.

    u: float64 [..., 2]; before, after: [..., 2], px from the pixel to the top and left, and to the
        bottom and right, edges.
    """
    size = np.array([height, width])
    centre = np.floor(u * size).astype(np.int64)
    first, last = np.clip(centre - before, 0, size), np.clip(centre + after, 0, size)
    return np.concatenate([first, last - first], axis=-1).astype(np.int32)


def sides(share: ArrayLike, height: int, width: int, factor: float = 1.0) -> Longs:
    """int64 [..., 2]: whole px of a box with this share of the image's area and its aspect, times
    `factor`.
    """
    root = factor * np.sqrt(np.asarray(share, np.float64))[..., None]
    out: Longs = (root * np.array([height, width])).astype(np.int64)
    return out


def alpha_problems(name: str, alpha: object, zero: bool = False) -> list[str]:
    fits = is_number(alpha) and (alpha > 0 or (zero and alpha == 0))
    return [] if fits else [f"{name} is {alpha}, want {'0 or more' if zero else 'above 0'}"]


def label_problems(classes: object, smoothing: object) -> list[str]:
    problems = []
    if classes is not None and (
        isinstance(classes, bool) or not isinstance(classes, int) or classes < 1
    ):
        problems.append(
            f"num_classes is {classes!r}, want None (the data set's) or a whole number from 1"
        )
    if not is_number(smoothing) or not 0 <= smoothing <= 1:
        problems.append(f"label_smoothing is {smoothing}, want 0 to 1")
    return problems
