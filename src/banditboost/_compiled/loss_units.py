"""In what units losses come: a gradient from memory notices when they have become several times larger or smaller."""

from __future__ import annotations

from banditboost._compiled.critic import (
    BEND,
    BENDING,
    BENT,
    CURVATURE,
    EDGE,
    FAST,
    LEVEL,
    LOW,
    REGRESSED,
    ROUNDS,
    SETTLING,
    SLOW,
    SPREAD,
    STEEP,
    STEEPNESS,
    STEEPS,
    TREND,
    UNIT,
    Memory,
    Rules,
)
from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

GROWN = 4.0
"""Losses of late that are larger than usual by this factor, or smaller, mean that the losses have other units now."""
LEARNED = 1000.0
"""Rounds after which losses do not become several times smaller within some hundred rounds by learning alone."""
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
def follow_scale(rules: Rules, memory: Memory, size: float) -> None:
    """Notice when losses have become several times larger, and take all that is remembered to have grown with them.

    Means of their sizes over about 30 and 400 rounds are compared, in which a single one counts at most ten times the mean. By how
    much they have grown becomes clearer in the rounds after that. Where losses have become several times smaller, one or two
    answers take them to have other units, too; more answers show the curvature soon enough, so that what was seen of it before
    counts less, and no more is assumed. In the first thousand rounds predictions may simply have become better.
    """
    facts, bends = memory.facts, memory.bends
    rounds, before = facts[ROUNDS], facts[SLOW]
    if rounds > 30.0 and before > 0.0:
        size = min(size, 10.0 * before)
    if facts[SETTLING] > 0.0:
        facts[SLOW] += (size - before) * 2.0 / (facts[SETTLING] + 10.0)
        facts[FAST] = facts[SLOW]
        facts[SETTLING] = facts[SETTLING] + 1.0 if facts[SETTLING] < SETTLED else 0.0
        measure_anew(memory, facts[SLOW] / before)
        return
    facts[FAST] += (size - facts[FAST]) / min(rounds, 30.0)
    facts[SLOW] += (size - facts[SLOW]) / min(rounds, 400.0)
    grown = facts[FAST] > GROWN * facts[SLOW]
    shrunk = rounds > LEARNED and facts[FAST] < facts[SLOW] / GROWN
    if rounds <= 60.0 or rules.declared[0] > 0.0 or not (grown or shrunk):
        return
    for j in range(bends.shape[1]):
        for row in (BENT, BENDING, STEEPS, STEEPNESS):
            bends[row, j] *= 0.1
    if grown or rules.answers <= 2:
        measure_anew(memory, facts[FAST] / facts[SLOW])
        facts[SETTLING] = 1.0
    facts[SLOW] = facts[FAST]


@inlined
def measure_anew(memory: Memory, growth: float) -> None:
    """Take all losses that are remembered to have grown by a factor."""
    facts, bends, n = memory.facts, memory.bends, memory.levels.shape[0]
    for j in range(bends.shape[1]):
        bends[EDGE, j] *= growth
        bends[TREND, j] *= growth
        bends[BEND, j] *= growth
        bends[STEEP, j] *= growth * growth
    if growth < 1.0:  # a level that has risen shows at once
        facts[LEVEL] = facts[LOW] + (facts[LEVEL] - facts[LOW]) * growth
    facts[SPREAD] *= growth
    facts[CURVATURE] *= growth
    facts[REGRESSED] *= growth
    facts[UNIT] *= growth
    for k in range(n):
        memory.levels[k, n] *= growth
        memory.levels[k, n + 1] *= growth
