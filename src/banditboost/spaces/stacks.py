"""Stacks of matrices that are stored as factors or as a few entries instead of in full.

A stack takes the place of an array of shape (M, m, n): it has a length, can be indexed, and arithmetic converts it to that array.
Code that knows about stacks works on the factors or entries, so that M large matrices are never in memory at the same time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from banditboost._core.checks import Array


class Stack(NDArrayOperatorsMixin, ABC):
    """M matrices of the same size."""

    shape: tuple[int, ...]
    """Shape (M, m, n) of the array that the stack stands for."""
    ndim = 3

    @abstractmethod
    def matrix(self, i: int) -> Array:
        """Return one of the matrices as an array."""

    @abstractmethod
    def part(self, which: slice) -> Stack:
        """Return some of the matrices as a stack."""

    @abstractmethod
    def add_to(self, totals: Array) -> None:
        """Add matrix i to `totals[i]` for every i, in place."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """True where all numbers of the stack are finite."""

    def checked(self, name: str, shape: tuple[int, ...]) -> Array:
        """Check shape and finiteness, as `banditboost._core.checks.finite` does for an array."""
        if self.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {self.shape}.")
        if not self.finite:
            raise ValueError(f"{name} must be finite, got NaN or infinity.")
        return self.array()

    def array(self) -> Array:
        """Return this stack itself, typed as the array that it stands for."""
        return cast(Array, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        stored = (np.asarray(item) if isinstance(item, Stack) else item for item in inputs)
        return getattr(ufunc, method)(*stored, **options)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            return self.matrix(range(len(self))[key])
        return self.part(key) if isinstance(key, slice) else np.asarray(self)[key]

    def __iter__(self) -> Iterator[Array]:
        return (self.matrix(i) for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("copy must not be False, because a stack of matrices has no array to share.")
        result = np.empty(self.shape)
        for i, matrix in enumerate(self):
            result[i] = matrix
        return result if dtype is None else result.astype(dtype)


class Factored(Stack):
    """Combinations of a few rank-one matrices and a start matrix: X_i = kept_i · start + Σ_k weights_ik · left_k right_k'.

    Parameters
    ----------
    left, right
        Shapes (K, m) and (K, n).
    weights
        Shape (M, K); left out, X_i is the i-th rank-one matrix.
    start, kept
        A matrix that enters with the weights `kept`, shape (M,); left out, it is zero.

    Examples
    --------
    >>> plays = Factored(np.array([[1.0, 0.0], [0.0, 2.0]]), np.eye(2))
    >>> plays.shape, plays[1].tolist()
    ((2, 2, 2), [[0.0, 0.0], [0.0, 2.0]])
    >>> plays.mixed(np.array([[1.0, 0.5]]), start=np.ones((2, 2)), kept=np.array([3.0]))[0].tolist()
    [[4.0, 3.0], [3.0, 4.0]]
    """

    def __init__(
        self,
        left: Array,
        right: Array,
        weights: Array | None = None,
        start: Array | None = None,
        kept: Array | None = None,
    ) -> None:
        self.left, self.right = left, right
        self.weights = np.eye(len(left)) if weights is None else weights
        self.start = np.zeros((left.shape[1], right.shape[1])) if start is None else start
        self.kept = np.zeros(len(self.weights)) if kept is None else kept
        self.shape = (len(self.weights), left.shape[1], right.shape[1])

    def mixed(self, weights: Array, start: Array, kept: Array) -> Factored:
        """Return combinations of these matrices with weights of shape (combinations, M), and with another start matrix."""
        return Factored(self.left, self.right, weights @ self.weights, start, kept)

    def plus(self, left: Array, right: Array, weight: float) -> Factored:
        """Return every matrix with weight · Σ_k left_k right_k' added."""
        weights = np.hstack([self.weights, np.full((len(self), len(left)), weight)])
        return Factored(np.vstack([self.left, left]), np.vstack([self.right, right]), weights, self.start, self.kept)

    def matrix(self, i: int) -> Array:
        """Return one of the combinations as an array."""
        used = self.weights[i] != 0
        result = np.asarray((self.left[used].T * self.weights[i, used]) @ self.right[used])
        return result + self.kept[i] * self.start if self.kept[i] != 0 else result

    def __neg__(self) -> Factored:
        return Factored(self.left, self.right, -self.weights, self.start, -self.kept)

    def entries(self, rows: Any, columns: Any) -> Array:
        """Return X_i[rows, columns] for all i, shape (M, entries), without storing a matrix."""
        own = self.weights @ (self.left[:, rows] * self.right[:, columns])
        return np.asarray(own + np.multiply.outer(self.kept, self.start[rows, columns]))

    def part(self, which: slice) -> Factored:
        """Return some of the combinations as a stack."""
        return Factored(self.left, self.right, self.weights[which], self.start, self.kept[which])

    def add_to(self, totals: Array) -> None:
        """Add one matrix at a time."""
        for i, matrix in enumerate(self):
            totals[i] += matrix

    @property
    def finite(self) -> bool:
        """True where factors, weights and start are finite."""
        return all(
            bool(np.isfinite(part).all()) for part in (self.left, self.right, self.weights, self.start, self.kept)
        )


class Entries(Stack):
    """Matrices that are zero except for a few entries, which have the same positions in all of them.

    Parameters
    ----------
    shape
        (M, m, n).
    rows, columns
        Positions of the entries, shape (entries,). Entries at the same position are added.
    values
        Shape (M, entries).

    Examples
    --------
    >>> Entries((1, 2, 2), np.array([0, 1, 1]), np.array([1, 0, 0]), np.array([[1.0, 2.0, 3.0]]))[0].tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    """

    def __init__(self, shape: tuple[int, ...], rows: Any, columns: Any, values: Array) -> None:
        self.shape, self.rows, self.columns, self.values = shape, rows, columns, values

    def matrix(self, i: int) -> Array:
        """Return one of the matrices as an array."""
        result = np.zeros(self.shape[1:])
        np.add.at(result, (self.rows, self.columns), self.values[i])
        return result

    def __neg__(self) -> Entries:
        return Entries(self.shape, self.rows, self.columns, -self.values)

    def part(self, which: slice) -> Entries:
        """Return some of the matrices as a stack."""
        values = self.values[which]
        return Entries((len(values), *self.shape[1:]), self.rows, self.columns, values)

    def add_to(self, totals: Array) -> None:
        """Add the entries to the totals in place, without building the matrices."""
        for total, values in zip(totals, self.values, strict=True):
            np.add.at(total, (self.rows, self.columns), values)

    @property
    def finite(self) -> bool:
        """True where all entries are finite."""
        return bool(np.isfinite(self.values).all())
