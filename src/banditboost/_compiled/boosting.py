"""Gradient-boosted trees on remembered rows, grown leaf by leaf from histograms: what `banditboost.learners.Grown` explains.

The smaller of two new leaves is summed, and the other one is the difference from their parent. A leaf that cannot be split further,
because it has too few rows or the tree has all its leaves, has no histogram.
"""

from __future__ import annotations

import math

from banditboost._compiled.bins import Numbers
from banditboost._compiled.categories import write_set
from banditboost._compiled.forest import Forest
from banditboost._compiled.gains import CLEARLY
from banditboost._compiled.histogram import (
    Room,
    Rows,
    Units,
    cleared,
    count_residuals,
    fill_usual,
    read_levels,
    split_of,
    summed,
    taken_away,
)
from banditboost._compiled.jit import strict
from banditboost._compiled.levels import last_place


@strict
def boost(
    rows: Rows,
    n: int,
    room: Room,
    forest: Forest,
    trees: int,
    rate: float,
    ridge: float,
    least: float,
    stop: Numbers,
) -> None:
    """Grow trees, each on what those before it left over in `room.residuals`, which is changed; none where `stop` is not zero."""
    for tree in range(trees):
        if stop[0] != 0:
            return
        count = grow_tree(rows, n, room, forest, tree, ridge, least)
        for leaf in range(count):
            begin, end = room.span[leaf, 0], room.span[leaf, 1]
            for j in range(room.residuals.shape[1]):
                total = 0.0
                for k in range(begin, end):
                    total += room.residuals[room.order[k], j]
                value = rate * total / (end - begin + ridge)
                forest.value[tree, room.span[leaf, 2], j] = value
                for k in range(begin, end):
                    room.residuals[room.order[k], j] -= value


@strict
def grow_tree(rows: Rows, n: int, room: Room, forest: Forest, tree: int, ridge: float, least: float) -> int:
    """Grow one tree on the residuals of n rows, always at the leaf that gains most; return how many leaves it has."""
    leaves, fewest = room.span.shape[0], 2 * math.ceil(least)
    units = begin_tree(rows, n, room, forest, tree, ridge, least)
    count = 1
    while count < leaves:
        leaf, most = -1, 1e-12
        for k in range(count):
            if room.best[k, 0] > CLEARLY * most:
                leaf, most = k, room.best[k, 0]
        if leaf < 0:
            break
        divide(rows, room, forest, tree, leaf, count, units)
        count += 1
        look_for_splits(rows, room, leaf, count - 1, units, ridge, least, n + 1 if count == leaves else fewest)
    for node in range(2 * count - 1, forest.feature.shape[1]):  # of the tree that stood here before
        forest.feature[tree, node] = -1
    return count


@strict
def begin_tree(rows: Rows, n: int, room: Room, forest: Forest, tree: int, ridge: float, least: float) -> Units:
    """Make a tree of one leaf, and find its best split; return what residuals are counted in."""
    units = count_residuals(room, n)
    for j in range(room.totals.shape[1]):
        room.totals[0, j] = 0
        for k in range(n):
            room.totals[0, j] += room.counted[k, j]
    for k in range(n):
        room.order[k] = k
    room.span[0, 0], room.span[0, 1], room.span[0, 2], room.span[0, 5] = 0, n, 0, 0
    forest.feature[tree, 0] = -1
    cleared(rows, room, 0)
    summed(rows, room, 0, 0, 1)
    fill_usual(rows, room, 0, 0)
    split_of(rows, room, 0, units, ridge, least)
    return units


@strict
def divide(rows: Rows, room: Room, forest: Forest, tree: int, leaf: int, new: int, units: Units) -> None:
    """Split a leaf where it gains most: the rows on the left stay in it, the others make the new leaf."""
    b, node, known, nodes = room.span[leaf, 3], room.span[leaf, 2], rows.categories, 2 * new - 1
    f = feature_of(rows, b)
    begin, bins, histogram = rows.offsets[f], rows.offsets[f + 1] - rows.offsets[f], room.span[leaf, 5]
    last = b - begin
    if known.kind[f] >= 0:
        read_levels(room, histogram, begin, bins, units)
        last = last_place(known, room.levels, 0, bins, room.best[leaf], last, room.span[leaf, 4] != 0)
    write_test(rows, room, leaf, forest, tree, node, f, last)
    forest.child[tree, node] = nodes
    forest.feature[tree, nodes], forest.feature[tree, nodes + 1] = -1, -1
    for j in range(room.totals.shape[1]):
        left = 0
        for k in range(last + 1):
            left += room.sums[histogram, j, begin + (known.order[k] if known.kind[f] >= 0 else k)]
        room.totals[new, j] = room.totals[leaf, j] - left
        room.totals[leaf, j] = left
    part(rows, room, leaf, new, f, last)
    room.span[leaf, 2], room.span[new, 2] = nodes, nodes + 1


@strict
def part(rows: Rows, room: Room, leaf: int, new: int, f: int, last: int) -> None:
    """Send the rows of a leaf to the left (they stay) or to the right (the new leaf), in their order.

    To the left go bins up to the last one; of a category, whose levels were sorted, places in the order of levels.
    """
    sorted_levels, bins = rows.categories.kind[f] >= 0, rows.bins[f]
    begin, end = room.span[leaf, 0], room.span[leaf, 1]
    kept, sent = begin, 0
    for k in range(begin, end):  # both are written, so that nothing has to be guessed
        row = room.order[k]
        b = int(bins[row])
        stays = int((rows.categories.rank[b] if sorted_levels else b) <= last)
        room.order[kept] = row
        room.spare[sent] = row
        kept += stays
        sent += 1 - stays
    for k in range(sent):
        room.order[kept + k] = room.spare[k]
    room.span[new, 0], room.span[new, 1] = kept, end
    room.span[leaf, 1] = kept


@strict
def look_for_splits(
    rows: Rows, room: Room, leaf: int, new: int, units: Units, ridge: float, least: float, fewest: int
) -> None:
    """Find the best splits of two leaves, of which the first still has their parent's histogram; none below the fewest rows."""
    small, large = leaf, new
    if room.span[leaf, 1] - room.span[leaf, 0] > room.span[new, 1] - room.span[new, 0]:
        small, large = new, leaf
    parent = room.span[leaf, 5]
    room.span[large, 5], room.span[small, 5] = parent, new
    room.best[small, 0], room.best[large, 0] = 0.0, 0.0
    if room.span[large, 1] - room.span[large, 0] < fewest:
        return
    if room.span[small, 1] - room.span[small, 0] < fewest:
        summed(rows, room, small, parent, -1)
        fill_usual(rows, room, large, parent)
    else:
        cleared(rows, room, new)
        summed(rows, room, small, new, 1)
        fill_usual(rows, room, small, new)
        taken_away(rows, room, parent, new)
        split_of(rows, room, small, units, ridge, least)
    split_of(rows, room, large, units, ridge, least)


@strict
def feature_of(rows: Rows, b: int) -> int:
    """Return the feature that a bin belongs to."""
    low, high = 0, len(rows.usual)
    while high - low > 1:
        middle = (low + high) // 2
        if rows.offsets[middle] <= b:
            low = middle
        else:
            high = middle
    return low


@strict
def write_test(rows: Rows, room: Room, leaf: int, forest: Forest, tree: int, node: int, f: int, last: int) -> None:
    """Write what a node tests: whether a feature lies in its bins up to the last one, or a category's level in a set.

    Levels that the leaf has no rows of go where most of its rows go.
    """
    known = rows.categories
    if known.kind[f] < 0:
        forest.feature[tree, node], forest.threshold[tree, node] = f, rows.edges[f, last]
        if forest.sets.shape[2] > 0:
            forest.sets[tree, node, 0] = 0
        return
    forest.feature[tree, node], forest.threshold[tree, node] = len(rows.usual) + known.kind[f], 0.0
    kept = 0.0
    for k in range(last + 1):
        kept += room.levels[known.order[k], 0]
    bins = rows.offsets[f + 1] - rows.offsets[f]
    write_set(forest.sets[tree, node], known, bins, last, 2.0 * kept > room.best[leaf, 1])
