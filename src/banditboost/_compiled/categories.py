"""Categories in forests, compiled: tests of sets of levels, chosen as Fisher (1958) does.

A category is some columns next to each other, of which a row has at most one that is not zero: its level is that column's number
within the category, from 1 on, and 0 where all are zero. A split sorts the levels in a leaf by their mean residual, and then looks
at as many sets as there are levels: for one output the best of all sets is among them. Means of small levels are drawn to that of
the leaf, so that the ends of the order are not taken by chance. With several outputs, levels are sorted along the direction in
which their means differ most.
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
TURNS = 3
"""How often the direction in which means differ most is improved."""
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


@strict
def sort_levels(known: Categories, sums: Array, begin: int, end: int, total: Array) -> int:
    """Sort the levels whose sums stand from `begin` to `end`, and return how many a leaf has rows of."""
    count = 0
    for b in range(end - begin):
        known.rank[b] = -1
        if sums[begin + b, 0] > 0.0:
            known.order[count] = b
            count += 1
    point(known, sums, begin, count, total)
    for k in range(count):
        b = known.order[k]
        known.scores[b] = excess(sums, begin + b, total, known.along[0]) / (sums[begin + b, 0] + known.smooth)
    gap = count // 2
    while gap > 0:  # Shell's method, which makes no arrays; of levels that are alike the first stays first
        for r in range(gap, count):
            held, at = known.order[r], r
            while at >= gap and is_after(known, known.order[at - gap], held):
                known.order[at] = known.order[at - gap]
                at -= gap
            known.order[at] = held
        gap //= 2
    for k in range(count):
        known.rank[known.order[k]] = k
    return count


@strict
def is_after(known: Categories, a: int, b: int) -> bool:
    """Return whether one level comes after another."""
    return bool(known.scores[a] > known.scores[b] or (known.scores[a] == known.scores[b] and a > b))


@strict
def excess(sums: Array, b: int, total: Array, along: Array) -> float:
    """Return by how much the residuals of a bin, along a direction, are more than as many of the leaf's would be."""
    found = 0.0
    for j in range(len(along)):
        found += along[j] * (sums[b, 1 + j] - sums[b, 0] * total[2 + j] / total[1])
    return found


@strict
def point(known: Categories, sums: Array, begin: int, count: int, total: Array) -> None:
    """Find the direction in which the means of levels differ most: that of the level that differs most, improved a few times."""
    along, better = known.along[0], known.along[1]
    d = len(along)
    if d == 1:
        along[0] = 1.0
        return
    most, far = 0.0, -1
    for k in range(count):
        b, away = begin + known.order[k], 0.0
        for j in range(d):
            away += (sums[b, 1 + j] - sums[b, 0] * total[2 + j] / total[1]) ** 2
        away /= sums[b, 0] + known.smooth
        if away > most:
            most, far = away, b
    for j in range(d):
        along[j] = 0.0 if far < 0 else sums[far, 1 + j] - sums[far, 0] * total[2 + j] / total[1]
    for _ in range(TURNS):
        for j in range(d):
            better[j] = 0.0
        for k in range(count):
            b = begin + known.order[k]
            weight = excess(sums, b, total, along) / (sums[b, 0] + known.smooth)
            for j in range(d):
                better[j] += weight * (sums[b, 1 + j] - sums[b, 0] * total[2 + j] / total[1])
        size = 0.0
        for j in range(d):
            size = max(size, abs(better[j]))
        for j in range(d):
            along[j] = better[j] / size if size > 0.0 else 0.0
