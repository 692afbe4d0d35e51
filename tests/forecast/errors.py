"""How far forecasts were off, in words."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fastload.forecast.bands import Range

CHOICES = ("name", "workers", "width", "mix", "processes")  # of a training


class Seen(NamedTuple):
    forecast: Range  # s
    truth: float  # s
    measuring: float  # s

    @property
    def error(self) -> float:
        """As a share of the truth; more than 0: forecast too long."""
        return self.forecast.value / self.truth - 1

    @property
    def inside(self) -> bool:
        return self.forecast.low <= self.truth <= self.forecast.high


def summary(what: str, seen: Sequence[Seen]) -> str:
    errors = [100 * each.error for each in seen]
    off = np.abs(errors)
    return (
        f"{what}: {len(seen)} trainings: median error {np.median(off):.1f} %, 90th percentile "
        f"{np.percentile(off, 90):.1f} %, {100 * np.mean([each.inside for each in seen]):.0f} % "
        f"inside the interval; median of the signed errors {np.median(errors):+.1f} %; measured "
        f"for {max(each.measuring for each in seen):.0f} s at most"
    )


def groups(every: Sequence[object], seen: Sequence[Seen]) -> Iterator[str]:
    """The summary of each value of each choice, and of all."""
    pairs = list(zip(every, seen, strict=True))
    for name in CHOICES:
        for value in sorted({getattr(one, name) for one in every}):
            part = [each for one, each in pairs if getattr(one, name) == value]
            yield summary(f"  {name} {value or 'none'}", part)
    yield summary("all", seen)
