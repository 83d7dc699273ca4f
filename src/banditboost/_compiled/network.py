"""Networks with one hidden layer, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array


class Networks(NamedTuple):
    """What networks have learned, their settings, and what a round is worked out on. N copies, H hidden units."""

    inner: Array
    """Learned, shape (N, H, p)."""
    outer: Array
    """Learned, shape (N, d, H + 1)."""
    inner_squares: Array
    outer_squares: Array
    features: Array
    """Shape (T, p), the constant included."""
    rate: float
    curvature: float
    radius: float
    tanh: bool
    units: Array
    """Scratch: what hidden units say, and the constant 1, shape (N, H + 1)."""
    outputs: Array
    """Scratch: what networks say, shape (N, d)."""
    slopes: Array
    """Scratch: slopes of one copy's charge in its outputs, shape (d,)."""
    back: Array
    """Scratch: slopes of one copy's charge in the signals of its units, shape (H,)."""


def scratch(copies: int, hidden: int, d: int) -> tuple[Array, Array, Array, Array]:
    """Return what networks are worked out on."""
    return np.ones((copies, hidden + 1)), np.empty((copies, d)), np.empty(d), np.empty(hidden)


@implements(look, Networks)
def look_networks(bank: Networks, t: int, begin: int, desk: Desk) -> None:
    """Write the networks' outputs."""
    copies, hidden, p = bank.inner.shape
    for i in range(copies):
        for h in range(hidden):
            signal = 0.0
            for k in range(p):
                signal += bank.inner[i, h, k] * bank.features[t, k]
            bank.units[i, h] = math.tanh(signal) if bank.tanh else max(signal, 0.0)
        for j in range(bank.outer.shape[1]):
            output = 0.0
            for h in range(hidden + 1):
                output += bank.outer[i, j, h] * bank.units[i, h]
            bank.outputs[i, j] = output
            desk.outputs[begin + i, j] = output


@implements(learn, Networks)
def learn_networks(bank: Networks, t: int, begin: int, desk: Desk) -> None:
    """Backpropagate, step and project every copy."""
    for i in range(bank.inner.shape[0]):
        for j in range(bank.outer.shape[1]):
            bank.slopes[j] = desk.G[begin + i, j] + bank.curvature * bank.outputs[i, j]
        learn_one(t, i, bank)


@inlined
def learn_one(t: int, i: int, bank: Networks) -> None:
    """Let copy i learn from the slopes of its charge."""
    hidden, d = bank.inner.shape[1], bank.outer.shape[1]
    for h in range(hidden):
        bank.back[h] = 0.0
    for j in range(d):
        for h in range(hidden):
            bank.back[h] += bank.slopes[j] * bank.outer[i, j, h]
    norm = 0.0
    for j in range(d):
        norm += step(bank.outer, bank.outer_squares, i, j, bank.slopes[j], bank.units, i, bank.rate)
    if norm > bank.radius * bank.radius:
        for j in range(d):
            shrink(bank.outer, i, j, bank.radius / math.sqrt(norm))
    for h in range(hidden):
        unit = bank.units[i, h]
        slope = bank.back[h] * (1.0 - unit * unit) if bank.tanh else (bank.back[h] if unit > 0.0 else 0.0)
        if slope == 0.0:
            continue  # weights that do not move are in their ball already; of rectified units half are silent
        norm = step(bank.inner, bank.inner_squares, i, h, slope, bank.features, t, bank.rate)
        if norm > bank.radius * bank.radius:
            shrink(bank.inner, i, h, bank.radius / math.sqrt(norm))


@inlined
def step(W: Array, Q: Array, i: int, j: int, slope: float, shown: Array, row: int, rate: float) -> float:
    """Move W[i, j] by AdaGrad's step against slope · shown[row]; return the sum of its squares."""
    norm = 0.0
    for k in range(W.shape[2]):
        s = slope * shown[row, k]
        square = Q[i, j, k] + s * s
        Q[i, j, k] = square
        w = W[i, j, k] - (rate * s / math.sqrt(square) if square > 0.0 else 0.0)
        W[i, j, k] = w
        norm += w * w
    return norm


@inlined
def shrink(W: Array, i: int, j: int, factor: float) -> None:
    """Multiply W[i, j]."""
    for k in range(W.shape[2]):
        W[i, j, k] *= factor
