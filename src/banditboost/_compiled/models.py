"""Small models of a round's loss, fitted to its answers by ridge regression, compiled (`banditboost.gradients.jackknife`).

`LeaveOneOut` is the control variate of `Surrogate`: for every direction a model of all other answers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.gradients import Sphere, add_slope, prepare, remember, usual
from banditboost._compiled.jit import inlined
from banditboost._compiled.spaces import tangent
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk


class Level(NamedTuple):
    """A constant."""


class Linear(NamedTuple):
    """A constant and a slope."""


class Isotropic(NamedTuple):
    """A constant, a slope, and one curvature for all coordinates."""


class Diagonal(NamedTuple):
    """A constant, a slope, and a curvature for every coordinate."""


KINDS = {"level": Level(), "linear": Linear(), "isotropic": Isotropic(), "diagonal": Diagonal()}


@operation
def n_coefficients(kind: Any, d: int) -> int:  # type: ignore[empty-body]
    """Return how many coefficients a model has in d dimensions."""


@operation
def tilt(kind: Any, theta: Array, row: int, j: int) -> float:  # type: ignore[empty-body]
    """Return the slope of the model theta[row] along coordinate j, at the centre."""


@operation
def bend(kind: Any, theta: Array, row: int, d: int, j: int) -> float:  # type: ignore[empty-body]
    """Return the curvature of the model theta[row] along coordinate j."""


@operation
def square(kind: Any, features: Array, q: int, d: int, j: int, u: float) -> None:
    """Add the features of row q that belong to the curvature along coordinate j, at distance u from the centre."""


@implements(n_coefficients, Level)
def n_level(kind: Level, d: int) -> int:
    """Return 1."""
    return 1


@implements(n_coefficients, Linear)
def n_linear(kind: Linear, d: int) -> int:
    """Return 1 + d."""
    return 1 + d


@implements(n_coefficients, Isotropic)
def n_isotropic(kind: Isotropic, d: int) -> int:
    """Return 2 + d."""
    return 2 + d


@implements(n_coefficients, Diagonal)
def n_diagonal(kind: Diagonal, d: int) -> int:
    """Return 1 + 2d."""
    return 1 + 2 * d


def _flat(kind: Any, theta: Array, row: int, j: int) -> float:
    """Return zero."""
    return 0.0


def _tilted(kind: Any, theta: Array, row: int, j: int) -> float:
    """Return the coefficient of the coordinate."""
    return theta[row, 1 + j]  # type: ignore[no-any-return]


def _straight(kind: Any, theta: Array, row: int, d: int, j: int) -> float:
    """Return zero."""
    return 0.0


def _no_square(kind: Any, features: Array, q: int, d: int, j: int, u: float) -> None:
    """Do nothing."""


implements(tilt, Level)(_flat)
for _form in (Linear, Isotropic, Diagonal):
    implements(tilt, _form)(_tilted)
for _form in (Level, Linear):  # type: ignore[assignment]
    implements(bend, _form)(_straight)
    implements(square, _form)(_no_square)


@implements(bend, Isotropic)
def bend_alike(kind: Isotropic, theta: Array, row: int, d: int, j: int) -> float:
    """Return the one curvature."""
    return theta[row, d + 1]  # type: ignore[no-any-return]


@implements(bend, Diagonal)
def bend_each(kind: Diagonal, theta: Array, row: int, d: int, j: int) -> float:
    """Return the coordinate's own curvature."""
    return theta[row, d + 1 + j]  # type: ignore[no-any-return]


@implements(square, Isotropic)
def square_alike(kind: Isotropic, features: Array, q: int, d: int, j: int, u: float) -> None:
    """Add to the one feature of all coordinates."""
    features[q, d + 1] = (features[q, d + 1] if j > 0 else 0.0) + 0.5 * u * u


@implements(square, Diagonal)
def square_each(kind: Diagonal, features: Array, q: int, d: int, j: int, u: float) -> None:
    """Set the coordinate's own feature."""
    features[q, d + 1 + j] = 0.5 * u * u


class Fit(NamedTuple):
    """What to fit, and where to work it out. D rows, p coefficients."""

    kind: Any
    ridge: float
    level_ridge: float
    features: Array
    """Shape (D, p)."""
    inverse: Array
    """Shape (p, p)."""
    theta: Array
    """Coefficients of all rows, of all but one, a row's lever, and of all rows if every answer were one: shape (4, p)."""
    centre: Array
    """Shape (1, d)."""


def empty_fit(name: str, ridge: float, level_ridge: float, rows: int, d: int) -> Fit:
    """Return a model of a kind by name, with nothing worked out yet."""
    p = {"level": 1, "linear": 1 + d, "isotropic": 2 + d, "diagonal": 1 + 2 * d}[name]
    room = (np.empty((rows, p)), np.empty((p, p)), np.zeros((4, p)), np.empty((1, d)))
    return Fit(KINDS[name], ridge, level_ridge, *room)


@inlined
def place(d: int, anchors: Array, delta: float, it: Fit) -> float:
    """Set the centre, and return the scale: both known before any direction was drawn."""
    copies, spread = anchors.shape[0], 0.0
    for j in range(d):
        total = 0.0
        for i in range(copies):
            total += anchors[i, j]
        it.centre[0, j] = total / copies
        for i in range(copies):
            spread += (anchors[i, j] - it.centre[0, j]) ** 2
    return delta + math.sqrt(spread / (copies * d))


@inlined
def fit(t: int, d: int, sphere: Sphere, scale: float, level: float, it: Fit) -> None:
    """Set theta[0] to the coefficients of all rows, and the inverse; `level` is subtracted from every answer."""
    p, A, theta = n_coefficients(it.kind, d), it.inverse, it.theta
    for a in range(p):
        theta[2, a] = 0.0
        for b in range(p):
            A[a, b] = 0.0
        A[a, a] = it.ridge
    A[0, 0] = it.level_ridge
    for q in range(sphere.points.shape[0]):
        it.features[q, 0] = 1.0
        if p > 1:
            for j in range(d):
                u = (sphere.points[q, j] - it.centre[0, j]) / scale
                it.features[q, 1 + j] = u
                square(it.kind, it.features, q, d, j, u)
        if sphere.chosen[t, q]:
            for a in range(p):
                theta[2, a] += it.features[q, a] * (sphere.answers[q, 0] - level)
                for b in range(p):
                    A[a, b] += it.features[q, a] * it.features[q, b]
    invert(p, A)
    for a in range(p):
        theta[0, a] = 0.0
        for b in range(p):
            theta[0, a] += A[a, b] * theta[2, b]


@inlined
def invert(p: int, A: Array) -> None:
    """Invert a positive definite matrix in place, one pivot after the other (Gauss-Jordan)."""
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
def slope_at(it: Fit, row: int, d: int, j: int, scale: float, anchors: Array, i: int) -> float:
    """Return the slope of the model theta[row] along coordinate j at anchors[i], in scaled units."""
    u = (anchors[i, j] - it.centre[0, j]) / scale
    return tilt(it.kind, it.theta, row, j) + bend(it.kind, it.theta, row, d, j) * u  # type: ignore[no-any-return]


class LeaveOneOut(NamedTuple):
    """The control variate of `Surrogate`."""

    fit: Fit
    limit: float
    exactly: bool
    """Whether slopes, too, count by the probability of being asked about."""
    centred: bool
    """Whether answers are fitted less the mean of the others."""
    space: Any
    values: Array
    """Written: q_{-i}(z_i), shape (D,)."""
    slopes: Array
    """Written: ∇q_{-i} at the anchor, shape (D, d)."""


@implements(usual, LeaveOneOut)
def usual_model(control: LeaveOneOut, q: int, answers: Array) -> float:
    """Return what the others' answers predict of this one."""
    return control.values[q]  # type: ignore[no-any-return]


@implements(add_slope, LeaveOneOut)
def add_model_slope(control: LeaveOneOut, q: int, i: int, d: int, share: float, weight: float, G: Array) -> None:
    """Add the slope of the others' model."""
    counts = weight if control.exactly else share
    for j in range(d):
        G[i, j] += counts * control.slopes[q, j]


@implements(remember, LeaveOneOut)
def remember_no_model(control: LeaveOneOut, t: int, asked: int, sphere: Sphere) -> None:
    """Remember nothing: every round has models of its own."""


@implements(prepare, LeaveOneOut)
def leave_each_out(control: LeaveOneOut, t: int, d: int, sphere: Sphere, desk: Desk) -> None:
    """Fit to all answers, then leave each out in turn, and fill values and slopes."""
    it, answers, total = control.fit, sphere.answers, sphere.points.shape[0]
    scale, per_copy = place(d, desk.anchors, sphere.delta, it), total // desk.anchors.shape[0]
    middle = mean_answer(t, sphere.chosen, answers) if control.centred else 0.0
    fit(t, d, sphere, scale, middle, it)
    if control.centred:  # otherwise these coefficients stay zero
        fit_ones(t, d, sphere, it)
    asked, summed = 0, 0.0
    high, second_high, low, second_low = -math.inf, -math.inf, math.inf, math.inf
    for q in range(total):
        if sphere.chosen[t, q]:
            answer = answers[q, 0] - middle
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
        answer, mine = answers[q, 0] - middle, sphere.chosen[t, q]
        others = asked - 1 if mine else asked
        mean = ((summed - answer if mine else summed) / others) if others > 0 else 0.0 - middle
        spread = 0.0
        if others > 0:
            spread = (second_high if mine and answer == high else high) - (
                second_low if mine and answer == low else low
            )
        without(q, d, mine, answer, mean if control.centred else 0.0, it)
        level = 0.0 if control.centred else mean
        strays, value = judge(q, d, i, scale, desk.anchors, sphere.delta, level, control)
        within += 1
        if within == per_copy:
            i, within = i + 1, 0
        kept = control.limit * spread / strays if strays > control.limit * spread else 1.0
        control.values[q] = middle + (mean + kept * (value - level))
        for j in range(d):
            control.slopes[q, j] *= kept / scale
        tangent(control.space, control.slopes, q, d)


@inlined
def mean_answer(t: int, chosen: NDArray[np.bool_], answers: Array) -> float:
    """Return the mean of the answers."""
    total, count = 0.0, 0
    for q in range(chosen.shape[1]):
        if chosen[t, q]:
            total += answers[q, 0]
            count += 1
    return total / max(count, 1)


@inlined
def fit_ones(t: int, d: int, sphere: Sphere, it: Fit) -> None:
    """Set theta[3] to the coefficients that all rows would have if every answer were one."""
    p, theta = n_coefficients(it.kind, d), it.theta
    for a in range(p):
        theta[2, a] = 0.0
    for q in range(sphere.points.shape[0]):
        if sphere.chosen[t, q]:
            for a in range(p):
                theta[2, a] += it.features[q, a]
    for a in range(p):
        theta[3, a] = 0.0
        for b in range(p):
            theta[3, a] += it.inverse[a, b] * theta[2, b]


@inlined
def without(q: int, d: int, mine: bool, answer: float, mean: float, it: Fit) -> None:
    """Set theta[1] to the coefficients that row q had no part in, of the model of the answers less the mean of the others."""
    p, fitted, ones, leverage = n_coefficients(it.kind, d), 0.0, 0.0, 0.0
    for a in range(p):
        lever = 0.0
        for b in range(p):
            lever += it.inverse[a, b] * it.features[q, b]
        it.theta[2, a] = lever
        fitted += it.theta[0, a] * it.features[q, a]
        ones += it.theta[3, a] * it.features[q, a]
        leverage += lever * it.features[q, a]
    surprise = (answer - fitted) / (1.0 - leverage) if mine else 0.0
    one = (1.0 - ones) / (1.0 - leverage) if mine else 0.0
    for a in range(p):
        lever = it.theta[2, a]
        it.theta[1, a] = it.theta[0, a] - lever * surprise - mean * (it.theta[3, a] - lever * one)


@inlined
def judge(
    q: int, d: int, i: int, scale: float, anchors: Array, delta: float, mean: float, control: LeaveOneOut
) -> tuple[float, float]:
    """Fill slopes[q], in scaled units; return how far the model goes from the mean within δ of the anchor, and q(z)."""
    it = control.fit
    value, level, steep, bent = 0.0, it.theta[1, 0], 0.0, 0.0
    for a in range(n_coefficients(it.kind, d)):
        value += it.theta[1, a] * it.features[q, a]
    for j in range(d):
        u, curve = (anchors[i, j] - it.centre[0, j]) / scale, bend(it.kind, it.theta, 1, d, j)
        level += tilt(it.kind, it.theta, 1, j) * u + 0.5 * curve * u * u
        control.slopes[q, j] = slope_at(it, 1, d, j, scale, anchors, i)
        steep += control.slopes[q, j] ** 2
        bent = max(bent, abs(curve))
    reach = delta / scale
    return abs(level - mean) + reach * math.sqrt(steep) + 0.5 * reach * reach * bent, value
