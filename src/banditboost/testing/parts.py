"""Checks of one part: of its own promises, and of a small booster with the part in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core.spec import Spec
from banditboost.booster import Booster, BoosterSpec
from banditboost.chains import Chain
from banditboost.gradients import Gradient
from banditboost.learners import Learner
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.rates import Rate
from banditboost.spaces import Interval, Space
from banditboost.testing.boosters import check_booster
from banditboost.testing.rounds import booster_with, require
from banditboost.testing.spaces import check_space
from banditboost.testing.specs import Parts, check_spec
from banditboost.testing.worlds import check_loss, check_noise


def check_part(part: Spec | Booster, parts: Parts = None) -> None:
    """Run every check for a part, whatever it is.

    Parameters
    ----------
    part
        A learner, chain, gradient, space, loss, rate or noise, or a whole booster. Of other specs only their JSON is checked.
    parts
        What is passed to readers of JSON and of model files: the callables of a part that holds some, by name.
    """
    checks: tuple[tuple[type, Any], ...] = (
        (Learner, check_learner),
        (Chain, check_chain),
        (Gradient, check_gradient),
        (Space, check_space_in_use),
        (Rate, check_rate),
        (Loss, check_loss),
        (Noise, check_noise),
        (Booster, check_booster),
    )
    for kind, check in checks:
        if isinstance(part, kind):
            check(part, parts)
            return
    if isinstance(part, BoosterSpec):
        check_booster(Booster.from_spec(part), parts)
    else:
        check_spec(part, parts)  # type: ignore[arg-type]


def check_learner(learner: Learner, parts: Parts = None) -> None:
    """Check a learner: its copies play the right shape, change nothing by playing, and are all that `arrays` returns."""
    check_spec(learner, parts)
    name, space, rng = type(learner).__name__, Interval(-1.0, 1.0), np.random.default_rng(0)
    features = 3 if learner.contextual else 0
    context = rng.uniform(-1, 1, features) if learner.contextual else None
    bank = learner.start(4, space, features, rng)
    before = {key: array.copy() for key, array in bank.arrays().items()}
    first, second = bank.play(context), bank.play(context)
    require(np.shape(first) == (4,), f"{name} must play one point for each copy: shape (4,), got {np.shape(first)}.")
    require(np.array_equal(first, second), f"{name} must play the same when it is asked again.")
    after = bank.arrays()
    same = all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)
    require(same and before.keys() == after.keys(), f"{name} must not change by playing.")
    held = sum(array.size for array in after.values())
    promised = learner.n_floats(4, space, features)
    require(promised >= 4, f"{name} must say that it holds at least one number for each copy, got {promised}.")
    require(held >= 4, f"{name} must return the numbers that its copies hold from arrays(), got {held} of them.")
    check_booster(booster_with(learner), parts)


def check_chain(chain: Chain, parts: Parts = None) -> None:
    """Check a chain: its path has the right shape and finite numbers, and making it changes nothing."""
    check_spec(chain, parts)
    name, booster = type(chain).__name__, booster_with(chain)
    copies, rng = booster.spec.copies, np.random.default_rng(0)
    lengths = chain.lengths(copies)
    require(np.shape(lengths) == (copies,), f"{name} must have one step length for each of {copies} copies.")
    for shape in ((), (3,), (2, 2)):
        plays, start = rng.uniform(-0.5, 0.5, (copies, *shape)), np.zeros(shape)
        memory, kept = chain.start(copies), plays.copy()
        before = {key: array.copy() for key, array in memory.items()}
        path = chain.path(plays, start, memory)
        right = (copies + 1, *shape)
        require(np.shape(path) == right, f"{name} must give a path of shape {right}, got {np.shape(path)}.")
        require(np.isfinite(path).all(), f"{name} must give a path of finite numbers.")
        same = all(np.array_equal(before[key], memory[key]) for key in before) and np.array_equal(plays, kept)
        require(same, f"{name} must leave plays and memory as they are when it makes a path: learn changes the memory.")
    check_booster(booster, parts)


def check_gradient(gradient: Gradient, parts: Parts = None) -> None:
    """Check a gradient: it asks as often and as far away as it says, and gives one gradient for each copy."""
    check_spec(gradient, parts)
    name, booster = type(gradient).__name__, booster_with(gradient)
    copies, space = booster.spec.copies, booster.spec.space
    require(gradient.asks in ("values", "gradients"), f"{name}.asks must be 'values' or 'gradients'.")
    ticket = booster.ask(np.zeros(2))
    probe, anchors = ticket.probe, ticket.probe.anchors
    count = gradient.count(copies)
    asked = len(probe.queries)
    require(count >= 1, f"{name}.count must be at least one query a round, got {count}.")
    require(len(probe.draws) == asked, f"{name} must number the draws of all {asked} queries, got {len(probe.draws)}.")
    require(len(probe.chosen) == len(probe.directions), f"{name} must say of each direction whether it is asked about.")
    if asked:
        away = np.abs(probe.queries[:, None] - np.concatenate([anchors, [ticket.prediction]])).min(axis=1)
        near = away.max() <= gradient.reach + 1e-9 or np.isclose(np.abs(probe.queries), 1.0).any()
        require(near or gradient.reach == 0, f"{name} must ask within its reach {gradient.reach:g} of an anchor.")
    given = np.linspace(-1, 1, asked) if gradient.asks == "values" else np.ones((asked, *space.shape))
    found = gradient.estimate(given, probe, space, booster.gradient_memory)
    right = (copies, *space.shape)
    require(np.shape(found) == right, f"{name} must give gradients of shape {right}, got {np.shape(found)}.")
    check_booster(booster_with(gradient), parts)


def check_space_in_use(space: Space, parts: Parts = None) -> None:
    """Check a space, and a booster that plays in it."""
    check_space(space, parts)
    check_booster(booster_with(space), parts)


def check_rate(rate: Rate, parts: Parts = None) -> None:
    """Check a rate: positive and finite in every round, alike for one round and for many."""
    check_spec(rate, parts)
    name, rounds = type(rate).__name__, np.arange(1.0, 101.0)
    steps = rate.at(rounds)
    require(np.shape(steps) == (100,), f"{name} must give one step for each of 100 rounds, got {np.shape(steps)}.")
    require((np.isfinite(steps) & (steps > 0)).all(), f"{name} must give positive, finite steps.")
    single = np.array([rate.step(t) for t in range(1, 101)])
    require(np.allclose(single, steps, 1e-12, 0), f"{name} must give one round the step that it gives to many.")
    check_booster(booster_with(rate), parts)
