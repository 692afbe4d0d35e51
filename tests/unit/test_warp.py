"""Rotations, affine maps, perspectives and windows: laws, draws, error texts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.functional import _get_perspective_coeffs

from fastload import transforms as T
from fastload.errors import PipelineError
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.warp import perspective

from .warp_helpers import COUNT, SIDE, drawn


def test_angles_are_drawn_evenly(p_value):
    records = drawn(T.RandomRotation((-20, 40)), 37, 53).records
    angles = np.degrees(np.arctan2(-records[:, 1], records[:, 0]))
    counts, _ = np.histogram(angles, np.linspace(-20, 40, 13))
    assert counts.sum() == COUNT
    assert p_value(counts, np.full(12, 1 / 12)) > 1e-3


@given(SIDE, SIDE, st.floats(-360, 360, width=32))
def test_expanded_rotations_have_pils_size(height, width, angle):
    _, sizes = drawn(T.RandomRotation((angle, angle), expand=True), height, width, 1)
    assert tuple(sizes[0]) == Image.new("L", (width, height)).rotate(angle, expand=True).size[::-1]


def test_affine_parts_are_drawn_evenly(p_value):
    moves = drawn(T.RandomAffine(0, (0.1, 0.2)), 40, 60).records
    assert (
        p_value(np.unique(moves[:, 2], return_counts=True)[1], np.array([0.5, *[1] * 11, 0.5]) / 12)
        > 1e-3
    )  # -6 to 6 px, rounded
    assert (
        p_value(np.unique(moves[:, 5], return_counts=True)[1], np.array([0.5, *[1] * 15, 0.5]) / 16)
        > 1e-3
    )
    scales = 1 / drawn(T.RandomAffine(0, scale=(0.5, 2.0)), 40, 60).records[:, 0]
    assert p_value(np.histogram(scales, np.linspace(0.5, 2.0, 11))[0], np.full(10, 0.1)) > 1e-3
    shears = np.degrees(np.arctan(drawn(T.RandomAffine(0, shear=(-10, 20)), 40, 60).records[:, 1]))
    assert p_value(np.histogram(shears, np.linspace(-10, 20, 11))[0], np.full(10, 0.1)) > 1e-3


def test_a_drawn_affine_map_is_torchvisions(monkeypatch):
    op, theirs = (
        T.RandomAffine((5, 50), (0.3, 0.1), (0.5, 2.0), (-3, 9, 4, 12)),
        v2.RandomAffine((5, 50), (0.3, 0.1), (0.5, 2.0), (-3, 9, 4, 12)),
    )
    u = np.random.default_rng(4).random((20, 6))
    for row in u:
        values = iter(row)
        monkeypatch.setattr(
            torch.Tensor,
            "uniform_",
            lambda tensor, low, high, values=values: tensor.fill_(
                low + next(values) * (high - low)
            ),
        )
        found = theirs.make_params([Image.new("RGB", (53, 37))])
        seen = []
        monkeypatch.setattr(
            Image.Image, "transform", lambda *given, seen=seen, **_: seen.append(given[3])
        )
        v2.functional.affine(Image.new("RGB", (53, 37)), **found)
        record = op.params(row[None], np.array([[37, 53]], np.int32)).records[0]
        np.testing.assert_allclose(
            record[:6], seen[0], rtol=0, atol=2e-4
        )  # their draws are float32
        assert tuple(record[6:]) == (0, 0, 37, 53)


def test_perspectives_join_torchvisions_corners():
    rng = np.random.default_rng(1)
    for _ in range(30):
        points = np.array([[[0, 0], [52, 0], [52, 36], [0, 36]]]) + rng.integers(-9, 9, (1, 4, 2))
        sources = np.array([[[0, 0], [52, 0], [52, 36], [0, 36]]])
        want = _get_perspective_coeffs(sources[0].tolist(), points[0].tolist())
        np.testing.assert_allclose(perspective(points, sources)[0], want, rtol=1e-5, atol=1e-7)


def test_corners_are_drawn_evenly(p_value):
    op = T.RandomPerspective(0.5, 0.7)
    u = np.random.default_rng(0).random((COUNT, op.draws(Spec())))
    records = op.params(u, np.tile(np.array([[20, 12]], np.int32), (COUNT, 1))).records
    still = (records[:, :8] == np.array(IDENTITY)).all(axis=1)
    # All corners in place: 1 of (4 * 6)^4 draws, so nearly all others are moved.
    assert p_value(np.array([still.sum(), (~still).sum()]), np.array([0.3, 0.7])) > 1e-3
    maps = np.concatenate(
        [records[~still, :8], np.ones((len(records[~still]), 1))], axis=1
    ).reshape(-1, 3, 3)
    far = np.array([[0, 0], [11, 0], [11, 19], [0, 19]])  # x and y of the image's corners
    for corner in far:
        # Where the corner goes: within 3 px of 12, 5 px of 20 (half of the half), and itself.
        x, y, w = np.linalg.solve(maps, np.array([*corner, 1.0])[None, :, None])[..., 0].T
        for moved, count in ((np.abs(x / w - corner[0]), 4), (np.abs(y / w - corner[1]), 6)):
            assert abs(moved - moved.round()).max() < 1e-2
            assert (
                p_value(
                    np.bincount(moved.round().astype(int), minlength=count),
                    np.full(count, 1 / count),
                )
                > 1e-4
            )


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 2), (3, 2)])
def test_tiny_images_are_no_trouble(size):
    image = Image.new("RGB", size[::-1], (1, 2, 3))
    for op in (
        T.RandomPerspective(1.0, 1.0),
        T.RandomRotation(180, expand=True),
        T.RandomAffine(180, (1, 1), (0.1, 9), (-80, 80, -80, 80)),
    ):
        records, sizes = drawn(op, *size, 50)
        assert np.isfinite(records).all()
        for record, (height, width) in zip(records, sizes, strict=True):
            assert pil.apply(op, image, record).size == (width, height)


@given(SIDE, SIDE, st.integers(1, 400), st.integers(1, 400), st.integers(0, 9))
def test_crops_start_inside_the_padded_image(height, width, out_height, out_width, padding):
    op = T.RandomCrop((out_height, out_width), padding, pad_if_needed=True)
    records, sizes = drawn(op, height, width, 20)
    for axis, (side, out) in enumerate(((height, out_height), (width, out_width))):
        lack = max(0, out - side - 2 * padding)
        assert (records[:, axis] >= -padding - lack).all()
        assert (records[:, axis] + out <= side + padding + lack).all()
    assert (sizes == [out_height, out_width]).all()


def test_crops_are_drawn_evenly(p_value):
    records = drawn(T.RandomCrop((30, 50), (1, 2)), 33, 51).records
    for axis, low, count in ((0, -2, 8), (1, -1, 4)):
        assert (
            p_value(np.bincount(records[:, axis] - low, minlength=count), np.full(count, 1 / count))
            > 1e-3
        )


def test_padded_crops_of_small_images_are_drawn_evenly(p_value):
    records = drawn(
        T.RandomCrop((12, 9), pad_if_needed=True), 7, 10
    ).records  # 5 rows are lacking, so 6 starts
    assert p_value(np.bincount(-records[:, 0], minlength=6), np.full(6, 1 / 6)) > 1e-3
    assert p_value(np.bincount(records[:, 1], minlength=2), np.full(2, 1 / 2)) > 1e-3


def test_crops_of_small_images():
    text = (
        "size is 60x40, but an image of 37x53 px is smaller; set pad_if_needed=True, or resize "
        "first"
    )
    assert T.RandomCrop((60, 40)).problems(Spec(37, 53)) == [text]
    assert T.RandomCrop((60, 40)).problems(Spec()) == []
    with pytest.raises(PipelineError, match="^RandomCrop: " + text):
        T.RandomCrop((60, 40)).params(np.zeros((2, 2)), np.array([[90, 90], [37, 53]], np.int32))


WRONG = [
    (T.RandomRotation(-1, "box", center=3, fill=256), [
        "degrees is -1, want a number from 0 up, or 2 rising numbers",
        "center is 3, want None or x and y, px",
        "interpolation is 'box', want one of nearest, bilinear, bicubic",
        "fill is 256, want None (black), a number from 0 to 255, or one for each of 3 channels",
    ]),
    (T.RandomAffine((1, 2, 3), (2, 0), (0, 1), (1, 2, 3)), [
        "degrees is (1, 2, 3), want a number from 0 up, or 2 rising numbers",
        "shear is (1, 2, 3), want a number from 0 up, or 2 or 4 numbers, each pair rising",
        "translate is (2, 0), want None or 2 numbers from 0 to 1",
        "scale is (0, 1), want None or 2 rising numbers above 0",
    ]),
    (T.RandomPerspective(1.5, -1), ["p is -1, want 0 to 1",
    "distortion_scale is 1.5, want 0 to 1"]),
    (T.Pad((1, 2, 3), "x", "wrap"), [
        "padding is (1, 2, 3), want 1, 2 or 4 whole numbers from 0 to 16384 px",
        "padding_mode is 'wrap', want one of constant, edge, reflect, symmetric",
        "fill is x, want None (black), a number from 0 to 255, or one for each of 3 channels",
    ]),
    (T.RandomCrop((0, 5), -1), [
        "size is (0, 5), want whole numbers from 1 to 16384 px",
        "padding is (-1, -1, -1, -1), want 1, 2 or 4 whole numbers from 0 to 16384 px",
    ]),
    (T.RandomErasing(2, (0.5, 0.1), (0, 1), (1, 2), min_count=3, max_count=2), [
        "p is 2, want 0 to 1", "scale is (0.5, 0.1), want two rising numbers from 0 to 1",
        "ratio is (0, 1), want two rising numbers above 0",
        "value is (1, 2), want a number, one for each of 3 channels, or random, random_colour",
        "min_count and max_count are (3, 2), want two rising whole numbers from 1 to 32",
        "the image is no tensor yet; put ToImage before it",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "texts"), WRONG, ids=str)
def test_every_problem_is_told(op, texts):
    assert op.problems(Spec()) == texts


@pytest.mark.parametrize(
    "op", [T.RandomRotation(40, p=0.3), T.RandomAffine(40, (0.1, 0.2), p=0.3)], ids=repr
)
def test_a_probability_leaves_the_others_as_they_are(op, p_value):
    always, count = replace(op, p=1.0), 4000
    u, sizes = (
        np.random.default_rng(0).random((count, op.draws(Spec()))),
        np.tile(np.array([[37, 53]], np.int32), (count, 1)),
    )
    got, want = op.params(u, sizes).records, always.params(u[:, :-1], sizes).records
    applied = u[:, -1] < 0.3
    np.testing.assert_array_equal(got[applied], want[applied])
    assert (got[~applied, :8] == np.array(IDENTITY)).all()
    assert p_value(np.bincount(applied, minlength=2), np.array([0.7, 0.3])) > 0.001
    assert op.problems(Spec(37, 53)) == []


def test_a_probability_and_a_growing_image_do_not_go_together():
    text = "p is 0.5 with expand=True, which makes images of two sizes; leave one of them out"
    assert T.RandomRotation(3, expand=True, p=0.5).problems(Spec(9, 8)) == [text]
    assert T.RandomAffine(3, p=2).problems(Spec(9, 8)) == ["p is 2, want 0 to 1"]
