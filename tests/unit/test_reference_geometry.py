"""Rotations, affine maps, perspectives and windows of the reference: torchvision v2's own
pixels.
"""

import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import functional as F

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil

from .reference_helpers import MODES, images


def drawn(value: float) -> float:
    """What torchvision's transforms make of a range of this one value: a float32 number."""
    return torch.empty(1).uniform_(value, value).item()


@pytest.mark.parametrize("mode", MODES)
def test_rotations(mode, make_image):
    for image in images(make_image):
        for angle in (0.0, 17.3, 90.0, -45.0, 180.0, 270.0, 359.9):
            for expand in (False, True):
                for center in (None, (3, 5)):
                    op = T.RandomRotation((angle, angle), mode, expand, center, fill=9)
                    got = op(image)
                    want = F.rotate(image, drawn(angle), MODES[mode], expand, center, 9)
                    assert got.size == want.size
                    np.testing.assert_array_equal(
                        np.asarray(got),
                        np.asarray(want),
                        err_msg=f"{angle} {expand} {center} {image}",
                    )


@pytest.mark.parametrize("mode", MODES)
def test_affine_maps(mode, make_image):
    for image in images(make_image):
        for angle, move, scale, x, y in (
            (0.0, 0.0, 1.0, 0.0, 0.0),
            (33.0, 0.2, 0.7, 11.0, -8.0),
            (-120.0, 0.1, 1.6, 0.0, 20.0),
        ):
            for center in (None, (7, 2)):
                op = T.RandomAffine(
                    (angle, angle), (move, move), (scale, scale), (x, x, y, y), mode, 55, center
                )
                u = np.full((1, 6), 0.999999)
                record = op.params(u, np.array([[image.height, image.width]], np.int32)).records[0]
                shift = [
                    round(move * image.width * 0.999998),
                    round(move * image.height * 0.999998),
                ]
                want = F.affine(image, angle, shift, drawn(scale), [x, y], MODES[mode], 55, center)
                np.testing.assert_array_equal(
                    np.asarray(pil.apply(op, image, record)), np.asarray(want)
                )


@pytest.mark.parametrize("mode", MODES)
def test_perspectives(mode, make_image):
    for image in images(make_image):
        op = T.RandomPerspective(0.6, 1.0, mode, 5)
        u = np.random.default_rng(1).random((5, op.draws(Spec())))
        for record in op.params(
            u, np.repeat([[image.height, image.width]], 5, axis=0).astype(np.int32)
        ).records:
            want = F.perspective(
                image, None, None, MODES[mode], 5, coefficients=record[:8].tolist()
            )
            np.testing.assert_array_equal(
                np.asarray(pil.apply(op, image, record)), np.asarray(want)
            )


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_windows(mode, make_image):
    for image in images(make_image):
        for padding in (0, (3, 8), (1, 2, 30, 4)):
            want = F.pad(image, padding if isinstance(padding, int) else list(padding), 42, mode)
            np.testing.assert_array_equal(
                np.asarray(T.Pad(padding, 42, mode)(image)), np.asarray(want)
            )
            op = T.RandomCrop((8, 5), padding, fill=42, padding_mode=mode)
            left, top = T.Pad(padding).padding[:2]
            size = np.array([[image.height, image.width]], np.int32)
            for u in (0.0, 0.5, 0.999):
                record = op.params(np.full((1, 2), u), size).records[0]
                cut = F.crop(want, int(record[0]) + top, int(record[1]) + left, 8, 5)
                np.testing.assert_array_equal(
                    np.asarray(pil.apply(op, image, record)), np.asarray(cut)
                )


@pytest.mark.parametrize(
    "op",
    [
        T.RandomVerticalFlip(1.0),
        T.RandomHorizontalFlip(1.0),
        T.Grayscale(),
        T.Grayscale(3),
        T.RandomGrayscale(1.0),
    ],
    ids=str,
)
def test_flips_and_greys(op, make_image):
    functional = {
        "RandomVerticalFlip": F.vertical_flip, "RandomHorizontalFlip": F.horizontal_flip,
        "Grayscale": lambda i: F.rgb_to_grayscale(i, getattr(op, "num_output_channels", 3)),
        "RandomGrayscale": lambda i: F.rgb_to_grayscale(i, len(i.getbands())),
    }  # fmt: skip
    for image in images(make_image):
        got, want = op(image), functional[op.name](image)
        assert got.mode == want.mode
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
