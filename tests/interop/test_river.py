"""Boosters in River's company: names become columns, labels become losses, and nothing known is lost."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from river import compose, datasets, evaluate, linear_model, metrics, preprocessing, stream

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.interop.river import BoostedClassifier, BoostedRegressor
from banditboost.interop.targets import Targets

NAMES = ("a", "b", "c", "d")


def table(rows: int, seed: int = 0) -> tuple[Array, Array]:
    X = np.random.default_rng(seed).uniform(-1, 1, (rows, 4))
    return X, np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])


def examples(X: Array, y: Any) -> Iterator[tuple[dict[str, float], Any]]:
    for row, label in zip(X.tolist(), y, strict=True):
        yield dict(zip(NAMES, row, strict=True)), label


def score(pairs: Any, model: Any, metric: str, **options: Any) -> float:
    return float(evaluate.progressive_val_score(pairs, model, getattr(metrics, metric)(), **options).get())


def learned(model: Any, pairs: Any) -> Any:
    for x, y in pairs:
        model.learn_one(x, y)
    return model


# -- the same as the booster itself


@pytest.mark.parametrize("noise", [None, 0.1])
def test_progressive_errors_are_those_of_the_booster_itself(noise: float | None) -> None:
    X, y = table(300)
    model = BoostedRegressor(target_range=(-1.0, 1.0), noise=noise)
    found = score(examples(X, y.tolist()), model, "MSE")
    world = bb.worlds.Supervised(X, y, noise=None if noise is None else bb.noise.Uniform(noise))
    trace = bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(-1.0, 1.0)), world, compiled=False)
    assert found == pytest.approx(trace.mean, rel=1e-12)
    quick = bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(-1.0, 1.0)), world)
    assert quick.compiled
    assert found == pytest.approx(quick.mean, rel=1e-6)


def test_classes_as_the_booster_itself_learns_them() -> None:
    X, y = table(200)
    names = np.array(["down", "same", "up"])[np.digitize(y, [-0.3, 0.3])]
    model = BoostedClassifier(classes=("down", "same", "up"))
    world, booster = bb.worlds.Classification(X, names), bb.algorithms.boosted(bb.spaces.Simplex(3))
    trace = bb.evaluate.progressive(booster, world, compiled=False)
    for t, (x, label) in enumerate(examples(X, names)):
        found = model.predict_proba_one(x)
        assert list(found) == ["down", "same", "up"]
        np.testing.assert_allclose(list(found.values()), trace.predictions[t], atol=1e-9)
        model.learn_one(x, label)


def test_gradients_may_be_told() -> None:
    X, y = table(200)
    model = learned(BoostedRegressor(feedback="full", target_range=(-1, 1)), examples(X, y))
    booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), gradient=bb.gradients.Exact(), curvature=2.0)
    bb.evaluate.progressive(booster, bb.worlds.Supervised(X, y), compiled=False)
    for x, row in zip((pair[0] for pair in examples(X[:20], y[:20])), X, strict=False):
        assert model.predict_one(x) == pytest.approx(float(booster.predict(row)), rel=1e-9)


# -- features that come and go


def test_late_features_lose_nothing() -> None:
    """Linear copies with columns that came late are those that had them, empty, from the start."""
    X, _ = table(200)
    y = X @ [0.2, -0.3, 0.4, 0.1]
    late, early = (BoostedRegressor("second-order", copies=3, target_range=(-1, 1)) for _ in range(2))
    X[:100, 2:] = 0.0
    for t, (x, label) in enumerate(examples(X, y)):
        late.learn_one({"a": x["a"], "b": x["b"]} if t < 100 else x, label)
        early.learn_one(x, label)
    assert late._booster is not None
    assert (late._booster.features, late._booster.rounds) == (4, 200)
    for x, _ in examples(X, y):
        assert late.predict_one(x) == pytest.approx(early.predict_one(x), rel=1e-9, abs=1e-12)


def test_columns_double_up_to_a_limit_and_names_beyond_are_left_out() -> None:
    model, widths = BoostedRegressor("second-order", copies=2, max_features=10), []
    for k in range(30):
        model.learn_one({f"n{k:02}": 1.0}, float(k % 3))
        assert model._booster is not None
        widths.append(model._booster.features)
    assert sorted(set(widths)) == [1, 2, 4, 8, 10]
    assert len(model._columns) == 10
    assert model.predict_one({"n00": 1.0, "n29": 5.0}) == model.predict_one({"n00": 1.0})


def test_missing_features_are_zero_and_predicting_gives_no_columns() -> None:
    X, y = table(50)
    model = learned(BoostedRegressor(), examples(X, y))
    assert model.predict_one({"a": 0.5, "stranger": 3.0}) == model.predict_one({"a": 0.5, "b": 0.0, "c": 0.0, "d": 0.0})
    assert set(model._columns) == set(NAMES)
    assert isinstance(model.predict_one({}), float)


def test_copies_that_cannot_be_stretched_start_again_on_what_is_remembered() -> None:
    X, _ = table(400)
    y = 0.5 * X[:, 0]
    model = BoostedRegressor(bb.learners.Fourier(bb.learners.SecondOrder(centre="zero"), features=20), copies=3)
    for x, label in examples(X, y):
        model.learn_one({"a": x["a"]}, label)
    model.learn_one({"a": 0.1, "new": 0.0}, 0.05)
    assert model._booster is not None
    assert (model._booster.features, model._booster.rounds) == (2, 401)
    assert abs(model.predict_one({"a": 0.8}) - 0.4) < 0.1
    forgetful = BoostedRegressor(bb.learners.Fourier(), copies=3, memory=0)
    learned(forgetful, [({"a": 1.0}, 1.0), ({"b": 1.0}, 1.0)])
    assert forgetful._booster is not None
    assert forgetful._booster.rounds == 1


def test_river_s_models_within_river_s_pipeline() -> None:
    weak = bb.learners.Wrapped(linear_model.LinearRegression())
    model = preprocessing.StandardScaler() | BoostedRegressor(weak, copies=3, chain=bb.chains.Additive(step=0.5))
    X, _ = table(300)
    found = score(examples(X, 2.0 * X[:, 0] - X[:, 2]), model, "MSE")
    assert found < 0.8  # the labels' variance is 5/3


FEW: dict[str, Callable[[], Any]] = {
    "River's line": lambda: bb.learners.Wrapped(linear_model.LinearRegression()),
    "trees": lambda: "trees",
    "Fourier features": lambda: bb.learners.Fourier(bb.learners.SecondOrder(centre="zero"), features=20),
}


def share_left_by_three(weak: Any) -> float:
    X, _ = table(300)
    y = 2.0 * X[:, 0] - X[:, 2]
    model = preprocessing.StandardScaler() | BoostedRegressor(weak, copies=3)
    return score(examples(X, y), model, "MSE") / float(y.var())


@pytest.mark.parametrize("weak", FEW)
def test_three_copies_without_a_chain_learn(weak: str) -> None:
    """Three steps of a fifth would reach half of the labels, so that few copies take longer ones."""
    assert share_left_by_three(FEW[weak]()) < 0.48  # of the labels' variance: 0.8, the bound above


@pytest.mark.parametrize("weak", FEW)
def test_steps_that_do_not_know_how_few_copies_are_would_be_noticed(monkeypatch: Any, weak: str) -> None:
    monkeypatch.setattr("banditboost.algorithms.names.LEFT", 1.0)  # steps of a fifth, however few copies there are
    assert share_left_by_three(FEW[weak]()) > 0.7


# -- labels of every size, classes as they come


def test_labels_beyond_the_range_make_it_grow() -> None:
    X, y = table(30)
    model = BoostedRegressor()
    assert model.predict_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 1.0}, 4.0)
    assert model._targets == Targets(0.0, 8.0, 4.0)
    learned(model, examples(X, y))
    learned(model, examples(X, 1000.0 + y))
    assert model._booster is not None
    assert model._booster.rounds == 61
    assert model._targets is not None
    assert model._targets.low < -0.5
    assert model._targets.high > 1000.0
    given = BoostedRegressor(target_range=(2.0, 4.0))
    assert given.predict_one({"a": 1.0}) == 3.0
    assert 2.0 <= learned(given, examples(X, 1000.0 * y)).predict_one({"a": 1.0}) <= 4.0


def test_classes_as_they_come() -> None:
    X, y = table(600)
    kinds = ["first", "second", "third"]
    model = BoostedClassifier()
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "first")
    assert model.predict_proba_one({"a": 1.0}) == {"first": 1.0}
    rooms = []
    for t, (x, value) in enumerate(examples(X, y)):
        model.learn_one(x, kinds[int(np.digitize(value, [-0.2, 0.2]))] if t > 300 else kinds[int(value > 0)])
        assert model._booster is not None
        rooms.append(model._booster.spec.space.size)
    assert sorted(set(rooms)) == [2, 4]
    found = model.predict_proba_one({"a": 0.9, "b": 0.9})
    assert set(found) == set(kinds)
    assert sum(found.values()) == pytest.approx(1.0)
    assert model.predict_one({"a": 0.9, "b": 0.9, "c": 0.0, "d": 0.0}) == "third"
    assert model.predict_one({"a": 0.9, "b": -0.9, "c": 0.0, "d": 0.0}) == "first"
    with pytest.raises(ValueError, match=r"y must be one of the classes \['a', 'b'\], got 'c'"):
        BoostedClassifier(classes=("a", "b")).learn_one({"x": 1.0}, "c")
    assert BoostedClassifier(classes=("a", "b")).predict_proba_one({"x": 1.0}) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("x", [{"a": float("inf")}, {"a": np.inf}, {"a": 10**400}, {"a": [1.0]}, {"a": object()}])
def test_what_is_no_feature_is_named_and_changes_nothing(x: dict[str, Any]) -> None:
    X, y = table(20)
    model = learned(BoostedRegressor(), examples(X, y))
    before = pickle.dumps(model)
    sentence = "x must (hold finite numbers, got .* as 'a'|have words in lists|hold numbers, words)"
    with pytest.raises(ValueError, match=sentence):
        model.learn_one(x, 1.0)
    with pytest.raises(ValueError, match=sentence):
        model.predict_one(x)
    with pytest.raises(ValueError, match="y must be finite"):
        model.learn_one({"a": 1.0}, float("inf"))
    assert pickle.dumps(model) == before


@dataclass(frozen=True)
class Steep(bb.losses.Squared):
    """Labels of 1e60 cost more than any number."""

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        return 1e20 * super().value(points, label, ndim)


@pytest.mark.parametrize(
    ("loss", "label", "sentence"),
    [("squared", 1e200, "y must be numbers of at most 1e.100 in size"), (Steep(), 1e60, "losses must lie between")],
)
def test_a_label_that_overflows_changes_nothing(loss: Any, label: float, sentence: str) -> None:
    X, y = table(40)
    model = learned(BoostedRegressor(loss=loss, target_range=(-3, 3)), examples(X, y))
    before = [model.predict_one(x) for x, _ in examples(X, y)]
    with pytest.raises(ValueError, match=sentence):
        model.learn_one({"a": 1.0, "new": 2.0}, label)
    assert "new" not in model._columns
    assert [model.predict_one(x) for x, _ in examples(X, y)] == before
    assert len(model._recent) == 40
    assert np.isfinite(learned(BoostedRegressor(), [({"a": 1.0}, 5e-324), ({"a": 1.0}, 0.0)]).predict_one({"a": 1.0}))


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        (BoostedRegressor, {"loss": "brier"}, "loss must be one of absolute, huber, quantile, squared"),
        (BoostedRegressor, {"target_range": (1, 0)}, "target_range must be two numbers"),
        (BoostedRegressor, {"max_features": 0}, "max_features must be a whole number"),
        (BoostedRegressor, {"memory": -1}, "memory must be a whole number of at least 0"),
        (BoostedRegressor, {"seed": None}, "seed must be a whole number"),
        (BoostedClassifier, {"loss": "absolute"}, "loss must be one of brier, log, squared"),
        (BoostedClassifier, {"classes": ("a",)}, "classes must be two or more, each once"),
        (BoostedClassifier, {"classes": ("a", "a")}, "classes must be two or more, each once"),
    ],
)
def test_bad_parameters_are_named(kind: Any, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        kind(**given)


# -- River's tools


def test_labels_that_come_late() -> None:
    X, _ = table(400)
    y = X @ [0.5, -0.5, 0.25, 0.0]
    dated = [(x | {"when": t}, label) for t, (x, label) in enumerate(examples(X, y.tolist()))]
    model = compose.Discard("when") | preprocessing.StandardScaler() | BoostedRegressor()
    prompt, late = (score(iter(dated), model.clone(), "MSE", moment="when", delay=delay) for delay in (1, 100))
    assert prompt < 0.5 * late
    assert late < y.var()


def test_strings_by_way_of_indicators() -> None:
    rng = np.random.default_rng(0)
    colours, sizes = rng.choice(["blue", "green", "red"], 500), rng.uniform(0, 1, 500)
    effects = {"blue": -1.0, "green": 0.0, "red": 1.0}
    pairs = [({"colour": str(c), "size": float(s)}, effects[c] * float(s)) for c, s in zip(colours, sizes, strict=True)]
    encode = (compose.SelectType(str) | preprocessing.OneHotEncoder()) + (
        compose.SelectType(float) | preprocessing.StandardScaler()
    )
    model = encode | BoostedRegressor()
    found = score(iter(pairs), model, "R2")
    assert found > 0.7
    assert len(model["BoostedRegressor"]._columns) == 4


def test_streams_of_river() -> None:
    phishing = score(datasets.Phishing().take(600), BoostedClassifier(), "Accuracy")
    assert phishing > 0.85
    images: Any = datasets.ImageSegments
    segments = score(images().take(1000), BoostedClassifier(), "Accuracy")
    assert segments > 0.85
    csv = stream.iter_array(*table(50), feature_names=list(NAMES))
    assert score(csv, BoostedRegressor(), "MAE") < 1.0


@pytest.mark.parametrize(
    "way", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy], ids=["pickle", "copy"]
)
@pytest.mark.parametrize(
    "weak", ["boosted", bb.learners.Wrapped(linear_model.LinearRegression())], ids=["ours", "River's"]
)
def test_a_kept_model_goes_on_bit_for_bit(weak: Any, way: Any) -> None:
    X, y = table(60)
    model = learned(BoostedRegressor(weak, copies=3, noise=0.2), examples(X, y))
    again = way(model)
    for runner in (model, again):
        learned(runner, examples(X, -y))
    for x, _ in examples(X, y):
        assert again.predict_one(x) == model.predict_one(x)


@pytest.mark.parametrize("y", [None, float("nan"), np.float64("nan"), ["north"]])
def test_what_is_no_class_is_refused(y: Any) -> None:
    """A NaN differs from itself: each would be a class of its own."""
    model = BoostedClassifier(copies=2)
    model.learn_one({"a": 1.0}, "north")
    with pytest.raises(ValueError, match="y must be a class, such as a word or a number, got"):
        model.learn_one({"a": 1.0}, y)
    assert model.predict_proba_one({"a": 1.0}) == {"north": 1.0}


def test_whole_numbers_of_hundreds_of_digits() -> None:
    with pytest.raises(ValueError, match="x must hold finite numbers"):
        BoostedRegressor(copies=2).learn_one({"a": 10**400}, 1.0)
