"""In what order the levels of a category are looked at when a leaf is split, and what a split into sets gains by chance, compiled.

Levels are sorted by their mean residual. The best of all sets is then among those of the first k levels (Fisher 1958), whatever the
ridge: what a split gains is convex in the number of rows on the left and the sum of their residuals, and hence largest at a corner
of all that sets can have, which is cut off by a threshold for the mean. With several outputs levels are sorted along the direction
in which their means differ most. Means of small levels are drawn to that of the leaf, so that they are not first or last by chance.

Because levels were sorted by the residuals themselves, a set gains something even where the category says nothing. The means of c
levels differ by c - 1 variances of a residual then, and one variance is what any split gains. So a set counts as gaining c - 2
variances less than it does; one level against all others, which needs no order, counts in full.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.categories import Categories
from banditboost._compiled.gains import CLEARLY, gain_of
from banditboost._compiled.jit import strict
from banditboost._core.checks import Array

TURNS = 3
"""How often the direction in which means differ most is improved."""


@strict
def split_by_level(
    known: Categories,
    sums: Array,
    begin: int,
    end: int,
    total: Array,
    left: Array,
    span: NDArray[np.int32],
    ridge: float,
    least: float,
    before: float,
) -> None:
    """Look for a better split of a leaf by a category whose bins stand from `begin` to `end`: one level, or a set of levels.

    `total`, `left` and `span` are as `banditboost._compiled.histogram.Room` has them.
    """
    count = sort_levels(known, sums, begin, end, total)
    for k in range(count):
        b = begin + known.order[k]
        if min(sums[b, 0], total[1] - sums[b, 0]) < least:
            continue
        gain = gain_of(sums[b], total, ridge, before)
        if gain > CLEARLY * total[0]:
            total[0], span[3], span[4] = gain, b, 1
    chance = by_chance(known, count)
    for j in range(len(left)):
        left[j] = 0.0
    for k in range(count - 1):
        for j in range(len(left)):
            left[j] += sums[begin + known.order[k], j]
        if min(left[0], total[1] - left[0]) < least:
            continue
        gain = gain_of(left, total, ridge, before) - chance
        if gain > CLEARLY * total[0]:
            total[0], span[3], span[4] = gain, begin + k, 0


@strict
def last_place(known: Categories, sums: Array, begin: int, end: int, total: Array, last: int, alone: bool) -> int:
    """Sort levels again, and return the last place in their order that goes to the left: where one does alone, the first."""
    count = sort_levels(known, sums, begin, end, total)
    if not alone:
        return last
    put_first(known, count, last)
    return 0


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
        if away > CLEARLY * most:
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


@strict
def put_first(known: Categories, count: int, level: int) -> None:
    """Put one level before all others that a leaf has rows of."""
    at = known.rank[level]
    for k in range(at, 0, -1):
        known.order[k] = known.order[k - 1]
    known.order[0] = level
    for k in range(count):
        known.rank[known.order[k]] = k


@strict
def find_spread(
    known: Categories, order: NDArray[np.int32], begin: int, end: int, residuals: Array, total: Array
) -> None:
    """Find the variance of the residuals of a leaf, whose rows stand in the order from `begin` to `end`."""
    for j in range(len(known.spread)):
        mean, found = total[2 + j] / total[1], 0.0
        for k in range(begin, end):
            found += (residuals[order[k], j] - mean) ** 2
        known.spread[j] = found / total[1]


@strict
def by_chance(known: Categories, count: int) -> float:
    """Return how much more a set of some of the sorted levels gains by chance than a split that needs no order."""
    found, size = 0.0, 0.0
    for j in range(len(known.spread)):
        found += known.along[0, j] ** 2 * known.spread[j]
        size += known.along[0, j] ** 2
    return max(count - 2, 0) * found / size if size > 0.0 else 0.0
