"""The convex hull of a finite list of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from banditboost._core.checks import Array, finite
from banditboost.spaces.base import Space, shrinkage
from banditboost.spaces.wolfe import nearest_in_hull

FLAT = 1e-10
"""Directions along which the points spread less than this fraction of their largest spread are left out of the tangent space."""


@dataclass(frozen=True)
class Hull(Space, kind="spaces.Hull"):
    """The mixtures of `points`: Σ w[k] points[k] with w >= 0 and Σ w = 1.

    Points may repeat, lie inside the hull of the others, or all lie in a plane: the tangent space and its rank come from a
    singular value decomposition. The linear oracle looks at every point; the projection is Wolfe's algorithm
    (`banditboost.spaces.wolfe`) in coordinates of the hull, exact up to round-off. The centre is the mean of the points. The
    inner radius needs the hull's facets (Qhull), whose number grows quickly with the rank, so it is computed on first use.

    References
    ----------
    Wolfe, *Finding the nearest point in a polytope*, Mathematical Programming 11 (1976). Barber, Dobkin, Huhdanpaa, *The
    Quickhull algorithm for convex hulls*, ACM Transactions on Mathematical Software 22 (1996).

    Examples
    --------
    >>> space = Hull(((0.0, 0.0), (4.0, 0.0), (0.0, 3.0)))
    >>> space.project(np.array([[4.0, 3.0], [1.0, 1.0], [5.0, -1.0]])).round(6).tolist()
    [[2.56, 1.08], [1.0, 1.0], [4.0, 0.0]]
    >>> space.minimize(np.array([1.0, -2.0])).tolist()
    [0.0, 3.0]
    >>> space.rank, round(space.inner_radius, 6), space.diameter
    (2, 0.8, 5.0)
    """

    points: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        points = finite("points", self.points)
        if points.ndim != 2 or points.shape[1] == 0:
            raise ValueError(f"points must be a list of equally long vectors, got an array of shape {points.shape}.")
        if not (points != points[:1]).any():
            raise ValueError(
                f"points must hold at least two different points, got {len(points)} and all of them equal."
            )
        object.__setattr__(self, "points", tuple(tuple(point) for point in points.tolist()))

    @classmethod
    def examples(cls) -> tuple[Hull, ...]:
        """Give a triangle, a segment in space, a square in space with a point inside, an octahedron, a segment."""
        square = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0), (0.4, 0.5, 0.6))
        corners = np.vstack([np.eye(3), -np.eye(3)])
        return (
            cls(((0.0, 0.0), (4.0, 0.0), (0.0, 3.0))),
            cls(((1.0, 0.0, 2.0), (2.0, 2.0, 0.0))),
            cls(square),
            cls(tuple(map(tuple, corners.tolist()))),
            cls(((-1.0,), (0.5,), (2.0,))),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis, with one number per coordinate."""
        return (len(self.points[0]),)

    @property
    def rank(self) -> int:
        """Dimension of the affine hull."""
        return len(self._frame[0])

    @property
    def inner_centre(self) -> Array:
        """The mean of the points."""
        return np.asarray(self._corners.mean(axis=0))

    @cached_property
    def inner_radius(self) -> float:
        """Distance of the centre from the nearest facet."""
        from scipy.spatial import ConvexHull

        basis, spread = self._frame
        # Qhull is most exact where the hull spreads alike along all axes; the facets' normals are scaled back afterwards.
        coordinates = (self._corners - self.inner_centre) @ basis.T / spread
        if self.rank == 1:
            return float(spread[0] * min(coordinates.max(), -coordinates.min()))
        facets: Any = ConvexHull(coordinates).equations
        return float(np.min(-facets[:, -1] / np.linalg.norm(facets[:, :-1] / spread, axis=1)))

    @cached_property
    def diameter(self) -> float:
        """Largest distance of two points."""
        from scipy.spatial.distance import pdist

        return float(pdist(self._corners).max())

    @cached_property
    def farthest(self) -> float:
        """Norm of the farthest point."""
        return float(np.linalg.norm(self._corners, axis=1).max())

    def tangent(self, vectors: Array) -> Array:
        """Keep the part in the span of the points' differences."""
        vectors = np.asarray(vectors, dtype=np.float64)
        if self.rank == self.size:
            return vectors
        basis, _ = self._frame
        # One product per vector: in one product of all, round-off would depend on how many vectors are drawn at a time.
        return np.asarray(np.matmul(basis.T @ basis, vectors[..., None])[..., 0])

    def project(self, points: Array) -> Array:
        """Find the nearest mixture by Wolfe's algorithm, for all points at once; exact up to round-off."""
        points = np.asarray(points, dtype=np.float64)
        basis, _ = self._frame
        center, unit = self.inner_centre, self.diameter
        targets = (points.reshape(-1, self.size) - center) @ basis.T / unit
        nearest = nearest_in_hull(targets, (self._corners - center) @ basis.T / unit)
        return np.asarray(center + unit * nearest @ basis).reshape(points.shape)

    def minimize(self, gradients: Array) -> Array:
        """Return the point with the smallest product; among equals, the first."""
        return np.asarray(self._corners[np.argmin(np.asarray(gradients) @ self._corners.T, axis=-1)])

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether the projection moves a point by no more than the tolerance."""
        points = np.asarray(points, dtype=np.float64)
        moved = np.sqrt(np.square(self.project(points) - points).sum(axis=-1))
        return np.asarray(moved <= tolerance * max(1.0, self.farthest))

    def shrink(self, xi: float) -> Hull:
        """Return the hull of the points moved the fraction ξ of the way to their mean."""
        xi = shrinkage(xi)
        moved = xi * self.inner_centre + (1 - xi) * self._corners
        return Hull(tuple(tuple(point) for point in moved.tolist()))

    @cached_property
    def _corners(self) -> Array:
        return np.array(self.points)

    @cached_property
    def _frame(self) -> tuple[Array, Array]:
        """Orthonormal rows that span the tangent space, and the spread of the points along each."""
        away = self._corners - self.inner_centre
        _, spread, rows = np.linalg.svd(away, full_matrices=False)
        rank = int((spread > FLAT * spread[0]).sum())
        return rows[:rank], spread[:rank] / np.sqrt(len(away))
