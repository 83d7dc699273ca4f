"""The synthetic linear world: its weights are the least-squares solution, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost.noise import Uniform
from banditboost.worlds import SyntheticLinear


@pytest.mark.parametrize("dimension", [None, 1, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_solve_the_least_squares_problem(dimension: int | None, seed: int) -> None:
    world = SyntheticLinear(rounds=400, features=4, dimension=dimension, spread=0.7, norm=2.5, seed=seed)
    X, y = world.contexts(), world.labels()
    assert y.shape == (400,) if dimension is None else (400, dimension)
    assert world.weights.shape == (4,) if dimension is None else (dimension, 4)
    assert np.linalg.norm(world.weights) == pytest.approx(2.5)
    # The normal equations hold to rounding, whence no other weights do better.
    residuals = y - X @ world.weights.T
    np.testing.assert_allclose(X.T @ residuals, 0.0, atol=1e-12 * 400)
    np.testing.assert_allclose(np.linalg.lstsq(X, y)[0], world.weights.T, rtol=1e-11, atol=1e-13)
    # With a constant feature too: it is worth nothing.
    extended = np.column_stack([X, np.ones(400)])
    solution = np.linalg.lstsq(extended, y)[0]
    np.testing.assert_allclose(solution[:-1], world.weights.T, atol=1e-12)
    np.testing.assert_allclose(solution[-1], 0.0, atol=1e-12)
    # The losses it reports are those of its weights, round by round.
    flat = residuals.reshape(400, -1)
    for t in range(400):
        assert world.best_losses[t] == pytest.approx(sum(float(r) ** 2 for r in flat[t]), rel=1e-9, abs=1e-15)
        assert world.best_losses[t] == pytest.approx(float(world.values(t, X[t] @ world.weights.T)), abs=1e-15)
    assert 0.5 < np.abs(residuals).max() <= 0.7 * (1 + 1e-12)


@pytest.mark.parametrize("dimension", [None, 3])
def test_every_context_comes_twice_with_opposite_residuals(dimension: int | None) -> None:
    world = SyntheticLinear(rounds=41, features=2, dimension=dimension, seed=5)
    assert len(world) == 42
    X, residuals = world.contexts(), world.labels() - world.contexts() @ world.weights.T
    partners = set()
    for t in range(42):
        twins = [s for s in range(42) if s != t and np.array_equal(X[s], X[t])]
        assert len(twins) == 1
        np.testing.assert_allclose(residuals[t], -residuals[twins[0]], atol=1e-14)
        partners.add(twins[0])
    assert partners == set(range(42))
    assert np.abs(X).max() <= 1


def test_seeds_make_worlds() -> None:
    one, same, other = (SyntheticLinear(rounds=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.contexts(), same.contexts())
    np.testing.assert_array_equal(one.labels(), same.labels())
    assert not np.array_equal(one.weights, other.weights)
    noisy = SyntheticLinear(rounds=20, seed=3, noise=Uniform(0.1))  # noise is in the answers, not in the labels
    np.testing.assert_array_equal(one.labels(), noisy.labels())


def test_no_spread_is_no_loss() -> None:
    assert np.abs(SyntheticLinear(rounds=30, spread=0.0).best_losses).max() < 1e-28


def test_reordered_worlds_keep_weights_and_losses() -> None:
    world = SyntheticLinear(rounds=60, features=3, seed=2)
    shuffled = world.shuffled(9)
    assert isinstance(shuffled, SyntheticLinear)
    assert shuffled.best_losses.sum() == pytest.approx(world.best_losses.sum(), rel=1e-12)
    np.testing.assert_allclose(np.linalg.lstsq(shuffled.contexts(), shuffled.labels())[0], world.weights, rtol=1e-10)


@pytest.mark.parametrize("name", ["rounds", "features", "dimension"])
def test_bad_counts_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be a whole number of at least 1, got 0"):
        SyntheticLinear(**{name: 0})  # type: ignore[arg-type]


def test_bad_sizes_are_named() -> None:
    with pytest.raises(ValueError, match=r"^spread must not be negative"):
        SyntheticLinear(spread=-0.1)
    with pytest.raises(ValueError, match=r"^norm must be positive"):
        SyntheticLinear(norm=0.0)
