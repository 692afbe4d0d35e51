"""A run, epoch by epoch: how long it takes and what it waits for. Pure functions of rates."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastload.forecast.bands import Band, Range, exactly
from fastload.forecast.edges import Beside, Edges, beside
from fastload.spec import Floats

STEP, CPU, READ, OVERLAP, START = "step", "cpu", "read", "overlap", "start"
LIMITS = (STEP, CPU, READ)
PERFECT = 64.0  # a blend: 1 % is lost where step and loader take the same time
WORDS = {
    STEP: "the training step",
    CPU: "decoding and augmenting",
    READ: "reading",
    OVERLAP: "loader and step in each other's way",
    START: "starts of epochs",
}


@dataclass(frozen=True)
class Run:
    """What one image takes in every epoch, and how many images there are."""

    sizes: tuple[int, ...]  # px of each epoch
    images: int  # of an epoch
    step: Band  # s per image of the training step, all GPUs together
    loader: Band  # s per image of the loader, all cores together
    read: Band  # s per image of disk and network; 0 where they are no limit or not known
    blend: Range  # how well step and loader work side by side, see `both`
    edges: Edges
    together: Band | None = None  # s per image of both, where that was measured

    @cached_property
    def longest(self) -> Band:
        """Seconds per image of what is slowest."""
        return self.step.at_least(self.loader).at_least(self.read)

    @cached_property
    def training(self) -> Band:
        """Seconds per image. What was measured is no less than what is slowest alone."""
        if self.together is not None:
            return self.together
        data = self.loader.at_least(self.read)
        return Band(
            both(self.step.value, data.value, self.blend.value),
            both(self.step.low, data.low, self.blend.high),
            both(self.step.high, data.high, self.blend.low),
        )

    @cached_property
    def seconds(self) -> Band:
        """Of each epoch."""
        value = self._seconds("value", "value")
        # A slower loader has fewer images ready at an epoch's end: any two ends may be the worst
        low, high = (
            [value, *(self._seconds(end, edge) for edge in ("low", "high"))]
            for end in ("low", "high")
        )
        return Band(value, np.minimum.reduce(low), np.maximum.reduce(high))

    def _seconds(self, end: str, edge: str) -> Floats:
        found, step = self._beside(end, edge), getattr(self.step, end)
        alone = self.images - found.images
        seconds: Floats = found.images * getattr(self.training, end) + alone * step + found.waits
        return seconds

    def _beside(self, end: str, edge: str) -> Beside:
        data = self.loader.at_least(self.read)
        return beside(self.edges, edge, self.images, getattr(self.step, end), getattr(data, end))

    @property
    def total(self) -> Range:
        """Seconds of the whole run."""
        return self.seconds.total()

    @property
    def busy(self) -> Range:
        """Share of the run in which the GPUs work."""
        step = self.step.times(exactly(self.images))
        estimate = float(step.value.sum() / self.seconds.value.sum())
        # A slower step and a faster loader go with each other here, and the other way round
        most = replace(self, step=_only(self.step, "high"), loader=_only(self.loader, "low"))
        least = replace(self, step=_only(self.step, "low"), loader=_only(self.loader, "high"))
        ends = [estimate]
        if self.together is None:
            ends += [one.images * one.step.value.sum() / one.total.value for one in (most, least)]
        return Range(min(1.0, estimate), min(1.0, *ends), min(1.0, max(ends)))

    @property
    def limits(self) -> tuple[str, ...]:
        """Of each epoch, what is slowest: one of LIMITS."""
        rows = np.stack([self.step.value, self.loader.value, self.read.value])
        return tuple(LIMITS[index] for index in rows.argmax(axis=0))

    @property
    def waits(self) -> dict[str, Floats]:
        """Seconds of each epoch in which the GPUs wait, by cause; they add up to all waiting."""
        step, loader = self.step.value, np.maximum(self.step.value, self.loader.value)
        longest, training = self.longest.value, self.training.value
        found = self._beside("value", "value")
        # Where both were measured together, that is the whole: causes share it in proportion.
        waiting = found.images * np.maximum(training - step, 0)
        parts = {
            CPU: loader - step,
            READ: longest - loader,
            OVERLAP: np.maximum(training - longest, 0),
        }
        whole = np.maximum(sum(parts.values(), np.zeros(len(step))), 1e-300)
        waits = {cause: waiting * part / whole for cause, part in parts.items()}
        return waits | {START: found.waits}


def both(step: Floats, data: Floats, blend: float) -> Floats:
    """Seconds per image where step and loader work side by side.

    With `blend` 1 they come one after the other, as without workers. With a large one the longer
    alone counts. Between them the loss is largest where both take the same time, for then each
    waits for the other's late batches; where one is much longer there is none.
    """
    longer, shorter = np.maximum(step, data), np.minimum(step, data)
    part = np.divide(shorter, longer, out=np.zeros_like(longer), where=longer > 0)
    seconds: Floats = longer * (1 + part**blend) ** (1 / blend)
    return seconds


def blend_of(loss: float) -> float:
    """The blend with which the two take `loss` times what one of them takes alone, where both take
    the same time.
    """
    return float(np.clip(np.log(2) / np.log(max(loss, 1 + 1e-9)), 1, PERFECT))


def _only(band: Band, which: str) -> Band:
    values: Floats = getattr(band, which)
    return Band(values, values, values)
