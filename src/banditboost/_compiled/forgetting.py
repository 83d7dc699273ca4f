"""Second-order linear copies with several memories, compiled: what `banditboost.learners.Forgetting` explains."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.following import Late, gather, overruled, shrunk
from banditboost._compiled.jit import inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array


class Forgetting(NamedTuple):
    """K memories of N copies."""

    memories: tuple[Any, ...]
    """A `SecondOrder` each, the longest memory first."""
    kept: Array
    """What a round leaves of the weight of those before, shape (K,)."""
    sums: Array
    """Learned: gained, squares and variances of every step from one memory to the next, shape (N·K, 3)."""
    late: Late
    """The same over late rounds, a row for every copy and memory."""
    rules: Array
    """Doubt, how fast is forgotten, how often the ridge is renewed, the ridge, and the number of the first round."""
    plays: Array
    """Scratch: what every memory says, shape (K, N, d)."""
    here: Array
    """Scratch: the play before a step, shape (d,)."""
    shares: Array
    """Learned: how far every memory is followed, shape (N·K,)."""


@implements(look, Forgetting)
def look_forgetting(bank: Forgetting, t: int, begin: int, desk: Desk) -> None:
    """Let every memory look, and go from one to the next as far as each has earned."""
    memories, copies, d = len(bank.memories), bank.plays.shape[1], bank.plays.shape[2]
    for k in range(memories):
        look(bank.memories[k], t, begin, desk)
        for i in range(copies):
            for j in range(d):
                bank.plays[k, i, j] = desk.outputs[begin + i, j]
    for i in range(copies):
        for j in range(d):
            here = bank.plays[0, i, j]
            for k in range(1, memories):
                here += bank.shares[i * memories + k] * (bank.plays[k, i, j] - here)
            desk.outputs[begin + i, j] = here


@implements(learn, Forgetting)
def learn_forgetting(bank: Forgetting, t: int, begin: int, desk: Desk) -> None:
    """Judge every step by the gradient, let every memory learn from it, and forget."""
    rounds = bank.rules[4] + t
    for i in range(bank.plays.shape[1]):
        judge(bank, i, rounds, desk.G, begin + i)
    for k in range(len(bank.memories)):
        learn(bank.memories[k], t, begin, desk)
        fade(bank, k, rounds)


@inlined
def judge(bank: Forgetting, i: int, rounds: float, G: Array, row: int) -> None:
    """Compare every step from one memory to the next with the one that would have been best."""
    memories, curvature = len(bank.memories), bank.memories[0].curvature
    faded = 1.0 - bank.rules[1] / (rounds + 20.0 * bank.rules[1])
    for j in range(G.shape[1]):
        bank.here[j] = bank.plays[0, i, j]
    for k in range(1, memories):
        at, gain, square = i * memories + k, 0.0, 0.0
        share = bank.shares[at]
        for j in range(G.shape[1]):
            way = bank.plays[k, i, j] - bank.here[j]
            gain -= (G[row, j] / curvature + bank.here[j]) * way
            square += way * way
            bank.here[j] += share * way
        surprise, sums = gain - share * square, bank.sums[at]
        sums[0] = faded * sums[0] + gain
        sums[1] = faded * sums[1] + square
        sums[2] = faded * faded * sums[2] + surprise**2
        gather(bank.late, at, gain, square, surprise)
        share = min(max(shrunk(sums[0], sums[1], sums[2], bank.rules[0]), 0.0), 1.0)
        bank.shares[at] = overruled(share, bank.late, at, bank.rules[0], 0.0, rounds)


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
    if rounds % every == 0.0:
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
