"""Trees grown anew on remembered rounds, compiled: what `banditboost.learners.Grown` explains. Both paths call these functions.

A growth begins in one round, on the rows kept then, and takes effect in a later one, or in the same where there is no lag. In
between those rows stay as they are, wherever they are grown: where memory is full, new rounds wait in a queue.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.forest_memory import (
    BASE,
    BEGUN,
    DUE,
    GROWN,
    HEIRS,
    HELD,
    LATE,
    NEXT,
    PATIENCE,
    QUEUED,
    ROWS,
    SEEN,
    SINCE,
    STAGES,
    TREES,
    Memory,
    drawn,
    is_worth_it,
    judge_stages,
    of_copy,
    of_heir,
    put,
    say_alone,
    say_stages,
    stage_of,
    weigh,
)
from banditboost._compiled.growing import Rules, Workshop, grow
from banditboost._compiled.heirs import has_heir, is_ahead, is_judged, judge_heir, late_rows_first, suspect, take_over
from banditboost._compiled.jit import brief, loop, strict
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array


@strict
def say(memory: Memory, x: Array, out: Array) -> None:
    """Write the prediction for a context: that of the heir where it is ahead."""
    if is_ahead(memory):
        say_alone(of_heir(memory), x, out)
    else:
        say_alone(memory, x, out)


@strict
def say_all(memory: Memory, x: Array, stages: Array) -> None:
    """Write what all stages of the forest and of its heir, where that is judged, say about a context."""
    say_stages(memory, x, stages[0])
    if is_judged(memory):
        say_stages(of_heir(memory), x, stages[1])


@strict
def note_down(memory: Memory, shop: Workshop, x: Array, anchor: Array, target: Array, stages: Array) -> None:
    """Judge all stages by what they have said about a round that none has seen, and remember it."""
    clock, heir = memory.clock, memory.heir
    for j in range(len(target)):
        target[j] = min(max(target[j], shop.ends[0, j]), shop.ends[1, j])
    if len(memory.worth) > 0 and clock[GROWN] > 0:
        weigh(memory.worth, anchor, target, stages[0, stage_of(memory)])
    own = judge_stages(memory, target, stages[0])
    if len(heir.clock) > 0:
        judge_heir(memory, own, target, stages[1])
    clock[SEEN] += 1
    for j in range(len(target)):
        memory.mean[0, j] += (target[j] - memory.mean[0, j]) / (clock[SEEN] - base_of(memory))
    slot = free_slot(memory)
    if slot < len(memory.rows):
        put(memory.rows, memory.targets, slot, x, target)
    else:
        put(memory.pending.rows, memory.pending.targets, slot - len(memory.rows), x, target)
    if len(heir.clock) > 0:
        heir.born[slot] = clock[SEEN]


@strict
def base_of(memory: Memory) -> int:
    """Return how many rounds are too old for the forest in use: those before an heir has taken over."""
    return int(memory.heir.clock[BASE]) if len(memory.heir.clock) > 0 else 0


@strict
def free_slot(memory: Memory) -> int:
    """Return where the next round goes: a free place, one drawn at random, or, after all rows, one in the queue."""
    clock, pending, most = memory.clock, memory.pending, len(memory.rows)
    if clock[ROWS] < most:
        clock[ROWS] += 1
        return int(clock[ROWS] - 1)
    if pending.clock[BEGUN] == 0:
        return drawn(clock, most)
    if pending.clock[QUEUED] < len(pending.rows):
        pending.clock[QUEUED] += 1
        return most + int(pending.clock[QUEUED]) - 1
    return most + drawn(clock, len(pending.rows))


@strict
def settle(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow the forest that is due, and begin a growth where it is time for one."""
    if is_due(memory):
        grow_in_place(memory, shop, rules)
    clock, pending, heir = memory.clock, memory.pending.clock, memory.heir
    if len(heir.clock) > 0 and pending[BEGUN] == 0:
        if heir.clock[SINCE] > 0:
            take_over(memory)
        else:
            suspect(memory, rules.first)
    if pending[BEGUN] == 0:
        if len(heir.clock) > 0 and heir.clock[SINCE] > 0 and clock[SEEN] >= heir.clock[NEXT]:
            rows = late_rows_first(memory, heir.clock[SINCE])
            if rows > 0:  # a queue may have driven out all of them
                heir.clock[HEIRS] = 1
                begin(memory, of_heir(memory), rows, heir.clock[SINCE], rules)
        elif clock[SEEN] >= clock[NEXT] and not has_heir(memory):
            begin(memory, memory, clock[ROWS], base_of(memory), rules)
        if is_due(memory):
            grow_in_place(memory, shop, rules)


@strict
def begin(memory: Memory, whose: Memory, rows: int, base: int, rules: Rules) -> None:
    """Begin a growth on the first rows, which came after the first `base` rounds, and say when the next one is."""
    pending, seen = memory.pending.clock, memory.clock[SEEN]
    pending[BEGUN], pending[HELD], pending[TREES] = seen, rows, trees_wanted(whose, rules)
    pending[DUE] = seen + math.ceil(rules.lag * (seen - base))
    whose.clock[NEXT] = base + math.ceil(pace(whose, rules) * (seen - base))


@strict
def pace(memory: Memory, rules: Rules) -> float:
    """Return how many times as many rounds there are when trees are grown again; more if frugal and they are not worth it."""
    if len(memory.worth) > 0 and not is_worth_it(memory.worth):
        return max(rules.growth, PATIENCE)
    return rules.growth


@strict
def is_due(memory: Memory) -> bool:
    """Return whether a growth is to take effect now."""
    pending = memory.pending.clock
    return bool(pending[BEGUN] > 0 and pending[LATE] == 0 and memory.clock[SEEN] >= pending[DUE])


@strict
def trees_wanted(memory: Memory, rules: Rules) -> int:
    """Return how many trees to grow: half as many more as have proven useful, or twice as many where all have; few if frugal."""
    if memory.rows.shape[1] == 0:
        return 0
    frugal = len(memory.worth) > 0
    if memory.clock[GROWN] == 0 or (frugal and not is_worth_it(memory.worth)):
        return min(STAGES, rules.trees) if frugal else rules.trees
    stage = stage_of(memory)
    used = stage * memory.clock[GROWN] // STAGES
    return int(min(max(2 * used if stage == STAGES else 3 * used // 2, STAGES), rules.trees))


@strict
def grow_in_place(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow the forest that has begun over the one in use, or over its heir."""
    held, trees = memory.pending.clock[HELD], memory.pending.clock[TREES]
    whose = of_heir(memory) if is_heirs(memory) else memory
    grow(memory.rows, memory.targets, held, trees, shop, rules, whose.forest, whose.mean[1])
    take_effect(memory)


@strict
def is_heirs(memory: Memory) -> bool:
    """Return whether the growth that has begun is the heir's."""
    return bool(len(memory.heir.clock) > 0 and memory.heir.clock[HEIRS] == 1)


@strict
def take_effect(memory: Memory) -> None:
    """End a growth whose forest is in its place: rounds seen before weigh half, and those in the queue are remembered."""
    pending = memory.pending
    whose = of_heir(memory) if is_heirs(memory) else memory
    whose.clock[GROWN] = pending.clock[TREES]
    for stage in range(STAGES + 1):
        whose.errors[stage] *= 0.5
    for k in range(len(memory.worth)):
        memory.worth[k] *= 0.5
    if is_heirs(memory):
        memory.heir.clock[HEIRS] = 0
        for j in range(memory.targets.shape[1]):
            whose.mean[0, j] = whose.mean[1, j]
    for k in range(pending.clock[QUEUED]):
        slot = drawn(memory.clock, len(memory.rows))
        for f in range(memory.rows.shape[1]):
            memory.rows[slot, f] = pending.rows[k, f]
        for j in range(memory.targets.shape[1]):
            memory.targets[slot, j] = pending.targets[k, j]
        if len(memory.heir.clock) > 0:
            memory.heir.born[slot] = memory.heir.born[len(memory.rows) + k]
    for column in range(len(pending.clock)):
        pending.clock[column] = 0


class Grown(NamedTuple):
    """A bank of copies, each with a memory of its own."""

    X: Array
    """Contexts, each followed by its levels of categories, shape (T, features + categories)."""
    memory: Memory
    shop: Workshop
    rules: Rules
    stages: Array
    """What the stages of every copy's forest and of its heir say in a round, shape (copies, 2, STAGES + 1, d)."""
    target: Array
    """Room for a pseudo-label, shape (d,)."""


@implements(look, Grown)
def look_grown(bank: Grown, t: int, begin: int, desk: Desk) -> None:
    """Say what the best stage of every copy's forest says."""
    for i in range(bank.memory.clock.shape[0]):
        memory, stages, out = of_copy(bank.memory, i), bank.stages[i], desk.outputs[begin + i]
        say_all(memory, bank.X[t], stages)
        ahead = is_ahead(memory)
        stage = stage_of(of_heir(memory)) if ahead else stage_of(memory)
        for j in range(len(out)):
            out[j] = stages[1 if ahead else 0, stage, j]


@implements(learn, Grown)
def learn_grown(bank: Grown, t: int, begin: int, desk: Desk) -> None:
    """Remember where the loss would have been least."""
    for i in range(bank.memory.clock.shape[0]):
        memory = of_copy(bank.memory, i)
        for j in range(len(bank.target)):
            bank.target[j] = desk.anchors[begin + i, j] - 0.5 * desk.G[begin + i, j]
        note_down(memory, bank.shop, bank.X[t], desk.anchors[begin + i], bank.target, bank.stages[i])
        settle(memory, bank.shop, bank.rules)


@loop
def play(memory: Memory, X: Array, out: Array) -> None:
    """Write the predictions of all copies for rows of contexts, shape (copies, rows, d)."""
    for i in range(out.shape[0]):
        for t in range(X.shape[0]):
            say(of_copy(memory, i), X[t], out[i, t])


@brief
def play_one(memory: Memory, x: Array, out: Array) -> None:
    """Write the predictions of all copies for one context, shape (copies, d)."""
    for i in range(out.shape[0]):
        say(of_copy(memory, i), x, out[i])


@loop
def remember(
    memory: Memory, shop: Workshop, rules: Rules, x: Array, anchors: Array, targets: Array, stages: Array
) -> None:
    """Let every copy take note of one round, and grow anew where it is time."""
    note(memory, shop, x, anchors, targets, stages)
    go_on(memory, shop, rules)


@loop
def note(memory: Memory, shop: Workshop, x: Array, anchors: Array, targets: Array, stages: Array) -> None:
    """Let every copy take note of one round, before anything takes effect: where forests are grown in the background."""
    for i in range(targets.shape[0]):
        say_all(of_copy(memory, i), x, stages[i])
        note_down(of_copy(memory, i), shop, x, anchors[i], targets[i], stages[i])


@loop
def installed(memory: Memory, i: int) -> None:
    """Let a forest take effect that was grown in the background and put into its place in a copy."""
    take_effect(of_copy(memory, i))


@loop
def go_on(memory: Memory, shop: Workshop, rules: Rules) -> None:
    """Grow what is due and was not installed, and begin growths where it is time for them."""
    for i in range(memory.clock.shape[0]):
        settle(of_copy(memory, i), shop, rules)
