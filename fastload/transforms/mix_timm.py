"""MIX as timm 1.0.31 defines it (data/mixup.py): partners from the other end of the batch, and
draws per batch, pair or image.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.spec import Bools, Floats, Ints, Longs
from fastload.transforms.base import is_number, probability_problems
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.mixing import (
    NO_BOX,
    Mix,
    alpha_problems,
    centred,
    kept_share,
    label_problems,
    sides,
)
from fastload.transforms.sampling import beta

MODES = ("batch", "pair", "elem")
DRAWS = 8  # whether, which, 2 for the share, 4 for the box


@dataclass(frozen=True)
class TimmMixup(Mix):
    """timm's Mixup. The middle image of an odd batch, which timm refuses, is its own partner."""

    mixup_alpha: float = 1.0
    cutmix_alpha: float = 0.0
    # (least, most) side of the box as a share of the image's; then cutmix_alpha is 1
    cutmix_minmax: Any = None
    prob: float = 1.0  # of mixing at all
    switch_prob: float = 0.5  # of CutMix where both have an alpha
    mode: str = "batch"  # what a draw is for
    correct_lam: bool = True  # labels by the area of the box that lies inside the image
    label_smoothing: float = 0.1
    num_classes: int | None = None  # None: the data set's

    def __post_init__(self) -> None:
        if isinstance(self.cutmix_minmax, list):
            object.__setattr__(self, "cutmix_minmax", tuple(self.cutmix_minmax))

    @property
    def name(self) -> str:
        return "MixUp.timm"

    def problems(self) -> list[str]:
        alphas = ("mixup_alpha", "cutmix_alpha")
        problems = [
            problem
            for name in alphas
            for problem in alpha_problems(name, getattr(self, name), zero=True)
        ]
        if (
            not problems
            and not self.mixup_alpha
            and not self.cutmix_alpha
            and self.cutmix_minmax is None
        ):
            problems.append(
                "mixup_alpha and cutmix_alpha are 0, want one of them above 0, or cutmix_minmax"
            )
        problems += probability_problems("prob", self.prob) + probability_problems(
            "switch_prob", self.switch_prob
        )
        if self.mode not in MODES:
            problems.append(f"mode is {self.mode!r}, want one of {', '.join(MODES)}")
        if self.cutmix_minmax is not None and not _rising(self.cutmix_minmax):
            problems.append(
                f"cutmix_minmax is {self.cutmix_minmax}, want two rising numbers from 0 to 1"
            )
        return problems + label_problems(self.num_classes, self.label_smoothing)

    def draws(self, count: int) -> int:
        return DRAWS * self._rows(count)

    def gammas(self, count: int) -> tuple[tuple[slice, float], ...]:
        cutmix_alpha = 1.0 if self.cutmix_minmax is not None else self.cutmix_alpha
        alphas = {alpha for alpha in (self.mixup_alpha, cutmix_alpha) if alpha}
        return tuple((slice(2, 4), alpha) for alpha in alphas) if self.mode == "batch" else ()

    def _rows(self, count: int) -> int:
        """How many draws a batch has."""
        return {"batch": 1, "pair": count // 2}.get(self.mode, count)

    def records(self, u: Floats, count: int, height: int, width: int) -> MixRecords:
        u = u.reshape(-1, DRAWS)
        share, cut = self._shares(u)
        box = np.where(cut[:, None], self._boxes(u[:, 4:], share, height, width), NO_BOX)
        if self.correct_lam or self.cutmix_minmax is not None:
            share = np.where(cut, kept_share(box, height, width), share)
        of = self._row_of(count)
        # timm keeps single shares in float32; 1 - share is taken from what was kept.
        kept = share if self.mode == "batch" else share.astype(np.float32)
        both = np.stack([kept, 1 - kept], axis=1).astype(np.float32)
        nothing = np.array([[1, 0]], np.float32)
        shares, boxes = (
            np.concatenate(pair)[of] for pair in ((both, nothing), (box, NO_BOX[None]))
        )
        pixels = np.concatenate([np.where(cut[:, None], nothing, both), nothing])[of]
        partner = np.arange(count)[::-1].copy()
        return MixRecords(
            partner,
            boxes.astype(np.int32),
            pixels,
            shares,
            (self.label_smoothing, self.label_smoothing),
        )

    def _shares(self, u: Floats) -> tuple[Floats, Bools]:
        """Of the image: float64 [rows], 1 where nothing is mixed; and whether a box is cut: bool
        [rows].
        """
        cutmix_alpha = 1.0 if self.cutmix_minmax is not None else self.cutmix_alpha
        mix = beta(u[:, 2:4], self.mixup_alpha) if self.mixup_alpha else np.ones(len(u))
        cut = beta(u[:, 2:4], cutmix_alpha) if cutmix_alpha else np.ones(len(u))
        switch = self.switch_prob if self.mixup_alpha and cutmix_alpha else float(cutmix_alpha > 0)
        cuts = u[:, 1] < switch
        wanted = u[:, 0] < self.prob
        share = np.where(wanted, np.where(cuts, cut, mix), 1.0)
        if self.mode != "batch":
            share = share.astype(np.float32).astype(np.float64)
        return share, cuts & wanted & (share != 1)

    def _boxes(self, u: Floats, share: Floats, height: int, width: int) -> Ints:
        if self.cutmix_minmax is None:
            cut = sides(1 - share, height, width)
            return centred(u[:, :2], cut // 2, (cut + 1) // 2, height, width)
        size = np.array([height, width])
        low, high = (
            np.array([int(height * bound), int(width * bound)]) for bound in self.cutmix_minmax
        )
        cut = low + np.floor(u[:, :2] * np.maximum(high - low, 1)).astype(np.int64)
        first = np.floor(u[:, 2:] * (size - cut + 1)).astype(np.int64)
        return np.concatenate([first, cut], axis=1).astype(np.int32)

    def _row_of(self, count: int) -> Longs:
        """Which draw each image has: int64 [count]; one past the last: none."""
        if self.mode == "batch":
            return np.zeros(count, np.int64)
        if self.mode == "elem":
            return np.arange(count)
        half = np.arange(count // 2)
        return np.concatenate([half, np.full(count % 2, count // 2), half[::-1]])


def _rising(values: object) -> bool:
    return (
        isinstance(values, tuple)
        and len(values) == 2
        and all(is_number(v) for v in values)
        and 0 <= values[0] <= values[1] <= 1
    )
