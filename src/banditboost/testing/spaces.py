"""Checks of a space: its oracle, its projection, the ball that fits into it, and the directions of questions."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces import Space
from banditboost.testing.rounds import require
from banditboost.testing.specs import Parts, check_spec

CLOSE = 1e-8
"""How far numbers may be apart that should be equal, for points of the size of the space."""


def corners(space: Space, rng: np.random.Generator, n: int = 200) -> Array:
    """Return answers of the linear oracle to gradients in both directions."""
    gradients = rng.standard_normal((n, *space.shape))
    return np.concatenate([space.minimize(gradients), space.minimize(-gradients)])


def members(space: Space, rng: np.random.Generator, n: int = 1000) -> Array:
    """Return mixtures of the oracle's answers, some near corners, some in the midst."""
    pool = corners(space, rng, 32)
    sparse = rng.dirichlet(np.full(len(pool), 0.05), size=n - n // 2)
    mixed = rng.dirichlet(np.ones(len(pool)), size=n // 2)
    return np.asarray(np.tensordot(np.concatenate([sparse, mixed]), pool, axes=1))


def flat(space: Space, points: Array) -> Array:
    """Return decisions as rows."""
    return np.asarray(points).reshape(-1, space.size)


def check_space(space: Space, parts: Parts = None) -> None:
    """Check a space by the inequalities that define its oracle and its projection.

    Checked are: the oracle's answers are members that no member beats, the projection is the nearest member and leaves members
    where they are, all methods take many points as well as one, the inner ball fits, no two members are further apart than the
    diameter, a shrunk space leaves room for queries, and directions are unit vectors of the tangent space that may be drawn in
    blocks.
    """
    check_spec(space, parts)
    name, rng = type(space).__name__, np.random.default_rng(space.size)
    some, size = members(space, rng, 100), 1 + space.diameter
    _check_oracle(space, name, rng, some, size)
    _check_projection(space, name, rng, some, size)
    _check_ball(space, name, rng, some, size)
    _check_directions(space, name, some)


def _check_oracle(space: Space, name: str, rng: np.random.Generator, some: Array, size: float) -> None:
    require(space.contains(some).all(), f"{name} must contain mixtures of its oracle's answers.")
    gradients = rng.standard_normal((4, 5, *space.shape))
    best = space.minimize(gradients)
    require(best.shape == gradients.shape, f"{name}.minimize must keep the shape of many gradients.")
    values = (flat(space, gradients) * flat(space, best)).sum(axis=1, keepdims=True)
    beaten = (values > flat(space, gradients) @ flat(space, some).T + CLOSE * size).any()
    require(not beaten, f"{name}.minimize must find the member with the smallest product: another one is better.")
    single = np.array([[space.minimize(g) for g in row] for row in gradients])
    same = np.allclose(single, best, CLOSE, CLOSE * size)
    require(same, f"{name}.minimize must answer many gradients as it answers each alone.")


def _check_projection(space: Space, name: str, rng: np.random.Generator, some: Array, size: float) -> None:
    points = space.inner_centre + space.diameter * rng.standard_normal((4, 5, *space.shape))
    nearest = space.project(points)
    require(nearest.shape == points.shape, f"{name}.project must keep the shape of many points.")
    require(space.contains(nearest).all(), f"{name}.project must give members.")
    away = flat(space, points - nearest)
    # The variational inequality: no member lies beyond the plane through the projection.
    others = flat(space, np.concatenate([some, corners(space, rng, 50)]))
    beyond = away @ others.T - (away * flat(space, nearest)).sum(axis=1, keepdims=True)
    require(beyond.max() <= CLOSE * size**2, f"{name}.project must give the nearest member: another one is nearer.")
    kept = np.allclose(space.project(some), some, CLOSE, CLOSE * size)
    require(kept, f"{name}.project must leave members where they are.")
    single = np.array([[space.project(point) for point in row] for row in points])
    require(
        np.allclose(single, nearest, CLOSE, CLOSE * size), f"{name}.project must treat many points as it does each."
    )
    within = np.array([[bool(space.contains(point)) for point in row] for row in points])
    require((space.contains(points) == within).all(), f"{name}.contains must treat many points as it does each.")


def _check_ball(space: Space, name: str, rng: np.random.Generator, some: Array, size: float) -> None:
    centre, radius = space.inner_centre, space.inner_radius
    require(np.shape(centre) == space.shape, f"{name}.inner_centre must have the shape {space.shape} of a decision.")
    require(bool(space.contains(centre)), f"{name} must contain its inner_centre.")
    require(radius > 0, f"{name}.inner_radius must be positive.")
    sphere = centre + radius * space.directions(rng, 500)
    require(space.contains(sphere).all(), f"{name} must contain the ball of its inner_radius about its inner_centre.")
    every = flat(space, np.concatenate([corners(space, rng), some]))
    largest = np.linalg.norm(every[:, None] - every, axis=-1).max()
    require(largest <= space.diameter + CLOSE * size, f"{name}.diameter must be the largest distance of two members.")
    norm = np.linalg.norm(every, axis=1).max()
    require(norm <= space.farthest + CLOSE * size, f"{name}.farthest must bound the norms of members.")
    for xi in (0.0, 0.5):
        shrunk = space.shrink(xi)
        inner = centre + (1 - xi) * (some - centre)
        require(shrunk.contains(inner).all(), f"{name}.shrink({xi}) must be the space shrunk about its inner_centre.")
        queries = shrunk.project(some) + xi * radius * space.directions(rng, len(some))
        require(space.contains(queries).all(), f"{name}.shrink({xi}) must leave room for queries.")


def _check_directions(space: Space, name: str, some: Array) -> None:
    whole = space.directions(np.random.default_rng(5), 40)
    unit = np.allclose(np.linalg.norm(flat(space, whole), axis=1), 1.0)
    require(whole.shape == (40, *space.shape) and unit, f"{name}.directions must be unit vectors.")
    tangent = np.allclose(space.tangent(whole), whole, CLOSE, CLOSE)
    require(tangent, f"{name}.directions must lie in the tangent space, where differences of members lie.")
    apart = some[:50] - space.inner_centre
    inside = np.allclose(space.tangent(apart), apart, CLOSE, CLOSE * (1 + space.diameter))
    require(inside, f"{name}.tangent must leave differences of members as they are.")
    blocks = np.random.default_rng(5)
    drawn = np.concatenate([space.directions(blocks, n) for n in (1, 2, 7, 30)])
    require((drawn == whole).all(), f"{name}.directions must give the same vectors in blocks as at once.")
