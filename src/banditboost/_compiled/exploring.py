"""How far a gradient from memory explores in a round: as far as its budget affords, within the space and the round's limits."""

from __future__ import annotations

import math

from banditboost._compiled.critic import (
    BEGAN,
    BEND,
    CURVATURE,
    EDGE,
    LEVEL,
    LOW,
    ROUNDS,
    SPREAD,
    VARIED,
    WAITING,
    Memory,
    Rules,
    bent,
)
from banditboost._compiled.jit import called, inlined
from banditboost._core.checks import Array

SOON = 100.0
"""Rounds after which exploring must pay."""


@inlined
def affordable(budget: float, bend: float, edge: float, room: float, span: float, share: float) -> float:
    """Return the half-width at which exploring one coordinate costs the budget.

    In the open it costs ½ h share w². Within w of the border the centre is moved inside by w - room, which costs
    edge (w - room) + ½ h (w - room)² more: w then solves a quadratic equation.
    """
    width = math.sqrt(2.0 * budget / (bend * share))
    if width > room:
        square = 0.5 * bend * (share + 1.0)
        line = edge - bend * room
        rest = 0.5 * bend * room * room - edge * room - budget
        width = (math.sqrt(max(line * line - 4.0 * square * rest, 0.0)) - line) / (2.0 * square)
    return min(width, 0.5 * span)


@inlined
def within(width: float, room: float, span: float, least: float, most: float) -> float:
    """Return a half-width that respects the limits: no action is further than `most` from the prediction."""
    width = min(max(width, least), 0.5 * span)
    if width > room and most > room:  # the far end of the law is 2 w - room away
        return min(width, 0.5 * (most + room))
    return min(width, most)


@inlined
def worth(rules: Rules, memory: Memory) -> float:
    """Return what exploring may cost a share of: the height of the losses above their lowest values, or less.

    With one answer, exploring costs so much that it must pay: after some hundred rounds its budget is a share of what learning has
    gained so far, against the first rounds or against a constant prediction (½h times the variance of the predictions), and falls
    like one over the root of the rounds.
    """
    facts, bends = memory.facts, memory.bends
    height = max(facts[LEVEL] - facts[LOW], 0.3 * facts[SPREAD])
    if rules.patience == math.inf:
        return height  # type: ignore[no-any-return]
    varied = 0.0
    for j in range(bends.shape[1]):
        varied += 0.5 * bent(rules, memory, j) * bends[VARIED, j]
    gained = min(max(1.5 * varied, 0.12 * (facts[BEGAN] - facts[LEVEL])), 0.9 * height)
    early = math.exp(-facts[ROUNDS] / (SOON + facts[WAITING]))  # what rounds that wait have gained does not show yet
    return (early * height + (1.0 - early) * gained) * math.sqrt(rules.patience / (rules.patience + facts[ROUNDS]))  # type: ignore[no-any-return]


@inlined
def lay_ball(rules: Rules, memory: Memory, point: Array, i: int, budget: float, now: float, law: Array) -> None:
    """Write the law on a ball, whose centre is pulled inside by as much of the way as the width is of the inner radius."""
    d, away = law.shape[1], 0.0
    for j in range(d):
        away += (rules.centre[j] - point[i, j] / rules.extent[j]) ** 2
    pull, portion = math.sqrt(away) / rules.inner, rules.rank / (rules.rank + 1.0)
    usual, width = 0.0, 0.0
    for wide in range(2):
        square = rules.inner**2 * (0.16 if wide == 1 else 0.01)
        often = 0.5
        if budget > 0.0:
            square = 2.0 * budget * rules.rank / (memory.facts[CURVATURE] * (portion + pull * pull))
            square *= rules.wider**2 if wide == 1 else 1.0
            often = 1.0 / rules.every if wide == 1 else 1.0 - 1.0 / rules.every
        each = min(max(math.sqrt(square), rules.least[0]), 0.9 * rules.inner, rules.most[0] / (1.0 + pull))
        usual += often * portion * each * each
        if wide == now:
            width = each
    for j in range(d):
        law[0, j] = width / rules.inner * (rules.centre[j] - point[i, j] / rules.extent[j])
        law[1, j], law[2, j], law[3, j] = width, usual, 0.0


@called
def lay_out(rules: Rules, memory: Memory, point: Array, i: int, low: Array, high: Array, law: Array) -> None:
    """Write the round's law for the prediction point[i]; `low` and `high` bound the actions of this round."""
    facts, d = memory.facts, law.shape[1]
    rounds = int(facts[ROUNDS])
    budget = rules.budget * worth(rules, memory) / rules.rank
    known = (
        facts[CURVATURE] > 0.0 and budget > 0.0
    )  # where losses have not varied yet, there is no telling what exploring costs
    now = 1 if (rounds % rules.every == rules.every - 1 if known else rounds % 2 == 0) else 0
    if rules.ball:
        lay_ball(rules, memory, point, i, budget if known else 0.0, now, law)
        return
    portion = rules.rim / (rules.rim + 2.0)
    for j in range(d):
        e, p = rules.extent[j], point[i, j] / rules.extent[j]
        span = max((high[j] - low[j]) / e, 0.0)
        room = max(min(p - low[j] / e, high[j] / e - p), 0.0)
        bend = memory.bends[BEND, j]
        open_width = min(math.sqrt(2.0 * budget / (bend * portion)) if known else 0.25, 0.5 * span)
        near = 1.0 - room / open_width if room < open_width else 0.0
        law[3, j] = near if high[j] / e - p > room else -near
        edge = max(memory.bends[EDGE, j], 0.0) * near
        law[2, j] = 0.0
        for wide in range(2):  # what is usual: the mean over rounds of either kind
            square = (rules.wider**2 if wide == 1 else 1.0) if known else (0.16 if wide == 1 else 0.01)
            each = affordable(budget * square, bend, edge, room, span, portion) if known else math.sqrt(square)
            each = within(each, room, span, rules.least[j], rules.most[j])
            often = (1.0 / rules.every if wide == 1 else 1.0 - 1.0 / rules.every) if known else 0.5
            law[2, j] += often * portion * each * each
            if wide == now:
                law[1, j] = each
        width = law[1, j]
        centre = 0.5 * (low[j] + high[j]) / e
        if width < 0.5 * span:
            centre = min(max(p, low[j] / e + width), high[j] / e - width)
        law[0, j] = centre - p
