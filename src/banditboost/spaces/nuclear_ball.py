"""The nuclear norm ball: the convex relaxation of matrices of low rank."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, count, positive
from banditboost.spaces.base import shrinkage
from banditboost.spaces.lanczos import Apply, Indices, leading, mixed
from banditboost.spaces.products import Products
from banditboost.spaces.rank_one import RankOne, gram, product, single
from banditboost.spaces.simplex import onto_simplex


@dataclass(frozen=True)
class NuclearBall(RankOne, kind="spaces.NuclearBall"):
    """The m x n matrices whose singular values sum to at most `radius`, for tables of ratings or multi-task models.

    A linear loss G is minimised by -r u v' for the largest singular pair (u, v) of G. Matrices whose smaller side is 64 or less
    are decomposed by LAPACK; for larger ones Lanczos steps on G'G find the pair from products with vectors, with a value that is
    exact to a relative 1e-6 by the method's own error estimate. A projection decomposes the whole matrix, which is the cost that
    projection-free methods avoid.

    Parameters
    ----------
    rows, columns
        m and n, the size of the matrices.
    radius
        r, the largest sum of singular values.

    References
    ----------
    Oracle and rank-one steps: Jaggi, Sulovský, *A simple algorithm for nuclear norm regularized problems*, ICML 2010, Algorithm 2;
    Hazan, *Sparse approximate solutions to semidefinite programs*, LATIN 2008, Algorithm 1. Projection: the singular values
    are projected on the simplex, as in Cai, Candès, Shen, SIAM Journal on Optimization 20 (2010), where they are shrunk.

    Examples
    --------
    >>> space = NuclearBall(2, 3, radius=2.0)
    >>> space.project(np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]])).round(6).tolist()
    [[1.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
    >>> (0.0 + space.minimize(np.array([[0.0, 4.0, 0.0], [1.0, 0.0, 0.0]]))).round(6).tolist()
    [[0.0, -2.0, 0.0], [0.0, 0.0, 0.0]]
    >>> left, right = NuclearBall(300, 200).minimize_factored(np.ones((5, 300, 200)))
    >>> left.shape, right.shape
    ((5, 300), (5, 200))
    """

    rows: int
    columns: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", count("rows", self.rows))
        object.__setattr__(self, "columns", count("columns", self.columns))
        object.__setattr__(self, "radius", positive("radius", self.radius))

    @classmethod
    def examples(cls) -> tuple[NuclearBall, ...]:
        """Give a single row, a square and a rectangle."""
        return (cls(1, 3, 2.0), cls(2, 2), cls(4, 3, 1.5))

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return (self.rows, self.columns)

    @property
    def inner_centre(self) -> Array:
        """The zero matrix."""
        return np.zeros(self.shape)

    @property
    def inner_radius(self) -> float:
        """The radius over √min(m, n): for a given norm, equal singular values have the largest sum."""
        return self.radius / math.sqrt(min(self.shape))

    @property
    def diameter(self) -> float:
        """Distance of two opposite rank-one matrices."""
        return 2 * self.radius

    @property
    def farthest(self) -> float:
        """Norm of a rank-one matrix on the border."""
        return self.radius

    @property
    def gaussian_width(self) -> float:
        """(√m + √n) r: the mean of the largest singular value of a Gaussian matrix is at most √m + √n."""
        return self.radius * (math.sqrt(self.rows) + math.sqrt(self.columns))

    def project(self, points: Array) -> Array:
        """Project the singular values onto the simplex where their sum exceeds the radius: exact, by a full decomposition."""
        points = np.asarray(points, dtype=np.float64)
        left, values, right = np.linalg.svd(points, full_matrices=False)
        inside = values.sum(axis=-1)[..., np.newaxis, np.newaxis] <= self.radius
        nearest = (left * onto_simplex(values, self.radius)[..., np.newaxis, :]) @ right
        return np.where(inside, points, nearest)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether the singular values sum to the radius or less, up to the tolerance per value."""
        points = np.asarray(points, dtype=np.float64)
        # The sum is at most the root of their number times the norm, which spares a large zero matrix its decomposition.
        with np.errstate(over="ignore"):
            surely = np.sqrt(np.square(points).sum(axis=(-2, -1))) <= self.inner_radius
        if surely.all():
            return np.asarray(surely)
        values = np.linalg.svd(points, compute_uv=False)
        slack = tolerance * max(1.0, self.radius) * min(self.shape)
        return np.asarray(values.sum(axis=-1) <= self.radius + slack)

    def shrink(self, xi: float) -> NuclearBall:
        """Return the ball of radius (1-ξ)r."""
        return NuclearBall(self.rows, self.columns, (1 - shrinkage(xi)) * self.radius)

    def _operator(self, sums: Products, which: Indices) -> Apply:
        def apply(vectors: Array, rows: Indices) -> Array:
            images = sums.apply(vectors, which[rows])
            # Without this, single precision would have to hold squares.
            sizes = np.abs(images).max(axis=1, keepdims=True)
            return np.asarray(sizes * sums.apply_transposed(images / np.where(sizes > 0, sizes, 1.0), which[rows]))

        return apply

    def _losses(self, values: Array) -> tuple[Array, Array]:
        roots = np.sqrt(np.maximum(values, 0.0))
        return -self.radius * roots, self.radius / (2 * np.where(roots > 0, roots, 1.0))

    def _left(self, sums: Products, which: Indices, right: Array, values: Array) -> Array:
        images = sums.apply(right, which)
        lengths = np.linalg.norm(images, axis=1, keepdims=True)
        # For a zero gradient every member is a minimiser.
        units = np.where(lengths > 0, images / np.where(lengths > 0, lengths, 1.0), np.eye(1, self.rows))
        return np.asarray(-self.radius * units)

    def _decompose(self, gradients: Array) -> tuple[Array, Array]:
        left, _, right = np.linalg.svd(gradients, full_matrices=False)
        return -self.radius * left[..., 0], right[..., 0, :]

    def _search(self, gradient: Array, start: Array | None) -> tuple[Array, Array]:
        guess = mixed(start, self.columns)
        matrix, unit = single(gradient, guess)
        right = leading(lambda v: gram(matrix, v), guess)
        left = product(gradient, right)
        length = float(np.linalg.norm(left / unit)) * unit
        # For a zero gradient every member is a minimiser.
        left = left / length if length > 0 else np.eye(1, self.rows)[0]
        return -self.radius * left, right
