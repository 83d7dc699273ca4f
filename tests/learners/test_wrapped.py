"""Foreign models: ours in River's and scikit-learn's manner, always; theirs, where they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Wrapped
from banditboost.learners.wrapped import WrappedBank
from banditboost.spaces import Ball, Interval


class OneByOne:
    """A linear model by stochastic gradient descent, in River's manner."""

    def __init__(self, rate: float = 0.1) -> None:
        self.rate, self.weights = rate, dict[str, float]()

    def predict_one(self, x: dict[str, float]) -> float:
        return sum(self.weights.get(name, 0.0) * value for name, value in x.items())

    def learn_one(self, x: dict[str, float], y: float) -> None:
        error = self.predict_one(x) - y
        self.weights = {name: self.weights.get(name, 0.0) - self.rate * error * value for name, value in x.items()}


class ByTable:
    """The same in scikit-learn's manner: it cannot predict before it has learned."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def partial_fit(self, X: Array, y: Array) -> ByTable:
        if not hasattr(self, "weights"):
            self.weights = np.zeros(X.shape[1])
        self.weights = self.weights - 0.1 * (X @ self.weights - y) @ X
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(X @ self.weights)


class CountingWorld:
    """A model that shows its state, in an array."""

    def __init__(self) -> None:
        self.sums = np.zeros(2)

    def predict_one(self, x: dict[str, float]) -> float:
        return float(self.sums[0] / max(1.0, self.sums[1]))

    def learn_one(self, x: dict[str, float], y: float) -> None:
        self.sums += (y, 1.0)

    def arrays(self) -> dict[str, Array]:
        return {"sums": self.sums}


def counted() -> CountingWorld:
    return CountingWorld()


def start(model: Any, copies: int = 3, space: bb.spaces.Space | None = None, curvature: float = 2.0) -> WrappedBank:
    learner = Wrapped(model, curvature)
    return learner.start(copies, space or Interval(-1.0, 1.0), 4, np.random.default_rng(0))


@pytest.mark.parametrize(
    "model", [OneByOne(), OneByOne, ByTable(), lambda: ByTable()], ids=["one", "class", "table", "made"]
)
@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Ball(2, 1.0)], ids=repr)
def test_models_learn_where_the_losses_point(model: Any, space: bb.spaces.Space) -> None:
    rng, curvature = np.random.default_rng(1), 1.6
    bank, weights = start(model, 3, space, curvature), np.zeros((3, space.size, 4))
    for t in range(1, 101):
        x, gradients = rng.normal(size=4), rng.normal(size=(3, *space.shape))
        plays = bank.play(x)
        np.testing.assert_allclose(plays, (weights @ x).reshape(3, *space.shape), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(bank.play(x), plays)
        bank.update(x, gradients, t)
        errors = weights @ x + gradients.reshape(3, -1) / curvature
        weights -= 0.1 * errors[..., np.newaxis] * x


def test_the_condition_of_the_docstring_holds_on_a_run() -> None:
    # Σ g·a ≤ Σ g·f + (c/2) Σ (f² - a²) + (c/2) R, where R is how much the model's squared errors exceed those of f.
    rng, c = np.random.default_rng(2), 2.0
    bank, best = start(OneByOne(), 1, curvature=c), rng.normal(size=4)
    X, g = rng.normal(size=(500, 4)), np.empty(500)
    a, f = np.empty(500), X @ best
    for t, x in enumerate(X):
        g[t] = -c * (f[t] + rng.normal())
        a[t] = bank.play(x)[0]
        bank.update(x, g[t : t + 1], t + 1)
    R = ((a + g / c) ** 2 - (f + g / c) ** 2).sum()
    assert (g * a).sum() == pytest.approx((g * f).sum() + c / 2 * (f**2 - a**2).sum() + c / 2 * R)
    assert 0 < R < 0.5 * 500


def test_every_copy_has_a_model_of_its_own() -> None:
    model = OneByOne()
    bank = start(model, 2, Ball(2, 1.0))
    bank.update(np.ones(4), np.array([[1.0, 0.0], [0.0, -1.0]]), 1)
    assert (np.sign(bank.play(np.ones(4))) == [[-1, 0], [0, 1]]).all()
    assert model.weights == {}
    seeded = [one.seed for row in start(lambda seed: ByTable(seed), 5).models for one in row]
    assert len(set(seeded)) == 5
    assert [one.seed for row in start(ByTable(7), 2).models for one in row] == [7, 7]


def test_in_a_booster_it_learns() -> None:
    world = bb.worlds.SyntheticLinear(rounds=2000, features=4)
    booster = bb.Booster(Wrapped(OneByOne), 1, gradient=bb.gradients.Exact(), space=Interval(-2.0, 2.0))
    trace = bb.evaluate.progressive(booster, world)
    assert trace.losses[1000:].mean() < 1.5 * world.best_losses[1000:].mean()
    with pytest.raises(ValueError, match="there is no compiled loop for the learner Wrapped"):
        bb.evaluate.progressive(booster, world, compiled=True)


def test_what_cannot_be_saved_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    reasons = {
        OneByOne(): "A OneByOne cannot be saved: specs hold",
        OneByOne: "A OneByOne cannot be saved: only foreign models that show their state",
        (lambda: OneByOne()): r"cannot be saved without a name: give it one by banditboost\.Named",
        made_by_name: "A OneByOne cannot be saved: only foreign models that show their state",
    }
    for model, reason in reasons.items():
        booster = bb.Booster(Wrapped(model), 2, gradient=bb.gradients.Exact(), space=Interval(-1.0, 1.0))
        booster.step([1.0], lambda y: y)
        with pytest.raises(TypeError, match=reason):
            booster.save(tmp_path / "model.bb")
    assert list(tmp_path.iterdir()) == []


def made_by_name() -> OneByOne:
    return OneByOne()


def test_models_that_show_their_state_are_saved(tmp_path: Path) -> None:
    booster = bb.Booster(Wrapped(counted), 3, gradient=bb.gradients.Exact(), space=Interval(-1.0, 1.0))
    for k in range(20):
        booster.step([float(k)], lambda y: 2 * (y - 0.5))
    booster.save(tmp_path / "model.bb")
    with pytest.raises(
        ValueError, match=r"pass the function itself, as parts=\{'tests.learners.test_wrapped:counted': \.\.\.\}"
    ):
        bb.Booster.load(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts={f"{__name__}:counted": counted})
    assert loaded.predict([1.0]).tobytes() == booster.predict([1.0]).tobytes()
    assert loaded.predict([1.0]) != 0


def test_bad_models_are_named() -> None:
    for model in (3, "river:LinearRegression", None, object()):
        with pytest.raises(ValueError, match=r"^model must have predict_one and learn_one"):
            Wrapped(model)
    with pytest.raises(ValueError, match=r"^model must make something"):
        start(dict)
    with pytest.raises(ValueError, match=r"^curvature must"):
        Wrapped(OneByOne, curvature=0.0)


def squared_loss(model: Any) -> float:
    world = bb.worlds.SyntheticLinear(rounds=600, features=3)
    booster = bb.Booster(Wrapped(model), 2, gradient=bb.gradients.Exact(), space=Interval(-2.0, 2.0))
    trace = bb.evaluate.progressive(booster, world)
    return float(trace.losses[300:].mean() / (world.labels() ** 2).mean())


def test_river() -> None:
    linear_model = pytest.importorskip("river.linear_model")
    tree = pytest.importorskip("river.tree")
    assert squared_loss(linear_model.LinearRegression()) < 0.6
    assert squared_loss(lambda: tree.HoeffdingTreeRegressor(grace_period=20)) < 0.8


def test_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    assert squared_loss(linear_model.SGDRegressor()) < 0.6
    assert squared_loss(lambda seed: linear_model.SGDRegressor(random_state=seed)) < 0.6


class Failing:
    """A model that cannot learn."""

    def predict_one(self, x: dict[int, float]) -> float:
        return 0.0

    def learn_one(self, x: dict[int, float], y: float) -> None:
        raise RuntimeError("no")


def test_a_model_that_raises_changes_nothing_else() -> None:
    gradient = bb.gradients.Baseline(0.2)
    booster = bb.Booster(Wrapped(Failing()), 2, gradient=gradient, space=bb.spaces.Interval(-1, 1))
    ticket = booster.ask([1.0])
    with pytest.raises(RuntimeError):
        booster.tell(ticket, [3.0, 3.0])
    assert booster.gradient_memory["baseline"].tolist() == [0.0, 0.0]
    assert booster.rounds == 0
