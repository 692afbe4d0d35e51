"""CROP ops: boxes, sizes and windows, against their laws and against torchvision's arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.v2 import functional as F
from torchvision.transforms.v2.functional._geometry import _compute_resized_output_size

from fastload.spec import Spec
from fastload.transforms import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from fastload.transforms.boxes import TRIES, crop_boxes

SIDE = st.integers(1, 4000)
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
unit = st.floats(0, 1, exclude_max=True)


@given(st.lists(unit, min_size=4 * TRIES, max_size=4 * TRIES), SIDE, SIDE)
def test_crop_box_is_inside_the_image(u, height, width):
    top, left, h, w = crop_boxes(
        np.array([u]), np.array([[height, width]], np.int32), SCALE, RATIO
    )[0]
    assert top >= 0
    assert h >= 1
    assert top + h <= height
    assert left >= 0
    assert w >= 1
    assert left + w <= width


def test_crop_boxes_follow_torchvisions_arithmetic():
    rng = np.random.default_rng(0)
    for height, width in ((500, 375), (333, 500), (164, 190), (30, 31)):
        u = rng.random(4 * TRIES)
        assert tuple(
            crop_boxes(u[None], np.array([[height, width]], np.int32), SCALE, RATIO)[0]
        ) == by_hand(u, height, width)


def by_hand(u, height, width):
    """One image, in torchvision's own steps (Szegedy et al. 2014)."""
    for area_u, ratio_u, top_u, left_u in u.reshape(-1, 4):
        area = height * width * (SCALE[0] + area_u * (SCALE[1] - SCALE[0]))
        aspect = np.exp(np.log(RATIO[0]) + ratio_u * (np.log(RATIO[1]) - np.log(RATIO[0])))
        w, h = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(top_u * (height - h + 1)), int(left_u * (width - w + 1)), h, w
    raise AssertionError("these images have room for a box")


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((1, 5000), (0, 2499, 1, 1)),
        ((5000, 1), (2499, 0, 1, 1)),
        ((10, 100), (0, 43, 10, 13)),
        ((100, 10), (43, 0, 13, 10)),
    ],
)
def test_no_try_fits_the_largest_centred_box(size, box):
    u = np.full((1, 4 * TRIES), 0.999)  # the whole area, as wide as can be: never fits
    u[:, 1::4] = 0.5
    assert tuple(crop_boxes(u, np.array([size], np.int32), (1.0, 1.0), RATIO)[0]) == box


def test_boxes_have_the_stated_areas_and_ratios():
    u = np.random.default_rng(1).random((20_000, 4 * TRIES))
    boxes = crop_boxes(
        u, np.tile(np.array([[1000, 1000]], np.int32), (20_000, 1)), (0.25, 0.5), (0.9, 1.1)
    ).astype(float)
    area, ratio = boxes[:, 2] * boxes[:, 3] / 1e6, boxes[:, 3] / boxes[:, 2]
    assert 0.249 < area.min() < 0.252
    assert 0.498 < area.max() < 0.501
    assert abs(area.mean() - 0.375) < 0.002
    assert 0.898 < ratio.min() < 0.902
    assert 1.098 < ratio.max() < 1.102


@given(SIDE, SIDE, st.integers(1, 600), st.none() | st.integers(1, 700))
def test_resize_targets_are_torchvisions(height, width, size, max_size):
    if max_size is not None and max_size <= size:
        max_size = None
    op = Resize(size, max_size=max_size)
    got = op.params(np.zeros((1, 0)), np.array([[height, width]], np.int32)).records[0]
    want = _compute_resized_output_size((height, width), size=[size], max_size=max_size)
    assert tuple(got) == tuple(max(1, side) for side in want)
    assert (
        op.out_spec(Spec(height, width)).height,
        op.out_spec(Spec(height, width)).width,
    ) == tuple(got)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 60))
def test_center_crop_windows_are_torchvisions(height, width, out_height, out_width):
    from PIL import Image

    pixels = np.arange(1, height * width + 1, dtype=np.int64).reshape(height, width) % 251 + 1
    image = Image.fromarray(pixels.astype(np.uint8))
    want = np.asarray(F.center_crop(image, [out_height, out_width]))
    np.testing.assert_array_equal(np.asarray(CenterCrop((out_height, out_width))(image)), want)


def test_flip_is_drawn_with_its_probability():
    u = np.array([[0.0], [0.29], [0.3], [0.999]])
    sizes = np.full((4, 2), 9, np.int32)
    assert RandomHorizontalFlip(0.3).params(u, sizes).records[:, 0].tolist() == [1, 1, 0, 0]
    assert RandomHorizontalFlip(0.0).params(u, sizes).records.sum() == 0
    assert RandomHorizontalFlip(1.0).params(u, sizes).records.sum() == 4


def test_torchvisions_arguments_are_taken():
    from torchvision.transforms import InterpolationMode

    assert (
        RandomResizedCrop(224, interpolation=InterpolationMode.BICUBIC).interpolation == "bicubic"
    )
    assert RandomResizedCrop([160, 96]).size == (160, 96)
    assert Resize([256]).size == 256
    assert CenterCrop([224]).size == (224, 224)


def test_timms_random_filter_is_drawn_beside_the_box(p_value):
    op, fixed = RandomResizedCrop((20, 31), interpolation="random"), RandomResizedCrop((20, 31))
    u = np.random.default_rng(0).random((4000, op.draws(Spec())))
    sizes = np.tile(np.array([[50, 70]], np.int32), (4000, 1))
    records = op.params(u, sizes).records
    np.testing.assert_array_equal(records[:, :4], fixed.params(u[:, :-1], sizes).records)
    assert p_value(np.bincount(records[:, 4], minlength=4)[[2, 3]], np.array([0.5, 0.5])) > 0.001
    assert set(records[:, 4].tolist()) == {2, 3}  # PIL's bilinear and bicubic
