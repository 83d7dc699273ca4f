"""Normalised adaptive gradient descent against its source's pseudo-code; scales of features and gradients change nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Coin, ScaleFree
from banditboost.learners.family import LinearFamily
from banditboost.spaces import Ball, Interval


class SlowNAG:
    """Ross, Mineiro, Langford (2013), Algorithm 2, for one output: weights in the units of the features."""

    def __init__(self, rate: float, features: int) -> None:
        self.rate, self.N, self.t = rate, 0.0, 0
        self.w, self.s, self.G = [0.0] * features, [0.0] * features, [0.0] * features

    def play(self, x: Array) -> float:
        for i, value in enumerate(x):
            if abs(value) > self.s[i]:
                self.w[i] *= self.s[i] / abs(value)
                self.s[i] = abs(value)
        return sum(w * float(value) for w, value in zip(self.w, x, strict=True))

    def update(self, x: Array, g: float, largest: float) -> None:
        self.t += 1
        self.N += sum(float(v) ** 2 / s**2 for v, s in zip(x, self.s, strict=True) if s > 0)
        for i, value in enumerate(x):
            slope = g * float(value)
            self.G[i] += slope**2
            if self.G[i] > 0:
                length = math.sqrt(self.G[i]) + 1e-6 * largest * self.s[i]
                self.w[i] -= self.rate * math.sqrt(self.t / self.N) / (self.s[i] * length) * slope


def test_bank_is_the_sources_algorithm() -> None:
    rng, space = np.random.default_rng(1), Ball(2, 0.5)
    bank = ScaleFree(0.8).start(2, space, 3, rng)
    slow = [[SlowNAG(0.4, 4) for _ in range(2)] for _ in range(2)]
    largest = [0.0, 0.0]
    for t in range(1, 150):
        x = rng.normal(size=3) * (rng.random(3) < 0.7) * 10.0 ** rng.integers(-1, 2)
        seen, g = np.append(x, 1.0), rng.normal(size=(2, 2))
        np.testing.assert_allclose(
            bank.play(x), [[nag.play(seen) for nag in row] for row in slow], rtol=1e-9, atol=1e-12
        )
        bank.update(x, g, t)
        for i in range(2):
            largest[i] = max(largest[i], float(np.abs(g[i]).max()))
            for j in range(2):
                slow[i][j].update(seen, float(g[i, j]), largest[i])


def trajectory(learner: LinearFamily, units: Array, loudness: float) -> Array:
    rng = np.random.default_rng(2)
    bank = learner.start(2, Interval(-1.0, 1.0), 3, rng)
    plays = []
    for t in range(1, 60):
        x, target = rng.normal(size=3) * rng.integers(0, 2, 3), rng.normal()
        plays.append(bank.play(units * x))
        bank.update(units * x, loudness * 2 * (plays[-1] - target), t)
    return np.array(plays)


@pytest.mark.parametrize("learner", [ScaleFree(), ScaleFree(2.0, radius=0.5), Coin()], ids=str)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    powers=st.lists(st.floats(-6.0, 6.0), min_size=3, max_size=3),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3),
    loudness=st.floats(-4.0, 4.0),
)
def test_scales_of_features_and_gradients_change_nothing(
    learner: LinearFamily, powers: list[float], signs: list[float], loudness: float
) -> None:
    units = np.array(signs) * 10.0 ** np.array(powers)
    expected = trajectory(learner, np.ones(3), 1.0)
    np.testing.assert_allclose(trajectory(learner, units, 10.0**loudness), expected, rtol=1e-7, atol=1e-9)
    assert np.abs(expected).max() > 0.01


def test_powers_of_two_change_not_a_bit() -> None:
    for learner in (ScaleFree(), Coin()):
        np.testing.assert_array_equal(
            trajectory(learner, np.array([2.0**40, 2.0**-40, -1.0]), 1.0), trajectory(learner, np.ones(3), 1.0)
        )


def test_the_ball_is_kept_in_normalised_weights() -> None:
    rng = np.random.default_rng(3)
    bank = ScaleFree(5.0, radius=0.5).start(3, Interval(-2.0, 2.0), 2, rng)
    longest = 0.0
    for t in range(1, 100):
        bank.update(rng.normal(size=2) * [1e-3, 1e3], rng.normal(size=3), t)
        longest = max(longest, float(np.linalg.norm(bank.weights, axis=1).max()))
    assert longest == pytest.approx(0.5 * 2.0, rel=1e-12)


@pytest.mark.parametrize("learner", [ScaleFree(), Coin()], ids=str)
def test_it_comes_close_to_the_best_linear_predictor_on_raw_features(learner: LinearFamily) -> None:
    world = bb.worlds.SyntheticLinear(rounds=8000, features=3)
    raw = bb.worlds.Supervised(world.contexts() * [1e-3, 1.0, 1e5], world.labels())
    trace = bb.evaluate.progressive(bb.algorithms.ogd(Interval(-2.0, 2.0), learner=learner), raw)
    regret = np.cumsum(trace.losses - world.best_losses)
    assert 0 < regret[-1] < 0.01 * len(world)
    assert regret[-1] - regret[3999] < 0.5 * regret[3999]


def test_a_gradient_that_is_rounding_is_no_direction() -> None:
    bank = ScaleFree(intercept=False).start(1, Interval(-1.0, 1.0), 2, np.random.default_rng(0))
    bank.update(np.array([1.0, 0.0]), np.array([1.0]), 1)
    bank.update(np.array([0.0, 1.0]), np.array([1e-17]), 2)
    assert abs(bank.weights[0, 0]) > 0.1
    assert abs(bank.weights[0, 1]) < 1e-10


@pytest.mark.parametrize("name", ["rate", "radius"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_bad_fields_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be"):
        ScaleFree(rate=value) if name == "rate" else ScaleFree(radius=value)
