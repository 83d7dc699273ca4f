"""Scaled copies play γ times what the inner ones play, and have γ times their regret."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost.learners import Bank, Learner, Linear, Scaled
from banditboost.rates import Power
from banditboost.spaces import Ball, Interval, Space


@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Ball(2, 1.0)], ids=repr)
@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0, 2.0, 0.3])
def test_plays_are_gamma_times_the_inner_plays(gamma: float, space: Space) -> None:
    rng = np.random.default_rng(31)
    inner_spec = Linear(radius=1.0, rate=Power(0.5, 0.5))
    scaled = Scaled(inner_spec, gamma).start(3, space, 2, np.random.default_rng(0))
    inner = inner_spec.start(3, space, 2, np.random.default_rng(0))
    for t in range(1, 80):
        x, gradients = rng.normal(size=2), rng.normal(size=(3, *space.shape))
        np.testing.assert_array_equal(scaled.play(x), gamma * inner.play(x))
        scaled.update(x, gradients, t)
        inner.update(x, gradients, t)
    assert np.abs(inner.play(x)).min() > 0
    np.testing.assert_array_equal(scaled.arrays()["weights"], inner.weights)


def test_scales_multiply() -> None:
    rng = np.random.default_rng(32)
    twice = Scaled(Scaled(Linear(), 0.5), 4.0).start(2, Interval(0.0, 1.0), 1, rng)
    once = Scaled(Linear(), 2.0).start(2, Interval(0.0, 1.0), 1, rng)
    for t in range(1, 20):
        x, gradients = rng.normal(size=1), rng.normal(size=2)
        np.testing.assert_array_equal(twice.play(x), once.play(x))
        twice.update(x, gradients, t)
        once.update(x, gradients, t)


def test_state_is_the_inner_state_itself() -> None:
    bank = Scaled(Linear(), 0.5).start(1, Interval(0.0, 1.0), 1, np.random.default_rng(0))
    bank.arrays()["weights"][:] = 2.0
    assert bank.play(np.array([3.0])).tolist() == [0.5 * (2.0 * 3.0 + 2.0)]


def test_bad_parts_are_named() -> None:
    class Blind(Learner):
        contextual = False

        def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
            raise NotImplementedError

    for gamma in (0.0, -0.5, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^gamma must be"):
            Scaled(Linear(), gamma)
    with pytest.raises(ValueError, match="learner must be one that takes contexts, since scaled plays leave the set"):
        Scaled(Blind(), 0.5)
