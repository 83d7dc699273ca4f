"""Linear copies for wide, sparse contexts, compiled: what `banditboost.learners.Wide` explains. Both paths call these functions.

A round costs as many steps as its context has non-zeros, and the square of the block's size.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements
from banditboost._compiled.following import shrunk
from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]

COUNT, MEAN, VARIATION, LEARNED = range(4)
"""Columns of what is known about a feature: how often it was not zero, the mean of its values then and the sum of their squared
deviations, and by how much rounds have raised the precision of its weight above that of the start, which is 1."""
ALWAYS = 0.9
"""A feature that is there in this share of the rounds is measured from its mean."""
FLAT = 1e-10
"""A standard deviation below this share of the mean is taken for rounding."""
NOISIER = 8.0 / 3.0
"""How many times the variance of a round's noise is for wary weights what it is for the others."""
SHORTER = 3.0
"""The step of a wary weight is one over the root of 1 and so many times the rounds in which its feature was there."""
DOUBT = 2.0
"""How many variances are taken off what wary weights have gained."""


class Belief(NamedTuple):
    """What N copies have learned about weights, as a normal law; d numbers a decision, p features, a block of m."""

    weights: Array
    """The means, shape (N, d, p + 1); the constant's are last."""
    known: Array
    """Shape (p, 4)."""
    slots: NDArray[np.int32]
    """One more than a feature's place in the block, or 0. Shape (p,)."""
    features: Numbers
    """Which feature has each place, shape (m + 1,); the first is the constant's."""
    covariance: Array
    """Of the weights in the block, shape (m + 1, m + 1); symmetric to the last bit, so that a column is read as a row."""
    clock: Numbers
    """Rounds learned from, and places taken, the constant's included. Shape (2,)."""
    wary: Array
    """Wary weights, shape (N, d, p + 1), or (N, d, 0) where there are none."""
    gains: Array
    """What following them has gained, the squared way to them, and the variance of the gain, of every copy. Shape (N, 3)."""


class Rules(NamedTuple):
    """Numbers of `learners.Wide`."""

    curvature: float
    noise: float
    """The variance that a round's noise has, where weights have the variance 1 at first: ridge over curvature."""
    proven: float


class Wide(NamedTuple):
    """A belief, rules, contexts as canonical CSR and which of their rows are the rounds, and room for one round."""

    belief: Belief
    rules: Rules
    data: Array
    indices: NDArray[np.int32]
    ends: NDArray[np.int32]
    rows: NDArray[np.intp]
    z: Array
    """Scratch: the non-zeros of the round, scaled, shape (p,) at most."""
    steps: Array
    """Scratch: by how much of an error wary weights of the non-zeros move, before it is divided by its variance."""
    lever: Array
    """Scratch: covariance times the features in the block, shape (m + 1,)."""


@inlined
def scaled(known: Array, k: int, x: float, rounds: int) -> float:
    """Return a value that is not zero in units of the feature's own values, itself counted; rounds count this one, too."""
    count = known[k, COUNT] + 1.0
    away = x - known[k, MEAN]
    mean = known[k, MEAN] + away / count
    spread = (known[k, VARIATION] + away * (x - mean)) / count
    if count >= ALWAYS * rounds and spread > (FLAT * mean) ** 2:
        return (x - mean) / math.sqrt(spread)  # type: ignore[no-any-return]
    size = math.sqrt(spread + mean * mean)
    return x / size if size > 0.0 else 0.0  # squares of tiny numbers are zero


@inlined
def read(bank: Wide, t: int) -> None:
    """Scale the non-zeros of round t."""
    first, end, rounds = bank.ends[bank.rows[t]], bank.ends[bank.rows[t] + 1], bank.belief.clock[0] + 1
    for n in range(first, end):
        x = bank.data[n]
        bank.z[n - first] = scaled(bank.belief.known, bank.indices[n], x, rounds) if x != 0.0 else 0.0


@implements(look, Wide)
def look_wide(bank: Wide, t: int, begin: int, desk: Desk) -> None:
    """Write the mean of w·z, or what is said part of the way from there to wary weights."""
    read(bank, t)
    say(bank, t, begin, desk.outputs)


@inlined
def say(bank: Wide, t: int, begin: int, out: Array) -> None:
    """Write what every copy says about round t, whose non-zeros were read, to rows of `out`."""
    belief = bank.belief
    for i in range(belief.weights.shape[0]):
        share = followed(belief, i)
        for j in range(belief.weights.shape[1]):
            said = dot(bank, belief.weights, t, i, j)
            if share > 0.0:
                said += share * (dot(bank, belief.wary, t, i, j) - said)
            out[begin + i, j] = said


@inlined
def followed(belief: Belief, i: int) -> float:
    """Return how far copy i follows its wary weights."""
    return share_of(belief.gains, i) if belief.wary.shape[2] > 0 else 0.0


@inlined
def share_of(gains: Array, i: int) -> float:
    """Return how far it pays to follow wary weights that have gained so much."""
    return min(max(shrunk(gains[i, 0], gains[i, 1], gains[i, 2], DOUBT), 0.0), 1.0)


@loop
def shares(gains: Array, out: Array) -> None:
    """Write how far every copy follows its wary weights."""
    for i in range(len(out)):
        out[i] = share_of(gains, i)


@inlined
def dot(bank: Wide, weights: Array, t: int, i: int, j: int) -> float:
    """Return what weights of copy i say about coordinate j."""
    first = bank.ends[bank.rows[t]]
    total = weights[i, j, weights.shape[2] - 1]
    for n in range(first, bank.ends[bank.rows[t] + 1]):
        total += weights[i, j, bank.indices[n]] * bank.z[n - first]
    return total  # type: ignore[no-any-return]


@implements(learn, Wide)
def learn_wide(bank: Wide, t: int, begin: int, desk: Desk) -> None:
    """Let the belief learn from -g/c, count the context, and give features that have proven themselves a place in the block."""
    belief, rules = bank.belief, bank.rules
    first, end = bank.ends[bank.rows[t]], bank.ends[bank.rows[t] + 1]
    if belief.wary.shape[2] > 0:
        warily(bank, t, begin, desk)
    spread = pull(bank, first, end)
    last, weights = belief.weights.shape[2] - 1, belief.weights
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            error = (-desk.G[begin + i, j] / rules.curvature - dot(bank, weights, t, i, j)) / spread
            weights[i, j, last] += bank.lever[0] * error
            for s in range(1, belief.clock[1]):
                weights[i, j, belief.features[s]] += bank.lever[s] * error
            for n in range(first, end):
                k = bank.indices[n]
                if belief.slots[k] == 0:
                    weights[i, j, k] += bank.z[n - first] * error / (1.0 + belief.known[k, LEARNED])
    shrink(belief, bank.lever, spread)
    belief.clock[0] += 1
    for n in range(first, end):
        if bank.data[n] != 0.0:
            note(bank, bank.indices[n], bank.data[n], bank.z[n - first], spread)


@inlined
def warily(bank: Wide, t: int, begin: int, desk: Desk) -> None:
    """Let wary weights learn from -g/c, and count what following them would have gained; the others have not learned yet."""
    belief, rules, wary = bank.belief, bank.rules, bank.belief.wary
    first, end, last = bank.ends[bank.rows[t]], bank.ends[bank.rows[t] + 1], bank.belief.wary.shape[2] - 1
    constant = 1.0 / math.sqrt(1.0 + SHORTER * belief.clock[0])
    spread = NOISIER * rules.noise + constant
    for n in range(first, end):
        z, count = bank.z[n - first], belief.known[bank.indices[n], COUNT]
        bank.steps[n - first] = z / math.sqrt(1.0 + SHORTER * count)
        spread += z * bank.steps[n - first]
    for i in range(wary.shape[0]):
        gain, square, share = 0.0, 0.0, followed(belief, i)
        for j in range(wary.shape[1]):
            target, said = -desk.G[begin + i, j] / rules.curvature, dot(bank, belief.weights, t, i, j)
            here = dot(bank, wary, t, i, j)
            gain += (target - said) * (here - said)
            square += (here - said) ** 2
            error = (target - here) / spread
            wary[i, j, last] += constant * error
            for n in range(first, end):
                wary[i, j, bank.indices[n]] += bank.steps[n - first] * error
        belief.gains[i, 0] += gain
        belief.gains[i, 1] += square
        belief.gains[i, 2] += (gain - share * square) ** 2


@inlined
def pull(bank: Wide, first: int, end: int) -> float:
    """Write covariance times features in the block, and return the variance of what the round is about to say."""
    belief, used = bank.belief, bank.belief.clock[1]
    for s in range(used):
        bank.lever[s] = belief.covariance[0, s]
    spread = bank.rules.noise
    for n in range(first, end):
        k, z = bank.indices[n], bank.z[n - first]
        at = belief.slots[k] - 1
        if at < 0:
            spread += z * z / (1.0 + belief.known[k, LEARNED])
        elif z != 0.0:
            for s in range(used):
                bank.lever[s] += belief.covariance[at, s] * z
    spread += bank.lever[0]
    for n in range(first, end):
        at = belief.slots[bank.indices[n]] - 1
        if at >= 0:
            spread += bank.lever[at] * bank.z[n - first]
    return spread  # type: ignore[no-any-return]


@inlined
def shrink(belief: Belief, lever: Array, spread: float) -> None:
    """Take from the block's covariance what the round has told: C ← C - l lᵀ/s; of the lever, l/√s is left."""
    used, root = belief.clock[1], 1.0 / math.sqrt(spread)
    for s in range(used):
        lever[s] *= root
    for s in range(used):
        for r in range(used):
            belief.covariance[s, r] -= lever[s] * lever[r]


@inlined
def note(bank: Wide, k: int, x: float, z: float, spread: float) -> None:
    """Count a value; outside of the block v ← v - (v z)²/s, where v = 1/(1 + q) is the variance of the weight."""
    belief, known = bank.belief, bank.belief.known
    known[k, COUNT] += 1.0
    away = x - known[k, MEAN]
    known[k, MEAN] += away / known[k, COUNT]
    known[k, VARIATION] += away * (x - known[k, MEAN])
    if belief.slots[k] > 0:
        return
    variance = 1.0 / (1.0 + known[k, LEARNED])
    known[k, LEARNED] = 1.0 / (variance - (variance * z) ** 2 / spread) - 1.0
    used = belief.clock[1]
    if known[k, COUNT] >= bank.rules.proven and used < len(belief.features):
        belief.slots[k], belief.features[used] = used + 1, k
        for s in range(used):
            belief.covariance[used, s] = belief.covariance[s, used] = 0.0
        belief.covariance[used, used] = 1.0 / (1.0 + known[k, LEARNED])
        belief.clock[1] += 1


@loop
def play(bank: Any, out: Array) -> None:
    """Write what every copy says in the first round, shape (N, d)."""
    read(bank, 0)
    say(bank, 0, 0, out)


@loop
def update(bank: Any, desk: Desk) -> None:
    """Let every copy learn from the first round."""
    read(bank, 0)
    learn(bank, 0, 0, desk)
