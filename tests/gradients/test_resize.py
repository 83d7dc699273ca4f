"""Memories move to a larger space without forgetting: what they know is measured anew, not learned anew."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.gradients import Budget, Exact, Fitted, Gradient, Remembered, Stochastic
from banditboost.spaces import Interval

OLD, NEW = Interval(0.0, 2.0), Interval(0.0, 14.0)
GRADIENTS = [
    Remembered(1),
    Remembered(2),
    Remembered(5),
    Exact(scaled=True),
    Budget(Fitted(0.2, scaled=True), 3, exactly=True),
]


def learned(gradient: Gradient) -> bb.Booster:
    """Return a booster that knows the curvature of (y - x)²."""
    booster, rng = bb.algorithms.boosted(OLD, copies=6, gradient=gradient), np.random.default_rng(0)
    for x in rng.uniform(0.5, 1.5, (200, 1)):
        ticket = booster.ask(x)
        away = np.asarray(ticket.queries) - x
        noise = rng.uniform(-0.1, 0.1, len(away))
        booster.tell(ticket, losses=2 * away if ticket.asks == "gradients" else away**2 + noise)
    return booster


@pytest.mark.parametrize("gradient", GRADIENTS, ids=str)
def test_there_and_back_is_nowhere(gradient: Gradient) -> None:
    memory = {name: array.copy() for name, array in learned(gradient).gradient_memory.items()}
    moved = {name: array.copy() for name, array in memory.items()}
    gradient.resize(moved, OLD, NEW)
    assert any(
        (moved[name] != memory[name]).any() for name in memory
    )  # a method that does nothing would pass otherwise
    gradient.resize(moved, NEW, OLD)
    for name, array in memory.items():
        np.testing.assert_allclose(moved[name], array, rtol=1e-12)


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_the_curvature_in_units_of_the_decision_stays(answers: int) -> None:
    gradient, memory = Remembered(answers), learned(Remembered(answers)).gradient_memory
    before = memory["bends"][2, 0] / OLD.diameter**2
    assert 0.5 < before < 8.0
    gradient.resize(memory, OLD, NEW)
    assert memory["bends"][2, 0] / NEW.diameter**2 == pytest.approx(before)
    assert memory["facts"][4] == pytest.approx(memory["bends"][2, 0])


def test_scaled_gradients_are_for_numbers_and_vectors() -> None:
    with pytest.raises(ValueError, match="scaled must be False where decisions are matrices"):
        bb.Booster(bb.learners.Coin(), 3, gradient=Stochastic(scaled=True), space=bb.spaces.NuclearBall.examples()[0])
