"""Masks of classes on their way, as rows and columns: torchvision's bits after the same draws."""

import copy
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

from fastload import _native
from fastload import rng as keys
from fastload.joint import classes
from fastload.joint.classes import ClassMask
from fastload.joint.picture import Picture
from fastload.joint.samples import moves
from fastload.lowering import joint_steps
from fastload.lowering.chain import lower_parts
from fastload.spec import Work
from tests.conftest import textured
from tests.fidelity.joint_cases import MAKERS
from tests.lowering.test_own_padding import Up

FILL = {tv_tensors.Mask: 255, "others": 0}
TYPES = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
KINDS = (
    "RandomHorizontalFlip", "Resize", "RandomResize", "RandomShortestSize", "ScaleJitter",
    "RandomCrop", "RandomZoomOut", "FixedSizeCrop", "RandomRotation", "RandomPhotometricDistort",
)  # fmt: skip
LAZY = KINDS[:7]  # whose masks stay rows and columns


def mask_of(rng):
    height, width = (int(v) for v in rng.integers(24, 70, 2))
    return torch.from_numpy(rng.integers(0, 256, (1, height, width), np.uint8))


def moved(parts, mask, seed):
    """What fastload's steps make of it, and what torchvision's transforms do with these draws."""
    lowered = joint_steps.of(v2.Compose([*parts]), partial(lower_parts, own=False))
    assert not lowered.unknown, lowered.unknown
    height, width = mask.shape[1:]
    picture = Picture(textured(height, width, seed), (height, width))
    work = Work(np.array([seed]), np.array([0]), 7, 0, 0)
    uniforms = lambda op, count: keys.sample_uniforms(work, op, count)[0]  # noqa: E731
    target = {"mask": classes.lazy(tv_tensors.Mask(mask))}
    want = tv_tensors.Mask(mask)
    drawn = list(moves(lowered.steps, picture, target, uniforms))
    told = {id(one.step.of): one.params for one in drawn}
    for part in parts:
        if isinstance(part, (v2.ToImage, v2.Normalize)) or id(part) not in told:
            continue
        mine, params = copy.copy(part), told[id(part)]
        mine.__dict__["make_params"] = lambda _, params=params: params
        if hasattr(mine, "p"):
            mine.p = 0.0 if params is None else 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.new("RGB", (want.shape[2], want.shape[1]))
            want = mine(image, want)[1]
    return drawn[-1].target["mask"], want


def check(parts, seed, *, lazy):
    got, want = moved(parts, mask_of(np.random.default_rng(seed)), seed)
    assert isinstance(got, ClassMask) or not lazy
    made = classes.settled(got)
    assert type(made) is type(want)
    assert made.dtype == want.dtype
    assert torch.equal(made, want)


@pytest.mark.parametrize("seed", range(24))
def test_chains_of_steps_give_torchvisions_mask(seed):
    rng = np.random.default_rng([seed, 1])
    names = rng.choice(KINDS, 3)
    parts = [v2.ToImage(), *(MAKERS[name](rng) for name in names)]
    check([*parts, v2.ToDtype(TYPES), v2.ToPureTensor()], seed, lazy=set(names) <= set(LAZY))


@pytest.mark.parametrize("seed", range(4))
def test_the_references_training_gives_torchvisions_mask(seed):
    parts = [
        v2.ToImage(), v2.RandomResize(20, 80), v2.RandomHorizontalFlip(), Up(48, FILL),
        v2.RandomCrop(48), v2.ToDtype(TYPES, scale=True), v2.Normalize([0.5] * 3, [0.2] * 3),
        v2.ToPureTensor(),
    ]  # fmt: skip
    check(parts, seed, lazy=True)


def test_two_fills_and_a_flip_of_padding():
    mask = classes.begun(np.arange(6, dtype=np.uint8).reshape(2, 3))
    padded = mask.pad([1, 0, 0, 0], 9).flip().pad([0, 1, 0, 0], 7)
    want = [[7, 7, 7, 7], [2, 1, 0, 9], [5, 4, 3, 9]]
    assert padded.tensor()[0].tolist() == want
    assert padded.cut(1, 2, 2, 2).tensor()[0].tolist() == [[0, 9], [3, 9]]


@pytest.mark.parametrize(
    ("fills", "want"),
    [({"others": 3}, 3), ({tv_tensors.Mask: 255.0, "others": [1, 2, 3]}, 255),
     ({"others": None}, 0), ({"others": [1, 2, 3]}, None), ({"others": 0.5}, None),
     ({"others": 256}, None), ({}, None)],
)  # fmt: skip
def test_what_masks_are_filled_with(fills, want):
    assert classes.fill_of(fills) == want


def test_other_masks_are_left_as_they_are():
    for value in (
        torch.zeros((1, 2, 2), dtype=torch.uint8),
        tv_tensors.Mask(torch.zeros((2, 2, 2), dtype=torch.uint8)),
        tv_tensors.Mask(torch.zeros((1, 2, 2), dtype=torch.int32)),
    ):
        assert classes.lazy(value) is value


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_what_is_seen_of_a_mask(dtype):
    rng = np.random.default_rng(3)
    mask = rng.integers(0, 256, (7, 5), np.uint8)
    rows, columns = rng.integers(-1, 7, 9), np.sort(rng.integers(-1, 5, 12))
    out = np.full((9, 12), 77, dtype)
    _native.mask_seen(mask, rows, columns, 255, out)
    outside = (rows < 0)[:, None] | (columns < 0)
    np.testing.assert_array_equal(out, np.where(outside, 255, mask[rows][:, columns]))


@pytest.mark.parametrize(
    ("rows", "columns", "text"),
    [([0, 2], [0], "mask_seen: rows (got 2, want less than 2)"),
     ([0, 1], [3], "mask_seen: columns (got 3, want less than 3)"),
     ([0], [0], "mask_seen: rows (got 1, want 2)")],
)  # fmt: skip
def test_places_beyond_a_mask_are_refused(rows, columns, text):
    with pytest.raises(ValueError) as error:
        _native.mask_seen(
            np.zeros((2, 3), np.uint8), np.array(rows), np.array(columns), 0,
            np.empty((2, 1), np.uint8),
        )  # fmt: skip
    assert str(error.value) == text
