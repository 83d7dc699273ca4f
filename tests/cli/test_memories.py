"""What `explain` says of memories: those of the critic in the units of losses and decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import banditboost as bb
from banditboost.cli.anatomy import memories
from banditboost.spaces import Ball, Box, Interval, Space


@pytest.mark.parametrize("space", [Interval(0.0, 4.0), Box((0.0, 0.0), (4.0, 1.0)), Ball(2, 2.0)], ids=str)
def test_the_critic_is_shown_in_the_units_of_the_decision(space: Space) -> None:
    booster, rng = bb.algorithms.boosted(space, answers=4, memory=None), np.random.default_rng(0)
    assert memories(booster)["rounds in which the critic alone has learned"] == 0
    for x in rng.uniform(-0.2, 0.2, (300, 1)):
        ticket = booster.ask(x)
        away = (np.asarray(ticket.queries) - (space.inner_centre + x)).reshape(4, -1)
        booster.tell(ticket, losses=np.square(away).sum(axis=1) + rng.uniform(-0.3, 0.3, 4))
    found = memories(booster)
    assert 0.5 < found["mean curvature of the losses"] < 8.0  # 2, but for noise; 32 in units of the sides
    assert 0.0 < found["trust in all copies but the first"] <= 1.0


def test_gradients_that_are_told_have_no_curvature_to_show() -> None:
    booster = bb.algorithms.boosted(Interval(0.0, 1.0), gradient=bb.gradients.Exact(), memory=None)
    assert list(memories(booster)) == ["trust in all copies but the first"]


def test_the_default_shows_how_far_its_line_its_trees_and_its_forest_are_followed() -> None:
    booster = bb.algorithms.boosted(Interval(0.0, 1.0), gradient=bb.gradients.Exact(), copies=6)
    shown = {"trust in copy 2": 1.0, "trust in the copies after it": 0.02, "trust in copy 6, grown anew": 0.02}
    assert memories(booster) == shown
    assert "trust in the copies after it" not in memories(bb.Booster.from_spec(replace(booster.spec, copies=3)))


@pytest.mark.parametrize(
    ("gradient", "shown"),
    [
        (bb.gradients.Fitted(0.2, scaled=True), "mean curvature of the losses"),
        (bb.gradients.Baseline(0.2), "mean of the answers"),
        (bb.gradients.Residual(0.2), "last answers"),
    ],
    ids=["fitted", "baseline", "residual"],
)
def test_other_memories_have_names_too(gradient: bb.gradients.Gradient, shown: str) -> None:
    booster = bb.Booster(copies=6, gradient=gradient, space=Interval(-1.0, 1.0))
    for x in np.linspace(-1, 1, 30):
        booster.step([x], lambda queries: (queries - 0.5) ** 2)
    found = memories(booster)[shown]
    if shown.startswith("mean curvature"):
        assert found == pytest.approx(2.0, rel=0.1)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(("rounds", "said"), [(30, "all 30 rounds"), (300, "about the last 100 rounds")])
def test_the_loss_at_predictions_says_over_which_rounds_and_rewards_are_rewards(rounds: int, said: str) -> None:
    """Losses of 9 become losses of 1 half way: with 300 rounds, none of the early ones counts any more."""
    for maximize, what, sign in ((False, "loss", 1.0), (True, "reward", -1.0)):
        booster = bb.algorithms.boosted(Interval(0.0, 4.0), answers=3, memory=None, maximize=maximize)
        rng = np.random.default_rng(0)
        for t in range(rounds):
            ticket = booster.ask([0.0])
            height = 9.0 if rounds > 100 and t < rounds // 10 else 1.0
            away = np.square(np.asarray(ticket.queries) - 2.0)
            booster.tell(ticket, losses=height + 0.1 * away + rng.uniform(-0.1, 0.1, 3))
        found = memories(booster)
        assert found[f"{what} at predictions, mean over {said}"] == pytest.approx(sign, rel=0.3)
