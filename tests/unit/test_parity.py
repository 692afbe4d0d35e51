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


@pytest.mark.parametrize(
    ("z", "probability"),
    [(0.6745, 0.5), (1.6449, 0.1), (1.96, 0.05), (2.5758, 0.01), (3.2905, 0.001)],
)
def test_the_sign_flip_test_gives_the_normal_tables_values(z, probability):
    count = 10_000
    plus = round(
        (count + z * math.sqrt(count)) / 2
    )  # so many of +1, the others -1: their sum is z standard deviations
    differences = np.where(np.arange(count) < plus, 1.0, -1.0)
    assert distribution.sign_flip(differences) == pytest.approx(probability, rel=0.05)


def test_equal_samples_are_certain_and_a_shift_is_found():
    images = np.random.default_rng(0).random((64, 6)) * 200
    assert distribution.chance(images, images) == 1
    assert (
        distribution.chance(images + np.array([0, 0, 0, 0, 0.5, 0]), images) < 1e-12
    )  # far less than images differ by
    assert (
        distribution.chance(100 + 0.5 * (images - 100), images) < 1e-4
    )  # only the spread is another


def test_chances_of_own_draws_are_as_often_small_as_they_say():
    """400 comparisons of two draws from one distribution per image, images being far apart: p <
    0.05 in about 5 %, less by Bonferroni.
    """
    rng = np.random.default_rng(1)
    images = rng.random((400, 40, 1)) * 200
    first, second = (images + rng.normal(0, 5, (400, 40, 3)) for _ in range(2))
    found = np.array(
        [distribution.chance(got, want) for got, want in zip(first, second, strict=True)]
    )
    assert 0.005 < (found < 0.05).mean() < 0.1
    assert found.min() > distribution.UNLIKELY / 10


def test_features_know_left_from_right_and_top_from_bottom():
    images = torch.zeros((1, 3, 5, 9), dtype=torch.float64)
    images[:, :, :, -4:], images[:, :, -2:] = 10, 40
    found = dict(zip(distribution.FEATURES, distribution.features(images)[0], strict=True))
    turned = dict(
        zip(distribution.FEATURES, distribution.features(images.flip(2, 3))[0], strict=True)
    )
    assert found["left to right"] == -turned["left to right"] == pytest.approx(6)
    assert found["top to bottom"] == -turned["top to bottom"] > 30
    assert found["colour"] == 0
    assert found["brightness"] == pytest.approx(turned["brightness"])
