"""Histograms of residuals in bins, and the best split of a leaf by them: what trees are grown from.

Residuals are counted in whole units, so small that they fill a number of 64 bits when all are added up: adding and taking away are
exact then, in any order. The first residual of a row shares its number with the row itself: its lowest bits count rows.

Features are cut into bins once. A row is kept twice: as one bin for every feature, by which it is sent to the left or to the right,
and as the list of its bins that are not the usual one of their feature, from which histograms are summed; the usual bin has what is
left over. So a histogram costs what there is (non-zeros), not what there could be. A feature whose bins are all about as full has
no usual one. A category (`banditboost._compiled.categories`) has a bin for every level, all at its first column; its other columns
have none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import Numbers
from banditboost._compiled.categories import Categories
from banditboost._compiled.forest import Whole
from banditboost._compiled.gains import CLEARLY, gain_of
from banditboost._compiled.jit import strict
from banditboost._compiled.levels import find_spread, split_by_level
from banditboost._core.checks import Array

FINEST = 40
"""Residuals are at most two to this power of units."""
NONE = -1
"""In the place of a usual bin: the feature has none."""


class Rows(NamedTuple):
    """Remembered rows in bins."""

    bins: NDArray[np.uint8]
    """The bin of every feature, shape (features, n)."""
    starts: Numbers
    """Where the unusual bins of each row begin, shape (n + 1,)."""
    unusual: Whole
    """Places of bins in a row of all bins."""
    offsets: Numbers
    """Where a feature's bins begin in a row of all bins, shape (features + 1,)."""
    usual: Numbers
    """The fullest bin of a feature, or NONE, shape (features,)."""
    edges: Array
    """Bin b of a feature ends at edges[feature, b], which belongs to it."""
    categories: Categories


class Room(NamedTuple):
    """Where a tree is grown."""

    sums: Numbers
    """Histograms: residuals in units, the first with the number of rows, shape (leaves, d, bins)."""
    totals: Numbers
    """The same of all rows of a leaf, shape (leaves, d)."""
    counted: Numbers
    """The same of a row, shape (n, d)."""
    order: Whole
    """Rows, those of one leaf next to each other, shape (n,)."""
    spare: Whole
    """Shape (n,)."""
    span: Whole
    """Begin and end of each leaf in the order, its node, the bin of its best split, whether that bin, a level, goes to the left
    alone, and which histogram is the leaf's, shape (leaves, 6). Else bins of a category count in the order of its levels."""
    best: Array
    """The gain of the best split; of the leaf, the number of rows and the sums of residuals, shape (leaves, 2 + d)."""
    residuals: Array
    """Shape (n, d)."""
    left: Array
    """Sums on the left of a split, shape (1 + d,)."""
    running: Numbers
    """Sums up to each bin of a feature, shape (d, bins of a feature)."""
    scores: Array
    """Above zero where a split after a bin is better than the best so far, shape (bins of a feature,)."""
    levels: Array
    """The histogram of a category: numbers of rows, and sums of residuals, shape (levels, 1 + d)."""


class Units(NamedTuple):
    """In what residuals are counted."""

    size: float
    shift: int
    """So many bits count rows."""
    mask: int
    """All of these bits."""


@strict
def count_residuals(room: Room, n: int) -> Units:
    """Count the residuals of n rows in units, and return them."""
    most, shift, d = 0.0, 1, room.residuals.shape[1]
    for k in range(n):
        for j in range(d):
            most = max(most, abs(room.residuals[k, j]))
    while n >> shift > 0:
        shift += 1
    _, power = math.frexp(max(most, 1e-200))
    fine = min(FINEST, 62 - 2 * shift) - power  # n residuals leave room for the sign
    scale = math.ldexp(1.0, fine)
    for k in range(n):
        for j in range(d):
            room.counted[k, j] = math.floor(room.residuals[k, j] * scale + 0.5)
        room.counted[k, 0] = (room.counted[k, 0] << shift) + 1
    return Units(1.0 / scale, shift, (1 << shift) - 1)


@strict
def summed(rows: Rows, room: Room, leaf: int, histogram: int, sign: int) -> None:
    """Add the rows of a leaf to a histogram, or, with the sign -1, take them away; usual bins are not filled."""
    for j in range(room.sums.shape[1]):
        sums = room.sums[histogram, j]
        for k in range(room.span[leaf, 0], room.span[leaf, 1]):
            row = room.order[k]
            counted = sign * room.counted[row, j]
            for e in range(rows.starts[row], rows.starts[row + 1]):
                sums[rows.unusual[e]] += counted


@strict
def cleared(rows: Rows, room: Room, histogram: int) -> None:
    """Set a histogram to zero."""
    for j in range(room.sums.shape[1]):
        for b in range(rows.offsets[-1]):
            room.sums[histogram, j, b] = 0


@strict
def fill_usual(rows: Rows, room: Room, leaf: int, histogram: int) -> None:
    """Let the usual bins of a leaf's histogram have what the others have not."""
    for f in range(len(rows.usual)):
        if rows.usual[f] == NONE:
            continue
        usual = rows.offsets[f] + rows.usual[f]
        for j in range(room.sums.shape[1]):
            sums, rest = room.sums[histogram, j], room.totals[leaf, j]
            if rows.offsets[f + 1] - rows.offsets[f] == 2:
                sums[usual] = rest - sums[2 * rows.offsets[f] + 1 - usual]
                continue
            sums[usual] = 0
            for b in range(rows.offsets[f], rows.offsets[f + 1]):
                rest -= sums[b]
            sums[usual] = rest


@strict
def taken_away(rows: Rows, room: Room, histogram: int, less: int) -> None:
    """Take one histogram away from another."""
    for j in range(room.sums.shape[1]):
        for b in range(rows.offsets[-1]):
            room.sums[histogram, j, b] -= room.sums[less, j, b]


@strict
def split_of(rows: Rows, room: Room, leaf: int, units: Units, ridge: float, least: float) -> None:
    """Find the best split of a leaf: its gain, and the bin up to which rows go to the left."""
    total, known, span = room.best[leaf], rows.categories, room.span[leaf]
    before, total[0], total[1] = 0.0, 0.0, float(room.totals[leaf, 0] & units.mask)
    span[3], span[4] = -1, 0
    for j in range(len(total) - 2):
        total[2 + j] = units.size * sum_in(room.totals[leaf, j], j, units)
        before += total[2 + j] ** 2 / (total[1] + ridge)
    if len(known.columns) > 0:
        find_spread(known, room.order, span[0], span[1], room.residuals, total)
    for f in range(len(rows.usual)):
        begin, bins = rows.offsets[f], rows.offsets[f + 1] - rows.offsets[f]
        if bins < 2:
            continue
        if bins == 2 and known.kind[f] < 0:  # an indicator: mostly too few rows have it, or have it not
            count = float(room.sums[span[5], 0, begin] & units.mask)
            if count < least or total[1] - count < least:
                continue
        if known.kind[f] >= 0:
            by_level(room, leaf, rows, begin, bins, units, ridge, least, before)
        elif may_split(room, span[5], begin, bins, units, total, ridge, least, before):
            by_threshold(room, leaf, begin, bins, units, ridge, least, before)


@strict
def sum_in(counted: int, j: int, units: Units) -> float:
    """Return the sum of residuals j, in units, within a number of a histogram."""
    return float(counted >> units.shift) if j == 0 else float(counted)


@strict
def may_split(
    room: Room,
    histogram: int,
    begin: int,
    bins: int,
    units: Units,
    total: Array,
    ridge: float,
    least: float,
    before: float,
) -> bool:
    """Return whether a threshold of a feature splits a leaf better than the best so far; loops are for vector instructions.

    With L, R sums on both sides and l, r numbers of rows there, L²/l + R²/r > g is asked as L²r + R²l > g·l·r.
    """
    running, scores, n, beyond = room.running, room.scores, total[1] + ridge, (before + CLEARLY * total[0])
    beyond /= units.size * units.size
    for j in range(running.shape[0]):
        sums, so_far = room.sums[histogram, j], 0
        for b in range(bins - 1):
            so_far += sums[begin + b]
            running[j, b] = so_far
    whole = total[2] / units.size
    for b in range(bins - 1):
        count = float(running[0, b] & units.mask)
        left = float(running[0, b] >> units.shift)
        here, there, right = count + ridge, n - count, whole - left
        scores[b] = left * left * there + right * right * here - beyond * (here * there)
    for j in range(1, running.shape[0]):
        whole = total[2 + j] / units.size
        for b in range(bins - 1):
            count = float(running[0, b] & units.mask)
            left = float(running[j, b])
            right = whole - left
            scores[b] += left * left * (n - count) + right * right * (count + ridge)
    better = 0
    for b in range(bins - 1):
        count = float(running[0, b] & units.mask)
        better += int((scores[b] > 0.0) & (count >= least) & (total[1] - count >= least))
    return better > 0


@strict
def by_threshold(
    room: Room, leaf: int, begin: int, bins: int, units: Units, ridge: float, least: float, before: float
) -> None:
    """Find the best threshold of a feature, of which `may_split` has left the sums."""
    left, total, running = room.left, room.best[leaf], room.running
    for b in range(bins - 1):
        left[0] = float(running[0, b] & units.mask)
        if left[0] < least or room.scores[b] <= 0.0:
            continue
        if total[1] - left[0] < least:
            break
        for j in range(running.shape[0]):
            left[1 + j] = units.size * sum_in(running[j, b], j, units)
        gain = gain_of(left, total, ridge, before)
        if gain > CLEARLY * total[0]:
            total[0], room.span[leaf, 3], room.span[leaf, 4] = gain, begin + b, 0


@strict
def by_level(
    room: Room,
    leaf: int,
    rows: Rows,
    begin: int,
    bins: int,
    units: Units,
    ridge: float,
    least: float,
    before: float,
) -> None:
    """Look for a better split of a leaf by a category."""
    span = room.span[leaf]
    best = span[3]
    span[3] = -1
    read_levels(room, span[5], begin, bins, units)
    split_by_level(
        rows.categories, room.levels, 0, bins, room.best[leaf], room.left, room.span[leaf], ridge, least, before
    )
    span[3] = best if span[3] < 0 else begin + span[3]


@strict
def read_levels(room: Room, histogram: int, begin: int, bins: int, units: Units) -> None:
    """Write the histogram of a category as numbers of rows and sums of residuals."""
    for b in range(bins):
        room.levels[b, 0] = float(room.sums[histogram, 0, begin + b] & units.mask)
        for j in range(room.sums.shape[1]):
            room.levels[b, 1 + j] = units.size * sum_in(room.sums[histogram, j, begin + b], j, units)
