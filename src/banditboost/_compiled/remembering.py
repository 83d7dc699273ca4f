"""What a gradient from memory remembers of a round: levels, slopes, spreads, and what is left of all that when losses change."""

from __future__ import annotations

import math

from banditboost._compiled.constant import note_target, target_of_first, told_constant
from banditboost._compiled.critic import (
    ANSWER,
    BEFORE,
    BEGAN,
    CURVATURE,
    EDGE,
    EDGES,
    LAST,
    LEVEL,
    LONGEST,
    LOW,
    MEAN,
    NEAR,
    REACH,
    ROUNDING,
    ROUNDS,
    SAME,
    SPREAD,
    SQUARE,
    STEEP,
    STEEPNESS,
    STEEPS,
    TREND,
    TRENDS,
    UNIT,
    VARIED,
    WEIGHED,
    Lesson,
    Memory,
    Rules,
    bent,
    critic_slope,
    flat,
    level_at,
    moment,
    term,
)
from banditboost._compiled.curvature import FIRST, learn_curvature
from banditboost._compiled.falling import note_fall
from banditboost._compiled.jit import called, inlined
from banditboost._compiled.loss_units import follow_scale, note_heights, size
from banditboost._core.checks import Array

LEVEL_RIDGE = 30.0
"""The level depends on the prediction as if so many rounds had shown that it does not."""
TREND_KEPT = 0.98
"""What is left of a round's weight in the mean slope at predictions after another round."""
TREND_RIDGE = 4.0
"""The mean slope at predictions is as if so many rounds had shown none."""
CUT = 5.0
"""Surprises count up to so many times their usual size where their squares are followed."""


@inlined
def note_answers(facts: Array, answers: Array) -> None:
    """Count for how many rounds answers have been one number, and for how many they have hardly changed."""
    low, high = answers[0], answers[0]
    for q in range(1, len(answers)):
        low, high = min(low, answers[q]), max(high, answers[q])
    least, change = ROUNDING * max(abs(low), abs(high)), abs(high - facts[ANSWER])
    facts[ANSWER] = high
    if high - low <= least and change <= least:
        facts[SAME] += 1.0
    else:
        facts[LONGEST] = min(max(facts[LONGEST], facts[SAME]), 100.0)
        facts[SAME] = 0.0
    facts[NEAR] = facts[NEAR] + 1.0 if 0.0 < change < 0.01 * facts[SPREAD] else 0.0


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
            bends[TRENDS, j] = TREND_KEPT * bends[TRENDS, j] + it.importance[0] * (u * u / variance)
            bends[TREND, j] += it.importance[0] * (surprise * u / variance) / (bends[TRENDS, j] + TREND_RIDGE)


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
                sure = bends[STEEPNESS, j] - rules.wary * math.sqrt(bends[STEEPS, j])
                bends[STEEP, j] = max(sure / bends[STEEPS, j], 0.0) * scale**2


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
def note_reach(rules: Rules, memory: Memory, law: Array, it: Lesson, rate: float) -> None:
    """Follow how far from the prediction targets lie, each counted up to three times what is usual."""
    bends = memory.bends
    if memory.facts[CURVATURE] <= 0.0:
        return
    for j in range(law.shape[1]):
        if law[1, j] > 0.0:
            far = abs(it.slope[j]) / bent(rules, memory, j)
            usual = bends[REACH, j]
            bends[REACH, j] += (min(far, 3.0 * usual) - usual) * rate if usual > 0.0 else far


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
    change, silent = abs(answers[0] - facts[ANSWER]), flat(facts, answers)
    note_answers(facts, answers)
    if silent:
        return
    note_prediction(rules, memory, point, i)
    facts[ROUNDS] += 1.0
    rounds = facts[ROUNDS]
    if rounds == 1.0:
        if told_constant(rules):
            note_target(rules, memory, law, answers, it, point, i)
        remember_first(rules, memory, law, answers, it)
        learn_curvature(rules, memory, it)
        return
    if facts[NEAR] >= 5.0 and rounds <= FIRST:  # an outlier was among the first answers: begin again
        weighed = facts[WEIGHED]
        facts[:] = 0.0
        facts[WEIGHED] = min(weighed, 1.0)
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
    note_reach(rules, memory, law, it, rate)
    note_heights(rules, memory, law, answers, it)
    follow_scale(rules, memory, size(rules, answers, change))
    note_fall(rules, memory, law, answers, it)
    note_steepness(rules, memory, law, it, surprise - modelled, rate)
    if rules.answers == 1:
        note_trend(rules, memory, law, it, surprise - modelled)
    if told_constant(rules):
        note_target(rules, memory, law, answers, it, point, i)
    learn_curvature(rules, memory, it)
    if told_constant(rules):
        target_of_first(rules, memory, point, i)
