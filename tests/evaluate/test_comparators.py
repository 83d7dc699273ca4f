"""Comparators: the best linear predictor against a direct solver, the running mean against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.evaluate import best_linear, running_mean
from banditboost.losses import Absolute, Loss, Squared
from banditboost.worlds import Supervised


def direct(contexts: Array, labels: Array, intercept: bool) -> Array:
    """Least squares on the data itself, by singular values, columns of one length."""
    X = np.column_stack([contexts, np.ones(len(contexts))]) if intercept else contexts
    length = np.linalg.norm(X, axis=0)
    X = X / np.where(length > 0, length, 1.0)
    y = labels.reshape(len(labels), -1)
    return np.asarray(np.square(X @ np.linalg.lstsq(X, y)[0] - y).sum(axis=1))


def data(rounds: int, features: int, shape: tuple[int, ...], seed: int = 61) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 2.0, (rounds, features))
    signal = np.tensordot(X, rng.normal(size=(features, *shape)), axes=1)
    return X, signal + 3.0 + rng.normal(0.0, 0.3, (rounds, *shape))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)], ids=str)
def test_best_linear_is_least_squares(shape: tuple[int, ...], intercept: bool) -> None:
    X, y = data(300, 4, shape)
    found = best_linear(Supervised(X, y), intercept)
    np.testing.assert_allclose(found, direct(X, y, intercept), rtol=1e-9, atol=1e-12)


def test_best_linear_is_the_same_in_any_order() -> None:
    X, y = data(200, 3, ())
    world = Supervised(X, y)
    shuffled = world.shuffled(1)
    expected = dict(zip(map(tuple, X.tolist()), best_linear(world), strict=True))
    for x, loss in zip(shuffled.contexts().tolist(), best_linear(shuffled), strict=True):
        assert loss == pytest.approx(expected[tuple(x)], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_best_linear_with_columns_that_depend_on_each_other(intercept: bool) -> None:
    X, y = data(400, 4, (2,))
    twins = np.column_stack([X, X[:, 0], X[:, 1] - 2 * X[:, 2], np.ones(400), np.zeros(400)])
    found = best_linear(Supervised(twins, y), intercept)
    np.testing.assert_allclose(found, direct(twins, y, intercept), rtol=1e-7, atol=1e-10)
    # They add nothing but the constant.
    np.testing.assert_allclose(found, direct(X, y, True), rtol=1e-7, atol=1e-10)


def test_best_linear_with_indicators_that_sum_to_one() -> None:
    rng = np.random.default_rng(62)
    X = np.eye(5)[rng.integers(0, 5, 500)]
    y = rng.normal(size=500) + X @ np.arange(5.0)
    found = best_linear(Supervised(X, y))
    means = np.array([y[X[:, k] == 1].mean() for k in range(5)])
    np.testing.assert_allclose(found, np.square(y - X @ means), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
def test_best_linear_does_not_depend_on_units(scale: float) -> None:
    X, y = data(300, 3, ())
    rescaled = X * np.array([1.0, scale, 1.0])
    np.testing.assert_allclose(
        best_linear(Supervised(rescaled, y)), best_linear(Supervised(X, y)), rtol=1e-7, atol=1e-10
    )


def test_best_linear_with_fewer_rounds_than_features_fits_them() -> None:
    X, y = data(4, 9, ())
    assert best_linear(Supervised(X, y)).max() < 1e-15


def test_best_linear_over_many_blocks() -> None:
    X, y = data(20_000, 3, ())
    np.testing.assert_allclose(best_linear(Supervised(X, y)), direct(X, y, True), rtol=1e-7, atol=1e-10)


def test_no_linear_predictor_does_better() -> None:
    X, y = data(100, 2, ())
    best = best_linear(Supervised(X, y)).sum()
    solution = np.linalg.lstsq(np.column_stack([X, np.ones(100)]), y)[0]
    rng = np.random.default_rng(63)
    for _ in range(200):
        other = solution + rng.normal(0.0, 0.1, 3)
        assert np.square(X @ other[:2] + other[2] - y).sum() >= best


def test_best_linear_needs_the_squared_loss() -> None:
    with pytest.raises(ValueError, match="loss must be Squared for the best linear predictor, got Absolute"):
        best_linear(Supervised(np.ones((2, 1)), [1.0, 2.0], loss=Absolute()))


@pytest.mark.parametrize("loss", [Squared(), Absolute()], ids=repr)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_running_mean_against_a_loop(rounds: int, shape: tuple[int, ...], loss: Loss) -> None:
    X, y = data(rounds, 1, shape)
    world = Supervised(X, y, loss=loss).shuffled(2)
    found = running_mean(world)
    assert found.shape == (rounds,)
    for t in range(rounds):
        mean = np.zeros(shape)
        for s in range(t):
            mean = mean + world.labels()[s] / t
        assert found[t] == pytest.approx(float(loss.value(mean, world.labels()[t])), rel=1e-10, abs=1e-13)
