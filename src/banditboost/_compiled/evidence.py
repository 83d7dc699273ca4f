"""What gradients say about single features, compiled: `banditboost.learners.evidence` explains it, and both paths call this.

A round costs as many steps as its context has non-zeros that are still looked at, whatever the number of features.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.round import Desk, hold, learn, look, put_back
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]

ROUNDS, WAITING = range(2)
"""Places in the clock of an `Evidence`: rounds, and how many features wait for a place."""
COUNT, MEAN, VARIATION = range(3)
"""What is known of a feature's values: how many were not zero, their mean, and the sum of their squared deviations."""
CELLS = 3
"""In how many groups a feature's values are put: low, usual and high ones."""
APART = 0.7
"""Values more than so many standard deviations from the mean are low or high."""
ENOUGH = 5
"""Fewest values in a group that say anything."""
SELDOM = 4
"""Of the first rounds in which a feature was there, as many as this, nothing is kept: most features come no more often."""
LEAST = 16
"""A feature's evidence is looked at when it has been there in so many rounds, and whenever their number has doubled."""
BY_CHANCE = 0.1
"""How many features may be expected to pass one look where none says anything, if signals were normal."""


class Evidence(NamedTuple):
    """What rounds have said about p features; for d numbers a decision there are 2d signals."""

    clock: Numbers
    """Shape (2,)."""
    overall: Array
    """Mean of every signal, and the sum of its squared deviations, shape (2, 2d)."""
    met: NDArray[np.uint8]
    """In how many rounds a feature was there, up to SELDOM, shape (p,)."""
    known: Array
    """Shape (p, 3)."""
    sums: Array
    """For every feature and group how many values there were, and the sums of signals then, shape (p, 3, 1 + 2d)."""
    waiting: Numbers
    """Features that wait for a place, shape (W,)."""
    found: Array
    """How much evidence there is for these, 1 where it is just beyond chance."""


class Heard(NamedTuple):
    """A bank whose signals are written down, so that evidence can be gathered when the block is over."""

    bank: Any
    signals: Array
    """Written, shape (T, 2d), or (0, 2d) where nothing is gathered: what the first copy should add, and where the loss is least."""


@implements(look, Heard)
def look_heard(bank: Heard, t: int, begin: int, desk: Desk) -> None:
    """Let the bank within look."""
    look(bank.bank, t, begin, desk)


@implements(hold, Heard)
def hold_heard(bank: Heard) -> None:
    """Let the bank within keep what looking changes."""
    hold(bank.bank)


@implements(put_back, Heard)
def put_back_heard(bank: Heard) -> None:
    """Let the bank within return to what was before the last look."""
    put_back(bank.bank)


@implements(learn, Heard)
def learn_heard(bank: Heard, t: int, begin: int, desk: Desk) -> None:
    """Write down what the first copy is told, and let the bank within learn."""
    d = desk.G.shape[1] if len(bank.signals) > 0 else 0
    for j in range(d):
        step = -0.5 * desk.G[begin, j]
        bank.signals[t, j] = step
        bank.signals[t, d + j] = desk.anchors[begin, j] + step
    learn(bank.bank, t, begin, desk)


@loop
def gather(
    data: Array,
    indices: NDArray[np.int32],
    ends: NDArray[np.int32],
    rows: NDArray[np.intp],
    signals: Array,
    seen: NDArray[np.int32],
    proven: int,
    evidence: Evidence,
) -> None:
    """Add what rounds say about features that have no place; those with evidence beyond chance wait for one.

    A feature that has taken a place because it was there in `proven` rounds is left out from then on: so it is where rounds come
    one by one, and so it is in a block in which it took its place.
    """
    for t in range(len(rows)):
        note_signals(evidence, signals, t)
        for n in range(ends[rows[t]], ends[rows[t] + 1]):
            k = indices[n]
            if data[n] == 0.0:
                continue
            if evidence.met[k] < SELDOM:
                evidence.met[k] += 1
            elif seen[k] >= 0 or evidence.known[k, COUNT] < proven:
                cell = cell_of(evidence.known, k, data[n])
                evidence.sums[k, cell, 0] += 1.0
                for j in range(signals.shape[1]):
                    evidence.sums[k, cell, 1 + j] += signals[t, j]
                count = int(evidence.known[k, COUNT]) + SELDOM
                if count >= LEAST and count & (count - 1) == 0:
                    wait(evidence, k, beyond_chance(evidence, k))


@inlined
def note_signals(evidence: Evidence, signals: Array, t: int) -> None:
    """Count a round's signals."""
    clock, overall = evidence.clock, evidence.overall
    clock[ROUNDS] += 1
    for j in range(signals.shape[1]):
        away = signals[t, j] - overall[0, j]
        overall[0, j] += away / clock[ROUNDS]
        overall[1, j] += away * (signals[t, j] - overall[0, j])


@inlined
def cell_of(known: Array, k: int, x: float) -> int:
    """Count a value, and return the group it belongs to."""
    known[k, COUNT] += 1.0
    away = x - known[k, MEAN]
    known[k, MEAN] += away / known[k, COUNT]
    left = x - known[k, MEAN]
    known[k, VARIATION] += away * left
    if left * left * known[k, COUNT] <= APART * APART * known[k, VARIATION]:
        return 1
    return 2 if left > 0.0 else 0


@inlined
def beyond_chance(evidence: Evidence, k: int) -> float:
    """Return by how many times what chance explains the groups of a feature's values differ, in the clearer kind of signal.

    A sum of f squared normal numbers is above f + 2√(fx) + 2x with a probability of at most e^-x (Laurent, Massart 2000, Lemma 1).
    """
    d, groups, most = evidence.overall.shape[1] // 2, 0, 0.0
    for cell in range(CELLS):
        groups += evidence.sums[k, cell, 0] >= ENOUGH
    for kind in range(2):
        total = 0.0
        for j in range(kind * d, (kind + 1) * d):
            total += differences(evidence, k, j)
        most = max(most, total)
    unlikely, freedom = math.log(len(evidence.known) / BY_CHANCE), float(groups * d)
    return most / (freedom + 2.0 * math.sqrt(freedom * unlikely) + 2.0 * unlikely)


@inlined
def differences(evidence: Evidence, k: int, j: int) -> float:
    """Return the squared differences of groups from the mean of a signal, each over the variance of the mean of so many."""
    variance, total = evidence.overall[1, j] / evidence.clock[ROUNDS], 0.0
    if variance > 0.0:
        for cell in range(CELLS):
            count = evidence.sums[k, cell, 0]
            if count >= ENOUGH:
                away = evidence.sums[k, cell, 1 + j] - count * evidence.overall[0, j]
                total += away * away / (count * variance)
    return total


@inlined
def wait(evidence: Evidence, k: int, found: float) -> None:
    """Let a feature wait for a place where its evidence is beyond chance; where too many wait, the one with the least gives way."""
    if not found >= 1.0:
        return
    used, least = evidence.clock[WAITING], 0
    at = used
    for n in range(used):
        if evidence.waiting[n] == k:
            at = n
        if evidence.found[n] < evidence.found[least]:
            least = n
    if at == len(evidence.waiting):
        at = least
        if evidence.found[at] >= found:
            return
    evidence.waiting[at], evidence.found[at] = k, found
    evidence.clock[WAITING] = max(used, at + 1)


@loop
def give_places(seen: NDArray[np.int32], chosen: Numbers, taken: Numbers, most: int, evidence: Evidence) -> None:
    """Give the next free places, at most so many, to features that wait, those with the most evidence first."""
    given = 0
    while evidence.clock[WAITING] > 0 and given < most and taken[0] < len(chosen):
        used, best = evidence.clock[WAITING], 0
        for n in range(used):
            if evidence.found[n] > evidence.found[best]:
                best = n
        k = evidence.waiting[best]
        evidence.waiting[best], evidence.found[best] = evidence.waiting[used - 1], evidence.found[used - 1]
        evidence.clock[WAITING] -= 1
        if seen[k] >= 0:
            chosen[taken[0]] = k
            seen[k] = -1 - taken[0]
            taken[0] += 1
            given += 1
