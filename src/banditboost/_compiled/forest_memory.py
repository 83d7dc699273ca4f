"""What a learner remembers that grows trees anew, and how the stages of its forests are judged (`banditboost._compiled.grown`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import Numbers
from banditboost._compiled.forest import Forest, add_trees, forest_of
from banditboost._compiled.gains import CLEARLY
from banditboost._compiled.jit import strict
from banditboost._core.checks import Array

SEEN, ROWS, NEXT, GROWN, CHANCE = range(5)
BEGUN, DUE, HELD, TREES, LATE, QUEUED = range(6)
SINCE, BASE, HEIRS, TAKEN = range(5, 9)
LARGEST = 3e38
"""Largest number that a row may have."""
FOLLOWED = 0.1
"""A forest that would best have been followed by less than this share of the way is kept small where forests are `frugal`."""
PATIENCE = 4.0
"""Such a forest is grown anew when there are at least so many times as many rounds."""
STAGES = 10
"""A forest may be used up to a tenth of its trees, two tenths, and so on."""


class Pending(NamedTuple):
    """A growth that has begun and has not taken effect yet, and the rounds that wait for it."""

    clock: Numbers
    """The round in which it has begun (0: there is none) and that in which it takes effect, rows that it is grown on, its number of
    trees, whether it is waited for although its round has come, and rounds in the queue."""
    rows: NDArray[np.float32]
    """Contexts in the queue, shape (most rounds, features)."""
    targets: Array
    """Their pseudo-labels, shape (most rounds, d)."""


class Heir(NamedTuple):
    """A forest on late rounds alone, that may take the place of the one in use (`banditboost._compiled.heirs`).

    Its first five numbers, its mean, errors and forest stand for the same as those of a `Memory`.
    """

    clock: Numbers
    """As for a memory, rows counted since the round from which its rows come; then that round (0: there is no heir), that from
    which the rows of the forest in use come, whether the growth that has begun is the heir's, and how often one has taken over."""
    born: Numbers
    """In which round each remembered row came, and then those in the queue; shape (most rows + most rounds in the queue,)."""
    mean: Array
    """Shape (2, d)."""
    errors: Array
    """Shape (STAGES + 1,)."""
    forest: Forest
    sums: Array
    """What tells whether errors have grown, and whether the heir's are smaller."""


class Memory(NamedTuple):
    """What a copy remembers, and what was grown from it."""

    clock: Numbers
    """Rounds seen, rows kept, the round of the next growth, trees grown, and the state of the draws of rows to forget."""
    rows: NDArray[np.float32]
    """Contexts, shape (most rows, features)."""
    targets: Array
    """Pseudo-labels, shape (most rows, d)."""
    mean: Array
    """The mean of all pseudo-labels, and that of the rows that the forest was grown on, shape (2, d)."""
    errors: Array
    """Squared errors on rows not seen, of the mean and of every stage of the forest, shape (STAGES + 1,)."""
    forest: Forest
    pending: Pending
    heir: Heir
    """Empty arrays where forests have no heirs."""
    worth: Array
    """What following the forest has gained, Σ (z - y)·(a - y), and Σ |a - y|², with y where gradients were taken, z pseudo-labels
    and a what the forest says: shape (2,), or (0,) where forests are as large as they may be."""


@strict
def of_copy(memory: Memory, i: int) -> Memory:
    """Return the memory of one copy, of arrays whose first axis is the copy."""
    pending = Pending(memory.pending.clock[i], memory.pending.rows[i], memory.pending.targets[i])
    late = memory.heir
    heir = Heir(late.clock[i], late.born[i], late.mean[i], late.errors[i], forest_of(late.forest, i), late.sums[i])
    own = memory.clock[i], memory.rows[i], memory.targets[i], memory.mean[i], memory.errors[i]
    return Memory(own[0], own[1], own[2], own[3], own[4], forest_of(memory.forest, i), pending, heir, memory.worth[i])


@strict
def of_heir(memory: Memory) -> Memory:
    """Return the memory of one copy as it would be with its heir's forest in the place of its own."""
    heir = memory.heir
    own = memory.pending, memory.heir, memory.worth
    return Memory(heir.clock, memory.rows, memory.targets, heir.mean, heir.errors, heir.forest, own[0], own[1], own[2])


@strict
def say_stages(memory: Memory, x: Array, stages: Array) -> None:
    """Write what the mean and every stage of the forest say about a context, shape (STAGES + 1, d)."""
    trees = memory.clock[GROWN]
    for j in range(stages.shape[1]):
        stages[0, j] = memory.mean[0, j]
    for stage in range(1, STAGES + 1):
        for j in range(stages.shape[1]):
            stages[stage, j] = memory.mean[1, j] if stage == 1 else stages[stage - 1, j]
        add_trees(memory.forest, (stage - 1) * trees // STAGES, stage * trees // STAGES, x, stages[stage])


@strict
def judge_stages(memory: Memory, target: Array, stages: Array) -> float:
    """Add the squared errors of the mean and of every stage in one round, and return that of the stage which was in use."""
    used, own = stage_of(memory), 0.0
    for stage in range(STAGES + 1):
        for j in range(len(target)):
            error = (stages[stage, j] - target[j]) ** 2
            memory.errors[stage] += error
            if stage == used:
                own += error
    return own


@strict
def weigh(worth: Array, anchor: Array, target: Array, said: Array) -> None:
    """Add one round to what following the forest has gained."""
    for j in range(len(target)):
        away = said[j] - anchor[j]
        worth[0] += (target[j] - anchor[j]) * away
        worth[1] += away * away


@strict
def is_worth_it(worth: Array) -> bool:
    """Return whether the best share of the way towards the forest, by the rounds so far, is more than a little."""
    return bool(worth[0] > FOLLOWED * worth[1])


@strict
def stage_of(memory: Memory) -> int:
    """Return the stage that has erred least so far; the mean before anything was grown."""
    if memory.clock[GROWN] == 0:
        return 0
    best = STAGES
    for stage in range(STAGES - 1, -1, -1):
        if CLEARLY * memory.errors[stage] < memory.errors[best]:
            best = stage
    return best


@strict
def say_alone(memory: Memory, x: Array, out: Array) -> None:
    """Write the prediction of a forest's best stage for a context."""
    stage = stage_of(memory)
    for j in range(len(out)):
        out[j] = memory.mean[1 if stage > 0 else 0, j]
    add_trees(memory.forest, 0, stage * memory.clock[GROWN] // STAGES, x, out)


@strict
def put(rows: NDArray[np.float32], targets: Array, slot: int, x: Array, target: Array) -> None:
    """Write a round into its place; levels of categories, which follow a context, are not kept."""
    for k in range(rows.shape[1]):
        rows[slot, k] = min(max(x[k], -LARGEST), LARGEST)
    for j in range(len(target)):
        targets[slot, j] = target[j]


@strict
def drawn(clock: Numbers, n: int) -> int:
    """Draw one of n places."""
    clock[CHANCE] = (clock[CHANCE] * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
    return int((clock[CHANCE] >> 20) % n)
