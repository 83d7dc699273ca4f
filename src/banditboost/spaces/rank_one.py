"""Sets of matrices whose extreme points have rank one, so that the linear oracle needs one extreme pair of vectors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.spaces.base import Space
from banditboost.spaces.lanczos import TOLERANCE, Apply, Bools, Indices, leading_block, random_start
from banditboost.spaces.products import Products
from banditboost.spaces.sums import RectangularSums, Sums
from banditboost.spaces.unseen import RectangularUnseen, Unseen

Single = NDArray[np.float32]

FULL_UP_TO = 64
"""Matrices whose smaller side is longer than this are handled by Lanczos steps, shorter ones by a full decomposition.

The crossover was measured by `benchmarks.matrices.crossover`.
"""

BLOCK = 1 << 17
"""Numbers per block of rows in a product.

A block of one megabyte stays in the cache between two products, and is too small for BLAS to split among threads, which on a busy
machine wait for each other longer than the product takes.
"""

TOGETHER = 25
"""Sums that are searched side by side: their Krylov spaces are in memory at the same time."""


class Leaders(NamedTuple):
    """Minimisers of linear losses that are given as sums, one row for each."""

    left: Array
    """u, shape (k, m)."""
    right: Array
    """v, shape (k, n)."""
    starts: Array
    """Where to begin the search when the sums have changed a little, shape (k, n)."""
    losses: Array
    """The losses A·(u v') of the minimisers, shape (k,)."""


@dataclass(frozen=True)
class RankOne(Space):
    """A convex set of m x n matrices over which linear losses are minimised by matrices u v'."""

    SUMS: ClassVar[type[Sums]] = RectangularSums
    """How sums of linear losses are kept."""
    UNSEEN: ClassVar[type[Unseen]] = RectangularUnseen
    """How Gaussian perturbations are drawn of which only some products are needed."""

    @property
    def large(self) -> bool:
        """True where the oracle uses Lanczos steps, and learners should keep its answers as pairs of vectors."""
        return min(self.shape) > FULL_UP_TO

    def minimize(self, gradients: Array) -> Array:
        """Return the rank-one matrix whose factors `minimize_factored` returns."""
        left, right = self.minimize_factored(gradients)
        return np.asarray(left[..., :, np.newaxis] * right[..., np.newaxis, :])

    def minimize_factored(self, gradients: Array, start: Array | None = None) -> tuple[Array, Array]:
        """Return u (..., m) and v (..., n) for each gradient G, so that u v' is a member that minimises G·X.

        Parameters
        ----------
        gradients
            Matrices, shape (..., m, n).
        start
            Guesses for v (of any norm), shape (..., n), from which the search in large matrices starts. The answer for a
            similar gradient saves most of the steps. Without a guess the search always starts from the same random vector.
        """
        gradients = np.asarray(gradients, dtype=np.float64)
        if not self.large:
            return self._decompose(gradients)
        rows, columns = self.shape
        left, right = np.empty((*gradients.shape[:-2], rows)), np.empty((*gradients.shape[:-2], columns))
        for index in np.ndindex(gradients.shape[:-2]):
            left[index], right[index] = self._search(gradients[index], None if start is None else start[index])
        return left, right

    def sums(self, copies: int) -> Sums:
        """Return sums of zero, of linear losses over this set."""
        return self.SUMS(copies, self.shape)

    def lead(
        self,
        sums: Products,
        which: Indices,
        starts: Array,
        before: Array | None = None,
        share: float = 0.0,
        enough: float = 0.0,
    ) -> Leaders:
        """Return minimisers of some linear losses, which take their Lanczos steps together.

        A search is over where the loss that it may still save, by its own estimate, is at most 1e-6 of the sum's norm, at most
        `enough`, or at most a share of what it has saved.

        Parameters
        ----------
        sums
            The linear losses.
        which
            Indices of the sums to minimise.
        starts
            Where to begin, shape (k, n); zero for a random start.
        before
            Losses of the guesses, from which savings are counted, shape (k,).
        share
            The share of the savings that a search may leave.
        enough
            The loss that a search may leave in any case.
        """
        parts = [
            self._lead(
                sums,
                which[begin : begin + TOGETHER],
                starts[begin : begin + TOGETHER],
                None if before is None else before[begin : begin + TOGETHER],
                share,
                enough,
            )
            for begin in range(0, len(which), TOGETHER)
        ]
        return Leaders(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _lead(
        self, sums: Products, which: Indices, starts: Array, before: Array | None, share: float, enough: float
    ) -> Leaders:
        unit = float(sums.unit)

        def stop(rows: Indices, values: Array, missing: Array, sizes: Array) -> Bools:
            losses, slopes = self._losses(values)
            saved = 0.0 if before is None else np.maximum(before[rows] - unit * losses, 0.0)
            left = unit * slopes * np.maximum(missing - TOLERANCE * sizes, 0.0)
            return np.asarray(left <= np.maximum(share * saved, enough))

        warm = starts.any(axis=1, keepdims=True)
        starts = np.where(warm, starts, random_start(starts.shape[1]))
        pairs = leading_block(self._operator(sums, which), starts, stop)
        left = self._left(sums, which, pairs.vectors, pairs.values)
        return Leaders(left, pairs.vectors, pairs.starts, unit * self._losses(pairs.values)[0])

    @abstractmethod
    def _operator(self, sums: Products, which: Indices) -> Apply:
        """Return the symmetric operators whose largest eigenvectors v minimise the losses, in the unit of the sums."""

    @abstractmethod
    def _losses(self, values: Array) -> tuple[Array, Array]:
        """Return the losses that belong to eigenvalues, and by how much they fall at most where the value rises by one."""

    @abstractmethod
    def _left(self, sums: Products, which: Indices, right: Array, values: Array) -> Array:
        """Return u for every v."""

    @abstractmethod
    def _decompose(self, gradients: Array) -> tuple[Array, Array]:
        """Return the factors from full decompositions of all gradients at once."""

    @abstractmethod
    def _search(self, gradient: Array, start: Array | None) -> tuple[Array, Array]:
        """Return the factors for one gradient by Lanczos steps."""


def single(matrix: Array, guess: Array) -> tuple[Single, float]:
    """Return a matrix divided by the largest entry of its product with a guess, in single precision, and that divisor.

    Products with vectors are limited by memory bandwidth, and single precision halves the bytes to read. An error E in the matrix
    changes the vector found; the loss of that vector, computed with the true matrix, is then off by 2‖E‖ at most, which is about
    1e-7 of the matrix's own norm. Without the division, squares of very large or small numbers would leave the range.
    """
    unit = float(np.abs(product(matrix, guess)).max()) or 1.0
    return np.divide(matrix, unit, out=np.empty(matrix.shape, np.float32), casting="same_kind"), unit


def gram(matrix: Array | Single, vector: Array) -> Array:
    """Return M'(Mv), reading the matrix once."""
    step, vector = max(1, BLOCK // matrix.shape[1]), vector.astype(matrix.dtype)
    result = np.zeros(matrix.shape[1])
    for begin in range(0, len(matrix), step):
        block = matrix[begin : begin + step]
        result += (block @ vector) @ block
    return result


def product(matrix: Array | Single, vector: Array) -> Array:
    """Return Mv, computed block by block."""
    step, vector = max(1, BLOCK // matrix.shape[1]), vector.astype(matrix.dtype)
    blocks = [matrix[begin : begin + step] @ vector for begin in range(0, len(matrix), step)]
    return np.concatenate(blocks, dtype=np.float64)
