"""Batch models that are fitted anew on remembered rounds: at geometric times, in bounded memory, with no model in a file."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

import banditboost as bb
from banditboost.learners import Refit
from banditboost.learners.refit import Line, RefitBank
from banditboost.spaces import Box, Interval, Space

LINE = Interval(-3.0, 3.0)


def trees(seed: int) -> Any:
    return HistGradientBoostingRegressor(max_iter=60, early_stopping=False, random_state=seed)


def tree(seed: int) -> Any:
    return DecisionTreeRegressor(max_features=1, max_depth=4, random_state=seed)


def told(spec: Refit, X: Any, targets: Any, space: Space = LINE) -> RefitBank:
    """A bank that was told where the loss would have been least."""
    bank = spec.start(1, space, X.shape[1], np.random.default_rng(0))
    for x, target in zip(X, targets, strict=True):
        bank.remember(x, np.zeros((1, *space.shape)), -2 * np.asarray(target).reshape(1, *space.shape))
    return bank


def test_models_are_fitted_at_geometric_times_on_all_rounds() -> None:
    fits: list[tuple[int, Any, Any]] = []

    class Noting(Line):
        def fit(self, X: Any, y: Any) -> None:
            fits.append((len(X), X.copy(), y.copy()))
            super().fit(X, y)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    told(Refit(Noting, first=20, growth=1.5), X, y)
    assert [n for n, *_ in fits] == [20, 30, 45, 68, 102, 153]
    for n, rows, targets in fits:
        np.testing.assert_array_equal(rows, X[:n].astype(np.float32))
        np.testing.assert_allclose(targets, y[:n], rtol=0, atol=1e-15)


def test_what_is_played_is_what_the_model_would_say() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (120, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    spec = Refit(trees, first=100, growth=9.0)
    bank = told(spec, X, y)
    model = trees(int(bank.memory["seeds"][0, 0])).fit(X[:100].astype(np.float32), y[:100])
    np.testing.assert_allclose(bank.play_many(X[100:])[0], model.predict(X[100:].astype(np.float32)), rtol=1e-12)


def test_the_mean_is_played_where_the_model_has_not_proven_better() -> None:
    class Wrong(Line):
        def predict(self, X: Any) -> Any:
            return -super().predict(X)

    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 1))
    bank = told(Refit(Wrong, first=20), X, X[:, 0])
    np.testing.assert_allclose(bank.play(X[0]), bank.memory["mean"][0])
    right = told(Refit(Line, first=20), X, X[:, 0])
    np.testing.assert_allclose(right.play(X[0]), np.clip(X[0], -12, 12), atol=0.1)


def test_every_coordinate_has_its_own_model() -> None:
    rng, space = np.random.default_rng(3), Box((-9.0, -9.0), (9.0, 9.0))
    X = rng.normal(size=(80, 2))
    bank = told(Refit(Line, first=60), X, np.stack([X[:, 0], -2 * X[:, 1]], axis=1), space)
    np.testing.assert_allclose(bank.play(np.array([1.0, 1.0]))[0], [1.0, -2.0], atol=0.1)


def test_memory_is_bounded_and_older_rounds_fade() -> None:
    spec = Refit(Line, first=10, memory=2 * 12 * 50)
    assert spec.most_rows(1, 1) == 50
    bank = told(spec, np.arange(1000.0)[:, np.newaxis], np.zeros(1000))
    kept = np.sort(bank.memory["rows"][0, :, 0])
    assert kept.shape == (50,)
    assert len(set(kept.tolist())) == 50
    assert 800 < kept.mean() < 990


@pytest.mark.parametrize("model", [tree, Line], ids=["from a seed", "a class"])
def test_saved_half_way_it_goes_on_bit_for_bit_with_no_model_in_the_file(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (300, 2))
    space = Interval(-1.0, 1.0)
    booster = bb.algorithms.boosted(space, copies=4, answers=2, memory=Refit(model, first=30, memory=2**12))
    for t, x in enumerate(X):
        if t == 150:
            booster.save(tmp_path / "model.bb")
            parts = booster.spec.callables()
            assert len(parts) == 1
            again = bb.Booster.load(tmp_path / "model.bb", parts=parts)
            with pytest.raises(ValueError, match="parts"):
                bb.Booster.load(tmp_path / "model.bb")
        for one in (booster, again) if t >= 150 else (booster,):
            ticket = one.ask(x)
            one.tell(ticket, (ticket.queries - np.sign(x[0]) * x[1]) ** 2)
    assert booster.digest() == again.digest()
    np.testing.assert_array_equal(booster.predict_many(X), again.predict_many(X))


def play(booster: bb.Booster, X: Any, y: Any) -> Any:
    world = bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.1))
    return bb.evaluate.progressive(booster, world).losses


@pytest.mark.long
@pytest.mark.parametrize("answers", [2, 30])
def test_it_is_worth_its_memory(answers: int) -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (3000, 4))
    y = np.sin(5 * X[:, 0]) * np.where(X[:, 1] > 0, 1.0, -1.0) * (1 + X[:, 2]) / 2
    space = Interval(-1.0, 1.0)
    plain, refitted = (
        play(bb.algorithms.boosted(space, answers=answers, memory=memory), X, y)[1500:].mean()
        for memory in (None, Refit(trees))
    )
    constant = np.square(y[1500:] - y.mean()).mean()
    assert refitted < 0.75 * plain
    assert refitted < 0.5 * constant


def test_it_can_be_reset_and_stretched() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 2))
    bank = told(Refit(Line, first=30), X, X[:, 0])
    larger = bank.stretched(3, rng)
    wide = np.column_stack([X, np.zeros(90)])
    np.testing.assert_allclose(larger.play_many(wide), bank.play_many(X), atol=1e-12)
    bank.reset(np.array([0]), rng)
    np.testing.assert_array_equal(bank.play_many(X), np.zeros((1, 90)))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"model": 3}, r"model must have fit and predict, or be a function that makes such a model; got 3\."),
        ({"model": Line, "first": 1}, r"first must be"),
        ({"model": Line, "growth": 1.0}, r"growth must be above 1, got 1\.0\."),
        ({"model": Line, "memory": 0}, r"memory must be"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Refit(**wrong)


def test_models_that_are_none_and_predictions_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="model must make something with fit and predict; it made 3"):
        told(Refit(lambda: 3, first=2), np.zeros((4, 1)), np.zeros(4))

    class Lost(Line):
        def predict(self, X: Any) -> Any:
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="NaN or infinity from the refitted model Lost"):
        told(Refit(Lost, first=2), np.zeros((4, 1)), np.zeros(4))


def test_a_damaged_memory_is_refused() -> None:
    bank = told(Refit(Line, first=4), np.random.default_rng(0).normal(size=(8, 1)), np.zeros(8))
    bank.arrays()["clock"][0, 3:] = (10**9, 99)
    with pytest.raises(ValueError, match="fitted on rows that are not there"):
        bank.remember(np.zeros(1), np.zeros((1,)), np.zeros(1))


def test_what_fails_while_a_round_is_remembered_leaves_everything_as_it_was() -> None:
    class Fails(Line):
        def fit(self, X: Any, y: Any) -> None:
            made.append(self)
            if len(made) == 2:
                raise RuntimeError("the second copy's fit fails")
            super().fit(X, y)

    made: list[Any] = []
    rng = np.random.default_rng(0)
    bank = Refit(Fails, first=10).start(3, LINE, 1, rng)
    for _ in range(10):
        bank.remember(rng.normal(size=1), np.zeros(3), rng.normal(size=3))
    before = {name: array.copy() for name, array in bank.arrays().items()}
    with pytest.raises(RuntimeError, match="second copy"):
        bank.remember(np.ones(1), np.zeros(3), np.ones(3))
    assert all(np.array_equal(before[name], array) for name, array in bank.arrays().items())
    bank.remember(np.ones(1), np.zeros(3), np.ones(3))
    assert bank.memory["clock"][:, 0].tolist() == [11, 11, 11]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (lambda X: 3.0, "must predict one number a row, got 3.0 from the refitted model Says"),
        (lambda X: np.zeros((len(X), 2)), "must predict one number a row"),
        (lambda X: None, "must predict finite numbers|must predict one number a row"),
        (lambda X: ["much"] * len(X), "must predict one number a row, got .'much'"),
    ],
)
def test_what_is_no_prediction_is_refused_in_a_sentence(said: Any, sentence: str) -> None:
    class Says(Line):
        def predict(self, X: Any) -> Any:
            return said(X)

    X = np.random.default_rng(0).normal(size=(3, 1))
    bank = told(Refit(Says, first=3), X, X[:, 0])
    with pytest.raises(ValueError, match=sentence):
        bank._said(0, np.zeros((4, 1), dtype=np.float32))


def test_boosters_that_refit_travel_between_processes_and_grow_far() -> None:
    booster = bb.algorithms.boosted(LINE, copies=4, answers=2, memory=Refit(Line, first=10, growth=1e20))
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(30, 2)):
        booster.step(x, np.square)
    again = pickle.loads(pickle.dumps(booster))
    assert again.digest() == booster.digest()
    assert again.predict(np.ones(2)) == booster.predict(np.ones(2))


@pytest.mark.parametrize("memory", [2**20, Refit(Line, first=30)], ids=["grown", "refit"])
@pytest.mark.parametrize("box", [((-1.0, -10.0), (1.0, 10.0)), ((100.0, 0.0), (101.0, 50.0))], ids=str)
def test_what_is_remembered_does_not_depend_on_the_sides_of_a_box(memory: Any, box: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (250, 2))
    wanted = np.stack([np.sign(X[:, 0]) * X[:, 1], X[:, 0]], axis=1)
    played = []
    for low, high in (((-1.0, -1.0), (1.0, 1.0)), box):
        centre, half = (np.array(high) + low) / 2, (np.array(high) - low) / 2
        booster = bb.algorithms.boosted(Box(low, high), copies=4, answers=4, memory=memory)
        for x, target in zip(X, wanted, strict=True):
            ticket = booster.ask(x)
            booster.tell(ticket, np.square((ticket.queries - centre) / half - target).sum(axis=1))
        played.append((booster.predict_many(X) - centre) / half)
    np.testing.assert_allclose(played[1], played[0], atol=1e-3)


@pytest.mark.parametrize(
    "memory", [Line, Line(), 0.5, True, "much", bb.learners.Linear()], ids=lambda memory: type(memory).__name__
)
def test_what_is_no_memory_is_refused(memory: Any) -> None:
    with pytest.raises(ValueError, match="memory must be a number of bytes, or a learner that remembers rounds"):
        bb.algorithms.boosted(LINE, memory=memory)


def test_a_number_of_bytes_may_be_one_of_numpy() -> None:
    space = bb.spaces.Interval(0, 1)
    assert bb.algorithms.boosted(space, memory=np.int64(2**20)).spec == bb.algorithms.boosted(space, memory=2**20).spec  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="memory must be a number of bytes"):
        bb.algorithms.boosted(space, memory=True)
