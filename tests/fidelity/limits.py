"""Arguments at and beyond the limits of torchvision's transforms: class, argument, its values.

Everything else about a transform is fixed, so that its outcome is certain where it has one.
"""

import math
from collections.abc import Iterator
from typing import Any

from torchvision.transforms.functional import InterpolationMode

NAN, INF = math.nan, math.inf
FILTERS = (
    InterpolationMode.BOX, InterpolationMode.NEAREST_EXACT, InterpolationMode.LANCZOS,
    0, 1, 2, 3, 4, 5, 6, "bilinear",
)  # fmt: skip
FILLS = (-1, 256, 300.5, (1, 2), (1,), [1], (1, 2, 3, 4), None, "red", NAN, (-5, 300, 2))
TURN = {"degrees": (30, 30)}
STILL = {"degrees": 0}
WARPED = {"p": 1.0, "distortion_scale": 0}
CUT = {"size": (20, 30), "scale": (1, 1), "ratio": (1, 1)}
ALWAYS = {"p": 1.0}

LIMITS: list[tuple[str, dict[str, Any], str, tuple[Any, ...]]] = [
    ("RandomPosterize", ALWAYS, "bits", (-1, 0, 1, 8, 9, True, 3.0, 2.5, "3", None)),
    ("RandomSolarize", ALWAYS, "threshold", (-1, -0.5, 0, 256, 256.5, 1000, NAN, INF, -INF, None)),
    ("RandomAdjustSharpness", ALWAYS, "sharpness_factor", (-1, -0.5, 0, 1e9, NAN, INF, True, None)),
    ("ColorJitter", {}, "brightness", (-1, (-1, 1), (2, 1), (1, 1), (0, 0), (1e9, 1e9), "1")),
    ("ColorJitter", {}, "contrast", ((1e30, 1e30), (1e39, 1e39), NAN, INF, (0.5, INF))),
    ("ColorJitter", {}, "hue", (-0.1, 0.6, (0.6, 0.6), (0.5, 0.5), (-0.5, -0.5), (0.3, 0.1), NAN)),
    ("RandomHorizontalFlip", {}, "p", (-0.1, 1.1, NAN, None, "0.5", True, 0, 1)),
    ("RandomInvert", {}, "p", (-0.1, 1.1, NAN, None, "0.5", True, 0, 1)),
    ("Grayscale", {}, "num_output_channels", (0, 2, 4, 3.0, "3", None)),
    ("GaussianBlur", {"sigma": (1, 1)}, "kernel_size", (0, -1, (3, 4), (3, 3, 3), 301, (255, 3))),
    ("GaussianBlur", {"kernel_size": 3}, "sigma", (0, -1, (0, 1), (2, 1), (1, 1, 1), (1, INF))),
    ("RandomRotation", {}, "degrees", (-1, (30, 10), (1, 2, 3), [5, 5], NAN, (5e38, 5e38))),
    ("RandomRotation", TURN, "center", ((1,), (1, 2, 3), (1e9, 1e9), (NAN, 0), 3, (-99, 5))),
    ("RandomRotation", TURN, "fill", FILLS),
    ("RandomRotation", TURN, "interpolation", FILTERS),
    ("RandomAffine", STILL, "scale", ((0, 1), (-1, 1), (2, 1), (1e-9, 1e-9), (1e9, 1e9))),
    ("RandomAffine", STILL, "shear", (-1, (90, 90), (89, 89), (89.5, 89.5), (2, 1), (0, 0, 2, 1))),
    ("RandomAffine", STILL, "translate", ((1.1, 0), (-0.1, 0), (0,), 0.1, (NAN, 0), (0, 0))),
    ("RandomAffine", {}, "degrees", (-1, (30, 10), NAN, (0, 0, 0))),
    ("RandomAffine", {"degrees": (9, 9)}, "fill", FILLS),
    ("RandomAffine", {"degrees": (9, 9)}, "interpolation", FILTERS),
    ("RandomPerspective", {"p": 1.0}, "distortion_scale", (-0.1, NAN, None, 0)),
    ("RandomPerspective", WARPED, "fill", FILLS),
    ("RandomResizedCrop", CUT, "scale", ((0, 0), (1, 0.5), (2, 2), (-1, 1), (1,), 0.5)),
    ("RandomResizedCrop", CUT, "ratio", ((2, 1), (0, 1), (0, 0), (-1, 1), (1,), (NAN, NAN))),
    ("RandomResizedCrop", CUT, "interpolation", FILTERS),
    ("Resize", {}, "size", (0, -1, (0, 3), (1, 2, 3), 2.5, (20.0, 30.0), (5,), True)),
    ("Resize", {"size": 20}, "max_size", (10, 20, 21, 0, -1, None)),
    ("Resize", {"size": (20, 30)}, "interpolation", FILTERS),
    ("CenterCrop", {}, "size", (-1, (1, 2, 3), 2.5, (5,), (100, 200), True)),
    ("RandomCrop", {}, "size", (-1, (1, 2, 3), 2.5, (100, 200))),
    ("Pad", {}, "padding", ((1, 2, 3), 2.5, (5,), None, "1", [1, 2, 3, 4], (1.5, 2))),
    ("Pad", {"padding": 3}, "fill", FILLS),
    ("Pad", {"padding": 3}, "padding_mode", ("wrap", None)),
    ("RandAugment", {"magnitude": 0}, "num_ops", (-1, 0, 1.5, None)),
    ("RandAugment", {"num_ops": 9}, "magnitude", (31, 100, 9.5, None)),
    ("TrivialAugmentWide", {}, "num_magnitude_bins", (0, -1, 1.5)),
    ("AutoAugment", {}, "policy", ("imagenet", "food", 3)),
    ("AugMix", {}, "severity", (0, 11, -1)),
]  # fmt: skip
CHANCE = (
    "AugMix", "AutoAugment", "RandAugment", "RandomCrop", "RandomResizedCrop", "TrivialAugmentWide",
)  # fmt: skip


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Class and arguments."""
    for name, others, argument, values in LIMITS:
        for value in values:
            yield name, {**others, argument: value}
