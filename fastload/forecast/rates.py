"""Rates that were measured at some sizes become seconds per image at every size of a schedule."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fastload.forecast.bands import Band
from fastload.measure import Sample, quantile
from fastload.spec import Floats

LEAST = 0.02  # of the estimate: half the width of the narrowest interval


def spread(samples: Iterable[Sample]) -> float:
    """Half the width of a 90 % interval for a further run, as a share of the estimate.

    Each sample's replicates are compared with its own median, and all are pooled: the machine's
    drift is the same for all of them.
    """
    deviations, freedom, count = 0.0, 0, 0
    for sample in samples:
        values = np.array(sample.values) / sample.median - 1
        deviations += float((values**2).sum())
        freedom += len(values) - 1
        count = max(count, len(values))
    if freedom < 1:
        return LEAST
    return max(LEAST, quantile(freedom) * float(np.sqrt(deviations / freedom * (1 + 1 / count))))


def per_image(measured: Mapping[int, Sample], sizes: Sequence[int]) -> Band:
    """Seconds per image, epoch by epoch, from images/s at some sizes.

    Between two measured sizes the seconds lie on a line over the image's area. Outside of all
    measured sizes the nearest one's are taken.

    measured: by side in px; sizes: of each epoch, px.
    """
    seconds = {size: 1 / sample.median for size, sample in measured.items()}
    return around(line(seconds, sizes), spread(measured.values()))


def line(known: Mapping[int, float], sizes: Sequence[int]) -> Floats:
    """What is known at some sides in px becomes what it is in each epoch, on lines over the area.

    Outside of all known sizes the nearest one's value is taken.
    """
    sides = sorted(known)
    areas = np.array([float(size) ** 2 for size in sides])
    values = np.array([known[size] for size in sides])
    found: Floats = np.interp(np.array(sizes, np.float64) ** 2, areas, values)
    return found


def around(value: Floats, half: float) -> Band:
    """A band of seconds: rates that are `half` higher or lower, as a share."""
    return Band(value, value / (1 + half), value * (1 + half))
