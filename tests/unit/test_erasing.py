"""Erasing: the law of its boxes and of its noise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.erasing import TRIES, erased_boxes

from .warp_helpers import SIDE, drawn


def test_erased_boxes_obey_their_law(p_value):
    op = T.RandomErasing(0.3, (0.1, 0.2), (0.5, 2.0))
    records = drawn(op, 200, 300).records[:, 0].astype(float)
    erased = records[:, 2] > 0
    assert p_value(np.array([erased.sum(), (~erased).sum()]), np.array([0.3, 0.7])) > 1e-3
    top, left, height, width, _ = records[erased].T
    assert ((top >= 0) & (left >= 0) & (top + height <= 200) & (left + width <= 300)).all()
    area, ratio = height * width / 6e4, np.log(height / width)
    assert 0.098 < area.min() < area.max() < 0.202
    assert p_value(np.histogram(area, [0, 0.125, 0.15, 0.175, 1])[0], np.full(4, 0.25)) > 1e-4
    assert (
        p_value(np.histogram(ratio, [-9, -0.34657359, 0, 0.34657359, 9])[0], np.full(4, 0.25))
        > 1e-6
    )  # sides are whole: a little uneven


@given(
    st.lists(st.floats(0, 1, exclude_max=True), min_size=4 * TRIES, max_size=4 * TRIES), SIDE, SIDE
)
def test_erased_boxes_are_smaller_than_the_image(u, height, width):
    sizes = np.array([[height, width]], np.int32)
    top, left, h, w = erased_boxes(np.array([[u]]), sizes, (0.02, 1.0), (0.3, 3.3), np.array([1]))[
        0, 0
    ]
    assert (top, left, h, w) == (0, 0, 0, 0) or (h < height and w < width)
    assert top >= 0
    assert left >= 0
    assert top + h <= height
    assert left + w <= width


def test_timms_erasing_shares_the_area(p_value):
    op = T.RandomErasing.timm(1.0, 0.3, 0.3, max_count=3)
    assert (op.scale, op.ratio, op.value) == ((0.3, 0.3), (0.3, 1 / 0.3), 0)
    boxes = drawn(op, 400, 400, 30_000).records
    counts = (boxes[..., 2] > 0).sum(axis=1)
    assert p_value(np.bincount(counts, minlength=4), np.array([0, 1 / 3, 1 / 3, 1 / 3])) > 1e-3
    area = (boxes[..., 2] * boxes[..., 3]).sum(axis=1) / 160_000
    assert abs(area / 0.3 - 1).max() < 0.03


@pytest.mark.parametrize(
    ("value", "shape"), [("random", (3, 30, 40)), ("random_colour", (3, 1, 1))]
)
def test_noise_is_normal_and_a_function_of_the_record(value, shape):
    op = T.RandomErasing(1.0, value=value)
    image = torch.full((3, 100, 90), 50.0)
    record = np.array([[10, 20, 30, 40, -5]], np.int32)
    erased = pil.apply(op, image, record)
    assert torch.equal(erased, pil.apply(op, image, record))
    box = erased[:, 10:40, 20:60]
    assert (box != 50).all()
    assert (erased != 50).sum() == box.numel()
    assert (
        len(box.unique()) == 3 if value == "random_colour" else 2300 < len(box.unique()) < 2500
    )  # of 4096 levels, 3600 draws
    other = pil.apply(op, image, np.array([[10, 20, 30, 40, -6]], np.int32))[:, 10:40, 20:60]
    assert not torch.equal(other, box)
    if value == "random":
        assert abs(box.mean()) < 0.07
        assert abs(box.std() - 1) < 0.05
        assert abs((box * other).mean()) < 0.07


def test_noise_in_uint8_is_refused():
    text = (
        "value is 'random', but images are uint8, want float; put ToDtype(float32, scale=True) "
        "before it"
    )
    assert T.RandomErasing(value="random").problems(Spec(4, 5, tensor=True)) == [text]
    assert T.RandomErasing(value="random").problems(Spec(4, 5, tensor=True, dtype="float32")) == []
