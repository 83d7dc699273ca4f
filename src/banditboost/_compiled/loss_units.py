"""In what units losses come: a gradient from memory notices when they have become several times larger or smaller."""

from __future__ import annotations

import math

from banditboost._compiled.critic import (
    BEND,
    BENDING,
    BENT,
    BOWED,
    CURVATURE,
    EDGE,
    FAST,
    GONE,
    GREW,
    HIGH,
    LEVEL,
    LOW,
    REACH,
    REGRESSED,
    ROUNDS,
    SETTLING,
    SIZES,
    SLOW,
    SPREAD,
    STEEP,
    STEEPLY,
    STEEPNESS,
    STEEPS,
    TREND,
    UNIT,
    VARIED,
    Lesson,
    Memory,
    Rules,
    bent,
)
from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

GROWN = 4.0
"""Losses of late that are larger than usual by this factor, or smaller, mean that the losses have other units now."""
LEARNED = 1000.0
"""Rounds after which losses do not become several times smaller within some hundred rounds by learning alone."""
UNDONE = 0.7
"""The logarithm of a growth that a decline may undo."""
SHORT = 30.0
"""Rounds over which the means of late go."""
WRONG = 8.0
"""How many times their rise over one standard deviation of predictions losses may be by wrong ones: their negatives make it 4."""
SETTLED = 300.0
"""Rounds in which it becomes clear by how much losses have grown."""


@inlined
def size(rules: Rules, answers: Array, change: float) -> float:
    """Return how large the losses of a round are: how much they differ from each other, or where there are few, from the last."""
    if rules.answers <= 2:
        return change
    centre, total = 0.0, 0.0
    for q in range(len(answers)):
        centre += answers[q] / len(answers)
    for q in range(len(answers)):
        total += abs(answers[q] - centre) / len(answers)
    return total


@inlined
def note_heights(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Follow the mean of the losses, and what it would be if they were least, and their lowest, at every prediction."""
    facts, mean, bowed = memory.facts, 0.0, 0.0
    for q in range(len(answers)):
        mean += answers[q] / len(answers)
        side = 1.0 if q % 2 == 0 else -1.0
        for j in range(law.shape[1]):
            v = law[0, j] + side * it.u[q // 2, j]
            bowed += 0.5 * bent(rules, memory, j) * v * v / len(answers)
    rate = 1.0 / min(facts[ROUNDS], SHORT)
    facts[HIGH] += (mean - facts[HIGH]) * rate
    facts[BOWED] += (bowed - facts[BOWED]) * rate
    if rules.changes:
        falls = 0.0
        for j in range(law.shape[1]):
            if law[1, j] > 0.0 and bent(rules, memory, j) > 0.0:
                falls += 0.5 * it.slope[j] ** 2 / bent(rules, memory, j)
        facts[STEEPLY] += (falls - facts[STEEPLY]) * rate


@inlined
def gone_wrong(rules: Rules, memory: Memory, growth: float) -> bool:
    """Return whether losses have grown because predictions are wrong, and not because losses come in other units.

    A parabola's height above its lowest point is s²/2h for its slope s and its curvature h, wherever the prediction is; in units
    that are r times as large both heights and curvatures are r times as large, while the curvature that is remembered is not.
    Where losses have risen at once, by far more than is usual, so has what they are taken to be at least, which hides their height:
    with two answers it is no less than what they change by from round to round.
    """
    facts, bends = memory.facts, memory.bends
    if rules.answers > 1:
        height = facts[HIGH] - facts[BOWED] - facts[LOW]
        if rules.answers == 2:
            height = max(height, facts[SIZES])
        return height > 0.0 and facts[STEEPLY] < math.sqrt(growth) * height  # type: ignore[no-any-return]
    varied = 0.0
    for j in range(bends.shape[1]):
        varied += 0.5 * bent(rules, memory, j) * bends[VARIED, j]
    return facts[FAST] < WRONG * varied  # type: ignore[no-any-return]


@inlined
def expect_wrong(memory: Memory, growth: float) -> None:
    """Take predictions to be so wrong that losses have grown by a factor: curvatures stay, distances grow like its root."""
    facts, bends = memory.facts, memory.bends
    for j in range(bends.shape[1]):
        bends[REACH, j] *= math.sqrt(growth)
        bends[STEEP, j] *= growth
    facts[SPREAD] *= growth
    facts[SLOW] = facts[FAST]
    facts[GONE] += math.log(growth)


@inlined
def follow_scale(rules: Rules, memory: Memory, size: float) -> None:
    """Notice when losses have become several times larger, and take all that is remembered to have grown with them.

    Means of their sizes over about 30 and 400 rounds are compared, in which a single one counts at most ten times the mean; while
    they differ, the longer one waits. By how much losses have grown becomes clearer in the rounds after that. Where they have
    become several times smaller, predictions may simply be better. Several answers show the curvature soon enough, so that what was
    seen of it before counts less. One or two do not: they are taken to have other units where that undoes an earlier growth, or
    once losses are lower than the curvature allows, however good predictions are.
    """
    facts, bends = memory.facts, memory.bends
    rounds, before, few = facts[ROUNDS], facts[SLOW], rules.answers <= 2
    if rules.changes:
        facts[SIZES] += (size - facts[SIZES]) / min(rounds, SHORT)
    if rounds > 30.0 and before > 0.0:
        size = min(size, 10.0 * before)
    if facts[SETTLING] > 0.0:
        facts[SLOW] += (size - before) * 2.0 / (facts[SETTLING] + 10.0)
        facts[FAST] = facts[SLOW]
        facts[SETTLING] = facts[SETTLING] + 1.0 if facts[SETTLING] < SETTLED else 0.0
        measure_anew(memory, facts[SLOW] / before)
        return
    facts[FAST] += (size - facts[FAST]) / min(rounds, SHORT)
    usual = 0.5 * before < facts[FAST] < 2.0 * before
    facts[SLOW] += (size - before) / min(rounds, 400.0 if usual else 2000.0)
    grown = facts[FAST] > GROWN * facts[SLOW]
    shrunk = rounds > LEARNED and facts[FAST] < facts[SLOW] / GROWN
    if shrunk and rules.changes and facts[GONE] > UNDONE and facts[FAST] > 0.0:  # predictions are right again
        facts[GONE] = max(facts[GONE] + math.log(facts[FAST] / facts[SLOW]), 0.0)
        facts[SLOW] = facts[FAST]
        return
    if shrunk and few:
        shrunk = facts[GREW] > UNDONE or facts[HIGH] - facts[LOW] < 0.5 * facts[BOWED]
    if rounds <= 60.0 or rules.declared[0] > 0.0 or not (grown or shrunk):
        return
    if rules.changes and grown and gone_wrong(rules, memory, facts[FAST] / facts[SLOW]):
        expect_wrong(memory, facts[FAST] / facts[SLOW])
        return
    for j in range(bends.shape[1]):
        for row in (BENT, BENDING, STEEPS, STEEPNESS):
            bends[row, j] *= 0.1
    if grown or few:
        measure_anew(memory, facts[FAST] / facts[SLOW])
        facts[SETTLING] = 1.0
    facts[SLOW] = facts[FAST]


@inlined
def measure_anew(memory: Memory, growth: float) -> None:
    """Take all losses that are remembered to have grown by a factor."""
    facts, bends, n = memory.facts, memory.bends, memory.levels.shape[0]
    facts[GREW] += math.log(growth)
    for j in range(bends.shape[1]):
        bends[EDGE, j] *= growth
        bends[TREND, j] *= growth
        bends[BEND, j] *= growth
        bends[STEEP, j] *= growth * growth
    if growth < 1.0:  # a level that has risen shows at once
        facts[LEVEL] = facts[LOW] + (facts[LEVEL] - facts[LOW]) * growth
    facts[SPREAD] *= growth
    facts[BOWED] *= growth
    facts[CURVATURE] *= growth
    facts[REGRESSED] *= growth
    facts[UNIT] *= growth
    for k in range(n):
        memory.levels[k, n] *= growth
        memory.levels[k, n + 1] *= growth
