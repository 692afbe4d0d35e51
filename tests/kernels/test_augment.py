"""AUGMENT: every instruction, scalar and tuned, against the installed Pillow and torchvision."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from .augment_helpers import (
    FILTERS,
    affine_maps,
    augmented,
    border_parts,
    every_image,
    images,
    instruction,
)
from .helpers import assert_pillows

FACTORS = (-0.7, 0, 0.01, 0.1, 1 / 3, 0.5, 0.9, 1, 1.05, 1.9, 3.7, 9.99)
PILLOWS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
both = pytest.mark.parametrize("target", ["scalar", "best"])


def solarize_add(image, add, threshold):
    return image.point([min(255, v + add) if v < threshold else v for v in range(256)] * 3)


CASES = [
    *((f"{name}", (factor,), lambda p, f, name=name: getattr(ImageEnhance, name)(p).enhance(f))
      for name in ("Brightness", "Contrast", "Color", "Sharpness") for factor in FACTORS),
    *(("Posterize", (bits,), ImageOps.posterize) for bits in range(1, 9)),
    *(("Solarize", (threshold,), ImageOps.solarize) for threshold in (-1, 0, 1, 127.5, 128, 255,
    256)),
    *(("SolarizeAdd", (add, threshold), solarize_add) for add in (0, 37, 110,
    255) for threshold in (0, 128, 256)),
    ("Invert", (), ImageOps.invert),
    ("AutoContrast", (), ImageOps.autocontrast),
    ("Equalize", (), ImageOps.equalize),
    ("Grayscale", (), lambda p: p.convert("L").convert("RGB")),
    ("FlipX", (), ImageOps.mirror),
    ("FlipY", (), ImageOps.flip),
    ("Identity", (), lambda p: p),
]  # fmt: skip


@both
@pytest.mark.parametrize(
    ("name", "arguments", "pillow"),
    CASES,
    ids=lambda v: str(v) if isinstance(v, (str, tuple)) else "",
)
def test_colours_are_pillows(name, arguments, pillow, target):
    for image in every_image():
        want = np.asarray(pillow(Image.fromarray(image), *arguments))
        assert_pillows(augmented(image, instruction(name, *arguments), target=target), want)


@both
@pytest.mark.parametrize("kind", range(4))
def test_borders_are_numpys(kind, target):
    fill = (7, 250, 99)
    mode = ("constant", "edge", "reflect", "symmetric")[kind]
    for image in every_image():
        height, width, _ = image.shape
        for part in border_parts(height, width):
            top, left, high, wide = part
            inside = image[top : top + high, left : left + wide]
            beyond = [(top, height - top - high), (left, width - left - wide)]
            options = {"constant_values": 0} if mode == "constant" else {}
            want = np.pad(inside, [*beyond, (0, 0)], mode=mode, **options)
            if mode == "constant":
                want = np.full_like(image, fill)
                want[top : top + high, left : left + wide] = inside
            got = augmented(image, instruction("Border", kind, *part, fill=fill), target=target)
            np.testing.assert_array_equal(got, want, err_msg=f"{image.shape} {part}")


@both
@pytest.mark.parametrize("sampling", FILTERS)
def test_affine_is_pillows(sampling, target):
    for number, image in enumerate(every_image()):
        height, width, _ = image.shape
        for place, a in enumerate(affine_maps(height, width, number)):
            fill = (0, 0, 0) if place % 2 else (7, 250, 99)
            want = Image.fromarray(image).transform(
                (width, height), Image.Transform.AFFINE, a, PILLOWS[sampling], fillcolor=fill
            )
            got = augmented(
                image, instruction("Affine", *a, sampling=sampling, fill=fill), target=target
            )
            assert_pillows(got, np.asarray(want), f"{image.shape} {a}")


@both
@pytest.mark.parametrize("sampling", FILTERS)
def test_perspective_is_pillows(sampling, target):
    for number, image in enumerate(every_image()):
        height, width, _ = image.shape
        rng = np.random.default_rng(number)
        for a in affine_maps(height, width, number):
            map8 = [*a, rng.normal(0, 0.3 / width), rng.normal(0, 0.3 / height)]
            want = Image.fromarray(image).transform(
                (width, height),
                Image.Transform.PERSPECTIVE,
                map8,
                PILLOWS[sampling],
                fillcolor=(9, 8, 7),
            )
            got = augmented(
                image,
                instruction("Perspective", *map8, sampling=sampling, fill=(9, 8, 7)),
                target=target,
            )
            np.testing.assert_array_equal(got, np.asarray(want), err_msg=f"{image.shape} {map8}")


@both
@pytest.mark.parametrize("turn", [0, 1, 25, 100, 128, 255])
def test_hue_is_pillows(turn, target):
    colours = np.concatenate([np.arange(256) * 0x010101, np.arange(0, 1 << 24, 37)])[
        : 600 * 756
    ]  # the greys too
    image = (
        np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1)
        .astype(np.uint8)
        .reshape(600, 756, 3)
    )
    hue, saturation, value = Image.fromarray(image).convert("HSV").split()
    turned = Image.fromarray(np.asarray(hue) + np.uint8(turn))
    want = Image.merge("HSV", (turned, saturation, value)).convert("RGB")
    np.testing.assert_array_equal(
        augmented(image, instruction("Hue", turn), target=target), np.asarray(want)
    )


@both
@pytest.mark.parametrize(
    ("kernel", "sigma"),
    [
        ((3, 3), (0.5, 0.5)),
        ((5, 9), (0.1, 2.0)),
        ((23, 23), (1.7, 1.7)),
        ((1, 3), (1, 1)),
        ((25, 25), (9, 0.3)),
    ],
    ids=str,
)
def test_gaussian_blur_is_torchvisions_but_for_ties(kernel, sigma, target):
    """torchvision sums the two-dimensional kernel in an order of its own: a sum near .5 may round
    the other way.
    """
    functional = pytest.importorskip("torchvision.transforms.functional")
    for image in every_image():
        if kernel[1] // 2 >= image.shape[0] or kernel[0] // 2 >= image.shape[1]:
            continue
        want = np.asarray(
            functional.gaussian_blur(Image.fromarray(image), list(kernel), list(sigma))
        ).astype(int)
        difference = np.abs(
            augmented(image, instruction("GaussianBlur", *kernel, *sigma), target=target) - want
        )
        assert difference.max() <= 1
        assert (difference > 0).mean() <= 0.005


@both
@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 1.625, 5.5, 127.0])
def test_box_blur_is_pillows(radius, target):
    for image in every_image():
        want = Image.fromarray(image).filter(ImageFilter.BoxBlur(radius))
        np.testing.assert_array_equal(
            augmented(image, instruction("BoxBlur", radius, radius, 1), target=target),
            np.asarray(want),
        )


@both
@pytest.mark.parametrize("sigma", [0.1, 0.7, 1.3, 2.0, 10.0])
def test_three_boxes_are_pillows_gaussian_blur(sigma, target):
    """Radius of the boxes:

    Gwosdek et al. 2011, equations 7, 11 and 14, in float32 as Pillow has them.
    """
    variance = np.float32(sigma) * np.float32(sigma) / np.float32(3)
    whole = np.floor((np.sqrt(12.0 * variance + 1.0) - 1.0) / 2.0).astype(np.float32)
    part = (
        (2 * whole + 1)
        * (whole * (whole + 1) - 3 * variance)
        / (6 * (variance - (whole + 1) * (whole + 1)))
    )
    for image in every_image():
        want = Image.fromarray(image).filter(ImageFilter.GaussianBlur(sigma))
        found = augmented(
            image, instruction("BoxBlur", whole + part, whole + part, 3), target=target
        )
        np.testing.assert_array_equal(found, np.asarray(want))


def test_a_blurred_constant_stays_and_a_blur_keeps_the_mean():
    for image in (images(37, 53)["one colour"], images(1, 1)["random"]):
        taps = min(image.shape[:2]) * 2 - 1
        np.testing.assert_array_equal(
            augmented(image, instruction("GaussianBlur", taps, taps, 5, 5), target="best"), image
        )


@pytest.mark.parametrize("bits", [0, 8])
def test_no_bits_are_black_and_eight_change_nothing(bits):
    image = images(13, 17)["random"]
    np.testing.assert_array_equal(
        augmented(image, instruction("Posterize", bits), target="best"), image * (bits == 8)
    )
