"""What a gradient from memory remembers of a round: levels, slopes, spreads, and what is left of all that when losses change."""

from __future__ import annotations

import math

from banditboost._compiled.critic import (
    ANSWER,
    BEFORE,
    BEGAN,
    BEND,
    BENDING,
    BENT,
    CURVATURE,
    EDGE,
    EDGES,
    FAST,
    LAST,
    LEVEL,
    LOW,
    MEAN,
    NEAR,
    REGRESSED,
    ROUNDING,
    ROUNDS,
    SAME,
    SLOW,
    SPREAD,
    SQUARE,
    STEEP,
    STEEPNESS,
    STEEPS,
    TREND,
    TRENDS,
    UNIT,
    VARIED,
    Lesson,
    Memory,
    Rules,
    critic_slope,
    level_at,
    moment,
    term,
)
from banditboost._compiled.curvature import FIRST, learn_curvature
from banditboost._compiled.jit import called, inlined
from banditboost._core.checks import Array

GROWN = 4.0
"""Losses of late that are larger than usual by this factor, or smaller, mean that the losses have other units now."""
LEARNED = 1000.0
"""Rounds after which losses do not become several times smaller within some hundred rounds by learning alone."""
LEVEL_RIDGE = 30.0
"""The level depends on the prediction as if so many rounds had shown that it does not."""
TREND_KEPT = 0.98
"""What is left of a round's weight in the mean slope at predictions after another round."""
TREND_RIDGE = 4.0
"""The mean slope at predictions is as if so many rounds had shown none."""
CUT = 5.0
"""Surprises count up to so many times their usual size where their squares are followed."""


@inlined
def flat(facts: Array, answers: Array) -> bool:
    """Return whether all answers have been one number for more than ten rounds: then nothing is to be learned from it."""
    low, high = answers[0], answers[0]
    for q in range(1, len(answers)):
        low, high = min(low, answers[q]), max(high, answers[q])
    least, change = ROUNDING * max(abs(low), abs(high)), abs(high - facts[ANSWER])
    facts[ANSWER] = high
    facts[SAME] = facts[SAME] + 1.0 if high - low <= least and change <= least else 0.0
    facts[NEAR] = facts[NEAR] + 1.0 if 0.0 < change < 1e-3 * facts[SPREAD] else 0.0
    return facts[SAME] > 10.0  # type: ignore[no-any-return]


@inlined
def tamed(facts: Array, surprise: float) -> float:
    """Return the surprise less what is out of all proportion: a single one is cut; after two in three the level has moved."""
    if abs(surprise) <= ROUNDING * abs(facts[LEVEL]):
        surprise = 0.0
    low, high = min(surprise, facts[LAST]), max(surprise, facts[LAST])
    lasting = min(max(facts[BEFORE], low), high)  # the median of three
    facts[BEFORE], facts[LAST] = facts[LAST], surprise
    if facts[ROUNDS] <= 3.0:
        return surprise
    if abs(lasting) > 20.0 * facts[SPREAD]:
        facts[LEVEL] += lasting
        facts[LOW] += lasting
        facts[BEGAN] += lasting
        facts[LAST] -= lasting
        facts[BEFORE] -= lasting
        surprise -= lasting
    most = 10.0 * facts[SPREAD] if facts[SPREAD] > 0.0 else abs(surprise)
    return min(max(surprise, -most), most)


@inlined
def note_prediction(rules: Rules, memory: Memory, point: Array, i: int) -> None:
    """Follow mean and variance of the predictions."""
    bends, rate = memory.bends, max(0.01, 1.0 / (memory.facts[ROUNDS] + 1.0))
    for j in range(bends.shape[1]):
        away = point[i, j] / rules.extent[j] - bends[MEAN, j]
        bends[MEAN, j] += rate * away
        bends[VARIED, j] += rate * ((1.0 - rate) * away * away - bends[VARIED, j])


@inlined
def note_squares(memory: Memory, law: Array, it: Lesson, rate: float) -> None:
    """Follow the mean of v², by which the level changes where the curvature does: only their sum is seen."""
    for j in range(law.shape[1]):
        total = 0.0
        for q in range(it.u.shape[0]):
            total += (law[0, j] ** 2 + it.u[q, j] ** 2) / it.u.shape[0]
        memory.bends[SQUARE, j] += (total - memory.bends[SQUARE, j]) * rate


@inlined
def note_low(facts: Array, answers: Array) -> None:
    """Follow a low quantile of the losses; the lowest of all at first."""
    rounds = facts[ROUNDS]
    step = facts[SPREAD] * max(0.02, 1.0 / math.sqrt(rounds)) / len(answers)
    for q in range(len(answers)):
        if rounds <= FIRST:
            facts[LOW] = min(facts[LOW], answers[q])
        else:
            facts[LOW] += step * (0.05 if answers[q] > facts[LOW] else -0.95)


@inlined
def note_edges(memory: Memory, law: Array, it: Lesson) -> None:
    """Follow the slope away from a border, where predictions are near one."""
    bends, most = memory.bends, 40.0 * memory.facts[SPREAD]
    for j in range(law.shape[1]):
        near = law[3, j]
        if near != 0.0 and law[1, j] > 0.0:
            bends[EDGES, j] += near * near - 0.005 * bends[EDGES, j]
            missed = min(max(it.slope[j], -most), most) - critic_slope(memory, law, j)
            bends[EDGE, j] += missed * near / (bends[EDGES, j] + 10.0)


@inlined
def note_trend(rules: Rules, memory: Memory, law: Array, it: Lesson, surprise: float) -> None:
    """Follow the mean slope at predictions away from borders, which is zero once they are right on average."""
    bends = memory.bends
    for j in range(law.shape[1]):
        if law[1, j] > 0.0 and law[3, j] == 0.0:
            u, variance = it.u[0, j], moment(rules, law[1, j])
            bends[TRENDS, j] = TREND_KEPT * bends[TRENDS, j] + u * u / variance
            bends[TREND, j] += surprise * u / variance / (bends[TRENDS, j] + TREND_RIDGE)


@inlined
def note_steepness(rules: Rules, memory: Memory, law: Array, it: Lesson, surprise: float, rate: float) -> None:
    """Follow the mean of squared slopes. With one answer it shows as the growth of squared surprises with u²."""
    bends, facts = memory.bends, memory.facts
    spread, scale = facts[SPREAD], facts[UNIT]
    for j in range(law.shape[1]):
        if law[1, j] <= 0.0:
            continue
        if rules.answers > 1:
            most = 40.0 * spread
            bends[STEEP, j] += (min(it.slope[j] ** 2, most * most) - bends[STEEP, j]) * rate
        elif scale > 0.0 and spread > 0.0:
            about = it.u[0, j] ** 2 - moment(rules, law[1, j])
            kept, weight = 1.0 - 2.0 / (facts[ROUNDS] + 40.0), (scale / spread) ** 4
            more = (min(abs(surprise), CUT * spread) / scale) ** 2 - 1.5 * (spread / scale) ** 2
            bends[STEEPS, j] = kept * bends[STEEPS, j] + weight * about * about
            bends[STEEPNESS, j] = kept * bends[STEEPNESS, j] + weight * about * more
            if facts[ROUNDS] > 200.0:
                bends[STEEP, j] = max(bends[STEEPNESS, j] / bends[STEEPS, j], 0.0) * scale**2


# Inlined, as `learn_curvature` is: as functions of their own they were compiled to other bits in a process than on disk.
@inlined
def learn_level(rules: Rules, memory: Memory, point: Array, i: int, missed: float) -> None:
    """Add a round to the regression of the level on the prediction; `missed` is what the mean level left."""
    facts, levels, n = memory.facts, memory.levels, memory.levels.shape[0]
    if facts[SPREAD] <= 0.0 or facts[UNIT] <= 0.0:
        return
    kept, weight = 1.0 - 2.0 / (facts[ROUNDS] + 40.0), (facts[UNIT] / facts[SPREAD]) ** 2
    for k in range(n):
        left = weight * term(rules, memory, point, i, k)
        levels[k, n] = kept * levels[k, n] + left * missed
        for m in range(n):
            levels[k, m] = kept * levels[k, m] + left * term(rules, memory, point, i, m)
    for k in range(n):  # one sweep of Gauss and Seidel a round
        total = levels[k, n]
        for m in range(n):
            if m != k:
                total -= levels[k, m] * levels[m, n + 1]
        levels[k, n + 1] = total / (levels[k, k] + LEVEL_RIDGE * weight)


@inlined
def size(rules: Rules, answers: Array, surprise: float) -> float:
    """Return how large the losses of a round are: how much they differ, or where there is nothing to compare, the surprise."""
    if rules.answers <= 2:
        return abs(surprise)
    centre, total = 0.0, 0.0
    for q in range(len(answers)):
        centre += answers[q] / len(answers)
    for q in range(len(answers)):
        total += abs(answers[q] - centre) / len(answers)
    return total


@inlined
def follow_scale(rules: Rules, memory: Memory, size: float) -> None:
    """Notice when losses have become several times larger, and take all that is remembered to have grown with them.

    Means of their sizes over about 30 and 400 rounds are compared, in which a single one counts at most ten times the mean. Where
    losses have become several times smaller, what was seen of the curvature counts less, and new rounds decide; in the first
    thousand rounds predictions may simply have become better.
    """
    facts, bends, n = memory.facts, memory.bends, memory.levels.shape[0]
    rounds = facts[ROUNDS]
    if rounds > 30.0 and facts[SLOW] > 0.0:
        size = min(size, 10.0 * facts[SLOW])
    facts[FAST] += (size - facts[FAST]) / min(rounds, 30.0)
    facts[SLOW] += (size - facts[SLOW]) / min(rounds, 400.0)
    grown = facts[FAST] > GROWN * facts[SLOW]
    shrunk = rounds > LEARNED and facts[FAST] < facts[SLOW] / GROWN
    if rounds <= 60.0 or rules.declared[0] > 0.0 or not (grown or shrunk):
        return
    growth = facts[FAST] / facts[SLOW] if grown else 1.0
    facts[SLOW] = facts[FAST]
    for j in range(bends.shape[1]):
        for row in (BENT, BENDING, STEEPS, STEEPNESS):
            bends[row, j] *= 0.1
        bends[EDGE, j] *= growth
        bends[TREND, j] *= growth
        bends[BEND, j] *= growth
        bends[STEEP, j] *= growth * growth
    facts[SPREAD] *= growth
    facts[CURVATURE] *= growth
    facts[REGRESSED] *= growth
    facts[UNIT] *= growth
    for k in range(n):
        memory.levels[k, n] *= growth
        memory.levels[k, n + 1] *= growth


@inlined
def remember_first(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Remember the first round, before which there was nothing to compare with."""
    facts, lowest = memory.facts, answers[0]
    for q in range(1, len(answers)):
        lowest = min(lowest, answers[q])
    facts[LEVEL], facts[LOW], facts[SPREAD] = facts[LEVEL] + it.surprise[0], lowest, 0.0
    if len(answers) > 1:
        for q in range(len(answers)):
            facts[SPREAD] += abs(answers[q] - facts[LEVEL]) / len(answers)
    if facts[SPREAD] <= ROUNDING * abs(facts[LEVEL]):
        facts[SPREAD] = 0.0
    note_squares(memory, law, it, 1.0)
    if rules.answers <= 2:
        it.sums[:] = 0.0


@called
def remember(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, i: int) -> None:
    """Let the critic learn from a round that was read, whose prediction was point[i]."""
    facts, bends = memory.facts, memory.bends
    if facts[ROUNDS] > 0.0 and flat(facts, answers):
        return
    note_prediction(rules, memory, point, i)
    facts[ROUNDS] += 1.0
    rounds = facts[ROUNDS]
    if rounds == 1.0:
        remember_first(rules, memory, law, answers, it)
        learn_curvature(rules, memory, it)
        return
    if facts[NEAR] >= 5.0 and rounds <= FIRST:  # an outlier was among the first answers: begin again
        facts[:] = 0.0
        bends[:] = 0.0
        memory.levels[:] = 0.0
        return
    rate = max(0.01, 1.0 / rounds)
    modelled = level_at(rules, memory, point, i) - facts[LEVEL]
    surprise = tamed(facts, it.surprise[0] + modelled)
    learn_level(rules, memory, point, i, surprise)
    facts[SPREAD] += (abs(surprise) - facts[SPREAD]) * rate
    facts[LEVEL] += surprise * rate
    note_squares(memory, law, it, rate)
    note_low(facts, answers)
    if not rules.ball:
        note_edges(memory, law, it)
    follow_scale(rules, memory, size(rules, answers, surprise))
    note_steepness(rules, memory, law, it, surprise - modelled, rate)
    if rules.answers == 1:
        note_trend(rules, memory, law, it, surprise - modelled)
    learn_curvature(rules, memory, it)
