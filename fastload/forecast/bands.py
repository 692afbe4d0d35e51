"""Numbers with a range: the least, the estimate, and the most."""

from dataclasses import dataclass

import numpy as np

from fastload.spec import Floats, Json


@dataclass(frozen=True)
class Range:
    """One number with what it may be at least and at most."""

    value: float
    low: float
    high: float

    def times(self, other: "Range | float") -> "Range":
        """The product with a number that is 0 or more."""
        by = other if isinstance(other, Range) else exactly(other)
        return Range(self.value * by.value, self.low * by.low, self.high * by.high)

    def to_json(self) -> Json:
        return {"value": self.value, "low": self.low, "high": self.high}


def exactly(value: float) -> Range:
    return Range(value, value, value)


@dataclass(frozen=True)
class Band:
    """The same, epoch by epoch: float64 [epochs] each, all 0 or more."""

    value: Floats
    low: Floats
    high: Floats

    def times(self, by: Range) -> "Band":
        return Band(self.value * by.value, self.low * by.low, self.high * by.high)

    def plus(self, other: "Band | Range") -> "Band":
        return Band(self.value + other.value, self.low + other.low, self.high + other.high)

    def at_least(self, other: "Band") -> "Band":
        """The larger one of the two, epoch by epoch."""
        return Band(
            np.maximum(self.value, other.value),
            np.maximum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def total(self) -> Range:
        """Over all epochs. What is uncertain is so in every epoch alike: nothing averages out."""
        return Range(float(self.value.sum()), float(self.low.sum()), float(self.high.sum()))

    def part(self, first: int, end: int) -> "Band":
        """Some epochs in a row."""
        return Band(self.value[first:end], self.low[first:end], self.high[first:end])

    def at(self, epoch: int) -> Range:
        return Range(float(self.value[epoch]), float(self.low[epoch]), float(self.high[epoch]))


def constant(value: Range, epochs: int) -> Band:
    ones: Floats = np.ones(epochs)
    return Band(ones * value.value, ones * value.low, ones * value.high)
