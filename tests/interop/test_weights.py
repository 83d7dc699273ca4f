"""Sample weights: a row of weight w is that row w times, in `fit` and in `partial_fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from banditboost.interop.sklearn import BoostedClassifier, BoostedRegressor
from banditboost.interop.weights import row_order, times

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
WEIGHTS = RNG.integers(0, 4, 60)


def model(**more: Any) -> BoostedRegressor:
    return BoostedRegressor(copies=6, answers=3, random_state=0, **more)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("passes", [1, 3])
def test_whole_weights_are_repetitions_in_any_order(form: Any, passes: int) -> None:
    order = RNG.permutation(60)
    weighted = model(passes=passes).fit(form(X[order]), Y[order], sample_weight=WEIGHTS[order])
    repeated = model(passes=passes).fit(form(np.repeat(X, WEIGHTS, axis=0)), np.repeat(Y, WEIGHTS))
    assert np.array_equal(weighted.predict(form(X)), repeated.predict(form(X)))
    assert weighted.n_samples_seen_ == WEIGHTS.sum()


def test_a_place_in_the_table_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above is not empty: shuffled by places, as rows that all differ are, the two differ."""
    monkeypatch.setattr("banditboost.interop.weights.row_order", lambda X, y, seed: None)
    order = RNG.permutation(60)
    weighted = model().fit(X[order], Y[order], sample_weight=WEIGHTS[order])
    repeated = model().fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(Y, WEIGHTS))
    assert not np.allclose(weighted.predict(X), repeated.predict(X))


def test_weights_of_one_are_none() -> None:
    assert np.array_equal(model().fit(X, Y, sample_weight=np.ones(60)).predict(X), model().fit(X, Y).predict(X))


def test_pieces() -> None:
    weighted = model().partial_fit(X, Y, sample_weight=WEIGHTS)
    repeated = model().partial_fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(Y, WEIGHTS))
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    before = weighted.predict(X)
    weighted.partial_fit(X[:1], Y[:1], sample_weight=[1e-9])
    assert np.array_equal(weighted.predict(X), before), "so small a weight is played next to never"


def test_heavy_rows_are_fitted_better() -> None:
    x, label = np.zeros((400, 1)), np.repeat([0.0, 1.0], 200)
    heavy = np.where(label == 1, 0.9, 0.1)
    assert model().fit(x, label, sample_weight=heavy).predict([[0.0]])[0] > 0.8
    assert model().fit(x, label, sample_weight=1 - heavy).predict([[0.0]])[0] < 0.2
    classes = BoostedClassifier(copies=4, random_state=0).fit(x, label, sample_weight=heavy)
    assert classes.predict([[0.0]])[0] == 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_weights_that_are_not_whole_are_relative_in_fit(scale: float) -> None:
    rng = np.random.default_rng(3)
    found = times(scale * rng.uniform(0.1, 1.0, 10_000), np.random.default_rng(0), relative=True)
    assert abs(found.sum() - 10_000) < 300


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (-np.ones(60), "at least zero"),
        (np.full(60, np.nan), "finite"),
        (np.zeros(60), "not zero"),
        (np.ones(59), "one number for each of the 60 rows"),
        (np.full(60, 1000), "divide it by its mean"),
    ],
)
def test_what_is_no_weight(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model().fit(X, Y, sample_weight=given)


def test_equal_rows_are_spread() -> None:
    many = np.repeat([[0.0], [1.0]], 500, axis=0)
    order = row_order(many, np.zeros(1000), 7)
    assert order is not None
    assert sorted(order.tolist()) == list(range(1000))
    changes = int((np.diff(many[order, 0]) != 0).sum())
    assert 400 < changes < 600
    other = row_order(many, np.zeros(1000), 8)
    assert other is not None
    assert not np.array_equal(order, other)
