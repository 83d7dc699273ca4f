"""Several linear copies on dense contexts, compiled: the weights of one feature in all copies lie side by side.

The same algorithm as in `linear.py`, which is for few copies or many features: one pass updates the weights, takes their norms, and
looks at the next context.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined
from banditboost._compiled.lanes import add, add_product, any_above, load, numbers, spread, spread_at, store
from banditboost._compiled.round import Desk, coordinates, learn, look
from banditboost._compiled.weight_balls import Balls, balls, pull_in, say, steps
from banditboost._core.checks import Array

FEWEST, MOST, FEATURES = 4, 128, 256
"""At least and at most so many columns, and at most so many features, are quicker here than copy by copy, as `linear.py` has
them: many features fill registers by themselves, take no room for columns that count nothing, and are read as they lie."""


class LinearLanes(NamedTuple):
    """Copies, and what they are shown."""

    weights: Balls
    contexts: Array
    rows: NDArray[np.intp]
    """Which contexts are the rounds, shape (T,)."""
    intercept: bool
    rates: Array
    """Shape (T,)."""


def fits(W: Array, contexts: Array) -> bool:
    """Return whether weights of shape (N, d, features and intercept) are quicker here than in `linear.py`."""
    plain = contexts.flags.c_contiguous and contexts.dtype == np.float64
    return bool(plain and FEWEST <= W.shape[0] * W.shape[1] <= MOST and W.shape[2] <= FEATURES)


def form(W: Array, contexts: Array, rows: NDArray[np.intp], rates: Array, radius: float) -> LinearLanes:
    """Return copies that are about to play on contexts[rows]; `weight_balls.collect` brings back what they have learned."""
    return LinearLanes(balls(W, radius), contexts, rows, W.shape[2] > contexts.shape[1], rates)


@implements(look, LinearLanes)
def look_linear_lanes(bank: LinearLanes, t: int, begin: int, desk: Desk) -> None:
    """Write W·x, which was worked out when the round before was learned from; the first is worked out here."""
    if t == 0:
        it, features = bank.weights, bank.contexts.shape[1]
        for c in range(it.dots.shape[0]):
            dot = it.V[features, c] if bank.intercept else 0.0
            for k in range(features):
                dot += it.V[k, c] * bank.contexts[bank.rows[0], k]
            it.dots[c] = dot
    say(bank.weights, begin, desk)


@implements(learn, LinearLanes)
def learn_linear_lanes(bank: LinearLanes, t: int, begin: int, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ) and dots ← V·(the next x) for every copy."""
    it, features, rows = bank.weights, bank.contexts.shape[1], bank.rows
    now, following = rows[t] * features, rows[min(t + 1, len(rows) - 1)] * features
    outside = coordinates(it.dimension) > 1
    for c in range(0, it.V.shape[1], numbers(it.lanes)):
        outside |= pass_over(bank, now, following, c, steps(it, bank.rates[t], begin, desk, c))
    if outside:
        pull_in(it)


@inlined
def pass_over(bank: LinearLanes, now: int, following: int, c: int, step: Any) -> bool:
    """V ← V + x stepᵀ, squares ← squared norms, and dots ← V·(the next x), in columns c and after.

    `now` and `following` are where this context and the next begin. Returns whether a column alone is outside its ball.
    """
    it, contexts, lanes = bank.weights, bank.contexts, bank.weights.lanes
    V, width, features = it.V, it.V.shape[1], contexts.shape[1]
    zero = spread(lanes, 0.0)
    square, dot, other_square, other_dot = zero, zero, zero, zero
    # Two features at a time into sums of their own, since every sum waits for the one before.
    for k in range(0, features - 1, 2):
        place = k * width + c
        v = add_product(load(lanes, V, place), step, spread_at(lanes, contexts, now + k))
        w = add_product(load(lanes, V, place + width), step, spread_at(lanes, contexts, now + k + 1))
        store(V, place, v)
        store(V, place + width, w)
        square, other_square = add_product(square, v, v), add_product(other_square, w, w)
        dot = add_product(dot, v, spread_at(lanes, contexts, following + k))
        other_dot = add_product(other_dot, w, spread_at(lanes, contexts, following + k + 1))
    if features % 2 == 1:
        k = features - 1
        v = add_product(load(lanes, V, k * width + c), step, spread_at(lanes, contexts, now + k))
        store(V, k * width + c, v)
        square, dot = add_product(square, v, v), add_product(dot, v, spread_at(lanes, contexts, following + k))
    if bank.intercept:
        w = add(load(lanes, V, features * width + c), step)
        store(V, features * width + c, w)
        other_square, other_dot = add_product(other_square, w, w), add(other_dot, w)
    square = add(square, other_square)
    store(it.squares, c, square)
    store(it.dots, c, add(dot, other_dot))
    return any_above(square, load(lanes, it.bounds, c))
