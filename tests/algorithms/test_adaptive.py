"""The default in a world that changes: it recovers, it costs nothing where nothing changes, and when it remembers rounds at all."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.algorithms import boosted
from banditboost.algorithms.names import named
from banditboost.gradients import Exact, Fitted, OnePoint, Remembered
from banditboost.learners import Forgetting, Grown, SecondOrder, Tree
from banditboost.spaces import Box, Interval, NuclearBall, Simplex, Space

LINE = Interval(-6.0, 6.0)


@cache
def losses(answers: int, seed: int, flips: bool, adaptive: bool | None) -> tuple[float, float]:
    """The mean loss of 3,000 rounds, which flip after half of them or do not, and that of the last 500."""
    at, noise = (1500 if flips else 2999,), bb.noise.Uniform(0.1)
    world = bb.worlds.Flip(rounds=3000, features=4, at=at, noise=noise, seed=seed)
    found = bb.evaluate.progressive(boosted(LINE, answers=answers, adaptive=adaptive), world).losses
    return float(found.mean()), float(found[-500:].mean())


@pytest.mark.parametrize("answers", [30, 2, 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_after_a_flip_the_default_recovers_and_without_adapting_it_does_not(answers: int, seed: int) -> None:
    never = losses(answers, seed, False, None)
    assert losses(answers, seed, True, None)[1] < 1.5 * never[1]
    rigid = losses(answers, seed, True, False)
    assert rigid[1] > 1.8 * never[1]
    assert rigid[0] > 2 * losses(answers, seed, True, None)[0]


@pytest.mark.parametrize("answers", [30, 2, 1])
def test_where_nothing_changes_adapting_costs_next_to_nothing(answers: int) -> None:
    adaptive, rigid = (np.mean([losses(answers, seed, False, way)[0] for seed in (0, 1)]) for way in (None, False))
    assert adaptive < 1.02 * rigid


def parts(booster: bb.Booster) -> tuple[Any, ...]:
    """The learners of a booster, whatever is around them."""
    learner: Any = booster.spec.learner
    while not hasattr(learner, "parts"):
        learner = learner.learner
    return tuple(getattr(part, "learner", part) for part in learner.parts)


def remembers(booster: bb.Booster) -> bool:
    return any(isinstance(part, Grown) for part in parts(booster))


@pytest.mark.parametrize("adaptive", [None, True, False])
def test_every_part_adapts_or_none_does(adaptive: bool | None) -> None:
    booster, wanted = boosted(LINE, answers=2, adaptive=adaptive), adaptive is not False
    _, linear, trees, forest = parts(booster)
    assert isinstance(linear, Forgetting if wanted else SecondOrder)
    assert isinstance(trees, Tree)
    assert isinstance(forest, Grown)
    assert isinstance(booster.spec.gradient, Remembered)
    chain: Any = booster.spec.chain
    assert (trees.renews, forest.renews, booster.spec.gradient.changes, chain.recent) == (wanted,) * 4


def test_with_categories_the_forest_adapts_too() -> None:
    forest = parts(boosted(LINE, categories=[(0, 3)]))[-1]
    assert (forest.renews, forest.categories) == (True, ((0, 3),))


@pytest.mark.parametrize(
    ("space", "more", "kept"),
    [
        (LINE, {}, True),
        (LINE, {"copies": 4}, True),
        (LINE, {"copies": 3}, False),
        (LINE, {"gradient": Exact()}, True),
        (LINE, {"gradient": Exact(), "curvature": 2.0}, True),
        (LINE, {"gradient": Exact(), "curvature": 1.0}, False),
        (LINE, {"gradient": OnePoint(0.5)}, False),
        (LINE, {"gradient": Fitted(0.5)}, False),
        (LINE, {"memory": None}, False),
        (LINE, {"memory": 1000}, True),
        (Box((0.0,) * 8, (1.0,) * 8), {}, True),
        (Box((0.0,) * 9, (1.0,) * 9), {}, False),
        (Simplex(3), {"answers": 2}, True),
        (NuclearBall(2, 2, 1.0), {}, False),
    ],
)
def test_rounds_are_remembered_where_forests_pay(space: Space, more: dict[str, Any], kept: bool) -> None:
    booster = boosted(space, **more)
    assert remembers(booster) == kept
    linear = [part for part in parts(booster) if isinstance(part, Forgetting)]
    assert bool(linear) == kept, "who remembers adapts when nothing is said"


@pytest.mark.parametrize("more", [{"memory": None}, {"copies": 3}, {"gradient": OnePoint(0.5)}])
def test_adapting_needs_memory(more: dict[str, Any]) -> None:
    sentence = r"^adaptive must be left out, or False, where no rounds are remembered\.$"
    with pytest.raises(ValueError, match=sentence):
        boosted(LINE, adaptive=True, **more)
    assert not remembers(boosted(LINE, adaptive=False, **more))


@pytest.mark.parametrize("wrong", [1, "yes", 0.0])
def test_adaptive_is_true_or_false(wrong: Any) -> None:
    with pytest.raises(ValueError, match="adaptive must be True or False, got"):
        boosted(LINE, adaptive=wrong)


@pytest.mark.parametrize("more", [{}, {"copies": 3}, {"answers": 1}, {"answers": 2, "copies": 6, "seed": 4}])
@pytest.mark.parametrize("space", [LINE, Box((0.0, 0.0), (1.0, 10.0)), Simplex(3)], ids=["interval", "box", "simplex"])
def test_the_booster_of_that_name_is_the_default(space: Space, more: dict[str, Any]) -> None:
    assert named("boosted", space, **more).spec == boosted(space, **more).spec
