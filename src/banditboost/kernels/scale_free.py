"""The whole loop for normalised adaptive gradient descent, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost.kernels.game import Desk, Game, empty_desk, play
from banditboost.kernels.jit import inlined, uncounted
from banditboost.require import Array


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
                dot = 0.0
                for k in range(p):
                    dot += U[i, j, k] * z[c, k]
                desk.dots[i, j] = dot
        play(t, game, desk)
        learn(copies, told + t + 1, z, shrinks, desk)


@inlined
def learn(copies: Copies, told: int, z: Array, shrinks: Array, desk: Desk) -> None:
    """Step every weight, then project every copy on its ball."""
    U, squares, totals, radius = copies.U, copies.squares, copies.totals, copies.radius
    for i in range(U.shape[0]):
        c, norm = min(i, z.shape[0] - 1), 0.0
        pace = copies.rate * math.sqrt(told / totals[c]) if totals[c] > 0.0 else 0.0
        for j in range(U.shape[1]):
            copies.largest[i] = max(copies.largest[i], abs(desk.G[i, j]))
        floor = copies.floor * copies.largest[i]
        for j in range(U.shape[1]):
            for k in range(U.shape[2]):
                slope = desk.G[i, j] * z[c, k]
                square = squares[i, j, k] * shrinks[c, k] + slope * slope
                squares[i, j, k] = square
                length = math.sqrt(square) + floor
                if length > 0.0:
                    U[i, j, k] -= pace * slope / length
                norm += U[i, j, k] * U[i, j, k]
        if norm > radius * radius:
            scale = radius / math.sqrt(norm)
            for j in range(U.shape[1]):
                for k in range(U.shape[2]):
                    U[i, j, k] *= scale
