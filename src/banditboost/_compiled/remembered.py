"""What a gradient from memory does in a round: how far to explore, what the answers say of the slope, and what is remembered.

Both paths call these functions: `banditboost.gradients.Remembered` explains them. All lengths in here are *scaled*: a coordinate is
divided by the extent of the space along it, so that boxes with unequal sides behave like cubes. A law is an array of three rows:
how far its centre lies from the prediction, its half-width, and the mean of u² that such rounds usually have.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditboost._compiled.dispatch import implements
from banditboost._compiled.gradients import estimate
from banditboost._compiled.jit import called, inlined, loop
from banditboost._compiled.losses import value
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk, Round

ROUNDS, LEVEL, LOW, SPREAD, CURVATURE, UNIT, FAST, SLOW = range(8)
"""Entries of `Memory.facts`: rounds told; the critic's level; a low quantile of the losses; their mean absolute surprise; the mean
curvature in use, zero while it is not known; the unit of `Memory.bends`; running means of the logarithm of surprises."""
BENT, BENDING, INFORMATION, BEND, EDGE, EDGES = range(6)
"""Rows of `Memory.bends`: sums of a regression on ½u² (the instrument times ½u², times answers, and squared); the curvature in
use; the slope away from a border, and how many rounds it was seen in."""


class Rules(NamedTuple):
    """What never changes while a booster learns. d coordinates."""

    answers: int
    ball: bool
    """True: directions lie in a ball of the tangent space, whose centre is pulled inside. False: the space is a box."""
    rank: int
    extent: Array
    """Shape (d,)."""
    centre: Array
    """The space's inner centre over the extents, shape (d,)."""
    inner: float
    """The inner radius over the extents, for balls."""
    budget: float
    """Share of the losses' height above their lowest values that exploring may cost a round."""
    patience: float
    """Rounds after which the budget begins to fall like one over the root of the rounds; infinite where it stays."""
    rim: float
    """The density of a coordinate is proportional to |u|^(rim - 1)."""
    every: int
    """One round in so many is wider, which shows the curvature."""
    wider: float
    """How much wider that round is."""
    least: Array
    """Least half-width, shape (d,)."""
    most: Array
    """Greatest distance of an action from the prediction, shape (d,)."""
    declared: Array
    """The curvature where it is declared, shape (d,); zero where it is not."""
    clip: float
    """Surprises above so many times their usual size are cut to that; infinite where they are not."""
    plain: bool
    """True for the unbiased estimate by name: answers times directions over variances, whatever their number."""


class Memory(NamedTuple):
    """What is remembered, changed in place."""

    facts: Array
    bends: Array


class Lesson(NamedTuple):
    """What one round says, worked out before anything is remembered."""

    slope: Array
    """The slope at the prediction, shape (d,)."""
    u: Array
    """Displacements from the law's centre, one row for each direction, shape (D, d)."""
    sums: Array
    """What the round adds to the first three rows of `Memory.bends`, shape (3, d)."""
    surprise: Array
    """Mean of answers minus what the critic expected, shape (1,)."""
    system: Array
    """Scratch for the slopes' linear system, shape (d, d + 1)."""
    step: Array
    """Scratch, shape (d,)."""


def empty_lesson(directions: int, d: int) -> Lesson:
    """Return a lesson in which nothing is set."""
    return Lesson(np.empty(d), np.empty((directions, d)), np.empty((3, d)), np.empty(1), np.empty((d, d + 1)), np.empty(d))


@inlined
def moment(rules: Rules, width: float) -> float:
    """Return the variance of one coordinate of a law of some half-width."""
    return width * width * (1.0 / (rules.rank + 1.0) if rules.ball else rules.rim / (rules.rim + 2.0))


@inlined
def unit(rules: Rules, width: float) -> float:
    """Return one over a law's standard deviation along a coordinate; zero where limits leave a single point."""
    return 1.0 / math.sqrt(moment(rules, width)) if width > 0.0 else 0.0


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
    if width > room:  # the far end of the law is 2 w - room away
        return min(width, max(0.5 * (most + room), min(room, most)))
    return min(width, most)


@called
def lay_out(rules: Rules, memory: Memory, point: Array, i: int, low: Array, high: Array, law: Array) -> None:
    """Write the round's law for the prediction point[i]; `low` and `high` bound the actions of this round."""
    facts, d = memory.facts, law.shape[1]
    rounds = int(facts[ROUNDS])
    known = facts[CURVATURE] > 0.0
    share = rules.budget
    if rules.patience < math.inf:
        share *= math.sqrt(rules.patience / (rules.patience + facts[ROUNDS]))
    height = max(facts[LEVEL] - facts[LOW], 0.01 * facts[SPREAD])
    budget = share * height / rules.rank
    wider = rules.wider * rules.wider
    often = (rules.every - 1.0 + wider) / rules.every
    now = wider if rounds % rules.every == rules.every - 1 else 1.0
    if rules.ball:
        away = 0.0
        for j in range(d):
            away += (rules.centre[j] - point[i, j] / rules.extent[j]) ** 2
        pull = math.sqrt(away) / rules.inner
        usual, width = 0.0625 * rules.inner**2 * rules.rank / (rules.rank + 1.0), (0.35 if rounds % 2 else 0.1) * rules.inner
        if known:
            each = facts[CURVATURE] * (rules.rank / (rules.rank + 1.0) + pull * pull)
            width = math.sqrt(2.0 * budget * rules.rank * now / each)
            usual = 2.0 * budget * rules.rank * often / each * rules.rank / (rules.rank + 1.0)
        width = min(max(width, rules.least[0]), 0.9 * rules.inner, rules.most[0] / (1.0 + pull))
        for j in range(d):
            law[0, j] = width / rules.inner * (rules.centre[j] - point[i, j] / rules.extent[j])
            law[1, j], law[2, j] = width, usual
        return
    portion = rules.rim / (rules.rim + 2.0)
    for j in range(d):
        e, p = rules.extent[j], point[i, j] / rules.extent[j]
        span = max((high[j] - low[j]) / e, 0.0)
        room = max(min(p - low[j] / e, high[j] / e - p), 0.0)
        if known:
            bend, edge = memory.bends[BEND, j], max(memory.bends[EDGE, j], 0.0)
            width = affordable(budget * now, bend, edge, room, span, portion)
            common = affordable(budget, bend, edge, room, span, portion)
            usual = portion * common * common * often
        else:
            width = 0.4 if rounds % 2 == 0 else 0.1
            usual = portion * 0.085
        width = within(width, room, span, rules.least[j], rules.most[j])
        centre = min(max(p, low[j] / e + width), high[j] / e - width) if width < 0.5 * span else 0.5 * (low[j] + high[j]) / e
        law[0, j], law[1, j], law[2, j] = centre - p, width, usual


@inlined
def edge_slope(rules: Rules, memory: Memory, law: Array, j: int) -> float:
    """Return the critic's slope at the prediction: that at a border where the law was moved away from one, else zero."""
    if rules.ball or law[0, j] == 0.0:
        return 0.0
    return math.copysign(memory.bends[EDGE, j], law[0, j])  # type: ignore[no-any-return]


@inlined
def bent(rules: Rules, memory: Memory, j: int) -> float:
    """Return the critic's curvature along a coordinate; zero while it is not known."""
    return memory.bends[BEND, 0 if rules.ball else j] if memory.facts[CURVATURE] > 0.0 else 0.0  # type: ignore[no-any-return]


@inlined
def expected(rules: Rules, memory: Memory, law: Array, u: Array, q: int, side: float) -> float:
    """Return what the critic expects at the prediction plus the law's offset plus side times u[q]."""
    total = memory.facts[LEVEL]
    for j in range(law.shape[1]):
        v = law[0, j] + side * u[q, j]
        total += edge_slope(rules, memory, law, j) * v + 0.5 * bent(rules, memory, j) * v * v
    return total  # type: ignore[no-any-return]


@inlined
def curving(rules: Rules, memory: Memory, u: Array, q: int) -> float:
    """Return ½ u'Hu for a direction."""
    total = 0.0
    for j in range(u.shape[1]):
        total += 0.5 * bent(rules, memory, j) * u[q, j] * u[q, j]
    return total


@called
def invert(system: Array, d: int) -> None:
    """Replace the matrix in the first d columns by its inverse (Gauss-Jordan): it must be positive definite. Column d is untouched."""
    for c in range(d):
        pivot = system[c, c]
        system[c, c] = 1.0
        for k in range(d):
            system[c, k] /= pivot
        for i in range(d):
            if i != c:
                factor = system[i, c]
                system[i, c] = 0.0
                for k in range(d):
                    system[i, k] -= factor * system[c, k]


@called
def paired_slope(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Write the slope at the law's centre to `it.slope`, from the pairs alone.

    With ũ = u / √V the differences of pairs give A = mean ũũ' + λI and b = mean ũ (Δ/2 - s·u), where s is the critic's slope; the
    slope is s + κ A⁻¹ b / √V, where κ makes the trace of κ A⁻¹ mean ũũ' what it would be with many pairs: by the symmetry of the law
    the expected slope then is that of the loss, averaged over the law's own kernel.
    """
    d, pairs = law.shape[1], rules.answers // 2
    ridge = 1e-9 if d == 1 else 0.3 * rules.rank / (pairs * pairs)
    for j in range(d):
        it.slope[j] = edge_slope(rules, memory, law, j) + bent(rules, memory, j) * law[0, j]
        for k in range(d + 1):
            it.system[j, k] = 0.0
    for q in range(pairs):
        difference = 0.5 * (answers[2 * q] - answers[2 * q + 1])
        for j in range(d):
            difference -= it.slope[j] * it.u[q, j]
        for j in range(d):
            left = it.u[q, j] * unit(rules, law[1, j]) / pairs
            it.system[j, d] += left * difference
            for k in range(d):
                it.system[j, k] += left * it.u[q, k] * unit(rules, law[1, k])
    if rules.plain:
        for j in range(d):
            it.slope[j] += it.system[j, d] * unit(rules, law[1, j])
        return
    for j in range(d):
        it.system[j, j] += ridge
    invert(it.system, d)
    kept = 0.0  # tr(A⁻¹ mean ũũ')
    for j in range(d):
        kept += 1.0 - ridge * it.system[j, j]
    for j in range(d):
        total = 0.0
        for k in range(d):
            total += it.system[j, k] * it.system[k, d]
        it.slope[j] += rules.rank / max(kept, 1e-12) * total * unit(rules, law[1, j])


@called
def read(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Work out what a round says, from its answers about the directions in `it.u`; nothing is remembered."""
    d, pairs = law.shape[1], rules.answers // 2
    single = rules.answers % 2 == 1
    total = 0.0
    for q in range(pairs):
        total += answers[2 * q] - expected(rules, memory, law, it.u, q, 1.0)
        total += answers[2 * q + 1] - expected(rules, memory, law, it.u, q, -1.0)
    if single:
        total += answers[2 * pairs] - expected(rules, memory, law, it.u, pairs, 1.0)
    it.surprise[0] = surprise = total / rules.answers
    if pairs == 0:
        if not rules.plain and memory.facts[ROUNDS] > 20.0:
            most = rules.clip * memory.facts[SPREAD]
            surprise = min(max(surprise, -most), most)
        for j in range(d):
            pull = it.u[0, j] * unit(rules, law[1, j]) ** 2
            it.slope[j] = edge_slope(rules, memory, law, j) + surprise * pull
    else:
        paired_slope(rules, memory, law, answers, it)
        if single:
            add_single(rules, memory, law, answers, it)
        for j in range(d):
            it.slope[j] -= bent(rules, memory, j) * law[0, j]  # back from the law's centre to the prediction
    bend_sums(rules, memory, law, answers, it)


@called
def add_single(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Let the answer without a partner correct the slope of the pairs, whose model of the loss is its control variate."""
    d, pairs, q = law.shape[1], rules.answers // 2, rules.answers // 2
    base = 0.0
    for p in range(pairs):
        base += (0.5 * (answers[2 * p] + answers[2 * p + 1]) - curving(rules, memory, it.u, p)) / pairs
    surprise = answers[2 * pairs] - base - curving(rules, memory, it.u, q)
    for j in range(d):
        surprise -= it.slope[j] * it.u[q, j]
    for j in range(d):
        it.slope[j] += surprise * it.u[q, j] * unit(rules, law[1, j]) ** 2 / rules.answers


@called
def bend_sums(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Write what the round says about curvature: a regression of answers on ½u², which uses the law's own variation of u².

    With three answers or more, pairs (and the single answer, less its slope) are compared with each other, so that the level of the
    round, which varies most, drops out. With fewer, the round is compared with the critic.
    """
    d, pairs, facts = law.shape[1], rules.answers // 2, memory.facts
    items, groups = pairs + rules.answers % 2, 1 if rules.ball else d
    for j in range(d):
        it.sums[0, j] = it.sums[1, j] = it.sums[2, j] = 0.0
    if items == 0 or facts[UNIT] <= 0.0:
        return
    for g in range(groups):
        mean_a, mean_y = 0.0, 0.0
        for stage in range(2):
            for q in range(items):
                a, y = 0.0, 0.0
                for j in range(d):
                    if rules.ball or j == g:
                        a += 0.5 * it.u[q, j] * it.u[q, j]
                    else:
                        y -= 0.5 * bent(rules, memory, j) * it.u[q, j] * it.u[q, j]
                if q < pairs:
                    y += 0.5 * (answers[2 * q] + answers[2 * q + 1])
                else:
                    y += answers[2 * pairs]
                    if pairs > 0:
                        for j in range(d):
                            y -= (it.slope[j] + bent(rules, memory, j) * law[0, j]) * it.u[q, j]
                if items == 1:
                    centred = a - 0.5 * law[2, g]
                    if stage == 1:
                        for j in range(d):
                            v = law[0, j]
                            y -= edge_slope(rules, memory, law, j) * v + 0.5 * bent(rules, memory, j) * v * v
                            if pairs == 0:
                                y -= (edge_slope(rules, memory, law, j) + bent(rules, memory, j) * v) * it.u[q, j]
                        y -= facts[LEVEL]
                        it.sums[0, g] += centred * a
                        it.sums[1, g] += centred * (y / facts[UNIT])
                        it.sums[2, g] += centred * centred
                elif stage == 0:
                    mean_a += a / items
                    mean_y += y / items
                else:
                    it.sums[0, g] += (a - mean_a) * a
                    it.sums[1, g] += (a - mean_a) * ((y - mean_y) / facts[UNIT])
                    it.sums[2, g] += (a - mean_a) ** 2


@called
def remember(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Let the critic learn from a round that was read."""
    facts, bends, d = memory.facts, memory.bends, law.shape[1]
    facts[ROUNDS] += 1.0
    rounds, surprise = facts[ROUNDS], it.surprise[0]
    if rounds == 1.0:
        lowest = answers[0]
        for q in range(1, len(answers)):
            lowest = min(lowest, answers[q])
        facts[LEVEL], facts[LOW], facts[SPREAD] = facts[LEVEL] + surprise, lowest, 0.0
        if len(answers) > 1:
            for q in range(len(answers)):
                facts[SPREAD] += abs(answers[q] - facts[LEVEL]) / len(answers)
        learn_curvature(rules, memory, it)
        return
    rate = max(0.01, 1.0 / rounds)
    size = abs(surprise)
    if rounds > 20.0 and facts[SPREAD] > 0.0:
        size = min(size, 10.0 * facts[SPREAD])
    facts[SPREAD] += (size - facts[SPREAD]) * rate
    facts[LEVEL] += surprise * rate
    step = facts[SPREAD] * max(0.02, 1.0 / math.sqrt(rounds)) / len(answers)
    for q in range(len(answers)):
        facts[LOW] += step * (0.05 if answers[q] > facts[LOW] else -0.95)
    if not rules.ball:
        for j in range(d):
            if law[0, j] != 0.0 and law[1, j] > 0.0 and facts[CURVATURE] > 0.0:
                bends[EDGES, j] += 1.0
                seen = math.copysign(it.slope[j], it.slope[j] * law[0, j])
                most = 40.0 * facts[SPREAD]
                bends[EDGE, j] += (min(max(seen, -most), most) - bends[EDGE, j]) * max(0.005, 1.0 / (bends[EDGES, j] + 10.0))
    follow_scale(rules, memory, surprise)
    learn_curvature(rules, memory, it)


@inlined
def follow_scale(rules: Rules, memory: Memory, surprise: float) -> None:
    """Notice when all losses have become several times larger, and take the curvature to have grown with them.

    Old rounds then count as little as a hundred new ones would. Losses that become smaller need no such care: new rounds weigh more.
    """
    facts, bends = memory.facts, memory.bends
    if surprise == 0.0:
        return
    size = math.log(abs(surprise))
    if facts[ROUNDS] <= 30.0 or facts[SLOW] == 0.0:
        facts[FAST] = facts[SLOW] = size if facts[SLOW] == 0.0 else facts[SLOW] + (size - facts[SLOW]) / facts[ROUNDS]
        return
    facts[FAST] += (size - facts[FAST]) / 30.0
    facts[SLOW] += (size - facts[SLOW]) / 400.0
    if facts[FAST] - facts[SLOW] > 1.6 and rules.declared[0] == 0.0:
        growth = math.exp(min(facts[FAST] - facts[SLOW], 20.0)) * 1.5
        facts[SLOW] = facts[FAST]
        facts[SPREAD] *= growth
        facts[CURVATURE] *= growth
        facts[UNIT] *= growth
        for j in range(bends.shape[1]):
            bends[EDGE, j] *= growth
            bends[BEND, j] *= growth


@called
def learn_curvature(rules: Rules, memory: Memory, it: Lesson) -> None:
    """Add the round to the regressions, and say what curvature is in use from now on."""
    facts, bends = memory.facts, memory.bends
    groups = 1 if rules.ball else bends.shape[1]
    if rules.declared[0] > 0.0:
        total = 0.0
        for g in range(groups):
            bends[BEND, g] = rules.declared[g]
            total += rules.declared[g] / groups
        facts[CURVATURE] = total
        return
    if facts[SPREAD] <= 0.0:
        return
    if facts[UNIT] <= 0.0:
        facts[UNIT] = facts[SPREAD]
    rounds = facts[ROUNDS]
    kept = 1.0 - 1.0 / (rounds + 21.0)
    weight = (facts[UNIT] / facts[SPREAD]) ** 2
    bent_by, bending, information = 0.0, 0.0, 0.0
    for g in range(groups):
        for row in range(3):
            bends[row, g] = kept * bends[row, g] + weight * it.sums[row, g]
        bent_by += bends[BENT, g]
        bending += bends[BENDING, g]
        information += bends[INFORMATION, g]
    if bent_by <= 0.0 or information <= 0.0:
        return
    mean, error = bending / bent_by, math.sqrt(information) / bent_by
    least = max(facts[LEVEL] - facts[LOW], 0.1 * facts[SPREAD]) / facts[UNIT] * (0.3 if facts[CURVATURE] > 0.0 else 1.0) * 4.0
    if facts[CURVATURE] <= 0.0 and not (rounds >= 3.0 and (mean > 3.0 * error or rounds >= 60.0)):
        return
    mean = max(mean + error * 30.0 / (30.0 + rounds), least)
    facts[CURVATURE] = mean * facts[UNIT]
    prior = 4.0 / (mean * mean)
    for g in range(groups):
        own = mean
        if groups > 1:
            own = max((bends[BENDING, g] + prior * mean) / (max(bends[BENT, g], 0.0) + prior), 0.125 * mean, least)
        bends[BEND, g] = own * facts[UNIT]


@called
def pull(rules: Rules, memory: Memory, point: Array, i: int, it: Lesson, anchors: Array, G: Array) -> None:
    """Write the gradients at the anchors: twice the way to the target, which is the prediction less the slope over the curvature."""
    d, known = anchors.shape[1], memory.facts[CURVATURE] > 0.0
    length = 0.0
    for j in range(d):
        step = it.slope[j] / bent(rules, memory, j) if known else 0.0
        it.step[j] = step
        length += step * step
    shorter = 1.0
    if rules.ball and length > 1.0:
        shorter = 1.0 / math.sqrt(length)
    for j in range(d):
        step = it.step[j] * shorter if rules.ball else min(max(it.step[j], -1.0), 1.0)
        target = point[i, j] - step * rules.extent[j]
        for n in range(anchors.shape[0]):
            G[n, j] = 2.0 * (anchors[n, j] - target) if known else 0.0


@loop
def begin(rules: Rules, memory: Memory, point: Array, low: Array, high: Array, law: Array) -> None:
    """Write the law of a round whose prediction is point[0]."""
    lay_out(rules, memory, point, 0, low, high, law)


@loop
def study(
    rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, anchors: Array, G: Array
) -> None:
    """Read a round and write the gradients at the anchors; nothing is remembered."""
    read(rules, memory, law, answers, it)
    pull(rules, memory, point, 0, it, anchors, G)


@loop
def end(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Read a round and remember it."""
    read(rules, memory, law, answers, it)
    remember(rules, memory, law, answers, it)


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
    """Scratch, shape (3, d)."""
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
                lesson.u[q, j] = law[1, j] * gradient.directions[t, q, j]
                moved = law[0, j] + (lesson.u[q, j] if side == 0 else -lesson.u[q, j])
                desk.end[0, j] = it.predictions[t, j] + rules.extent[j] * moved
            truth = value(it.loss, desk.end, 0, it.labels, t, d)
            charged += truth
            gradient.answers[2 * q + side] = truth + gradient.noise[t, 2 * q + side]
    it.paid[t] = charged / rules.answers
    read(rules, memory, law, gradient.answers, lesson)
    pull(rules, memory, it.predictions, t, lesson, desk.anchors, desk.G)
    remember(rules, memory, law, gradient.answers, lesson)
