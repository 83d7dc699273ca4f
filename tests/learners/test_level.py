"""Copies that see no feature: the mean of what rounds have asked for, in every context alike."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.learners import Level, Mixed, SecondOrder
from banditboost.spaces import Box, Interval


def test_it_is_ridge_regression_on_the_constant() -> None:
    rng = np.random.default_rng(0)
    space = Box((0.0, 0.0), (1.0, 1.0))
    level = Level(ridge=0.7, curvature=1.5).start(3, space, 4, rng)
    ridge = SecondOrder(0.7, 1.5, centre="zero", forward=False).start(3, space, 0, rng)
    for t in range(1, 40):
        gradients = rng.normal(size=(3, 2))
        level.update(rng.normal(size=4), gradients, t)
        ridge.update(np.zeros(0), gradients, t)
    np.testing.assert_allclose(level.play(rng.normal(size=4)), ridge.play(np.zeros(0)), rtol=1e-12)
    np.testing.assert_array_equal(level.play_many(np.zeros((5, 4)))[:, 3], level.play(None))


def test_a_level_before_a_line_finds_the_mean_sooner_than_the_line_alone() -> None:
    """Sixty features and labels far from the start: a linear copy alone shrinks what it has not seen, its intercept too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 60))
    world = bb.worlds.Supervised(X, np.full(60, 8.0) + 0.1 * rng.normal(size=60))
    line, space = SecondOrder(3.0, centre="zero"), Interval(-10, 10)
    chain = bb.chains.Additive(step=1.0)
    losses = []
    for learner, copies in ((line, 1), (Mixed((Level(), line), (1, 1)), 2)):
        booster = bb.Booster(learner, copies, chain, bb.gradients.Exact(), space)
        losses.append(bb.evaluate.progressive(booster, world).losses[5:].mean())
    assert losses[1] < 0.1 * losses[0]


def test_copies_that_are_reset_play_zero_again() -> None:
    rng = np.random.default_rng(0)
    bank = Level().start(3, Interval(-1, 1), 2, rng)
    bank.update(np.zeros(2), np.ones(3), 1)
    before = bank.play(None)
    bank.reset(np.array([1]), rng)
    assert bank.play(None).tolist() == [before[0], 0.0, before[2]]
    larger = bank.stretched(5, rng)
    bank.update(np.zeros(2), np.ones(3), 2)
    assert larger.play(None).tolist() == [before[0], 0.0, before[2]]


@pytest.mark.parametrize("wrong", ["ridge", "curvature"])
def test_what_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=f"{wrong} must be"):
        Level(**{wrong: 0.0})  # type: ignore[arg-type]
