"""Permutation importance and partial dependence against closed forms, and broken variants that the same checks refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost.evaluate import Importance, importance, partial_dependence, permutation_importance

WEIGHTS = np.array([3.0, 1.0, 0.0, -2.0])


def linear(rows: Any) -> Any:
    return rows @ WEIGHTS


def table(rounds: int = 600, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(rounds, 4)) * [1.0, 1.5, 1.0, 1.0]


def as_known(measure: Callable[..., Importance]) -> None:
    """Hold an importance against 2 w² Var(x) of an exact linear model, and against an exact zero."""
    X = table()
    world = bb.worlds.Supervised(X, linear(X))
    found = measure(linear, world, repeats=40)
    expected = 2 * WEIGHTS**2 * X.var(axis=0)
    assert found.loss == 0.0
    assert found.increases.shape == (4, 40)
    np.testing.assert_array_equal(found.increases[2], 0.0)
    assert (abs(found.mean - expected) <= 5 * found.error + 1e-12).all(), (found.mean, expected)
    np.testing.assert_allclose(found.mean, expected, rtol=0.05, atol=1e-12)


def test_a_linear_model_has_twice_the_variance_of_its_terms() -> None:
    as_known(permutation_importance)


def keeps_shuffling(predict: Any, world: Any, repeats: int) -> Importance:
    """Broken: features stay shuffled when their turn is over."""
    rng, X, y = np.random.default_rng(0), world.contexts().copy(), world.labels()
    found = []
    for feature in range(X.shape[1]):
        before = []
        for _ in range(repeats):
            X[:, feature] = rng.permutation(X[:, feature])
            before.append(((predict(X) - y) ** 2).mean())
        found.append(before)
    return Importance(0.0, np.array(found))


def shuffles_rows(predict: Any, world: Any, repeats: int) -> Importance:
    """Broken: all features of a row are shuffled together."""
    rng, X, y = np.random.default_rng(0), world.contexts(), world.labels()
    found = [[((predict(rng.permutation(X)) - y) ** 2).mean() for _ in range(repeats)] for _ in range(X.shape[1])]
    return Importance(0.0, np.array(found))


def shuffles_nothing(predict: Any, world: Any, repeats: int) -> Importance:
    """Broken: nothing is shuffled."""
    return Importance(0.0, np.zeros((world.features, repeats)))


@pytest.mark.parametrize("broken", [keeps_shuffling, shuffles_rows, shuffles_nothing])
def test_broken_variants_are_refused(broken: Callable[..., Importance]) -> None:
    with pytest.raises(AssertionError):
        as_known(broken)


def test_groups_are_shuffled_together() -> None:
    """Two features whose difference the model uses, and which are always equal, matter alone and do not matter together."""
    X = np.repeat(table()[:, :1], 2, axis=1)
    world = bb.worlds.Supervised(X, np.zeros(len(X)))
    found = permutation_importance(lambda rows: rows[:, 0] - rows[:, 1], world, [[0], [1], [0, 1]])
    assert found.mean[0] > 0.1
    assert found.mean[1] > 0.1
    np.testing.assert_array_equal(found.increases[2], 0.0)


def test_only_the_latest_rounds_count_and_sparse_worlds_give_the_same() -> None:
    X = table()
    late = X.copy()
    late[:300] = 7.0
    worlds = [bb.worlds.Supervised(kind(X), linear(X)) for kind in (np.asarray, csr_array)]
    moved = bb.worlds.Supervised(late, np.concatenate([np.zeros(300), linear(X[300:])]))
    found = [permutation_importance(linear, world, rounds=300).increases for world in (*worlds, moved)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_rows_that_are_too_large_to_be_dense_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    X = table()
    worlds = [bb.worlds.Supervised(kind(X), linear(X)) for kind in (np.asarray, csr_array)]
    monkeypatch.setattr(importance, "SMALL", 0)
    found = [permutation_importance(linear, world, [[0, 2], [3]], rounds=300).increases for world in worlds]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    moved = [partial_dependence(linear, world, [0, 2], [[0.5, 0.0], [0.0, 0.2]]) for world in worlds]
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-12)


def test_a_booster_finds_what_matters() -> None:
    X = table()
    world = bb.worlds.Supervised(X, linear(X))
    booster = bb.algorithms.boosted(bb.spaces.Interval(-3, 6), memory=None)
    bb.evaluate.progressive(booster, world)
    found = permutation_importance(booster.predict_many, world)
    assert list(np.argsort(found.mean)[::-1]) == [0, 3, 1, 2]
    moves = partial_dependence(booster.predict_many, world, [0], [0.2, 0.8])
    assert moves[1] - moves[0] == pytest.approx(1.8, abs=0.3)


def test_partial_dependence_of_a_linear_model_is_a_line() -> None:
    X = table()
    world = bb.worlds.Supervised(X, linear(X))
    at = np.linspace(0, 1, 5)
    rest = (X[-500:] @ np.where(np.arange(4) == 3, 0.0, WEIGHTS)).mean()
    np.testing.assert_allclose(partial_dependence(linear, world, [3], at), rest - 2 * at, atol=1e-12)
    both = partial_dependence(linear, world, [0, 3], [[0.0, 0.0], [1.0, 1.0]])
    assert both[1] - both[0] == pytest.approx(1.0)


def test_what_is_wrong_is_said() -> None:
    world = bb.worlds.Supervised(table(), np.zeros(600))
    with pytest.raises(ValueError, match=r"groups must have indices below the number of features \(4\), got 4"):
        permutation_importance(linear, world, [[4]])
    with pytest.raises(ValueError, match="groups must have indices that differ"):
        permutation_importance(linear, world, [[1, 1]])
    with pytest.raises(ValueError, match=r"values must have shape \(values, 2\)"):
        partial_dependence(linear, world, [0, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="repeats must be"):
        permutation_importance(linear, world, repeats=0)
    assert np.isnan(permutation_importance(linear, world, repeats=1).error).all()
