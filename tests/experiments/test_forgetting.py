"""Learners that forget: they are weighted least squares and weighted means, and no prediction knows its own label."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost.experiments.forgetting import forgetting_mean, forgetting_of, forgetting_ridge
from banditboost.spaces import Interval
from banditboost.worlds import Flip, Supervised


def test_the_ridge_solves_weighted_least_squares() -> None:
    world = Flip(rounds=60, features=3)
    rows, labels = np.column_stack([world.contexts(), np.ones(60)]), world.labels()
    weights = (1 - 1 / 20) ** np.arange(58, -1, -1)
    gram = (rows[:59].T * weights) @ rows[:59] + (1 - 1 / 20) ** 59 * 2.0 * np.eye(4)
    predicted = rows[59] @ np.linalg.solve(gram, (rows[:59].T * weights) @ labels[:59])
    loss = forgetting_ridge(world, window=20.0, ridge=2.0)[59]
    assert loss == pytest.approx((predicted - labels[59]) ** 2, rel=1e-3)
    held = forgetting_ridge(world, window=20.0, space=Interval(-0.1, 0.1))
    assert np.all(held >= np.square(np.maximum(np.abs(labels) - 0.1, 0.0)) - 1e-12), "predictions are projected"


def test_the_mean_weighs_labels_by_age() -> None:
    labels = np.random.default_rng(0).random(30)
    losses = forgetting_mean(Supervised(np.zeros((30, 1)), labels), window=5.0, first=0.5)
    weights = 0.8 ** np.arange(28, -1, -1)
    assert losses[0] == pytest.approx((labels[0] - 0.5) ** 2)
    assert losses[29] == pytest.approx((np.average(labels[:29], weights=weights) - labels[29]) ** 2)


def test_who_forgets_is_better_after_a_flip_and_worse_without_one() -> None:
    flipped, still = Flip(rounds=2000), Flip(rounds=2000, at=())
    assert forgetting_ridge(flipped, 30.0).mean() < 0.2 * forgetting_ridge(flipped, float("inf")).mean()
    assert forgetting_ridge(still, 30.0).mean() > 1.05 * forgetting_ridge(still, float("inf")).mean()


@pytest.mark.parametrize("learner", [forgetting_ridge, forgetting_mean])
def test_no_prediction_knows_its_own_label_or_a_later_one(learner: object) -> None:
    assert callable(learner)
    world = Flip(rounds=50)
    labels = world.labels().copy()
    labels[30:] += 5.0
    before = learner(world, window=20.0)
    after = learner(Supervised(world.contexts(), labels), window=20.0)
    assert np.array_equal(before[:30], after[:30])
    assert np.sqrt(after[30]) != pytest.approx(np.sqrt(before[30]))


@pytest.mark.parametrize("window", [1.0, 0.0, -3.0, float("nan")])
def test_a_window_that_makes_no_sense_is_refused(window: float) -> None:
    with pytest.raises(ValueError, match="window must be more than 1"):
        forgetting_of(window)
