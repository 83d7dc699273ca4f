"""Fitted gradients: exact on quadratics, biased as stated elsewhere, inside without a margin, blind to the units of the loss."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.gradients import Budget, Fitted, Surrogate
from banditboost.spaces import Ball, Box, Interval, Simplex


def rounds(gradient: Fitted, space: bb.spaces.Space, anchors: Array, loss: object, n: int, noise: float) -> Array:
    """Estimates of n rounds at the same anchors."""
    streams, rng = {"directions": np.random.default_rng(1)}, np.random.default_rng(2)
    found = []
    for _ in range(n):
        probe = gradient.probe(anchors, space, streams)
        answers = loss(probe.queries) + rng.uniform(-noise, noise, len(probe.queries))  # type: ignore[operator]
        found.append(gradient.estimate(answers, probe, space, gradient.start(len(anchors), space)))
    return np.array(found)


@pytest.mark.parametrize(
    ("space", "model"),
    [(Interval(-1, 1), "isotropic"), (Ball(4, 1.0), "isotropic"), (Box((-1.0, -1.0), (1.0, 2.0)), "diagonal")],
    ids=str,
)
def test_exact_on_quadratics_anywhere_in_the_space(space: bb.spaces.Space, model: str) -> None:
    rng = np.random.default_rng(3)
    anchors = space.project(rng.normal(size=(12, *space.shape)))  # many of them on the border
    label = 0.3 * np.ones(space.shape)
    gradient = Fitted(0.5, queries=3, model=model, ridge=1e-9)  # type: ignore[arg-type]
    ndim = len(space.shape)
    found = rounds(gradient, space, anchors, lambda z: bb.losses.Squared().value(z, label, ndim), 5, 0.0)
    np.testing.assert_allclose(found, np.broadcast_to(2 * (anchors - label), found.shape), atol=1e-5)


def test_queries_never_leave_and_plays_may_reach_the_border() -> None:
    space = Interval(0.0, 1.0)
    booster = bb.Booster(copies=10, gradient=Fitted(0.4), space=space, seed=2)
    assert booster.geometry.ground == space, "no margin is kept"
    for _ in range(300):
        ticket = booster.ask([1.0])
        assert space.contains(ticket.queries).all()
        booster.tell(ticket, ticket.queries**2)
    assert float(booster.predict([1.0])) < 0.02


def test_directions_are_uniform_in_the_ball() -> None:
    n, gradient = 100_000, Fitted(0.5)
    line = gradient.directions(Interval(-1, 1), np.random.default_rng(0), n)
    np.testing.assert_allclose(np.quantile(line, [0.1, 0.5, 0.9]), [-0.8, 0.0, 0.8], atol=0.02)
    ball = np.linalg.norm(gradient.directions(Ball(3), np.random.default_rng(0), n), axis=1)
    np.testing.assert_allclose(np.quantile(ball**3, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.02)
    flat = gradient.directions(Simplex(4), np.random.default_rng(0), 1000)
    np.testing.assert_allclose(flat.sum(axis=1), 0.0, atol=1e-12)


def test_the_bias_on_a_kink_is_that_of_the_misfit() -> None:
    # |z| on [-1, 1], asked everywhere: by symmetry the slope at 0 is right; elsewhere a parabola's slope is not ±1.
    anchors = np.linspace(-0.8, 0.8, 9)
    found = rounds(Fitted(2.0, queries=20), Interval(-1, 1), anchors, np.abs, 400, 0.1).mean(axis=0)
    assert abs(found[4]) < 0.02
    assert np.abs(np.abs(found) - 1)[:4].max() > 0.1, "this gradient is biased, and says so"
    assert not Fitted.unbiased


def test_noise_is_averaged_over_all_answers() -> None:
    anchors, space = np.linspace(-0.5, 0.5, 30), Interval(-9, 9)
    square = lambda z: (z - 0.2) ** 2  # noqa: E731
    fitted = rounds(Fitted(0.5), space, anchors, square, 300, 0.3).var(axis=0).mean()
    jackknifed = rounds(Surrogate(0.5), space, anchors, square, 300, 0.3).var(axis=0).mean()  # type: ignore[arg-type]
    assert fitted < 0.2 * jackknifed


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e6])
def test_scaled_gradients_do_not_know_the_units_of_the_loss(units: float) -> None:
    space, rng = Interval(0.0, 10.0), np.random.default_rng(5)
    booster = bb.algorithms.boosted(space, copies=8, gradient=Fitted(2.5, scaled=True))
    for x in rng.uniform(-1, 1, (300, 2)):
        ticket = booster.ask(x)
        booster.tell(ticket, units * (ticket.queries - 5 - 3 * x[0]) ** 2 - 7 * units)
    assert float(booster.predict([1.0, 0.0])) == pytest.approx(8.0, abs=0.5)
    weight, curved, _, _ = booster.gradient_memory["scale"]
    assert curved / weight == pytest.approx(2 * units, rel=0.1)


@pytest.mark.parametrize("outlier", [1e4, 1e45])
@pytest.mark.parametrize("when", [0, 100])
def test_one_outlier_does_not_stop_learning(outlier: float, when: int) -> None:
    booster, rng, errors = bb.algorithms.boosted(Interval(-1, 1)), np.random.default_rng(0), []
    for t in range(1000):
        x = rng.uniform(-1, 1, 2)
        ticket = booster.ask(x)
        errors.append((float(ticket.prediction) - 0.8 * x[0]) ** 2)
        losses = (ticket.queries - 0.8 * x[0]) ** 2
        losses[0] = outlier if t == when else losses[0]
        booster.tell(ticket, losses)
    assert np.mean(errors[900:]) < 0.01
    assert all(np.isfinite(array).all() for array in booster.arrays().values())


def test_a_large_level_does_not_matter() -> None:
    booster, rng, errors = bb.algorithms.boosted(Interval(-1, 1), answers=10), np.random.default_rng(0), []
    for _ in range(500):
        x = rng.uniform(-1, 1, 2)
        ticket = booster.ask(x)
        errors.append((float(ticket.prediction) - 0.8 * x[0]) ** 2)
        booster.tell(ticket, 1e7 + (ticket.queries - 0.8 * x[0]) ** 2)
    assert np.mean(errors[300:]) < 0.005


def test_scaled_gradients_are_those_of_a_squared_distance() -> None:
    space, anchors = Interval(-2, 2), np.linspace(-1, 1, 12)
    gradient, streams = Fitted(0.5, scaled=True), {"directions": np.random.default_rng(0)}
    memory = gradient.start(12, space)
    for _ in range(50):
        probe = gradient.probe(anchors, space, streams)
        answers = 40 * (probe.queries - 0.5) ** 2
        found = gradient.estimate(answers, probe, space, memory)
        gradient.learn(answers, probe, space, memory)
    np.testing.assert_allclose(found, 2 * (anchors - 0.5), atol=0.02)


def test_a_linear_or_a_constant_loss_is_no_trouble() -> None:
    space = Interval(-1.0, 1.0)
    for slope in (0.0, 3.0):
        booster = bb.algorithms.boosted(space, copies=6)
        for _ in range(200):
            ticket = booster.ask([0.5])
            booster.tell(ticket, slope * ticket.queries + 1)
        final = float(booster.predict([0.5]))
        assert final == pytest.approx(-1.0, abs=0.05) if slope else np.isfinite(final)


def test_no_scale_within_a_budget() -> None:
    with pytest.raises(ValueError, match="gradient must not be scaled where the number of queries varies"):
        Budget(Fitted(scaled=True), 3)
