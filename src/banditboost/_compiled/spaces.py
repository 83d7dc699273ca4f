"""Where decisions live, compiled: projections, and what is left of a vector in a space's tangent."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements, operation
from banditboost._core.checks import Array


@operation
def project(space: Any, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Write the projection of points[i] on the space to out[k]."""


@operation
def tangent(space: Any, vectors: Array, i: int, d: int) -> None:
    """Replace vectors[i] by its part in the tangent of the space's affine hull."""


class Anywhere(NamedTuple):
    """No bound at all: what is used where nothing is projected."""


@implements(project, Anywhere)
def leave(space: Anywhere, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Copy the point."""
    for j in range(d):
        out[k, j] = points[i, j]


@implements(tangent, Anywhere)
def whole(space: Anywhere, vectors: Array, i: int, d: int) -> None:
    """Do nothing: the space has full dimension."""


class Box(NamedTuple):
    """Bounds of every coordinate, each of shape (d,)."""

    low: Array
    high: Array


@implements(project, Box)
def clip(space: Box, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Clip every coordinate."""
    for j in range(d):
        out[k, j] = min(max(points[i, j], space.low[j]), space.high[j])


@implements(tangent, Box)
def box_tangent(space: Box, vectors: Array, i: int, d: int) -> None:
    """Do nothing: the space has full dimension."""


class Ball(NamedTuple):
    """A centre, shape (d,), and a radius."""

    centre: Array
    radius: float


@implements(project, Ball)
def pull_in(space: Ball, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Move a point outside to the sphere, towards the centre."""
    total = 0.0
    for j in range(d):
        total += (points[i, j] - space.centre[j]) ** 2
    outside = total > space.radius * space.radius
    scale = space.radius / math.sqrt(total) if outside else 1.0
    for j in range(d):
        out[k, j] = space.centre[j] + scale * (points[i, j] - space.centre[j]) if outside else points[i, j]


@implements(tangent, Ball)
def ball_tangent(space: Ball, vectors: Array, i: int, d: int) -> None:
    """Do nothing: the space has full dimension."""


class Simplex(NamedTuple):
    """The least value of every coordinate, and what is left to distribute once all have it."""

    floor: float
    spread: float


@implements(project, Simplex)
def cut(space: Simplex, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Take the same number from every coordinate and cut off at the floor (Michelot 1986).

    The number rises while those that it cuts off leave their deficit to the others, and stands still where no more are cut off: it
    says itself who is left, so that nothing is sorted or kept.
    """
    top = points[i, 0]
    for j in range(1, d):
        top = max(top, points[i, j])
    taken, left = -math.inf, d + 1
    while True:
        total, above = 0.0, 0
        for j in range(d):
            if points[i, j] - top > taken:
                total += points[i, j] - top
                above += 1
        if above >= left:
            break
        taken, left = (total - space.spread) / above, above
    for j in range(d):
        out[k, j] = space.floor + max(points[i, j] - top - taken, 0.0)


@implements(tangent, Simplex)
def centre(space: Simplex, vectors: Array, i: int, d: int) -> None:
    """Subtract the mean: vectors of the tangent sum to zero."""
    total = 0.0
    for j in range(d):
        total += vectors[i, j]
    for j in range(d):
        vectors[i, j] -= total / d


class Shrunk(NamedTuple):
    """Another space made smaller about its centre (`spaces.Shrunk`)."""

    space: Any
    centre: Array
    """Shape (d,)."""
    kept: float
    """1 - ξ."""
    large: Array
    """Scratch, shape (1, d)."""
    projected: Array
    """Scratch, shape (1, d)."""


@implements(project, Shrunk)
def project_shrunk(space: Shrunk, points: Array, i: int, d: int, out: Array, k: int) -> None:
    """Blow the point up about the centre, project it on the whole space, and shrink it back, unless it stays where it is."""
    for j in range(d):
        space.large[0, j] = space.centre[j] + (points[i, j] - space.centre[j]) / space.kept
    project(space.space, space.large, 0, d, space.projected, 0)
    moved = False
    for j in range(d):
        moved |= space.projected[0, j] != space.large[0, j]
    for j in range(d):
        back = space.centre[j] + space.kept * (space.projected[0, j] - space.centre[j])
        out[k, j] = back if moved else points[i, j]


@implements(tangent, Shrunk)
def shrunk_tangent(space: Shrunk, vectors: Array, i: int, d: int) -> None:
    """Do as the whole space does."""
    tangent(space.space, vectors, i, d)
