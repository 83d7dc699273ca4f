"""Linear copies against loops written out, their regret against its bound, their comparator against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from banditboost._core.checks import Array
from banditboost.learners import Linear
from banditboost.rates import Constant, Power, Rate, Theory
from banditboost.spaces import Ball, Interval, Space

PLACES: tuple[Space, ...] = (Interval(-1.0, 1.0), Ball(2, 1.0))
FEATURES = 3


class SlowCopies:
    """Copies as lists of lists of floats: W[copy][output][feature]."""

    def __init__(self, copies: int, outputs: int, features: int, radius: float | None, intercept: bool) -> None:
        self.radius, self.intercept = radius, intercept
        self.W = [[[0.0] * (features + intercept) for _ in range(outputs)] for _ in range(copies)]

    def _seen(self, context: Array) -> list[float]:
        return [float(x) for x in context] + ([1.0] if self.intercept else [])

    def play(self, context: Array) -> list[list[float]]:
        seen = self._seen(context)
        return [[sum(w * x for w, x in zip(row, seen, strict=True)) for row in copy] for copy in self.W]

    def update(self, context: Array, gradients: Array, step: float) -> None:
        seen = self._seen(context)
        for i, copy in enumerate(self.W):
            for j, row in enumerate(copy):
                for k in range(len(row)):
                    row[k] = row[k] - step * float(gradients[i, j]) * seen[k]
            length = math.sqrt(sum(w * w for row in copy for w in row))
            if self.radius is not None and length > self.radius:
                for row in copy:
                    for k in range(len(row)):
                        row[k] = row[k] * self.radius / length


@pytest.mark.parametrize("rate", [Power(0.4, 0.5), Constant(0.2)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("radius", [None, 0.8])
@pytest.mark.parametrize("space", PLACES, ids=repr)
def test_bank_equals_loops(space: Space, radius: float | None, intercept: bool, rate: Rate) -> None:
    copies, outputs, rng = 4, space.size, np.random.default_rng(21)
    bank = Linear(radius, rate, intercept).start(copies, space, FEATURES, np.random.default_rng(0))
    slow = SlowCopies(copies, outputs, FEATURES, radius, intercept)
    longest = 0.0
    for t in range(1, 121):
        x = rng.uniform(-1.0, 1.0, FEATURES)
        gradients = rng.normal(0.0, 1.0, (copies, *space.shape))
        plays = bank.play(x)
        assert plays.shape == (copies, *space.shape)
        np.testing.assert_allclose(plays.reshape(copies, outputs), slow.play(x), rtol=1e-11, atol=1e-13)
        bank.update(x, gradients, t)
        slow.update(x, gradients.reshape(copies, outputs), float(rate.at(t)))
        np.testing.assert_allclose(bank.weights.reshape(copies, outputs, -1), slow.W, rtol=1e-11, atol=1e-13)
        lengths = np.linalg.norm(bank.weights.reshape(copies, -1), axis=1)
        longest = max(longest, float(lengths.max()))
        if radius is not None:
            assert (lengths <= radius * (1 + 1e-12)).all()
    # The comparison was about something: weights met the ball, or went past where it would have been.
    assert longest >= 0.8 * (1 - 1e-12)


def test_copies_do_not_see_each_other() -> None:
    rng = np.random.default_rng(22)
    together = Linear(0.5).start(3, PLACES[1], 2, rng)
    alone = [Linear(0.5).start(1, PLACES[1], 2, rng) for _ in range(3)]
    for t in range(1, 50):
        x, gradients = rng.normal(size=2), rng.normal(size=(3, 2))
        together.update(x, gradients, t)
        for i, bank in enumerate(alone):
            bank.update(x, gradients[i : i + 1], t)
    for i, bank in enumerate(alone):
        np.testing.assert_array_equal(together.weights[i], bank.weights[0])


def test_playing_changes_nothing_and_arguments_are_left_alone() -> None:
    bank = Linear(0.5).start(2, PLACES[1], 2, np.random.default_rng(0))
    x, gradients = np.array([1.0, -2.0]), np.array([[1.0, 2.0], [3.0, -4.0]])
    bank.update(x, gradients, 1)
    before = bank.weights.copy()
    bank.play(x)[:] = 7.0
    np.testing.assert_array_equal(bank.weights, before)
    assert x.tolist() == [1.0, -2.0]
    assert gradients.tolist() == [[1.0, 2.0], [3.0, -4.0]]
    assert bank.arrays()["weights"] is bank.weights


def test_the_step_is_gradient_descent_on_the_linear_loss() -> None:
    """Central differences of g·(W x) in every weight."""
    rng = np.random.default_rng(23)
    bank = Linear(radius=None, rate=Constant(1.0)).start(1, PLACES[1], FEATURES, rng)
    bank.weights[:] = rng.normal(size=bank.weights.shape)
    x, g, h = rng.normal(size=FEATURES), rng.normal(size=(1, 2)), 1e-6
    slopes = np.zeros(bank.weights.shape)
    for index in np.ndindex(*bank.weights.shape):
        values = []
        for sign in (1, -1):
            bank.weights[index] += sign * h
            values.append(float((g * bank.play(x)).sum()))
            bank.weights[index] -= sign * h
        slopes[index] = (values[0] - values[1]) / (2 * h)
    before = bank.weights.copy()
    bank.update(x, g, 1)
    np.testing.assert_allclose(before - bank.weights, slopes, atol=1e-7)


@pytest.mark.parametrize("space", PLACES, ids=repr)
def test_regret_of_every_copy_stays_below_the_bound(space: Space) -> None:
    """Three worlds for three copies: stochastic, one that pushes along the play, one that changes sides."""
    rounds, radius, rng = 1500, 2.0, np.random.default_rng(24)
    contexts = rng.uniform(-1.0, 1.0, (rounds, FEATURES))
    longest = float(np.sqrt(np.square(contexts).sum(axis=1) + 1).max())
    spec = Linear(radius, Theory(diameter=2 * radius, gradient_bound=longest))
    bank = spec.start(3, space, FEATURES, rng)
    gradients, paid = np.zeros((rounds, 3, *space.shape)), np.zeros((rounds, 3))
    trend = np.ones(space.shape) / math.sqrt(space.size)
    for t in range(rounds):
        plays = bank.play(contexts[t])
        length = np.sqrt(np.square(plays[1]).sum())
        gradients[t, 0] = trend * rng.choice([-1.0, 1.0], p=[0.3, 0.7]) * np.sign(contexts[t, 0])
        gradients[t, 1] = plays[1] / length if length > 0 else trend
        gradients[t, 2] = trend * (1.0 if int(math.log2(t + 1)) % 2 else -1.0)
        paid[t] = (gradients[t] * plays).reshape(3, -1).sum(axis=1)
        bank.update(contexts[t], gradients[t], t + 1)
    bound = 1.5 * longest * 2 * radius * np.sqrt(np.arange(1, rounds + 1))
    for i in range(3):
        regret = np.cumsum(paid[:, i]) - spec.best_in_hindsight(contexts, gradients[:, i])
        assert (regret <= bound).all()
        assert (regret / bound).max() > 0.02


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("space", PLACES, ids=repr)
def test_best_in_hindsight_is_the_least_a_ball_allows(space: Space, intercept: bool) -> None:
    rounds, radius, rng = 8, 1.7, np.random.default_rng(25)
    contexts, gradients = rng.normal(size=(rounds, 2)), rng.normal(size=(rounds, *space.shape))
    best = Linear(radius, intercept=intercept).best_in_hindsight(contexts, gradients)
    seen = np.column_stack([contexts, np.ones(rounds)]) if intercept else contexts
    shape = (space.size, seen.shape[1])
    for T in range(1, rounds + 1):

        def total(w: Array, T: int = T) -> float:
            W = w.reshape(shape)
            return float(sum(float(gradients[t].reshape(-1) @ (W @ seen[t])) for t in range(T)))

        ball = optimize.NonlinearConstraint(lambda w: w @ w, -np.inf, radius**2)
        start = rng.normal(0.0, 0.1, math.prod(shape))
        found = optimize.minimize(total, start, method="SLSQP", constraints=ball, tol=1e-13)
        assert best[T - 1] == pytest.approx(found.fun, rel=1e-6, abs=1e-8)
        # And no member of the ball does better.
        for _ in range(50):
            w = rng.normal(size=math.prod(shape))
            assert total(radius * w / np.linalg.norm(w)) >= best[T - 1] - 1e-9


def test_best_in_hindsight_needs_a_ball() -> None:
    with pytest.raises(ValueError, match="radius must be given"):
        Linear(radius=None).best_in_hindsight(np.ones((2, 1)), np.ones(2))


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_bad_radius_is_named(radius: float) -> None:
    with pytest.raises(ValueError, match=r"^radius must be"):
        Linear(radius)
