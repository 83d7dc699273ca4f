"""Where the best constant prediction lies, from the targets of all rounds: what a gradient from memory tells the first copy.

A target is found with an error that grows like one over the width of the round's law, and laws become narrower: the mean of all
targets, each weighted by the square of that width over the squared surprise that is usual, knows the constant much better than
the plain mean. The first rounds have the widest laws and no targets, as the curvature is not known yet. Their losses are kept as
sums, and once it is known, a line through what the curvature leaves of them gives one target for all of them.
"""

from __future__ import annotations

from banditboost._compiled.critic import (
    AWAY,
    AWAYS,
    CUBES,
    CURVATURE,
    HEAVY,
    POINTED,
    REACH,
    ROUNDS,
    SLOPED,
    SPREAD,
    UNIT,
    Lesson,
    Memory,
    Rules,
    bent,
    moment,
)
from banditboost._compiled.curvature import FIRST
from banditboost._compiled.jit import inlined, strict
from banditboost._core.checks import Array

FARTHEST = 8.0
"""A target lies at most so many times as far from the prediction as is usual."""


@inlined
def told_constant(rules: Rules) -> bool:
    """Return whether the first copy is told where the best constant lies."""
    return rules.levels and rules.answers == 1 and not rules.ball


@inlined
def relative(facts: Array, rounds: float) -> float:
    """Return the weight of the loss of a round with this number: the usual surprise counts once it is known well enough."""
    return (facts[UNIT] / facts[SPREAD]) ** 2 if rounds >= FIRST and facts[SPREAD] > 0.0 else 1.0


@inlined
def way(rules: Rules, memory: Memory, it: Lesson, j: int) -> float:
    """Return the way from a target to its prediction along a coordinate, over the extent."""
    step, usual = it.slope[j] / bent(rules, memory, j), memory.bends[REACH, j]
    if usual > 0.0 and not rules.plain:
        step = min(max(step, -FARTHEST * usual), FARTHEST * usual)
    return min(max(step, -3.0), 3.0)  # type: ignore[no-any-return]


@strict
def constant(rules: Rules, memory: Memory, law: Array, point: Array, i: int, it: Lesson, j: int) -> float:
    """Return where the best constant lies along a coordinate by all rounds and this one, in units of the decision."""
    heavy = moment(rules, law[1, j]) * relative(memory.facts, memory.facts[ROUNDS] + 1.0)
    target = point[i, j] / rules.extent[j] - way(rules, memory, it, j)
    mean = (memory.bends[POINTED, j] + heavy * target) / (memory.bends[HEAVY, j] + heavy)
    return min(max(mean, rules.centre[j] - 0.5), rules.centre[j] + 0.5) * rules.extent[j]  # type: ignore[no-any-return]


@strict
def note_target(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, i: int) -> None:
    """Add a round to the sums, before the curvature is learned from it."""
    bends, known = memory.bends, memory.facts[CURVATURE] > 0.0
    for j in range(law.shape[1]):
        if law[1, j] <= 0.0:
            continue
        if known:
            heavy = it.importance[0] * moment(rules, law[1, j]) * relative(memory.facts, memory.facts[ROUNDS])
            bends[HEAVY, j] += heavy
            bends[POINTED, j] += heavy * (point[i, j] / rules.extent[j] - way(rules, memory, it, j))
        else:
            v = law[0, j] + it.u[0, j]
            bends[HEAVY, j] += 1.0
            bends[POINTED, j] += answers[0]
            bends[AWAY, j] += v
            bends[AWAYS, j] += v * v
            bends[CUBES, j] += v * v * v
            bends[SLOPED, j] += v * answers[0]


@strict
def target_of_first(rules: Rules, memory: Memory, point: Array, i: int) -> None:
    """Turn the sums of the first rounds, whose predictions were one, into a target once the curvature is known."""
    bends, facts = memory.bends, memory.facts
    for j in range(bends.shape[1]):
        if facts[CURVATURE] > 0.0 and bends[AWAYS, j] > 0.0:
            n, h = bends[HEAVY, j], bent(rules, memory, j)
            varied = bends[AWAYS, j] - bends[AWAY, j] ** 2 / n
            lost = bends[POINTED, j] - 0.5 * h * bends[AWAYS, j]
            along = bends[SLOPED, j] - 0.5 * h * bends[CUBES, j] - bends[AWAY, j] * lost / n
            step = min(max(along / varied / h, -3.0), 3.0) if varied > 0.0 else 0.0
            bends[HEAVY, j] = varied * relative(facts, facts[ROUNDS])
            bends[POINTED, j] = bends[HEAVY, j] * (point[i, j] / rules.extent[j] - step)
            for row in (AWAY, AWAYS, CUBES, SLOPED):
                bends[row, j] = 0.0
    if facts[ROUNDS] == FIRST - 1.0 and facts[CURVATURE] > 0.0 and facts[SPREAD] > 0.0:
        for j in range(bends.shape[1]):  # from the next round on the usual surprise counts
            bends[HEAVY, j] *= (facts[UNIT] / facts[SPREAD]) ** 2
            bends[POINTED, j] *= (facts[UNIT] / facts[SPREAD]) ** 2
