"""The default recipe: what depends on the space does so by rules that leave intervals as they are."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.algorithms import boosted
from banditboost.gradients import Budget, Exact, Fitted
from banditboost.learners import Mixed, Tree


def trees(booster: bb.Booster) -> bb.learners.Learner:
    learner = booster.spec.learner
    assert isinstance(learner, Mixed)
    return learner.parts[1]


def test_an_interval_has_the_parts_own_defaults() -> None:
    space = bb.spaces.Interval(-1.0, 3.0)
    assert boosted(space).spec.gradient == Fitted(space.inner_radius / 2)
    assert trees(boosted(space)) == Tree()


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
    with pytest.raises(ValueError, match="queries must be at most the 5"):
        boosted(bb.spaces.Simplex(26), copies=5, answers=10)
    with pytest.raises(ValueError, match="answers must be left out where gradient is given, got 3"):
        boosted(bb.spaces.Simplex(26), answers=3, gradient=Exact())


def test_a_fitted_slope_is_found_from_fewer_answers_than_coordinates() -> None:
    # The gradient that is left over by ten answers in 25 dimensions still points uphill.
    space, rng = bb.spaces.Simplex(26), np.random.default_rng(0)
    gradient, label = Fitted(0.35, ridge=0.1), np.eye(26)[3]
    anchors = np.tile(space.center, (10, 1))
    cosines = []
    for _ in range(50):
        probe = gradient.probe(anchors, space, {"directions": rng})
        found = gradient.estimate(np.square(probe.queries - label).sum(axis=1), probe, space, {})[0]
        true = 2 * (space.center - label)
        assert abs(found.sum()) < 1e-9
        cosines.append(found @ true / np.linalg.norm(found) / np.linalg.norm(true))
    assert np.mean(cosines) > 0.4
