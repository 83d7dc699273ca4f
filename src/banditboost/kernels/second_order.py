"""The whole loop for second-order learners, compiled.

Roots depend on features alone, so that a copy's are read and changed when it looks, before anyone has played: they come from far
and are still close the second time. Only the weights wait for the gradients.

Copies come in two groups, each with features, weights and roots of its own (`learners.Joined`); the second may be empty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost.kernels.game import Desk, Game, empty_desk, play
from banditboost.kernels.jit import inlined, uncounted
from banditboost.require import Array


class Group(NamedTuple):
    """Copies with features of one kind. N copies, C = 1 or N rows of features a round."""

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
    turned: Array
    """Scratch: f = Sᵀx, shape (C, p)."""
    lever: Array
    """Scratch: l = S f, shape (C, p)."""
    sizes: Array
    """Scratch: q = 1 + c f·f, shape (C,)."""
    outputs: Array
    """Scratch: W·x, shape (N, d)."""


def rounds(first: Group, rest: Group, game: Game) -> None:
    """Play as many rounds as there are features; the groups' weights, roots and sums are learned in place."""
    copies, d = len(first.weights) + len(rest.weights), first.weights.shape[1]
    loop(first, rest, game, empty_desk(copies, d))


@uncounted
def loop(first: Group, rest: Group, game: Game, desk: Desk) -> None:
    """Play."""
    begin = first.weights.shape[0]
    for t in range(first.features.shape[0]):
        look(t, first, 0, desk)
        look(t, rest, begin, desk)
        play(t, game, desk)
        learn(first, 0, desk)
        learn(rest, begin, desk)


@inlined
def look(t: int, group: Group, begin: int, desk: Desk) -> None:
    """Set the desk's dots to the plays of a group whose copies begin there."""
    kinds, p = group.turned.shape
    for c in range(kinds):
        turn(t, c, group)
        total = 0.0
        for j in range(p):
            total += group.turned[c, j] * group.turned[c, j]
        group.sizes[c] = 1.0 + group.curvature * total
        change(c, group)
    for i in range(group.weights.shape[0]):
        c = min(i, kinds - 1)
        factor = 1.0 / group.sizes[c] if group.forward else 1.0
        if group.shrinks:
            factor *= min(max(group.gains[i] / group.costs[i], 0.0), 1.0) if group.costs[i] > 0.0 else 0.0
        for j in range(group.weights.shape[1]):
            dot = 0.0
            for k in range(p):
                dot += group.weights[i, j, k] * group.features[t, c, k]
            group.outputs[i, j] = dot
            desk.dots[begin + i, j] = factor * dot


@inlined
def turn(t: int, c: int, group: Group) -> None:
    """Set f = Sᵀx; four rows of S at a time, since every pass over f waits for the one before, and none where x is zero."""
    p = group.turned.shape[1]
    X, S, f = group.features, group.roots, group.turned
    for j in range(p):
        f[c, j] = 0.0
    fours = p // 4 * 4
    for k in range(0, fours, 4):
        x0, x1, x2, x3 = X[t, c, k], X[t, c, k + 1], X[t, c, k + 2], X[t, c, k + 3]
        if x0 != 0.0 or x1 != 0.0 or x2 != 0.0 or x3 != 0.0:
            for j in range(p):
                f[c, j] += x0 * S[c, k, j] + x1 * S[c, k + 1, j] + x2 * S[c, k + 2, j] + x3 * S[c, k + 3, j]
    for k in range(fours, p):
        x0 = X[t, c, k]
        for j in range(p):
            f[c, j] += x0 * S[c, k, j]


@inlined
def change(c: int, group: Group) -> None:
    """Set l = S f and S to the root after this round, row by row."""
    S, f, q = group.roots, group.turned, group.sizes[c]
    step = group.curvature / (q + math.sqrt(q))
    for k in range(S.shape[1]):
        dot = 0.0
        for j in range(S.shape[1]):
            dot += S[c, k, j] * f[c, j]
        group.lever[c, k] = dot
        scaled = step * dot
        for j in range(S.shape[1]):
            S[c, k, j] -= scaled * f[c, j]


@inlined
def learn(group: Group, begin: int, desk: Desk) -> None:
    """Change the weights by the desk's gradients."""
    kinds, p = group.turned.shape
    for i in range(group.weights.shape[0]):
        c = min(i, kinds - 1)
        for j in range(group.weights.shape[1]):
            output, g = group.outputs[i, j], desk.G[begin + i, j]
            played = output / group.sizes[c] if group.forward else output
            if group.shrinks:
                group.gains[i] -= g * played
                group.costs[i] += group.curvature * played * played
            away = output if group.zero else output - played
            scaled = (g + group.curvature * away) / group.sizes[c]
            for k in range(p):
                group.weights[i, j, k] -= scaled * group.lever[c, k]


def scratch(copies: int, kinds: int, d: int, p: int) -> tuple[Array, Array, Array, Array]:
    """Return what a group is worked out on."""
    return np.empty((kinds, p)), np.empty((kinds, p)), np.empty(kinds), np.empty((copies, d))
