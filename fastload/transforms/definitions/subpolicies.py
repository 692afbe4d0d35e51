"""AutoAugment's learned sub-policies: 25 of two ops each, (op, probability, magnitude).

Sources: Cubuk et al. 2018, arXiv:1805.09501, appendix (imagenet, cifar10, svhn), as torchvision
0.26 and timm 1.0.31 have them (transforms/autoaugment.py, data/auto_augment.py); v0 is TPU
EfficientNet's, as timm has it.
Magnitudes of ops without an argument are 0.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Call(NamedTuple):
    """One op of a sub-policy."""

    op: str
    p: float
    magnitude: int


SubPolicies = tuple[tuple[Call, ...], ...]


def parse(text: str) -> SubPolicies:
    """Lines of "Op p magnitude, Op p magnitude"."""

    def call(words: list[str]) -> Call:
        return Call(words[0], float(words[1]), int(words[2]))

    return tuple(
        tuple(call(part.split()) for part in line.split(",")) for line in text.strip().splitlines()
    )


IMAGENET = parse("""
Posterize 0.4 8, Rotate 0.6 9
Solarize 0.6 5, AutoContrast 0.6 0
Equalize 0.8 0, Equalize 0.6 0
Posterize 0.6 7, Posterize 0.6 6
Equalize 0.4 0, Solarize 0.2 4
Equalize 0.4 0, Rotate 0.8 8
Solarize 0.6 3, Equalize 0.6 0
Posterize 0.8 5, Equalize 1.0 0
Rotate 0.2 3, Solarize 0.6 8
Equalize 0.6 0, Posterize 0.4 6
Rotate 0.8 8, Color 0.4 0
Rotate 0.4 9, Equalize 0.6 0
Equalize 0.0 0, Equalize 0.8 0
Invert 0.6 0, Equalize 1.0 0
Color 0.6 4, Contrast 1.0 8
Rotate 0.8 8, Color 1.0 2
Color 0.8 8, Solarize 0.8 7
Sharpness 0.4 7, Invert 0.6 0
ShearX 0.6 5, Equalize 1.0 0
Color 0.4 0, Equalize 0.6 0
Equalize 0.4 0, Solarize 0.2 4
Solarize 0.6 5, AutoContrast 0.6 0
Invert 0.6 0, Equalize 1.0 0
Color 0.6 4, Contrast 1.0 8
Equalize 0.8 0, Equalize 0.6 0
""")
CIFAR10 = parse("""
Invert 0.1 0, Contrast 0.2 6
Rotate 0.7 2, TranslateX 0.3 9
Sharpness 0.8 1, Sharpness 0.9 3
ShearY 0.5 8, TranslateY 0.7 9
AutoContrast 0.5 0, Equalize 0.9 0
ShearY 0.2 7, Posterize 0.3 7
Color 0.4 3, Brightness 0.6 7
Sharpness 0.3 9, Brightness 0.7 9
Equalize 0.6 0, Equalize 0.5 0
Contrast 0.6 7, Sharpness 0.6 5
Color 0.7 7, TranslateX 0.5 8
Equalize 0.3 0, AutoContrast 0.4 0
TranslateY 0.4 3, Sharpness 0.2 6
Brightness 0.9 6, Color 0.2 8
Solarize 0.5 2, Invert 0.0 0
Equalize 0.2 0, AutoContrast 0.6 0
Equalize 0.2 0, Equalize 0.6 0
Color 0.9 9, Equalize 0.6 0
AutoContrast 0.8 0, Solarize 0.2 8
Brightness 0.1 3, Color 0.7 0
Solarize 0.4 5, AutoContrast 0.9 0
TranslateY 0.9 9, TranslateY 0.7 9
AutoContrast 0.9 0, Solarize 0.8 3
Equalize 0.8 0, Invert 0.1 0
TranslateY 0.7 9, AutoContrast 0.9 0
""")
SVHN = parse("""
ShearX 0.9 4, Invert 0.2 0
ShearY 0.9 8, Invert 0.7 0
Equalize 0.6 0, Solarize 0.6 6
Invert 0.9 0, Equalize 0.6 0
Equalize 0.6 0, Rotate 0.9 3
ShearX 0.9 4, AutoContrast 0.8 0
ShearY 0.9 8, Invert 0.4 0
ShearY 0.9 5, Solarize 0.2 6
Invert 0.9 0, AutoContrast 0.8 0
Equalize 0.6 0, Rotate 0.9 3
ShearX 0.9 4, Solarize 0.3 3
ShearY 0.8 8, Invert 0.7 0
Equalize 0.9 0, TranslateY 0.6 6
Invert 0.9 0, Equalize 0.6 0
Contrast 0.3 3, Rotate 0.8 4
Invert 0.8 0, TranslateY 0.0 2
ShearY 0.7 6, Solarize 0.4 8
Invert 0.6 0, Rotate 0.8 4
ShearY 0.3 7, TranslateX 0.9 3
ShearX 0.1 6, Invert 0.6 0
Solarize 0.7 2, TranslateY 0.6 7
ShearY 0.8 4, Invert 0.8 0
ShearX 0.7 9, TranslateY 0.8 3
ShearY 0.8 5, AutoContrast 0.7 0
ShearX 0.7 2, Invert 0.1 0
""")
V0 = parse("""
Equalize 0.8 0, ShearY 0.8 4
Color 0.4 9, Equalize 0.6 0
Color 0.4 1, Rotate 0.6 8
Solarize 0.8 3, Equalize 0.4 0
Solarize 0.4 2, Solarize 0.6 2
Color 0.2 0, Equalize 0.8 0
Equalize 0.4 0, SolarizeAdd 0.8 3
ShearX 0.2 9, Rotate 0.6 8
Color 0.6 1, Equalize 1.0 0
Invert 0.4 0, Rotate 0.6 0
Equalize 1.0 0, ShearY 0.6 3
Color 0.4 7, Equalize 0.6 0
Posterize 0.4 6, AutoContrast 0.4 0
Solarize 0.6 8, Color 0.6 9
Solarize 0.2 4, Rotate 0.8 9
Rotate 1.0 7, TranslateYRel 0.8 9
ShearX 0.0 0, Solarize 0.8 4
ShearY 0.8 0, Color 0.6 4
Color 1.0 0, Rotate 0.6 2
Equalize 0.8 0, Equalize 0.0 0
Equalize 1.0 0, AutoContrast 0.6 0
ShearY 0.4 7, SolarizeAdd 0.6 7
Posterize 0.8 2, Solarize 0.6 10
Solarize 0.6 8, Equalize 0.6 0
Color 0.8 6, Rotate 0.4 5
""")
THREE = parse("""
Solarize 1.0 5
Desaturate 1.0 10
GaussianBlurRand 1.0 10
""")
WITHOUT = ("AutoContrast", "Equalize", "Invert")  # ops without an argument
TORCHVISION = {"imagenet": IMAGENET, "cifar10": CIFAR10, "svhn": SVHN}
TIMM = {
    "original": (IMAGENET, "PosterizeOriginal"), "originalr": (IMAGENET, "PosterizeIncreasing"),
    "v0": (V0, "Posterize"), "v0r": (V0, "PosterizeIncreasing"), "3a": (THREE, "Posterize"),
}  # fmt: skip


def same(calls: Iterable[Iterable[Call]], policies: SubPolicies) -> bool:
    """Whether they are the same calls, but for magnitudes that no op reads."""
    read = tuple(
        tuple(call._replace(magnitude=0) if call.op in WITHOUT else call for call in pair)
        for pair in calls
    )
    return read == policies


def timm(name: str) -> SubPolicies:
    """timm's policy of that name, in timm's own op names."""
    policies, posterize = TIMM[name]
    return tuple(
        tuple(call._replace(op=posterize) if call.op == "Posterize" else call for call in pair)
        for pair in policies
    )
