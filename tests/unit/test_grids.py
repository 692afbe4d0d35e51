"""Grids of patches against timm's search, and the row lengths of images that share batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastload.order import grids


def sizes(count, seed=0, most=3000):
    generator = np.random.default_rng(seed)
    return np.exp(generator.uniform(np.log(8), np.log(most), (count, 2))).astype(np.int32)


@pytest.mark.parametrize(("patch", "length"), [(16, 256), (14, 784), (32, 49), (16, 1)])
@pytest.mark.parametrize("enlarge", [None, 1.0])
def test_grids_are_timms(patch, length, enlarge):
    timm = pytest.importorskip("timm.data.naflex_transforms")
    some = sizes(100, length)
    for size, grid in zip(some, grids.grids(some, patch, length, enlarge), strict=True):
        _, wanted = timm.get_image_size_for_seq(
            size.tolist(), patch, length, max_ratio=enlarge, divisible_by_patch=True
        )
        assert (grid * patch).tolist() == [*wanted]


@given(
    height=st.integers(1, 16384), width=st.integers(1, 16384), length=st.integers(1, 2048),
    patch=st.integers(1, 64),
)  # fmt: skip
def test_a_grid_fits_and_no_larger_one_of_its_aspect_does(height, width, length, patch):
    ((high, wide),) = grids.grids(np.array([[height, width]], np.int32), patch, length).tolist()
    assert 1 <= high * wide <= length
    limits = min(99 * min(height, width), 16384 - patch)
    if max(high, wide) * patch < limits:  # not as large as images may be: then one more is too many
        assert (high + 1) * (wide + 1) > length


def test_a_grid_has_the_images_aspect_but_for_a_patch():
    some = sizes(2000, 3)
    high, wide = grids.grids(some, 16, 1024).astype(float).T
    wanted = some[:, 1] / some[:, 0]
    fits = (wanted > 1 / 8) & (wanted < 8)
    low, most = (wide - 1) / high, wide / (high - 1).clip(0.5)
    assert ((low <= wanted) & (wanted <= most))[fits].all()


def test_sides_that_a_header_may_claim_fit_too():
    most = 2**31 - 1
    sides = np.array([(most, most), (1, most), (most, 1), (most, 7)], np.int32)
    for patch, length in ((1, 1), (1, 200), (16, 256)):
        found = grids.grids(sides, patch, length).prod(axis=1)
        assert (found >= 1).all()
        assert (found <= length).all()


def test_an_unknown_size_is_square():
    assert grids.grids(np.zeros((1, 2), np.int32), 16, 256).tolist() == [[16, 16]]


@given(
    tokens=st.lists(st.integers(1, 1024), min_size=1, max_size=60),
    padding=st.floats(0, 0.5),
)
def test_no_row_is_padded_beyond_its_share(tokens, padding):
    tokens = np.array(tokens, np.int64)
    rows = grids.rows(tokens, padding)
    assert (np.diff(rows) > 0).all()
    mine = rows[grids.row_of(tokens, rows)]
    assert (mine >= tokens).all()
    assert (tokens >= mine * (1 - padding)).all()
    assert set(rows.tolist()) <= set(tokens.tolist())


def test_no_padding_makes_a_row_length_of_each_count():
    assert grids.rows(np.array([5, 9, 5, 7]), 0).tolist() == [5, 7, 9]
