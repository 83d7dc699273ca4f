"""The simplex: ways to split a total among coordinates, such as probabilities or budgets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, at_least_zero, count, positive
from banditboost.spaces.base import Space, above_zero, shrinkage


@dataclass(frozen=True)
class Simplex(Space, kind="spaces.Simplex"):
    """The points whose coordinates are at least `floor` and sum to `total`: weights, budgets, probabilities.

    The set has no interior: its tangent space is the vectors that sum to zero, and its rank is d - 1. Shrinking the set about
    the uniform point raises the floor, so that a shrunk simplex is a simplex again.

    Parameters
    ----------
    dimension
        Number of coordinates, two or more.
    total
        Sum of the coordinates.
    floor
        Smallest value of a coordinate; `dimension * floor` must be below `total`.

    References
    ----------
    Euclidean projection by sorting: Held, Wolfe, Crowder, *Validation of subgradient optimization*, Mathematical
    Programming 6 (1974); Duchi, Shalev-Shwartz, Singer, Chandra, *Efficient projections onto the l1-ball for learning in
    high dimensions*, ICML 2008, Figure 1.

    Examples
    --------
    >>> space = Simplex(3)
    >>> space.project(np.array([1.0, 0.6, -3.0])).round(6).tolist()
    [0.7, 0.3, 0.0]
    >>> space.project_kl(np.array([4.0, 2.0, 2.0])).tolist()
    [0.5, 0.25, 0.25]
    >>> space.minimize(np.array([[3.0, 1.0, 2.0], [-1.0, 0.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    >>> Simplex(4).shrink(0.5)
    Simplex(dimension=4, total=1.0, floor=0.125)
    """

    dimension: int
    total: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", count("dimension", self.dimension, least=2))
        object.__setattr__(self, "total", positive("total", self.total))
        object.__setattr__(self, "floor", at_least_zero("floor", self.floor))
        if self.spread <= 0:
            raise ValueError(
                f"floor must be below total / dimension = {self.total / self.dimension:g}, got {self.floor!r}."
            )

    @classmethod
    def examples(cls) -> tuple[Simplex, ...]:
        """Give a segment, a probability simplex, a simplex with another total, and one with a floor."""
        return (cls(2), cls(4), cls(3, 5.0), cls(3, 2.0, 0.25))

    @property
    def spread(self) -> float:
        """Part of the total that is left when every coordinate has received its floor."""
        return self.total - self.dimension * self.floor

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis, with one number per coordinate."""
        return (self.dimension,)

    @property
    def rank(self) -> int:
        """One less than the dimension."""
        return self.dimension - 1

    @property
    def inner_centre(self) -> Array:
        """The uniform point."""
        return np.full(self.dimension, self.total / self.dimension)

    @property
    def inner_radius(self) -> float:
        """Distance of the uniform point from a facet: s / √(d(d-1)) for the spread s."""
        return self.spread / math.sqrt(self.dimension * (self.dimension - 1))

    @property
    def diameter(self) -> float:
        """Distance of two vertices: s √2."""
        return self.spread * math.sqrt(2.0)

    @property
    def farthest(self) -> float:
        """Norm of a vertex."""
        return math.hypot(self.floor + self.spread, self.floor * math.sqrt(self.dimension - 1))

    def tangent(self, vectors: Array) -> Array:
        """Subtract the mean of each vector."""
        vectors = np.asarray(vectors, dtype=np.float64)
        return np.asarray(vectors - vectors.mean(axis=-1, keepdims=True))

    def project(self, points: Array) -> Array:
        """Subtract one number from all coordinates and clip at the floor; sorting finds the number. The result is exact."""
        return self.floor + onto_simplex(np.asarray(points, dtype=np.float64) - self.floor, self.spread)

    def project_kl(self, points: Array) -> Array:
        """Scale positive points to the total and lift coordinates below the floor to the floor. The result is exact.

        The minimiser of Σ y log(y/z) is y = max(floor, s·z); as in the Euclidean case, sorting finds which coordinates
        stay above the floor, and then s.
        """
        points = above_zero(points)
        # Coordinates are divided by the largest, so that sums neither overflow nor vanish.
        points = points / points.max(axis=-1, keepdims=True)
        ordered = -np.sort(-points, axis=-1)
        kept = np.arange(1, self.dimension + 1)
        scales = (self.total - (self.dimension - kept) * self.floor) / np.cumsum(ordered, axis=-1)
        last = np.maximum((scales * ordered > self.floor).sum(axis=-1, keepdims=True), 1) - 1
        return np.maximum(np.take_along_axis(scales, last, axis=-1) * points, self.floor)

    def minimize(self, gradients: Array) -> Array:
        """Return the vertex of the coordinate with the smallest gradient entry."""
        best = np.argmin(gradients, axis=-1)[..., None]
        return np.where(np.arange(self.dimension) == best, self.floor + self.spread, self.floor)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether no coordinate is below the floor and the sum is the total, up to the tolerance per coordinate."""
        points = np.asarray(points)
        slack = tolerance * max(1.0, self.total)
        summed = np.abs(points.sum(axis=-1) - self.total) <= slack * self.dimension
        return np.asarray((points >= self.floor - slack).all(axis=-1) & summed)

    def shrink(self, xi: float) -> Simplex:
        """Return the simplex whose floor has moved the fraction ξ of the way up to the uniform point."""
        xi = shrinkage(xi)
        return Simplex(self.dimension, self.total, (1 - xi) * self.floor + xi * self.total / self.dimension)

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.spaces`."""
        from banditboost._compiled import spaces

        return spaces.Simplex(self.floor, self.spread)


def onto_simplex(points: Array, total: float) -> Array:
    """Project onto {y >= 0, Σ y = total}: y = max(z - θ, 0), where θ makes the sum equal the total.

    With coordinates sorted from the largest, θ_k = (Σ_{j <= k} z_j - total) / k, and the right k is the last with z_k > θ_k.
    """
    # A common shift does not change the projection; with the largest coordinate at 0, far points lose no digits.
    points = points - points.max(axis=-1, keepdims=True)
    ordered = -np.sort(-points, axis=-1)
    thetas = (np.cumsum(ordered, axis=-1) - total) / np.arange(1, points.shape[-1] + 1)
    last = (ordered > thetas).sum(axis=-1, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(thetas, last, axis=-1), 0.0)
