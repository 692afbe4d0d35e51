"""Collects, batch by batch, how far one backend is from the reference, and says what that means."""

from typing import Any

import numpy as np
import torch

from fastload.parity import difference, distribution, targets
from fastload.parity.difference import PerImage
from fastload.parity.report import (
    DIFFERS,
    EQUAL,
    LABELS,
    NEAR,
    OTHER,
    OWN,
    SHAPE,
    WITHIN,
    Cell,
    Worst,
)
from fastload.plan.plan import Plan
from fastload.sheets.pixels import denormalised
from fastload.spec import Floats

# Share of images with a large mean difference, from which they are other images, not the same ones
# by other arithmetic
OTHERS = 0.1
Images = list[torch.Tensor]  # [N, C, H, W] of each view


class Comparison:
    """One backend in one row.

    order: the samples that come. own: it may draw its own numbers, so that only distributions can
    be equal.
    """

    def __init__(self, plan: Plan, order: list[int], *, own: bool) -> None:
        self.plan, self.order, self.own = plan, order, own
        self.levels = [difference.level(picture) for picture in plan.pictures]
        self.per_image: list[PerImage] = []
        self.features: list[tuple[Floats, Floats]] = []
        self.worst: tuple[float, float, int, torch.Tensor, torch.Tensor, str] | None = None
        self.images = 0  # compared

    def add(self, got: Images, target: Any, want: Images, want_target: Any) -> Cell | None:
        """Compare a batch with the reference's; a cell where that ends the row."""
        if len(got) != len(want):
            return Cell(SHAPE, why=(f"batches have {len(got)} views, want {len(want)}",))
        if why := next(filter(None, map(difference.mismatch, got, want)), ""):
            return Cell(SHAPE, why=(why,))
        if why := targets.problem(target, want_target):
            return Cell(LABELS, why=(why,))
        for view, (ours, theirs, level) in enumerate(zip(got, want, self.levels, strict=True)):
            differences = difference.of_batch(ours, theirs, level)
            self.per_image.append(differences)
            self._keep_worst(view, differences, ours, theirs)
            if self.own:
                parts = (
                    distribution.features(difference.in_levels(images, level))
                    for images in (ours, theirs)
                )
                self.features.append((next(parts), next(parts)))
        self.images += len(want[0])
        return None

    def _keep_worst(
        self, view: int, differences: PerImage, got: torch.Tensor, want: torch.Tensor
    ) -> None:
        worst = int(np.argmax(differences.mean))
        mean = float(differences.mean[worst])
        if mean > (self.worst[1] if self.worst else 0.0):
            name = self.plan.source.name(self.order[self.images + worst])
            where = f"{self.plan.pictures[view].where}{name}"
            self.worst = (
                float(differences.largest[worst]),
                mean,
                view,
                got[worst : worst + 1].clone(),
                want[worst : worst + 1].clone(),
                where,
            )

    def cell(self) -> Cell:
        """What all batches come to."""
        differences = PerImage(
            *(np.concatenate(parts) for parts in zip(*self.per_image, strict=True))
        )
        largest = float(differences.largest.max())
        mean = float(differences.mean.mean())
        share = float(differences.share.mean())
        own = self.own and float((differences.mean > NEAR).mean()) >= OTHERS
        chance = self._chance() if own else None
        verdict = DIFFERS if largest > NEAR else WITHIN if share else EQUAL
        if chance is not None:
            verdict = OWN if chance >= distribution.UNLIKELY else OTHER
        return Cell(verdict, largest, mean, share, chance, worst=self._worst())

    def _chance(self) -> float | None:
        """None where there are too few images to tell."""
        got, want = (np.concatenate(parts) for parts in zip(*self.features, strict=True))
        return distribution.chance(got, want) if len(got) >= distribution.LEAST else None

    def _worst(self) -> Worst | None:
        if self.worst is None:
            return None
        largest, mean, view, got, want, where = self.worst
        pixels = (denormalised(images, self.plan.pictures[view])[0] for images in (got, want))
        return Worst(where, largest, mean, *pixels)
