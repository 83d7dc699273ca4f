"""Sums of large matrices, one for each of N copies, of which nothing is needed but products with vectors.

    A_i = unit · (stored_i + Σ_k weights_ik · left_k right_k')

What is added as factors waits as factors, which all copies share, as long as there is room; only then is it multiplied out, for
many rounds at once. A block of products with one vector for each copy costs one matrix product for all factors that wait.
Stored numbers are of single precision, in a unit that keeps them in range: products are limited by the bytes to read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.spaces.stacks import Entries, Factored

Single = NDArray[np.float32]
Indices = NDArray[np.intp]
Draw = Callable[[tuple[int, ...]], Array]

WAITING = 0.5
"""Room for factors that wait, as a share of the smaller side: with more of them, factors would need more numbers than a matrix."""
RANGE = 2.0**30
"""Numbers larger than this, in the unit of the sums, change the unit, so that sums over many rounds stay in range."""
BLOCK = 128
"""Columns of a triangle that are handled together."""
SMALL = 1 << 18
"""Multiplications up to which BLAS does not split a matrix product among threads.

Threads that are started for a fraction of a millisecond wait for each other: on two cores that are not idle, whole runs took
several times as long with two threads as with one.
"""


class Sums(ABC):
    """N sums of m x n matrices.

    Parameters
    ----------
    copies
        N, the number of sums.
    shape
        (m, n), the size of the matrices.
    """

    stored: Single
    """The matrices that are multiplied out."""
    PACKED = 1
    """How many sums one matrix in `stored` holds."""

    def __init__(self, copies: int, shape: tuple[int, ...]) -> None:
        room = max(1, int(WAITING * min(shape)))
        self.copies, self.shape = copies, shape
        self.unit = np.ones(())
        self.left, self.right = (np.zeros((room, side), np.float32) for side in shape)
        self.weights = np.zeros((copies, room))
        self.waiting = np.zeros((), np.int64)
        self._scratch: Sums | None = None

    def arrays(self) -> dict[str, Any]:
        """Return the state by name."""
        names = ("stored", "unit", "factors_left", "factors_right", "factor_weights", "factors_waiting")
        return dict(
            zip(names, (self.stored, self.unit, self.left, self.right, self.weights, self.waiting), strict=True)
        )

    @classmethod
    def n_stored(cls, copies: int, shape: tuple[int, ...]) -> int:
        """Return how many numbers the stored matrices of that many sums have."""
        return -(-copies // cls.PACKED) * (shape[0] + cls.PACKED - 1) * shape[1]

    def add(self, gradients: Array) -> None:
        """Add one matrix to each sum: an array of shape (N, m, n), or a stack, whose factors wait as they are."""
        if isinstance(gradients, Factored) and self.PACKED * len(gradients.left) <= len(self.left):
            self._wait(gradients.left, gradients.right, gradients.weights)
            for i in np.flatnonzero(gradients.kept):
                self.add_to(int(i), gradients.kept[i] * gradients.start)
            return
        for i, matrix in enumerate(gradients):
            self.add_to(i, matrix)

    def add_to(self, i: int, matrix: Array) -> None:
        """Add a matrix to one sum."""
        self._fit(float(np.abs(matrix).max()))
        self._add(i, matrix / float(self.unit))

    def perturb(self, i: int, scale: float, draw: Draw, normal: bool) -> None:
        """Add scale times a matrix of independent draws to one sum.

        Parameters
        ----------
        i
            The copy.
        scale
            What the draws are multiplied by.
        draw
            Draws numbers of a symmetric law, in any shape.
        normal
            Whether the law is the standard normal one, so that the mean of two numbers is a number divided by √2.
        """
        self._fit(scale)
        self._perturb(i, scale / float(self.unit), draw, normal)

    def apply(self, vectors: Array, which: Indices) -> Array:
        """Return A_i v for one v for each of some sums, shape (k, n), in double precision and in the unit of the sums."""
        return self._apply(vectors, which, self.right, self.left, False)

    def apply_transposed(self, vectors: Array, which: Indices) -> Array:
        """Return A_i' u for one u for each of some sums."""
        return self._apply(vectors, which, self.left, self.right, True)

    def matrix(self, i: int) -> Array:
        """Return one sum as an array, in double precision."""
        used = slice(0, int(self.waiting))
        factors = (self.left[used].T * self.weights[i, used]) @ self.right[used]
        return np.asarray(float(self.unit) * (self._matrix(i) + factors), dtype=np.float64)

    def alone(self, i: int) -> tuple[Sums, int]:
        """Return a copy of one sum, as sums that may be changed, and its index in these; the next call overwrites them."""
        there = self._scratch
        if there is None:
            there = self._scratch = type(self)(self.PACKED, self.shape)
        # A copied or unpickled bank has other arrays than its scratch knows.
        there.left, there.right = self.left, self.right
        begin = i // self.PACKED * self.PACKED
        there.stored[0] = self.stored[i // self.PACKED]
        there.unit[...], there.waiting[...] = self.unit, self.waiting
        some = self.weights[begin : begin + self.PACKED]
        there.weights[: len(some)] = some
        return there, i - begin

    def check(self) -> None:
        """Raise an error where a restored state is none: more factors than there is room for, or a unit that is not positive."""
        if not 0 <= self.waiting <= len(self.left) or not self.unit > 0:
            raise ValueError("The sums of matrices are damaged: their factors or their unit are out of range.")

    def multiply(self, i: int, factor: float) -> None:
        """Multiply one sum."""
        self.weights[i] *= factor
        if factor != 1.0:
            self._multiply(i, factor)

    def clear(self, i: int) -> None:
        """Set one sum to zero."""
        self.multiply(i, 0.0)

    def flush(self) -> None:
        """Multiply out the factors that wait."""
        count = int(self.waiting)
        for i in range(self.copies):
            used = np.flatnonzero(self.weights[i, :count])
            if len(used):
                self._multiply_out(i, self.left[used], self.right[used], self.weights[i, used])
        self.weights[...] = 0.0
        self.waiting[...] = 0

    def _wait(self, left: Array, right: Array, weights: Array) -> None:
        """Let factors wait, with entries of at most 1 and their sizes in the weights."""
        sizes = [np.abs(factors).max(axis=1) for factors in (left, right)]
        weights = weights * sizes[0] * sizes[1]
        if int(self.waiting) + len(left) > len(self.left):
            self.flush()
        self._fit(float(np.abs(weights).max()))
        new = slice(int(self.waiting), int(self.waiting) + len(left))
        for kept, factors, size in zip((self.left, self.right), (left, right), sizes, strict=True):
            kept[new] = factors / np.where(size > 0, size, 1.0)[:, np.newaxis]
        self.weights[:, new] = weights / float(self.unit)
        self.waiting += len(left)

    def _fit(self, size: float) -> None:
        """Change the unit where numbers of this size would be out of range in it."""
        factor = 2.0 ** np.floor(np.log2(size / float(self.unit))) if size > RANGE * float(self.unit) else 1.0
        if factor > 1.0:
            self.stored /= np.float32(min(factor, 2.0**100))
            self.stored *= np.float32(factor <= 2.0**100)
            self.weights /= factor
            self.unit *= factor

    def _apply(self, vectors: Array, which: Indices, read: Single, write: Single, transposed: bool) -> Array:
        single = vectors.astype(np.float32)
        count = int(self.waiting)
        result = np.empty((len(which), write.shape[1]))
        for row, i in enumerate(which):
            result[row] = self._product(int(i), single[row], transposed)
        if count:
            shares = multiplied(single, read[:count].T) * self.weights[which, :count].astype(np.float32)
            result += multiplied(shares, write[:count])
        return result

    @abstractmethod
    def _product(self, i: int, vector: Single, transposed: bool) -> Single:
        """Return the product of a stored matrix with a vector."""

    @abstractmethod
    def _add(self, i: int, matrix: Array) -> None:
        """Add a matrix to a stored one."""

    @abstractmethod
    def _perturb(self, i: int, scale: float, draw: Draw, normal: bool) -> None:
        """Add random numbers to a stored matrix."""

    @abstractmethod
    def _multiply_out(self, i: int, left: Single, right: Single, weights: Array) -> None:
        """Add Σ_k weights_k · left_k right_k' to a stored matrix."""

    @abstractmethod
    def _matrix(self, i: int) -> Array:
        """Return a stored matrix."""

    @abstractmethod
    def _multiply(self, i: int, factor: float) -> None:
        """Multiply a stored matrix."""


class RectangularSums(Sums):
    """Sums of matrices of any kind, stored in full."""

    def __init__(self, copies: int, shape: tuple[int, ...]) -> None:
        super().__init__(copies, shape)
        self.stored = np.zeros((copies, *shape), np.float32)

    def add(self, gradients: Array) -> None:
        """Add one matrix to each sum; where only a few entries are given, only those change."""
        if isinstance(gradients, Entries):
            self._fit(float(np.abs(gradients.values).sum(axis=1).max(initial=0.0)))
            Entries(gradients.shape, gradients.rows, gradients.columns, gradients.values / float(self.unit)).add_to(
                self.stored
            )
        else:
            super().add(gradients)

    def _product(self, i: int, vector: Single, transposed: bool) -> Single:
        return np.asarray(vector @ self.stored[i] if transposed else self.stored[i] @ vector)

    def _add(self, i: int, matrix: Array) -> None:
        self.stored[i] += matrix

    def _perturb(self, i: int, scale: float, draw: Draw, normal: bool) -> None:
        for begin in range(0, self.shape[0], BLOCK):
            rows = self.stored[i, begin : begin + BLOCK]
            rows += scale * draw(rows.shape)

    def _multiply_out(self, i: int, left: Single, right: Single, weights: Array) -> None:
        self.stored[i] += (left.T * weights.astype(np.float32)) @ right

    def _matrix(self, i: int) -> Array:
        return np.asarray(self.stored[i], dtype=np.float64)

    def _multiply(self, i: int, factor: float) -> None:
        self.stored[i] *= factor


class SymmetricSums(Sums):
    """Sums of the symmetric parts of n x n matrices: two copies share an array of n+1 x n numbers, a triangle each.

    With S = stored[j], the lower triangle of S[1:] is that of copy 2j, and the upper triangle of S[:n] is that of copy 2j+1.
    """

    PACKED = 2

    def __init__(self, copies: int, shape: tuple[int, ...]) -> None:
        super().__init__(copies, shape)
        self.stored = np.zeros(((copies + 1) // 2, shape[0] + 1, shape[1]), np.float32)

    def _lower(self, i: int) -> Single:
        """Return a view whose lower triangle is the sum's."""
        return self.stored[i // 2, :-1].T if i % 2 else self.stored[i // 2, 1:]

    def _fortran(self, i: int) -> tuple[Single, int]:
        """Return a view in the order of BLAS, and whether the sum is its lower triangle."""
        return (self.stored[i // 2, :-1].T, 1) if i % 2 else (self.stored[i // 2, 1:].T, 0)

    def _blocks(self, i: int) -> Iterator[tuple[Single, Single, slice, slice]]:
        """Return the squares on the diagonal, of which the lower triangle is the sum's, and what lies below them."""
        lower, n = self._lower(i), self.shape[0]
        for begin in range(0, n, BLOCK):
            here, below = slice(begin, min(begin + BLOCK, n)), slice(min(begin + BLOCK, n), n)
            yield lower[here, here], lower[below, here], here, below

    def _wait(self, left: Array, right: Array, weights: Array) -> None:
        squares = np.einsum("ij,ij->i", right, right)
        ratios = np.einsum("ij,ij->i", left, right) / np.where(squares > 0, squares, 1.0)
        if np.allclose(left, ratios[:, np.newaxis] * right, rtol=1e-12, atol=0.0):
            left, weights = right, weights * ratios
        else:
            left, right, weights = np.vstack([left, right]), np.vstack([right, left]), np.hstack([weights, weights]) / 2
        super()._wait(left, right, weights)

    def _product(self, i: int, vector: Single, transposed: bool) -> Single:
        from banditboost._compiled.symmetric import multiply_triangle

        result = np.empty(self.shape[0], np.float32)
        multiply_triangle(self.stored[i // 2, :-1] if i % 2 else self.stored[i // 2, 1:], bool(i % 2), vector, result)
        return result

    def _add(self, i: int, matrix: Array) -> None:
        for square, rectangle, here, below in self._blocks(i):
            square += np.tril(matrix[here, here] + matrix[here, here].T) / 2
            rectangle += (matrix[below, here] + matrix[here, below].T) / 2

    def _perturb(self, i: int, scale: float, draw: Draw, normal: bool) -> None:
        for square, rectangle, _, _ in self._blocks(i):
            drawn = draw(square.shape)
            square += scale / 2 * np.tril(drawn + drawn.T)
            if normal:
                rectangle += scale / np.sqrt(2.0) * draw(rectangle.shape)
            else:
                rectangle += scale / 2 * (draw(rectangle.shape) + draw(rectangle.shape))

    def _multiply_out(self, i: int, left: Single, right: Single, weights: Array) -> None:
        from scipy.linalg.blas import ssyr2k, ssyrk

        view, low = self._fortran(i)
        options = {"beta": 1.0, "c": view, "lower": low, "overwrite_c": 1}
        if not np.array_equal(left, right):
            ssyr2k(0.5, (left.T * weights.astype(np.float32)), right.T, **options)
            return
        for sign in (1.0, -1.0):
            some = sign * weights > 0
            if some.any():
                rooted = left[some] * np.sqrt(np.abs(weights[some])).astype(np.float32)[:, np.newaxis]
                ssyrk(sign, rooted.T, **options)

    def _matrix(self, i: int) -> Array:
        lower = np.tril(self._lower(i)).astype(np.float64)
        return np.asarray(lower + np.tril(lower, -1).T)

    def _multiply(self, i: int, factor: float) -> None:
        for square, rectangle, _, _ in self._blocks(i):
            square += np.tril((np.float32(factor) - 1) * square)
            rectangle *= factor


def multiplied(left: Single, right: Single) -> Single:
    """Return the product of two matrices, in blocks of columns that are each computed in one thread."""
    width = max(1, SMALL // left.size)
    result = np.empty((len(left), right.shape[1]), np.float32)
    for begin in range(0, right.shape[1], width):
        some = slice(begin, begin + width)
        np.matmul(left, right[:, some], out=result[:, some])
    return result
