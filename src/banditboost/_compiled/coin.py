"""Coin betting, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._compiled.units import at, dot, gather, unit
from banditboost._core.checks import Array


class Coin(NamedTuple):
    """What bettors know: all learned, shape (N, d, p), but for the scales, shape (1 or N, p), and the first fortune."""

    weights: Array
    bounds: Array
    lengths: Array
    sums: Array
    rewards: Array
    scales: Array
    fortune: float
    shown: Any
    entries: Array
    """How many entries the present round has, shape (1,)."""


@implements(look, Coin)
def look_coin(bank: Coin, t: int, begin: int, desk: Desk) -> None:
    """Write what the bets say."""
    kinds, entries = bank.scales.shape[0], gather(bank.shown, t, bank.scales)
    bank.entries[0] = entries
    for i in range(bank.weights.shape[0]):
        for j in range(bank.weights.shape[1]):
            desk.outputs[begin + i, j] = dot(bank.weights, i, j, bank.shown, min(i, kinds - 1), entries)


@implements(learn, Coin)
def learn_coin(bank: Coin, t: int, begin: int, desk: Desk) -> None:
    """Settle every bet and place a new one."""
    entries = int(bank.entries[0])
    for i in range(bank.weights.shape[0]):
        c = min(i, bank.scales.shape[0] - 1)
        for j in range(bank.weights.shape[1]):
            for m in range(entries):
                bet(bank, i, j, at(bank.shown, m), desk.G[begin + i, j] * unit(bank.shown, c, m))


@inlined
def bet(bank: Coin, i: int, j: int, k: int, h: float) -> None:
    """Settle one bet and place a new one; where the gradient is zero it stays as it is."""
    if h != 0.0:
        bound = bank.bounds[i, j, k]
        clipped = min(max(h, -bound), bound)
        bound = max(bound, abs(h))
        length = bank.lengths[i, j, k] + abs(clipped)
        total = bank.sums[i, j, k] - clipped
        reward = bank.rewards[i, j, k] - clipped * bank.weights[i, j, k]
        bank.bounds[i, j, k], bank.lengths[i, j, k] = bound, length
        bank.sums[i, j, k], bank.rewards[i, j, k] = total, reward
        bank.weights[i, j, k] = total / (bound * (length + bound)) * (bank.fortune * bound + reward)
