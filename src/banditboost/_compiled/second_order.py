"""The whole loop for second-order learners, compiled.

Roots depend on features alone, so that a copy's are read and changed when it looks, before anyone has played: once
from far, half a matrix per copy. Only the weights wait for the gradients.

Copies come in two groups, each with features, weights and roots of its own (`learners.Mixed`); the second may be empty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, uncounted
from banditboost._core.checks import Array


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
    lever: Array
    """Scratch: A⁻¹x, shape (C, p)."""
    sizes: Array
    """Scratch: 1 + c x·A⁻¹x, shape (C,)."""
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
    kinds, p = group.lever.shape
    for c in range(kinds):
        count_in(t, c, group)
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
def count_in(t: int, c: int, group: Group) -> None:
    """Count the round's features in: set lever to A⁻¹x for A as it was, the size to 1 + c x·A⁻¹x, and the root to the next one.

    Row j of the root is the only one touched while it is close, up to its diagonal.
    """
    X, U, b = group.features, group.roots, group.lever
    alpha = 1.0 / group.curvature
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
    group.sizes[c] = group.curvature * alpha


@inlined
def learn(group: Group, begin: int, desk: Desk) -> None:
    """Change the weights by the desk's gradients."""
    kinds, p = group.lever.shape
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


def scratch(copies: int, kinds: int, d: int, p: int) -> tuple[Array, Array, Array]:
    """Return what a group is worked out on."""
    return np.empty((kinds, p)), np.empty(kinds), np.empty((copies, d))
