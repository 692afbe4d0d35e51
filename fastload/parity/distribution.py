"""Whether a backend that draws its own numbers makes images of the same kind: its pixels are
others, their distribution must not be.

Each image becomes a few numbers. Where both backends draw from one distribution, it is a coin's
throw which of an image's two results has the larger number, so their differences are as likely with
the other sign. This is the sign-flip test; what the images themselves differ by cancels out. The
sum's distribution over all signs is taken as normal.
Source: Fisher 1935, The Design of Experiments, section 21.
"""

import math

import numpy as np
import torch

from fastload.spec import Floats

FEATURES = ("brightness", "contrast", "colour", "detail", "left to right", "top to bottom")
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
    """How likely paired samples [N, K] are this far apart in the location or the spread of any of
    their K numbers (0..1; Bonferroni).
    """
    middle = (got + want).mean(axis=0) / 2
    signs = np.concatenate([got - want, (got - middle) ** 2 - (want - middle) ** 2], axis=1)
    count: int = signs.shape[1]
    return min(1.0, count * min(sign_flip(signs[:, k]) for k in range(count)))


def sign_flip(differences: Floats) -> float:
    """The two-sided p-value of differences [N] that are as likely with the other sign."""
    size = math.sqrt(float((differences**2).sum()))
    return math.erfc(abs(float(differences.sum())) / size / math.sqrt(2)) if size else 1.0
