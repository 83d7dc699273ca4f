"""The critic of a gradient from memory: what is remembered of the losses, and what it expects of an action.

Both paths call these functions: `banditboost.gradients.Remembered` explains them. All lengths in here are *scaled*: a coordinate is
divided by the extent of the space along it, so that boxes with unequal sides behave like cubes. A law is an array of four rows:
how far its centre lies from the prediction; its half-width; the mean of u² that such rounds usually have; and how near the border
is, from 0 to 1 where the prediction lies on it, negative where the border is above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

(
    ROUNDS,
    LEVEL,
    LOW,
    SPREAD,
    CURVATURE,
    UNIT,
    FAST,
    SLOW,
    CONTRAST,
    BEGAN,
    LAST,
    BEFORE,
    ANSWER,
    SAME,
    NEAR,
    REGRESSED,
    SETTLING,
    LONGEST,
    WAITING,
    HIGH,
    BOWED,
    GREW,
    WEIGHED,
    HEIGHTS,
    FALLS,
    SQUARES,
    PRODUCTS,
    STEEPLY,
    SIZES,
    GONE,
) = range(30)
"""Entries of `Memory.facts`: rounds told; the critic's level; a low quantile of the losses; their mean absolute surprise; the mean
curvature in use, zero while it is not known; the unit of `Memory.bends`; means of surprises over few and over many rounds; the
mean absolute residual of answers that are compared within a round; the level when the curvature was first known; the last two
surprises; the largest of the last answers, for how many rounds answers have been one number, and for how many they have hardly
changed; the mean curvature that the regression alone finds; for how many rounds another unit of the losses has been settling; the
longest that answers have been one number before; how many rounds are waiting for their answers, while a law is laid out;
and over few rounds the mean of the losses, of what the curvature alone would make of them; the
logarithm of how much losses have grown since the first round by changing their units; and five sums over rounds that show how
slopes grow with heights (`banditboost._compiled.falling`). The last three entries are there only where the world may change: means
over few rounds of how far losses would fall by their slopes, and of how large losses are, however large single ones are; and the
logarithm of how much losses have grown by wrong predictions, as far as they have not become smaller again."""
(
    BENT,
    BENDING,
    BEND,
    EDGE,
    EDGES,
    SQUARE,
    MEAN,
    VARIED,
    STEEP,
    STEEPS,
    STEEPNESS,
    TREND,
    TRENDS,
    REACH,
    HEAVY,
    POINTED,
    AWAY,
    AWAYS,
    CUBES,
    SLOPED,
) = range(20)
"""Rows of `Memory.bends`: the sums of a regression on ½u² (of squares, and of products with answers); the curvature in use; the
slope away from a border, and how many rounds it was seen in; the mean of v²; mean and variance of the predictions; the mean of
squared slopes, and for one answer the sums of the regression that shows it; the mean slope at predictions in the open, and how
many rounds of late it was seen in; how far from the prediction targets usually lie; the weights of all targets, and their weighted
sum; and while the curvature is not known, instead of these two the number of rounds and the sum of their losses, and the sums of v,
v², v³ and of v times the losses (`banditboost._compiled.constant`)."""

ROUNDING = 1e-13
"""What differs by less, relative to its size, differs by rounding alone."""


class Rules(NamedTuple):
    """What never changes while a booster learns. d coordinates."""

    answers: int
    ball: bool
    """True: directions lie in a ball of the tangent space, whose centre is pulled inside. False: the space is a box."""
    rank: int
    extent: Array
    """Shape (d,)."""
    centre: Array
    """The space's inner centre over the extents, shape (d,)."""
    inner: float
    """The inner radius over the extents, for balls."""
    budget: float
    """Share of the losses' height above their lowest values that exploring may cost a round."""
    patience: float
    """Rounds after which the budget begins to fall like one over the root of the rounds; infinite where it stays."""
    rim: float
    """The density of a coordinate is proportional to |u|^(rim - 1)."""
    every: int
    """One round in so many is wider, which shows the curvature."""
    wider: float
    """How much wider that round is."""
    least: Array
    """Least half-width, shape (d,)."""
    most: Array
    """Greatest distance of an action from the prediction, shape (d,)."""
    declared: Array
    """The curvature where it is declared, shape (d,); zero where it is not."""
    clip: float
    """Surprises above so many times their usual size are cut to that; infinite where they are not."""
    plain: bool
    """True for the unbiased estimate by name: answers times directions over variances, whatever their number."""
    lasting: float
    """Least share of the regression's curvature that a round with one answer leaves of it."""
    changes: bool
    """Whether losses that grow may mean that the world has changed, and not the units of the losses."""
    levels: bool
    """With one answer in a box: whether the first copy is told where the best constant lies."""
    wary: float
    """With one answer: the curvature in use is at least so many times its error, and steepness is less so many of its errors."""


class Memory(NamedTuple):
    """What is remembered, changed in place."""

    facts: Array
    bends: Array
    levels: Array
    """The regression of the level on n terms (`term`): the matrix of sums, a column of products, and one of coefficients, shape
    (n, n + 2)."""


class Lesson(NamedTuple):
    """What one round says, worked out before anything is remembered."""

    slope: Array
    """The slope at the prediction, shape (d,)."""
    u: Array
    """Displacements from the law's centre, one row for each direction, shape (D, d)."""
    sums: Array
    """What the round adds to the first two rows of `Memory.bends`, shape (2, d)."""
    surprise: Array
    """Mean of answers minus what the critic expected, and the mean absolute residual of comparing them, shape (2,)."""
    system: Array
    """Scratch for the slopes' linear system, shape (d, d + 1)."""
    step: Array
    """Scratch, shape (d,)."""
    importance: Array
    """What the answer counts where it is one about an action that another law has drawn, shape (1,); 1 for all others."""


def empty_lesson(directions: int, d: int) -> Lesson:
    """Return a lesson in which nothing is set but that answers count whole."""
    return Lesson(
        slope=np.empty(d),
        u=np.empty((directions, d)),
        sums=np.empty((2, d)),
        surprise=np.empty(2),
        system=np.empty((d, d + 1)),
        step=np.empty(d),
        importance=np.ones(1),
    )


@inlined
def flat(facts: Array, answers: Array) -> bool:
    """Return whether a round says nothing: all answers have been one number, for longer than is usual with losses of few values."""
    if facts[SAME] <= 10.0 + 3.0 * facts[LONGEST]:
        return False
    low, high = answers[0], answers[0]
    for q in range(1, len(answers)):
        low, high = min(low, answers[q]), max(high, answers[q])
    least = ROUNDING * max(abs(low), abs(high))
    return high - low <= least and abs(high - facts[ANSWER]) <= least  # type: ignore[no-any-return]


@inlined
def moment(rules: Rules, width: float) -> float:
    """Return the variance of one coordinate of a law of some half-width."""
    return width * width * (1.0 / (rules.rank + 1.0) if rules.ball else rules.rim / (rules.rim + 2.0))


@inlined
def unit(rules: Rules, width: float) -> float:
    """Return one over a law's standard deviation along a coordinate; zero where limits leave a single point."""
    return 1.0 / math.sqrt(moment(rules, width)) if width > 0.0 else 0.0


@inlined
def bent(rules: Rules, memory: Memory, j: int) -> float:
    """Return the critic's curvature along a coordinate; zero while it is not known."""
    return memory.bends[BEND, 0 if rules.ball else j] if memory.facts[CURVATURE] > 0.0 else 0.0


@inlined
def critic_slope(memory: Memory, law: Array, j: int) -> float:
    """Return the critic's slope at the prediction: its mean of late in the open, and nearer to a border more of that border's.

    The mean slope of narrow laws is known less well than wide ones need: it may change the loss by two mean surprises at most.
    """
    near, trend = law[3, j], memory.bends[TREND, j]
    if law[1, j] > 0.0:
        most = 2.0 * memory.facts[SPREAD] / law[1, j]
        trend = min(max(trend, -most), most)
    return trend * (1.0 - abs(near)) + memory.bends[EDGE, j] * near  # type: ignore[no-any-return]


@inlined
def term(rules: Rules, memory: Memory, point: Array, i: int, k: int) -> float:
    """Return what the level depends on: 1, or how far a coordinate of the prediction is from its mean, or the square of it."""
    if k == 0:
        return 1.0
    d = memory.bends.shape[1]
    j = (k - 1) % d
    variance = memory.bends[VARIED, j]
    away = (point[i, j] / rules.extent[j] - memory.bends[MEAN, j]) / math.sqrt(variance) if variance > 1e-12 else 0.0
    away = min(max(away, -3.0), 3.0)
    return away if k <= d else away * away - 1.0


@inlined
def level_at(rules: Rules, memory: Memory, point: Array, i: int) -> float:
    """Return b(x), what the critic expects at a prediction: a mean level, and how it depends on the prediction."""
    n, total = memory.levels.shape[0], memory.facts[LEVEL]
    for k in range(n):
        total += memory.levels[k, n + 1] * term(rules, memory, point, i, k)
    return total  # type: ignore[no-any-return]


@inlined
def expected(rules: Rules, memory: Memory, law: Array, u: Array, q: int, side: float, base: float) -> float:
    """Return what the critic expects at the prediction plus the law's offset plus side times u[q]."""
    total = base
    for j in range(law.shape[1]):
        v = law[0, j] + side * u[q, j]
        total += critic_slope(memory, law, j) * v + 0.5 * bent(rules, memory, j) * v * v
    return total


@inlined
def curving(rules: Rules, memory: Memory, u: Array, q: int) -> float:
    """Return ½ u'Hu for a direction."""
    total = 0.0
    for j in range(u.shape[1]):
        total += 0.5 * bent(rules, memory, j) * u[q, j] * u[q, j]
    return total
