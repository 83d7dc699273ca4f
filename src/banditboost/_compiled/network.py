"""The whole loop for networks with one hidden layer, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, uncounted
from banditboost._core.checks import Array


class Nets(NamedTuple):
    """What networks have learned, their settings, and what a round is worked out on. N copies, H hidden units."""

    inner: Array
    """Learned, shape (N, H, p)."""
    outer: Array
    """Learned, shape (N, d, H + 1)."""
    inner_squares: Array
    outer_squares: Array
    rate: float
    curvature: float
    radius: float
    tanh: bool
    units: Array
    """Scratch: what hidden units say, and the constant 1, shape (N, H + 1)."""
    back: Array
    """Scratch: slopes of one copy's charge in the signals of its units, shape (H,)."""


def scratch(copies: int, hidden: int) -> tuple[Array, Array]:
    """Return what networks are worked out on."""
    return np.ones((copies, hidden + 1)), np.empty(hidden)


def rounds(nets: Nets, F: Array, game: Game) -> None:
    """Play len(F) rounds on features F, shape (T, p), the constant included."""
    loop(nets, F, game, empty_desk(nets.outer.shape[0], nets.outer.shape[1]))


@uncounted
def loop(nets: Nets, F: Array, game: Game, desk: Desk) -> None:
    """Play."""
    for t in range(F.shape[0]):
        look(t, nets, F, desk)
        play(t, game, desk)
        for i in range(nets.inner.shape[0]):
            learn(t, i, nets, F, desk)


@inlined
def look(t: int, nets: Nets, F: Array, desk: Desk) -> None:
    """Set the desk's dots to the networks' outputs."""
    copies, hidden, p = nets.inner.shape
    for i in range(copies):
        for h in range(hidden):
            signal = 0.0
            for k in range(p):
                signal += nets.inner[i, h, k] * F[t, k]
            nets.units[i, h] = math.tanh(signal) if nets.tanh else max(signal, 0.0)
        for j in range(nets.outer.shape[1]):
            output = 0.0
            for h in range(hidden + 1):
                output += nets.outer[i, j, h] * nets.units[i, h]
            desk.dots[i, j] = output


@inlined
def learn(t: int, i: int, nets: Nets, F: Array, desk: Desk) -> None:
    """Backpropagate, step and project one copy; its gradient on the desk becomes the slope of what it is charged."""
    hidden, d = nets.inner.shape[1], nets.outer.shape[1]
    for h in range(hidden):
        nets.back[h] = 0.0
    for j in range(d):
        desk.G[i, j] += nets.curvature * desk.dots[i, j]
        for h in range(hidden):
            nets.back[h] += desk.G[i, j] * nets.outer[i, j, h]
    norm = 0.0
    for j in range(d):
        norm += step(nets.outer, nets.outer_squares, i, j, desk.G[i, j], nets.units, i, nets.rate)
    if norm > nets.radius * nets.radius:
        for j in range(d):
            shrink(nets.outer, i, j, nets.radius / math.sqrt(norm))
    for h in range(hidden):
        unit = nets.units[i, h]
        slope = nets.back[h] * (1.0 - unit * unit) if nets.tanh else (nets.back[h] if unit > 0.0 else 0.0)
        if slope == 0.0:
            continue  # weights that do not move are in their ball already; of rectified units half are silent
        norm = step(nets.inner, nets.inner_squares, i, h, slope, F, t, nets.rate)
        if norm > nets.radius * nets.radius:
            shrink(nets.inner, i, h, nets.radius / math.sqrt(norm))


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
