"""Linear copies on dense contexts, compiled: one pass updates the weights, takes their norm, and looks at the next context."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array


class Linear(NamedTuple):
    """Weights W = scale · V, so that projecting a copy on its ball changes one number."""

    V: Array
    """Learned, shape (N, d, features and intercept)."""
    scales: Array
    """Learned, shape (N,)."""
    contexts: Array
    rows: NDArray[np.intp]
    """Which contexts are the rounds, shape (T,)."""
    rates: Array
    """Shape (T,)."""
    radius: float
    """Of the ball of weights; infinity where there is none."""
    seen: Array
    """Scratch: this context and the next, a constant 1 after them where there is an intercept, shape (2, p)."""
    dots: Array
    """V·x for the present context, shape (N, d)."""


def form(W: Array, contexts: Array, rows: NDArray[np.intp], rates: Array, radius: float) -> Linear:
    """Return copies that are about to play on contexts[rows]; when they have, W is to be multiplied by their scales."""
    seen, dots = np.ones((2, W.shape[2])), np.empty(W.shape[:2])
    seen[0, : contexts.shape[1]] = contexts[rows[0]]
    return Linear(W, np.ones(len(W)), contexts, rows, rates, radius, seen, dots)


@implements(look, Linear)
def look_linear(bank: Linear, t: int, begin: int, desk: Desk) -> None:
    """Write W·x, which was worked out when the round before was learned from.

    The first is worked out here: a library's product may round differently from run to run, by where memory happens to lie.
    """
    if t == 0:
        for i in range(bank.V.shape[0]):
            for j in range(bank.V.shape[1]):
                dot = 0.0
                for k in range(bank.V.shape[2]):
                    dot += bank.V[i, j, k] * bank.seen[0, k]
                bank.dots[i, j] = dot
    for i in range(bank.V.shape[0]):
        for j in range(bank.V.shape[1]):
            desk.outputs[begin + i, j] = bank.scales[i] * bank.dots[i, j]


@implements(learn, Linear)
def learn_linear(bank: Linear, t: int, begin: int, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ) and dots ← V·(the next x) for every copy."""
    V, seen, scales, now, following = bank.V, bank.seen, bank.scales, t % 2, (t + 1) % 2
    # Copied to where every copy can read it fast: the table itself may be far larger than any cache.
    row = bank.rows[min(t + 1, len(bank.rows) - 1)]
    for k in range(bank.contexts.shape[1]):
        seen[following, k] = bank.contexts[row, k]
    for i in range(V.shape[0]):
        rescaled, total = bank.rates[t] / scales[i], 0.0
        for j in range(V.shape[1]):
            step, dot = rescaled * desk.G[begin + i, j], 0.0
            for k in range(V.shape[2]):
                v = V[i, j, k] - step * seen[now, k]
                V[i, j, k] = v
                total += v * v
                dot += v * seen[following, k]
            bank.dots[i, j] = dot
        if scales[i] * scales[i] * total > bank.radius * bank.radius:
            scales[i] = bank.radius / math.sqrt(total)
            if scales[i] < 1e-6:
                fold(bank, i)


@inlined
def fold(bank: Linear, i: int) -> None:
    """Multiply a copy's scale into its weights, before it gets lost in their size."""
    for j in range(bank.V.shape[1]):
        bank.dots[i, j] *= bank.scales[i]
        for k in range(bank.V.shape[2]):
            bank.V[i, j, k] *= bank.scales[i]
    bank.scales[i] = 1.0
