"""What linear learners have in common: plays W_i·x, where features may be the same for all copies or each copy's own.

Features come as (1, p) or (N, p), called *rows* here: one for all copies, or one per copy. The second happens where a wrapper
(`Fourier`) gives every copy features of its own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array
from banditboost.learners.base import Bank, Learner
from banditboost.spaces import Space


@dataclass(frozen=True)
class LinearFamily(Learner):
    """Description of copies whose plays are linear in their features: what a wrapper that makes features can wrap."""

    def n_floats(self, copies: int, space: Space, features: int, separate: bool = False) -> int:
        """One weight for every coordinate, feature and copy."""
        # A field here would come before those of the families.
        return copies * space.size * (features + bool(getattr(self, "intercept", True)))

    @abstractmethod
    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False) -> Bank:
        """Make a fresh bank; with `separate`, contexts will have shape (copies, features): one row per copy."""


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
    """Return the largest absolute values with x counted in, and x divided by them; what was always zero stays zero."""
    now = np.maximum(scales, np.abs(x))
    return now, np.divide(x, now, out=np.zeros_like(x), where=now > 0)
