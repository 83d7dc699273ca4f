"""Surrogate is unbiased, by exact enumeration; a planted leak is caught by the same test; its variance is a fraction."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from banditboost import losses
from banditboost.gradients import OnePoint, Probe, Surrogate, jackknife
from banditboost.require import Array
from banditboost.spaces import Ball, Interval, Simplex

SPACE = Interval(-9.0, 9.0)
ANCHORS = np.array([0.0, 0.7, 0.2, -0.4])
DELTA = 0.5


def loss(z: Array) -> Array:
    """Convex, and no quadratic."""
    return np.asarray(np.abs(z - 0.3) ** 1.7 + 0.2 * np.exp(z))


def mean_over_everything(estimate: Callable[[Array, Probe], Array], copies: int) -> Array:
    """The estimator's exact mean: all directions, all signs of Rademacher noise."""
    anchors, total, count = ANCHORS[:copies], np.zeros(copies), 0
    for signs in itertools.product((-1.0, 1.0), repeat=copies):
        for noise in itertools.product((-0.3, 0.3), repeat=copies):
            v = np.array(signs)
            z = anchors + DELTA * v
            total += estimate(loss(z) + np.array(noise), Probe(z, v, np.arange(copies)))
            count += 1
    return total / count


def smoothed_gradient(copies: int) -> Array:
    y = ANCHORS[:copies]
    return (loss(y + DELTA) - loss(y - DELTA)) / (2 * DELTA)


@pytest.mark.parametrize("copies", [2, 3, 4])
@pytest.mark.parametrize("model", ["auto", "none", "isotropic", "diagonal"])
def test_unbiased_by_enumeration(copies: int, model: str) -> None:
    gradient = Surrogate(DELTA, model=model)  # type: ignore[arg-type]
    mean = mean_over_everything(lambda answers, probe: gradient.estimate(answers, probe, SPACE, copies), copies)
    np.testing.assert_allclose(mean, smoothed_gradient(copies), rtol=0, atol=1e-9)


@pytest.mark.parametrize("copies", [3, 4])
def test_a_leak_through_the_centre_is_caught(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Centring by the queries instead of the anchors lets z_i into q_{-i}: the same enumeration must see it.
    right = jackknife.leave_one_out

    def leaky(
        queries: Array, answers: Array, anchors: Array, delta: float, curvature: str, ridge: float
    ) -> jackknife.Fit:
        fit = right(queries, answers, queries, delta, curvature, ridge)
        return fit._replace(slopes=right(queries, answers, anchors, delta, curvature, ridge).slopes)

    monkeypatch.setattr("banditboost.gradients.surrogate.leave_one_out", leaky)
    gradient = Surrogate(DELTA, model="isotropic", ridge=0.1)
    mean = mean_over_everything(lambda answers, probe: gradient.estimate(answers, probe, SPACE, copies), copies)
    assert np.abs(mean - smoothed_gradient(copies)).max() > 0.01


def test_unbiased_in_three_dimensions_over_the_octahedron() -> None:
    # Two copies, six directions each: for a quadratic loss the mean over all pairs is the exact gradient.
    space, gradient, square = Ball(3, 9.0), Surrogate(0.4, model="isotropic"), losses.Squared()
    anchors, label = np.array([[0.5, -1.0, 2.0], [0.0, 0.3, 0.1]]), np.array([1.0, 0.0, -0.5])
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    total = np.zeros((2, 3))
    for one, two in itertools.product(corners, corners):
        v = np.stack([one, two])
        z = anchors + 0.4 * v
        total += gradient.estimate(square.value(z, label), Probe(z, v, np.arange(2)), space, copies=2) / 36
    np.testing.assert_allclose(total, 2 * (anchors - label), atol=1e-9)


def test_leaving_one_out_is_refitting_without_it() -> None:
    rng = np.random.default_rng(1)
    queries, answers, anchors = rng.normal(size=(7, 2)), rng.normal(size=7), rng.normal(size=(7, 2))
    fit = jackknife.leave_one_out(queries, answers, anchors, 0.5, "diagonal", 0.1)
    center = anchors.mean(axis=0)
    scale = 0.5 + np.sqrt(((anchors - center) ** 2).mean())

    def features(points: Array) -> Array:
        u = (points - center) / scale
        return np.column_stack([np.ones(len(u)), u, u**2 / 2])

    for i in range(7):
        others = np.arange(7) != i
        phi = features(queries[others])
        theta = np.linalg.solve(phi.T @ phi + np.diag([1e-9, 0.1, 0.1, 0.1, 0.1]), phi.T @ answers[others])
        assert fit.surprises[i] == pytest.approx(answers[i] - features(queries[i : i + 1])[0] @ theta, rel=1e-7)
        h = 1e-6
        for j in range(2):
            step = h * np.eye(2)[j]
            up, down = (features((anchors[i] + s)[np.newaxis])[0] @ theta for s in (step, -step))
            assert fit.slopes[i, j] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("d", "largest"), [(1, 0.03), (5, 0.01), (10, 0.01)])
@pytest.mark.parametrize("kind", [losses.Squared(), losses.Absolute()], ids=str)
def test_the_variance_is_a_fraction(d: int, largest: float, kind: losses.Loss) -> None:
    rng, space, copies = np.random.default_rng(2), Ball(d, 99.0), 30
    square = [0.0, 0.0]
    for _ in range(200):
        label, anchors = rng.normal(size=d), np.cumsum(0.1 * rng.normal(size=(copies, d)), axis=0)
        for k, gradient in enumerate((Surrogate(0.5), OnePoint(0.5))):
            probe = gradient.probe(anchors, space, rng)
            answers = kind.value(probe.queries, label) + rng.uniform(-0.1, 0.1, copies)
            wrong = gradient.estimate(answers, probe, space, copies) - kind.gradient(anchors, label)
            square[k] += float((wrong**2).sum(axis=1).mean())
    assert square[0] < largest * square[1]


def test_gradients_stay_in_the_tangent_space() -> None:
    space, gradient = Simplex(4), Surrogate(0.05)
    rng = np.random.default_rng(0)
    probe = gradient.probe(np.tile(space.center, (8, 1)), space, rng)
    estimate = gradient.estimate(losses.Squared().value(probe.queries, np.eye(4)[0]), probe, space, 8)
    np.testing.assert_allclose(estimate.sum(axis=1), 0.0, atol=1e-9)


def test_alone_it_is_the_one_point_estimator() -> None:
    probe = Probe(np.array([0.5]), np.array([1.0]), np.arange(1))
    one, two = (g.estimate(np.array([3.0]), probe, SPACE, 1) for g in (Surrogate(0.5), OnePoint(0.5)))
    assert one == two
