"""Losses by number, for compiled loops: the same formulas as `banditboost.losses`.

Functions take whole arrays and a row instead of the row itself: making a view costs more than the arithmetic on it. They are told
the number of coordinates d, since a d that the compiler knows (1, nearly always) makes every loop over coordinates disappear.
"""

from __future__ import annotations

import math

from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array

SQUARED, ABSOLUTE, HUBER, LOGISTIC, QUANTILE, EUCLIDEAN, ENTROPY = range(7)


@inlined
def squared_distance(points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Squared Euclidean distance of points[i] from labels[t]."""
    total = 0.0
    for j in range(d):
        total += (points[i, j] - labels[t, j]) ** 2
    return total


@inlined
def value(code: int, parameter: float, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Loss of points[i] against labels[t]."""
    if code == SQUARED:
        return squared_distance(points, i, labels, t, d)
    if code == EUCLIDEAN:
        return 0.5 * squared_distance(points, i, labels, t, d)
    if code == ABSOLUTE:
        return math.sqrt(squared_distance(points, i, labels, t, d))
    if code == HUBER:
        r = math.sqrt(squared_distance(points, i, labels, t, d))
        return 0.5 * r * r if r <= parameter else parameter * (r - 0.5 * parameter)
    total = 0.0
    for j in range(d):
        point, label = points[i, j], labels[t, j]
        if code == LOGISTIC:
            margin = label * point
            total += max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
        elif code == QUANTILE:
            short = label - point
            total += max(parameter * short, (parameter - 1.0) * short)
        else:
            held = max(point, parameter)
            term = label * math.log(label / held) if label > 0 else 0.0
            total += term - label + held + (1.0 - label / parameter) * min(point - parameter, 0.0)
    return total


@inlined
def gradient(code: int, parameter: float, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Gradient at points[i] against labels[t], written to out[i]."""
    scale = 1.0
    if code == SQUARED:
        scale = 2.0
    elif code == ABSOLUTE:
        r = math.sqrt(squared_distance(points, i, labels, t, d))
        scale = 1.0 / r if r > 0 else 0.0
    elif code == HUBER:
        r = math.sqrt(squared_distance(points, i, labels, t, d))
        scale = parameter / r if r > parameter else 1.0
    for j in range(d):
        point, label = points[i, j], labels[t, j]
        if code == LOGISTIC:
            # Written so that the exponential never overflows.
            tail = math.exp(-abs(label * point))
            out[i, j] = -label * (tail if label * point > 0 else 1.0) / (1.0 + tail)
        elif code == QUANTILE:
            out[i, j] = -parameter if point < label else (1.0 - parameter if point > label else 0.0)
        elif code == ENTROPY:
            out[i, j] = 1.0 - label / max(point, parameter)
        else:
            out[i, j] = scale * (point - label)
