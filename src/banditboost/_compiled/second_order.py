"""Second-order linear copies, compiled.

Roots depend on features alone, so that a copy's are read and changed when it looks, before anyone has played: once
from far, half a matrix per copy. Only the weights wait for the gradients.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, hold, learn, look, put_back
from banditboost._core.checks import Array


class SecondOrder(NamedTuple):
    """N copies, C = 1 or N rows of features a round."""

    features: Array
    """Shape (T, C, p), the constant included."""
    weights: Array
    """Learned, shape (N, d, p)."""
    roots: Array
    """Learned, shape (C, p, p)."""
    gains: Array
    """Learned, shape (N,)."""
    costs: Array
    """Learned, shape (N,)."""
    curvature: float
    zero: bool
    """Whether quadratics are centred at zero, not at the play."""
    forward: bool
    shrinks: bool
    lever: Array
    """Scratch: A⁻¹x, shape (C, p)."""
    sizes: Array
    """Scratch: 1 + c x·A⁻¹x, shape (C,)."""
    outputs: Array
    """Scratch: W·x, shape (N, d)."""
    held: Array
    """Scratch: the roots as they were before a round that may be left out, shape (C, p, p)."""


def scratch(copies: int, kinds: int, d: int, p: int) -> tuple[Array, Array, Array, Array]:
    """Return what copies are worked out on."""
    return np.empty((kinds, p)), np.empty(kinds), np.empty((copies, d)), np.empty((kinds, p, p))


@implements(look, SecondOrder)
def look_second_order(bank: SecondOrder, t: int, begin: int, desk: Desk) -> None:
    """Count the round's features in, and write the plays."""
    kinds, p = bank.lever.shape
    for c in range(kinds):
        count_in(t, c, bank)
    for i in range(bank.weights.shape[0]):
        c = min(i, kinds - 1)
        factor = 1.0 / bank.sizes[c] if bank.forward else 1.0
        if bank.shrinks:
            factor *= min(max(bank.gains[i] / bank.costs[i], 0.0), 1.0) if bank.costs[i] > 0.0 else 0.0
        for j in range(bank.weights.shape[1]):
            dot = 0.0
            for k in range(p):
                dot += bank.weights[i, j, k] * bank.features[t, c, k]
            bank.outputs[i, j] = dot
            desk.outputs[begin + i, j] = factor * dot


@inlined
def count_in(t: int, c: int, bank: SecondOrder) -> None:
    """Count the round's features in: set lever to A⁻¹x for A as it was, the size to 1 + c x·A⁻¹x, and the root to the next one.

    Row j of the root is the only one touched while it is close, up to its diagonal.
    """
    X, U, b = bank.features, bank.roots, bank.lever
    alpha = 1.0 / bank.curvature
    for k in range(U.shape[1]):
        b[c, k] = 0.0
    for j in range(U.shape[1]):
        f = 0.0
        for k in range(j + 1):
            f += U[c, j, k] * X[t, c, k]
        if f != 0.0:
            before = alpha
            alpha = before + f * f
            keep, take = math.sqrt(before / alpha), f / math.sqrt(before * alpha)
            for k in range(j + 1):
                u = U[c, j, k]
                U[c, j, k] = keep * u - take * b[c, k]
                b[c, k] += f * u
    bank.sizes[c] = bank.curvature * alpha


@implements(hold, SecondOrder)
def hold_second_order(bank: SecondOrder) -> None:
    """Keep the roots, which looking changes."""
    copy_roots(bank.roots, bank.held)


@implements(put_back, SecondOrder)
def put_back_second_order(bank: SecondOrder) -> None:
    """Count the features of the last look out again."""
    copy_roots(bank.held, bank.roots)


@inlined
def copy_roots(source: Array, target: Array) -> None:
    """Copy roots, up to their diagonals."""
    for c in range(source.shape[0]):
        for j in range(source.shape[1]):
            for k in range(j + 1):
                target[c, j, k] = source[c, j, k]


@implements(learn, SecondOrder)
def learn_second_order(bank: SecondOrder, t: int, begin: int, desk: Desk) -> None:
    """Change the weights by the gradients."""
    kinds, p = bank.lever.shape
    for i in range(bank.weights.shape[0]):
        c = min(i, kinds - 1)
        for j in range(bank.weights.shape[1]):
            output, g = bank.outputs[i, j], desk.G[begin + i, j]
            played = output / bank.sizes[c] if bank.forward else output
            if bank.shrinks:
                bank.gains[i] -= g * played
                bank.costs[i] += bank.curvature * played * played
            away = output if bank.zero else output - played
            scaled = (g + bank.curvature * away) / bank.sizes[c]
            for k in range(p):
                bank.weights[i, j, k] -= scaled * bank.lever[c, k]
