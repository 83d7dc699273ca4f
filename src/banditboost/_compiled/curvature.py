"""What curvature a gradient from memory takes the losses to have: by a regression on ½u², and no less than slopes and heights tell.

A parabola with slope s and curvature h falls by s²/2h. As losses do not fall below their lowest values, h is at least the mean of
s² over twice their height: for the squared loss that is the curvature itself, and for the absolute loss, whose slopes are as large
at the least loss as far from it, it keeps steps as short as the errors are.
"""

from __future__ import annotations

import math

from banditboost._compiled.critic import (
    BEGAN,
    BEND,
    BENDING,
    BENT,
    CONTRAST,
    CURVATURE,
    LEVEL,
    LOW,
    REGRESSED,
    ROUNDS,
    SPREAD,
    SQUARE,
    STEEP,
    UNIT,
    Lesson,
    Memory,
    Rules,
)
from banditboost._compiled.jit import inlined

GUESS = 100.0
"""The curvature that is expected before anything is known, in heights of the losses over squared extents."""
FIRST = 30.0
"""Rounds before which the noise of answers is not known."""
FLOOR = 0.5
"""Share of the curvature that slopes and heights tell which is the least in use; all of it with one answer."""


@inlined
def take_declared(rules: Rules, memory: Memory) -> None:
    """Use the curvature that the user has declared."""
    facts, bends = memory.facts, memory.bends
    groups, total = 1 if rules.ball else bends.shape[1], 0.0
    for g in range(groups):
        bends[BEND, g] = rules.declared[g]
        total += rules.declared[g] / groups
    facts[CURVATURE] = total
    if facts[UNIT] <= 0.0:
        facts[UNIT] = facts[SPREAD]
    if facts[ROUNDS] <= FIRST:
        facts[BEGAN] = facts[LEVEL]


@inlined
def learn_curvature(rules: Rules, memory: Memory, it: Lesson) -> None:
    """Add the round to the regressions, and say what curvature is in use from now on."""
    facts, bends = memory.facts, memory.bends
    if rules.declared[0] > 0.0:
        take_declared(rules, memory)
        return
    groups = 1 if rules.ball else bends.shape[1]
    rounds, noise = facts[ROUNDS], facts[SPREAD]
    if rules.answers > 2:
        facts[CONTRAST] += (it.surprise[1] - facts[CONTRAST]) * max(0.01, 1.0 / rounds)
        noise = max(facts[CONTRAST], 0.02 * facts[SPREAD])
    if noise <= 0.0:
        return
    if facts[UNIT] <= 0.0:
        facts[UNIT] = noise
        for j in range(bends.shape[1]):
            it.sums[1, j] /= noise
    kept = 1.0 - 1.0 / (rounds + 21.0)
    # At first the noise is not known well enough for weights: rounds count alike, and their sums are weighted as a whole.
    weight = (facts[UNIT] / noise) ** 2
    apart, together = (1.0, weight) if rounds <= FIRST else (weight, 1.0)
    if rounds == FIRST:
        together = 1.0
    for g in range(groups):
        for row in range(2):
            bends[row, g] = kept * bends[row, g] + apart * it.sums[row, g]
            if rounds == FIRST:
                bends[row, g] *= weight
    use_curvature(rules, memory, together)


@inlined
def use_curvature(rules: Rules, memory: Memory, together: float) -> None:
    """Say what curvature is in use from now on; the sums are to be multiplied by `together`."""
    facts, bends, rounds = memory.facts, memory.bends, memory.facts[ROUNDS]
    groups, seen, products = 1 if rules.ball else bends.shape[1], 0.0, 0.0
    for g in range(groups):
        seen += together * bends[BENT, g]
        products += together * bends[BENDING, g]
    height = max(facts[LEVEL] - facts[LOW], 0.5 * facts[SPREAD])
    if seen <= 0.0 or height <= 0.0:
        return
    # A loss that rises by 100 times its mean height from one end of the space to the other is what is expected beforehand.
    # Where losses vanish as predictions get better, what was found before is: losses are no less curved for that.
    least = 0.01 * GUESS * height / facts[UNIT]
    guess = max(GUESS * height, facts[REGRESSED]) / facts[UNIT]
    belief = 1.0 / (guess * guess)
    error = 1.0 / math.sqrt(seen + belief)
    mean = max((products + belief * guess) / (seen + belief) + error * 30.0 / (30.0 + rounds), least)
    enough = 20.0 if rules.answers == 1 else 8.0 if rules.answers == 2 else 3.0
    if facts[CURVATURE] <= 0.0:
        if rounds < 60.0 and (rounds < enough or error > 0.33 * mean):
            return
        facts[BEGAN] = facts[LEVEL]
    elif rules.answers == 1:
        mean = max(mean, rules.lasting * facts[REGRESSED] / facts[UNIT])
    if rules.answers == 1:
        mean = max(mean, rules.wary * error)
    facts[REGRESSED] = mean * facts[UNIT]
    facts[CURVATURE] = 0.0
    prior = 4.0 / (mean * mean)
    for g in range(groups):
        own = mean
        if groups > 1:
            own = (together * bends[BENDING, g] + prior * mean) / (together * bends[BENT, g] + prior)
            own = max(own, 0.125 * mean, least)
        own *= facts[UNIT]
        own = max(own, min(steepest(rules, memory, g) / (2.0 * height), 10.0 * own))
        change = own - bends[BEND, g]
        bends[BEND, g] = own
        facts[CURVATURE] += own / groups
        for j in range(bends.shape[1]):
            if rules.ball or j == g:
                facts[LEVEL] -= 0.5 * change * bends[SQUARE, j]


@inlined
def steepest(rules: Rules, memory: Memory, g: int) -> float:
    """Return the mean of squared slopes that counts for the least curvature: along a coordinate, or in all directions of a ball."""
    total = 0.0
    for j in range(memory.bends.shape[1]):
        if rules.ball or j == g:
            total += memory.bends[STEEP, j]
    return total * (FLOOR if rules.answers > 1 else 1.0)
