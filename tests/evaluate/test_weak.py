"""Weak learning measured: sums against loops, the advantage found again, the regret that vanishes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.evaluate import WeakLearning, weak_learning
from banditboost.learners import Bank, Learner, Linear, Scaled
from banditboost.rates import Power, Theory
from banditboost.spaces import Space

ROUNDS = 6000


def game(rounds: int = ROUNDS, seed: int = 71) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (rounds, 3))
    return x, x[:, 0] - 0.5 * x[:, 1] + rng.uniform(-1.0, 1.0, rounds)


CONTEXTS, GRADIENTS = game()
INNER = Linear(radius=1.0, rate=Theory(diameter=2.0, gradient_bound=4.0))


@pytest.fixture(scope="module")
def strong() -> WeakLearning:
    return weak_learning(INNER, CONTEXTS, GRADIENTS)


@pytest.mark.parametrize("gamma", [0.25, 0.5, 2.0])
def test_the_advantage_is_found_again(gamma: float, strong: WeakLearning) -> None:
    measured = weak_learning(Scaled(INNER, gamma), CONTEXTS, GRADIENTS)
    assert measured.gamma == pytest.approx(gamma, rel=0.1)
    # γ times the plays is γ times the losses and γ times the regret; the class stays what it was.
    np.testing.assert_allclose(measured.learner, gamma * strong.learner, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(measured.best, strong.best)
    np.testing.assert_allclose(measured.regret(gamma), gamma * strong.regret(), rtol=1e-9, atol=1e-9)
    assert measured.gamma == pytest.approx(gamma * strong.gamma, rel=1e-6)
    assert measured.regret_rate == pytest.approx(gamma * strong.regret_rate, rel=1e-6)


@pytest.mark.parametrize("gamma", [0.25, 0.5, 2.0])
def test_regret_per_round_vanishes_at_the_advantage_and_not_above_it(gamma: float) -> None:
    measured = weak_learning(Scaled(INNER, gamma), CONTEXTS, GRADIENTS)
    rounds = np.array([60, 600, 6000])
    at = measured.regret(gamma)[rounds - 1] / rounds
    assert at[2] < 0.5 * at[1] < 0.25 * at[0]
    bound = gamma * 1.5 * 2.0 * 4.0 / np.sqrt(np.arange(1, ROUNDS + 1))
    assert (measured.regret(gamma) / np.arange(1, ROUNDS + 1) <= bound).all()
    # Against twice the advantage it stays: by half of what the best of the class earns in a round.
    above = measured.regret(2 * gamma)[rounds - 1] / rounds
    assert above[2] > 0.9 * gamma * -measured.best[-1] / ROUNDS


def test_sums_against_loops() -> None:
    x, g = game(40, seed=72)
    spec = Linear(radius=0.7, rate=Power(0.3, 0.5))
    measured = weak_learning(Scaled(spec, 0.5), x, g)
    weights, total, paid = [0.0] * 4, [0.0] * 4, 0.0
    for t in range(40):
        seen = [*(float(v) for v in x[t]), 1.0]
        paid += g[t] * 0.5 * sum(w * v for w, v in zip(weights, seen, strict=True))
        weights = [w - 0.3 / math.sqrt(t + 1) * g[t] * v for w, v in zip(weights, seen, strict=True)]
        length = math.sqrt(sum(w * w for w in weights))
        if length > 0.7:
            weights = [w * 0.7 / length for w in weights]
        total = [s + g[t] * v for s, v in zip(total, seen, strict=True)]
        assert measured.learner[t] == pytest.approx(paid, rel=1e-9, abs=1e-12)
        assert measured.best[t] == pytest.approx(-0.7 * math.sqrt(sum(s * s for s in total)), rel=1e-9)
        assert measured.regret(0.3)[t] == pytest.approx(measured.learner[t] - 0.3 * measured.best[t])


def test_the_fit_finds_what_was_put_in() -> None:
    rounds = np.arange(1.0, 1001)
    best = -0.3 * rounds - np.sin(rounds)
    made = WeakLearning(0.4 * best + 2.5 * np.sqrt(rounds), best)
    assert made.gamma == pytest.approx(0.4)
    assert made.regret_rate == pytest.approx(2.5)
    np.testing.assert_allclose(made.regret(0.4), 2.5 * np.sqrt(rounds))


def test_bad_input_is_named() -> None:
    class Other(Learner):
        def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
            raise NotImplementedError

    x, g = np.ones((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="learner must be Linear or Scaled around it, got Other"):
        weak_learning(Other(), x, g)
    with pytest.raises(ValueError, match="radius must be given"):
        weak_learning(Linear(radius=None), x, g)
    with pytest.raises(ValueError, match=r"gradients must have shape \(3,\), got \(2,\)"):
        weak_learning(Linear(), x, np.ones(2))
    with pytest.raises(ValueError, match="gradients must be finite"):
        weak_learning(Linear(), x, np.array([1.0, np.nan, 1.0]))
    for contexts in (np.ones(3), np.ones((0, 2)), np.ones((3, 1, 1)), np.array(1.0)):
        with pytest.raises(ValueError, match=r"^contexts must have shape"):
            weak_learning(Linear(), contexts, g)
