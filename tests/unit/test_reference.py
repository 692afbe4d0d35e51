"""Given its record, each op gives torchvision v2's own pixels on PIL images."""

# ruff: noqa: ARG005  # the table's functions share one signature

import inspect
import math
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from fastload import _native
from fastload import transforms as T
from fastload.backends.native import instructions
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.base import FILTERS
from fastload.transforms.programs import CODE, CODES, WRITTEN_AS, row_words, rows
from fastload.transforms.reference.augment import DRAWN, gaussian_weights

from .reference_helpers import HEIGHT, MODES, WIDTH, images


def shear(image, degrees, mode, fill):
    return F.affine(image, 0.0, [0, 0], 1.0, degrees, mode, fill, [0, 0])


# One of programs.CODES as torchvision's functional does it: image, argument (shears: degrees),
# InterpolationMode, fill.
FUNCTIONAL = {
    "Identity": lambda i, a, m, f: i,
    "ShearX": lambda i, a, m, f: shear(i, [a, 0.0], m, f),
    "ShearY": lambda i, a, m, f: shear(i, [0.0, a], m, f),
    "TranslateX": lambda i, a, m, f: F.affine(i, 0.0, [int(a), 0], 1.0, [0.0, 0.0], m, f),
    "TranslateY": lambda i, a, m, f: F.affine(i, 0.0, [0, int(a)], 1.0, [0.0, 0.0], m, f),
    "Rotate": lambda i, a, m, f: F.rotate(i, a, m, fill=f),
    "Brightness": lambda i, a, m, f: F.adjust_brightness(i, a),
    "Color": lambda i, a, m, f: F.adjust_saturation(i, a),
    "Contrast": lambda i, a, m, f: F.adjust_contrast(i, a),
    "Sharpness": lambda i, a, m, f: F.adjust_sharpness(i, a),
    "Posterize": lambda i, a, m, f: F.posterize(i, int(a)),
    "Solarize": lambda i, a, m, f: F.solarize(i, a),
    "AutoContrast": lambda i, a, m, f: F.autocontrast(i),
    "Equalize": lambda i, a, m, f: F.equalize(i),
    "Invert": lambda i, a, m, f: F.invert(i),
    "Hue": lambda i, a, m, f: F.adjust_hue(i, a),
}
ARGUMENTS = {
    "ShearX": (-44.7, -5.0, 0.0, 17.0), "ShearY": (-17.0, 2.9, 44.7), "TranslateX": (-60, -7, 0,
    16), "TranslateY": (-1, 0, 30, 99),
    "Rotate": (-135.0, -30.0, -0.5, 0.0, 13.5, 45.0, 90.0, 180.0), "Posterize": range(1, 9),
    "Solarize": (0, 0.5, 127.5, 128, 255, 256),
    "Hue": (-0.5, -0.11, 0.0, 0.003, 0.25, 0.5),
} | dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), (0.0, 0.01, 0.5, 1.0, 1.5, 1.99,
7.5))  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_every_row_of_a_program_is_torchvisions_functional(name, mode, make_image):
    geometric = name in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
    for image in images(make_image):
        for argument in ARGUMENTS.get(name, (0.0,)):
            for fill in (None, 77) if geometric else (None,):
                op = T.RandAugment(1, fill=fill)
                factor = {"ShearX": math.tan, "ShearY": lambda r: math.sin(r) / math.cos(r)}.get(
                    name
                )
                final = factor(math.radians(argument)) if factor else argument
                got = pil.apply(op, image, rows([CODE[name]], [final], FILTERS[mode]))
                want = FUNCTIONAL[name](image, argument, MODES[mode], fill)
                assert got.mode == image.mode
                np.testing.assert_array_equal(
                    np.asarray(got), np.asarray(want), err_msg=f"{name} {argument} {image}"
                )


def test_fills_are_per_channel(make_image):
    image = Image.fromarray(make_image(HEIGHT, WIDTH, 3))
    got = pil.apply(T.RandAugment(1, fill=(1, 2.9, 250)), image, rows([CODE["TranslateX"]], [1000]))
    assert np.unique(np.asarray(got).reshape(-1, 3), axis=0).tolist() == [[1, 2, 250]]


@pytest.mark.parametrize("name", sorted(name for name in T.__all__ if hasattr(v2, name)))
def test_arguments_are_torchvisions_in_name_order_and_default(name):
    ours, theirs = (
        list(inspect.signature(kind).parameters.values())
        for kind in (getattr(T, name), getattr(v2, name))
    )
    theirs = [p for p in theirs if p.name not in ("args", "kwargs")]
    for mine, want in zip(ours, theirs, strict=False):
        assert mine.name == want.name
        if want.default is not want.empty and (name, mine.name) != ("ToDtype", "dtype"):
            assert mine.default == want.default or mine.default == plain(want.default)
    assert len(ours) >= len(theirs)


def plain(default):
    """An enumeration's value, or a type's name without its module, as our ops keep them."""
    return str(getattr(default, "value", default)).removeprefix("torch.")


def test_codes_are_the_extensions():
    assert [CODE[name] for name in _native.INSTRUCTIONS] == list(range(len(_native.INSTRUCTIONS)))
    assert set(CODES) == {*_native.INSTRUCTIONS, *WRITTEN_AS}
    assert set(WRITTEN_AS.values()) < set(_native.INSTRUCTIONS)
    assert not set(WRITTEN_AS) & set(_native.INSTRUCTIONS)


def test_arguments_are_the_extensions():
    assert len(_native.ARGUMENTS) == len(_native.INSTRUCTIONS)
    for name, arguments in zip(_native.INSTRUCTIONS, _native.ARGUMENTS, strict=True):
        assert all(low < high for _, low, high, _ in arguments)
        alone = row_words([CODE[name], 0.5, 0]) == ("" if name == "Identity" else name)
        assert alone == (not arguments)
    whole = {name for name in CODES if instructions.WHOLE[CODE[name]]}
    assert whole == {"Border", "Custom", "Posterize", "SolarizeAdd"}


def test_every_code_is_drawn_or_written_by_the_engine():
    written = {"Affine", "Perspective", "FlipX", "FlipY", "BoxBlur", "Start", "Grayscale", "Border"}
    assert set(CODES) == DRAWN | written
    assert not DRAWN & written


def test_every_code_runs(make_image):
    image = Image.fromarray(make_image(HEIGHT, WIDTH, 3))
    for name in DRAWN - {"Custom"}:  # which needs a function: tests/backends/test_custom.py
        assert pil.apply(T.RandAugment(1), image, rows([CODE[name]], [0.25], 2)).size == image.size


def test_the_reference_needs_no_torchvision(make_image, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        monkeypatch.setitem(sys.modules, name, None)
    image = Image.fromarray(make_image(HEIGHT, WIDTH, 3))
    for op in (
        T.RandAugment(4),
        T.AugMix(),
        T.RandomAffine(9),
        T.RandomPerspective(p=1.0),
        T.GaussianBlur(3),
    ):
        assert op(image).size == image.size


def test_posterize_to_no_bits_is_black(make_image):
    image = Image.fromarray(make_image(9, 13, 0))
    assert not np.asarray(
        pil.apply(T.RandAugment(1), image, rows([CODE["Posterize"]], [0.0]))
    ).any()


def test_solarize_add_moves_the_darker_half():
    ramp = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(2, 128))
    got = np.asarray(
        pil.apply(T.RandAugment(1), ramp, rows([CODE["SolarizeAdd"]], [110.0]))
    ).ravel()
    assert got.tolist() == [*range(110, 238), *range(128, 256)]


@pytest.mark.parametrize("kernel", [(3, 3), (5, 9), (23, 23)], ids=str)
@pytest.mark.parametrize("sigma", [0.1, 0.8, 2.0, 5.0])
def test_blurs_are_torchvisions_but_for_ties(kernel, sigma, make_image):
    for image in images(make_image)[:3]:
        got = np.asarray(T.GaussianBlur(kernel, sigma)(image)).astype(int)
        want = np.asarray(F.gaussian_blur(image, list(kernel), [sigma, sigma])).astype(int)
        # Both round float32 sums, in different orders: a value near .5 may fall to either side.
        assert np.abs(got - want).max() <= 1
        assert (got != want).mean() < 1e-3


def test_a_blur_of_a_constant_or_with_one_tap_changes_nothing(make_image):
    constant, image = (
        Image.new("RGB", (40, 30), (1, 128, 254)),
        Image.fromarray(make_image(30, 41, 1)),
    )
    assert np.array_equal(np.asarray(T.GaussianBlur(23, 2.0)(constant)), np.asarray(constant))
    assert np.array_equal(np.asarray(T.GaussianBlur(1, 2.0)(image)), np.asarray(image))
    assert abs(float(gaussian_weights(23, 2.0).sum()) - 1) < 1e-6


def test_erasing_is_torchvisions(make_image):
    image = torch.from_numpy(make_image(HEIGHT, WIDTH, 3)).permute(2, 0, 1).float().div(255)
    for value in (0, 0.5, (0.1, 0.2, 0.3)):
        op = T.RandomErasing(1.0, value=value)
        u = np.random.default_rng(0).random((3, op.draws(Spec())))
        for record in op.params(
            u, np.repeat([[HEIGHT, WIDTH]], 3, axis=0).astype(np.int32)
        ).records:
            top, left, height, width, _ = record[0].tolist()
            want = F.erase(
                image,
                top,
                left,
                height,
                width,
                torch.tensor(op.value if isinstance(op.value, tuple) else [op.value])[
                    :, None, None
                ],
            )
            assert torch.equal(pil.apply(op, image, record), want)
