"""Trees grown anew on remembered rounds, compiled: what `banditboost.learners.Grown` explains. Both paths call these functions.

A growth begins in one round, on the rows kept then, and takes effect in a later one, or in the same where there is no lag. In
between those rows stay as they are, wherever they are grown: where memory is full, new rounds wait in a queue.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import Numbers
from banditboost._compiled.dispatch import implements
from banditboost._compiled.gains import CLEARLY
from banditboost._compiled.growing import Rules, Workshop, grow
from banditboost._compiled.histogram import Forest, forest_of, leaf_of
from banditboost._compiled.jit import loop, strict
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array

SEEN, ROWS, NEXT, GROWN, CHANCE = range(5)
BEGUN, DUE, HELD, TREES, LATE, QUEUED = range(6)
LARGEST = 3e38
"""Largest number that a row may have."""
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


@strict
def of_copy(memory: Memory, i: int) -> Memory:
    """Return the memory of one copy, of arrays whose first axis is the copy."""
    forest = forest_of(memory.forest, i)
    pending = Pending(memory.pending.clock[i], memory.pending.rows[i], memory.pending.targets[i])
    return Memory(memory.clock[i], memory.rows[i], memory.targets[i], memory.mean[i], memory.errors[i], forest, pending)


@strict
def judge_stages(memory: Memory, x: Array, target: Array, said: Array) -> None:
    """Add the squared errors of the mean and of every stage of the forest in one round."""
    trees, forest, d = memory.clock[GROWN], memory.forest, len(target)
    for j in range(d):
        said[j] = memory.mean[1, j]
        memory.errors[0] += (memory.mean[0, j] - target[j]) ** 2
    for stage in range(1, STAGES + 1):
        for tree in range((stage - 1) * trees // STAGES, stage * trees // STAGES):
            leaf = leaf_of(forest, tree, x)
            for j in range(d):
                said[j] += forest.value[tree, leaf, j]
        for j in range(d):
            memory.errors[stage] += (said[j] - target[j]) ** 2


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
def say(memory: Memory, x: Array, out: Array) -> None:
    """Write the prediction for a context."""
    stage, forest = stage_of(memory), memory.forest
    for j in range(len(out)):
        out[j] = memory.mean[1 if stage > 0 else 0, j]
    for tree in range(stage * memory.clock[GROWN] // STAGES):
        leaf = leaf_of(forest, tree, x)
        for j in range(len(out)):
            out[j] += forest.value[tree, leaf, j]


@strict
def note_down(memory: Memory, shop: Workshop, x: Array, target: Array, said: Array) -> None:
    """Judge all stages by a round that none has seen, and remember it."""
    clock = memory.clock
    for j in range(len(target)):
        target[j] = min(max(target[j], shop.ends[0, j]), shop.ends[1, j])
    judge_stages(memory, x, target, said)
    clock[SEEN] += 1
    for j in range(len(target)):
        memory.mean[0, j] += (target[j] - memory.mean[0, j]) / clock[SEEN]
    pending, rows, targets = memory.pending, memory.rows, memory.targets
    if clock[ROWS] < len(rows):
        clock[ROWS] += 1
        put(rows, targets, clock[ROWS] - 1, x, target)
    elif pending.clock[BEGUN] == 0:
        put(rows, targets, drawn(clock, len(rows)), x, target)
    elif pending.clock[QUEUED] < len(pending.rows):
        pending.clock[QUEUED] += 1
        put(pending.rows, pending.targets, pending.clock[QUEUED] - 1, x, target)
    else:
        put(pending.rows, pending.targets, drawn(clock, len(pending.rows)), x, target)


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


@strict
def settle(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow the forest that is due, and begin a growth where it is time for one."""
    if is_due(memory):
        grow_in_place(memory, shop, rules)
    clock, pending = memory.clock, memory.pending.clock
    if pending[BEGUN] == 0 and clock[SEEN] >= clock[NEXT]:
        pending[BEGUN], pending[HELD], pending[TREES] = clock[SEEN], clock[ROWS], trees_wanted(memory, rules)
        pending[DUE] = clock[SEEN] + math.ceil(rules.lag * clock[SEEN])
        clock[NEXT] = math.ceil(rules.growth * clock[SEEN])
        if is_due(memory):
            grow_in_place(memory, shop, rules)


@strict
def is_due(memory: Memory) -> bool:
    """Return whether a growth is to take effect now."""
    pending = memory.pending.clock
    return bool(pending[BEGUN] > 0 and pending[LATE] == 0 and memory.clock[SEEN] >= pending[DUE])


@strict
def trees_wanted(memory: Memory, rules: Rules) -> int:
    """Return how many trees to grow: more than have proven useful, but not many more."""
    if memory.rows.shape[1] == 0:
        return 0
    if memory.clock[GROWN] == 0:
        return rules.trees
    used = stage_of(memory) * memory.clock[GROWN] // STAGES
    return int(min(max(2 * used, STAGES), rules.trees))


@strict
def grow_in_place(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow the forest that has begun over the one in use."""
    held, trees = memory.pending.clock[HELD], memory.pending.clock[TREES]
    grow(memory.rows, memory.targets, held, trees, shop, rules, memory.forest, memory.mean[1])
    take_effect(memory)


@strict
def take_effect(memory: Memory) -> None:
    """End a growth whose forest is in its place: rounds seen before weigh half, and those in the queue are remembered."""
    clock, pending = memory.clock, memory.pending
    clock[GROWN] = pending.clock[TREES]
    for stage in range(STAGES + 1):
        memory.errors[stage] *= 0.5
    for k in range(pending.clock[QUEUED]):
        slot = drawn(clock, len(memory.rows))
        for f in range(memory.rows.shape[1]):
            memory.rows[slot, f] = pending.rows[k, f]
        for j in range(memory.targets.shape[1]):
            memory.targets[slot, j] = pending.targets[k, j]
    for column in range(len(pending.clock)):
        pending.clock[column] = 0


class Grown(NamedTuple):
    """A bank of copies, each with a memory of its own."""

    X: Array
    """Contexts, each followed by its levels of categories, shape (T, features + categories)."""
    memory: Memory
    shop: Workshop
    rules: Rules
    said: Array
    """Room for a prediction, and for a pseudo-label, shape (2, d)."""


@implements(look, Grown)
def look_grown(bank: Grown, t: int, begin: int, desk: Desk) -> None:
    """Say what the best stage of every copy's forest says."""
    for i in range(bank.memory.clock.shape[0]):
        say(of_copy(bank.memory, i), bank.X[t], desk.outputs[begin + i])


@implements(learn, Grown)
def learn_grown(bank: Grown, t: int, begin: int, desk: Desk) -> None:
    """Remember where the loss would have been least."""
    for i in range(bank.memory.clock.shape[0]):
        for j in range(bank.said.shape[1]):
            bank.said[1, j] = desk.anchors[begin + i, j] - 0.5 * desk.G[begin + i, j]
        note_down(of_copy(bank.memory, i), bank.shop, bank.X[t], bank.said[1], bank.said[0])
        settle(of_copy(bank.memory, i), bank.shop, bank.rules)


@loop
def play(memory: Memory, X: Array, out: Array) -> None:
    """Write the predictions of all copies for rows of contexts, shape (copies, rows, d)."""
    for i in range(out.shape[0]):
        for t in range(X.shape[0]):
            say(of_copy(memory, i), X[t], out[i, t])


@loop
def remember(memory: Memory, shop: Workshop, rules: Rules, x: Array, targets: Array, said: Array) -> None:
    """Let every copy take note of one round, and grow anew where it is time."""
    for i in range(targets.shape[0]):
        note_down(of_copy(memory, i), shop, x, targets[i], said)
        settle(of_copy(memory, i), shop, rules)


@loop
def note(memory: Memory, shop: Workshop, x: Array, targets: Array, said: Array) -> None:
    """Let every copy take note of one round, before anything takes effect: where forests are grown in the background."""
    for i in range(targets.shape[0]):
        note_down(of_copy(memory, i), shop, x, targets[i], said)


@loop
def installed(memory: Memory, i: int) -> None:
    """Let a forest take effect that was grown in the background and put into its place in a copy."""
    take_effect(of_copy(memory, i))


@loop
def go_on(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow what is due and was not installed, and begin growths where it is time for them."""
    for i in range(memory.clock.shape[0]):
        settle(of_copy(memory, i), shop, rules)
