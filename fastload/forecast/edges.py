"""How an epoch begins and ends, where step and loader do not work side by side."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastload.forecast.bands import Band, Range, exactly
from fastload.spec import Floats


@dataclass(frozen=True)
class Edges:
    """The first `fill` images are made before there is a step. Then a loader of worker processes
    goes on until it is `ahead`; on the step's own cores it slows the step meanwhile. When it has
    made all images, the last steps run alone.
    """

    start: Band | Range  # s from an epoch's begin until batches are made
    fill: Range = field(default=exactly(0.0))  # images that are made before an epoch's first step
    ahead: float = 0.0  # images; 0 where the loader gives way to the step
    # Of the step and of the loader while it gets ahead; alone each has 1
    paces: tuple[float, float] = (1.0, 1.0)
    closing: Range = field(default=exactly(0.0))  # s from an epoch's last step until it is over


class Beside(NamedTuple):
    """Of each epoch: the rest of its images have a step that runs alone."""

    images: Floats  # whose step runs beside the loader, both at the pace of a long epoch
    waits: Floats  # s that the step waits besides, or is slowed


def beside(edges: Edges, end: str, images: int, step: Floats, data: Floats) -> Beside:
    """end: which of the edges' numbers count; images: of an epoch; step, data: s per image, alone,
    of each epoch.
    """
    start, fill, closing = (getattr(each, end) for each in (edges.start, edges.fill, edges.closing))
    fill = min(fill, float(images))
    first = start + fill * data + closing
    found = Beside(np.full(len(step), images - fill), first * np.ones(len(step)))
    if edges.ahead <= fill:
        return found
    rates = [
        pace * np.divide(1.0, each, out=np.full(len(step), np.inf), where=each > 0)
        for pace, each in zip(edges.paces, (step, data), strict=True)
    ]
    gains = np.maximum(rates[1] - rates[0], 1e-9)  # images/s, until it is ahead
    seconds = (edges.ahead - fill) / gains
    slowed = seconds * rates[0]  # images whose step runs meanwhile
    rest = images - slowed - edges.ahead
    return Beside(
        np.where(rest > 0, rest, found.images),
        np.where(rest > 0, first + seconds - slowed * step, found.waits),
    )
