"""The bridge to the compiled loops: says whether one fits, and feeds it.

Only exact types of our own are recognised: a subclass may do anything, so it takes the plain path.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from banditboost import losses
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.evaluate.trace import Trace
from banditboost.gradients import Exact, OnePoint, Stochastic
from banditboost.learners import Learner, Linear, Scaled
from banditboost.learners.linear import LinearBank
from banditboost.learners.scaled import ScaledBank
from banditboost.noise import Silent
from banditboost.require import Array
from banditboost.spaces import Ball, Box, Interval, Space
from banditboost.worlds import Supervised, SyntheticLinear, World


def obstacle(booster: Booster, world: World) -> str | None:
    """Return why no compiled loop fits, as half a sentence; None where one does."""
    spec = booster.spec
    learner: Learner = spec.learner
    while type(learner) is Scaled:
        learner = learner.learner
    checks: tuple[tuple[str, Any, tuple[type, ...]], ...] = (
        ("learner", learner, (Linear,)),
        ("chain", spec.chain, (ConvexHull, Single)),
        ("gradient", spec.gradient, (Exact, Stochastic, OnePoint)),
        ("space", spec.space, (Interval, Box, Ball)),
        ("world", world, (Supervised, SyntheticLinear)),
    )
    if booster.plan is not None:
        return "there is no compiled loop for boosters that start again"
    for name, part, known in checks:
        if type(part) not in known:
            return f"there is no compiled loop for the {name} {type(part).__name__}"
    assert isinstance(world, Supervised)
    if type(world.loss) not in _LOSSES:
        return f"there is no compiled loop for the loss {type(world.loss).__name__}"
    if world.shape != spec.space.shape:
        return f"labels have shape {world.shape} and the space has shape {spec.space.shape}"
    if booster.bank is not None and booster.features != world.features:
        return f"the booster has {booster.features} features and the world {world.features}"
    return None


_LOSSES = (losses.Squared, losses.Absolute, losses.Huber, losses.Logistic, losses.Quantile, losses.Bregman)


def run(booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace) -> None:
    """Play rounds begin ... end-1 in one compiled call."""
    from banditboost.kernels import linear  # numba takes half a second to import: only those who run pay

    assert isinstance(world, Supervised)
    if booster.bank is None:
        booster._start_bank(world.features)
    spec, rounds = booster.spec, end - begin
    copies, d = spec.copies, spec.space.size
    queries = spec.gradient.count(copies)
    directions, noise = np.empty((rounds, copies, 0)), np.empty((0, 0, 0))
    sphere = spec.gradient if isinstance(spec.gradient, OnePoint) else None
    if sphere is not None:
        directions = spec.space.directions(booster.streams["directions"], rounds * queries).reshape(rounds, queries, d)
        noise = world.noise.sample(rng, (rounds, queries)).reshape(rounds, queries, 1)
    elif spec.gradient.noisy and not isinstance(world.noise, Silent):
        noise = world.noise.sample(rng, (rounds, copies, d))

    bank, scale = booster.bank, 1 / spec.chain.gamma
    while isinstance(bank, ScaledBank):
        scale *= bank.gamma
        bank = bank.bank
    assert isinstance(bank, LinearBank)
    contexts = world.contexts(begin, end)
    if bank.spec.intercept:
        contexts = np.concatenate([contexts, np.ones((rounds, 1))], axis=1)
    code, parameter = _loss(world.loss)
    kind, low, high, radius = _geometry(spec.space)
    _, ground_low, ground_high, ground_radius = _geometry(booster.ground)
    linear.rounds(
        bank.weights.reshape(copies, d, -1),
        contexts,
        world.labels(begin, end).reshape(rounds, d),
        directions,
        noise,
        bank.spec.rate.at(np.arange(booster.phase_rounds + 1.0, booster.phase_rounds + rounds + 1)),
        spec.chain.lengths(copies),
        booster.start.reshape(d),
        isinstance(spec.chain, Single),
        scale,
        math.inf if bank.spec.radius is None else bank.spec.radius,
        kind,
        low,
        high,
        radius,
        spec.inside,
        ground_low,
        ground_high,
        ground_radius,
        code,
        parameter,
        linear.EXACT if sphere is None else linear.SPHERE,
        0.0 if sphere is None else sphere.delta,
        0.0 if sphere is None else spec.space.rank / sphere.delta / sphere.queries,
        trace.predictions[begin:end].reshape(rounds, d),
        trace.losses[begin:end],
        trace.asked[begin:end],
    )
    booster.count(rounds)


def _loss(loss: losses.Loss) -> tuple[int, float]:
    """Return a loss's number in the kernels and its parameter."""
    from banditboost.kernels import losses as codes

    match loss:
        case losses.Huber():
            return codes.HUBER, loss.threshold
        case losses.Quantile():
            return codes.QUANTILE, loss.level
        case losses.Bregman():
            return (codes.ENTROPY if loss.potential == "entropy" else codes.EUCLIDEAN), loss.floor
    plain = {losses.Squared: codes.SQUARED, losses.Absolute: codes.ABSOLUTE, losses.Logistic: codes.LOGISTIC}
    return plain[type(loss)], 0.0


def _geometry(space: Space) -> tuple[int, Array, Array, float]:
    """Return a space's number in the kernels and its arrays: box and interval by bounds, ball by centre and radius."""
    from banditboost.kernels import linear

    if isinstance(space, Ball):
        return linear.BALL, space.center, space.center, space.radius
    assert isinstance(space, Interval | Box)
    return linear.BOX, np.atleast_1d(np.array(space.low)), np.atleast_1d(np.array(space.high)), 0.0
