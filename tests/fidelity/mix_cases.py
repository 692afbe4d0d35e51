"""Random mixes of random samples: fastload, and the transforms themselves on Pillow's images, told
the same draws. Partners have gone through the steps before the mix, in both.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image
from torchvision.transforms import v2

from fastload import detection
from fastload.detection.box_mix import BoxMix
from fastload.joint.mixing import Partner
from fastload.joint.picture import Picture
from fastload.joint.samples import draws, moves
from fastload.joint.steps import JointStep
from fastload.lowering import joint_steps
from fastload.parity.told import told
from fastload.spec import Work
from tests.fidelity.joint_cases import MAKERS, Random, same, sample

SAMPLES = 4
Pair = tuple[Any, Any]  # an image and its target


def _fill(rng: Random) -> Any:
    colour = [int(value) for value in rng.integers(0, 256, 3)]
    return [colour[0], colour][rng.integers(0, 2)]


def _sides(rng: Random) -> tuple[int, int]:
    high, wide = rng.integers(2, 70, 2)
    return int(high), int(wide)


MIXES: dict[str, Callable[[Random], Any]] = {
    "Mosaic": lambda rng: detection.Mosaic(_sides(rng), 0.9, _fill(rng)),
    "MixUp": lambda rng: detection.MixUp(float(rng.uniform(0.2, 40)), 0.9, _fill(rng)),
    "CopyPaste": lambda rng: detection.CopyPaste(0.9, blending=bool(rng.integers(0, 2))),
}
# What may stand before or after a mix. A mosaic may have no object left for those that want one.
AFTER = ("RandomHorizontalFlip", "RandomCrop", "RandomAffine", "RandomZoomOut")
BEFORE = (*AFTER, "ScaleJitter")  # what a mix makes may be so flat that no row is left of it


def transforms(name: str, seed: int) -> list[Any]:
    """The mix; now and then between other transforms, or after another mix."""
    rng = np.random.default_rng([seed, 2])
    mixes = [MIXES[name](rng)]
    if rng.random() < 0.3:
        mixes.insert(0, MIXES[list(MIXES)[rng.integers(0, 3)]](rng))
    before, after = (
        [MAKERS[each](rng) for each in rng.choice(names, rng.integers(0, 2))]
        for names in (BEFORE, AFTER)
    )
    return [*before, *mixes, *after]


def differences(parts: Sequence[Any], seed: int) -> list[str]:
    """What of a random sample is not the transforms' own, with the same draws."""
    rng = np.random.default_rng(seed)
    samples = [sample(rng) for _ in range(SAMPLES)]
    lowered = joint_steps.of(
        v2.Compose([*parts, v2.PILToTensor()]), lambda _: ((), []), partners=True
    )
    assert not lowered.unknown, lowered.unknown
    work = Work(np.array([0]), np.array([0]), seed, 0, 0)
    (picture, got), (image, want) = _made(samples, work, parts, lowered.steps)
    out = [key for key in want if not same(got[key], want[key])]
    counts = {len(value) for key, value in got.items()}
    pixels = picture.made()
    fits = pixels.shape == np.asarray(image).shape and np.array_equal(pixels, np.asarray(image))
    return [*([] if fits else ["image"]), *out, *([] if len(counts) == 1 else ["counts"])]


def _made(
    samples: Sequence[Pair], work: Work, parts: Sequence[Any], steps: Sequence[JointStep]
) -> tuple[Pair, Pair]:
    """A sample after the steps, and after the transforms."""
    pixels, target = samples[int(work.samples[0])]
    picture, image = Picture(pixels, pixels.shape[:2]), Image.fromarray(pixels)
    got = want = target
    others: list[Pair] = []

    def fetch(step: int, at: float, seed: int) -> Partner:
        number = int(at * len(samples))
        alone = Work(np.array([number]), np.array([0]), seed, 0, 0)
        ours, theirs = _made(samples, alone, parts[: step - 1], steps[: step - 1])
        others.append(theirs)
        return Partner(number, *ours)

    drawn = moves(steps, picture, target, draws(work, 0), others=fetch)
    for part, one in zip(parts, drawn, strict=True):
        got = one.target
        if not isinstance(part, BoxMix):
            image, want = told(part, one.params)(image, want)
        elif one.params is not None:
            image, want = part.mixed([(image, want), *others], one.params)
        others.clear()
    return (picture, got), (image, want)
