"""Trees grown anew on remembered rounds, compiled: what `banditboost.learners.Grown` explains. Both paths call these functions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import KEPT, Bins, Numbers, cut
from banditboost._compiled.dispatch import implements
from banditboost._compiled.histogram import CLEARLY, Forest, Room, Rows, boost, leaf_of
from banditboost._compiled.jit import loop, strict
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array

SEEN, ROWS, NEXT, GROWN, CHANCE = range(5)
LARGEST = 3e38
"""Largest number that a row may have."""
STAGES = 10
"""A forest may be used up to a tenth of its trees, two tenths, and so on."""


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


class Workshop(NamedTuple):
    """Where forests are grown; nothing in it outlasts the growing."""

    bins: Bins
    held: Rows
    room: Room
    ends: Array
    """The least and the largest pseudo-label, shape (2, d)."""


class Rules(NamedTuple):
    """How trees are grown."""

    trees: int
    rate: float
    ridge: float
    least: float
    growth: float


@strict
def of_copy(memory: Memory, i: int) -> Memory:
    """Return the memory of one copy, of arrays whose first axis is the copy."""
    trees = memory.forest
    forest = Forest(trees.feature[i], trees.threshold[i], trees.child[i], trees.value[i])
    return Memory(memory.clock[i], memory.rows[i], memory.targets[i], memory.mean[i], memory.errors[i], forest)


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
def take_note(memory: Memory, shop: Workshop, rules: Rules, x: Array, target: Array, said: Array) -> None:
    """Judge all stages by a round that none has seen, remember it, and grow anew where it is time."""
    clock = memory.clock
    for j in range(len(target)):
        target[j] = min(max(target[j], shop.ends[0, j]), shop.ends[1, j])
    judge_stages(memory, x, target, said)
    clock[SEEN] += 1
    slot = clock[ROWS]
    if slot < memory.rows.shape[0]:
        clock[ROWS] += 1
    else:
        clock[CHANCE] = (clock[CHANCE] * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        slot = (clock[CHANCE] >> 20) % memory.rows.shape[0]
    for k in range(len(x)):
        memory.rows[slot, k] = min(max(x[k], -LARGEST), LARGEST)
    for j in range(len(target)):
        memory.mean[0, j] += (target[j] - memory.mean[0, j]) / clock[SEEN]
        memory.targets[slot, j] = target[j]
    if clock[SEEN] >= clock[NEXT]:
        grow(memory, shop, rules)
        clock[NEXT] = math.ceil(rules.growth * clock[SEEN])


@strict
def grow(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Cut bins by the rows remembered, and grow a forest on them."""
    n, features = memory.clock[ROWS], memory.rows.shape[1]
    lay_out(memory, shop)
    for j in range(memory.targets.shape[1]):
        total = 0.0
        for k in range(n):
            total += memory.targets[k, j]
        memory.mean[1, j] = total / n
        for k in range(n):
            shop.room.residuals[k, j] = memory.targets[k, j] - memory.mean[1, j]
    if features > 0:
        used, trees = stage_of(memory) * memory.clock[GROWN] // STAGES, rules.trees
        if memory.clock[GROWN] > 0:  # more trees than have proven useful, but not many more
            trees = min(max(2 * used, STAGES), rules.trees)
        boost(shop.held, n, shop.room, memory.forest, trees, rules.rate, rules.ridge, rules.least)
        memory.clock[GROWN] = trees
    for stage in range(STAGES + 1):
        memory.errors[stage] *= 0.5


@strict
def lay_out(memory: Memory, shop: Workshop) -> None:
    """Put the rows into bins."""
    n, bins, held = memory.clock[ROWS], shop.bins, shop.held
    kept = min(n, bins.sample.shape[0])
    bins.clock[KEPT] = kept
    for k in range(memory.rows.shape[1]):
        low, high = memory.rows[0, k], memory.rows[0, k]
        for r in range(n):
            low, high = min(low, memory.rows[r, k]), max(high, memory.rows[r, k])
        bins.ends[0, k], bins.ends[1, k] = low, high
        for r in range(kept):
            bins.sample[r, k] = memory.rows[r * n // kept, k]
        cut(bins, k)
    place = 0
    for r in range(n):
        held.starts[r] = place
        for k in range(memory.rows.shape[1]):
            low, high = 0, bins.offsets[k + 1] - bins.offsets[k] - 1
            while low < high:
                middle = (low + high) // 2
                if memory.rows[r, k] <= bins.edges[k, middle]:
                    high = middle
                else:
                    low = middle + 1
            held.bins[r, k] = low
            if low != bins.usual[k]:
                held.unusual[place] = bins.offsets[k] + low
                place += 1
    held.starts[n] = place


class Grown(NamedTuple):
    """A bank of copies, each with a memory of its own."""

    X: Array
    """Contexts, shape (T, features)."""
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
        take_note(of_copy(bank.memory, i), bank.shop, bank.rules, bank.X[t], bank.said[1], bank.said[0])


@loop
def play(memory: Memory, X: Array, out: Array) -> None:
    """Write the predictions of all copies for rows of contexts, shape (copies, rows, d)."""
    for i in range(out.shape[0]):
        for t in range(X.shape[0]):
            say(of_copy(memory, i), X[t], out[i, t])


@loop
def remember(memory: Memory, shop: Workshop, rules: Rules, x: Array, targets: Array, said: Array) -> None:
    """Let every copy take note of one round."""
    for i in range(targets.shape[0]):
        take_note(of_copy(memory, i), shop, rules, x, targets[i], said)
