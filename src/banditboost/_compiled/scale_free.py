"""The whole loop for normalised adaptive gradient descent, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, uncounted
from banditboost._compiled.touched import Sparse, dot, gather
from banditboost._core.checks import Array


class Copies(NamedTuple):
    """What copies know and have learned, and their settings."""

    U: Array
    """Shape (N, d, p)."""
    squares: Array
    """Shape (N, d, p)."""
    largest: Array
    """Shape (N,)."""
    scales: Array
    """Shape (1 or N, p)."""
    totals: Array
    """Shape (1 or N,)."""
    rate: float
    radius: float
    floor: float


def rounds(copies: Copies, F: Array, told: int, game: Game) -> None:
    """Play len(F) rounds on features F, shape (T, 1 or N, p), after `told` others; the copies learn."""
    z, shrinks = np.empty(copies.scales.shape), np.empty(copies.scales.shape)
    loop(copies, F, told, z, shrinks, game, empty_desk(copies.U.shape[0], copies.U.shape[1]))


@uncounted
def loop(copies: Copies, F: Array, told: int, z: Array, shrinks: Array, game: Game, desk: Desk) -> None:
    """Play; z and shrinks are scratch."""
    U, scales, totals = copies.U, copies.scales, copies.totals
    kinds, p = scales.shape
    for t in range(F.shape[0]):
        for c in range(kinds):
            for k in range(p):
                size = max(scales[c, k], abs(F[t, c, k]))
                z[c, k] = F[t, c, k] / size if size > 0.0 else 0.0
                shrinks[c, k] = (scales[c, k] / size) ** 2 if size > 0.0 else 0.0
                scales[c, k] = size
                totals[c] += z[c, k] * z[c, k]
        for i in range(U.shape[0]):
            c = min(i, kinds - 1)
            for j in range(U.shape[1]):
                total = 0.0
                for k in range(p):
                    total += U[i, j, k] * z[c, k]
                desk.dots[i, j] = total
        play(t, game, desk)
        learn(copies, told + t + 1, z, shrinks, desk)


@inlined
def learn(copies: Copies, told: int, z: Array, shrinks: Array, desk: Desk) -> None:
    """Step every weight, then project every copy on its ball."""
    U = copies.U
    for i in range(U.shape[0]):
        c, norm = min(i, z.shape[0] - 1), 0.0
        pace, floor = ready(copies, i, c, told, desk)
        for j in range(U.shape[1]):
            for k in range(U.shape[2]):
                step(copies, i, j, k, desk.G[i, j] * z[c, k], shrinks[c, k], pace, floor)
                norm += U[i, j, k] * U[i, j, k]
        if norm > copies.radius * copies.radius:
            scale = copies.radius / math.sqrt(norm)
            for j in range(U.shape[1]):
                for k in range(U.shape[2]):
                    U[i, j, k] *= scale


@inlined
def ready(copies: Copies, i: int, c: int, told: int, desk: Desk) -> tuple[float, float]:
    """Return the pace η √(t/N), and the floor, of a copy that is about to learn."""
    for j in range(desk.G.shape[1]):
        copies.largest[i] = max(copies.largest[i], abs(desk.G[i, j]))
    pace = copies.rate * math.sqrt(told / copies.totals[c]) if copies.totals[c] > 0.0 else 0.0
    return pace, copies.floor * copies.largest[i]


@inlined
def step(copies: Copies, i: int, j: int, k: int, slope: float, shrink: float, pace: float, floor: float) -> None:
    """Step one weight."""
    square = copies.squares[i, j, k] * shrink + slope * slope
    copies.squares[i, j, k] = square
    length = math.sqrt(square) + floor
    if length > 0.0:
        copies.U[i, j, k] -= pace * slope / length


def sparse_rounds(copies: Copies, X: Sparse, told: int, game: Game) -> None:
    """Play as many rounds as X has, after `told` others; without a ball, a round costs a copy as much as it has non-zeros."""
    sparse_loop(copies, X, told, game, empty_desk(copies.U.shape[0], copies.U.shape[1]))


@uncounted
def sparse_loop(copies: Copies, X: Sparse, told: int, game: Game, desk: Desk) -> None:
    """Play; the radius must be infinite."""
    for t in range(len(X.rows)):
        touched = gather(t, X, copies.scales)
        for m in range(touched):
            copies.totals[0] += X.z[m] * X.z[m]
        for i in range(desk.G.shape[0]):
            for j in range(desk.G.shape[1]):
                desk.dots[i, j] = dot(copies.U, i, j, X, touched)
        play(t, game, desk)
        for i in range(desk.G.shape[0]):
            pace, floor = ready(copies, i, 0, told + t + 1, desk)
            for j in range(desk.G.shape[1]):
                for m in range(touched):
                    step(copies, i, j, X.at[m], desk.G[i, j] * X.z[m], X.ratios[m] * X.ratios[m], pace, floor)
