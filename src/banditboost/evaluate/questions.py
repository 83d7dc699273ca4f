"""What the compiled loops need to know of a gradient: the questions of a block of rounds, and how answers are used."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.gradients import Baseline, Budget, Fitted, OnePoint, Residual, Sphere, Surrogate, TwoPoint
from banditboost.gradients.jackknife import LEVEL_RIDGE
from banditboost.noise import Silent
from banditboost.spaces import Simplex
from banditboost.worlds import World

if TYPE_CHECKING:
    from banditboost._compiled.estimators import Estimator
    from banditboost._compiled.jackknife import Model


class Questions(NamedTuple):
    """All that is random in a block of T rounds with D directions each."""

    directions: Array
    """Shape (T, D, d)."""
    chosen: NDArray[np.bool_]
    """Shape (T, D)."""
    noise: Array
    """Shape (T, D, sides); for gradients that are told (T, N, d), or empty."""


Draw = Callable[[Booster, World, int], Questions]
"""Draws what is random in so many rounds."""


def drawing(rng: np.random.Generator) -> Draw:
    """Return what draws questions as the plain path would, noise from the stream `rng`."""
    return lambda booster, world, rounds: questions(booster, world, rounds, rng)


def questions(booster: Booster, world: World, rounds: int, rng: np.random.Generator) -> Questions:
    """Draw them as the plain path would, in the same order from the same streams."""
    spec, d = booster.spec, booster.spec.space.size
    sphere = values_asked(booster)
    if sphere is None:
        blurred = spec.gradient.noisy and not isinstance(world.noise, Silent)
        noise = world.noise.sample(rng, (rounds, spec.copies, d)) if blurred else np.empty((0, 0, 0))
        return Questions(np.empty((0, 0, 0)), np.empty((0, 0), dtype=np.bool_), noise)
    total = spec.copies * sphere.queries
    directions = sphere.directions(spec.space, booster.streams["directions"], rounds * total).reshape(rounds, total, d)
    if not isinstance(spec.gradient, Budget):
        chosen = np.ones((rounds, total), dtype=np.bool_)
        return Questions(directions, chosen, world.noise.sample(rng, (rounds, total, sphere.sides)))
    chosen, noise = (
        spec.gradient.choose(rounds, spec.copies, booster.streams["coins"]),
        np.zeros((rounds, total, sphere.sides)),
    )
    noise[chosen] = world.noise.sample(rng, (int(chosen.sum()), sphere.sides))
    return Questions(directions, chosen, noise)


def values_asked(booster: Booster) -> Sphere | None:
    """Return the gradient that asks for values, or None where gradients are told."""
    gradient = booster.spec.gradient
    gradient = gradient.gradient if isinstance(gradient, Budget) else gradient
    return gradient if isinstance(gradient, Sphere) else None


def estimator(booster: Booster) -> Estimator:
    """Return a gradient as the kernels know it. What it remembers is changed in place."""
    from banditboost._compiled import estimators

    spec, sphere, memory = booster.spec, values_asked(booster), booster.gradient_memory
    if sphere is None:
        return estimators.nothing_estimated()
    codes = {
        Baseline: estimators.MEAN,
        Residual: estimators.LAST,
        TwoPoint: estimators.MIRROR,
        Surrogate: estimators.MODEL,
        Fitted: estimators.FITTED,
    }
    budget, total = spec.gradient if isinstance(spec.gradient, Budget) else None, spec.copies * sphere.queries
    chance = 1.0 if budget is None else budget.chance(spec.copies)
    return estimators.Estimator(
        told=False,
        plainest=type(sphere) is OnePoint and sphere.queries == 1 and budget is None,
        control=codes.get(type(sphere), estimators.NONE),
        sides=sphere.sides,
        signs=isinstance(sphere, TwoPoint) and sphere.ball == "l1",
        delta=sphere.delta,
        factor=spec.space.rank / (sphere.delta * sphere.sides),
        weight=1.0 / chance,
        exactly=budget is not None and budget.exactly and sphere.unbiased,
        centred=isinstance(spec.space, Simplex),
        window=sphere.window if isinstance(sphere, Baseline) else 1.0,
        mean=memory.get("baseline", np.empty(0)),
        last=memory.get("last", np.empty(0)),
        scale=memory.get("scale", np.empty(0)),
        answers=np.empty((total, 2)),
        points=np.empty((total, spec.space.size)),
        model=_model(sphere, total, spec.space.size, spec.space.rank, total if budget is None else budget.expected),
    )


def _model(sphere: Sphere, total: int, d: int, rank: int, expected: float) -> Model:
    from banditboost._compiled import jackknife

    if not isinstance(sphere, Surrogate | Fitted):
        return jackknife.empty_model(0, 1)
    shape = ("level", "linear", "isotropic", "diagonal").index(sphere.model_kind(expected, rank))
    limit = sphere.limit if isinstance(sphere, Surrogate) else math.inf
    return jackknife.empty_model(
        total, d, shape, sphere.ridge, LEVEL_RIDGE, limit, leaves=isinstance(sphere, Surrogate)
    )
