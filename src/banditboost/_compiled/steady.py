"""Features in the units in which they first came, compiled: what `banditboost.learners.Steady` explains.

Both paths call these functions, so that they agree to the last bit. What is known about the features is one array of shape
(ROWS, features); zeros are never counted, since a feature that is absent says nothing about its unit.
"""

from __future__ import annotations

import math

from banditboost._compiled.jit import brief, inlined, loop
from banditboost._core.checks import Array

ROWS = 15
NUMBER, MEAN, SQUARE, LARGEST, UNIT, COUNT, SUM, SQUARES, TOP, SINCE, NOW, ODD, ODD_SUM, ODD_SQUARES, ODD_TOP = range(
    ROWS
)
"""Rows of what is known: how many values were counted, the mean of their sizes and of their squares, and the largest, all in the
first unit; what that unit is now; the number of values in the present block, their sum, the sum of their squares, and the largest
as it was shown; how many values were counted since the unit changed, and the mean of their sizes as they came; and of blocks that
are not counted yet, because they differ from those before, the number of values, their sum, and two numbers more: the sum of
squares and the largest while the unit is the first one, else how unlikely they are together."""
UNLIKELY = ODD_SQUARES

BLOCK = 30.0
"""Values after which a feature's unit is looked at again."""
LONG = 10_000.0
"""Values that the first unit's means remember."""
RECENT = 2_000.0
"""Values that the mean after a change remembers."""
GROWN = 2.5
"""How many times larger than ever a block must be in the mean for its unit to have changed."""
BEYOND = 1.25
"""A single value counts at most so many times the largest before it."""
LIKELY = 5.0
"""Standard errors by which the mean of a block may differ from that of the blocks before."""
TOGETHER = 8.0
"""The same, added up over blocks that differ to the same side."""
PATIENCE = 0.1
"""Blocks that differ are counted after all when they have become this share of those before."""


@inlined
def shown(known: Array, k: int, x: float) -> float:
    """Return a value in the feature's first unit, not much larger than the largest before it."""
    z = x / known[UNIT, k]
    most = BEYOND * known[LARGEST, k]
    if known[NUMBER, k] == 0.0 or abs(z) <= most:
        return z  # type: ignore[no-any-return]
    return math.copysign(most, z)


@inlined
def forget_odd(known: Array, k: int) -> None:
    """Forget the blocks that were not counted."""
    for row in range(ODD, ROWS):
        known[row, k] = 0.0


@inlined
def surprise(known: Array, k: int, mean: float, before: float) -> float:
    """Return by how many standard errors the mean of a block differs from what it was before."""
    spread = math.sqrt(max(known[SQUARE, k] - known[MEAN, k] ** 2, 0.0)) * known[UNIT, k]
    return (mean - before) / max(spread / math.sqrt(BLOCK), 1e-9 * before)  # type: ignore[no-any-return]


@inlined
def count_odd(known: Array, k: int) -> None:
    """Count the blocks that are waiting in the first unit."""
    known[NUMBER, k] = min(known[NUMBER, k] + known[ODD, k], LONG)
    share = min(known[ODD, k] / known[NUMBER, k], 1.0)
    known[MEAN, k] += (known[ODD_SUM, k] / known[ODD, k] - known[MEAN, k]) * share
    known[SQUARE, k] += (known[ODD_SQUARES, k] / known[ODD, k] - known[SQUARE, k]) * share
    known[LARGEST, k] = max(known[LARGEST, k], known[ODD_TOP, k])
    forget_odd(known, k)


@inlined
def end_first(known: Array, k: int, mean: float) -> None:
    """End a block in the first unit: it is counted, waits, or shows that the unit has changed."""
    before = known[MEAN, k]
    if known[NUMBER, k] >= 4.0 * BLOCK and mean > GROWN * before and mean > 0.5 * known[LARGEST, k]:
        known[SINCE, k], known[NOW, k] = BLOCK, mean
        forget_odd(known, k)
        return
    known[ODD, k] += BLOCK
    known[ODD_SUM, k] += known[SUM, k]
    known[ODD_SQUARES, k] += known[SQUARES, k]
    known[ODD_TOP, k] = max(known[ODD_TOP, k], known[TOP, k])
    odd = known[NUMBER, k] >= 4.0 * BLOCK and surprise(known, k, mean, before) > LIKELY
    if not odd or known[ODD, k] > PATIENCE * known[NUMBER, k]:
        count_odd(known, k)


@inlined
def end_changed(known: Array, k: int, mean: float) -> None:
    """End a block in another unit, which may change once more."""
    missed = surprise(known, k, mean, known[NOW, k])
    if missed * known[UNLIKELY, k] <= 0.0:
        forget_odd(known, k)
    known[UNLIKELY, k] += missed
    known[ODD, k] += BLOCK
    known[ODD_SUM, k] += known[SUM, k]
    if abs(known[UNLIKELY, k]) > TOGETHER:
        known[SINCE, k], known[NOW, k] = known[ODD, k], known[ODD_SUM, k] / known[ODD, k]
        forget_odd(known, k)
    else:
        known[SINCE, k] = min(known[SINCE, k] + BLOCK, RECENT)
        known[NOW, k] += (mean - known[NOW, k]) * 2.0 * BLOCK / (known[SINCE, k] + BLOCK)  # later ones weigh more


@inlined
def note(known: Array, k: int, x: float) -> None:
    """Count one value that is not zero."""
    known[COUNT, k] += 1.0
    known[SUM, k] += abs(x)
    known[SQUARES, k] += x * x
    known[TOP, k] = max(known[TOP, k], abs(shown(known, k, x)))
    if known[COUNT, k] < BLOCK:
        return
    mean = known[SUM, k] / BLOCK
    if known[SINCE, k] == 0.0:
        end_first(known, k, mean)
    else:
        end_changed(known, k, mean)
    if known[SINCE, k] > 0.0:
        known[UNIT, k] = known[NOW, k] / known[MEAN, k]
        if 1.0 / 1.5 < known[UNIT, k] < 1.5:  # the first unit is back
            known[UNIT, k], known[SINCE, k] = 1.0, 0.0
            forget_odd(known, k)
    for row in range(COUNT, TOP + 1):
        known[row, k] = 0.0


@inlined
def show(X: Array, t: int, known: Array, learns: bool) -> None:
    """Replace a row by the same in the first units, and count it where `learns`."""
    for k in range(X.shape[1]):
        x = X[t, k]
        if x != 0.0:
            X[t, k] = shown(known, k, x)
            if learns:
                note(known, k, x)


@loop
def steady(X: Array, known: Array, learns: bool) -> None:
    """Replace every row by the same in the first units, and count it where `learns`."""
    for t in range(X.shape[0]):
        show(X, t, known, learns)


@brief
def steady_one(X: Array, known: Array, learns: bool) -> None:
    """Do the same with one row."""
    show(X, 0, known, learns)
