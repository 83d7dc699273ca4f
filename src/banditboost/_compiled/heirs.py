"""Forests that take the place of those that have gone stale, compiled: what `banditboost.learners.Grown` says of heirs.

Errors of the forest in use are followed over about the last 64 and the last 512 rounds, and over a longer time. Where late errors
are larger than chance allows, the world may have changed: an heir is grown on the rounds since then alone. It takes over when, and
only when, its errors on rounds that neither has seen are smaller by more than chance; the rows before it are then forgotten.
Errors are distances to pseudo-labels, not their squares, so that single rounds count less.
"""

from __future__ import annotations

import math

from banditboost._compiled.forest_memory import (
    BASE,
    GROWN,
    NEXT,
    ROWS,
    SEEN,
    SINCE,
    STAGES,
    TAKEN,
    Memory,
    judge_stages,
    of_heir,
)
from banditboost._compiled.jit import strict
from banditboost._core.checks import Array

SHORT, LONG, USUAL, SPREAD, COUNTED, AHEAD, DOUBT, JUDGED = range(8)
SUMS = 8
SHORTER, LONGER, LONGEST = 64.0, 512.0, 4096.0
"""Rounds over which errors are followed."""
SUSPICIOUS = (3.0, 4.0)
"""How many standard deviations late errors of the shorter and of the longer time must lie above the usual ones for an heir."""
SURE = 3.0
"""How many standard deviations an heir must be ahead to take over."""
PATIENCE = 1000
"""An heir that is behind by as much is given up after so many rounds."""


@strict
def is_judged(memory: Memory) -> bool:
    """Return whether there is an heir with trees, whose errors are compared with those of the forest in use."""
    heir = memory.heir
    return bool(len(heir.clock) > 0 and heir.clock[SINCE] > 0 and heir.clock[GROWN] > 0)


@strict
def judge_heir(memory: Memory, own: float, target: Array, stages: Array) -> None:
    """Follow the squared errors of the forest in use, and compare those of the heir, whose stages have spoken, with them."""
    heir = memory.heir
    if memory.clock[GROWN] > 0:
        follow_errors(heir.sums, math.sqrt(own))
    else:
        own = 0.0
    if is_judged(memory):
        better = own - judge_stages(of_heir(memory), target, stages)
        heir.sums[AHEAD] = faded(LONGER) * heir.sums[AHEAD] + better
        heir.sums[DOUBT] = faded(LONGER) ** 2 * heir.sums[DOUBT] + better * better
        heir.sums[JUDGED] += 1.0


@strict
def faded(rounds: float) -> float:
    """Return what a round leaves of the weight of those before it in a mean over about so many rounds."""
    return 1.0 - 1.0 / rounds


@strict
def follow_errors(sums: Array, error: float) -> None:
    """Add an error to the means over late and over more rounds, and to the spread of all."""
    sums[COUNTED] += 1.0
    n = sums[COUNTED]
    away = error - sums[USUAL]
    sums[SPREAD] += (away * away - sums[SPREAD]) / min(n, LONGEST)
    sums[USUAL] += away / min(n, LONGEST)
    sums[LONG] += (error - sums[LONG]) / min(n, LONGER)
    sums[SHORT] += (error - sums[SHORT]) / min(n, SHORTER)


@strict
def suspect(memory: Memory, first: int) -> None:
    """Begin an heir where late errors are larger than chance allows; it is grown as soon as there are rows enough."""
    heir, sums = memory.heir, memory.heir.sums
    since = 0
    for k in range(2):
        rounds, late, sure = (SHORTER, sums[SHORT], SUSPICIOUS[0]) if k == 0 else (LONGER, sums[LONG], SUSPICIOUS[1])
        # The variance of a mean with exponential weights is that of one number over twice the rounds.
        allowed = sure * math.sqrt(sums[SPREAD] / (2.0 * rounds))
        if since == 0 and sums[COUNTED] > 2.0 * rounds and late - sums[USUAL] > allowed:
            since = max(memory.clock[SEEN] - int(rounds), heir.clock[BASE] + 1)
    if since > 0:
        for column in range(5):
            heir.clock[column] = 0
        heir.clock[SINCE] = since
        heir.clock[NEXT] = max(since + first, memory.clock[SEEN])
        for stage in range(STAGES + 1):
            heir.errors[stage] = 0.0
        heir.sums[AHEAD], heir.sums[DOUBT], heir.sums[JUDGED] = 0.0, 0.0, 0.0


@strict
def has_heir(memory: Memory) -> bool:
    """Return whether there is an heir; the forest in use is not grown anew then, which would put off the decision between them."""
    return bool(len(memory.heir.clock) > 0 and memory.heir.clock[SINCE] > 0)


@strict
def is_ahead(memory: Memory) -> bool:
    """Return whether there is an heir that is to be played: it is ahead, if not surely."""
    heir = memory.heir
    return bool(has_heir(memory) and heir.sums[JUDGED] >= 10.0 and heir.sums[AHEAD] > math.sqrt(heir.sums[DOUBT]))


@strict
def take_over(memory: Memory) -> None:
    """Let the heir take over where it is surely ahead, and give it up where it is behind, or is hardly younger than the other."""
    heir, clock = memory.heir, memory.clock
    ahead, doubt, age = heir.sums[AHEAD], math.sqrt(heir.sums[DOUBT]), clock[SEEN] - heir.clock[SINCE]
    if ahead > SURE * doubt and heir.sums[JUDGED] > 20.0:
        inherit(memory)
    elif (ahead < -SURE * doubt and age > PATIENCE) or 2 * age > clock[SEEN] - heir.clock[BASE]:
        heir.clock[SINCE] = 0
        start_again(memory)


@strict
def start_again(memory: Memory) -> None:
    """Take errors of late for usual, so that the same rounds do not raise suspicion again."""
    sums = memory.heir.sums
    sums[USUAL] = sums[SHORT] = sums[LONG]
    sums[COUNTED] = min(sums[COUNTED], LONGER)


@strict
def inherit(memory: Memory) -> None:
    """Put the heir's forest into the place of the one in use, and forget the rows before it."""
    heir, clock, forest = memory.heir, memory.clock, memory.forest
    clock[ROWS] = late_rows_first(memory, heir.clock[SINCE])
    clock[NEXT], clock[GROWN] = heir.clock[NEXT], heir.clock[GROWN]
    for tree in range(forest.feature.shape[0]):
        for node in range(forest.feature.shape[1]):
            forest.feature[tree, node] = heir.forest.feature[tree, node]
            forest.threshold[tree, node] = heir.forest.threshold[tree, node]
            forest.child[tree, node] = heir.forest.child[tree, node]
            for j in range(forest.value.shape[2]):
                forest.value[tree, node, j] = heir.forest.value[tree, node, j]
            for k in range(forest.sets.shape[2]):
                forest.sets[tree, node, k] = heir.forest.sets[tree, node, k]
    for j in range(memory.mean.shape[1]):
        memory.mean[0, j], memory.mean[1, j] = heir.mean[1, j], heir.mean[1, j]
    for stage in range(STAGES + 1):
        memory.errors[stage] = heir.errors[stage]
    heir.clock[BASE], heir.clock[SINCE] = heir.clock[SINCE], 0
    heir.clock[TAKEN] += 1
    for column in range(JUDGED + 1):
        heir.sums[column] = 0.0


@strict
def late_rows_first(memory: Memory, since: int) -> int:
    """Put rows that have come from a round on before all others, and return how many they are."""
    rows, targets, born = memory.rows, memory.targets, memory.heir.born
    front = 0
    for r in range(memory.clock[ROWS]):
        if born[r] >= since:
            if r != front:
                born[r], born[front] = born[front], born[r]
                for k in range(rows.shape[1]):
                    rows[r, k], rows[front, k] = rows[front, k], rows[r, k]
                for j in range(targets.shape[1]):
                    targets[r, j], targets[front, j] = targets[front, j], targets[r, j]
            front += 1
    return front
