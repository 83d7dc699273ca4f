"""What linear learners have in common: plays W_i·x, where all copies see the same features or each copy sees its own.

Features have shape (1, p) or (N, p) and are called *rows* here: one row for all copies, or one row per copy where a wrapper such as
`Fourier` gives every copy features of its own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.learners.base import UNIT, Bank, Learned, Learner, LinearWeights
from banditboost.spaces import Space

LARGEST = "largest value seen"
"""The unit of a feature that copies see divided by its largest absolute value so far."""


@dataclass(frozen=True)
class LinearFamily(Learner):
    """Description of copies whose plays are linear in their features: what a wrapper that makes features can wrap."""

    @property
    def intercept(self) -> bool:
        """Whether a constant 1 is appended to every context; families that leave the choice have a field of this name."""
        return True

    @property
    def fits_residuals(self) -> bool:
        """False: a linear loss says where to go and not how far, so that plays are averaged."""
        return False

    def n_floats(self, copies: int, space: Space, features: int, separate: bool = False) -> int:
        """Return the number of floats: one weight for every coordinate, feature and copy."""
        return copies * space.size * (features + self.intercept)

    @abstractmethod
    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False) -> Bank:
        """Make a fresh bank; with `separate`, contexts will have shape (copies, features): one row per copy."""


class LinearFamilyBank(Bank):
    """Linear copies: weights of shape (N, *shape, p), and other arrays that begin at zero."""

    spec: LinearFamily
    space: Space
    separate: bool
    """Whether every copy sees features of its own."""
    weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    unit: ClassVar[str] = UNIT
    """What a feature is measured in when copies see it."""

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Set all that belongs to these copies alone to zero."""
        kept = self.shared
        for name, array in self.arrays().items():
            if name not in kept:
                array[copies] = 0.0

    def stretched(self, features: int, rng: np.random.Generator) -> Bank:
        """Return copies whose weights on the new features are as in a fresh bank."""
        larger = self.spec.start(len(self.weights), self.space, features, rng, separate=self.separate)
        known = self.weights.shape[-1] - self.spec.intercept
        old = self.arrays()
        for name, array in larger.arrays().items():
            array[np.ix_(*(_places(known, n, m) for n, m in zip(old[name].shape, array.shape, strict=True)))] = old[
                name
            ]
        return larger

    def feature_weights(self) -> Sequence[Learned]:
        """Return the weights, times the factors that multiply whole plays."""
        flat = self.weights.reshape(len(self.weights), -1, self.weights.shape[-1])
        weights = self.factors().reshape(-1, 1, 1) * flat
        return [Learned(self.kind, len(flat), LinearWeights(weights, self.spec.intercept, self.unit))]

    def factors(self) -> Array:
        """Return the number that multiplies every play of a copy, shape (N,), or (1,) where it is the same for all."""
        return np.ones(1)


def _places(known: int, before: int, after: int) -> NDArray[np.intp]:
    """Return where entries along an axis go: features stay in front, and the constant, where there is one, stays last."""
    where = np.arange(before)
    where[known:] += after - before
    return where


_ONE = np.ones(1)


def rows(context: Array | None, intercept: bool) -> Array:
    """Return features as (1, p) or (N, p), with a constant 1 appended where there is an intercept."""
    assert context is not None  # the loop gives contextual learners a context
    if context.ndim == 1:
        return (np.concatenate((context, _ONE)) if intercept else context)[np.newaxis]
    return np.concatenate([context, np.ones((len(context), 1))], axis=1) if intercept else context


def products(weights: Array, x: Array) -> Array:
    """Return W_i·x_i, shape (N, *shape), for weights (N, *shape, p) and rows x."""
    if len(x) == 1:
        return np.asarray(weights.dot(x[0]))  # half the time of @ for small arrays
    flat = weights.reshape(len(weights), math.prod(weights.shape[1:-1]), weights.shape[-1])
    return np.asarray((flat @ x[:, :, np.newaxis]).reshape(weights.shape[:-1]))


def many_products(weights: Array, X: Array) -> Array:
    """Return W_i·x for every row x of X, shape (N, rows, *shape), for weights (N, *shape, p) that are shown the same features."""
    return np.moveaxis(weights @ X.T, -1, 1)


def outer(gradients: Array, x: Array) -> Array:
    """Return g_i x_iᵀ, shape (N, *shape, p): the gradients in the weights."""
    if len(x) == 1:
        return np.asarray(np.dot(gradients[..., np.newaxis], x))  # quicker than multiply.outer
    return np.asarray(gradients[..., np.newaxis] * aligned(x, gradients.ndim + 1))


def aligned(x: Array, ndim: int) -> Array:
    """Return rows with axes of length one inserted, so that they broadcast against weights of `ndim` axes."""
    return x.reshape(len(x), *(1,) * (ndim - 2), x.shape[-1])


def clip_norms(weights: Array, radius: float) -> None:
    """Project every copy's weights on the ball of a radius, in place."""
    flat = weights.reshape(len(weights), -1)
    squares = np.vecdot(flat, flat)
    if squares[squares.argmax()] > radius * radius:
        flat *= (radius / np.maximum(np.sqrt(squares), radius))[:, np.newaxis]  # exactly 1 for those inside


def largest(scales: Array, x: Array) -> tuple[Array, Array]:
    """Return the largest absolute values with x counted in, and x divided by them; features that were always zero stay zero."""
    now = np.maximum(scales, np.abs(x))
    return now, np.divide(x, now, out=np.zeros_like(x), where=now > 0)
