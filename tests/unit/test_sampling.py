"""Inverse distribution functions: known values, and the laws themselves."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import _native, rng
from fastload.transforms.sampling import (
    HALF_STEP,
    beta,
    dirichlet,
    log_gamma,
    noise_values,
    normal,
    order,
    weighted_order,
)


def test_normal_quantiles():
    # Abramowitz and Stegun, table 26.1
    np.testing.assert_allclose(
        normal(np.array([0.5, 0.84134474606854, 0.97724986805182, 0.00134989803163])),
        [0, 1, 2, -3],
        atol=1e-6,
    )
    assert np.isfinite(normal(np.array([0.0, 1 - 2.0**-32]))).all()


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.999, 1.0, 1.001, 2.0, 7.5, 100.0])
def test_gamma_values_have_their_distribution_function(alpha):
    u = (np.arange(2000) + 0.5) / 2000
    x = np.exp(log_gamma(u, alpha))
    known = torch.special.gammainc(
        torch.tensor(alpha, dtype=torch.float64), torch.from_numpy(x)
    ).numpy()
    large = x > 1e-290
    np.testing.assert_allclose(known[large], u[large] + HALF_STEP, rtol=1e-9)
    assert (np.diff(log_gamma(u, alpha)) > 0).all()


def test_gamma_values_do_not_depend_on_those_beside_them():
    u = np.random.default_rng(4).integers(0, 2**32, 300) / 2**32
    for alpha in (0.2, 3.0):
        together = log_gamma(u, alpha)
        np.testing.assert_array_equal(
            np.concatenate([log_gamma(one, alpha) for one in u[:, None]]), together
        )


def test_the_two_ways_to_gamma_values_meet():
    u = (np.arange(500) + 0.5) / 500
    np.testing.assert_allclose(log_gamma(u, 1.0), log_gamma(u, 1.0 + 1e-12), atol=1e-6)


@given(st.floats(0.01, 50), st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=8))
def test_dirichlet_weights_sum_to_one(alpha, words):
    weights = dirichlet(np.array([words]) / 2**32, alpha)
    assert (weights >= 0).all()
    assert abs(weights.sum() - 1) < 1e-12


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_dirichlet_and_beta_have_their_moments(alpha):
    u = np.random.default_rng(1).random((30_000, 3))
    weights = dirichlet(u, alpha)
    variance = (1 / 3) * (2 / 3) / (3 * alpha + 1)
    assert abs(weights.mean(axis=0) - 1 / 3).max() < 0.01
    assert abs(weights.var(axis=0) / variance - 1).max() < 0.04
    assert abs(beta(u[:, :2], alpha).var() * 4 * (2 * alpha + 1) - 1) < 0.04


def test_beta_of_one_is_uniform(p_value):
    counts, _ = np.histogram(
        beta(np.random.default_rng(2).random((100_000, 2)), 1.0), np.linspace(0, 1, 11)
    )
    assert p_value(counts, np.full(10, 0.1)) > 1e-3


def test_orders_are_alike(p_value):
    places = order(np.random.default_rng(3).random((120_000, 4)))
    counts = np.unique(places @ np.array([64, 16, 4, 1]), return_counts=True)[1]
    assert p_value(counts, np.full(24, 1 / 24)) > 1e-3


def test_weighted_orders_begin_with_their_weights(p_value):
    weights = np.array([0.5, 0.0, 0.3, 0.2])
    chosen = weighted_order(np.random.default_rng(4).random((100_000, 4)), weights, 3)
    assert p_value(np.bincount(chosen[:, 0], minlength=4), weights) > 1e-3
    second = np.bincount(chosen[chosen[:, 0] == 0, 1], minlength=4)
    assert p_value(second, np.array([0, 0, 0.6, 0.4])) > 1e-3
    assert not (chosen == 1).any()


def test_noise_values_are_the_normal_law_in_4096_steps():
    values = noise_values()
    assert (values.dtype, values.shape) == (np.float32, (4096,))
    assert (np.diff(values) > 0).all()
    assert np.array_equal(values, -values[::-1])
    exact = values.astype(np.float64)
    assert abs((exact**2).mean() - 1) < 1e-7
    assert abs((exact**4).mean() - 3) < 0.02  # of the normal law: 3
    quantiles = normal((np.arange(4096) + 0.5) / 4096)
    np.testing.assert_allclose(exact, quantiles / np.sqrt((quantiles**2).mean()), rtol=1e-6)
    assert 3.668 < values[-1] < 3.67
    assert (
        hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
        == "87d2297bd6f503ad9b582cb87a6d8d21e20633747144ac688b90f4efcde6a2e8"
    )


def test_noise_levels_are_half_words_of_philox():
    for key in (0, 7, 2**32 - 1):
        levels = rng.noise_levels(key, 24)
        for block in range(3):
            words = _native.philox([block | rng.KEYED_OP << 16, 0, 0, 0], [key, 0])
            halves = [half >> 4 for word in words for half in (word & 0xFFFF, word >> 16)]
            assert levels[8 * block : 8 * block + 8].tolist() == halves
        assert np.array_equal(rng.noise_levels(key, 5), levels[:5])
    assert np.array_equal(
        rng.noise_levels(7, 8)[1::2] >> 8, (rng.keyed_uniforms(7, 4) * 16).astype(int)
    )  # the same words


def test_noise_goes_on_beyond_sixteen_bits_of_blocks():
    many = rng.noise_levels(3, 8 * 65536 + 8)
    words = _native.philox([rng.KEYED_OP << 16, 1, 0, 0], [3, 0])
    assert many[-8:].tolist() == [
        half >> 4 for word in words for half in (word & 0xFFFF, word >> 16)
    ]


def test_noise_levels_are_all_alike(p_value):
    counts = np.bincount(rng.noise_levels(11, 400_000), minlength=4096)
    assert p_value(counts, np.full(4096, 1 / 4096)) > 1e-3
