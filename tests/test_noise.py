"""Noise: zero mean, bounded, drawn alike in blocks and one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from banditboost.noise import Noise, Rademacher, Silent, TruncatedGaussian, Uniform

DRAWS = 200_000
SURE = 1e-3
"""Level of the distribution tests: one fixed seed each, so that a right sampler fails once in a thousand choices of seed."""

NOISES: tuple[tuple[Noise, float], ...] = (
    (Silent(), 0.0),
    (Uniform(0.1), 0.1 / math.sqrt(3)),
    (Uniform(7.0), 7.0 / math.sqrt(3)),
    (Rademacher(0.5), 0.5),
    (TruncatedGaussian(0.3, 0.1), float(stats.truncnorm(-3, 3, scale=0.1).std())),
    (TruncatedGaussian(0.1, 5.0), float(stats.truncnorm(-0.02, 0.02, scale=5.0).std())),
    (TruncatedGaussian(100.0, 1.0), 1.0),
)
every_noise = pytest.mark.parametrize(("noise", "deviation"), NOISES, ids=repr)


@every_noise
def test_mean_zero_bounded_and_as_wide_as_it_says(noise: Noise, deviation: float) -> None:
    draws = noise.sample(np.random.default_rng(11), (DRAWS,))
    assert np.abs(draws).max() <= noise.bound
    assert abs(draws.mean()) <= 3 * deviation / math.sqrt(DRAWS)
    assert draws.std() == pytest.approx(deviation, rel=0.01)
    assert abs(np.mean(draws**3)) <= 4 * math.sqrt(np.mean(draws**6) / DRAWS)  # symmetric
    if deviation:
        assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) <= 3 / math.sqrt(DRAWS)


@every_noise
def test_blocks_are_single_draws(noise: Noise, deviation: float) -> None:
    block = noise.sample(np.random.default_rng(12), (6, 4))
    rng = np.random.default_rng(12)
    singles = np.array([noise.sample(rng, ()) for _ in range(24)]).reshape(6, 4)
    rng = np.random.default_rng(12)
    pieces = np.concatenate([noise.sample(rng, (2, 4)), noise.sample(rng, (0, 4)), noise.sample(rng, (4, 4))])
    np.testing.assert_array_equal(block, singles)
    np.testing.assert_array_equal(block, pieces)


def test_silence_leaves_the_stream_alone() -> None:
    rng = np.random.default_rng(13)
    Silent().sample(rng, (100,))
    assert rng.random() == np.random.default_rng(13).random()


def test_rademacher_has_two_values() -> None:
    draws = Rademacher(0.25).sample(np.random.default_rng(14), (1000,))
    assert set(draws.tolist()) == {-0.25, 0.25}


@pytest.mark.parametrize(("bound", "scale"), [(0.3, 0.1), (0.1, 0.1), (0.1, 2.0), (50.0, 1.0)])
def test_truncated_gaussian_is_one(bound: float, scale: float) -> None:
    draws = TruncatedGaussian(bound, scale).sample(np.random.default_rng(15), (50_000,))
    truth = stats.truncnorm(-bound / scale, bound / scale, scale=scale)
    assert stats.kstest(draws, truth.cdf).pvalue > SURE


def test_uniform_is_uniform() -> None:
    draws = Uniform(0.2).sample(np.random.default_rng(16), (50_000,))
    assert stats.kstest(draws, stats.uniform(-0.2, 0.4).cdf).pvalue > SURE


def test_no_bound_is_no_noise() -> None:
    rng = np.random.default_rng(17)
    assert not Uniform(0.0).sample(rng, (5,)).any()
    assert not Rademacher(0.0).sample(rng, (5,)).any()


def test_bad_bounds_are_named() -> None:
    with pytest.raises(ValueError, match=r"bound must be at most 1e\+50, got 1e\+308"):
        Uniform(1e308)
    with pytest.raises(ValueError, match=r"bound must not be negative, got -1\.0"):
        Uniform(-1)
    with pytest.raises(ValueError, match="bound must be finite"):
        Rademacher(math.inf)
    with pytest.raises(ValueError, match="bound must be 0 for silent noise"):
        Silent(0.1)
    with pytest.raises(ValueError, match="bound must be positive"):
        TruncatedGaussian(0.0)
    with pytest.raises(ValueError, match="scale must be positive"):
        TruncatedGaussian(1.0, 0.0)
    with pytest.raises(ValueError, match=r"bound must be a number, got '0\.1'"):
        Uniform("0.1")  # type: ignore[arg-type]
