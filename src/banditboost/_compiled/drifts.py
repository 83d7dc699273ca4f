"""Alarms where losses have risen: the rank of a round's loss among the last ones, bets on small ranks, and when to stop, compiled.

A loss is compared with the losses of a window, which the last ones have not come into yet, so that a change does not hide itself.
Its p-value is uniform on [a, b], where a is the share of larger ones and b - a that of equal ones, itself among them. Bets are
densities f of p-values that fall from left to right; what a bet pays is the mean of f over [a, b]. The wealth of a bet is
multiplied by what it pays, and begins again at one where it has fallen below: a cumulative sum. An alarm is raised where the mean
wealth of all bets reaches a limit.

Only comparisons of losses matter, so that alarms follow any change of units, and one far loss counts no more than one that is
somewhat larger than the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from banditboost._compiled.bands import place_of
from banditboost._compiled.jit import loop, strict
from banditboost._core.checks import Array

ROUNDS, KNOWN, WAITING, NEXT, WARNED, RAISED = range(6)
"""Entries of `Memory.facts`: rounds told, losses in the window, later ones that wait to come into it, where the next one goes in
the ring, since when something is suspected (0 where nothing is), and alarms raised."""
FACTS = 6
WEALTH, SINCE = range(2)
"""Rows of `Memory.bets`: what a bet has made of one since it last began, and the round in which it did."""
ROWS = 2
EVERY, WARNING, BURN_IN, SLACK = range(4)
"""Entries of `rules`: the wealth at an alarm and at a warning, the rounds left out, and what a bet may gain in the mean."""
POWERS = (0.2, 0.4, 0.6, 0.8)
"""Bets have densities proportional to max(p, FLOOR)^(power - 1)."""
FLOOR = 0.02
"""P-values below this one are no more suspicious than it is, so that no bet pays more than about seven."""
HEIGHTS = tuple(power * FLOOR ** (power - 1.0) for power in POWERS)
AREAS = tuple(height * FLOOR + 1.0 - FLOOR**power for power, height in zip(POWERS, HEIGHTS, strict=True))
KEPT = 64
"""How many alarms are remembered: the last ones."""


class Memory(NamedTuple):
    """What a detector remembers; all arrays are changed in place."""

    facts: Array
    """Shape (6,)."""
    ring: Array
    """The losses of the window, then those that wait, in the order of telling up to `facts[NEXT]`; shape (W + W//2 + 1,)."""
    order: Array
    """The losses of the window in ascending order; those that are there come first, shape (W,)."""
    bets: Array
    """Shape (2, bets)."""
    alarms: Array
    """The round of an alarm and when the change began; that of alarm i at i modulo their number, shape (64, 2)."""


@strict
def below(k: int, p: float) -> float:
    """Return the integral of the density of bet k from zero to p."""
    if p <= FLOOR:
        return HEIGHTS[k] * p / AREAS[k]  # type: ignore[no-any-return]
    return (HEIGHTS[k] * FLOOR + math.pow(p, POWERS[k]) - math.pow(FLOOR, POWERS[k])) / AREAS[k]  # type: ignore[no-any-return]


@strict
def larger(memory: Memory, loss: float) -> tuple[float, float]:
    """Return the ends of the p-value of a loss: shares of losses that are larger, and that are not smaller, itself among them."""
    known = int(memory.facts[KNOWN])
    first = place_of(memory.order, known, loss)
    low, high = first, known
    while low < high:
        middle = (low + high) // 2
        if memory.order[middle] <= loss:
            low = middle + 1
        else:
            high = middle
    return (known - low) / (known + 1.0), (known - first + 1.0) / (known + 1.0)


@strict
def bet(memory: Memory, loss: float, slack: float) -> float:
    """Let all bets be paid for a loss, and return their mean wealth."""
    a, b = larger(memory, loss)
    total = 0.0
    for k in range(len(POWERS)):
        if memory.bets[WEALTH, k] <= 1.0:
            memory.bets[WEALTH, k], memory.bets[SINCE, k] = 1.0, memory.facts[ROUNDS]
        paid = (below(k, b) - below(k, a)) / (b - a)
        memory.bets[WEALTH, k] *= paid / (1.0 + slack)
        total += memory.bets[WEALTH, k]
    return total / len(POWERS)


@strict
def richest(memory: Memory) -> int:
    """Return the bet with the largest wealth."""
    best = 0
    for k in range(1, len(POWERS)):
        if memory.bets[WEALTH, k] > memory.bets[WEALTH, best]:
            best = k
    return best


@strict
def insert(order: Array, known: int, loss: float) -> None:
    """Put a loss among `known` ones in ascending order."""
    place = place_of(order, known, loss)
    for i in range(known, place, -1):
        order[i] = order[i - 1]
    order[place] = loss


@strict
def admit(memory: Memory, fewest: float) -> None:
    """Let losses that have waited long enough into the window, each in place of the oldest where it is full.

    The first ones, of which there must be `fewest`, do not wait.
    """
    facts, order, held, window = memory.facts, memory.order, len(memory.ring), len(memory.order)
    while facts[WAITING] > window // 2 or (facts[WAITING] > 0.0 and facts[KNOWN] < fewest):
        known, first = int(facts[KNOWN]), int(facts[NEXT] - facts[WAITING])
        if known == window:
            known -= 1
            for i in range(place_of(order, window, memory.ring[(first - window) % held]), known):
                order[i] = order[i + 1]
        insert(order, known, memory.ring[first % held])
        facts[KNOWN] = known + 1.0
        facts[WAITING] -= 1.0


@strict
def keep(memory: Memory, loss: float, fewest: float) -> None:
    """Put a loss behind all others."""
    facts = memory.facts
    memory.ring[int(facts[NEXT])] = loss
    facts[NEXT] = float(int(facts[NEXT] + 1.0) % len(memory.ring))
    facts[WAITING] += 1.0
    admit(memory, fewest)


@strict
def raise_alarm(memory: Memory, best: int) -> None:
    """Write an alarm down, and begin again: losses from before the change must not be compared with."""
    facts = memory.facts
    row = int(facts[RAISED] % len(memory.alarms))
    memory.alarms[row, 0], memory.alarms[row, 1] = facts[ROUNDS] + 1.0, memory.bets[SINCE, best]
    facts[RAISED] += 1.0
    facts[WARNED] = facts[KNOWN] = facts[WAITING] = 0.0
    for k in range(len(POWERS)):
        memory.bets[WEALTH, k] = memory.bets[SINCE, k] = 0.0


@strict
def warn(memory: Memory, wealth: float, warning: float, best: int) -> None:
    """Begin to suspect a change where wealth has reached the lower limit, and cease to where all of it is lost."""
    if memory.bets[WEALTH, best] <= 1.0:
        memory.facts[WARNED] = 0.0
    elif memory.facts[WARNED] == 0.0 and wealth >= warning:
        memory.facts[WARNED] = memory.bets[SINCE, best]


@strict
def learn_one(memory: Memory, loss: float, rules: Array) -> None:
    """Compare a loss with those before, and keep it."""
    if memory.facts[ROUNDS] >= rules[BURN_IN]:
        wealth = 0.0
        if memory.facts[KNOWN] >= rules[BURN_IN]:
            wealth = bet(memory, loss, rules[SLACK])
        keep(memory, loss, rules[BURN_IN])
        best = richest(memory)
        if wealth >= rules[EVERY]:
            raise_alarm(memory, best)
        else:
            warn(memory, wealth, rules[WARNING], best)


@loop
def learn_rounds(memory: Memory, losses: Array, rules: Array) -> None:
    """Learn from rounds in their order; NaN is a round in which nothing was told, which is counted."""
    for t in range(len(losses)):
        if not math.isnan(losses[t]):
            learn_one(memory, losses[t], rules)
        memory.facts[ROUNDS] += 1.0
