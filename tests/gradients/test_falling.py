"""How far late rounds are followed: no further than the loss can fall, which depends on the power with which it rises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from banditboost._compiled.falling import power
from banditboost.gradients import Remembered
from banditboost.gradients.base import Moment, Probe
from banditboost.spaces import Box, Interval, Space

LINE = Interval(-1.0, 1.0)


def asked(gradient: Remembered, space: Space, memory: Any, rng: Any) -> Probe:
    at = np.zeros(space.shape)
    return gradient.begin(Moment(at[np.newaxis], at, None, None), space, {"directions": rng}, memory)


def taught(gradient: Remembered, exponent: float, space: Space = LINE, nearest: float = 0.05) -> tuple[Any, Any]:
    """A critic that has seen losses |a - y|^exponent at one prediction, with targets on one side of it."""
    rng, memory = np.random.default_rng(0), gradient.start(1, space)
    for _ in range(2000):
        probe = asked(gradient, space, memory, rng)
        gradient.learn(losses(probe, rng.uniform(nearest, 0.9, space.shape), exponent), probe, space, memory)
    return memory, rng


def followed(gradient: Remembered, given: Any, probe: Probe, space: Space, memory: Any, now: Any) -> Any:
    """How far the target lies from the prediction 0 where `now` is predicted today."""
    path = np.stack([np.zeros(space.shape), np.broadcast_to(now, space.shape)])
    return -gradient.estimate_at(path, given, probe, space, memory)[0] / 2


def losses(probe: Probe, label: Any, exponent: float) -> Any:
    away = np.abs(probe.queries - label).reshape(len(probe.queries), -1)
    return (away**exponent).sum(axis=1)


@pytest.mark.parametrize("answers", [1, 2, 3, 30])
def test_the_power_of_the_loss_shows(answers: int) -> None:
    seen = getattr(power, "py_func", power)
    straight, squared = (seen(taught(Remembered(answers), q, nearest=0.3)[0]["facts"]) for q in (1.0, 2.0))
    assert 1.0 <= straight < 1.45
    assert straight + 0.3 < squared <= 2.0


@pytest.mark.parametrize("answers", [2, 4, 30])
def test_a_straight_line_is_followed_to_its_end_and_not_beyond(answers: int) -> None:
    gradient = Remembered(answers)
    memory, rng = taught(gradient, 1.0)
    at_once, late = [], []
    for label in rng.uniform(0.3, 0.9, 50):
        probe = asked(gradient, LINE, memory, rng)
        given = losses(probe, label, 1.0)
        at_once.append(followed(gradient, given, probe, LINE, memory, 0.0) / label)
        late.append(followed(gradient, given, probe, LINE, memory, label) / label)
    assert np.mean(late) < 1.4
    assert np.mean(np.abs(np.array(late) - 1)) < 0.6 * np.mean(np.abs(np.array(at_once) - 1))


@pytest.mark.parametrize("answers", [2, 4, 30])
def test_squared_losses_are_followed_nearly_as_far_as_at_once(answers: int) -> None:
    gradient = Remembered(answers)
    memory, rng = taught(gradient, 2.0)
    shares = []
    for label in rng.uniform(0.3, 0.9, 50):
        probe = asked(gradient, LINE, memory, rng)
        given = losses(probe, label, 2.0)
        shares.append(
            followed(gradient, given, probe, LINE, memory, label) / followed(gradient, given, probe, LINE, memory, 0.0)
        )
    assert max(shares) <= 1.0
    assert np.mean(shares) > 0.8


def test_where_nothing_has_changed_a_late_round_is_as_one_told_at_once() -> None:
    gradient, space = Remembered(6), Box((-1.0, -1.0), (1.0, 1.0))
    memory, rng = taught(gradient, 1.0, space=space)
    probe = asked(gradient, space, memory, rng)
    given = losses(probe, np.array([0.05, 0.6]), 1.0)
    prompt = -gradient.estimate(given, probe, space, memory)[0] / 2
    assert np.array_equal(followed(gradient, given, probe, space, memory, 0.0), prompt)
    assert np.array_equal(
        followed(gradient, given, probe, space, memory, -0.5 * prompt), prompt
    )  # further away than before
    # The nearer today's prediction has come, the shorter the way, along its own direction.
    shares = [followed(gradient, given, probe, space, memory, part * prompt) / prompt for part in (0.1, 0.3, 0.9)]
    assert all(np.ptp(share) < 1e-9 for share in shares)
    assert 1 > shares[0][0] > shares[1][0] >= shares[2][0] > 0


def test_the_unbiased_estimate_is_never_shortened() -> None:
    gradient = Remembered(2, unbiased=True, curvature=2.0)
    memory, rng = taught(gradient, 1.0)
    probe = asked(gradient, LINE, memory, rng)
    given = losses(probe, 0.5, 1.0)
    assert followed(gradient, given, probe, LINE, memory, 0.5) == followed(gradient, given, probe, LINE, memory, 0.0)
