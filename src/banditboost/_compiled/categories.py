"""Categories of contexts, compiled: the level that a context has of each, and sets of levels that a node of a tree tests.

A category is some columns next to each other, of which a row has at most one that is not zero: its level is that column's number
within the category, from 1 on, and 0 where all are zero. How sets are chosen, `banditboost._compiled.levels` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import loop, strict
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]
Bits = NDArray[np.uint8]

MOST = 254
"""Most levels of a category; columns from this one on share the last."""
PLAIN, INNER = -1, -2
"""Kinds of columns that begin no category: one that is a feature of its own, and one within a category."""
FLAG = 1
"""The first bit of a set says that the node tests one; the bit of level b comes b + 1 bits later."""


class Categories(NamedTuple):
    """The categories of a bank, and room to sort levels in."""

    columns: Numbers
    """First column, and the one after the last, shape (categories, 2)."""
    kind: Numbers
    """The category that begins at a column, or PLAIN or INNER, shape (features,)."""
    smooth: float
    """The mean of a level is drawn to that of the leaf as if it had so many rows more."""
    order: Numbers
    """Levels of a leaf, sorted, shape (1 + MOST,)."""
    rank: Numbers
    """The place of every level in that order, -1 where the leaf has none of its rows, shape (1 + MOST,)."""
    scores: Array
    """By what levels are sorted, shape (1 + MOST,)."""
    along: Array
    """The direction along which residuals are measured, and room for a better one, shape (2, d)."""
    spread: Array
    """The variance of the residuals of a leaf, shape (d,)."""


@strict
def level_of(x: Array, begin: int, end: int) -> int:
    """Return the first column from `begin` on that is not zero, counted from 1 on; 0 where all are zero."""
    for k in range(begin, end):
        if x[k] != 0.0:
            return min(k - begin + 1, MOST)
    return 0


@strict
def usual_level(rows: NDArray[np.float32], n: int, known: Categories, group: int) -> int:
    """Return the level that most of the first n rows have."""
    begin, end = known.columns[group, 0], known.columns[group, 1]
    for b in range(len(known.order)):
        known.order[b] = 0
    for r in range(n):
        known.order[level_of(rows[r], begin, end)] += 1
    usual = 0
    for b in range(len(known.order)):
        if known.order[b] > known.order[usual]:
            usual = b
    return usual


@loop
def with_levels(X: Array, columns: Numbers, out: Array) -> None:
    """Write contexts, each followed by its level of every category."""
    features = X.shape[1]
    for t in range(X.shape[0]):
        for k in range(features):
            out[t, k] = X[t, k]
        for group in range(columns.shape[0]):
            out[t, features + group] = level_of(X[t], columns[group, 0], columns[group, 1])


@strict
def in_set(bits: Bits, level: int) -> bool:
    """Return whether a level is in a set."""
    return bool((bits[(FLAG + level) >> 3] >> ((FLAG + level) & 7)) & 1)


@strict
def write_set(bits: Bits, known: Categories, levels: int, last: int, others: bool) -> None:
    """Write the set of levels up to a place in the order; `others` says whether levels that the leaf has no rows of are in it."""
    for k in range(len(bits)):
        bits[k] = 0
    bits[0] = FLAG
    for b in range(levels):
        if others if known.rank[b] < 0 else known.rank[b] <= last:
            bits[(FLAG + b) >> 3] |= 1 << ((FLAG + b) & 7)
