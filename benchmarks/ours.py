"""Our own contestants: Algorithm 2 with linear learners."""

from __future__ import annotations

from collections.abc import Callable

import banditboost as bb
from benchmarks.timing import Contestant


def linear_boosting(copies: int, space: bb.spaces.Space | None = None) -> bb.BoosterSpec:
    """As in the paper's experiments: weak learners on a ball of radius 10, queries may leave the space."""
    return bb.algorithms.bandit_boosting(
        space or bb.spaces.Interval(0.0, 1.0),
        copies=copies,
        delta=0.5,
        learner=bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.01, 0.5)),
        inside=False,
    ).spec


def contestant(spec: bb.BoosterSpec, world: bb.worlds.Supervised, compiled: bool = True) -> Contestant:
    """A new booster in every repetition, played over the whole world by `evaluate.progressive`."""

    def start() -> Callable[[], bb.evaluate.Trace]:
        booster = bb.Booster.from_spec(spec)
        return lambda: bb.evaluate.progressive(booster, world, compiled=compiled)

    return Contestant(len(world), start)
