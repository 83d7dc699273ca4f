"""The bridge to the compiled loop for streaming trees: says whether it fits, and feeds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.evaluate import fast
from banditboost.evaluate.trace import Trace
from banditboost.gradients import Exact, OnePoint, Stochastic
from banditboost.learners import Learner, Linear, Scaled, Stump, Tree
from banditboost.learners.linear import LinearBank
from banditboost.learners.scaled import ScaledBank
from banditboost.learners.tree import TreeBank
from banditboost.rates import Constant
from banditboost.spaces import Ball, Box, Interval
from banditboost.worlds import Supervised, SyntheticLinear, World


def obstacle(booster: Booster, world: World) -> str | None:
    """Return why this loop does not fit, as half a sentence; None where it does."""
    spec = booster.spec
    learner: Learner = spec.learner
    while type(learner) is Scaled:
        learner = learner.learner
    checks: tuple[tuple[str, Any, tuple[type, ...]], ...] = (
        ("learner", learner, (Tree, Stump)),
        ("chain", spec.chain, (ConvexHull, Single)),
        ("gradient", spec.gradient, (Exact, Stochastic, OnePoint)),
        ("space", spec.space, (Interval, Box, Ball)),
        ("world", world, (Supervised, SyntheticLinear)),
        ("loss", getattr(world, "loss", None), fast.LOSSES),
    )
    if booster.plan is not None:
        return "there is no compiled loop for boosters that start again"
    for name, part, known in checks:
        if type(part) not in known:
            return f"there is no compiled loop for the {name} {type(part).__name__}"
    assert isinstance(world, Supervised)
    if world.shape != spec.space.shape:
        return f"labels have shape {world.shape} and the space has shape {spec.space.shape}"
    if booster.bank is not None and booster.features != world.features:
        return f"the booster has {booster.features} features and the world {world.features}"
    return None


def run(booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace) -> None:
    """Play rounds begin ... end-1 in one compiled call."""
    from banditboost.kernels import forest
    from banditboost.kernels.game import empty_desk

    assert isinstance(world, Supervised)
    if booster.bank is None:
        booster._start_bank(world.features)
    bank, scale = booster.bank, 1 / booster.spec.chain.gamma
    while isinstance(bank, ScaledBank):
        scale *= bank.gamma
        bank = bank.bank
    assert isinstance(bank, TreeBank)
    # A game is laid out for linear copies; trees have neither rates nor a ball of weights, and the loop reads neither.
    stand_in = LinearBank(Linear(radius=None, rate=Constant(1.0)), np.empty(0))
    game = fast._game(booster, stand_in, scale, world, begin, end, rng, trace)
    rows = world.contexts(begin, end)
    X = rows if isinstance(rows, np.ndarray) else rows.toarray()
    desk = empty_desk(booster.spec.copies, booster.spec.space.size)
    forest.loop(bank.trees, bank.rules, bank.bins, np.ascontiguousarray(X), np.empty(world.features), game, desk)
    booster.count(end - begin)
