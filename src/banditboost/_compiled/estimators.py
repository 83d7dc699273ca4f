"""Gradients from loss values, compiled: queries about the anchors, a control variate, and what is left to chance.

What `banditboost.gradients` says of a round, for all directions at once. Directions, noise and who asks come in as arrays that
the plain path's own parts have drawn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jackknife import Model, empty_model, fit
from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

NONE, MEAN, LAST, MIRROR, MODEL, FITTED = range(6)
FLAT = 1e-9
"""As in `banditboost.gradients.fitted`."""


class Estimator(NamedTuple):
    """How answers become gradients, and what is remembered. D directions a round, D/N of them about each anchor."""

    told: bool
    """Whether gradients are told instead; then nothing else here matters."""
    plainest: bool
    """Whether one direction a copy is asked about, always, and answers count as they are."""
    control: int
    sides: int
    """Queries per direction."""
    signs: bool
    """Whether answers are multiplied with the signs of a direction instead of with itself."""
    delta: float
    factor: float
    """d/δ over the sides."""
    weight: float
    """One over the chance of being asked about."""
    exactly: bool
    """Whether slopes count by that weight too."""
    centred: bool
    """Whether slopes lose their mean: on a simplex, whose tangent vectors sum to zero."""
    window: float
    mean: Array
    """Rounds and running mean, changed in place; shape (2,)."""
    last: Array
    """Last answers, changed in place; shape (D,) where they are used."""
    scale: Array
    """Sums over rounds and the diameter (`gradients.fitted`); changed in place where gradients are scaled, else empty."""
    answers: Array
    """Scratch, shape (D, 2)."""
    points: Array
    """Scratch: the queries, those on the first sides, shape (D, d)."""
    model: Model


def nothing_estimated() -> Estimator:
    """For gradients that are told."""
    row, table = np.empty(0), np.empty((0, 0))
    numbers = (True, False, NONE, 1, False, 0.0, 0.0, 1.0, False, False, 1.0)
    return Estimator(*numbers, mean=row, last=row, scale=row, answers=table, points=table, model=empty_model(1, 1))


@inlined
def remember(asked: int, chosen: NDArray[np.bool_], t: int, it: Estimator) -> None:
    """Note what later rounds compare with."""
    if it.control == MEAN and asked > 0:
        total = 0.0
        for q in range(chosen.shape[1]):
            if chosen[t, q]:
                total += it.answers[q, 0]
        it.mean[0] += 1.0
        it.mean[1] += (total / asked - it.mean[1]) / min(it.mean[0], it.window)
    elif it.control == LAST:
        for q in range(chosen.shape[1]):
            if chosen[t, q]:
                it.last[q] = it.answers[q, 0]


@inlined
def rescale(t: int, d: int, chosen: NDArray[np.bool_], it: Estimator) -> None:
    """Count this round in, then multiply slopes by 2/h, none to be longer than 2D (`banditboost.gradients.fitted`)."""
    rows, square, longest = it.model.slopes.shape[0], 0.0, 2.0 * it.scale[3]
    high, low = -math.inf, math.inf
    for q in range(rows):
        if chosen[t, q]:
            high, low = max(high, it.answers[q, 0]), min(low, it.answers[q, 0])
    spread = high - low
    if spread > FLAT * max(abs(high), abs(low)):
        for q in range(rows):
            for j in range(d):
                square += (it.model.slopes[q, j] / spread) ** 2
        it.scale[0] += 1.0 / spread
        it.scale[1] += it.model.curvature[0] / spread
        it.scale[2] += math.sqrt(square / rows)
    factor = 0.0
    if it.scale[0] > 0.0:
        factor = 2.0 * it.scale[0] / max(it.scale[1], it.scale[2] / it.scale[3])
    for q in range(rows):
        length = 0.0
        for j in range(d):
            it.model.slopes[q, j] *= factor
            length += it.model.slopes[q, j] ** 2
        if length > longest * longest:
            for j in range(d):
                it.model.slopes[q, j] *= longest / math.sqrt(length)


@inlined
def combine(
    t: int, d: int, anchors: Array, directions: Array, chosen: NDArray[np.bool_], it: Estimator, G: Array
) -> None:
    """Fill G, shape (N, d), from `it.answers`."""
    copies, total = G.shape[0], directions.shape[1]
    per_copy = total // copies
    share = 1.0 / per_copy
    modelled = it.control in (MODEL, FITTED)
    if modelled:
        fit(t, d, anchors, it.points, chosen, it.answers, it.delta, it.model)
        if it.centred:
            centre(d, it.model.slopes)
        if len(it.scale) > 0:
            rescale(t, d, chosen, it)
    for i in range(copies):
        for j in range(d):
            G[i, j] = 0.0
        for q in range(i * per_copy, (i + 1) * per_copy):
            weight = share * it.weight if chosen[t, q] else 0.0
            usual = 0.0
            if it.control == MEAN:
                usual = it.mean[1]
            elif it.control == LAST:
                usual = it.last[q]
            elif it.control == MIRROR:
                usual = it.answers[q, 1]
            elif it.control == MODEL:
                usual = it.model.values[q]
            elif it.control == FITTED:
                usual = it.answers[q, 0]
            pull = weight * it.factor * (it.answers[q, 0] - usual)
            for j in range(d):
                v = directions[t, q, j]
                if it.signs:
                    v = 1.0 if v > 0.0 else -1.0 if v < 0.0 else 0.0
                G[i, j] += pull * v
            if modelled:
                counts = weight if it.exactly else share
                for j in range(d):
                    G[i, j] += counts * it.model.slopes[q, j]


@inlined
def centre(d: int, slopes: Array) -> None:
    """Subtract from every row its mean."""
    for q in range(slopes.shape[0]):
        total = 0.0
        for j in range(d):
            total += slopes[q, j]
        for j in range(d):
            slopes[q, j] -= total / d
