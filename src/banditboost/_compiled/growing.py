"""A forest on the first rows of a memory: they are put into bins, and trees are boosted on them around their mean.

All that is needed is given, and nothing else is touched, so that a thread may do this while rounds go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import KEPT, Bins, Numbers, cut
from banditboost._compiled.categories import INNER, MOST, level_of, usual_level
from banditboost._compiled.histogram import Forest, Room, Rows, boost, leaf_of
from banditboost._compiled.jit import loop, strict
from banditboost._core.checks import Array


class Workshop(NamedTuple):
    """Where forests are grown; nothing in it outlasts the growing."""

    bins: Bins
    held: Rows
    room: Room
    ends: Array
    """The least and the largest pseudo-label, shape (2, d)."""
    stop: Numbers
    """Not zero where the forest is no longer wanted, shape (1,)."""


class Rules(NamedTuple):
    """How trees are grown."""

    trees: int
    rate: float
    ridge: float
    least: float
    growth: float
    lag: float
    first: int


@strict
def grow(
    rows: NDArray[np.float32],
    targets: Array,
    n: int,
    trees: int,
    shop: Workshop,
    rules: Rules,
    forest: Forest,
    mean: Array,
) -> None:
    """Cut bins by the first n rows, and grow a forest on them around their mean."""
    lay_out(rows, n, shop)
    for j in range(targets.shape[1]):
        total = 0.0
        for k in range(n):
            total += targets[k, j]
        mean[j] = total / n
        for k in range(n):
            shop.room.residuals[k, j] = targets[k, j] - mean[j]
    boost(shop.held, n, shop.room, forest, trees, rules.rate, rules.ridge, rules.least, shop.stop)


@strict
def lay_out(rows: NDArray[np.float32], n: int, shop: Workshop) -> None:
    """Put the first n rows into bins."""
    bins, held = shop.bins, shop.held
    kept = min(n, bins.sample.shape[0])
    bins.clock[KEPT] = kept
    known = held.categories
    for k in range(rows.shape[1]):
        if known.kind[k] == INNER:
            bins.offsets[k + 1], bins.usual[k] = bins.offsets[k], 0
            continue
        if known.kind[k] >= 0:
            columns = known.columns[known.kind[k]]
            bins.offsets[k + 1] = bins.offsets[k] + 1 + min(columns[1] - columns[0], MOST)
            bins.usual[k] = usual_level(rows, n, known, known.kind[k])
            continue
        low, high = rows[0, k], rows[0, k]
        for r in range(n):
            low, high = min(low, rows[r, k]), max(high, rows[r, k])
        bins.ends[0, k], bins.ends[1, k] = low, high
        for r in range(kept):
            bins.sample[r, k] = rows[r * n // kept, k]
        cut(bins, k)
    place = 0
    for r in range(n):
        held.starts[r] = place
        for k in range(rows.shape[1]):
            low, high = 0, bins.offsets[k + 1] - bins.offsets[k] - 1
            if known.kind[k] >= 0:
                columns = known.columns[known.kind[k]]
                low = high = level_of(rows[r], columns[0], columns[1])
            while low < high:
                middle = (low + high) // 2
                if rows[r, k] <= bins.edges[k, middle]:
                    high = middle
                else:
                    low = middle + 1
            held.bins[r, k] = low
            if low != bins.usual[k]:
                held.unusual[place] = bins.offsets[k] + low
                place += 1
    held.starts[n] = place


@loop
def grow_apart(
    rows: NDArray[np.float32],
    targets: Array,
    n: int,
    trees: int,
    shop: Workshop,
    rules: Rules,
    forest: Forest,
    mean: Array,
) -> None:
    """Grow a forest on rows that stay as they are meanwhile, without the interpreter's lock: what a thread calls."""
    grow(rows, targets, n, trees, shop, rules, forest, mean)


@loop
def add_up(forest: Forest, X: Array, out: Array) -> None:
    """Add what all trees say about rows to an array of shape (rows, d)."""
    for t in range(X.shape[0]):
        for tree in range(forest.feature.shape[0]):
            leaf = leaf_of(forest, tree, X[t])
            for j in range(out.shape[1]):
                out[t, j] += forest.value[tree, leaf, j]
