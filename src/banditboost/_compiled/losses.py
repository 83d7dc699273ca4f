"""What the world charges, compiled: the same formulas as `banditboost.losses`.

Functions take whole arrays and a row instead of the row itself: making a view costs more than the arithmetic on it. They are given
the number of coordinates d, since a d that the compiler knows (1, nearly always) makes every loop over coordinates disappear.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.jit import inlined
from banditboost._compiled.lanes import ABREAST, add, load, spread, store, times
from banditboost._core.checks import Array


@operation
def value(loss: Any, points: Array, i: int, labels: Array, t: int, d: int) -> float:  # type: ignore[empty-body]
    """Return the loss of points[i] against labels[t]."""


@operation
def slope(loss: Any, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write the gradient at points[i] against labels[t] to out[i]."""


def _by_value(loss: Any, point: float, labels: Array, t: int, room: Array) -> float:
    """Put the number into a row and ask for the value of that."""
    room[0, 0] = point
    return value(loss, room, 0, labels, t, 1)


def value_on_the_line(loss: Any, point: float, labels: Array, t: int, room: Array) -> float:  # type: ignore[empty-body]
    """Return the loss of a single number against labels[t]: `value` for d = 1, without a row that a loop would have to write.

    A loss need not implement it; `room`, shape (1, 1), is what `value` is asked about then.
    """


value_on_the_line = operation(value_on_the_line, otherwise=_by_value)


def _one_by_one(loss: Any, points: Array, begin: int, end: int, labels: Array, t: int, room: Array) -> None:
    """Replace one after the other."""
    for i in range(begin, end):
        points[i, 0] = value_on_the_line(loss, points[i, 0], labels, t, room)


def values_abreast(loss: Any, points: Array, begin: int, end: int, labels: Array, t: int, room: Array) -> None:
    """Replace points[begin:end], single numbers and no more than lanes, by their losses against labels[t].

    A loss need not implement it. Where it does, it may write behind the end as far as lanes reach.
    """


values_abreast = operation(values_abreast, otherwise=_one_by_one)


@inlined
def distance(points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Return the Euclidean distance of points[i] from labels[t]."""
    total = 0.0
    for j in range(d):
        total += (points[i, j] - labels[t, j]) ** 2
    return math.sqrt(total)


@inlined
def away(scale: float, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write a multiple of points[i] - labels[t] to out[i]."""
    for j in range(d):
        out[i, j] = scale * (points[i, j] - labels[t, j])


@operation
def term(loss: Any, point: float, label: float) -> float:  # type: ignore[empty-body]
    """Return what one coordinate adds to a loss that is a sum over coordinates."""


@operation
def radial(loss: Any, r: float) -> float:  # type: ignore[empty-body]
    """Return a loss that depends on the distance alone, at distance r."""


def _sum_of_terms(loss: Any, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Add up the terms of all coordinates."""
    total = 0.0
    for j in range(d):
        total += term(loss, points[i, j], labels[t, j])
    return total


def _one_term(loss: Any, point: float, labels: Array, t: int, room: Array) -> float:
    """Return the only term."""
    return term(loss, point, labels[t, 0])


def _of_distance(loss: Any, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Return the loss of the Euclidean distance."""
    return radial(loss, distance(points, i, labels, t, d))


def _of_difference(loss: Any, point: float, labels: Array, t: int, room: Array) -> float:
    """Return the loss of the distance on the line."""
    return radial(loss, abs(point - labels[t, 0]))


class Squared(NamedTuple):
    """A multiple of the squared distance; half of it is the Euclidean divergence."""

    factor: float


@implements(term, Squared)
def squared(loss: Squared, point: float, label: float) -> float:
    """Return factor · (ŷ - y)²."""
    return loss.factor * (point - label) * (point - label)


@implements(values_abreast, Squared)
def squared_abreast(loss: Squared, points: Array, begin: int, end: int, labels: Array, t: int, room: Array) -> None:
    """Replace them by factor · (ŷ - y)²."""
    off = add(load(ABREAST, points, begin), spread(ABREAST, -labels[t, 0]))
    store(points, begin, times(times(spread(ABREAST, loss.factor), off), off))


@implements(slope, Squared)
def squared_slope(loss: Squared, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write 2 · factor · (ŷ - y)."""
    away(2.0 * loss.factor, points, i, labels, t, d, out)


class Absolute(NamedTuple):
    """The Euclidean distance."""


@implements(radial, Absolute)
def absolute(loss: Absolute, r: float) -> float:
    """Return the distance itself."""
    return r


@implements(slope, Absolute)
def absolute_slope(loss: Absolute, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write the unit vector from the label to the point; zero at the label."""
    r = distance(points, i, labels, t, d)
    away(1.0 / r if r > 0 else 0.0, points, i, labels, t, d, out)


class Huber(NamedTuple):
    """Huber's loss of the distance."""

    threshold: float


@implements(radial, Huber)
def huber(loss: Huber, r: float) -> float:
    """Return r²/2 up to the threshold k, k(r - k/2) beyond it."""
    k = loss.threshold
    return 0.5 * r * r if r <= k else k * (r - 0.5 * k)


@implements(slope, Huber)
def huber_slope(loss: Huber, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write ŷ - y, cut to length k."""
    r = distance(points, i, labels, t, d)
    away(loss.threshold / r if r > loss.threshold else 1.0, points, i, labels, t, d, out)


class Logistic(NamedTuple):
    """The logistic loss of labels in [-1, 1], summed over coordinates."""


@implements(term, Logistic)
def logistic(loss: Logistic, point: float, label: float) -> float:
    """Return log(1 + exp(-y ŷ))."""
    margin = label * point
    return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))


@implements(slope, Logistic)
def logistic_slope(loss: Logistic, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write -y / (1 + exp(y ŷ)), in a form whose exponential never overflows."""
    for j in range(d):
        label, margin = labels[t, j], labels[t, j] * points[i, j]
        tail = math.exp(-abs(margin))
        out[i, j] = -label * (tail if margin > 0 else 1.0) / (1.0 + tail)


class Quantile(NamedTuple):
    """The quantile loss, summed over coordinates."""

    level: float


@implements(term, Quantile)
def quantile(loss: Quantile, point: float, label: float) -> float:
    """Return max(τ(y - ŷ), (τ - 1)(y - ŷ))."""
    short = label - point
    return max(loss.level * short, (loss.level - 1.0) * short)


@implements(slope, Quantile)
def quantile_slope(loss: Quantile, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write -τ below the label, 1 - τ above it, 0 on it."""
    for j in range(d):
        point, label = points[i, j], labels[t, j]
        out[i, j] = -loss.level if point < label else (1.0 - loss.level if point > label else 0.0)


class Entropy(NamedTuple):
    """The generalised Kullback-Leibler divergence, which goes on as its tangent below the floor."""

    floor: float


@implements(term, Entropy)
def entropy(loss: Entropy, point: float, label: float) -> float:
    """Return y log(y/ŷ) - y + ŷ, with ŷ held at the floor and a line below it."""
    held = max(point, loss.floor)
    log_term = label * math.log(label / held) if label > 0 else 0.0
    return log_term - label + held + (1.0 - label / loss.floor) * min(point - loss.floor, 0.0)


@implements(slope, Entropy)
def entropy_slope(loss: Entropy, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write 1 - y/ŷ, with ŷ held at the floor."""
    for j in range(d):
        out[i, j] = 1.0 - labels[t, j] / max(points[i, j], loss.floor)


class Sale(NamedTuple):
    """The loss of prices against the willingness to pay, summed over coordinates."""


@implements(term, Sale)
def sale(loss: Sale, point: float, label: float) -> float:
    """Return minus the price if it is paid."""
    return -point if point <= label else 0.0


@implements(slope, Sale)
def sale_slope(loss: Sale, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write -1 for a price that is paid, 0 for one that is not."""
    for j in range(d):
        out[i, j] = -1.0 if points[i, j] <= labels[t, j] else 0.0


for _form in (Squared, Logistic, Quantile, Entropy, Sale):
    implements(value, _form)(_sum_of_terms)
    implements(value_on_the_line, _form)(_one_term)
for _form in (Absolute, Huber):  # type: ignore[assignment]
    implements(value, _form)(_of_distance)
    implements(value_on_the_line, _form)(_of_difference)


class OfProduct(NamedTuple):
    """A loss of w·x as a loss of the weights w (`worlds.WeightSpace`)."""

    loss: Any
    contexts: Array
    """Shape (T, p), the constant included."""
    products: Array
    """Scratch, shape (1, 1)."""
    slopes: Array
    """Scratch, shape (1, 1)."""


@inlined
def multiply(loss: OfProduct, points: Array, i: int, t: int, d: int) -> None:
    """Set the scratch to points[i] · x_t."""
    total = 0.0
    for k in range(d):
        total += points[i, k] * loss.contexts[t, k]
    loss.products[0, 0] = total


@implements(value, OfProduct)
def of_product(loss: OfProduct, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Return ℓ(w·x, y)."""
    multiply(loss, points, i, t, d)
    return value(loss.loss, loss.products, 0, labels, t, 1)


@implements(slope, OfProduct)
def of_product_slope(loss: OfProduct, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write ℓ'(w·x, y) x."""
    multiply(loss, points, i, t, d)
    slope(loss.loss, loss.products, 0, labels, t, 1, loss.slopes)
    for k in range(d):
        out[i, k] = loss.slopes[0, 0] * loss.contexts[t, k]
