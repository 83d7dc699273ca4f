"""What a gradient from memory does in a round: how far to explore, what the answers say of the slope, and what is remembered.

Both paths call these functions: `banditboost.gradients.Remembered` explains them. All lengths in here are *scaled*: a coordinate is
divided by the extent of the space along it, so that boxes with unequal sides behave like cubes. A law is an array of four rows:
how far its centre lies from the prediction; its half-width; the mean of u² that such rounds usually have; and how near the border
is, from 0 to 1 where the prediction lies on it, negative where the border is above.
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

ROUNDS, LEVEL, LOW, SPREAD, CURVATURE, UNIT, FAST, SLOW, CONTRAST, BEGAN, LAST, BEFORE, ANSWER, SAME, NEAR = range(15)
"""Entries of `Memory.facts`: rounds told; the critic's level; a low quantile of the losses; their mean absolute surprise; the mean
curvature in use, zero while it is not known; the unit of `Memory.bends`; means of surprises over few and over many rounds; the
mean absolute residual of answers that are compared within a round; the level when the curvature was first known; the last two
surprises; the largest of the last answers, for how many rounds answers have been one number, and for how many they have hardly
changed."""
BENT, BENDING, BEND, EDGE, EDGES, SQUARE, MEAN, VARIED = range(8)
"""Rows of `Memory.bends`: the sums of a regression on ½u² (of squares, and of products with answers); the curvature in use; the
slope away from a border, and how many rounds it was seen in; the mean of v²; mean and variance of the predictions."""


GUESS = 100.0
"""The curvature that is expected before anything is known, in heights of the losses over squared extents."""
SOON = 100.0
"""Rounds after which exploring must pay."""
FIRST = 30.0
"""Rounds before which the noise of answers is not known."""
ROUNDING = 1e-13
"""What differs by less, relative to its size, differs by rounding alone."""
GROWN = 4.0
"""Surprises of late that are larger than usual by this factor mean that the losses have other units now."""


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
    """What the round adds to the first two rows of `Memory.bends`, shape (2, d)."""
    surprise: Array
    """Mean of answers minus what the critic expected, and the mean absolute residual of comparing them, shape (2,)."""
    system: Array
    """Scratch for the slopes' linear system, shape (d, d + 1)."""
    step: Array
    """Scratch, shape (d,)."""


def empty_lesson(directions: int, d: int) -> Lesson:
    """Return a lesson in which nothing is set."""
    return Lesson(
        np.empty(d), np.empty((directions, d)), np.empty((2, d)), np.empty(2), np.empty((d, d + 1)), np.empty(d)
    )


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
    if width > room and most > room:  # the far end of the law is 2 w - room away
        return min(width, 0.5 * (most + room))
    return min(width, most)


@inlined
def bent(rules: Rules, memory: Memory, j: int) -> float:
    """Return the critic's curvature along a coordinate; zero while it is not known."""
    return memory.bends[BEND, 0 if rules.ball else j] if memory.facts[CURVATURE] > 0.0 else 0.0


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
    gained = min(max(1.5 * varied, 0.12 * (facts[BEGAN] - facts[LEVEL])), height)
    early = math.exp(-facts[ROUNDS] / SOON)
    return (early * height + (1.0 - early) * gained) * math.sqrt(rules.patience / (rules.patience + facts[ROUNDS]))  # type: ignore[no-any-return]


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


@inlined
def edge_slope(rules: Rules, memory: Memory, law: Array, j: int) -> float:
    """Return the critic's slope at the prediction: zero in the open, and in proportion to how near a border is."""
    return 0.0 if rules.ball else memory.bends[EDGE, j] * law[3, j]


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
    """Replace the matrix in the first d columns by its inverse (Gauss-Jordan); it must be positive definite. Column d stays."""
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
    slope is s + κ A⁻¹ b / √V, where κ makes the trace of κ A⁻¹ mean ũũ' what it would be with many pairs: by the symmetry of the
    law the expected slope then is that of the loss, averaged over the law's own kernel.
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
        it.sums[0, j] = it.sums[1, j] = 0.0
    it.surprise[1] = 0.0
    scale = facts[UNIT] if facts[UNIT] > 0.0 else 1.0
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
                        if facts[ROUNDS] > 20.0 and facts[SPREAD] > 0.0:
                            y = min(max(y, -10.0 * facts[SPREAD]), 10.0 * facts[SPREAD])
                        it.sums[0, g] += centred * centred
                        it.sums[1, g] += centred * (y / scale)
                elif stage == 0:
                    mean_a += a / items
                    mean_y += y / items
                else:
                    left = y - mean_y - bent(rules, memory, g) * (a - mean_a)
                    if abs(left) <= ROUNDING * abs(y):
                        left = 0.0
                    if facts[ROUNDS] > 20.0 and facts[CONTRAST] > 0.0:
                        left = min(max(left, -10.0 * facts[CONTRAST]), 10.0 * facts[CONTRAST])
                    it.sums[0, g] += (a - mean_a) ** 2
                    it.sums[1, g] += (a - mean_a) * ((left + bent(rules, memory, g) * (a - mean_a)) / scale)
                    it.surprise[1] += abs(left) / (items * groups)


@inlined
def flat(facts: Array, answers: Array) -> bool:
    """Return whether all answers have been one number for more than ten rounds: then nothing is to be learned from it."""
    low, high = answers[0], answers[0]
    for q in range(1, len(answers)):
        low, high = min(low, answers[q]), max(high, answers[q])
    least, change = ROUNDING * max(abs(low), abs(high)), abs(high - facts[ANSWER])
    facts[ANSWER] = high
    facts[SAME] = facts[SAME] + 1.0 if high - low <= least and change <= least else 0.0
    facts[NEAR] = facts[NEAR] + 1.0 if 0.0 < change < 1e-3 * facts[SPREAD] else 0.0
    return facts[SAME] > 10.0  # type: ignore[no-any-return]


@inlined
def tamed(facts: Array, surprise: float) -> float:
    """Return the surprise less what is out of all proportion: a single one is cut; after two in three the level has moved."""
    if abs(surprise) <= ROUNDING * abs(facts[LEVEL]):
        surprise = 0.0
    low, high = min(surprise, facts[LAST]), max(surprise, facts[LAST])
    lasting = min(max(facts[BEFORE], low), high)  # the median of three
    facts[BEFORE], facts[LAST] = facts[LAST], surprise
    if facts[ROUNDS] <= 3.0:
        return surprise
    if abs(lasting) > 20.0 * facts[SPREAD]:
        facts[LEVEL] += lasting
        facts[LOW] += lasting
        facts[BEGAN] += lasting
        facts[LAST] -= lasting
        facts[BEFORE] -= lasting
        surprise -= lasting
    most = 10.0 * facts[SPREAD] if facts[SPREAD] > 0.0 else abs(surprise)
    return min(max(surprise, -most), most)


@called
def remember(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, i: int) -> None:
    """Let the critic learn from a round that was read, whose prediction was point[i]."""
    facts, bends, d = memory.facts, memory.bends, law.shape[1]
    if facts[ROUNDS] > 0.0 and flat(facts, answers):
        return
    note_prediction(rules, memory, point, i)
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
        if facts[SPREAD] <= ROUNDING * abs(facts[LEVEL]):
            facts[SPREAD] = 0.0
        note_squares(rules, memory, law, it, 1.0)
        learn_curvature(rules, memory, it)
        return
    rate = max(0.01, 1.0 / rounds)
    if facts[NEAR] >= 5.0 and rounds <= FIRST:  # an outlier was among the first answers: begin again
        facts[:] = 0.0
        bends[:] = 0.0
        return
    surprise = tamed(facts, surprise)
    facts[SPREAD] += (abs(surprise) - facts[SPREAD]) * rate
    facts[LEVEL] += surprise * rate
    note_squares(rules, memory, law, it, rate)
    step = facts[SPREAD] * max(0.02, 1.0 / math.sqrt(rounds)) / len(answers)
    for q in range(len(answers)):
        if rounds <= FIRST:
            facts[LOW] = min(facts[LOW], answers[q])
        else:
            facts[LOW] += step * (0.05 if answers[q] > facts[LOW] else -0.95)
    if not rules.ball:
        for j in range(d):
            near, most = law[3, j], 40.0 * facts[SPREAD]
            if near != 0.0 and law[1, j] > 0.0:
                bends[EDGES, j] += near * near - 0.005 * bends[EDGES, j]
                missed = min(max(it.slope[j], -most), most) - bends[EDGE, j] * near
                bends[EDGE, j] += missed * near / (bends[EDGES, j] + 10.0)
    follow_scale(rules, memory, surprise)
    learn_curvature(rules, memory, it)


@inlined
def note_prediction(rules: Rules, memory: Memory, point: Array, i: int) -> None:
    """Follow mean and variance of the predictions."""
    bends, rate = memory.bends, max(0.01, 1.0 / (memory.facts[ROUNDS] + 1.0))
    for j in range(bends.shape[1]):
        away = point[i, j] / rules.extent[j] - bends[MEAN, j]
        bends[MEAN, j] += rate * away
        bends[VARIED, j] += rate * ((1.0 - rate) * away * away - bends[VARIED, j])


@inlined
def note_squares(rules: Rules, memory: Memory, law: Array, it: Lesson, rate: float) -> None:
    """Follow the mean of v², by which the level changes where the curvature does: only their sum is seen."""
    for j in range(law.shape[1]):
        total = 0.0
        for q in range(it.u.shape[0]):
            total += (law[0, j] ** 2 + it.u[q, j] ** 2) / it.u.shape[0]
        memory.bends[SQUARE, j] += (total - memory.bends[SQUARE, j]) * rate


@inlined
def follow_scale(rules: Rules, memory: Memory, surprise: float) -> None:
    """Notice when all losses have become several times larger, and take the curvature to have grown with them.

    Means of surprises over about 30 and 400 rounds are compared, in which a single surprise counts at most ten times the mean.
    Losses that become smaller need no such care: new rounds then weigh more than old ones.
    """
    facts, bends = memory.facts, memory.bends
    rounds, size = facts[ROUNDS], abs(surprise)
    if rounds > 30.0 and facts[SLOW] > 0.0:
        size = min(size, 10.0 * facts[SLOW])
    facts[FAST] += (size - facts[FAST]) / min(rounds, 30.0)
    facts[SLOW] += (size - facts[SLOW]) / min(rounds, 400.0)
    if rounds > 60.0 and facts[FAST] > GROWN * facts[SLOW] and rules.declared[0] == 0.0:
        growth = facts[FAST] / facts[SLOW]
        facts[SLOW] = facts[FAST]
        facts[SPREAD] *= growth
        facts[CURVATURE] *= growth
        facts[UNIT] *= growth
        for j in range(bends.shape[1]):
            bends[EDGE, j] *= growth
            bends[BEND, j] *= growth
            bends[BENT, j] *= 0.1
            bends[BENDING, j] *= 0.1


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
        if facts[ROUNDS] <= FIRST:
            facts[BEGAN] = facts[LEVEL]
        return
    rounds, noise = facts[ROUNDS], facts[SPREAD]
    if rules.answers > 2:
        facts[CONTRAST] += (it.surprise[1] - facts[CONTRAST]) * max(0.01, 1.0 / rounds)
        noise = max(facts[CONTRAST], 0.02 * facts[SPREAD])
    if noise <= 0.0:
        return
    if facts[UNIT] <= 0.0:
        facts[UNIT] = noise
        for j in range(bends.shape[1]):
            it.sums[1, j] /= noise
    kept = 1.0 - 1.0 / (rounds + 21.0)
    # At first the noise is not known well enough for weights: rounds count alike, and their sums are weighted as a whole.
    weight = (facts[UNIT] / noise) ** 2
    apart, together = (1.0, weight) if rounds <= FIRST else (weight, 1.0)
    if rounds == FIRST:
        together = 1.0
    bent_by, bending = 0.0, 0.0
    for g in range(groups):
        for row in range(2):
            bends[row, g] = kept * bends[row, g] + apart * it.sums[row, g]
            if rounds == FIRST:
                bends[row, g] *= weight
        bent_by += together * bends[BENT, g]
        bending += together * bends[BENDING, g]
    if bent_by <= 0.0:
        return
    # A loss that rises by 100 times its mean height from one end of the space to the other is what is expected beforehand.
    guess = GUESS * max(facts[LEVEL] - facts[LOW], 0.5 * facts[SPREAD]) / facts[UNIT]
    belief = 1.0 / (guess * guess)
    mean, error = (bending + belief * guess) / (bent_by + belief), 1.0 / math.sqrt(bent_by + belief)
    mean = max(mean + error * 30.0 / (30.0 + rounds), 0.01 * guess)
    enough = 20.0 if rules.answers == 1 else 8.0 if rules.answers == 2 else 3.0
    if facts[CURVATURE] <= 0.0 and rounds < 60.0 and (rounds < enough or error > 0.33 * mean):
        return
    if facts[CURVATURE] <= 0.0:
        facts[BEGAN] = facts[LEVEL]
    facts[CURVATURE] = mean * facts[UNIT]
    prior = 4.0 / (mean * mean)
    for g in range(groups):
        own = mean
        if groups > 1:
            own = (together * bends[BENDING, g] + prior * mean) / (together * bends[BENT, g] + prior)
            own = max(own, 0.125 * mean, 0.01 * guess)
        change = own * facts[UNIT] - bends[BEND, g]
        bends[BEND, g] = own * facts[UNIT]
        for j in range(bends.shape[1]):
            if rules.ball or j == g:
                facts[LEVEL] -= 0.5 * change * bends[SQUARE, j]


@called
def pull(rules: Rules, memory: Memory, law: Array, point: Array, i: int, it: Lesson, anchors: Array, G: Array) -> None:
    """Write gradients at the anchors: twice the way to the target, which is the prediction less the slope over the curvature."""
    d, known = anchors.shape[1], memory.facts[CURVATURE] > 0.0
    length = 0.0
    for j in range(d):
        step = it.slope[j] / bent(rules, memory, j) if known else 0.0
        it.step[j] = step
        length += step * step
    shorter = 1.0
    if rules.ball and length > 9.0:
        shorter = 3.0 / math.sqrt(length)
    for j in range(d):
        step = it.step[j] * shorter if rules.ball else min(max(it.step[j], -3.0), 3.0)
        target = point[i, j] - step * rules.extent[j]
        for n in range(anchors.shape[0]):
            G[n, j] = 2.0 * (anchors[n, j] - target) if known and law[1, j] > 0.0 else 0.0


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
    pull(rules, memory, law, point, 0, it, anchors, G)


@loop
def end(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array) -> None:
    """Read a round and remember it."""
    read(rules, memory, law, answers, it)
    remember(rules, memory, law, answers, it, point, 0)


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
    pull(rules, memory, law, it.predictions, t, lesson, desk.anchors, desk.G)
    remember(rules, memory, law, gradient.answers, lesson, it.predictions, t)
