"""The law of one round's actions: where they lie, in which direction each is, and with what density it was drawn.

A law is an array of four rows, as `_compiled/critic.py` says: the first is how far its centre lies from the prediction, the second
its half-width, both over the extents of the space. On intervals and boxes each coordinate is drawn by itself, with a density that
grows towards the rim like a power; on balls a direction is the first coordinates of a uniform one with one coordinate more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.gradients.base import Aim


def moves_of(law: Array, directions: Array, answers: int) -> Array:
    """Return where actions lie from the prediction, over the extents, shape (k, d): each pair together, then the single one."""
    u = law[1] * directions
    both = np.stack([law[0] + u, law[0] - u], axis=1).reshape(-1, law.shape[1])
    return both[:answers]


def directions_within(law: Array, moves: Array) -> Array:
    """Return the directions within a law, from -1 to 1, of actions that lie so far from the prediction, over the extents."""
    away, width = moves - law[0], law[1]
    if (width > 0).all():
        return np.asarray(away / width)
    return np.asarray(np.divide(away, width, out=np.zeros_like(moves), where=width > 0))


def law_about(aim: Aim, rules: Any) -> tuple[Array, Array]:
    """Return the mean of an aim, and a law about it that has its variance."""
    spread = np.asarray(aim.spread) / rules.extent
    law = np.zeros((4, len(spread)))
    law[1], law[2] = spread * math.sqrt((rules.rim + 2.0) / rules.rim), spread**2
    return np.array(aim.mean, dtype=float).reshape(1, -1), law


def likelihood_of(rules: Any, law: Array, directions: Array, aim: Aim | None) -> float:
    """Return the density of a law in a direction; about an aim, that of the uniform law with the same variance."""
    if aim is not None:
        away = np.abs(law[1] * directions[0]) * rules.extent / (math.sqrt(3.0) * aim.spread)
        return float(np.prod(0.5 / (math.sqrt(3.0) * aim.spread))) if (away <= 1.0).all() else 0.0
    return float(density_in(rules, law, directions)[0]) if inside_each(rules, directions)[0] else 0.0


def inside_each(rules: Any, directions: Array) -> NDArray[np.bool_]:
    """Return which directions lie within the law, up to rounding."""
    reach = np.square(directions).sum(axis=1) if rules.ball else np.abs(directions).max(axis=1)
    return np.asarray(reach <= 1.0 + 1e-9)


def density_in(rules: Any, law: Array, directions: Array) -> Array:
    """Return the law's density in some directions, with respect to the volume of the tangent space; zero where it is a point."""
    width = law[1]
    if not (width > 0).all():
        return np.zeros(len(directions))
    if rules.ball:
        return density_on_ball(rules, width[0], 1 - np.square(directions).sum(axis=1))
    return np.asarray((rules.rim / 2 * np.abs(directions) ** (rules.rim - 1) / (width * rules.extent)).prod(axis=1))


def density_on_ball(rules: Any, width: Any, inside: Array) -> Array:
    """Return the density of the law on a ball, where `inside` is one minus the square of the distance from its centre."""
    return np.asarray(
        2 / (sphere(rules.rank) * np.sqrt(np.maximum(inside, 1e-300))) / (width * rules.extent[0]) ** rules.rank
    )


def sphere(rank: int) -> float:
    """Return the surface of the unit sphere in one dimension more, from which directions within a ball come."""
    return float(2 * math.pi ** ((rank + 1) / 2) / math.gamma((rank + 1) / 2))
