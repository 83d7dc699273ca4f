"""The small models of a round's loss, each fitted to all answers but one, compiled (`banditboost.gradients.jackknife`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

LEVEL, LINEAR, ISOTROPIC, DIAGONAL = range(4)


class Model(NamedTuple):
    """What to fit, what came of it, and where to work it out. D rows, p coefficients."""

    shape: int
    ridge: float
    level_ridge: float
    limit: float
    leaves: bool
    """Whether each row is left out for itself; otherwise one model is fitted to all."""
    values: Array
    """Written: q_{-i}(z_i), shape (D,)."""
    slopes: Array
    """Written: ∇q_{-i} at the anchor, shape (D, d)."""
    curvature: Array
    """Written: the mean curvature of the model of all rows, shape (1,)."""
    features: Array
    """Shape (D, p)."""
    inverse: Array
    """Shape (p, p)."""
    theta: Array
    """Of all rows, of all but one, and a row's lever: shape (3, p)."""
    center: Array
    """Shape (1, d)."""


def empty_model(
    directions: int,
    d: int,
    shape: int = LEVEL,
    ridge: float = 1.0,
    level: float = 1.0,
    limit: float = 1.0,
    leaves: bool = True,
) -> Model:
    """Nothing is worked out yet."""
    p = (1, 1 + d, 2 + d, 1 + 2 * d)[shape]
    return Model(
        shape,
        ridge,
        level,
        limit,
        leaves,
        np.empty(directions),
        np.empty((directions, d)),
        np.empty(1),
        np.empty((directions, p)),
        np.empty((p, p)),
        np.empty((3, p)),
        np.empty((1, d)),
    )


@inlined
def fit(
    t: int,
    d: int,
    anchors: Array,
    points: Array,
    chosen: NDArray[np.bool_],
    answers: Array,
    delta: float,
    it: Model,
) -> None:
    """Fill values and slopes. The sizes that matter most are named, so that their loops are unrolled."""
    if d == 1 and it.shape == ISOTROPIC:
        fit_in(t, 1, 3, anchors, points, chosen, answers, delta, it)
    else:
        fit_in(t, d, it.inverse.shape[0], anchors, points, chosen, answers, delta, it)


@inlined
def fit_in(
    t: int,
    d: int,
    p: int,
    anchors: Array,
    points: Array,
    chosen: NDArray[np.bool_],
    answers: Array,
    delta: float,
    it: Model,
) -> None:
    """Fit with p coefficients in d dimensions."""
    scale = place(d, anchors, delta, it)
    total = points.shape[0]
    per_copy = total // anchors.shape[0]
    for a in range(p):
        it.theta[0, a] = 0.0
        for b in range(p):
            it.inverse[a, b] = 0.0
        it.inverse[a, a] = it.ridge
    it.inverse[0, 0] = it.level_ridge
    level = 0.0 if it.leaves else middle(t, chosen, answers)
    for q in range(total):
        describe(q, d, points, scale, it)
        if chosen[t, q]:
            for a in range(p):
                it.theta[0, a] += it.features[q, a] * (answers[q, 0] - level)
                for b in range(p):
                    it.inverse[a, b] += it.features[q, a] * it.features[q, b]
    invert(p, it)
    # θ = A⁻¹ Σ φ loss; the right-hand side is kept where a row's lever will be.
    for a in range(p):
        it.theta[2, a] = it.theta[0, a]
    for a in range(p):
        it.theta[0, a] = 0.0
        for b in range(p):
            it.theta[0, a] += it.inverse[a, b] * it.theta[2, b]
    it.curvature[0] = 0.0
    if it.shape == ISOTROPIC:
        it.curvature[0] = it.theta[0, d + 1] / (scale * scale)
    elif it.shape == DIAGONAL:
        for j in range(d):
            it.curvature[0] += it.theta[0, d + 1 + j] / (scale * scale * d)
    conclude(t, d, p, total, per_copy, scale, anchors, chosen, answers, delta, it)


@inlined
def middle(t: int, chosen: NDArray[np.bool_], answers: Array) -> float:
    """Return the mean of the answers."""
    total, count = 0.0, 0
    for q in range(chosen.shape[1]):
        if chosen[t, q]:
            total += answers[q, 0]
            count += 1
    return total / max(count, 1)


@inlined
def place(d: int, anchors: Array, delta: float, it: Model) -> float:
    """Set the centre, and return the scale: both known before any direction was drawn."""
    copies, spread = anchors.shape[0], 0.0
    for j in range(d):
        total = 0.0
        for i in range(copies):
            total += anchors[i, j]
        it.center[0, j] = total / copies
        for i in range(copies):
            spread += (anchors[i, j] - it.center[0, j]) ** 2
    return delta + math.sqrt(spread / (copies * d))


@inlined
def describe(q: int, d: int, points: Array, scale: float, it: Model) -> None:
    """Fill the features of a query."""
    it.features[q, 0] = 1.0
    if it.shape == LEVEL:
        return
    if it.shape == ISOTROPIC:
        it.features[q, d + 1] = 0.0
    for j in range(d):
        u = (points[q, j] - it.center[0, j]) / scale
        it.features[q, 1 + j] = u
        if it.shape == ISOTROPIC:
            it.features[q, d + 1] += 0.5 * u * u
        elif it.shape == DIAGONAL:
            it.features[q, d + 1 + j] = 0.5 * u * u


@inlined
def invert(p: int, it: Model) -> None:
    """Invert a positive definite matrix in place, one pivot after the other (Gauss-Jordan)."""
    A = it.inverse
    for k in range(p):
        pivot = 1.0 / A[k, k]
        A[k, k] = 1.0
        for b in range(p):
            A[k, b] *= pivot
        for a in range(p):
            if a != k:
                factor = A[a, k]
                A[a, k] = 0.0
                for b in range(p):
                    A[a, b] -= factor * A[k, b]


@inlined
def conclude(
    t: int,
    d: int,
    p: int,
    total: int,
    per_copy: int,
    scale: float,
    anchors: Array,
    chosen: NDArray[np.bool_],
    answers: Array,
    delta: float,
    it: Model,
) -> None:
    """Leave each row out in turn, and fill values and slopes."""
    asked, summed = 0, 0.0
    high, second_high, low, second_low = -math.inf, -math.inf, math.inf, math.inf
    for q in range(total):
        if chosen[t, q]:
            answer = answers[q, 0]
            asked += 1
            summed += answer
            if answer > high:
                high, second_high = answer, high
            elif answer > second_high:
                second_high = answer
            if answer < low:
                low, second_low = answer, low
            elif answer < second_low:
                second_low = answer
    i, within = 0, 0  # counted along, since a division takes longer than much of what follows
    for q in range(total):
        answer, mine = answers[q, 0], chosen[t, q]
        others = asked - 1 if mine else asked
        mean = ((summed - answer if mine else summed) / others) if others > 0 else 0.0
        spread = 0.0
        if others > 0:
            spread = (second_high if mine and answer == high else high) - (
                second_low if mine and answer == low else low
            )
        without(q, p, mine and it.leaves, answer, it)
        strays, value = judge(q, d, p, i, scale, anchors, delta, mean, it)
        within += 1
        if within == per_copy:
            i, within = i + 1, 0
        kept = limit_to(it.limit * spread, strays) if it.leaves else 1.0
        it.values[q] = mean + kept * (value - mean)
        for j in range(d):
            it.slopes[q, j] *= kept / scale


@inlined
def limit_to(allowed: float, strays: float) -> float:
    """Return what a model is flattened by."""
    return allowed / strays if strays > allowed else 1.0


@inlined
def without(q: int, p: int, mine: bool, answer: float, it: Model) -> None:
    """Set theta[1] to the coefficients that row q had no part in."""
    fitted, leverage = 0.0, 0.0
    for a in range(p):
        lever = 0.0
        for b in range(p):
            lever += it.inverse[a, b] * it.features[q, b]
        it.theta[2, a] = lever
        fitted += it.theta[0, a] * it.features[q, a]
        leverage += lever * it.features[q, a]
    surprise = (answer - fitted) / (1.0 - leverage) if mine else 0.0
    for a in range(p):
        it.theta[1, a] = it.theta[0, a] - it.theta[2, a] * surprise


@inlined
def judge(
    q: int, d: int, p: int, i: int, scale: float, anchors: Array, delta: float, mean: float, it: Model
) -> tuple[float, float]:
    """Fill slopes[q], in scaled units; return how far the model goes from the mean within δ of the anchor, and q(z)."""
    value, level, steep, bend = 0.0, it.theta[1, 0], 0.0, 0.0
    for a in range(p):
        value += it.theta[1, a] * it.features[q, a]
    for j in range(d):
        u, slope, curve = (anchors[i, j] - it.center[0, j]) / scale, 0.0, 0.0
        if it.shape != LEVEL:
            slope = it.theta[1, 1 + j]
        if it.shape == ISOTROPIC:
            curve = it.theta[1, d + 1]
        elif it.shape == DIAGONAL:
            curve = it.theta[1, d + 1 + j]
        level += slope * u + 0.5 * curve * u * u
        slope += curve * u
        it.slopes[q, j] = slope
        steep += slope * slope
        bend = max(bend, abs(curve))
    reach = delta / scale
    return abs(level - mean) + reach * math.sqrt(steep) + 0.5 * reach * reach * bend, value
