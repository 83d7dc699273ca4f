"""Several linear copies on dense contexts, compiled: the weights of one feature in all copies lie side by side.

The same algorithm as in `linear.py`, which is for few copies or many features: one pass updates the weights and looks at the next
context. It looks with the weights as they were, and the product of both contexts says what the step changes: so the pass, which is
long, can begin before the step is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import at, inlined
from banditboost._compiled.lanes import add, add_product, load, numbers, spread, spread_at, store
from banditboost._compiled.round import Desk, coordinates, learn, look
from banditboost._compiled.weight_balls import Balls, balls, lengthen, pull_in, say, steps
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
    it, features = bank.weights, bank.contexts.shape[1]
    if t == 0:
        for c in range(it.dots.shape[0]):
            dot = it.V[features, c] if bank.intercept else 0.0
            for k in range(features):
                dot += it.V[k, c] * bank.contexts[bank.rows[0], k]
            it.dots[c] = dot
    for c in range(0, it.V.shape[1], numbers(it.lanes)):
        say(it, begin, desk, c, load(it.lanes, it.dots, c))


@implements(learn, LinearLanes)
def learn_linear_lanes(bank: LinearLanes, t: int, begin: int, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ) and dots ← V·(the next x) for every copy."""
    it, features, rows = bank.weights, bank.contexts.shape[1], bank.rows
    now, following = rows[t] * features, rows[min(t + 1, len(rows) - 1)] * features
    length, common = products(bank, now, following)
    outside = coordinates(it.dimension) > 1
    for c in range(0, it.V.shape[1], numbers(it.lanes)):
        step = steps(it, bank.rates[t], begin, desk, c)
        outside |= lengthen(it, step, length, c)
        ahead = pass_over(bank, now, following, c, step)
        store(it.dots, c, add_product(ahead, step, spread(it.lanes, common)))
    if outside:
        pull_in(it)


@inlined
def products(bank: LinearLanes, now: int, following: int) -> tuple[float, float]:
    """Return the products of this context with itself and with the next; they begin at `now` and `following`."""
    length, common = (1.0, 1.0) if bank.intercept else (0.0, 0.0)
    for k in range(bank.contexts.shape[1]):
        length += at(bank.contexts, now + k) * at(bank.contexts, now + k)
        common += at(bank.contexts, now + k) * at(bank.contexts, following + k)
    return length, common


@inlined
def pass_over(bank: LinearLanes, now: int, following: int, c: int, step: Any) -> Any:
    """V ← V + x stepᵀ, in columns c and after; return V·(the next x) before that, which need not wait for the step."""
    V, contexts, lanes, width = bank.weights.V, bank.contexts, bank.weights.lanes, bank.weights.V.shape[1]
    dot, other, features = spread(lanes, 0.0), spread(lanes, 0.0), contexts.shape[1]
    # Two features at a time into sums of their own, since every sum waits for the one before.
    for k in range(0, features - 1, 2):
        place = k * width + c
        v, w = load(lanes, V, place), load(lanes, V, place + width)
        store(V, place, add_product(v, step, spread_at(lanes, contexts, now + k)))
        store(V, place + width, add_product(w, step, spread_at(lanes, contexts, now + k + 1)))
        dot = add_product(dot, v, spread_at(lanes, contexts, following + k))
        other = add_product(other, w, spread_at(lanes, contexts, following + k + 1))
    if features % 2 == 1:
        k = features - 1
        v = load(lanes, V, k * width + c)
        store(V, k * width + c, add_product(v, step, spread_at(lanes, contexts, now + k)))
        dot = add_product(dot, v, spread_at(lanes, contexts, following + k))
    if bank.intercept:
        w = load(lanes, V, features * width + c)
        store(V, features * width + c, add(w, step))
        other = add(other, w)
    return add(dot, other)
