"""The nearest point of a convex hull, for many targets at once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

PATIENCE = 3
"""Number of consecutive steps without progress after which the remaining differences are taken for round-off."""


def nearest_in_hull(targets: Array, vertices: Array) -> Array:
    """Return the point of the vertices' convex hull that is nearest to each target.

    Each target z keeps a *corral*: a few vertices whose convex hull contains the point x of their affine hull that is nearest to
    z. A vertex v with (z - x)·(v - x) > 0 is added; then x moves towards the nearest point of the new affine hull, dropping
    vertices whose weight would turn negative, until the vertices form a corral again. No corral occurs twice, so the search ends
    with the exact answer up to round-off (about 1e-14 of the hull's size; 1e-8 where vertices differ, or the hull is flat, by
    less than 1e-6 of its size).

    Parameters
    ----------
    targets
        Rows to be projected, (targets, rank).
    vertices
        Rows that span the hull, (vertices, rank), of about unit size, around the origin, with full affine rank.

    References
    ----------
    Wolfe, *Finding the nearest point in a polytope*, Mathematical Programming 11 (1976), 128-149.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> nearest_in_hull(np.array([[2.0, 0.25], [0.5, 0.75]]), square).round(9).tolist()
    [[1.0, 0.25], [0.5, 0.75]]
    """
    nearest = np.empty_like(targets)
    corrals = _Corrals.start(targets, vertices)
    live = np.arange(len(targets))
    # Every pass adds or drops a vertex; needing more passes than this would be a bug, not a hard case.
    for _ in range(100 * (len(vertices) + targets.shape[1] + 1)):
        going = corrals.grow(vertices)
        nearest[live[~going]] = corrals.nearest[~going]
        live, corrals = live[going], corrals.keep(going)
        if not len(live):
            return nearest
        corrals.settle(vertices)
    raise RuntimeError(f"The nearest point of the hull was not found for {len(live)} of {len(targets)} targets.")


@dataclass
class _Corrals:
    """One corral per target: each slot in use has the index of a vertex and its weight."""

    targets: Array
    slots: NDArray[np.intp]
    weights: Array
    used: NDArray[np.bool_]
    settled: NDArray[np.bool_]
    nearest: Array
    idle: NDArray[np.intp]

    @classmethod
    def start(cls, targets: Array, vertices: Array) -> _Corrals:
        # At most rank + 1 vertices are affinely independent; one more slot is for the vertex that is added.
        shape = (len(targets), targets.shape[1] + 2)
        slots, weights = np.zeros(shape, dtype=np.intp), np.zeros(shape)
        slots[:, 0] = np.argmin(np.square(vertices).sum(axis=1) - 2 * targets @ vertices.T, axis=1)
        weights[:, 0] = 1.0
        settled, idle = np.ones(len(targets), dtype=bool), np.zeros(len(targets), dtype=np.intp)
        return cls(targets, slots, weights, weights > 0, settled, vertices[slots[:, 0]], idle)

    def keep(self, rows: NDArray[np.bool_]) -> _Corrals:
        return _Corrals(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def points(self, vertices: Array) -> Array:
        return np.asarray((self.weights[..., None] * vertices[self.slots]).sum(axis=1))

    def grow(self, vertices: Array) -> NDArray[np.bool_]:
        """Add the most promising vertex to every settled corral; return where one was added or the corral is not settled."""
        points = self.points(vertices)
        away = self.targets - points
        promise = away @ vertices.T - (away * points).sum(axis=1, keepdims=True)
        squares = (
            np.square(vertices).sum(axis=1) - 2 * points @ vertices.T + np.square(points).sum(axis=1, keepdims=True)
        )
        # The gain is divided by the distance, because a close vertex gains little and may still be needed. Round-off in `away` is
        # relative to the target, and round-off in the product is relative to `away`.
        promise /= np.sqrt(np.maximum(squares, 1e-16))
        # A vertex that is already in the corral gains nothing but round-off.
        promise[np.nonzero(self.used)[0], self.slots[self.used]] = -np.inf
        best = np.argmax(promise, axis=1)
        doubt = 1e-14 * _lengths(away) + 1e-16 * (1 + _lengths(self.targets))
        enough = promise.max(axis=1) > doubt
        # A full corral takes no further vertex.
        rows = np.flatnonzero(self._improved(points) & enough & ~self.used.all(axis=1))
        free = np.argmin(self.used[rows], axis=1)
        self.slots[rows, free], self.weights[rows, free], self.used[rows, free] = best[rows], 0.0, True
        going = ~self.settled
        going[rows] = True
        return going

    def _improved(self, points: Array) -> NDArray[np.bool_]:
        """Keep the points of settled corrals that are no farther than the last ones; return where to continue."""
        scale = 1 + _lengths(self.targets)
        nearer = _lengths(self.targets - points) <= _lengths(self.targets - self.nearest) + 1e-15 * scale
        moved = np.abs(points - self.nearest).max(axis=1) > 1e-13 * scale
        kept = self.settled & nearer
        self.idle[kept] = np.where(moved, 0, self.idle + 1)[kept]
        self.nearest[kept] = points[kept]
        return kept & (self.idle < PATIENCE)

    def settle(self, vertices: Array) -> None:
        """Move towards the nearest point of each affine hull; stop at the border and drop vertices without weight there."""
        aim = self._affine(vertices)
        negative = self.used & (aim <= 0)
        fall = self.weights - aim
        share = np.divide(self.weights, fall, out=np.full_like(fall, np.inf), where=negative & (fall > 0))
        # A vertex that has no weight and is to get none (because of round-off) is dropped without a move.
        share[negative & (fall <= 0)] = 0.0
        first = np.argmin(share, axis=1)[:, None]
        length = np.minimum(np.take_along_axis(share, first, axis=1), 1.0)
        self.weights += length * (aim - self.weights)
        self.settled = np.asarray(~negative.any(axis=1))
        dropped = negative & ((share <= length) | (self.weights <= 0))
        self.used &= ~dropped
        self.weights[~self.used] = 0.0
        self.weights /= self.weights.sum(axis=1, keepdims=True)

    def _affine(self, vertices: Array) -> Array:
        """Return the weights, of any sign, of the nearest point in each corral's affine hull."""
        atoms = vertices[self.slots]
        base = np.argmax(self.weights, axis=1)[:, None]
        corner = np.take_along_axis(atoms, base[..., None], axis=1)
        edges = np.where(self.used[..., None], atoms - corner, 0.0)
        empty = ~self.used | (np.arange(edges.shape[1]) == base)
        solve = np.linalg.pinv(edges.transpose(0, 2, 1), rcond=1e-13)
        aim, wanted = np.zeros_like(self.weights), self.targets - corner[:, 0]
        # A product with the pseudo-inverse loses digits where vertices nearly coincide; solving for the residual restores them.
        for _ in range(3):
            rest = wanted - np.matmul(aim[:, None, :], edges)[:, 0]
            aim += np.where(empty, 0.0, np.matmul(solve, rest[..., None])[..., 0])
        np.put_along_axis(aim, base, 1.0 - aim.sum(axis=1, keepdims=True), axis=1)
        return aim


def _lengths(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.square(rows).sum(axis=1)))
