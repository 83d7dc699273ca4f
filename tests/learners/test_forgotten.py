"""Rows of rounds that shall be forgotten: overwritten in every learner that keeps rows, also while a forest grows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.learners.forgotten import Erased, places_of

SECRET = np.array([0.123456789, 0.987654321])
FOREST = bb.learners.Grown(4, 3, least=1.0, first=8, memory=1200, renews=True)


def kept(booster: bb.Booster) -> int:
    """How often a number of the secret context stands in the state."""
    found = 0
    for array in booster.arrays().values():
        if array.dtype.kind == "f":
            found += sum(int((np.abs(array) == np.asarray(value, array.dtype)).sum()) for value in SECRET)
    return found


@pytest.mark.parametrize(
    "learner",
    [
        FOREST,
        replace(FOREST, renews=False),
        replace(FOREST, lag=0.5),
        replace(FOREST, lag=0.5, background=True),
        bb.learners.Steady(FOREST),
        bb.learners.Mixed((bb.learners.Tree(), FOREST)),
        bb.learners.Tree(),
        bb.learners.ScaleFree(),
        bb.learners.Standardized(bb.learners.SecondOrder()),
        bb.learners.Screened(bb.learners.Tree(), 8, 20, evidence=True),
    ],
    ids=lambda learner: f"{type(learner).__name__}-{getattr(learner, 'lag', '')}",
)
@pytest.mark.parametrize("rounds", [5, 40, 120])
def test_nothing_is_kept_and_rounds_go_on(learner: Any, rounds: int) -> None:
    booster = bb.Booster(
        learner, 4, gradient=bb.gradients.Remembered(2), space=bb.spaces.Interval(0, 1), chain=bb.chains.Additive()
    )
    rng = np.random.default_rng(0)
    own = [1, 3, *range(rounds - 1, rounds)]
    for t in range(1, rounds + 1):
        ticket = booster.ask(SECRET if t in own else rng.uniform(0.2, 0.8, 2))
        booster.tell(ticket, np.square(ticket.queries - 0.4))
    booster.erase(own, np.tile(SECRET, (len(own), 1)))
    assert kept(booster) == 0
    for _ in range(30):
        ticket = booster.ask(rng.uniform(0.2, 0.8, 2))
        booster.tell(ticket, np.square(ticket.queries - 0.4))
    booster.wait_for_growth()
    assert np.isfinite(booster.predict([0.5, 0.5]))


def test_rounds_that_taught_the_critic_alone_are_not_counted() -> None:
    rows: Any = np.arange(12, dtype=np.float32).reshape(6, 2)
    erased = Erased(np.array([6]), rows[[4]].astype(float), 8)
    assert places_of(erased, np.arange(1, 7), 6, rows).tolist() == [4]
    strange = erased._replace(contexts=np.array([[77.0, 78.0]]))  # as another saw it: all rows that it may be
    assert places_of(strange, np.arange(1, 7), 6, rows).tolist() == [3, 4, 5]


def test_bad_calls_change_nothing() -> None:
    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
    booster.tell(booster.ask([0.3, 0.4]), [1.0])
    before = booster.digest()
    for rounds, contexts in (
        ([1, 2], [[0.3, 0.4]]),
        ([1], [0.3, 0.4]),
        ([1], [[0.3, 0.4, 0.5]]),
        ([1], [[np.nan, 1.0]]),
    ):
        with pytest.raises(ValueError, match="contexts must"):
            booster.erase(rounds, contexts)
    assert booster.digest() == before
