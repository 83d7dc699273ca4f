"""The whole loop for linear learners, compiled: the same trajectory as the plain path, a hundred times as fast."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, uncounted
from banditboost._core.checks import Array


def rounds(W: Array, X: Array, rows: NDArray[np.intp], game: Game) -> None:
    """Play len(rows) rounds on the contexts X[rows]; W, shape (N, d, features and intercept), is learned in place."""
    desk, seen = empty_desk(W.shape[0], W.shape[1]), np.ones((2, W.shape[2]))
    seen[0, : X.shape[1]] = X[rows[0]]
    np.matmul(W, seen[0], out=desk.dots)
    loop(W, X, rows, seen, game, desk)
    W *= desk.scales[:, np.newaxis, np.newaxis]


@uncounted
def loop(V: Array, X: Array, rows: NDArray[np.intp], seen: Array, game: Game, desk: Desk) -> None:
    """Play, with W = scale · V. `seen` holds this context and the next, a constant 1 after them where there is an intercept."""
    for t in range(len(rows)):
        play(t, game, desk)
        now, following = t % 2, (t + 1) % 2
        # Copied to where every copy can read it fast: the table itself may be far larger than any cache.
        row = rows[min(t + 1, len(rows) - 1)]
        for k in range(X.shape[1]):
            seen[following, k] = X[row, k]
        learn(V, seen, now, following, game.rates[t], game.radius, desk)


@inlined
def learn(V: Array, seen: Array, now: int, following: int, rate: float, radius: float, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ) and dots ← V·(the next x) for every copy, in one pass over the weights."""
    for i in range(V.shape[0]):
        rescaled, total = rate / desk.scales[i], 0.0
        for j in range(V.shape[1]):
            step, dot = rescaled * desk.G[i, j], 0.0
            for k in range(V.shape[2]):
                v = V[i, j, k] - step * seen[now, k]
                V[i, j, k] = v
                total += v * v
                dot += v * seen[following, k]
            desk.dots[i, j] = dot
        if desk.scales[i] * desk.scales[i] * total > radius * radius:
            desk.scales[i] = radius / math.sqrt(total)
            if desk.scales[i] < 1e-6:
                fold(V, i, desk)


@inlined
def fold(V: Array, i: int, desk: Desk) -> None:
    """Multiply a copy's scale into its weights, before it gets lost in their size."""
    for j in range(V.shape[1]):
        desk.dots[i, j] *= desk.scales[i]
        for k in range(V.shape[2]):
            V[i, j, k] *= desk.scales[i]
    desk.scales[i] = 1.0
