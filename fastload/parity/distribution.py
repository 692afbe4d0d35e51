"""Whether a backend that draws its own numbers makes images of the same kind: its pixels are others, their distribution must not be.

Each image becomes a few numbers, and each number's distribution over all images is compared by the Kolmogorov-Smirnov test.
Source: Massey 1951, doi:10.1080/01621459.1951.10500769; the series and its small-sample correction: Stephens 1970.
"""

import math

import numpy as np
import torch

from fastload.spec import Floats

FEATURES = ("brightness", "contrast", "colour", "detail", "left to right", "top to bottom")
TERMS = 100  # of the series, which is as good as zero long before
UNLIKELY = 0.001  # a chance below this is called another distribution
LEAST = 16  # images, below which nothing can be told


def features(images: torch.Tensor) -> Floats:
    """float64 [N, FEATURES] of images [N, C, H, W], levels."""
    grey = images.mean(dim=1)
    top, left = (max(1, side // 2) for side in grey.shape[1:])
    parts = (
        grey.mean(dim=(1, 2)),
        grey.std(dim=(1, 2), correction=0),
        (images.amax(dim=1) - images.amin(dim=1)).mean(dim=(1, 2)),
        grey.diff(dim=2).abs().sum(dim=(1, 2)) / max(1, grey[0].numel()),
        grey[:, :, -left:].mean(dim=(1, 2)) - grey[:, :, :left].mean(dim=(1, 2)),
        grey[:, -top:].mean(dim=(1, 2)) - grey[:, :top].mean(dim=(1, 2)),
    )
    return np.asarray(torch.stack(parts, dim=1).numpy(), np.float64)


def chance(got: Floats, want: Floats) -> float:
    """How likely two samples [N, K] and [M, K] of one distribution are this far apart in any of their K numbers (0..1; Bonferroni)."""
    count: int = got.shape[1]
    least: float = min(smirnov(got[:, k], want[:, k]) for k in range(count))
    return min(1.0, count * least)


def smirnov(a: Floats, b: Floats) -> float:
    """The two-sample Kolmogorov-Smirnov test's p-value, asymptotic; a [N], b [M]."""
    values = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(part), values, side="right") / len(part) for part in (a, b)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:  # the series does not settle there, and the answer is 1 to ten digits
        return 1.0
    terms = (math.exp(-2 * (k * scaled) ** 2) * (1 if k % 2 else -1) for k in range(1, TERMS))
    return min(1.0, max(0.0, 2 * sum(terms)))
