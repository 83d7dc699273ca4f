"""FKM on the weights of linear models, compiled: many settings on the same rounds, which ask about the same directions.

A round draws N unit vectors u_k in the space of weights. Since ℓ((w + δu_k)·x) = ℓ(w·x + δ u_k·x), the products u_k·x are made once
for all settings, and a setting's step is one weighted sum of the directions:

    w  ←  Π_R( w - rate(t) · (d/(δN)) Σ_k ℓ̃(w·x + δ u_k·x) u_k )          Π_R: projection on the ball of radius R

What is predicted is w·x projected on the interval [low, high]; queries are not projected.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.losses import value_on_the_line
from banditboost._core.checks import Array


class Rounds(NamedTuple):
    """What S settings meet in T rounds, and where their traces go."""

    contexts: Array
    """Shape (T, d), the constant included."""
    labels: Array
    """Shape (T, 1)."""
    directions: Array
    """Shape (T, N, d)."""
    noise: Array
    """Shape (T, N)."""
    rates: Array
    """Shape (T, S)."""
    radii: Array
    """Shape (S,)."""
    delta: float
    low: float
    high: float
    loss: Any
    predictions: Array
    losses: Array
    paid: Array
    """Written, each of shape (T, S)."""


@loop
def fkm_rounds(W: Array, it: Rounds, reach: Array, pulls: Array, room: Array) -> None:
    """Play all rounds; the weights W, shape (S, d), learn in place.

    Parameters
    ----------
    W
        Weights, one row for each setting.
    it
        The rounds.
    reach, pulls
        Scratch, shape (N,): what each query adds to w·x, and what its direction is multiplied by.
    room
        Scratch, shape (1, 1), for losses.
    """
    d, queries = W.shape[1], len(reach)
    factor = d / (it.delta * queries)
    for t in range(len(it.labels)):
        for k in range(queries):
            total = 0.0
            for j in range(d):
                total += it.directions[t, k, j] * it.contexts[t, j]
            reach[k] = it.delta * total
        for s in range(W.shape[0]):
            wish = 0.0
            for j in range(d):
                wish += W[s, j] * it.contexts[t, j]
            y = min(max(wish, it.low), it.high)
            it.predictions[t, s] = y
            it.losses[t, s] = value_on_the_line(it.loss, y, it.labels, t, room)
            it.paid[t, s] = ask(t, wish, it.rates[t, s] * factor, it, reach, pulls, room)
            descend(t, W, s, it, pulls)


@inlined
def ask(t: int, wish: float, scale: float, it: Rounds, reach: Array, pulls: Array, room: Array) -> float:
    """Fill in what every direction is multiplied by, and return the mean loss of the queries."""
    total = 0.0
    for k in range(len(reach)):
        answer = value_on_the_line(it.loss, wish + reach[k], it.labels, t, room)
        pulls[k] = scale * (answer + it.noise[t, k])
        total += answer
    return total / len(reach)


@inlined
def descend(t: int, W: Array, s: int, it: Rounds, pulls: Array) -> None:
    """Take the step of setting s, and project its weights on their ball."""
    for k in range(len(pulls)):
        pull = pulls[k]
        for j in range(W.shape[1]):
            W[s, j] -= pull * it.directions[t, k, j]
    square, radius = 0.0, it.radii[s]
    for j in range(W.shape[1]):
        square += W[s, j] * W[s, j]
    if square > radius * radius:
        shrink = radius / math.sqrt(square)
        for j in range(W.shape[1]):
            W[s, j] *= shrink
