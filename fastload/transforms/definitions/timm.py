"""timm's levels: what an op's magnitude becomes. Source: timm 1.0.31, data/auto_augment.py.

Every op call may add noise to its magnitude, cuts it to 0..mmax, and draws its own filter.
"""

from dataclasses import dataclass

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints, Longs
from fastload.transforms.base import filter_problems, is_number, probability_problems
from fastload.transforms.programs import CODE, ENHANCE, filter_number, pick, rows, sides, where
from fastload.transforms.sampling import normal, weighted_order

FULL = 10.0  # the level that fractions refer to
DRAWS = 5  # apply, magnitude, sign, filter, free
RANDOM = ("bilinear", "bicubic")  # filters of interpolation "random"
TRANSLATE = 0.45  # share of the side at level 10
MEAN = (124, 116, 104)  # round(255 * ImageNet's mean), what timm's transforms fill with
PLAIN = (
    "AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color",
    "Contrast", "Brightness",
    "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel",
)  # fmt: skip
_RISING = ("Posterize", "Solarize", *ENHANCE)
INCREASING = tuple(f"{name}Increasing" if name in _RISING else name for name in PLAIN)
AUGMIX = (
    "AutoContrast", "ColorIncreasing", "ContrastIncreasing", "BrightnessIncreasing",
    "SharpnessIncreasing", "Equalize", "Rotate",
    "PosterizeIncreasing", "SolarizeIncreasing", "ShearX", "ShearY", "TranslateXRel",
    "TranslateYRel",
)  # fmt: skip
NAMES = {*PLAIN, *INCREASING, "PosterizeOriginal", "Desaturate", "GaussianBlur", "GaussianBlurRand"}
THREE = ("SolarizeIncreasing", "Desaturate", "GaussianBlur")  # DeiT III's
# Weights of ops that are drawn without replacement, by the key "t".
WEIGHTS: dict[str, dict[str, float]] = {
    "weights": {
        "Rotate": 3, "ShearX": 2, "ShearY": 2, "TranslateXRel": 1, "TranslateYRel": 1,
        "ColorIncreasing": 0.25,
        "SharpnessIncreasing": 0.25, "AutoContrast": 0.25, "SolarizeIncreasing": 0.05,
        "SolarizeAdd": 0.05,
        "ContrastIncreasing": 0.05, "BrightnessIncreasing": 0.05, "Equalize": 0.05,
        "PosterizeIncreasing": 0.05, "Invert": 0.05,
    },
    "3aw": {
        "SolarizeIncreasing": 6, "Desaturate": 6, "GaussianBlur": 6, "Rotate": 3, "ShearX": 2,
        "ShearY": 2,
        "PosterizeIncreasing": 1, "AutoContrast": 1, "ColorIncreasing": 1, "SharpnessIncreasing": 1,
        "ContrastIncreasing": 1,
        "BrightnessIncreasing": 1, "Equalize": 1, "Invert": 1,
    },
}  # fmt: skip
# The older key "w0", by position in PLAIN and INCREASING. Source: timm 0.4.12, auto_augment.py.
W0 = (0.025, 0.005, 0, 0.3, 0, 0.005, 0.005, 0.025, 0.005, 0.005, 0.025, 0.2, 0.2, 0.1, 0.1)


@dataclass(frozen=True)
class Levels:
    """Ops drawn from `names`, each applied with probability p, at magnitude m with noise."""

    names: tuple[str, ...] = PLAIN
    weights: tuple[float, ...] | None = None  # without replacement
    p: float = 0.5
    std: float = 0.0  # of normal noise; infinity: m ~ U(0, magnitude)
    most: float = FULL
    translate: float = TRANSLATE

    def problems(self, magnitude: float, depth: int) -> list[str]:
        problems = probability_problems("p", self.p)
        if not (is_number(magnitude) and magnitude >= 0):
            problems.append(
                f"m is {magnitude}, want 0 or more (timm's definition; {FULL:g} is full strength)"
            )
        if not self.std >= 0:
            problems.append(f"mstd is {self.std}, want 0 or more")
        if self.weights is not None and depth > np.count_nonzero(self.weights):
            problems.append(
                f"n is {depth}, but only {np.count_nonzero(self.weights)} ops have a weight; each "
                "is drawn once at most"
            )
        return problems

    def draws(self, depth: int) -> int:
        return depth * DRAWS + (depth if self.weights is None else len(self.names))

    def program(
        self, u: Floats, sizes: Ints, depth: int, magnitude: float, interpolation: str
    ) -> Floats:
        calls = u[:, : depth * DRAWS].reshape(len(sizes), depth, DRAWS)
        choice = u[:, depth * DRAWS :]
        if self.weights is None:
            chosen = pick(choice, len(self.names))
        else:
            chosen = weighted_order(choice, np.array(self.weights, np.float64), depth)
        level = noisy(calls[..., 1], np.float64(magnitude), self.std, self.most)
        program = resolve(self.names, chosen, level, calls, sizes, self.translate, interpolation)
        return where(calls[..., 0] < self.p, program)


def noisy(u: Floats, magnitude: Floats, std: float, most: float) -> Floats:
    """Magnitudes of op calls, 0..most, in the shape of u."""
    level = np.broadcast_to(magnitude, u.shape)
    if std == np.inf:
        level = u * level
    elif std > 0:
        level = level + std * normal(u)
    return np.clip(level, 0.0, most)


def resolve(
    names: tuple[str, ...],
    chosen: Longs,
    level: Floats,
    calls: Floats,
    sizes: Ints,
    translate: float,
    interpolation: str,
) -> Floats:
    """Programs [N, depth, 3] of the ops at `chosen` (positions in names, int64 [N, depth]) with u
    `calls` [N, depth, DRAWS].
    """
    values = np.stack(
        [
            argument(name, level, sides(calls[..., 2]), calls[..., 4], sizes, translate)
            for name in names
        ]
    )
    codes = np.array([CODE[op_of(name)] for name in names])
    filters = filter_numbers(interpolation, calls[..., 3])
    return rows(
        look_up(codes, chosen), np.take_along_axis(values, chosen[None], axis=0)[0], filters
    )


def op_of(name: str) -> str:
    """The op (programs.CODES) behind one of timm's names."""
    other = {"TranslateXRel": "TranslateX", "TranslateYRel": "TranslateY", "Desaturate": "Color"}
    if name.startswith("GaussianBlur"):
        return "GaussianBlurPIL"
    return other.get(name) or name.removesuffix("Increasing").removesuffix("Original")


def argument(
    name: str, level: Floats, sign: Floats, u: Floats, sizes: Ints, translate: float
) -> Floats:
    """Final arguments float64 [N, depth] of one of timm's ops; u are free uniforms."""
    share = level / FULL
    if name.startswith("Translate"):
        side = sizes[:, 1:] if name == "TranslateXRel" else sizes[:, :1]
        return sign * (share * translate) * side
    if name.startswith(ENHANCE):
        return (
            np.maximum(0.1, 1.0 + sign * (share * 0.9))
            if name.endswith("Increasing")
            else share * 1.8 + 0.1
        )
    bits, threshold = np.trunc(share * 4), np.minimum(256.0, np.trunc(share * 256))
    unsigned = {
        "Posterize": np.minimum(8.0, bits), "PosterizeIncreasing": np.maximum(0.0, 4 - bits),
        "PosterizeOriginal": np.minimum(8.0, bits + 4),
        "Solarize": threshold, "SolarizeIncreasing": 256 - threshold,
        "SolarizeAdd": np.minimum(128.0, np.trunc(share * 110)),
        "Desaturate": 1.0 - np.clip(0.5 + 0.5 * share, 0.5, 1.0),
        "GaussianBlur": np.clip(0.1 + 1.9 * share, 0.1, 2.0),
        "GaussianBlurRand": 0.1 + u * (2.0 * np.clip(share, 0.0, 1.0) - 0.1),
    }  # fmt: skip
    if name in unsigned:
        values: Floats = unsigned[name]
        return values
    signed = {"Rotate": 30.0, "ShearX": 0.3, "ShearY": 0.3}
    out: Floats = sign * (share * signed.get(name, 0.0))
    return out


def filter_numbers(interpolation: str, u: Floats) -> Floats:
    """PIL's filter numbers in the shape of u."""
    if interpolation != "random":
        return np.full(u.shape, float(filter_number(interpolation)))
    numbers = [float(filter_number(name)) for name in RANDOM]
    drawn: Floats = look_up(numbers, pick(u, len(RANDOM)))
    return drawn


def interpolation_problems(interpolation: str) -> list[str]:
    return filter_problems(interpolation, ("random", "nearest", "bilinear", "bicubic"))
