"""Composer's and the TrivialAugment authors' magnitudes and draws, number by number."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.definitions import composer, official
from fastload.transforms.programs import CODE, rows

from .definition_helpers import SIZE, drawn


def by_hand(level, u, severity):
    """Composer's arguments of one image of SIZE, op by op: level ~ U(0.1, severity)."""
    symmetric = 1 + u * (severity - 1), 1 - u * 0.09 * severity
    return {
        "Posterize": {4 - int(level * 4 / 10)}, "Solarize": {256 - int(level * 256 / 10)},
        "Rotate": {-int(level * 30 / 10), int(level * 30 / 10)},
        "ShearX": {-level * 0.3 / 10, level * 0.3 / 10}, "ShearY": {-level * 0.3 / 10,
        level * 0.3 / 10},
        "TranslateX": {-int(level * (60 / 3) / 10), int(level * (60 / 3) / 10)},
        "TranslateY": {-int(level * (90 / 3) / 10), int(level * (90 / 3) / 10)},
        "Color": set(symmetric), "Contrast": set(symmetric), "Sharpness": set(symmetric),
        "Brightness": {f * 0.75 if f > 1 else f for f in symmetric}, "AutoContrast": {0},
        "Equalize": {0},
    }  # fmt: skip


@pytest.mark.parametrize("augmentation_set", composer.SETS)
@pytest.mark.parametrize("severity", [0.5, 3, 10])
def test_composers_arguments(severity, augmentation_set):
    op = T.RandAugment.composer(severity, 1, augmentation_set)
    u = np.random.default_rng(5).random((500, 4))
    for (code, argument, number), draw in zip(
        op.params(u, np.repeat(SIZE, 500, axis=0)).records[:, 0], u, strict=True
    ):
        name = composer.SETS[augmentation_set][int(draw[0] * len(composer.SETS[augmentation_set]))]
        level = 0.1 + draw[1] * (severity - 0.1)
        original = augmentation_set == "original" and name in (
            "Color",
            "Contrast",
            "Brightness",
            "Sharpness",
        )
        want = {level * 1.8 / 10 + 0.1} if original else by_hand(level, draw[1], severity)[name]
        assert (code, number) == (CODE[name], 2)
        assert min(abs(argument - w) for w in want) < 1e-12


def test_composers_draws(p_value):
    for augmentation_set, names in composer.SETS.items():
        programs = drawn(T.RandAugment.composer(10, 1, augmentation_set), 100_000, 15)[:, 0]
        counts = np.array([(programs[:, 0] == CODE[name]).sum() for name in names])
        assert p_value(counts, np.full(len(names), 1 / len(names))) > 1e-3
        shears = programs[programs[:, 0] == CODE["ShearY"], 1]
        counts, _ = np.histogram(shears, [-0.3, -0.15, -0.003, 0.003, 0.15, 0.3])
        half = np.array([(10 - 5) / 9.9, (5 - 0.1) / 9.9]) / 2
        assert p_value(counts, np.array([half[0], half[1], 0, half[1], half[0]])) > 1e-3
    factors = drawn(T.RandAugment.composer(10, 1), 100_000, 16)[:, 0]
    factors = factors[factors[:, 0] == CODE["Contrast"], 1]
    counts, _ = np.histogram(factors, [0.1, 0.4, 0.7, 1.0, 4.0, 7.0, 10.0])
    assert p_value(counts, np.full(6, 1 / 6)) > 1e-3


def test_composers_pixels(make_image):
    image = Image.fromarray(make_image(90, 60, 2))
    op = T.RandAugment.composer()
    shear = image.transform(
        image.size, Image.Transform.AFFINE, (1, 0.21, 0, 0, 1, 0), Image.Resampling.BILINEAR
    )
    for name, argument, want in (
        ("ShearX", 0.21, shear), ("Rotate", -12.0, image.rotate(-12, Image.Resampling.BILINEAR)),
        ("Solarize", 30.0, ImageOps.solarize(image, 30)),
        ("Sharpness", 7.3, ImageEnhance.Sharpness(image).enhance(7.3)),
    ):  # fmt: skip
        np.testing.assert_array_equal(
            np.asarray(pil.apply(op, image, rows([CODE[name]], [argument], 2))), np.asarray(want)
        )


def test_the_authors_trivialaugment():
    levels = np.arange(31.0)[None]
    values = official.arguments(levels, np.ones_like(levels))[:, 0]
    bits = np.bincount(values[CODE["Posterize"]].astype(int), minlength=9)
    assert bits.tolist() == [0, 0, 1, 5, 5, 5, 5, 5, 5]
    assert values[CODE["Solarize"], [0, 1, 2, 29, 30]].tolist() == [256, 248, 239, 9, 0]
    assert values[CODE["Color"], [0, 30]] == pytest.approx([0.01, 2.0])
    assert values[CODE["Rotate"], [1, 30]].tolist() == [4, 135]
    assert values[CODE["TranslateX"], [1, 15, 30]].tolist() == [1, 16, 32]
    assert values[CODE["ShearX"], 30] == pytest.approx(0.99)


def test_the_authors_draws(p_value):
    programs = drawn(T.TrivialAugmentWide.official(), 100_000, 17)[:, 0]
    counts = np.array([(programs[:, 0] == CODE[name]).sum() for name in official.NAMES])
    assert p_value(counts, np.full(14, 1 / 14)) > 1e-3
    factors = programs[programs[:, 0] == CODE["Sharpness"], 1]
    assert (
        p_value(np.bincount(np.rint((factors - 0.01) / 1.99 * 30).astype(int)), np.full(31, 1 / 31))
        > 1e-3
    )
    assert T.TrivialAugmentWide(30, definition=official.Wide()).problems(Spec()) == [
        "num_magnitude_bins is 30, want 31 (the authors' definition)"
    ]
