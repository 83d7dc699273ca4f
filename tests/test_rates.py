"""Rates: closed forms, and the regret that the theory's rate promises."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.rates import Constant, Power, Rate, Theory
from banditboost.spaces import Ball
from banditboost.theory import ogd_regret
from tests.checks.discovery import label


@pytest.mark.parametrize(
    ("rate", "formula"),
    [
        (Constant(0.3), lambda t: 0.3),
        (Power(0.2, 0.5), lambda t: 0.2 / math.sqrt(t)),
        (Power(0.7, 0.25), lambda t: 0.7 / t**0.25),
        (Power(2.0, 0.0), lambda t: 2.0),
        (Power(1, 1), lambda t: 1 / t),
        (Theory(3.0, 5.0), lambda t: 3.0 / (5.0 * math.sqrt(t))),
    ],
    ids=label,
)
def test_closed_forms(rate: Rate, formula: Callable[[int], float]) -> None:
    rounds = [1, 2, 3, 10, 1000, 10**6]
    together = rate.at(np.array(rounds))
    assert together.shape == (6,)
    for t, step in zip(rounds, together, strict=True):
        assert step == pytest.approx(formula(t), rel=1e-14)
        assert float(rate.at(t)) == step
        assert float(rate.at(float(t))) == step


Adversary = Callable[[int, Array], Array]
G, R, ROUNDS = 3.0, 2.0, 2000


def against(play: int, x: Array) -> Array:
    """Push along the play: whatever is played was wrong."""
    length = float(np.linalg.norm(x))
    return G * x / length if length > 0 else np.array([G, 0.0, 0.0])


def switching(play: int, x: Array) -> Array:
    """Change sides in ever longer stretches, so that the weights must cross the ball again and again."""
    return np.array([G if int(math.log2(play)) % 2 else -G, 0.0, 0.0])


def drawn(play: int, x: Array) -> Array:
    direction = np.random.default_rng(play).standard_normal(3)
    return np.asarray(G * direction / np.linalg.norm(direction))


def orthogonal(play: int, x: Array) -> Array:
    """Orthogonal to all that came before as far as three dimensions allow: the lower bound's adversary."""
    return np.asarray(G * np.eye(3)[play % 3] * (1 if (play // 3) % 2 else -1))


@pytest.mark.parametrize("adversary", [against, switching, drawn, orthogonal])
def test_theory_rate_keeps_its_promise_at_every_round(adversary: Adversary) -> None:
    space, rate = Ball(3, R), Theory(diameter=2 * R, gradient_bound=G)
    x, total, paid = np.zeros(3), np.zeros(3), 0.0
    ratios = []
    for t in range(1, ROUNDS + 1):
        g = adversary(t, x)
        assert np.linalg.norm(g) <= G * (1 + 1e-12)
        paid += float(g @ x)
        total += g
        regret = paid + R * float(np.linalg.norm(total))
        bound = 1.5 * G * (2 * R) * math.sqrt(t)
        assert bound == pytest.approx(ogd_regret(t, G, 2 * R))
        assert regret <= bound
        ratios.append(regret / bound)
        x = space.project(x - float(rate.at(t)) * g)
    # The promise is not empty: regret of the right order was there to be had.
    assert max(ratios) > 0.05


def test_a_rate_ten_times_too_long_breaks_the_promise() -> None:
    """The bound is a test with teeth: on a zigzag the steps themselves are what is paid."""
    x, total, paid, broken = 0.0, 0.0, 0.0, False
    rate = Theory(diameter=20 * R, gradient_bound=G)
    for t in range(1, ROUNDS + 1):
        g = G if x >= 0 else -G
        paid += g * x
        total += g
        broken |= paid + R * abs(total) > 1.5 * G * 2 * R * math.sqrt(t)
        x = float(np.clip(x - float(rate.at(t)) * g, -R, R))
    assert broken


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        Constant(0.0)
    with pytest.raises(ValueError, match="power must not be negative"):
        Power(0.1, -0.5)
    with pytest.raises(ValueError, match="gradient_bound must be positive"):
        Theory(1.0, 0.0)
    with pytest.raises(ValueError, match="diameter must be finite"):
        Theory(math.inf)
    with pytest.raises(ValueError, match=r"scale must be a number, got '0\.1'"):
        Constant("0.1")  # type: ignore[arg-type]
