"""Follow-the-leader on quadratics keeps its bound on every run, and whoever follows late does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.theory import leader_regret, mix_regret


def shares(slopes: Array, squares: Array, lag: int = 0) -> Array:
    """The best share of all rounds before each one, or before the last `lag` of these; 1 at first."""
    found = np.ones(len(slopes))
    for t in range(1, len(slopes)):
        seen = slice(max(t - lag, 0))
        if squares[seen].sum() > 0:
            found[t] = np.clip(-slopes[seen].sum() / (2 * squares[seen].sum()), 0.0, 1.0)
    return found


def regret(slopes: Array, squares: Array, played: Array) -> float:
    best = np.clip(-slopes.sum() / (2 * squares.sum()), 0.0, 1.0)
    losses = [w * slopes + w * w * squares for w in (played, np.full(len(slopes), best))]
    return float((losses[0] - losses[1]).sum())


def run(seed: int, rounds: int = 300) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=rounds)
    drift = np.where(np.arange(rounds) < rounds // 2, -1.0, 1.0) * rng.uniform(0, 2)
    return (drift + rng.normal(size=rounds)) * ways, ways**2


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_holds_on_every_run(seed: int) -> None:
    slopes, squares = run(seed)
    played = shares(slopes, squares)
    assert regret(slopes, squares, played) <= leader_regret(slopes + 2 * played * squares, 2 * squares) + 1e-9


def test_following_a_hundred_rounds_late_breaks_the_bound() -> None:
    slopes, squares = np.tile(np.array([-2.0]), 150), np.ones(150)
    slopes[:100] = 2.0
    played = shares(slopes, squares, lag=100)
    bound = leader_regret(slopes + 2 * shares(slopes, squares) * squares, 2 * squares)
    assert regret(slopes, squares, played) > bound > regret(slopes, squares, shares(slopes, squares))


def test_the_closed_form_is_the_sum_where_all_rounds_are_alike() -> None:
    horizon = 1000
    exact = leader_regret(np.full(horizon, (2.0 + 2.0) * 1.0), np.full(horizon, 2.0))
    assert exact <= mix_regret(horizon, gradient_bound=2.0, distance=1.0, least_distance=1.0) <= 1.1 * exact


def test_a_slope_without_any_curvature_has_no_bound_and_arguments_are_checked() -> None:
    assert leader_regret([1.0, 0.0], [0.0, 2.0]) == math.inf
    assert leader_regret([0.0, 0.0], [0.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match="one length"):
        leader_regret([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="at least 0"):
        leader_regret([1.0], [-1.0])
    with pytest.raises(ValueError, match="least_distance must be at most"):
        mix_regret(10, 1.0, 1.0, 2.0)
