"""Rows of a log, learned from by a compiled loop: the same as `Booster.learn_from` does row by row in plain NumPy.

What decides by which law a row is learned from is explained in `booster/logged.py`, and what a row teaches in
`gradients/remembered.py`. A loop ends early, before it has learned anything from a row, where that row is not for it: gradients are
too large, losses are so small that their squares vanish, or the law leaves a coordinate a single value. The plain path then reads
that row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from banditboost._compiled.critic import ROUNDS, Lesson, Memory, Rules
from banditboost._compiled.exploring import lay_out
from banditboost._compiled.falling import share_left
from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.reading import pull, read
from banditboost._compiled.remembering import remember
from banditboost._compiled.round import Desk, coordinates, follow, hold, look, propose, put_back
from banditboost._core.checks import LARGEST, Array

TINY = 1e-140
"""Losses of smaller absolute value, but for zero, are left to the plain path: their squares vanish."""
ROWS, TOTAL, SQUARES = range(3)
"""Sums over weights of rows: how many they count as, the weights, and their squares."""
READ, CRITIC_ONLY, AIMED, CAPPED, TAUGHT, TAUGHT_SQUARES = range(6)
"""What is counted of the rows: all, those that teach the critic alone, those about an aim, those whose weight is the largest
possible, and the sums of weights and of their squares over those that teach copies."""


class Habits(NamedTuple):
    """What is known of how others choose, from earlier rows, changed in place but for the aim (`booster.logged.Reader`)."""

    own: Array
    """Sums over the weights that rows have under the booster's own law, shape (3,)."""
    aimed: Array
    """Those under the law about the aim."""
    tallies: Array
    """Shape (6,)."""
    weights: Array
    """The aim in a context is (1, x) @ weights, shape (1 + features, d); none of them where no aim is known."""
    spread: Array
    """Standard deviations about the aim, shape (d,)."""
    squares: Array
    """Sums of the regression of actions on (1, x), shape (1 + features, 1 + features); none where there is no regression."""
    products: Array
    """Shape (1 + features, d)."""
    totals: Array
    """Sums of squares of actions, shape (d,)."""
    kept: float
    """What is left of a weight after another row."""
    first: float
    """Rows before which nothing is said about weights."""
    near: float
    """Weights whose mean is at most so many times as large as one, or as small, are those of a law that is covered ..."""
    enough: float
    """... where the effective sample has at least this share of the rows."""


class Foreign(NamedTuple):
    """What a gradient from memory knows, for rows whose actions others chose."""

    rules: Rules
    """By which laws are laid out."""
    single: Rules
    """By which one answer is read."""
    memory: Memory
    low: Array
    """Shape (d,)."""
    high: Array
    law: Array
    """Scratch, shape (4, d)."""
    lesson: Lesson
    """Scratch."""
    answer: Array
    """Scratch, shape (1,)."""
    direction: Array
    """Scratch, shape (d,)."""
    point: Array
    """Scratch, shape (1, d): where a row is learned from, which is the prediction, the aim or the action."""
    sphere: float
    """The surface of the sphere from which directions on balls come."""
    cap: float
    """Most that a row counts."""
    exact: float
    """Weights that differ by less from one are one."""
    settled: float
    """Rows that teach the critic alone count no further than this."""


class Reading(NamedTuple):
    """All that a block of T rows is given."""

    contexts: Array
    """Shape (T, features), of no features where none are looked at."""
    actions: Array
    """Shape (T, d)."""
    losses: Array
    """Shape (T,)."""
    densities: Array
    """Shape (T,), NaN where they are not known."""
    dimension: Any
    gradient: Foreign
    habits: Habits
    chain: Any
    scale: float
    projects: bool
    ground: Any
    space: Any
    """From `dimension` on as in `Round`."""


@inlined
def covered(habits: Habits, sums: Array) -> bool:
    """Return whether weights are about one on average, and not those of a few rows."""
    mean = sums[TOTAL] / max(sums[ROWS], 1.0)
    wide = sums[ROWS] >= habits.first and mean * sums[TOTAL] >= habits.enough * sums[SQUARES]
    return wide and 1.0 / habits.near <= mean <= habits.near  # type: ignore[no-any-return]


@inlined
def add_weight(habits: Habits, sums: Array, weight: float) -> None:
    """Count one more row."""
    sums[ROWS] = habits.kept * sums[ROWS] + 1.0
    sums[TOTAL] = habits.kept * sums[TOTAL] + weight
    sums[SQUARES] = habits.kept * sums[SQUARES] + weight * weight


@inlined
def find_direction(gradient: Foreign, actions: Array, t: int) -> None:
    """Write where an action lies within the law about the point, -1 to 1 along each coordinate."""
    law, extent = gradient.law, gradient.rules.extent
    for j in range(law.shape[1]):
        away = (actions[t, j] - gradient.point[0, j]) / extent[j] - law[0, j]
        gradient.direction[j] = away / law[1, j] if law[1, j] > 0.0 else 0.0


@inlined
def likelihood(gradient: Foreign) -> float:
    """Return the density of the booster's own law in the direction (`gradients.action_laws`)."""
    rules, law, direction = gradient.rules, gradient.law, gradient.direction
    largest, total, density = 0.0, 0.0, 1.0
    for j in range(len(direction)):
        width = law[1, j]
        if width <= 0.0:
            return 0.0
        largest = max(largest, abs(direction[j]))
        total += direction[j] * direction[j]
        density *= rules.rim / 2.0 * abs(direction[j]) ** (rules.rim - 1.0) / (width * rules.extent[j])
    if rules.ball:
        if total > 1.0 + 1e-9:
            return 0.0
        inside = math.sqrt(max(1.0 - total, 1e-300))
        return 2.0 / (gradient.sphere * inside) / (law[1, 0] * rules.extent[0]) ** rules.rank  # type: ignore[no-any-return]
    return density if largest <= 1.0 + 1e-9 else 0.0


@inlined
def lay_about_aim(gradient: Foreign, habits: Habits, contexts: Array, t: int) -> None:
    """Write the aim in a context to the point, and the law about it that has its variance (`action_laws.law_about`)."""
    rules, law = gradient.rules, gradient.law
    for j in range(law.shape[1]):
        mean = habits.weights[0, j]
        for k in range(contexts.shape[1]):
            mean += contexts[t, k] * habits.weights[k + 1, j]
        gradient.point[0, j] = mean
        spread = habits.spread[j] / rules.extent[j]
        law[0, j] = law[3, j] = 0.0
        law[1, j], law[2, j] = spread * math.sqrt((rules.rim + 2.0) / rules.rim), spread * spread


@inlined
def likelihood_about_aim(gradient: Foreign, habits: Habits) -> float:
    """Return the density in the direction of the uniform law with the aim's mean and variance."""
    density, root = 1.0, math.sqrt(3.0)
    for j in range(len(gradient.direction)):
        reach = root * habits.spread[j]
        if abs(gradient.law[1, j] * gradient.direction[j]) * gradient.rules.extent[j] > reach:
            return 0.0
        density *= 0.5 / reach
    return density


@inlined
def knows_aim(habits: Habits) -> bool:
    """Return whether there is an aim, and exploration about it."""
    least = 1.0 if habits.weights.shape[0] > 0 else 0.0
    for j in range(len(habits.spread)):
        least = min(least, habits.spread[j])
    return least > 0.0


@inlined
def choose_law(it: Reading, t: int) -> tuple[float, bool, bool]:
    """Return what a row counts, whether its law is about an aim, and whether it is one that the booster would have drawn itself.

    The law is left in `gradient.law`, its point in `gradient.point`, and the action in `gradient.direction`. A row from which
    copies are to learn nothing counts zero.
    """
    gradient, habits, density = it.gradient, it.habits, it.densities[t]
    find_direction(gradient, it.actions, t)
    own = min(likelihood(gradient) / density, gradient.cap)
    if gradient.rules.answers == 1 and abs(own - 1.0) <= gradient.exact:
        return 1.0, False, True
    trusts_own = covered(habits, habits.own)
    add_weight(habits, habits.own, own)
    if trusts_own:
        return own, False, False
    if not knows_aim(habits):
        return 0.0, False, False
    lay_about_aim(gradient, habits, it.contexts, t)
    find_direction(gradient, it.actions, t)
    used = min(likelihood_about_aim(gradient, habits) / density, gradient.cap)
    trusts_aim = covered(habits, habits.aimed)
    add_weight(habits, habits.aimed, used)
    return (used, True, False) if trusts_aim else (0.0, False, False)


@inlined
def usable(G: Array) -> bool:
    """Return whether all gradients are finite, and not too large to be learned from."""
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            if not abs(G[i, j]) <= LARGEST:
                return False
    return True


@inlined
def study_row(gradient: Foreign, weight: float, aimed: bool, drawn: bool, desk: Desk) -> bool:
    """Write what a row teaches copies to desk.G; return False where that cannot be learned from. Nothing is remembered."""
    rules, memory, law, lesson = gradient.single, gradient.memory, gradient.law, gradient.lesson
    for j in range(law.shape[1]):
        if law[1, j] <= 0.0:
            return False
        lesson.u[0, j] = law[1, j] * gradient.direction[j]
    lesson.importance[0], lesson.importance[1] = 1.0, 1.0
    if not drawn:
        lesson.importance[0], lesson.importance[1] = weight, 0.0 if aimed else 1.0
    read(rules, memory, law, gradient.answer, lesson, gradient.point, 0)
    share = 1.0
    if not rules.plain:
        share = share_left(rules, memory, law, gradient.answer, lesson, gradient.point, gradient.point, 0)
    pull(rules, memory, law, gradient.point, 0, lesson, desk.anchors, desk.G, share)
    if not drawn:
        for i in range(desk.G.shape[0]):
            for j in range(desk.G.shape[1]):
                desk.G[i, j] *= weight
    return usable(desk.G)


@inlined
def end_row(gradient: Foreign, teaches: bool, aimed: bool, drawn: bool, actions: Array, t: int) -> None:
    """Let the critic learn from a row."""
    law, lesson, facts = gradient.law, gradient.lesson, gradient.memory.facts
    if not teaches:
        lesson.importance[0], lesson.importance[1] = 0.0, 0.0 if aimed else 1.0
    if not teaches or (not drawn and gradient.rules.answers > 1):
        # What is lost at the action itself: nothing is known of a slope there.
        for j in range(law.shape[1]):
            for row in range(4):
                law[row, j] = 0.0
            gradient.point[0, j], lesson.u[0, j] = actions[t, j], 0.0
    read(gradient.single, gradient.memory, law, gradient.answer, lesson, gradient.point, 0)
    remember(gradient.single, gradient.memory, law, gradient.answer, lesson, gradient.point, 0)
    if not teaches and facts[ROUNDS] > gradient.settled:
        facts[ROUNDS] -= 1.0


@inlined
def note_row(it: Reading, t: int, weight: float, aimed: bool) -> None:
    """Count a row that was learned from, also in the regression of actions on contexts."""
    habits, tallies, terms = it.habits, it.habits.tallies, it.habits.squares.shape[0]
    for k in range(terms):
        z = 1.0 if k == 0 else it.contexts[t, k - 1]
        for l in range(terms):
            habits.squares[k, l] += z * (1.0 if l == 0 else it.contexts[t, l - 1])
        for j in range(it.actions.shape[1]):
            habits.products[k, j] += z * it.actions[t, j]
    if terms > 0:
        for j in range(it.actions.shape[1]):
            habits.totals[j] += it.actions[t, j] * it.actions[t, j]
    tallies[READ] += 1.0
    if weight <= 0.0:
        tallies[CRITIC_ONLY] += 1.0
        return
    tallies[AIMED] += 1.0 if aimed else 0.0
    tallies[CAPPED] += 1.0 if weight >= it.gradient.cap else 0.0
    tallies[TAUGHT] += weight
    tallies[TAUGHT_SQUARES] += weight * weight


@loop
def read_rows(bank: Any, it: Reading, desk: Desk, before: Array) -> int:
    """Learn from rows in order; return how many, which is less than all where the next is not for this loop.

    `before` is scratch of shape (2, 3), for what is taken back when a row is left to the plain path.
    """
    d, gradient, habits = coordinates(it.dimension), it.gradient, it.habits
    for t in range(len(it.losses)):
        gradient.answer[0] = it.losses[t]
        if 0.0 < abs(it.losses[t]) < TINY:
            return t
        weight, aimed, drawn = 0.0, False, False
        if not np.isnan(it.densities[t]):
            for k in range(3):
                before[0, k], before[1, k] = habits.own[k], habits.aimed[k]
            hold(bank)
            look(bank, t, 0, desk)
            propose(it, t, d, desk, gradient.point, 0)
            lay_out(gradient.rules, gradient.memory, gradient.point, 0, gradient.low, gradient.high, gradient.law)
            weight, aimed, drawn = choose_law(it, t)
            if weight > 0.0 and not study_row(gradient, weight, aimed, drawn, desk):
                for k in range(3):
                    habits.own[k], habits.aimed[k] = before[0, k], before[1, k]
                put_back(bank)
                return t
        end_row(gradient, weight > 0.0, aimed, drawn, it.actions, t)
        if weight > 0.0:
            follow(bank, it, t, d, desk)
        elif not np.isnan(it.densities[t]):
            put_back(bank)
        note_row(it, t, weight, aimed)
    return len(it.losses)
