"""Intervals for outcomes that are never told: where they exist, that they hold, and what is in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.bands import FEWEST, Conformal, OutcomeBand
from banditboost.evaluate import progressive

SPACE = bb.spaces.Interval(-3.0, 3.0)
OUTCOMES = Conformal(outcomes=True)


def booster(**options: Any) -> bb.Booster:
    settings: dict[str, Any] = {"copies": 3, "answers": 4, "loss": "squared", "bands": OUTCOMES} | options
    return bb.algorithms.boosted(settings.pop("space", SPACE), **settings)


def play(booster: bb.Booster, rounds: int, noise: float = 0.0, seed: int = 0) -> list[tuple[OutcomeBand, float]]:
    """Play rounds whose outcomes spread with the context; return what was foretold and what came."""
    rng, seen = np.random.default_rng(seed), []
    for x in rng.uniform(-1, 1, (rounds, 2)):
        outcome = x[0] + (0.2 + 0.8 * (x[1] > 0)) * rng.uniform(-1, 1)
        seen.append((booster.predict_outcome(x), outcome))
        ticket = booster.ask(x)
        losses = (ticket.queries - outcome) ** 2 + noise * rng.normal(size=len(ticket.queries))
        booster.tell(ticket, losses)
    return seen


@pytest.mark.parametrize("answers", [3, 4, 5])
def test_without_noise_outcomes_lie_in_their_intervals_as_often_as_they_should(answers: int) -> None:
    seen = play(booster(answers=answers), 2000)[300:]
    assert abs(np.mean([outcome in band for band, outcome in seen]) - 0.9) < 0.03
    assert np.mean([band.width for band, _ in seen]) < 3


def test_intervals_are_wide_where_outcomes_spread() -> None:
    made = booster()
    play(made, 1500)
    assert made.predict_outcome([0.0, -0.8]).width < 0.7 * made.predict_outcome([0.0, 0.8]).width


def test_the_noise_of_answers_is_in_the_interval() -> None:
    calm, noisy = booster(), booster()
    play(calm, 800)
    seen = play(noisy, 800, noise=0.5)[200:]
    assert noisy.predict_outcome([0.0, 0.0]).width > 1.1 * calm.predict_outcome([0.0, 0.0]).width
    assert np.mean([outcome in band for band, outcome in seen]) > 0.9  # pseudo-labels spread more than outcomes


def test_an_interval_is_infinite_before_enough_is_told() -> None:
    made = booster()
    assert made.predict_outcome([0.0, 0.0]) == OutcomeBand(-math.inf, math.inf, 0.9, 0)
    assert all(math.isinf(band.width) for band, _ in play(made, FEWEST))
    assert math.isfinite(made.predict_outcome([0.0, 0.0]).width)


@pytest.mark.parametrize(
    "options",
    [
        {"answers": 2},
        {"loss": None},
        {"loss": "absolute"},
        {"space": bb.spaces.Box((-1.0, -1.0), (1.0, 1.0))},
        {"answers": None, "loss": None, "gradient": bb.gradients.Fitted(0.5)},
    ],
    ids=["two answers", "not declared", "absolute", "box", "fitted"],
)
def test_nothing_is_said_about_outcomes_that_nothing_shows(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="outcomes must be False unless losses are declared"):
        booster(**options)


@pytest.mark.parametrize("bands", [True, False])
def test_without_outcomes_one_sentence_says_how(bands: bool) -> None:
    with pytest.raises(ValueError, match="at least three answers"):
        booster(bands=bands).predict_outcome([0.0, 0.0])


def test_outcomes_are_wanted_or_not() -> None:
    unsure: Any = 1
    with pytest.raises(ValueError, match="outcomes must be True or False"):
        Conformal(outcomes=unsure)


def test_they_change_nothing_else_and_are_saved_and_played_in_plain_rounds(tmp_path: Path) -> None:
    made, other = booster(), booster(bands=True)
    for each in (made, other):
        rng = np.random.default_rng(1)
        for x in rng.uniform(-1, 1, (60, 2)):
            ticket = each.ask(x)
            each.tell(ticket, (ticket.queries - x[0]) ** 2 + rng.normal(size=4))
    arrays = made.arrays()
    assert all(np.array_equal(array, arrays[name]) for name, array in other.arrays().items())
    made.save(tmp_path / "model.bb")
    assert bb.Booster.load(tmp_path / "model.bb").digest() == made.digest()
    assert made.spec.needs(2) >= sum(array.size for array in arrays.values() if array.dtype == np.float64) - 2**16
    world = bb.worlds.Supervised(np.random.default_rng(0).uniform(size=(30, 2)), np.zeros(30))
    trace = progressive(booster(), world)
    assert not trace.compiled
    with pytest.raises(ValueError, match="need all answers of every round"):
        progressive(booster(), world, compiled=True)


def test_rounds_with_limits_of_their_own_say_nothing_about_outcomes() -> None:
    made = booster()
    play(made, 40)
    ticket = made.ask([0.0, 0.0], space=(1.0, 2.0))
    made.tell(ticket, (ticket.queries - 5.0) ** 2)
    assert made.predict_outcome([0.0, 0.0]).rounds == 40
    assert made.predict_loss([0.0, 0.0]).rounds == 41


def test_late_rounds_are_calibrated_against_their_own_predictions() -> None:
    made = booster()
    play(made, 60)
    ticket = made.ask([0.1, 0.1])
    play(made, 60, seed=5)
    expected = {name: array.copy() for name, array in made.bands_memory.items()}
    made.tell(ticket, (ticket.queries - (ticket.prediction + 0.25)) ** 2)
    OUTCOMES.learn(expected, np.array([0.1, 0.1]), 0.25, of="outcome.")
    same = {name for name in expected if name.startswith("outcome.")}
    assert all(np.allclose(expected[name], made.bands_memory[name], rtol=1e-6, atol=1e-9) for name in same)


def test_the_generic_checks_hold() -> None:
    bb.testing.check_part(booster())
    bb.testing.check_part(booster(bands=True))
