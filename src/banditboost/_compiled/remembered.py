"""A gradient from memory, in the compiled loop and as three calls for the plain path: begin a round, study it, end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from banditboost._compiled.critic import Lesson, Memory, Rules
from banditboost._compiled.dispatch import implements
from banditboost._compiled.exploring import lay_out
from banditboost._compiled.falling import share_left
from banditboost._compiled.gradients import estimate
from banditboost._compiled.jit import brief, loop, strict, strict_brief
from banditboost._compiled.losses import value
from banditboost._compiled.reading import pull, read
from banditboost._compiled.remembering import remember
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk, Round


@brief
def begin(rules: Rules, memory: Memory, point: Array, low: Array, high: Array, law: Array) -> None:
    """Write the law of a round whose prediction is point[0]."""
    lay_out(rules, memory, point, 0, low, high, law)


@strict_brief
def choose(
    rules: Rules,
    memory: Memory,
    point: Array,
    low: Array,
    high: Array,
    drawn: Array,
    law: Array,
    queries: Array,
    directions: Array,
    density: Array,
) -> None:
    """Write the law of a round in a box whose prediction is point[0], its queries in the directions drawn, and their density.

    What is learned from is the action, so that directions are found again from queries: where another process is told the action
    and nothing else, it learns the same.
    """
    lay_out(rules, memory, point, 0, low, high, law)
    for q in range(queries.shape[0]):
        for j in range(law.shape[1]):
            u = law[1, j] * drawn[q // 2, j]
            move = law[0, j] + u if q % 2 == 0 else law[0, j] - u
            queries[q, j] = min(max(point[0, j] + rules.extent[j] * move, low[j]), high[j])  # against rounding
    for q in range(directions.shape[0]):
        there = 1.0
        for j in range(law.shape[1]):
            width = law[1, j]
            directions[q, j] = direction(queries[2 * q, j], point[0, j], rules.extent[j], law[0, j], width)
            if width > 0.0:
                there *= rules.rim / 2.0 * abs(directions[q, j]) ** (rules.rim - 1.0) / (width * rules.extent[j])
            else:
                there = 0.0
        for side in range(2 * q, min(2 * q + 2, len(density))):
            density[side] = there


@loop
def laws(rules: Rules, memory: Memory, points: Array, low: Array, high: Array, found: Array) -> None:
    """Write the law of the next round for every prediction, as if it were the round's, shape (n, 4, d)."""
    for i in range(points.shape[0]):
        lay_out(rules, memory, points, i, low, high, found[i])


@brief
def study(
    rules: Rules,
    memory: Memory,
    law: Array,
    answers: Array,
    it: Lesson,
    point: Array,
    now: Array,
    anchors: Array,
    G: Array,
) -> None:
    """Read a round and write the gradients at the anchors, where now[0] is predicted today; nothing is remembered."""
    read(rules, memory, law, answers, it, point, 0)
    share = 1.0 if rules.plain else share_left(rules, memory, law, answers, it, point, now, 0)
    pull(rules, memory, law, point, 0, it, anchors, G, share)


@brief
def end(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array) -> None:
    """Read a round and remember it."""
    read(rules, memory, law, answers, it, point, 0)
    remember(rules, memory, law, answers, it, point, 0)


@strict
def direction(action: float, point: float, extent: float, offset: float, width: float) -> float:
    """Return where an action lies within a law, -1 to 1, along a coordinate, as `banditboost.gradients.remembered` finds it."""
    return ((action - point) / extent - offset) / width if width > 0.0 else 0.0


class Remembered(NamedTuple):
    """A gradient from memory."""

    rules: Rules
    memory: Memory
    low: Array
    """Shape (d,)."""
    high: Array
    directions: Array
    """Within the unit box or ball, shape (T, D, d)."""
    noise: Array
    """Shape (T, answers)."""
    law: Array
    """Scratch, shape (4, d)."""
    lesson: Lesson
    """Scratch."""
    answers: Array
    """Scratch, shape (answers,)."""


@implements(estimate, Remembered)
def estimate_from_memory(gradient: Remembered, t: int, d: int, it: Round, desk: Desk) -> None:
    """Ask around the prediction, give all copies the gradient of one local model, and remember the round."""
    rules, memory, law, lesson = gradient.rules, gradient.memory, gradient.law, gradient.lesson
    lay_out(rules, memory, it.predictions, t, gradient.low, gradient.high, law)
    charged, pairs = 0.0, rules.answers // 2
    for q in range(lesson.u.shape[0]):
        for side in range(2 if q < pairs else 1):
            for j in range(d):
                u, point = law[1, j] * gradient.directions[t, q, j], it.predictions[t, j]
                action = point + rules.extent[j] * (law[0, j] + (u if side == 0 else -u))
                if not rules.ball:
                    action = min(max(action, gradient.low[j]), gradient.high[j])  # against rounding
                desk.end[0, j] = action
                if side == 0:
                    lesson.u[q, j] = law[1, j] * direction(action, point, rules.extent[j], law[0, j], law[1, j])
            truth = value(it.loss, desk.end, 0, it.labels, t, d)
            charged += truth
            gradient.answers[2 * q + side] = truth + gradient.noise[t, 2 * q + side]
    it.paid[t] = charged / rules.answers
    read(rules, memory, law, gradient.answers, lesson, it.predictions, t)
    pull(rules, memory, law, it.predictions, t, lesson, desk.anchors, desk.G, 1.0)
    remember(rules, memory, law, gradient.answers, lesson, it.predictions, t)
