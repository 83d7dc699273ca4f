"""Online ridge against the definition: a linear system solved anew every round."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb


@pytest.mark.parametrize("intercept", [True, False])
def test_online_ridge_is_its_definition(intercept: bool) -> None:
    world = bb.worlds.SyntheticLinear(rounds=120, features=4, spread=0.5, seed=2)
    losses = bb.evaluate.online_ridge(world, 0.7, intercept)
    X = np.column_stack([world.contexts(), np.ones(120)]) if intercept else world.contexts()
    for t in range(120):
        gram = 0.7 * np.eye(X.shape[1]) + X[: t + 1].T @ X[: t + 1]
        w = np.linalg.solve(gram, X[:t].T @ world.labels()[:t])
        assert losses[t] == pytest.approx((w @ X[t] - world.labels()[t]) ** 2, rel=1e-8, abs=1e-12)


def test_regret_is_logarithmic() -> None:
    # Vovk's bound: λ‖w‖² + n Y² log(1 + T X² / (λ n)), with every coordinate of a context at most X.
    world = bb.worlds.SyntheticLinear(rounds=4000, features=3, spread=0.5, seed=1)
    regret = (bb.evaluate.online_ridge(world, 1.0, intercept=False) - world.best_losses).sum()
    largest = np.abs(world.labels()).max()
    assert 0 < regret <= 1.0 + 3 * largest**2 * np.log(1 + 4000 / 3)


def test_predictions_are_projected() -> None:
    world = bb.worlds.Supervised(np.ones((50, 1)), np.full(50, 10.0))
    losses = bb.evaluate.online_ridge(world, space=bb.spaces.Interval(0.0, 4.0))
    assert losses[-1] == 36.0


def test_other_losses_are_refused() -> None:
    world = bb.worlds.Supervised(np.ones((5, 1)), np.ones(5), bb.losses.Absolute())
    with pytest.raises(ValueError, match="world must have the squared loss"):
        bb.evaluate.online_ridge(world)
