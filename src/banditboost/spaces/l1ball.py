"""The cross-polytope: points whose absolute values sum to at most a radius."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, count, positive
from banditboost.spaces.base import Space, shrinkage
from banditboost.spaces.simplex import onto_simplex


@dataclass(frozen=True)
class L1Ball(Space, kind="spaces.L1Ball"):
    """The points with Σ |x[j]| <= `radius`: for sparse decisions, since the linear oracle's answers have one nonzero coordinate.

    References
    ----------
    Projection: Duchi, Shalev-Shwartz, Singer, Chandra, *Efficient projections onto the l1-ball for learning in high
    dimensions*, ICML 2008, section 4: the absolute values are projected on the simplex, and the signs are restored.

    Examples
    --------
    >>> space = L1Ball(3, radius=2.0)
    >>> space.project(np.array([3.0, -2.0, 0.5])).tolist()
    [1.5, -0.5, 0.0]
    >>> space.minimize(np.array([1.0, -4.0, 2.0])).tolist()
    [0.0, 2.0, 0.0]
    """

    dimension: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", count("dimension", self.dimension))
        object.__setattr__(self, "radius", positive("radius", self.radius))

    @classmethod
    def examples(cls) -> tuple[L1Ball, ...]:
        """Give one in one dimension, one in two and one in four."""
        return (cls(1, 2.0), cls(2), cls(4, 3.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis, with one number per coordinate."""
        return (self.dimension,)

    @property
    def inner_centre(self) -> Array:
        """The origin."""
        return np.zeros(self.dimension)

    @property
    def inner_radius(self) -> float:
        """Distance of the origin from a facet: r / √d."""
        return self.radius / math.sqrt(self.dimension)

    @property
    def diameter(self) -> float:
        """Distance of two opposite vertices."""
        return 2 * self.radius

    @property
    def farthest(self) -> float:
        """Norm of a vertex."""
        return self.radius

    def project(self, points: Array) -> Array:
        """Project the absolute values onto the simplex where their sum exceeds the radius. The result is exact."""
        points = np.asarray(points, dtype=np.float64)
        sizes = np.abs(points)
        inside = sizes.sum(axis=-1, keepdims=True) <= self.radius
        return np.where(inside, points, np.copysign(onto_simplex(sizes, self.radius), points))

    def minimize(self, gradients: Array) -> Array:
        """Return the vertex opposite to the gradient entry of largest absolute value."""
        gradients = np.asarray(gradients)
        largest = np.argmax(np.abs(gradients), axis=-1)[..., None]
        return np.where(np.arange(self.dimension) == largest, np.where(gradients > 0, -self.radius, self.radius), 0.0)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether the absolute values sum to the radius or less, up to the tolerance per coordinate."""
        slack = tolerance * max(1.0, self.radius)
        return np.asarray(np.abs(points).sum(axis=-1) <= self.radius + slack * self.dimension)

    def shrink(self, xi: float) -> L1Ball:
        """Return the cross-polytope of radius (1-ξ)r."""
        return L1Ball(self.dimension, (1 - shrinkage(xi)) * self.radius)
