"""The one way that fastload times anything: interleaved repetitions, medians, spread, bootstrap
confidence intervals.

Shared machines drift, so variants take turns within one run and only their ratios are compared.
"""

import math
import numbers
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000  # of the bootstrap
SEED = 0  # the same numbers give the same interval
# Two-sided 90 % quantiles of Student's t by degrees of freedom (any table of it)
QUANTILES = ((1, 6.31), (2, 2.92), (3, 2.35), (4, 2.13), (6, 1.94), (10, 1.81), (20, 1.72))
NORMAL = 1.64


def real(value: object) -> float:
    """A number of any kind; NaN for what is none, such as True or a text."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Sample:
    """Rates of one variant, one value per repetition, in the order measured."""

    values: tuple[float, ...]  # per second

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    @property
    def spread(self) -> float:
        """(max - min) / median, as a share."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % bootstrap confidence interval."""

    value: float
    low: float
    high: float


def interleaved(
    variants: Mapping[str, Callable[[], float]],
    repetitions: int,
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, Sample]:
    """Run each variant `repetitions` times, taking turns A B C A B C …; a variant returns its own
    rate (per second).
    """
    values: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repetitions):
        for name, run in variants.items():
            values[name].append(run())
            on_done()
    return {name: Sample(tuple(rates)) for name, rates in values.items()}


def rate(
    step: Callable[[], int], seconds: float, settle: Callable[[], float] = time.perf_counter
) -> float:
    """Items per second of `step` (it returns how many items it did), over at least `seconds` and
    one call.

    settle: waits for what the steps have only started, as on a GPU, and returns the moment when
        that was done, s.
    """
    start, done = settle(), 0
    while True:
        done += step()
        if time.perf_counter() - start >= seconds:
            return done / (settle() - start)


def quantile(freedom: int) -> float:
    """Half the width of a 90 % interval, in standard deviations that are known by so many degrees
    of freedom.
    """
    return next((t for most, t in QUANTILES if freedom <= most), NORMAL)


def ratio(a: Sample, b: Sample) -> Interval:
    """median(a) / median(b); pairs of one turn are resampled together, since they saw the same
    machine.
    """
    return bootstrap(lambda x, y: np.median(x, axis=-1) / np.median(y, axis=-1), a, b)


def bootstrap(statistic: Callable[..., np.ndarray], *samples: Sample) -> Interval:
    """`statistic` of arrays [..., repetitions] with its 95 % percentile interval over paired
    resamples.
    """
    arrays = [np.array(sample.values) for sample in samples]
    count = min(len(array) for array in arrays)
    picks = np.random.Generator(np.random.Philox(SEED)).integers(0, count, (RESAMPLES, count))
    low, high = np.percentile(statistic(*(array[picks] for array in arrays)), [2.5, 97.5])
    return Interval(float(statistic(*arrays)), float(low), float(high))
