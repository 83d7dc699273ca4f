"""The whole loop for coin betting, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, uncounted
from banditboost._compiled.touched import Sparse, dot, gather
from banditboost._core.checks import Array


class Purse(NamedTuple):
    """What bettors know: all learned, shape (N, d, p), but for the scales, shape (1 or N, p), and the first fortune."""

    weights: Array
    bounds: Array
    lengths: Array
    sums: Array
    rewards: Array
    scales: Array
    fortune: float


def sparse_rounds(purse: Purse, X: Sparse, game: Game) -> None:
    """Play as many rounds as X has; a round costs a copy as much as its context has non-zeros."""
    copies, d, _ = purse.weights.shape
    sparse_loop(purse, X, game, empty_desk(copies, d))


@uncounted
def sparse_loop(purse: Purse, X: Sparse, game: Game, desk: Desk) -> None:
    """Play."""
    copies, d = desk.G.shape
    for t in range(len(X.rows)):
        touched = gather(t, X, purse.scales)
        for i in range(copies):
            for j in range(d):
                desk.dots[i, j] = dot(purse.weights, i, j, X, touched)
        play(t, game, desk)
        for i in range(copies):
            for j in range(d):
                for m in range(touched):
                    bet(purse, i, j, X.at[m], desk.G[i, j] * X.z[m])


def rounds(purse: Purse, F: Array, game: Game) -> None:
    """Play len(F) rounds on features F, shape (T, 1 or N, p)."""
    copies, d, _ = purse.weights.shape
    loop(purse, F, np.empty(purse.scales.shape), game, empty_desk(copies, d))


@uncounted
def loop(purse: Purse, F: Array, z: Array, game: Game, desk: Desk) -> None:
    """Play; z is scratch."""
    kinds, p = z.shape
    for t in range(F.shape[0]):
        for c in range(kinds):
            for k in range(p):
                size = max(purse.scales[c, k], abs(F[t, c, k]))
                purse.scales[c, k] = size
                z[c, k] = F[t, c, k] / size if size > 0.0 else 0.0
        for i in range(purse.weights.shape[0]):
            c = min(i, kinds - 1)
            for j in range(purse.weights.shape[1]):
                total = 0.0
                for k in range(p):
                    total += purse.weights[i, j, k] * z[c, k]
                desk.dots[i, j] = total
        play(t, game, desk)
        for i in range(purse.weights.shape[0]):
            for j in range(purse.weights.shape[1]):
                for k in range(p):
                    bet(purse, i, j, k, desk.G[i, j] * z[min(i, kinds - 1), k])


@inlined
def bet(purse: Purse, i: int, j: int, k: int, h: float) -> None:
    """Settle one bet and place a new one; where the gradient is zero it stays as it is."""
    if h != 0.0:
        bound = purse.bounds[i, j, k]
        clipped = min(max(h, -bound), bound)
        bound = max(bound, abs(h))
        length = purse.lengths[i, j, k] + abs(clipped)
        total = purse.sums[i, j, k] - clipped
        reward = purse.rewards[i, j, k] - clipped * purse.weights[i, j, k]
        purse.bounds[i, j, k], purse.lengths[i, j, k] = bound, length
        purse.sums[i, j, k], purse.rewards[i, j, k] = total, reward
        purse.weights[i, j, k] = total / (bound * (length + bound)) * (purse.fortune * bound + reward)
