"""Copies that see no feature, compiled: what `banditboost.learners.Level` explains."""

from __future__ import annotations

from typing import NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array


class Level(NamedTuple):
    """Minus the sums of gradients, shape (N, d), and λ + c t, shape (N,)."""

    sums: Array
    weights: Array
    curvature: float
    latest: bool


@implements(look, Level)
def look_level(bank: Level, t: int, begin: int, desk: Desk) -> None:
    """Write the means."""
    for i in range(bank.sums.shape[0]):
        for j in range(bank.sums.shape[1]):
            desk.outputs[begin + i, j] = bank.sums[i, j] / bank.weights[i]


@implements(learn, Level)
def learn_level(bank: Level, t: int, begin: int, desk: Desk) -> None:
    """Add a round, or forget all others."""
    for i in range(bank.sums.shape[0]):
        bank.weights[i] = bank.curvature + (0.0 if bank.latest else bank.weights[i])
        for j in range(bank.sums.shape[1]):
            if not bank.latest:
                bank.sums[i, j] -= desk.G[begin + i, j]
            elif desk.G[begin + i, j] != 0.0:
                bank.sums[i, j] = -desk.G[begin + i, j]
