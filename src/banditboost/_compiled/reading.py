"""What the answers of a round say about the slope, the curvature and the level of the losses; nothing is remembered here."""

from __future__ import annotations

import math

from banditboost._compiled.constant import FARTHEST, constant, told_constant
from banditboost._compiled.critic import (
    CONTRAST,
    CURVATURE,
    REACH,
    ROUNDING,
    ROUNDS,
    SPREAD,
    UNIT,
    Lesson,
    Memory,
    Rules,
    bent,
    critic_slope,
    curving,
    expected,
    flat,
    level_at,
    unit,
)
from banditboost._compiled.jit import called
from banditboost._core.checks import Array


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
    law the expected slope then is that of the loss, averaged over a kernel: along a coordinate w^q - |v|^q with q = rim - 1, for
    pairs that count by the squares of their distances.
    """
    d, pairs = law.shape[1], rules.answers // 2
    ridge = 1e-9 if d == 1 else 0.3 * rules.rank / (pairs * pairs)
    for j in range(d):
        it.slope[j] = critic_slope(memory, law, j) + bent(rules, memory, j) * law[0, j]
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
def bend_sums(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, base: float) -> None:
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
                            y -= critic_slope(memory, law, j) * v + 0.5 * bent(rules, memory, j) * v * v
                            if pairs == 0:
                                y -= (critic_slope(memory, law, j) + bent(rules, memory, j) * v) * it.u[q, j]
                        y -= base
                        if facts[ROUNDS] > 20.0 and facts[SPREAD] > 0.0:
                            y = min(max(y, -10.0 * facts[SPREAD]), 10.0 * facts[SPREAD])
                        it.sums[0, g] += it.importance[0] * (centred * centred)
                        it.sums[1, g] += it.importance[0] * (centred * (y / scale))
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


@called
def read(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, i: int) -> None:
    """Work out what a round says, from its answers about the directions in `it.u`; nothing is remembered."""
    d, pairs = law.shape[1], rules.answers // 2
    single = rules.answers % 2 == 1
    total, base = 0.0, level_at(rules, memory, point, i)
    for q in range(pairs):
        total += answers[2 * q] - expected(rules, memory, law, it.u, q, 1.0, base)
        total += answers[2 * q + 1] - expected(rules, memory, law, it.u, q, -1.0, base)
    if single:
        total += answers[2 * pairs] - expected(rules, memory, law, it.u, pairs, 1.0, base)
    it.surprise[0] = surprise = total / rules.answers
    if pairs == 0:
        if not rules.plain and flat(memory.facts, answers):
            surprise = 0.0
        if not rules.plain and memory.facts[ROUNDS] > 20.0:
            most = rules.clip * memory.facts[SPREAD]
            surprise = min(max(surprise, -most), most)
        for j in range(d):
            pull = it.u[0, j] * unit(rules, law[1, j]) ** 2
            it.slope[j] = critic_slope(memory, law, j) + surprise * pull
    else:
        paired_slope(rules, memory, law, answers, it)
        if single:
            add_single(rules, memory, law, answers, it)
        for j in range(d):
            it.slope[j] -= bent(rules, memory, j) * law[0, j]  # back from the law's centre to the prediction
    bend_sums(rules, memory, law, answers, it, base)


@called
def pull(
    rules: Rules, memory: Memory, law: Array, point: Array, i: int, it: Lesson, anchors: Array, G: Array, share: float
) -> None:
    """Write gradients at the anchors: twice the way to the target, which is the prediction less the slope over the curvature.

    Of that way, copies are to go the share that is given (`banditboost._compiled.falling`).
    """
    d, known = anchors.shape[1], memory.facts[CURVATURE] > 0.0
    length = 0.0
    for j in range(d):
        step = it.slope[j] / bent(rules, memory, j) if known else 0.0
        usual = memory.bends[REACH, j]
        if usual > 0.0 and not rules.plain:
            step = min(max(step, -FARTHEST * usual), FARTHEST * usual)
        it.step[j] = step
        length += step * step
    shorter = share
    if rules.ball and length > 9.0:
        shorter = min(shorter, 3.0 / math.sqrt(length))
    for j in range(d):
        step = it.step[j] * shorter
        if not rules.ball:
            step = min(max(step, -3.0), 3.0)
        target = point[i, j] - step * rules.extent[j]
        for n in range(anchors.shape[0]):
            G[n, j] = 2.0 * (anchors[n, j] - target) if known and law[1, j] > 0.0 else 0.0
        if told_constant(rules) and known and law[1, j] > 0.0:
            G[0, j] = 2.0 * (anchors[0, j] - constant(rules, memory, law, point, i, it, j))
