"""Bands for what will be paid: adaptive conformal inference around two small online models of the context, compiled.

A round's loss is expected at m(x) = a + w·z and its size at s(x) = u exp(b + v·z), where z are the standardised features. What is
calibrated are scores (loss - m) / s, of which a window is kept in the order of telling and in ascending order. Both ends of a band
are quantiles of the window, each with a level of its own that follows its misses (Gibbs and Candès 2021, eq. 2).

Everything is in units of the loss that is told or has none, so that bands follow any change of units. No sum is reordered: a round
that is told alone and a block of rounds give the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from banditboost._compiled.jit import loop, strict
from banditboost._core.checks import Array

ROUNDS, LEVEL, SIZE, SHIFT = range(4)
"""Entries of `Memory.facts`: rounds told, the level a, the usual residual u, and the shift b of the logarithm of sizes."""
FACTS = 4
MEAN, VARIANCE, SLOPE, STEPS, STRETCH, STRETCHES = range(6)
"""Rows of `Memory.features`: mean and variance of a feature, its weights w and v, and the squared steps of each."""
ROWS = 6
FEWEST = 20.0
"""Rounds told before bands are finite."""
TAILS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)
"""Shares of rounds in one tail for which a level is kept; between them levels are interpolated."""
PACE = 0.08
"""How far a miss moves a tail's level, as a share of the tail (γ over α)."""
FALLEN = 0.5
"""Where a level has fallen below this share of its tail, bands become wider than the window says."""
CLIP = 3.0
"""Standardised features count up to this."""
OUTLYING = 4.0
"""Residuals count up to so many times their usual size."""
HORIZON = 150.0
"""Rounds over which level and size are averaged."""
STEADY = 3000.0
"""Rounds over which features and squared steps are averaged."""
ETA, ETA_SIZE = 0.3, 0.3
"""Steps of w and of v."""
WIDEST = 3.0
"""The logarithm of s/u lies within plus and minus this."""
LARGE, TINY = 1e150, 1e-300
"""Features are cut off at the one; sizes are at least the other, and at least a 1e-12 of the level."""


class Memory(NamedTuple):
    """What bands remember; all arrays are changed in place."""

    facts: Array
    """Shape (4,)."""
    features: Array
    """Shape (6, F)."""
    ring: Array
    """The scores of the last rounds, that of round t at t modulo their number, shape (W,)."""
    order: Array
    """The same scores in ascending order; those that are there come first, shape (W,)."""
    levels: Array
    """What each tail's level is now: below the band and above it, shape (2, tails)."""


@strict
def standardised(memory: Memory, x: Array, t: int, z: Array) -> float:
    """Write the standardised features of row t to z, and return the sum of their squares."""
    total = 0.0
    for j in range(len(z)):
        variance = memory.features[VARIANCE, j]
        z[j] = 0.0
        if variance > 0.0:
            away = min(max(x[t, j], -LARGE), LARGE) - memory.features[MEAN, j]
            z[j] = min(max(away / math.sqrt(variance), -CLIP), CLIP)
        total += z[j] * z[j]
    return total


@strict
def expected(memory: Memory, z: Array) -> float:
    """Return m(x)."""
    total = memory.facts[LEVEL]
    for j in range(len(z)):
        total += memory.features[SLOPE, j] * z[j]
    return total  # type: ignore[no-any-return]


@strict
def size(memory: Memory, z: Array, centre: float) -> float:
    """Return s(x), which is never zero."""
    total = memory.facts[SHIFT]
    for j in range(len(z)):
        total += memory.features[STRETCH, j] * z[j]
    stretched = memory.facts[SIZE] * math.exp(min(max(total, -WIDEST), WIDEST))
    return max(stretched, 1e-12 * abs(centre), TINY)  # type: ignore[no-any-return]


@strict
def quantile(memory: Memory, share: float) -> float:
    """Return the score below which a share of the window lies."""
    known = int(min(memory.facts[ROUNDS], float(len(memory.order))))
    place = min(max(share * (known + 1.0) - 1.0, 0.0), known - 1.0)
    below = int(place)
    above = min(below + 1, known - 1)
    return memory.order[below] + (place - below) * (memory.order[above] - memory.order[below])  # type: ignore[no-any-return]


@strict
def level_at(memory: Memory, side: int, tail: float) -> float:
    """Return the present level of any tail."""
    before, at = 0.0, 0.0
    for k in range(len(TAILS)):
        if tail <= TAILS[k]:
            share = (tail - before) / (TAILS[k] - before)
            return at + share * (memory.levels[side, k] - at)  # type: ignore[no-any-return]
        before, at = TAILS[k], memory.levels[side, k]
    return at


@strict
def end_at(memory: Memory, side: int, tail: float, level: float, centre: float, scale: float) -> float:
    """Return the lower end (side 0) or the upper end (side 1) of a band for a tail that has come to a level.

    A share `level` of the window lies beyond it. A level that has fallen far below its tail has seen many misses: the window knows
    less than what comes, and the end moves away from the middle, without a limit as the level goes to zero.
    """
    outwards = -1.0 if side == 0 else 1.0
    if level <= 0.0:
        return outwards * math.inf
    if level >= 1.0:
        return -outwards * math.inf
    score = quantile(memory, level if side == 0 else 1.0 - level)
    if level < FALLEN * tail:
        middle = quantile(memory, 0.5)
        score = middle + (score - middle) * FALLEN * tail / level
    return centre + scale * score


@strict
def write_band(memory: Memory, tail: float, centre: float, scale: float, out: Array, t: int) -> None:
    """Write a band to out[t]: infinite before there are enough rounds, and never with its ends the wrong way round."""
    out[t, 0], out[t, 1] = -math.inf, math.inf
    if memory.facts[ROUNDS] < FEWEST:
        return
    low = end_at(memory, 0, tail, level_at(memory, 0, tail), centre, scale)
    high = end_at(memory, 1, tail, level_at(memory, 1, tail), centre, scale)
    if low > high:
        middle = 0.5 * low + 0.5 * high
        if not math.isfinite(middle):
            middle = high if math.isfinite(high) else low if math.isfinite(low) else centre
        low = high = middle
    elif low == high and not math.isfinite(low):  # one level is all, and the other nothing: the infinite end stays
        low, high = min(low, centre), max(high, centre)
    out[t, 0], out[t, 1] = low, high


@strict
def follow_misses(memory: Memory, loss: float, centre: float, scale: float) -> None:
    """Move every tail's level: up by γα, and down by γ where the loss lay beyond the end that it gave (eq. 2)."""
    for k in range(len(TAILS)):
        step = PACE * TAILS[k]
        low = end_at(memory, 0, TAILS[k], memory.levels[0, k], centre, scale)
        high = end_at(memory, 1, TAILS[k], memory.levels[1, k], centre, scale)
        memory.levels[0, k] += step * (TAILS[k] - (1.0 if loss < low else 0.0))
        memory.levels[1, k] += step * (TAILS[k] - (1.0 if loss > high else 0.0))


@strict
def place_of(order: Array, known: int, score: float) -> int:
    """Return how many of the scores in ascending order are smaller."""
    low, high = 0, known
    while low < high:
        middle = (low + high) // 2
        if order[middle] < score:
            low = middle + 1
        else:
            high = middle
    return low


@strict
def keep(memory: Memory, score: float) -> None:
    """Put a score into the window in place of the oldest, where the window is full."""
    window = len(memory.ring)
    rounds = memory.facts[ROUNDS]
    at, known = int(rounds % window), int(min(rounds, float(window)))
    if known == window:
        known -= 1
        for i in range(place_of(memory.order, window, memory.ring[at]), known):
            memory.order[i] = memory.order[i + 1]
    place = place_of(memory.order, known, score)
    for i in range(known, place, -1):
        memory.order[i] = memory.order[i - 1]
    memory.order[place] = memory.ring[at] = score


@strict
def improve(memory: Memory, residual: float, scale: float, z: Array, total: float) -> None:
    """Let both models learn from a residual, which counts up to a few times its usual size."""
    facts, features, count = memory.facts, memory.features, memory.facts[ROUNDS] + 1.0
    rate, decay = 1.0 / min(count, HORIZON), 1.0 / min(count, STEADY)
    usual = facts[SIZE]
    most = OUTLYING * scale
    cut = min(max(residual, -most), most)
    pull = cut / scale
    error = min(abs(residual) / scale, OUTLYING) - 1.0
    for j in range(len(z)):
        step, stretch = pull * z[j], error * z[j]
        features[STEPS, j] += step * step
        features[STRETCHES, j] += stretch * stretch
        if features[STEPS, j] > 0.0:
            features[SLOPE, j] += ETA * usual * step / ((1.0 + total) * math.sqrt(features[STEPS, j]))
        if features[STRETCHES, j] > 0.0:
            features[STRETCH, j] += ETA_SIZE * stretch / ((1.0 + total) * math.sqrt(features[STRETCHES, j]))
        features[STEPS, j] *= 1.0 - 1.0 / STEADY
        features[STRETCHES, j] *= 1.0 - 1.0 / STEADY
    facts[LEVEL] += rate * (cut if count > 2.0 else residual)
    facts[SIZE] += rate * ((min(abs(residual), 10.0 * usual) if usual > 0.0 else abs(residual)) - usual)
    facts[SHIFT] = min(max(facts[SHIFT] + decay * error, -WIDEST), WIDEST)


@strict
def learn_one(memory: Memory, x: Array, t: int, loss: float, z: Array) -> None:
    """Learn from one round: its misses, its score, its residual, its features."""
    total = standardised(memory, x, t, z)
    if memory.facts[ROUNDS] == 0.0:
        memory.facts[LEVEL] = loss
    centre = expected(memory, z)
    scale = size(memory, z, centre)
    if memory.facts[ROUNDS] >= FEWEST:
        follow_misses(memory, loss, centre, scale)
    residual = min(max(loss - centre, -1e300), 1e300)
    if memory.facts[SIZE] == 0.0:  # nothing has ever differed: this is the first size that is known
        scale = max(scale, abs(residual))
    keep(memory, min(max(residual / scale, -1e300), 1e300))
    improve(memory, residual, scale, z, total)
    rate = 1.0 / min(memory.facts[ROUNDS] + 1.0, STEADY)
    for j in range(len(z)):
        away = min(max(x[t, j], -LARGE), LARGE) - memory.features[MEAN, j]
        memory.features[MEAN, j] += rate * away
        memory.features[VARIANCE, j] += rate * (away * away * (1.0 - rate) - memory.features[VARIANCE, j])
    memory.facts[ROUNDS] += 1.0


@loop
def learn_rounds(memory: Memory, x: Array, losses: Array, tail: float, z: Array, bands: Array) -> None:
    """Write the band of every round before it is learned from, one row of `bands` each where there are any; NaN is nothing told.

    Rows with four entries get m(x) and s(x), too.
    """
    for t in range(len(losses)):
        if len(bands) > 0:
            standardised(memory, x, t, z)
            centre = expected(memory, z)
            scale = size(memory, z, centre)
            write_band(memory, tail, centre, scale, bands, t)
            if bands.shape[1] == 4:
                bands[t, 2], bands[t, 3] = centre, scale
        if not math.isnan(losses[t]):
            learn_one(memory, x, t, losses[t], z)


@loop
def band_of(memory: Memory, x: Array, tail: float, z: Array, out: Array) -> None:
    """Write the band of a context, x[0], to out[0], and change nothing."""
    standardised(memory, x, 0, z)
    centre = expected(memory, z)
    write_band(memory, tail, centre, size(memory, z, centre), out, 0)
