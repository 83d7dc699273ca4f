"""A forest on the first rows of a memory: they are put into bins, and trees are boosted on them around their mean.

All that is needed is given, and nothing else is touched, so that a thread may do this while rounds go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import KEPT, Bins, Numbers, cut
from banditboost._compiled.boosting import boost
from banditboost._compiled.categories import INNER, MOST, level_of, usual_level
from banditboost._compiled.forest import Forest, leaf_of
from banditboost._compiled.histogram import NONE, Room, Rows
from banditboost._compiled.jit import loop, strict
from banditboost._core.checks import Array

WORTH = 16
"""A bin is the usual one of its feature where it has at least so many rows for each bin of the feature."""
BLOCK = 64
"""Rows whose bins are found together."""


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
    """Put the first n rows into bins; rows are read one after the other, as they lie in memory."""
    bins, known = shop.bins, shop.held.categories
    take_sample(rows, n, bins)
    for k in range(rows.shape[1]):
        if known.kind[k] == INNER:
            bins.offsets[k + 1], bins.usual[k] = bins.offsets[k], NONE
        elif known.kind[k] >= 0:
            columns = known.columns[known.kind[k]]
            bins.offsets[k + 1] = bins.offsets[k] + 1 + min(columns[1] - columns[0], MOST)
            bins.usual[k] = usual_level(rows, n, known, known.kind[k])
        else:
            cut(bins, k)
    for begin in range(0, n, BLOCK):
        for k in range(rows.shape[1]):
            if known.kind[k] != INNER:
                locate(rows, begin, min(begin + BLOCK, n), shop, k)
    for k in range(rows.shape[1]):
        usual = 0
        for r in range(n):
            usual += int(shop.held.bins[k, r] == bins.usual[k])
        if usual < WORTH * (bins.offsets[k + 1] - bins.offsets[k]):
            bins.usual[k] = NONE
    list_unusual(n, shop.held)


@strict
def take_sample(rows: NDArray[np.float32], n: int, bins: Bins) -> None:
    """Find the ends of every feature in the first n rows, and sample these evenly."""
    kept = min(n, bins.sample.shape[0])
    bins.clock[KEPT] = kept
    for k in range(rows.shape[1]):
        bins.ends[0, k] = bins.ends[1, k] = rows[0, k]
    for r in range(n):
        for k in range(rows.shape[1]):
            bins.ends[0, k], bins.ends[1, k] = min(bins.ends[0, k], rows[r, k]), max(bins.ends[1, k], rows[r, k])
    for r in range(kept):
        for k in range(rows.shape[1]):
            bins.sample[r, k] = rows[r * n // kept, k]


@strict
def locate(rows: NDArray[np.float32], begin: int, end: int, shop: Workshop, k: int) -> None:
    """Find the bins of a feature in some rows."""
    known, found, edges = shop.held.categories, shop.held.bins[k], shop.bins.edges[k]
    if known.kind[k] >= 0:
        columns = known.columns[known.kind[k]]
        for r in range(begin, end):
            found[r] = level_of(rows[r], columns[0], columns[1])
        return
    most = shop.bins.offsets[k + 1] - shop.bins.offsets[k] - 1
    for r in range(begin, end):
        value, low = float(rows[r, k]), 0
        for b in range(most):  # one vector instruction compares several, and no branch is guessed
            low += int(value > edges[b])
        found[r] = low


@strict
def list_unusual(n: int, held: Rows) -> None:
    """List the bins of every row that are not the usual ones of their features."""
    place = 0
    for r in range(n):
        held.starts[r] = place
        for k in range(len(held.usual)):
            if held.offsets[k + 1] - held.offsets[k] > 1:
                held.unusual[place] = held.offsets[k] + held.bins[k, r]
                place += int(held.bins[k, r] != held.usual[k])
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
