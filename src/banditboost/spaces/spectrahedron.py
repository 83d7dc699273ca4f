"""The spectrahedron: positive semidefinite matrices of bounded or fixed trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from banditboost._core.checks import Array, count, positive
from banditboost.spaces.lanczos import Apply, Indices, leading, mixed
from banditboost.spaces.products import Products
from banditboost.spaces.rank_one import RankOne, product, single
from banditboost.spaces.shrunk import Shrunk
from banditboost.spaces.simplex import onto_simplex
from banditboost.spaces.sums import Sums, SymmetricSums
from banditboost.spaces.unseen import SymmetricUnseen, Unseen


@dataclass(frozen=True)
class Spectrahedron(RankOne, kind="spaces.Spectrahedron"):
    """The symmetric n x n matrices without negative eigenvalues, whose trace is τ = `trace` or at most τ.

    Covariance matrices, density matrices, kernels and metrics are of this kind. A linear loss G is minimised by τ v v' for the
    eigenvector v of the smallest eigenvalue of (G + G')/2; where the trace is only bounded and no eigenvalue is negative, the
    minimiser is zero. Matrices of 64 rows or less are decomposed by LAPACK; for larger ones Lanczos steps find the pair from
    products with vectors, with a value that is exact to 1e-6 of ‖G‖ by the method's own error estimate.

    With a fixed trace the eigenvalues lie in a simplex: the tangent space is the symmetric matrices of trace zero, the centre
    is (τ/n) I, and the nearest matrix with a zero eigenvalue is τ/√(n(n-1)) away. With a bounded trace, c I has the distance c
    from the nearest singular matrix and (τ - nc)/√n from the nearest one of trace τ; the largest ball has both equal,
    c = τ/(n + √n).

    Parameters
    ----------
    n
        Number of rows and columns, two or more.
    trace
        τ, the trace or its upper bound.
    fixed
        True: the trace is τ. False: the trace is at most τ.

    References
    ----------
    Oracle: Hazan, *Sparse approximate solutions to semidefinite programs*, LATIN 2008, Algorithm 1. Projection: the eigenvalues are
    projected on the simplex.

    Examples
    --------
    >>> space = Spectrahedron(2)
    >>> space.project(np.array([[1.5, 0.0], [0.0, 0.7]])).round(6).tolist()
    [[0.9, 0.0], [0.0, 0.1]]
    >>> space.minimize(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    >>> Spectrahedron(2, fixed=False).minimize(np.eye(2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

    n: int
    trace: float = 1.0
    fixed: bool = True

    SUMS: ClassVar[type[Sums]] = SymmetricSums
    UNSEEN: ClassVar[type[Unseen]] = SymmetricUnseen

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n, least=2))
        object.__setattr__(self, "trace", positive("trace", self.trace))
        if not isinstance(self.fixed, bool | np.bool_):
            raise ValueError(f"fixed must be True or False, got {self.fixed!r}.")
        object.__setattr__(self, "fixed", bool(self.fixed))

    @classmethod
    def examples(cls) -> tuple[Spectrahedron, ...]:
        """Give two sets with a fixed trace and two with a bounded trace."""
        return (cls(2), cls(4, 3.0), cls(2, 2.0, False), cls(3, 1.0, False))

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, of which there are n each."""
        return (self.n, self.n)

    @property
    def rank(self) -> int:
        """Dimension n(n+1)/2, or one less where the trace is fixed."""
        return self.n * (self.n + 1) // 2 - self.fixed

    @property
    def inner_centre(self) -> Array:
        """(τ/n) I where the trace is fixed, else τ/(n + √n) I."""
        return np.asarray(self._middle * np.eye(self.n))

    @property
    def inner_radius(self) -> float:
        """τ / √(n(n-1)) where the trace is fixed, else τ/(n + √n)."""
        return self.trace / math.sqrt(self.n * (self.n - 1)) if self.fixed else self._middle

    @property
    def diameter(self) -> float:
        """Distance of two rank-one matrices with orthogonal vectors: τ √2."""
        return self.trace * math.sqrt(2.0)

    @property
    def farthest(self) -> float:
        """Norm of a rank-one matrix of trace τ."""
        return self.trace

    @property
    def gaussian_width(self) -> float:
        """τ √(2n): the mean of the largest eigenvalue of the symmetric part of a Gaussian matrix is at most √(2n)."""
        return self.trace * math.sqrt(2.0 * self.n)

    def tangent(self, vectors: Array) -> Array:
        """Take the symmetric part, and where the trace is fixed subtract its mean from the diagonal."""
        vectors = np.asarray(vectors, dtype=np.float64)
        result = np.asarray((vectors + vectors.swapaxes(-1, -2)) / 2)
        if self.fixed:
            # The diagonals are copied so that round-off does not depend on how many vectors are drawn at once.
            diagonals = np.ascontiguousarray(np.diagonal(result, axis1=-2, axis2=-1))
            result = result - diagonals.mean(axis=-1)[..., np.newaxis, np.newaxis] * np.eye(self.n)
        return result

    def project(self, points: Array) -> Array:
        """Project the eigenvalues of the symmetric part onto the simplex: exact, at the cost of a full decomposition."""
        points = np.asarray(points, dtype=np.float64)
        values, vectors = np.linalg.eigh((points + points.swapaxes(-1, -2)) / 2)
        nearest = onto_simplex(values, self.trace)
        if not self.fixed:
            cut = np.maximum(values, 0.0)
            nearest = np.where(cut.sum(axis=-1, keepdims=True) <= self.trace, cut, nearest)
        result = (vectors * nearest[..., np.newaxis, :]) @ vectors.swapaxes(-1, -2)
        return np.asarray((result + result.swapaxes(-1, -2)) / 2)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether a matrix is symmetric and has no negative eigenvalue and the right trace, up to the tolerance."""
        points = np.asarray(points, dtype=np.float64)
        slack = tolerance * max(1.0, self.trace)
        transposed = points.swapaxes(-1, -2)
        above = np.trace(points, axis1=-2, axis2=-1) - self.trace
        result = np.asarray((np.abs(above) if self.fixed else above) <= slack * self.n)
        result &= (np.abs(points - transposed) <= slack).all(axis=(-2, -1))
        # No eigenvalue is above the least entry of the diagonal, nor below all of Gershgorin's discs: that mostly decides.
        diagonal = np.diagonal(points, axis1=-2, axis2=-1)
        result &= diagonal.min(axis=-1) >= -slack
        discs = (diagonal + np.abs(diagonal) - np.abs(points).sum(axis=-1)).min(axis=-1)
        if (result & (discs < 0)).any():
            result &= np.linalg.eigvalsh((points + transposed) / 2)[..., 0] >= -slack
        return result

    def shrink(self, xi: float) -> Shrunk:
        """Return the set shrunk towards its centre."""
        return Shrunk(self, xi)

    @property
    def _middle(self) -> float:
        return self.trace / (self.n if self.fixed else self.n + math.sqrt(self.n))

    def _operator(self, sums: Products, which: Indices) -> Apply:
        return lambda vectors, rows: -sums.apply(vectors, which[rows])

    def _losses(self, values: Array) -> tuple[Array, Array]:
        losses = -self.trace * values
        return losses if self.fixed else np.minimum(losses, 0.0), np.full_like(losses, self.trace)

    def _left(self, sums: Products, which: Indices, right: Array, values: Array) -> Array:
        wanted = (values > 0) | self.fixed
        return np.asarray(self.trace * right * wanted[:, np.newaxis])

    def _decompose(self, gradients: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh((gradients + gradients.swapaxes(-1, -2)) / 2)
        vector = vectors[..., 0]
        wanted = (values[..., :1] < 0) | self.fixed
        return np.where(wanted, self.trace * vector, 0.0), vector

    def _search(self, gradient: Array, start: Array | None) -> tuple[Array, Array]:
        guess = mixed(start, self.n)
        matrix, _ = single(gradient + gradient.T, guess)
        vector = leading(lambda v: -product(matrix, v), guess)
        wanted = self.fixed or float(vector @ product(gradient, vector)) < 0
        return self.trace * vector if wanted else np.zeros(self.n), vector
