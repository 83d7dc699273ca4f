"""Estimators of scikit-learn and River on words, dates and missing values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from banditboost.encoder import Encoder

CITIES = ("Rom", "Wien", "Oslo", "Bern")


def customers(rows: int, seed: int = 0) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
    """Rows of words, dates, missing values and numbers, and what they are worth."""
    rng, found, worth = np.random.default_rng(seed), [], []
    for _ in range(rows):
        k, hour, gone = int(rng.integers(4)), int(rng.integers(24)), bool(rng.random() < 0.3)
        found.append(
            {"city": CITIES[k], "when": f"2026-05-01T{hour:02d}:00", "income": None if gone else rng.uniform()}
        )
        worth.append((2.0, -1.0, 0.5, -2.0)[k] + 1.5 * gone + np.cos(2 * np.pi * hour / 24))
    return found, np.array(worth)


def baskets(rows: int, products: int = 1500, seed: int = 0) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
    """Baskets of products of which every one has a worth of its own."""
    rng, worth = np.random.default_rng(seed), np.random.default_rng(99).choice([-1.0, 1.0], products)
    chosen = rng.integers(products, size=(rows, 5))
    return [{"basket": [f"p{k}" for k in row]} for row in chosen], worth[chosen].sum(axis=1)


class TestRiver:
    def test_many_words_have_a_column_each(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = baskets(2500)
        model, errors = river.BoostedRegressor(copies=5, answers=2), []
        for x, y in zip(rows, worth, strict=True):
            errors.append((model.predict_one(x) - y) ** 2)
            model.learn_one(x, float(y))
        assert len(model._columns) > 1400
        assert np.mean(errors[1500:]) < 0.6 * worth.var()
        assert river.BoostedRegressor("second-order")._most() == 256
        known = len(model._columns)
        with pytest.raises(ValueError, match="y must be"):
            model.learn_one({"basket": ["never seen"]}, float("nan"))
        with pytest.raises(ValueError, match="must"):
            model.learn_one({"basket": ["never seen"]}, 1e60)
        assert len(model._columns) == known

    def test_copies_without_memory_stay_narrow_rather_than_forget(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = baskets(1200, products=200)
        model = river.BoostedRegressor("streaming", copies=3, answers=2)
        for x, y in zip(rows, worth, strict=True):
            model.learn_one(x, float(y))
        for k in range(80):
            model.learn_one({"basket": [f"new{k}"]}, 0.0)
        assert (model._booster.features, model._booster.rounds) == (256, 1280)
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        kept = sklearn.BoostedRegressor(learner="streaming", copies=3, answers=2, random_state=0).partial_fit(
            rows, worth
        )
        kept.partial_fit(*baskets(400, products=600, seed=4))
        assert (kept.booster_.features, kept.booster_.rounds) == (256, 1600)

    @pytest.mark.long
    def test_wide_copies_that_start_again_learn_from_sparse_rows(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = baskets(600, products=400)
        model = river.BoostedClassifier(copies=4, memory=600)
        for k, (x, y) in enumerate(zip(rows, worth, strict=True)):
            model.learn_one(x, "third" if k > 580 and y == 1.0 else str(y > 0))  # a class for which there is no room
        assert model._booster.features > 256
        assert model._booster.spec.space.size == 4
        hits = [model.predict_one(x) == str(y > 0) for x, y in zip(rows[:500], worth[:500], strict=True)]
        assert np.mean(hits) > 0.8

    def test_it_learns_from_words_dates_and_missing_values(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = customers(1200)
        model = river.BoostedRegressor(encoder=True, copies=8, answers=4, target_range=(-5, 6))
        errors = []
        for x, y in zip(rows, worth, strict=True):
            errors.append((model.predict_one(x) - y) ** 2)
            model.learn_one(x, float(y))
        assert np.mean(errors[700:]) < 0.2 * worth.var()
        assert np.isfinite(model.predict_one({}))
        assert np.isfinite(model.predict_one({"city": "never seen", "new": ["a", "b"]}))

    def test_classes_and_copies(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = customers(300)
        model = river.BoostedClassifier(encoder=Encoder(bits=12, signed=True), copies=5, classes=("low", "high"))
        for x, y in zip(rows, worth, strict=True):
            model.learn_one(x, "high" if y > 0 else "low")
        for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert again.predict_proba_one(rows[0]) == model.predict_proba_one(rows[0])
        clone = model.clone()
        assert clone.encoder == model.encoder
        assert clone.predict_proba_one(rows[0]) == {"low": 0.5, "high": 0.5}

    def test_words_and_missing_values_need_no_encoder(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        rows, worth = customers(800)
        model, errors = river.BoostedRegressor(copies=8, answers=4, target_range=(-5, 6)), []
        for x, y in zip(rows, worth, strict=True):
            errors.append((model.predict_one(x) - y) ** 2)
            model.learn_one(x, float(y))
        assert np.mean(errors[500:]) < 0.2 * worth.var()
        assert np.isfinite(model.predict_one({"city": "never seen", "income": float("nan")}))
        assert np.isfinite(model.predict_one({}))
        again = pickle.loads(pickle.dumps(model))
        assert again.predict_one(rows[0]) == model.predict_one(rows[0])

    def test_numbers_are_the_columns_that_they_were(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        model = river.BoostedRegressor(copies=4)
        model.learn_one({"b": 1, "a": True, "c": np.float32(2.0)}, 1.0)
        assert model._columns == {"a": 0, "b": 1, "c": 2}
        model.learn_one({"b": "word", "a": None}, 1.0)
        assert list(model._columns)[3:] == [("a is missing",), ("b=word",)]

    def test_hostile_values_are_refused(self) -> None:
        river = pytest.importorskip("banditboost.interop.river")
        model = river.BoostedRegressor(encoder=True)
        for x in ({"a": np.inf}, {"a": [1]}, {"a": object()}):
            with pytest.raises(ValueError, match="x must"):
                model.learn_one(x, 1.0)
        assert model._booster is None
        with pytest.raises(ValueError, match="encoder must be"):
            river.BoostedRegressor(encoder=3)


class TestSklearn:
    def test_many_words_are_features_and_rows_stay_sparse(self) -> None:
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        rows, worth = baskets(4000)
        model = sklearn.BoostedRegressor(copies=5, answers=2, random_state=0).fit(rows[:3000], worth[:3000])
        assert model.booster_.features == len(model.encoder_columns_) > 1400
        assert model.score(rows[3000:], worth[3000:]) > 0.5
        more, values = baskets(200, products=1700, seed=1)
        features = model.booster_.features
        model.partial_fit(more, np.clip(values, -5, 5))
        assert model.booster_.features > features

    def test_categories_called_by_numbers_are_words(self) -> None:
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        import polars as pl

        pandas = pytest.importorskip("pandas")
        codes = np.random.default_rng(0).integers(40, size=3000)
        worth = np.random.default_rng(1).normal(size=40)[codes]
        named = pl.DataFrame({"code": [str(code) for code in codes]}).with_columns(pl.col("code").cast(pl.Categorical))
        for frame in (pandas.DataFrame({"code": pandas.Categorical(codes)}), named):
            model = sklearn.BoostedRegressor(learner="second-order", copies=2, random_state=0).fit(
                frame[:2000], worth[:2000]
            )
            assert model.booster_.features == 40
            assert model.score(frame[2000:], worth[2000:]) > 0.9
        plain = sklearn.BoostedRegressor(learner="second-order", copies=2, random_state=0).fit(
            pandas.DataFrame({"code": codes}), worth
        )
        assert plain.booster_.features == 1

    def test_few_words_first_and_thousands_later(self) -> None:
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        rows, worth = baskets(1500, products=100)
        model = sklearn.BoostedRegressor(copies=5, answers=2, target_range=(-5, 5), random_state=0).partial_fit(
            rows, worth
        )
        known = model.predict(rows)
        assert model.booster_.features <= 256
        more, values = baskets(50, seed=3)
        model.partial_fit(more, values)
        assert model.booster_.features > 256
        assert np.corrcoef(model.predict(rows), known)[0, 1] > 0.8, "what was learned is learned again from memory"
        few = sklearn.BoostedRegressor(learner="coin", copies=2, random_state=0).fit(*baskets(800))
        assert few.booster_.features == 512

    def test_it_learns_from_frames_and_dictionaries_alike(self) -> None:
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        rows, worth = customers(1500)
        import polars as pl

        pandas = pytest.importorskip("pandas")
        forms = [rows, pl.DataFrame(rows), pandas.DataFrame(rows)]
        predictions = []
        for form in forms:
            model = sklearn.BoostedRegressor(encoder=True, copies=8, answers=4, random_state=0)
            predictions.append(model.fit(form[:1000], worth[:1000]).predict(form[1000:]))
        assert np.array_equal(predictions[0], predictions[1])
        assert np.array_equal(predictions[0], predictions[2])
        assert np.mean((predictions[0] - worth[1000:]) ** 2) < 0.1 * worth.var()

    def test_pieces_pickles_clones_and_new_words(self) -> None:
        sklearn = pytest.importorskip("banditboost.interop.sklearn")
        from sklearn.base import clone

        rows, worth = customers(200)
        model = sklearn.BoostedClassifier(encoder=Encoder(bits=10), copies=4, random_state=0)
        labels = np.where(worth > 0, "high", "low")
        model.partial_fit(rows[:100], labels[:100], classes=["high", "low"])
        features = model.n_features_in_
        model.partial_fit([{**row, "new": "word"} for row in rows[100:]], labels[100:])
        assert model.n_features_in_ == features == len(model.encoder_columns_) - 1, "the new word has a column"
        assert model.booster_.features == features + 1
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
        assert again.encoder == model.encoder
        assert clone(model).encoder == model.encoder
        with pytest.raises(ValueError, match="x must name its features"):
            model.predict(np.zeros((2, features)))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(rows[:10], labels[:9])
