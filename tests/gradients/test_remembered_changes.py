"""Losses that grow because the world has changed, and losses that grow because they come in other units: both are told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.algorithms import boosted
from banditboost.gradients import Remembered
from banditboost.spaces import Interval
from tests.gradients.robust_world import Disturbed

BEFORE, AFTER = 1500, 1000


def curvatures(answers: int, changes: bool, factor: float = 1.0, flip: bool = False, spread: float = 0.3) -> Array:
    """The curvature in use, every hundred rounds after losses have become larger, over what it was before."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (BEFORE + AFTER, 3))
    y = X @ [1.0, -1.0, 0.5] + spread * rng.uniform(-1, 1, len(X))
    y[BEFORE:] *= -1 if flip else 1
    spec = boosted(Interval(-4, 4), answers=answers).spec
    assert isinstance(spec.gradient, Remembered)
    assert spec.gradient.changes, "the default tells both apart"
    # Copies that keep everything are wrong for longer than the default's, and show what the rule is for.
    learner = spec.learner if changes else boosted(Interval(-4, 4), answers=answers, adaptive=False).spec.learner
    gradient = replace(spec.gradient, changes=changes)
    booster = bb.Booster.from_spec(replace(spec, gradient=gradient, learner=learner))
    found, begin = [], 0
    for end in (BEFORE, *range(BEFORE + 100, BEFORE + AFTER + 1, 100)):
        units = 1.0 if end <= BEFORE else factor
        loss, noise = Disturbed(units), bb.noise.Uniform(0.3 * spread * units)
        bb.evaluate.progressive(booster, bb.worlds.Supervised(X[begin:end], y[begin:end], loss, noise))
        found.append(float(booster.gradient_memory["facts"][4]))
        begin = end
    return np.array(found[1:]) / found[0]


@pytest.mark.long
@pytest.mark.parametrize("answers", [1, 2, 5])
def test_losses_in_units_a_thousand_times_larger_have_a_larger_curvature(answers: int) -> None:
    found = curvatures(answers, True, 1e3)
    assert found[0] > 30
    assert 100 < found[-1] < 3000


@pytest.mark.long
@pytest.mark.parametrize(("answers", "spread"), [(1, 0.3), (2, 0.3), (5, 0.3), (1, 0.02), (2, 0.02)])
def test_a_world_that_flips_leaves_the_curvature_as_it_is(answers: int, spread: float) -> None:
    """With little noise, losses rise at once by far more than is usual."""
    found = curvatures(answers, True, flip=True, spread=spread)[:8]
    assert found.max() < 2
    assert found.min() > 0.5


@pytest.mark.long
@pytest.mark.parametrize(("answers", "spread"), [(1, 0.3), (2, 0.3), (1, 0.02), (2, 0.02)])
def test_without_the_rule_the_curvature_explodes(answers: int, spread: float) -> None:
    assert curvatures(answers, False, flip=True, spread=spread).max() > 5


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_changes_is_true_or_false(wrong: Any) -> None:
    with pytest.raises(ValueError, match="changes must be True or False, got"):
        Remembered(changes=wrong)


def test_without_changes_nothing_is_remembered_that_was_not_before() -> None:
    space = Interval(0, 1)
    assert len(Remembered().start(1, space)["facts"]) == 27
    assert len(Remembered(changes=True).start(1, space)["facts"]) == 30
    assert "changes" not in Remembered().to_dict()
