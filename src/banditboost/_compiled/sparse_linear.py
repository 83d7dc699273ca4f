"""The loop for linear learners on sparse contexts, compiled: a round costs a copy as much as its context has non-zeros.

The same algorithm as on dense contexts, in three places written so that no zero is touched:

- Weights are kept as W = scale · V: projecting on the ball changes the scale.
- ‖V‖² is tracked instead of summed (`weight_balls.py`).
- Weights are turned so that those of one feature in all copies lie side by side: a non-zero touches one stretch of memory. Turning
  them there and back is two passes over the weights per block.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import at, inlined, prefetch
from banditboost._compiled.lanes import add, add_product, load, numbers, spread, spread_at, store
from banditboost._compiled.round import Desk, coordinates, learn, look
from banditboost._compiled.weight_balls import Balls, balls, lengthen, pull_in, say, steps
from banditboost._core.checks import Array

Indices = NDArray[np.int32]


class SparseLinear(NamedTuple):
    """Copies, and what they are shown."""

    weights: Balls
    data: Array
    indices: Indices
    ends: Indices
    """The contexts, canonical CSR."""
    rows: NDArray[np.intp]
    """Which contexts are the rounds, shape (T,)."""
    intercept: bool
    rates: Array
    """Shape (T,)."""


def form(W: Array, X: csr_array, rows: NDArray[np.intp], rates: Array, radius: float) -> SparseLinear:
    """Return copies that are about to play on the contexts X[rows]; `weight_balls.collect` brings back what they have learned."""
    indices = X.indices.view(f"u{X.indices.itemsize}")  # what cannot be negative spares a check at every use
    data, places, ends = cast("tuple[Array, Indices, Indices]", (X.data, indices, X.indptr))
    return SparseLinear(balls(W, radius), data, places, ends, rows, W.shape[2] > X.shape[1], rates)


@implements(look, SparseLinear)
def look_sparse(bank: SparseLinear, t: int, begin: int, desk: Desk) -> None:
    """Write W·x over the non-zeros of x, and ask for those that are due in a while."""
    row, ahead = at(bank.rows, t), at(bank.rows, min(t + 2, len(bank.rows) - 1))
    expect(bank.data, bank.indices, at(bank.ends, ahead), at(bank.ends, ahead + 1))
    for c in range(0, bank.weights.V.shape[1], numbers(bank.weights.lanes)):
        say(bank.weights, begin, desk, c, multiplied_out(bank, at(bank.ends, row), at(bank.ends, row + 1), c))


@implements(learn, SparseLinear)
def learn_sparse(bank: SparseLinear, t: int, begin: int, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ), in the rows where x is not zero."""
    it, first, end = bank.weights, at(bank.ends, at(bank.rows, t)), at(bank.ends, at(bank.rows, t) + 1)
    length = 1.0 if bank.intercept else 0.0
    for n in range(first, end):
        length += at(bank.data, n) * at(bank.data, n)
    outside = coordinates(it.dimension) > 1
    for c in range(0, it.V.shape[1], numbers(it.lanes)):
        step = steps(it, bank.rates[t], begin, desk, c)
        outside |= lengthen(it, step, length, c)
        take_step(bank, first, end, c, step)
    if outside:
        pull_in(it)


@inlined
def expect(data: Array, indices: Indices, begin: int, end: int) -> None:
    """Ask for the non-zeros begin ... end-1, which are due in a while; a line of memory holds eight numbers or more."""
    for n in range(begin, end, 8):
        prefetch(data, n)
        prefetch(indices, n)
    prefetch(data, end - 1)
    prefetch(indices, end - 1)


@inlined
def place(bank: SparseLinear, n: int, c: int) -> int:
    """Return where in V column c of the feature of a non-zero is."""
    return np.intp(at(bank.indices, n)) * bank.weights.V.shape[1] + c  # type: ignore[no-any-return]


@inlined
def multiplied_out(bank: SparseLinear, begin: int, end: int, c: int) -> Any:
    """Return V·x over the non-zeros begin ... end-1, in columns c and after."""
    V, data, lanes = bank.weights.V, bank.data, bank.weights.lanes
    dot, other = spread(lanes, 0.0), spread(lanes, 0.0)
    if bank.intercept:
        dot = load(lanes, V, (V.shape[0] - 1) * V.shape[1] + c)
    # Two at a time into sums of their own, since every sum waits for the one before.
    for n in range(begin, end - 1, 2):
        dot = add_product(dot, load(lanes, V, place(bank, n, c)), spread_at(lanes, data, n))
        other = add_product(other, load(lanes, V, place(bank, n + 1, c)), spread_at(lanes, data, n + 1))
    if (end - begin) % 2 == 1:
        dot = add_product(dot, load(lanes, V, place(bank, end - 1, c)), spread_at(lanes, data, end - 1))
    return add(dot, other)


@inlined
def take_step(bank: SparseLinear, begin: int, end: int, c: int, step: Any) -> None:
    """V ← V + x stepᵀ, in the rows where x is not zero, and in columns c and after."""
    V, lanes = bank.weights.V, bank.weights.lanes
    for n in range(begin, end):
        here = place(bank, n, c)
        store(V, here, add_product(load(lanes, V, here), step, spread_at(lanes, bank.data, n)))
    if bank.intercept:
        last = (V.shape[0] - 1) * V.shape[1] + c
        store(V, last, add(load(lanes, V, last), step))
