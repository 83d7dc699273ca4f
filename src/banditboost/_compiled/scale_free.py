"""Normalised adaptive gradient descent, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._compiled.units import at, dot, gather, ratio, unit
from banditboost._core.checks import Array


class ScaleFree(NamedTuple):
    """What copies know and have learned, their settings, and what they are shown."""

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
    """Of the ball of weights; infinite where contexts are sparse."""
    floor: float
    rounds_done: int
    """Rounds that were learned from before this block."""
    shown: Any
    entries: Array
    """How many entries the present round has, shape (1,)."""


@implements(look, ScaleFree)
def look_scale_free(bank: ScaleFree, t: int, begin: int, desk: Desk) -> None:
    """Write u·z for every copy."""
    kinds, entries = bank.scales.shape[0], gather(bank.shown, t, bank.scales)
    bank.entries[0] = entries
    for c in range(kinds):
        for m in range(entries):
            bank.totals[c] += unit(bank.shown, c, m) * unit(bank.shown, c, m)
    for i in range(bank.U.shape[0]):
        for j in range(bank.U.shape[1]):
            desk.outputs[begin + i, j] = dot(bank.U, i, j, bank.shown, min(i, kinds - 1), entries)


@implements(learn, ScaleFree)
def learn_scale_free(bank: ScaleFree, t: int, begin: int, desk: Desk) -> None:
    """Step every weight whose feature is not zero, then project every copy on its ball."""
    U, entries = bank.U, int(bank.entries[0])
    for i in range(U.shape[0]):
        c, norm = min(i, bank.scales.shape[0] - 1), 0.0
        for j in range(U.shape[1]):
            bank.largest[i] = max(bank.largest[i], abs(desk.G[begin + i, j]))
        pace, floor = 0.0, bank.floor * bank.largest[i]
        if bank.totals[c] > 0.0:
            pace = bank.rate * math.sqrt((bank.rounds_done + t + 1) / bank.totals[c])
        for j in range(U.shape[1]):
            for m in range(entries):
                k, shrink = at(bank.shown, m), ratio(bank.shown, c, m)
                step(bank, i, j, k, desk.G[begin + i, j] * unit(bank.shown, c, m), shrink * shrink, pace, floor)
                norm += U[i, j, k] * U[i, j, k]
        if norm > bank.radius * bank.radius:
            scale = bank.radius / math.sqrt(norm)
            for j in range(U.shape[1]):
                for k in range(U.shape[2]):
                    U[i, j, k] *= scale


@inlined
def step(bank: ScaleFree, i: int, j: int, k: int, slope: float, shrink: float, pace: float, floor: float) -> None:
    """Step one weight."""
    square = bank.squares[i, j, k] * shrink + slope * slope
    bank.squares[i, j, k] = square
    length = math.sqrt(square) + floor
    if length > 0.0:
        bank.U[i, j, k] -= pace * slope / length
