"""Sets of matrices whose extreme points have rank one: the linear oracle is one extreme pair of vectors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.spaces.base import Space

Single = NDArray[np.float32]

FULL_UP_TO = 64
"""Where the smaller side is longer, the oracle never decomposes a whole matrix: measured by `benchmarks.matrices.crossover`."""

BLOCK = 1 << 17
"""Numbers per block of rows: one megabyte stays in the cache between two products, and is too little for BLAS to split among
threads, which on a busy machine wait for each other longer than the product takes."""


@dataclass(frozen=True)
class RankOne(Space):
    """A convex set of m x n matrices over which linear losses are minimised by matrices u v'."""

    @property
    def large(self) -> bool:
        """Whether the oracle uses Lanczos, and learners had better keep its answers as vectors."""
        return min(self.shape) > FULL_UP_TO

    def minimize(self, gradients: Array) -> Array:
        """Return the rank-one matrix that `minimize_factored` gives as vectors."""
        left, right = self.minimize_factored(gradients)
        return np.asarray(left[..., :, np.newaxis] * right[..., np.newaxis, :])

    def minimize_factored(self, gradients: Array, start: Array | None = None) -> tuple[Array, Array]:
        """Return u (..., m) and v (..., n) for each gradient G, so that u v' is a member that minimises G·X.

        Parameters
        ----------
        gradients
            Matrices, shape (..., m, n).
        start
            Guesses for v (of any length), shape (..., n): where to begin the search in large matrices. The last
            answer to nearly the same question saves most steps. Without it the same random vector serves every time.
        """
        gradients = np.asarray(gradients, dtype=np.float64)
        if not self.large:
            return self._decompose(gradients)
        rows, columns = self.shape
        left, right = np.empty((*gradients.shape[:-2], rows)), np.empty((*gradients.shape[:-2], columns))
        for index in np.ndindex(gradients.shape[:-2]):
            left[index], right[index] = self._search(gradients[index], None if start is None else start[index])
        return left, right

    @abstractmethod
    def _decompose(self, gradients: Array) -> tuple[Array, Array]:
        """Answer from full decompositions, all at once."""

    @abstractmethod
    def _search(self, gradient: Array, start: Array | None) -> tuple[Array, Array]:
        """Answer for one matrix by Lanczos."""


def single(matrix: Array, guess: Array) -> tuple[Single, float]:
    """Return a matrix in units of what it does to a guess, in single precision, and the unit.

    Products with vectors wait for memory, and half the digits are read in half the time. An error E in the matrix moves the vector
    found; the loss of that vector, taken with the true matrix, is then off by 2‖E‖ at most: some 1e-7 of the matrix's own norm.
    Units, since squares of large or small numbers would leave the range.
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
    """Return Mv, block by block."""
    step, vector = max(1, BLOCK // matrix.shape[1]), vector.astype(matrix.dtype)
    blocks = [matrix[begin : begin + step] @ vector for begin in range(0, len(matrix), step)]
    return np.concatenate(blocks, dtype=np.float64)
