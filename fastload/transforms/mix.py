"""MIX: MixUp, CutMix and label smoothing of whole batches, under torchvision v2's names and
defaults.

Sources: Zhang et al. 2017, arXiv:1710.09412 (MixUp); Yun et al. 2019, arXiv:1905.04899 (CutMix).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.errors import UsageError
from fastload.spec import Floats, Longs
from fastload.transforms.choose import RandomChoice
from fastload.transforms.mix_choice import MixChoice
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.mix_timm import TimmMixup
from fastload.transforms.mixing import (
    Mix,
    alpha_problems,
    blended,
    centred,
    label_problems,
    pasted,
    sides,
)
from fastload.transforms.sampling import beta, order

DEFINITIONS = ("torchvision", "composer")


@dataclass(frozen=True)
class _Both(Mix):
    """What MixUp and CutMix share."""

    # Of Beta(alpha, alpha), which the image's share is drawn from, once for a batch
    alpha: float = 1.0
    num_classes: int | None = None  # None: the data set's
    labels_getter: object = "default"  # torchvision's argument; here images and labels are known
    # Of the one-hot labels, before they are mixed; "composer": of the image's, not of its partner's
    label_smoothing: float = 0.0
    definition: str = "torchvision"  # whose partners, shares and boxes these are

    def problems(self) -> list[str]:
        problems = alpha_problems("alpha", self.alpha) + label_problems(
            self.num_classes, self.label_smoothing
        )
        if self.labels_getter != "default":
            problems.append(
                f"labels_getter is {self.labels_getter!r}, want 'default'; a batch is images and "
                "labels"
            )
        if self.definition not in DEFINITIONS:
            problems.append(
                f"definition is {self.definition!r}, want one of {', '.join(DEFINITIONS)}"
            )
        return problems

    @property
    def composer_like(self) -> bool:
        return self.definition == "composer"

    @property
    def smoothing(self) -> tuple[float, float]:
        return (self.label_smoothing, 0.0 if self.composer_like else self.label_smoothing)

    def gammas(self, count: int) -> tuple[tuple[slice, float], ...]:
        return ((slice(0, 2), self.alpha),)

    def partners(self, u: Floats, count: int) -> Longs:
        """int64 [count]: the image before, and the last one for the first; "composer": a random
        order, from u [count].
        """
        return order(u[None])[0] if self.composer_like else np.roll(np.arange(count), 1)


@dataclass(frozen=True)
class MixUp(_Both):
    """Each image and its partner, weighed by a share from Beta(alpha, alpha).

    torchvision 0.26's arithmetic.

    Args:
        alpha: Of Beta(alpha, alpha), which the image's share is drawn from, once for a batch.
        num_classes: Classes; None: the data set's.
        labels_getter: torchvision's argument; here images and labels are known.
        label_smoothing: Of the one-hot labels, before they are mixed; with "composer" of the
            image's, not of its partner's.
        definition: Whose partners, shares and boxes these are: "torchvision" or "composer".

    Example:
        >>> import torch
        >>> from fastload import transforms as T
        >>> mix = T.MixUp(num_classes=3)
        >>> images, labels = mix(torch.rand(2, 3, 48, 64), torch.tensor([0, 2]))
        >>> labels.shape
        torch.Size([2, 3])
    """

    @classmethod
    def composer(
        cls, alpha: float = 0.2, num_classes: int | None = None, label_smoothing: float = 0.0
    ) -> "MixUp":
        """Composer 0.7.1's: random partners that weigh at most 1/2, and smoothing that leaves their
        labels out.
        """
        return cls(alpha, num_classes, label_smoothing=label_smoothing, definition="composer")

    @staticmethod
    def timm(
        mixup_alpha: float = 1.0, cutmix_alpha: float = 0.0, cutmix_minmax: Any = None,
        prob: float = 1.0, switch_prob: float = 0.5, mode: str = "batch", correct_lam: bool = True,
        label_smoothing: float = 0.1, num_classes: int | None = None,
    ) -> TimmMixup:  # fmt: skip
        """timm 1.0.31's Mixup class, with its arguments and defaults, which is MixUp, CutMix or
        both.
        """
        return TimmMixup(
            mixup_alpha, cutmix_alpha, cutmix_minmax, prob, switch_prob, mode, correct_lam,
            label_smoothing, num_classes
        )  # fmt: skip

    def draws(self, count: int) -> int:
        return 2 + count * self.composer_like

    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        share = float(beta(u[:2], self.alpha))
        other = min(share, 1 - share) if self.composer_like else 1 - share
        return blended(
            self.partners(u[2:], count),
            1 - other if self.composer_like else share,
            other,
            self.smoothing,
        )


@dataclass(frozen=True)
class CutMix(_Both):
    """A box of the partner's in each image, the same for the batch; labels by area.

    torchvision 0.26's boxes.

    Args:
        alpha: Of Beta(alpha, alpha), which the image's share is drawn from, once for a batch.
        num_classes: Classes; None: the data set's.
        labels_getter: torchvision's argument; here images and labels are known.
        label_smoothing: Of the one-hot labels, before they are mixed; with "composer" of the
            image's, not of its partner's.
        definition: Whose partners, shares and boxes these are: "torchvision" or "composer".

    Example:
        >>> import torch
        >>> from fastload import transforms as T
        >>> mix = T.CutMix(num_classes=3)
        >>> images, labels = mix(torch.rand(2, 3, 48, 64), torch.tensor([0, 2]))
        >>> labels.shape
        torch.Size([2, 3])
    """

    @classmethod
    def composer(
        cls, alpha: float = 1.0, num_classes: int | None = None, label_smoothing: float = 0.0
    ) -> "CutMix":
        """Composer 0.7.1's, with uniform_sampling off: random partners, and boxes as the paper's
        authors cut them.
        """
        return cls(alpha, num_classes, label_smoothing=label_smoothing, definition="composer")

    def draws(self, count: int) -> int:
        return 4 + count * self.composer_like

    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        area = 1 - beta(u[:2], self.alpha)
        half = (
            sides(area, height, width) // 2
            if self.composer_like
            else sides(area, height, width, 0.5)
        )
        box = centred(u[2:4], half, half, height, width)
        return pasted(self.partners(u[4:], count), box, height, width, self.smoothing)


@dataclass(frozen=True)
class LabelSmoothing(Mix):
    """Soft labels without mixing.

    1 - smoothing + smoothing / classes for the label, smoothing / classes for the others.

    Args:
        smoothing: What all classes share, 0 to 1.
        num_classes: Classes; None: the data set's.

    Example:
        >>> import torch
        >>> from fastload import transforms as T
        >>> smooth = T.LabelSmoothing(0.5, num_classes=2)
        >>> images, labels = smooth(torch.rand(1, 3, 48, 64), torch.tensor([1]))
        >>> labels
        tensor([[0.2500, 0.7500]])
    """

    smoothing: float = 0.1
    num_classes: int | None = None

    def problems(self) -> list[str]:
        return [
            text.replace("label_smoothing", "smoothing")
            for text in label_problems(self.num_classes, self.smoothing)
        ]

    def draws(self, count: int) -> int:
        return 0

    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        return blended(np.arange(count), 1.0, 0.0, (self.smoothing, self.smoothing))


def as_mix(value: object) -> Mix | None:
    """What `DataLoader(mix=...)` takes:

    None, a mix, or fastload's RandomChoice of mixes. Raises UsageError.
    """
    if value is None or isinstance(value, Mix):
        return value
    if type(value) is RandomChoice and any(isinstance(mix, Mix) for mix in value.transforms):
        return MixChoice(value.transforms, value.p)
    kinds = "fastload.transforms' MixUp, CutMix, LabelSmoothing or RandomChoice of them"
    raise UsageError(f"DataLoader: mix is {value!r}, want {kinds}")
