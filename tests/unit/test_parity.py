"""What the comparison of two batches says: known answers."""

import math

import numpy as np
import pytest
import torch

from fastload.parity import difference, distribution


def test_difference_of_known_values():
    want = torch.zeros((2, 3, 5, 7), dtype=torch.uint8)
    got = want.clone()
    got[1, 0, 2, 3], got[1, 2, 2, 3], got[1, 1, 4, 6] = 10, 4, 1
    found = difference.of_batch(got, want, torch.ones(3, dtype=torch.float64))
    assert found.largest.tolist() == [0, 10]
    np.testing.assert_allclose(found.mean, [0, 15 / 105])
    np.testing.assert_allclose(found.share, [0, 2 / 35])  # two pixels, whatever their channels


def test_values_that_are_not_finite():
    """NaN is itself, and endlessly far from a number; -0 has other bits than 0, and is as large."""
    want = torch.tensor([0.0, math.nan, math.inf, math.nan, 1.0, math.inf]).reshape(6, 1, 1, 1)
    got = torch.tensor([-0.0, math.nan, math.inf, 1.0, math.nan, -math.inf]).reshape(6, 1, 1, 1)
    found = difference.of_batch(got, want, torch.ones(1, dtype=torch.float64))
    assert found.largest.tolist() == [0, 0, 0, math.inf, math.inf, math.inf]
    assert found.share.tolist() == [1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("scaled", "probability"), [(0.8276, 0.5), (1.2238, 0.1), (1.3581, 0.05), (1.6276, 0.01), (1.9495, 0.001)])
def test_smirnov_gives_the_tables_values(scaled, probability):
    """The distribution's published quantiles, for samples so large that the correction is gone."""
    count = 2_000_000
    shift = scaled * math.sqrt(2 / count)  # the distance of two uniform samples, one moved by it
    grid = (np.arange(count) + 0.5) / count
    assert distribution.smirnov(grid, grid + shift) == pytest.approx(probability, rel=0.02)


def test_equal_samples_are_certain_and_disjoint_ones_impossible():
    values = np.arange(50.0)
    assert distribution.smirnov(values, values) == 1
    assert distribution.smirnov(values, values + 100) < 1e-12
    assert distribution.smirnov(values, values[:3]) < 0.05


def test_the_chance_is_that_of_the_farthest_number_times_their_count():
    rng = np.random.default_rng(0)
    got, want = rng.random((200, 3)), rng.random((200, 3))
    each = [distribution.smirnov(got[:, k], want[:, k]) for k in range(3)]
    assert distribution.chance(got, want) == pytest.approx(min(1, 3 * min(each)))
    assert min(each) > 0.001


def test_features_know_left_from_right_and_top_from_bottom():
    images = torch.zeros((1, 3, 5, 9), dtype=torch.float64)
    images[:, :, :, -4:], images[:, :, -2:] = 10, 40
    found = dict(zip(distribution.FEATURES, distribution.features(images)[0], strict=True))
    turned = dict(zip(distribution.FEATURES, distribution.features(images.flip(2, 3))[0], strict=True))
    assert found["left to right"] == -turned["left to right"] == pytest.approx(6)
    assert found["top to bottom"] == -turned["top to bottom"] > 30
    assert found["colour"] == 0
    assert found["brightness"] == pytest.approx(turned["brightness"])
