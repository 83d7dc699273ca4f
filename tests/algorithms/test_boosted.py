"""The default: it learns what no line can, from loss values alone, whatever the scale of its contexts."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.algorithms import boosted
from banditboost.gradients import Budget, Exact, Fitted, Remembered
from banditboost.learners import ByWidth, Mixed, Steady, Tree


def steps(rounds: int, seed: int = 0) -> bb.worlds.Supervised:
    """Labels that no line can follow."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rounds, 4))
    y = np.sign(X[:, 0] * X[:, 1]) * 0.8
    return bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.1))


def test_it_learns_what_no_line_can() -> None:
    world = steps(6000)
    trace = bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(-1, 1)), world)
    assert trace.compiled
    assert trace.losses[-2000:].mean() < 0.35 * bb.evaluate.best_linear(world)[-2000:].mean()


def test_bandit_feedback_costs_little_against_gradients_told() -> None:
    world, space = steps(6000), bb.spaces.Interval(-1, 1)
    blind = bb.evaluate.progressive(bb.algorithms.boosted(space), world)
    told = bb.evaluate.progressive(bb.algorithms.boosted(space, gradient=bb.gradients.Exact()), world)
    assert blind.mean < 1.1 * told.mean


def test_the_scale_of_contexts_does_not_matter() -> None:
    world, space = steps(3000), bb.spaces.Interval(-1, 1)
    units = np.array([1e-3, 1.0, 1e4, 10.0])
    raw = bb.worlds.Supervised(world.contexts() * units + 5 * units, world.labels(), noise=world.noise)
    means = [bb.evaluate.progressive(bb.algorithms.boosted(space), w).mean for w in (world, raw)]
    assert means[0] == pytest.approx(means[1], rel=0.1)


def test_more_copies_are_better_where_trees_matter() -> None:
    world, space = steps(4000), bb.spaces.Interval(-1, 1)
    means = [bb.evaluate.progressive(bb.algorithms.boosted(space, copies=n), world).mean for n in (1, 5, 30)]
    assert means[0] > means[1] > means[2]


def test_it_asks_as_many_values_as_it_has_copies_and_stays_inside() -> None:
    space = bb.spaces.Box((0.0, -1.0), (1.0, 1.0))
    booster = bb.algorithms.boosted(space, copies=12)
    rng = np.random.default_rng(1)
    for _ in range(30):
        ticket = booster.ask(rng.normal(size=3))
        assert len(ticket.queries) == 12
        assert space.contains(ticket.queries).all()
        booster.tell(ticket, ((ticket.queries - [0.9, 0.9]) ** 2).sum(axis=1))
    assert np.abs(booster.predict([0.0, 0.0, 0.0]) - [0.9, 0.9]).max() < 0.2


def test_a_chain_of_sums_needs_steps_that_make_sense() -> None:
    for bad in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="step must"):
            bb.chains.Additive(step=bad)
        with pytest.raises(ValueError, match="first must"):
            bb.chains.Additive(first=bad)
    plays, start = np.array([[3.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5])
    path = bb.chains.Additive(step=0.5, first=1.0).path(plays, start)
    np.testing.assert_allclose(path, [[0.5, 0.5], [3.5, 0.5], [4.0, 1.0]])


def trees(booster: bb.Booster) -> bb.learners.Learner:
    chosen = booster.spec.learner
    assert isinstance(chosen, ByWidth)
    steady = chosen.learner
    assert isinstance(steady, Steady)
    assert isinstance(steady.learner, Mixed)
    return steady.learner.parts[1]


def test_an_interval_has_the_parts_own_defaults() -> None:
    space = bb.spaces.Interval(-1.0, 3.0)
    assert boosted(space, memory=None).spec.gradient == Remembered(30)
    assert trees(boosted(space, memory=None)) == Tree()


def test_queries_on_a_simplex_go_far_and_stay_inside() -> None:
    space = bb.spaces.Simplex(26)
    booster = boosted(space)
    gradient = booster.spec.gradient
    assert isinstance(gradient, Fitted)
    assert gradient.delta == pytest.approx(np.sqrt(2) / 4)
    assert gradient.delta > 5 * space.inner_radius
    ticket = booster.ask(np.zeros(3))
    assert space.contains(ticket.queries).all()
    assert len(ticket.queries) == 30


def test_answers_may_be_fewer_than_copies() -> None:
    booster = boosted(bb.spaces.Simplex(26), copies=40, answers=10)
    assert isinstance(booster.spec.gradient, Budget)
    assert len(booster.ask(np.zeros(3)).queries) == 10
    with pytest.raises(ValueError, match="answers must be at most as many as copies"):
        boosted(bb.spaces.Simplex(26), copies=5, answers=10)
    with pytest.raises(ValueError, match="answers, explore and loss must be left out where gradient is given"):
        boosted(bb.spaces.Simplex(26), answers=3, gradient=Exact())


def test_a_fitted_slope_is_found_from_fewer_answers_than_coordinates() -> None:
    # The gradient that is left over by ten answers in 25 dimensions still points uphill.
    space, rng = bb.spaces.Simplex(26), np.random.default_rng(0)
    gradient, label = Fitted(0.35, ridge=0.1), np.eye(26)[3]
    anchors = np.tile(space.inner_centre, (10, 1))
    cosines = []
    for _ in range(50):
        probe = gradient.probe(anchors, space, {"directions": rng})
        found = gradient.estimate(np.square(probe.queries - label).sum(axis=1), probe, space, {})[0]
        true = 2 * (space.inner_centre - label)
        assert abs(found.sum()) < 1e-9
        cosines.append(found @ true / np.linalg.norm(found) / np.linalg.norm(true))
    assert np.mean(cosines) > 0.4
