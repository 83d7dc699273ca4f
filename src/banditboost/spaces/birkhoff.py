"""The Birkhoff polytope: doubly stochastic matrices, the mixtures of permutations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.spaces.base import Space
from banditboost.spaces.flows import Network
from banditboost.spaces.shrunk import Shrunk


@dataclass(frozen=True)
class Birkhoff(Space, kind="spaces.Birkhoff"):
    """The n x n matrices without negative entries whose rows and columns sum to 1: rankings, matchings, schedules.

    The linear oracle is an assignment problem. The tangent space, the matrices whose rows and columns sum to zero, has rank
    (n-1)². The unit matrix e_ij has the length 1 - 1/n there, so that the facet x_ij = 0 is (1/n) / (1 - 1/n) = 1/(n-1) away
    from the centre: the inner radius.

    References
    ----------
    Birkhoff, *Tres observaciones sobre el álgebra lineal*, Universidad Nacional de Tucumán Revista A 5 (1946). Oracle:
    Crouse, *On implementing 2D rectangular assignment algorithms*, IEEE Transactions on Aerospace and Electronic Systems 52
    (2016), as in SciPy. Projection: Li, Sun, Toh, Mathematical Programming 179 (2020), see `banditboost.spaces.flows`.

    Examples
    --------
    >>> space = Birkhoff(3)
    >>> space.minimize(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [2.0, 2.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    >>> space.project(np.diag([1.0, 0.5, 0.0])).round(6).tolist()
    [[0.833333, 0.0, 0.166667], [0.0, 0.666667, 0.333333], [0.166667, 0.333333, 0.5]]
    >>> space.rank, space.inner_radius
    (4, 0.5)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n, least=2))

    @classmethod
    def examples(cls) -> tuple[Birkhoff, ...]:
        """Give the polytopes of 2 x 2, 3 x 3 and 4 x 4 matrices."""
        return (cls(2), cls(3), cls(4))

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return (self.n, self.n)

    @property
    def rank(self) -> int:
        """Dimension (n-1)² of the matrices whose rows and columns sum to zero."""
        return (self.n - 1) ** 2

    @property
    def inner_centre(self) -> Array:
        """The matrix whose entries are all 1/n."""
        return np.full(self.shape, 1 / self.n)

    @property
    def inner_radius(self) -> float:
        """Distance 1/(n-1) of the centre from a facet."""
        return 1 / (self.n - 1)

    @property
    def diameter(self) -> float:
        """Distance of two permutations that differ everywhere: √(2n)."""
        return math.sqrt(2 * self.n)

    @property
    def farthest(self) -> float:
        """Norm of a permutation."""
        return math.sqrt(self.n)

    def tangent(self, vectors: Array) -> Array:
        """Subtract the rows' means, then the columns'."""
        vectors = np.asarray(vectors, dtype=np.float64)
        vectors = vectors - vectors.mean(axis=-1, keepdims=True)
        return np.asarray(vectors - vectors.mean(axis=-2, keepdims=True))

    def project(self, points: Array) -> Array:
        """Find the nearest flow from rows to columns; entries are exact to about 1e-12, and sums even more so."""
        points = np.asarray(points, dtype=np.float64)
        return self._network.nearest(points.reshape(-1, self.size)).reshape(points.shape)

    def minimize(self, gradients: Array) -> Array:
        """Return the cheapest permutation."""
        from scipy.optimize import (
            linear_sum_assignment,
        )  # this import takes half a second, so it waits until it is needed

        gradients = np.asarray(gradients, dtype=np.float64)
        matrices = gradients.reshape(-1, *self.shape)
        # The assignment solver is compiled and takes one matrix; there is no vectorised one that is as fast.
        columns = np.array([linear_sum_assignment(matrix)[1] for matrix in matrices], dtype=np.intp)
        return np.asarray(columns.reshape(*gradients.shape[:-1], 1) == np.arange(self.n), dtype=np.float64)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether no entry is negative and all sums are 1, up to the tolerance per entry."""
        points = np.asarray(points)
        slack = tolerance * self.n
        rows = (np.abs(points.sum(axis=-1) - 1) <= slack).all(axis=-1)
        columns = (np.abs(points.sum(axis=-2) - 1) <= slack).all(axis=-1)
        return np.asarray((points >= -tolerance).all(axis=(-2, -1)) & rows & columns)

    def shrink(self, xi: float) -> Shrunk:
        """Return the set shrunk towards its centre."""
        return Shrunk(self, xi)

    @cached_property
    def _network(self) -> Network:
        rows, columns = np.divmod(np.arange(self.size), self.n)
        return Network(rows, self.n + columns, np.repeat([1.0, -1.0], self.n))
