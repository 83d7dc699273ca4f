"""Missing numbers, words and categories in tables for scikit-learn: from the first row on, and whenever they come."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from banditboost.interop.sklearn import BoostedClassifier, BoostedRegressor
from banditboost.interop.tables import Missing, has_names

RNG = np.random.default_rng(0)


def holes(rows: int = 900, share: float = 0.3) -> tuple[Any, Any]:
    """A column that is worth three where it is missing, and one that never is."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (rows, 2))
    gone = rng.random(rows) < share
    y = np.where(gone, 3.0, 2 * X[:, 0]) + X[:, 1]
    X[gone, 0] = np.nan
    return X, y


def small(**more: Any) -> BoostedRegressor:
    return BoostedRegressor(copies=8, answers=4, random_state=0, **more)


@pytest.mark.parametrize("form", [np.asarray, csr_array, pd.DataFrame, lambda X: pl.DataFrame(X, schema=["a", "b"])])
def test_missing_numbers_are_learned_from(form: Any) -> None:
    X, y = holes()
    model = small(passes=2).fit(form(X[:700]), y[:700])
    assert model.missing_columns_.tolist() == [0]
    assert model.booster_.features == 3
    error = np.square(model.predict(form(X[700:])) - y[700:]).mean()
    assert error < 0.1 * y.var()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(form(X)), model.predict(form(X)))


def test_without_the_indicator_it_is_not_learned() -> None:
    """The test above is not empty: filled with the mean alone, what is missing is worth what the mean is."""
    X, y = holes()
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model = small(passes=2).fit(filled[:700], y[:700])
    lost = np.square(model.predict(filled[700:]) - y[700:]).mean()
    marked = small(passes=2).fit(X[:700], y[:700])
    assert lost > 1.5 * np.square(marked.predict(X[700:]) - y[700:]).mean()


def test_tables_without_missing_values_have_no_indicators_and_no_other_numbers() -> None:
    X, y = RNG.normal(size=(200, 3)), RNG.normal(size=200)
    model = small().fit(X, y)
    assert model.booster_.features == 3
    assert np.isfinite(model.predict([[np.nan, 0.0, 0.0]])).all()
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.0, 0.0]])


def test_values_may_be_missing_for_the_first_time_later() -> None:
    X, y = holes()
    model = small().partial_fit(X[:1] * 0 + 1.0 if np.isnan(X[:1]).any() else X[:1], y[:1])
    assert model.booster_.features == 2
    for row in range(1, 400, 57):
        model.partial_fit(X[row : row + 57], y[row : row + 57])
    assert model.booster_.features == 3
    assert model.n_features_in_ == 2
    assert np.isfinite(model.predict(X)).all()


def test_learners_that_cannot_take_more_features_say_so() -> None:
    import banditboost as bb

    X, y = holes(60)
    full = np.nan_to_num(X)
    model = BoostedRegressor(learner=bb.learners.Network(), copies=3, random_state=0).partial_fit(full, y)
    before = model.predict(full)
    with pytest.raises(ValueError, match="whose copies cannot take more features"):
        model.partial_fit(X, y)
    assert np.array_equal(model.predict(full), before)


def frame(rows: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(2)
    colour, size = rng.choice(["red", "blue", "green"], rows), rng.uniform(0, 1, rows)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 20_000, rows), "h")
    X = pd.DataFrame(
        {"colour": pd.Categorical(colour), "size": np.where(rng.random(rows) < 0.1, np.nan, size), "when": when}
    )
    return X, 4.0 * (colour == "red") - 2.0 * (colour == "blue") + size


@pytest.mark.parametrize("polars", [False, True])
def test_frames_with_categories_need_no_encoder(polars: bool) -> None:
    X, y = frame(800)
    table: Any = pl.DataFrame({name: X[name].tolist() for name in X}) if polars else X
    model = small(passes=2).fit(table[:600], y[:600])
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["colour", "size", "when"]
    assert np.square(model.predict(table[600:]) - y[600:]).mean() < 0.1 * y.var()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[:5].rename({"size": "width"}) if polars else table[:5].rename(columns={"size": "width"}))
    with pytest.raises(ValueError, match=r"could not convert|string"):
        BoostedRegressor(encoder=False).fit(table, y)


def test_words_that_come_later_get_columns() -> None:
    X, y = frame(400)
    first, later = X["colour"] != "green", X["colour"] == "green"
    labels = np.where(y > 1, "dear", "cheap")
    model = BoostedClassifier(copies=4, random_state=0).partial_fit(
        X[first][:1], labels[first][:1], classes=["cheap", "dear"]
    )
    model.partial_fit(X[first], labels[first])
    before = len(model.encoder_columns_)
    model.partial_fit(X[later], labels[later])
    assert len(model.encoder_columns_) == before + 1
    assert model.score(X, labels) > 0.7


def test_which_tables_have_names() -> None:
    assert not has_names(pd.DataFrame({"a": [1, None], "b": pd.array([1, None], dtype="Int64")}))
    assert not has_names(pd.DataFrame({"a": pd.Series([1, 2.5], dtype=object)}))
    assert has_names(pd.DataFrame({"a": ["x"]}))
    assert has_names(pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}))
    assert not has_names(np.array([["x"]]))


def test_a_column_that_is_always_missing() -> None:
    known = Missing.none(1).with_rows(np.full((3, 1), np.nan))
    assert known.filled(np.full((1, 1), np.nan)).tolist() == [[0.0, 1.0]]
