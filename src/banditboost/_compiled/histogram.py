"""Gradient-boosted trees on remembered rows, grown leaf by leaf from histograms: what `banditboost.learners.Grown` explains.

Features are cut into bins once. A row is kept twice: as one bin for every feature, by which it is sent to the left or to the right,
and as the list of its bins that are not the usual one of their feature, from which histograms are summed; the usual bin has what is
left over. So a histogram costs what there is (non-zeros), not what there could be. The smaller of two new leaves is summed, and the
other one is the difference from their parent.

A category (`banditboost._compiled.categories`) has a bin for every level, all at its first column; its other columns have none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import Numbers
from banditboost._compiled.categories import FLAG, Bits, Categories, in_set, write_set
from banditboost._compiled.gains import CLEARLY, gain_of
from banditboost._compiled.jit import strict
from banditboost._compiled.levels import find_spread, last_place, split_by_level
from banditboost._core.checks import Array

Whole = NDArray[np.int32]


class Rows(NamedTuple):
    """Remembered rows in bins."""

    bins: NDArray[np.uint8]
    """The bin of every feature, shape (n, features)."""
    starts: Numbers
    """Where the unusual bins of each row begin, shape (n + 1,)."""
    unusual: Whole
    """Places of bins in a row of all bins."""
    offsets: Numbers
    """Where a feature's bins begin in a row of all bins, shape (features + 1,)."""
    usual: Numbers
    """The fullest bin of a feature, shape (features,)."""
    edges: Array
    """Bin b of a feature ends at edges[feature, b], which belongs to it."""
    categories: Categories


class Forest(NamedTuple):
    """Trees, each with its nodes in one row; a leaf tests no feature."""

    feature: Whole
    """The feature that a node tests, -1 for a leaf, shape (trees, nodes); categories are numbered after all features."""
    threshold: Array
    child: Whole
    """The left child, after which comes the right one."""
    value: Array
    """What a leaf adds to the prediction, shape (trees, nodes, d)."""
    sets: Bits
    """The levels that a node which tests a category sends to the left, shape (trees, nodes, bytes): no bytes without categories."""


@strict
def forest_of(forest: Forest, i: int) -> Forest:
    """Return the forest of one copy, of arrays whose first axis is the copy."""
    return Forest(forest.feature[i], forest.threshold[i], forest.child[i], forest.value[i], forest.sets[i])


class Room(NamedTuple):
    """Where a tree is grown."""

    sums: Array
    """Histograms of leaves: numbers of rows, and sums of residuals, shape (leaves, bins, 1 + d)."""
    order: Whole
    """Rows, those of one leaf next to each other, shape (n,)."""
    spare: Whole
    """Shape (n,)."""
    span: Whole
    """Begin and end of each leaf in the order, its node, the bin of its best split, and whether that bin, a level, goes to the left
    alone, shape (leaves, 5). The bins of a category count in the order of its levels otherwise."""
    best: Array
    """The gain of the best split; of the leaf, the number of rows and the sums of residuals, shape (leaves, 2 + d)."""
    residuals: Array
    """Shape (n, d)."""
    left: Array
    """Sums on the left of a split, shape (1 + d,)."""


@strict
def summed(rows: Rows, room: Room, leaf: int) -> None:
    """Sum the histogram of a leaf."""
    sums, width = room.sums[leaf], room.sums.shape[2]
    for b in range(rows.offsets[-1]):
        for j in range(width):
            sums[b, j] = 0.0
    for k in range(room.span[leaf, 0], room.span[leaf, 1]):
        row = room.order[k]
        for e in range(rows.starts[row], rows.starts[row + 1]):
            b = rows.unusual[e]
            sums[b, 0] += 1.0
            for j in range(1, width):
                sums[b, j] += room.residuals[row, j - 1]
    for f in range(len(rows.usual)):
        if rows.offsets[f] == rows.offsets[f + 1]:
            continue
        usual = rows.offsets[f] + rows.usual[f]
        for j in range(width):
            rest = room.best[leaf, 1 + j]
            for b in range(rows.offsets[f], rows.offsets[f + 1]):
                rest -= sums[b, j]
            sums[usual, j] = rest


@strict
def split_of(rows: Rows, room: Room, leaf: int, ridge: float, least: float) -> None:
    """Find the best split of a leaf: its gain, and the bin up to which rows go to the left."""
    total, left, width, known = room.best[leaf], room.left, room.sums.shape[2], rows.categories
    before, total[0] = 0.0, 0.0
    room.span[leaf, 3], room.span[leaf, 4] = -1, 0
    for j in range(1, width):
        before += total[1 + j] ** 2 / (total[1] + ridge)
    if len(known.columns) > 0:
        find_spread(known, room.order, room.span[leaf, 0], room.span[leaf, 1], room.residuals, total)
    for f in range(len(rows.usual)):
        if known.kind[f] >= 0:
            begin, end = rows.offsets[f], rows.offsets[f + 1]
            split_by_level(known, room.sums[leaf], begin, end, total, left, room.span[leaf], ridge, least, before)
            continue
        for j in range(width):
            left[j] = 0.0
        for b in range(rows.offsets[f], rows.offsets[f + 1] - 1):
            for j in range(width):
                left[j] += room.sums[leaf, b, j]
            if left[0] < least:
                continue
            if total[1] - left[0] < least:
                break
            gain = gain_of(left, total, ridge, before)
            if gain > CLEARLY * total[0]:
                total[0], room.span[leaf, 3], room.span[leaf, 4] = gain, b, 0


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
def part(rows: Rows, room: Room, leaf: int, new: int, f: int, last: int) -> None:
    """Send the rows of a leaf to the left (they stay) or to the right (the new leaf), in their order.

    To the left go bins up to the last one; of a category, whose levels were sorted, places in the order of levels.
    """
    sorted_levels = rows.categories.kind[f] >= 0
    begin, end = room.span[leaf, 0], room.span[leaf, 1]
    kept, sent, width = begin, 0, room.sums.shape[2]
    for j in range(width):
        room.left[j] = 0.0
    for k in range(begin, end):
        row = room.order[k]
        b = int(rows.bins[row, f])
        if (rows.categories.rank[b] if sorted_levels else b) <= last:
            room.order[kept] = row
            kept += 1
            room.left[0] += 1.0
            for j in range(1, width):
                room.left[j] += room.residuals[row, j - 1]
        else:
            room.spare[sent] = row
            sent += 1
    for k in range(sent):
        room.order[kept + k] = room.spare[k]
    room.span[new, 0], room.span[new, 1] = kept, end
    room.span[leaf, 1] = kept
    for j in range(width):
        room.best[new, 1 + j] = room.best[leaf, 1 + j] - room.left[j]
        room.best[leaf, 1 + j] = room.left[j]


@strict
def write_test(rows: Rows, room: Room, leaf: int, forest: Forest, tree: int, node: int, f: int, last: int) -> None:
    """Write what a node tests: whether a feature lies in its bins up to the last one, or a category's level in a set.

    Levels that the leaf has no rows of go where most of its rows go.
    """
    known, begin = rows.categories, rows.offsets[f]
    if known.kind[f] < 0:
        forest.feature[tree, node], forest.threshold[tree, node] = f, rows.edges[f, last]
        if forest.sets.shape[2] > 0:
            forest.sets[tree, node, 0] = 0
        return
    forest.feature[tree, node], forest.threshold[tree, node] = len(rows.usual) + known.kind[f], 0.0
    kept = 0.0
    for k in range(last + 1):
        kept += room.sums[leaf, begin + known.order[k], 0]
    write_set(forest.sets[tree, node], known, rows.offsets[f + 1] - begin, last, 2.0 * kept > room.best[leaf, 1])


@strict
def grow_tree(rows: Rows, n: int, room: Room, forest: Forest, tree: int, ridge: float, least: float) -> int:
    """Grow one tree on the residuals of n rows, always at the leaf that gains most; return how many leaves it has."""
    leaves, width = room.span.shape[0], room.sums.shape[2]
    room.span[0, 0], room.span[0, 1], room.span[0, 2] = 0, n, 0
    room.best[0, 1] = float(n)
    for j in range(1, width):
        room.best[0, 1 + j] = 0.0
    for k in range(n):
        room.order[k] = k
        for j in range(1, width):
            room.best[0, 1 + j] += room.residuals[k, j - 1]
    forest.feature[tree, 0] = -1
    summed(rows, room, 0)
    split_of(rows, room, 0, ridge, least)
    count, nodes = 1, 1
    while count < leaves:
        leaf, most = -1, 1e-12
        for k in range(count):
            if room.best[k, 0] > CLEARLY * most:
                leaf, most = k, room.best[k, 0]
        if leaf < 0:
            break
        b, node = room.span[leaf, 3], room.span[leaf, 2]
        f = feature_of(rows, b)
        last = b - rows.offsets[f]
        if rows.categories.kind[f] >= 0:
            begin, end = rows.offsets[f], rows.offsets[f + 1]
            last = last_place(
                rows.categories, room.sums[leaf], begin, end, room.best[leaf], last, room.span[leaf, 4] != 0
            )
        write_test(rows, room, leaf, forest, tree, node, f, last)
        forest.child[tree, node] = nodes
        forest.feature[tree, nodes], forest.feature[tree, nodes + 1] = -1, -1
        part(rows, room, leaf, count, f, last)
        room.span[leaf, 2], room.span[count, 2] = nodes, nodes + 1
        nodes += 2
        small, large = leaf, count
        if room.span[leaf, 1] - room.span[leaf, 0] > room.span[count, 1] - room.span[count, 0]:
            small, large = count, leaf
        bins = rows.offsets[-1]
        if small == leaf:  # the parent's histogram lies where the smaller one will
            for k in range(bins):
                for j in range(width):
                    room.sums[count, k, j] = room.sums[leaf, k, j]
        summed(rows, room, small)
        for k in range(bins):
            for j in range(width):
                room.sums[large, k, j] -= room.sums[small, k, j]
        split_of(rows, room, small, ridge, least)
        split_of(rows, room, large, ridge, least)
        count += 1
    for node in range(nodes, forest.feature.shape[1]):  # of the tree that stood here before
        forest.feature[tree, node] = -1
    return count


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
            for j in range(room.residuals.shape[1]):
                value = rate * room.best[leaf, 2 + j] / (room.best[leaf, 1] + ridge)
                forest.value[tree, room.span[leaf, 2], j] = value
                for k in range(room.span[leaf, 0], room.span[leaf, 1]):
                    room.residuals[room.order[k], j] -= value


@strict
def leaf_of(forest: Forest, tree: int, x: Array) -> int:
    """Return the leaf that a context falls into, which its level of every category follows."""
    node = 0
    while forest.feature[tree, node] >= 0:
        value = x[forest.feature[tree, node]]
        if forest.sets.shape[2] > 0 and forest.sets[tree, node, 0] & FLAG:
            left = in_set(forest.sets[tree, node], int(value))
        else:
            left = value <= forest.threshold[tree, node]
        node = forest.child[tree, node] + (0 if left else 1)
    return node
