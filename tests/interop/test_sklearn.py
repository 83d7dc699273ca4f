"""Boosters in scikit-learn's company: what is told, what is kept, and how well it does."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.interop.sklearn import BoostedClassifier, BoostedRegressor
from banditboost.losses import Quantile


def table(rows: int = 400, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 4))
    X[np.abs(X) < 0.3] = 0.0
    return X, np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 3.0


ABALONE = bb.datasets.load("abalone")


# -- the same as the booster itself


def test_fit_is_a_run_of_the_default_booster_that_is_told_values_alone() -> None:
    X, y = table()
    model = BoostedRegressor(target_range=(1, 5), shuffle=False, random_state=3).fit(X, y)
    booster = bb.algorithms.boosted(bb.spaces.Interval(-2.0, 2.0), seed=3)
    trace = bb.evaluate.progressive(booster, bb.worlds.Supervised(X, y - 3.0))
    assert trace.compiled
    assert booster.spec.gradient.asks == "values"
    assert model.booster_.spec == booster.spec
    assert model.progressive_loss_ == pytest.approx(trace.mean, rel=1e-12)
    assert model.n_samples_seen_ == model.booster_.rounds == 400
    np.testing.assert_array_equal(model.predict(X), booster.predict_many(X) + 3.0)


def test_full_feedback_tells_gradients() -> None:
    X, y = table()
    model = BoostedRegressor(feedback="full", target_range=(1, 5), shuffle=False, random_state=0).fit(X, y)
    booster = bb.algorithms.boosted(bb.spaces.Interval(-2.0, 2.0), gradient=bb.gradients.Exact(), curvature=2.0)
    bb.evaluate.progressive(booster, bb.worlds.Supervised(X, y - 3.0))
    np.testing.assert_array_equal(model.predict(X), booster.predict_many(X) + 3.0)


def test_a_classifier_is_a_run_on_the_simplex() -> None:
    X, y = table()
    classes = np.array(["low", "middle", "top"])[np.digitize(y, [2.8, 3.2])]
    model = BoostedClassifier(shuffle=False, random_state=0).fit(X, classes)
    world = bb.worlds.Classification(X, classes)
    booster = bb.algorithms.boosted(world.space)
    trace = bb.evaluate.progressive(booster, world)
    assert model.classes_.tolist() == ["low", "middle", "top"]
    assert model.progressive_loss_ == pytest.approx(trace.mean, rel=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X), booster.predict_many(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.predict(X)) <= set(classes)


def test_pieces_make_the_whole() -> None:
    X, y = table()
    whole = BoostedRegressor(target_range=(1, 5), shuffle=False, random_state=0).fit(X, y)
    pieces = BoostedRegressor(target_range=(1, 5), random_state=0)
    for part in np.array_split(np.arange(400), [1, 50, 51, 300]):
        pieces.partial_fit(X[part], y[part])
    np.testing.assert_allclose(pieces.predict(X), whole.predict(X), rtol=1e-9)
    assert pieces.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-9)


def test_fit_starts_afresh_and_partial_fit_goes_on() -> None:
    X, y = table()
    model = BoostedRegressor(random_state=0).fit(X, y)
    first = model.predict(X)
    assert model.partial_fit(X, y).booster_.rounds == 800
    assert (model.predict(X) != first).any()
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)


def test_passes_and_shuffles() -> None:
    X, y = table()
    model = BoostedRegressor(passes=3, random_state=0).fit(X, y)
    assert (model.booster_.rounds, model.n_samples_seen_) == (1200, 400)
    assert model.progressive_loss_ == BoostedRegressor(random_state=0).fit(X, y).progressive_loss_
    order = np.argsort(y)
    assert BoostedRegressor(random_state=0, shuffle=False).fit(X[order], y[order]).progressive_loss_ != pytest.approx(
        BoostedRegressor(random_state=0).fit(X[order], y[order]).progressive_loss_, rel=0.01
    )


def test_noise_differs_from_piece_to_piece_and_can_be_repeated() -> None:
    X, y = table(60)

    def trained(noise: Any, seed: int) -> Array:
        model = BoostedRegressor(noise=noise, random_state=seed, target_range=(1, 5))
        for _ in range(3):
            model.partial_fit(X, y)
        return model.predict(X)

    np.testing.assert_array_equal(trained(0.5, 0), trained(bb.noise.Uniform(0.5), 0))
    assert (trained(0.5, 0) != trained(None, 0)).any()
    assert (trained(0.5, 0) != trained(0.5, 1)).any()
    model = BoostedRegressor(noise=0.5, random_state=0).partial_fit(X, y)
    assert model._draw() != BoostedRegressor(random_state=0).partial_fit(X[:1], y[:1])._draw()


# -- ranges and classes


def test_labels_beyond_the_range_make_it_grow() -> None:
    X, y = table(2000)
    model = BoostedRegressor(random_state=0).partial_fit(X[:1], y[:1])
    assert model.target_range_ == (0.0, 2 * y[0])
    model.partial_fit(X[1:1000], y[1:1000])
    before = model.predict(X[:5])
    model.partial_fit(X[1000:1001], [40.0])
    low, high = model.target_range_
    assert low == 0.0
    assert high == pytest.approx(44.0)
    assert model.booster_.rounds == 1001
    np.testing.assert_allclose(
        model.predict(X[:5]), before, atol=1.5, err_msg="one outlier does not undo a thousand rows"
    )
    model.partial_fit(X[1001:], y[1001:] + 20.0)
    assert np.abs(model.predict(X) - y - 20.0).mean() < np.abs(model.predict(X) - y).mean()


def test_a_given_range_holds() -> None:
    X, y = table()
    model = BoostedRegressor(target_range=(2.5, 3.5), random_state=0).fit(X, y)
    model.partial_fit(X, y + 100.0)
    assert model.target_range_ == (2.5, 3.5)
    assert model.predict(X).min() >= 2.5
    assert model.predict(X).max() <= 3.5


def test_equal_labels() -> None:
    X, _ = table(50)
    np.testing.assert_allclose(BoostedRegressor(random_state=0).fit(X, np.full(50, 7.0)).predict(X), 7.0, atol=0.01)


def test_classes_in_pieces() -> None:
    X, y = table()
    sides = np.where(y > 3.0, 5, -1)
    model = BoostedClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be given with the first call"):
        model.partial_fit(X, sides)
    model.partial_fit(X[:10], np.full(10, 5), classes=[5, -1])
    assert model.classes_.tolist() == [-1, 5]
    model.partial_fit(X, sides).partial_fit(X, sides, classes=[-1, 5])
    rounds = model.booster_.rounds
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, sides, classes=[-1, 6])
    with pytest.raises(ValueError, match=r"y must hold classes of \[-1, 5\], got 7"):
        model.partial_fit(X[:2], [5, 7])
    assert model.booster_.rounds == rounds == 810
    assert model.score(X, sides) > 0.8
    with pytest.raises(ValueError, match="y must hold two classes or more, got 1 class"):
        BoostedClassifier().fit(X, np.ones(400, dtype=int))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"passes": 0}, "passes must be a whole number of at least 1, got 0"),
        ({"noise": "loud"}, "noise must be a number"),
        ({"loss": "hinge"}, "loss must be one of absolute, huber, quantile, squared; got 'hinge'"),
        ({"target_range": (3, 3)}, "target_range must be two numbers, the lower one first"),
        ({"loss": bb.losses.Bregman("entropy")}, "target_range must be given for the loss Bregman"),
        ({"learner": "forest"}, "learner must be one of"),
    ],
)
def test_bad_parameters_leave_a_model_unfitted(given: dict[str, Any], sentence: str) -> None:
    X, y = table(20)
    model = BoostedRegressor(**given)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=sentence):
            method(X, y)
    assert not hasattr(model, "booster_")


# -- tables of every kind


def test_pandas_polars_and_sparse_tables_are_the_same_table() -> None:
    X, y = table()
    names = list("abcd")
    plain = BoostedRegressor(random_state=0).fit(X, y)
    for other in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = BoostedRegressor(random_state=0).fit(other, y)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.predict(other), plain.predict(X))
    for other in (csr_matrix(X), csr_array(X), csr_array(X).tocsc()):
        model = BoostedRegressor(random_state=0).fit(other, y)
        assert model.n_features_in_ == 4
        np.testing.assert_allclose(model.predict(other), plain.predict(X), rtol=1e-9)


def test_wide_sparse_tables_with_coins() -> None:
    rng = np.random.default_rng(0)
    words = (rng.random((600, 3000)) < 0.005).astype(float)
    words[:, 0] = rng.random(600) < 0.5
    X, y = csr_array(words), 2.0 * words[:, 0]
    model = BoostedRegressor(learner="coin", random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.5


# -- scikit-learn's tools


@pytest.mark.long
def test_stages_end_with_the_prediction_and_get_better() -> None:
    X, y = table(2000)
    model = BoostedRegressor(random_state=0, copies=10).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 10
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    errors = [float(np.square(stage - y).mean()) for stage in stages]
    assert errors[-1] < 0.8 * errors[0]
    sides = BoostedClassifier(random_state=0, copies=10).fit(X, y > 3)
    np.testing.assert_array_equal(list(sides.staged_predict(X))[-1], sides.predict(X))
    assert [p.shape for p in sides.staged_predict_proba(X)] == [(2000, 2)] * 10


def test_pipelines_grids_clones_and_folds() -> None:
    X, y = table(3000)
    frame = pd.DataFrame(X[:, 1:], columns=list("bcd")).assign(side=np.where(X[:, 0] > 0, "right", "left"))
    encode = make_column_transformer((OneHotEncoder(), ["side"]), (StandardScaler(), ["b", "c", "d"]))
    pipe = make_pipeline(encode, BoostedRegressor(random_state=0))
    assert cross_val_score(pipe, frame, y, cv=2).mean() > 0.6
    grid = GridSearchCV(
        pipe,
        {"boostedregressor__copies": [1, 20], "boostedregressor__learner": ["boosted", bb.learners.Tree(subset=1.0)]},
        cv=2,
    ).fit(frame, y)
    assert grid.best_params_["boostedregressor__copies"] == 20
    folds = cross_val_predict(BoostedClassifier(random_state=0), X, y > 3, cv=3, method="predict_proba")
    assert folds.shape == (3000, 2)
    assert ((folds[:, 1] > 0.5) == (y > 3)).mean() > 0.8
    model = BoostedRegressor(learner=bb.learners.Tree(), loss=Quantile(0.9), copies=7).fit(X, y)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "booster_")


def test_foreign_models_as_weak_learners() -> None:
    X, y = table(500)
    weak = bb.learners.Wrapped(SGDRegressor(learning_rate="constant", eta0=0.05))
    model = BoostedRegressor(learner=weak, copies=3, random_state=0).fit(X, 2.0 * X[:, 0])
    assert model.score(X, 2.0 * X[:, 0]) > 0.6
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


# -- keeping


def by_skops(model: Any) -> Any:
    data = skops.io.dumps(model)
    needed = skops.io.get_untrusted_types(data=data)
    assert needed == [f"banditboost.interop.sklearn.{type(model).__name__}"], "one type to trust, and no other"
    return skops.io.loads(data, trusted=needed)


def by_joblib(model: Any, folder: Path) -> Any:
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


@pytest.mark.parametrize("way", ["pickle", "joblib", "copy", "skops"])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_a_kept_model_goes_on_bit_for_bit(kind: str, way: str, tmp_path: Path) -> None:
    X, y = table()
    labels: Any = y if kind == "regressor" else np.where(y > 3.0, "up", "down")
    noise = bb.noise.TruncatedGaussian()
    parts: dict[str, Any] = {"learner": bb.learners.Tree(subset=1.0), "chain": bb.chains.Span(), "noise": noise}
    model: Any = (BoostedRegressor if kind == "regressor" else BoostedClassifier)(random_state=0, copies=5, **parts)
    model.fit(pd.DataFrame(X, columns=list("abcd")), labels)
    again = {
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "joblib": lambda: by_joblib(model, tmp_path),
        "copy": lambda: copy.deepcopy(model),
        "skops": lambda: by_skops(model),
    }[way]()
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == list("abcd")
    for runner in (model, again):
        runner.partial_fit(pd.DataFrame(X[::-1], columns=list("abcd")), labels[::-1])
    np.testing.assert_array_equal(again.booster_.predict_many(X), model.booster_.predict_many(X))
    assert again.progressive_loss_ == model.progressive_loss_


def test_models_that_were_never_fitted_are_kept_too() -> None:
    model = BoostedRegressor(learner=bb.learners.Coin(), random_state=5)
    assert by_skops(model).get_params() == model.get_params()
    assert copy.deepcopy(model).get_params() == model.get_params()


@dataclass(frozen=True)
class Slow(bb.learners.Linear):
    """A user's own part."""


def test_a_user_s_own_parts_are_left_to_pickle() -> None:
    X, y = table(60)
    model = BoostedRegressor(learner=Slow(), copies=3, random_state=0).fit(X, y)
    state = model.__getstate__()
    assert state["plain"]["learner"] is model.learner
    assert state["booster"].booster is model.booster_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


# -- how well it does


def test_abalone_as_in_the_tables() -> None:
    """docs/beyond.md has 5.25 on second halves, where 2,088 rows are all there is; the whole is easier."""
    X, y = np.asarray(ABALONE.X), np.asarray(ABALONE.y)
    model = BoostedRegressor(noise=0.1, random_state=0).fit(X, y)
    assert 4.7 < model.progressive_loss_ < 5.4
    errors = -cross_val_score(model, X, y, cv=KFold(2, shuffle=True, random_state=0), scoring="neg_mean_squared_error")
    assert errors.mean() < 5.2


def test_ten_digits_from_loss_values() -> None:
    X, y = load_digits(return_X_y=True)
    assert cross_val_score(BoostedClassifier(noise=0.1, random_state=0), X, y, cv=2).mean() > 0.87


# -- what is not there


@pytest.mark.parametrize("name", ["sklearn", "river"])
def test_a_missing_extra_is_named(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; import banditboost.interop.{name}"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.stderr.strip().splitlines()[-1] == (
        f"ImportError: banditboost.interop.{name} needs the extra '{name}': pip install 'banditboost[{name}]'."
    )


def test_the_library_itself_needs_neither() -> None:
    code = "import sys, banditboost; sys.exit(any(name in sys.modules for name in ('sklearn', 'river')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("target_range", [None, (-3.0, 3.0)])
def test_labels_whose_cost_is_no_number_change_nothing(target_range: Any) -> None:
    X, y = table()
    model = BoostedRegressor(copies=4, target_range=target_range, random_state=0).fit(X, y)
    before, known = model.predict(X), model.target_range_
    for learn in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=r"y must be numbers of at most 1e\+100 in size, got -1e\+160"):
            learn(X[:3], [0.1, -1e160, 0.2])
        np.testing.assert_array_equal(model.predict(X), before)
        assert (model.target_range_, model.n_samples_seen_) == (known, len(X))
