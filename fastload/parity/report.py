"""The results, and their JSON form: schema fastload.parity/1.

Levels are steps of a uint8 value.
"""

from dataclasses import dataclass

from fastload.parity.distribution import UNLIKELY
from fastload.spec import Json, Pixels, finite

SCHEMA = "fastload.parity/1"
# Levels: up to here a difference is rounding or another decoder, beyond it is another picture
NEAR = 8.0
EQUAL, WITHIN, DIFFERS, OWN, OTHER, LABELS, SHAPE, CANNOT, FAILED = (
    "bit-equal", "within", "differs", "own draws", "other distribution", "other labels",
    "other shape", "cannot", "failed",
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    backend: str
    device: str

    def __str__(self) -> str:
        return self.backend if self.device == "cpu" else f"{self.backend} on {self.device}"


@dataclass(frozen=True)
class Worst:
    """The image that differs most."""

    name: str
    largest: float  # levels
    mean: float  # levels
    got: Pixels  # uint8 [H, W, C], de-normalised
    want: Pixels


@dataclass(frozen=True)
class Cell:
    """One backend in one row. Numbers are None where nothing could be compared."""

    verdict: str
    largest: float | None = None  # difference of a value, levels
    mean: float | None = None  # levels
    share: float | None = None  # of pixels that differ
    chance: float | None = None  # that own draws are of the reference's distribution
    why: tuple[str, ...] = ()  # it cannot, failed or does not fit
    worst: Worst | None = None

    def __str__(self) -> str:
        if self.largest is None or self.mean is None or self.share is None or self.verdict == EQUAL:
            return self.verdict
        if self.verdict in (OWN, OTHER):
            return f"{self.verdict}: p {self.chance:.2g}"
        numbers = f"mean {self.mean:.2g}, {100 * self.share:.3g} % of pixels"
        return (
            f"within {self.largest:.2g}: {numbers}"
            if self.verdict == WITHIN
            else f"{self.verdict}: max {self.largest:.3g}, {numbers}"
        )

    def as_dict(self) -> Json:
        numbers = {
            "max_levels": finite(self.largest),
            "mean_levels": finite(self.mean),
            "pixels_share": self.share,
            "p_value": self.chance,
        }
        worst = (
            {"name": self.worst.name, "max_levels": finite(self.worst.largest)}
            if self.worst
            else None
        )
        return {"verdict": self.verdict, **numbers, "worst": worst, "why": list(self.why)}


@dataclass(frozen=True)
class Report:
    images: int  # of each cell
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # name, a cell for each column
    reference: str = "torch"  # a backend; or torchvision, told what was drawn

    @property
    def whole(self) -> tuple[Cell, ...]:
        """Of the whole pipeline, a cell for each column."""
        return self.rows[-1][1]

    def largest(self) -> float:
        """Of all cells, levels; endless where labels, shapes or distributions are others, or a
        backend failed.
        """
        cells = [cell for _, cells in self.rows for cell in cells]
        if any(cell.verdict in (OTHER, LABELS, SHAPE, FAILED) for cell in cells):
            return float("inf")
        return max((cell.largest or 0.0 for cell in cells if cell.verdict != OWN), default=0.0)

    def to_json(self) -> Json:
        head = {
            "schema": SCHEMA,
            "reference": self.reference,
            "images": self.images,
            "unlikely_p_value": UNLIKELY,
        }
        return {
            **head,
            "rows": [{"name": name, "cells": self._documents(cells)} for name, cells in self.rows],
        }

    def _documents(self, cells: tuple[Cell, ...]) -> list[Json]:
        pairs = zip(self.columns, cells, strict=True)
        return [
            {"backend": column.backend, "device": column.device, **cell.as_dict()}
            for column, cell in pairs
        ]
