"""Second-order linear copies with several memories, compiled: what `banditboost.learners.Forgetting` explains."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.following import Late, gather, overruled, shrunk
from banditboost._compiled.jit import brief, inlined
from banditboost._compiled.round import Desk, hold, learn, look, put_back
from banditboost._core.checks import Array

BEGAN, AHEAD, DOUBT, USUAL, WORSE = range(5)
"""Entries of what is known of the fresh memory: the round in which it began (0: there is none), and how far it is ahead of the
longest one, with the variance of that; then the usual squared error, and how many far ones there were of late."""


class Forgetting(NamedTuple):
    """K memories of N copies, the last of which is the fresh one."""

    memories: tuple[Any, ...]
    """A `SecondOrder` each, the longest memory first."""
    kept: Array
    """What a round leaves of the weight of those before, shape (K,)."""
    used: Array
    """Which memories there are, not zero for those, shape (K,); the first is there always, and the last where it has begun."""
    sums: Array
    """Learned: gained, squares and variances of every step from one memory to the next, shape (N·K, 3)."""
    late: Late
    """The same over late rounds, a row for every copy and memory."""
    rules: Array
    """Doubt, how fast is forgotten, how often the ridge is renewed, the ridge, the number of the first round, and how many standard
    deviations the fresh memory must be ahead to take over."""
    worse: Array
    """How many times the usual one a squared error is that is far, and how many times it counts at most in the usual one; the
    rounds over which that goes; how many far ones begin a fresh memory, how old one must be to be begun anew, and from which round
    on."""
    boldest: float
    """How many times as long the bold play may be as the cautious one."""
    plays: Array
    """Scratch: what every memory says, shape (K, N, d)."""
    here: Array
    """Scratch: the play before a step, shape (d,)."""
    played: Array
    """Scratch: the bold play of every copy, and then what it has played, shape (N, d)."""
    shares: Array
    """Learned: how far every memory is followed, shape (N·K,); where the first would be, how far the bold play is."""
    fresh: Array
    """Learned: what is known of the fresh memory."""


@inlined
def lives(bank: Forgetting, k: int) -> bool:
    """Return whether there is memory k now: the fresh one is last."""
    if k == len(bank.memories) - 1:
        return bool(bank.fresh[BEGAN] > 0.0)
    return bool(k == 0 or bank.used[k] > 0.0)


@implements(look, Forgetting)
def look_forgetting(bank: Forgetting, t: int, begin: int, desk: Desk) -> None:
    """Let every memory look, and go from one to the next as far as each has earned."""
    most, copies, d = len(bank.memories), bank.plays.shape[1], bank.plays.shape[2]
    for k in range(most):
        if not lives(bank, k):
            continue
        look(bank.memories[k], t, begin, desk)
        for i in range(copies):
            for j in range(d):
                bank.plays[k, i, j] = desk.outputs[begin + i, j]
    for i in range(copies):
        for j in range(d):
            here, bold = bank.plays[0, i, j], boldly(bank, 0, i, j)
            for k in range(1, most):
                if not lives(bank, k):
                    continue
                here += bank.shares[i * most + k] * (bank.plays[k, i, j] - here)
                bold += bank.shares[i * most + k] * (boldly(bank, k, i, j) - bold)
            desk.outputs[begin + i, j] = here + bank.shares[i * most] * (bold - here)


@inlined
def boldly(bank: Forgetting, k: int, i: int, j: int) -> float:
    """Return what a memory says where it is not cautious."""
    return bank.plays[k, i, j] * min(bank.memories[k].sizes[0], bank.boldest)  # type: ignore[no-any-return]


@implements(hold, Forgetting)
def hold_forgetting(bank: Forgetting) -> None:
    """Let every memory keep what looking changes."""
    for k in range(len(bank.memories)):
        if lives(bank, k):
            hold(bank.memories[k])


@implements(put_back, Forgetting)
def put_back_forgetting(bank: Forgetting) -> None:
    """Let every memory return to what it was before the last look."""
    for k in range(len(bank.memories)):
        if lives(bank, k):
            put_back(bank.memories[k])


@implements(learn, Forgetting)
def learn_forgetting(bank: Forgetting, t: int, begin: int, desk: Desk) -> None:
    """Judge every step by the gradient, let every memory learn from it, and forget."""
    rounds, suspicious = bank.rules[4] + t, False
    for i in range(bank.plays.shape[1]):
        suspicious |= judge(bank, i, rounds, desk.G, begin + i)
    for k in range(len(bank.memories)):
        if not lives(bank, k):
            continue
        learn(bank.memories[k], t, begin, desk)
        fade(bank, k, rounds)
    worse = has_worsened(bank, desk.G, begin, rounds)
    if bank.fresh[BEGAN] > 0.0 and not (worse and rounds - bank.fresh[BEGAN] > bank.worse[4]):
        settle(bank, rounds)
    elif suspicious or worse:
        begin_afresh(bank, rounds)


@inlined
def has_worsened(bank: Forgetting, G: Array, begin: int, rounds: float) -> bool:
    """Follow the usual squared error; return whether there were many of late that are far larger."""
    fresh, curvature, error = bank.fresh, bank.memories[0].curvature, 0.0
    far, most, over, many, _, first = bank.worse
    for i in range(bank.played.shape[0]):
        for j in range(bank.played.shape[1]):
            error += (G[begin + i, j] / curvature + bank.played[i, j]) ** 2
    usual = fresh[USUAL]
    fresh[WORSE] = max(fresh[WORSE] + (1.0 if error > far * usual else -0.5), 0.0)
    if rounds > first and usual > 0.0:
        error = min(error, most * usual)
    fresh[USUAL] += (error - usual) / (min(rounds, over) if usual > 0.0 else 1.0)
    if fresh[WORSE] < many:
        return False
    fresh[WORSE] = 0.0
    return bool(rounds > first)


@inlined
def judge(bank: Forgetting, i: int, rounds: float, G: Array, row: int) -> bool:
    """Compare every step from one memory to the next with the best one; return whether late rounds ask for a shorter memory."""
    most, curvature, suspicious = len(bank.memories), bank.memories[0].curvature, False
    for j in range(G.shape[1]):
        bank.here[j] = bank.plays[0, i, j]
        bank.played[i, j] = boldly(bank, 0, i, j)
    for k in range(1, most):
        if not lives(bank, k):
            continue
        at, gain, square = i * most + k, 0.0, 0.0
        share = bank.shares[at]
        for j in range(G.shape[1]):
            way = bank.plays[k, i, j] - bank.here[j]
            gain -= (G[row, j] / curvature + bank.here[j]) * way
            square += way * way
            bank.here[j] += share * way
            bank.played[i, j] += share * (boldly(bank, k, i, j) - bank.played[i, j])
        suspicious |= follow(bank, at, gain, square, rounds)
    gain, square = 0.0, 0.0
    for j in range(G.shape[1]):
        way = bank.played[i, j] - bank.here[j]
        gain -= (G[row, j] / curvature + bank.here[j]) * way
        square += way * way
        bank.played[i, j] = bank.here[j] + bank.shares[i * most] * way
    follow(bank, i * most, gain, square, rounds)
    if bank.fresh[BEGAN] > 0.0:
        compare(bank, i, G, row)
    return suspicious


@inlined
def follow(bank: Forgetting, at: int, gain: float, square: float, rounds: float) -> bool:
    """Say how far to follow a step from now on, after a round; return whether late rounds ask for more of it."""
    faded, last = 1.0 - bank.rules[1] / (rounds + 20.0 * bank.rules[1]), len(bank.late.stretches) - 1
    sums, surprise = bank.sums[at], gain - bank.shares[at] * square
    sums[0] = faded * sums[0] + gain
    sums[1] = faded * sums[1] + square
    sums[2] = faded * faded * sums[2] + surprise**2
    gather(bank.late, at, gain, square, surprise)
    share = min(max(shrunk(sums[0], sums[1], sums[2], bank.rules[0]), 0.0), 1.0)
    bank.shares[at] = overruled(share, bank.late, at, bank.rules[0], 0.0, rounds)
    late = bank.late.sums[at, last]
    more = late[0] - share * late[1]
    return bool(rounds > 2.0 * bank.late.stretches[last] and more > 0.0 and more**2 > bank.late.sure * late[2])


@inlined
def compare(bank: Forgetting, i: int, G: Array, row: int) -> None:
    """Add to how far the fresh memory is ahead of the longest one."""
    last, curvature, better = len(bank.memories) - 1, bank.memories[0].curvature, 0.0
    for j in range(G.shape[1]):
        old, new = bank.plays[0, i, j], bank.plays[last, i, j]
        better += (old - new) * (2.0 * G[row, j] / curvature + old + new)
    bank.fresh[AHEAD] += better
    bank.fresh[DOUBT] += better * better


@inlined
def begin_afresh(bank: Forgetting, rounds: float) -> None:
    """Begin a memory of the rounds from the next one on."""
    last, fresh = len(bank.memories) - 1, bank.memories[len(bank.memories) - 1]
    fresh.weights[:] = 0.0
    fresh.roots[:] = 0.0
    for j in range(fresh.roots.shape[1]):
        fresh.roots[0, j, j] = 1.0 / math.sqrt(bank.rules[3])
    for i in range(bank.plays.shape[1]):
        forget_step(bank, i * len(bank.memories) + last)
    bank.fresh[BEGAN], bank.fresh[AHEAD], bank.fresh[DOUBT] = rounds, 0.0, 0.0


@inlined
def forget_step(bank: Forgetting, at: int) -> None:
    """Forget what a step from one memory to the next has gained."""
    bank.shares[at] = 0.0
    bank.sums[at, :] = 0.0
    bank.late.sums[at, :, :] = 0.0


@inlined
def settle(bank: Forgetting, rounds: float) -> None:
    """Let the fresh memory take the place of older ones where it is surely ahead; give it up where it is surely behind or old."""
    age, ahead, doubt = rounds - bank.fresh[BEGAN], bank.fresh[AHEAD], bank.rules[5] * math.sqrt(bank.fresh[DOUBT])
    most, least = len(bank.memories), 2.0 * bank.memories[0].roots.shape[1]
    if ahead > doubt and age >= max(least, 20.0):
        for k in range(most - 1):
            if (1.0 - bank.kept[k]) * age < 1.0:
                replace(bank.memories[k], bank.memories[most - 1])
        for at in range(bank.shares.shape[0]):
            if at % most > 0:
                forget_step(bank, at)
        begin_afresh(bank, rounds)  # the first rounds after a change are the ones that say least of the new world
    elif (ahead < -doubt and age > 10.0 * least) or 2.0 * age > rounds:
        bank.fresh[BEGAN] = 0.0
        for i in range(bank.plays.shape[1]):
            forget_step(bank, i * most + most - 1)


@inlined
def replace(old: Any, new: Any) -> None:
    """Write what one memory has learned over another."""
    for i in range(old.weights.shape[0]):
        for j in range(old.weights.shape[1]):
            for m in range(old.weights.shape[2]):
                old.weights[i, j, m] = new.weights[i, j, m]
    for j in range(old.roots.shape[1]):
        for m in range(old.roots.shape[2]):
            old.roots[0, j, m] = new.roots[0, j, m]


@inlined
def fade(bank: Forgetting, k: int, rounds: float) -> None:
    """Let the weight of all rounds so far shrink by what a memory keeps, and give one feature its ridge back now and then."""
    kept, every = bank.kept[k], bank.rules[2]
    if kept == 1.0:
        return
    U = bank.memories[k].roots
    p, more = U.shape[1], 1.0 / math.sqrt(kept)
    for j in range(p):
        for m in range(j + 1):
            U[0, j, m] *= more
    if rounds % every == 0.0 and p > 0:
        feature = int(rounds / every) % p
        renew(bank.memories[k], feature, (1.0 - kept) * every * p * bank.rules[3])


@inlined
def renew(memory: Any, feature: int, ridge: float) -> None:
    """Add to the ridge of one feature: a round in which it alone is there, and asks for nothing."""
    U, b, c = memory.roots, memory.lever, memory.curvature
    p, x, alpha = U.shape[1], math.sqrt(ridge / memory.curvature), 1.0 / memory.curvature
    for m in range(p):
        b[0, m] = 0.0
    for j in range(feature, p):
        f = U[0, j, feature] * x
        if f != 0.0:
            before = alpha
            alpha = before + f * f
            keep, take = math.sqrt(before / alpha), f / math.sqrt(before * alpha)
            for m in range(j + 1):
                u = U[0, j, m]
                U[0, j, m] = keep * u - take * b[0, m]
                b[0, m] += f * u
    for i in range(memory.weights.shape[0]):
        for j in range(memory.weights.shape[1]):
            scaled = c * memory.weights[i, j, feature] * x / (c * alpha)
            for m in range(p):
                memory.weights[i, j, m] -= scaled * b[0, m]


@inlined
def show(bank: Forgetting, x: Array) -> None:
    """Let all memories see a context in the first row of their features, of which the constant is there."""
    features = bank.memories[0].features
    for k in range(len(x)):
        features[0, 0, k] = x[k]


@brief
def play(bank: Forgetting, x: Array, desk: Desk, out: Array) -> None:
    """Write what copies say in one context, shape (N, d), and change nothing that is learned.

    All that is written to what rounds share is written here: a handler of a signal may play between any two lines of Python.
    """
    show(bank, x)
    hold_forgetting(bank)
    look_forgetting(bank, 0, 0, desk)
    put_back_forgetting(bank)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = desk.outputs[i, j]


@brief
def update(bank: Forgetting, x: Array, G: Array, t: int, desk: Desk) -> None:
    """Let copies learn from gradients in one context: round t, counted from 1."""
    show(bank, x)
    bank.rules[4] = t
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            desk.G[i, j] = G[i, j]
    look_forgetting(bank, 0, 0, desk)
    learn_forgetting(bank, 0, 0, desk)
