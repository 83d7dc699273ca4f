"""Balanced bandwidths: the shares are those of the best linear unbiased estimate, and their bound on the bias holds."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.evaluate.ope import balance as module
from banditboost.evaluate.ope.balance import Balance, balance, smooth_curves

WIDTHS = 2.0 ** (np.arange(-8, 1) / 2.0)


def noise(scale: float = 0.05) -> Array:
    """Covariances of means over rows that lie within a bandwidth: those of a wider one hold those of a narrower one."""
    return np.asarray(scale**2 / np.maximum.outer(WIDTHS, WIDTHS))


def runs(bias: Array, rule: object = balance) -> tuple[Array, Array]:
    """Return the errors of many estimates, and how far intervals reach."""
    rng, covariance = np.random.default_rng(0), noise()
    root = np.linalg.cholesky(covariance)
    errors, halves = [], []
    for _ in range(400):
        values = 1.0 + bias + root @ rng.normal(size=len(WIDTHS))
        found: Balance = rule(values, covariance, WIDTHS)  # type: ignore[operator]
        errors.append(found.shares @ values - 1.0)
        halves.append(1.96 * np.sqrt(found.shares @ covariance @ found.shares) + found.bias)
    return np.array(errors), np.array(halves)


def test_one_scale_gives_the_best_linear_unbiased_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other shares that sum to one have a smaller expected square of error, over curves and noise of that scale."""
    monkeypatch.setattr(module, "SCALES", np.array([5.0]))
    monkeypatch.setattr(module, "SLOPES", (0.0,))
    covariance = noise()
    found = balance(np.linspace(1.0, 2.0, len(WIDTHS)), covariance, WIDTHS)
    both = covariance + 25.0 * covariance.diagonal().min() * smooth_curves(WIDTHS)
    assert found.shares.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = rng.normal(size=len(WIDTHS))
        other = found.shares + 0.1 * (other - other.mean())
        assert other @ both @ other > found.shares @ both @ found.shares


@pytest.mark.parametrize(
    "bias", [0.0 * WIDTHS, 0.3 * WIDTHS**2, 3.0 * WIDTHS**2, -2.0 * WIDTHS**2 + WIDTHS**3, 0.5 * WIDTHS]
)
def test_errors_are_near_those_of_the_best_bandwidth_and_intervals_hold(bias: Array) -> None:
    errors, halves = runs(bias)
    best = float((np.square(bias) + noise().diagonal()).min())
    assert float(np.square(errors).mean()) < (1.9 if bias.any() else 2.6) * best  # without any bias the widest is best
    assert float((np.abs(errors) <= halves).mean()) >= 0.95


def widest_alone(values: Array, covariance: Array, widths: Array) -> Balance:
    return Balance(np.eye(len(values))[-1], 0.0)


def no_curves(at: Array, slope: float = 0.0) -> Array:
    return 1e-9 * np.outer(at, at)


def test_what_knows_no_bias_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, halves = runs(3.0 * WIDTHS**2, widest_alone)
    assert float((np.abs(errors) <= halves).mean()) < 0.5
    monkeypatch.setattr(module, "smooth_curves", no_curves)
    errors, halves = runs(3.0 * WIDTHS**2)
    assert float((np.abs(errors) <= halves).mean()) < 0.5


def test_equal_estimates_and_estimates_without_noise_do_no_harm() -> None:
    same = balance(np.full(3, 2.0), np.full((3, 3), 0.01), np.array([1.0, 2.0, 4.0]))
    assert same.shares @ np.full(3, 2.0) == pytest.approx(2.0)
    sure = balance(np.array([1.0, 2.0]), np.zeros((2, 2)), np.array([1.0, 2.0]))
    assert (sure.shares.tolist(), sure.bias) == ([1.0, 0.0], 0.0)
    alone = balance(np.array([1.0]), np.array([[0.01]]), np.array([1.0]))
    assert alone.shares.tolist() == pytest.approx([1.0])
    assert alone.bias > 0.3  # nothing tells how biased a single bandwidth is


def test_units_do_not_matter() -> None:
    values = np.array([1.0, 1.2, 1.1, 1.6, 2.0, 2.2, 2.5, 2.9, 3.1])
    one, other = balance(values, noise(), WIDTHS), balance(1e6 * values + 7.0, 1e12 * noise(), 1e-3 * WIDTHS)
    np.testing.assert_allclose(one.shares, other.shares, rtol=1e-5)
    assert other.bias == pytest.approx(1e6 * one.bias, rel=1e-6)
