"""OnePoint is unbiased for the gradient of the *ball*-averaged loss, and averaging queries divides its variance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.integrate import quad

from banditboost import losses, noise
from banditboost.gradients import OnePoint, Probe
from banditboost.spaces import Ball, Interval

ONE_D = [
    losses.Squared(),
    losses.Absolute(),
    losses.Huber(0.3),
    losses.Logistic(),
    losses.Quantile(0.8),
    losses.Bregman("euclidean"),
    losses.Bregman("entropy"),
]


def asked(queries: ArrayLike, directions: ArrayLike) -> Probe:
    """A probe of one query a copy; the one-point estimator does not look at its anchors."""
    queries, directions = np.array(queries), np.array(directions)
    return Probe(queries, directions, np.arange(len(queries)), queries, np.ones(len(queries), dtype=bool))


def mean_estimate(loss: losses.Loss, y: float, label: float, delta: float) -> float:
    """The estimator's exact mean: enumerate the two directions and the two signs of the noise."""
    gradient, space = OnePoint(delta), Interval(-9, 9)
    total = 0.0
    for v in (-1.0, 1.0):
        for w in (-0.7, 0.7):
            answer = loss.value([y + delta * v], label) + w
            total += float(gradient.estimate(answer, asked([y + delta * v], [v]), space, {})[0]) / 4
    return total


@pytest.mark.parametrize("loss", ONE_D, ids=lambda loss: f"{type(loss).__name__}-{loss.to_json()}")
@pytest.mark.parametrize("y", [0.3, 0.9, 1.4])
def test_unbiased_on_the_line(loss: losses.Loss, y: float) -> None:
    delta, label, h = 0.25, 0.8, 1e-4

    def smoothed(at: float) -> float:
        integral, _ = quad(
            lambda u: float(loss.value(at + delta * u, label)), -1, 1, points=[(label - at) / delta], epsabs=1e-13
        )
        return float(integral) / 2

    # A fourth-order difference of the numerically integrated ball average.
    derivative = (smoothed(y - 2 * h) - 8 * smoothed(y - h) + 8 * smoothed(y + h) - smoothed(y + 2 * h)) / (12 * h)
    assert mean_estimate(loss, y, label, delta) == pytest.approx(derivative, abs=2e-7)


def test_exact_in_three_dimensions_over_the_octahedron() -> None:
    # For a quadratic the six directions ±e_j have the sphere's second moments, so their mean is the exact mean.
    space, gradient, loss = Ball(3, 5.0), OnePoint(0.4), losses.Squared()
    y, label = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, -0.5])
    directions = np.concatenate([np.eye(3), -np.eye(3)])
    answers = loss.value(y + 0.4 * directions, label)
    mean = gradient.estimate(answers, asked(y + 0.4 * directions, directions), space, {}).mean(axis=0)
    # The ball average of ‖y - label‖² differs from it by a constant, so the gradients are equal.
    np.testing.assert_allclose(mean, 2 * (y - label), rtol=0, atol=1e-12)


def test_unbiased_in_three_dimensions_for_a_loss_that_is_not_quadratic() -> None:
    space, gradient, loss = Ball(3, 5.0), OnePoint(0.5), losses.Absolute()
    rng = np.random.default_rng(11)
    y, label, n = np.array([0.4, 0.1, -0.2]), np.array([0.0, 0.3, 0.1]), 400_000
    probe = gradient.probe(np.tile(y, (n, 1)), space, {"directions": rng})
    estimates = gradient.estimate(loss.value(probe.queries, label), probe, space, {})
    # An independent estimate of ∇ℓ̂: the mean of ∇ℓ over the ball, points drawn by rejection from the cube.
    cube = rng.uniform(-1, 1, (n, 3))
    ball = cube[(cube**2).sum(axis=1) <= 1]
    expected = loss.gradient(y + 0.5 * ball, label).mean(axis=0)
    error = estimates.std(axis=0) / np.sqrt(n)
    assert (np.abs(estimates.mean(axis=0) - expected) < 5 * error + 0.005).all()
    assert error.max() < 0.005


def test_averaging_queries_divides_the_variance() -> None:
    space, loss, rng = Interval(-9, 9), losses.Squared(), np.random.default_rng(5)

    def variance(queries: int) -> float:
        gradient = OnePoint(0.5, queries=queries)
        probe = gradient.probe(np.zeros(20_000), space, {"directions": rng})
        answers = loss.value(probe.queries, 1.0) + noise.Uniform(0.1).sample(rng, probe.queries.shape)
        return float(gradient.estimate(answers, probe, space, {}).var())

    assert variance(1) / variance(10) == pytest.approx(10, rel=0.1)


def test_queries_belong_to_their_copies() -> None:
    gradient, space = OnePoint(0.1, queries=3), Ball(2, 9.0)
    anchors = np.array([[0.0, 0.0], [5.0, 5.0]])
    probe = gradient.probe(anchors, space, {"directions": np.random.default_rng(0)})
    distances = np.linalg.norm(probe.queries - np.repeat(anchors, 3, axis=0), axis=1)
    np.testing.assert_allclose(distances, 0.1)
    # Answers of one copy never reach another.
    answers = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    estimate = gradient.estimate(answers, probe, space, {})
    assert (estimate[1] == 0).all()
    assert (estimate[0] != 0).any()


@pytest.mark.parametrize("delta", [0.0, -0.1, float("inf"), float("nan"), "wide"])
def test_delta_must_be_positive(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must be"):
        OnePoint(delta)


def test_queries_must_be_a_count() -> None:
    with pytest.raises(ValueError, match="queries must be a whole number of at least 1, got 0"):
        OnePoint(0.5, queries=0)
