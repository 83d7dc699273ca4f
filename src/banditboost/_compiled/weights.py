"""Rounds in which the decision is a weight vector: copies that descend on a ball, asked about w·x, compiled.

Decisions have as many coordinates as there are features, so that a round costs N·p and most of it is spent on random
directions, which the plain path's own space has drawn.
"""

from __future__ import annotations

import math

import numpy as np

from banditboost._compiled.jit import compiled
from banditboost._compiled.losses import value
from banditboost._core.checks import Array


@compiled
def rounds(
    points: Array,
    X: Array,
    labels: Array,
    directions: Array,
    noise: Array,
    rates: Array,
    steps: Array,
    start: Array,
    single: bool,
    center: Array,
    radius: float,
    loss: int,
    parameter: float,
    delta: float,
    factor: float,
    predictions: Array,
    losses: Array,
    asked: Array,
) -> None:
    """Play len(X) rounds; points, shape (N, p), are learned in place.

    X is (T, p) with the constant appended, labels (T, 1), directions (T, N, q, p), noise (T, N, q). Copies descend on the
    ball of `radius` about the centre, so that the chain stays in it.
    """
    copies, p = points.shape
    q = directions.shape[2]
    here, G, at = np.empty(p), np.empty((copies, p)), np.empty((1, 1))
    for t in range(X.shape[0]):
        here[:] = start
        charged = 0.0
        for i in range(copies):
            if single:
                here[:] = points[i]
            dot, G[i] = 0.0, 0.0
            for k in range(p):
                dot += here[k] * X[t, k]
            for r in range(q):
                along = 0.0
                for k in range(p):
                    along += directions[t, i, r, k] * X[t, k]
                at[0, 0] = dot + delta * along
                truth = value(loss, parameter, at, 0, labels, t, 1)
                charged += truth
                weight = factor * (truth + noise[t, i, r])
                for k in range(p):
                    G[i, k] += weight * directions[t, i, r, k]
            if not single:
                for k in range(p):
                    here[k] = (1.0 - steps[i]) * here[k] + steps[i] * points[i, k]
        predictions[t] = here
        at[0, 0] = 0.0
        for k in range(p):
            at[0, 0] += here[k] * X[t, k]
        losses[t] = value(loss, parameter, at, 0, labels, t, 1)
        asked[t] = charged / (copies * q)
        for i in range(copies):
            for k in range(p):
                points[i, k] -= rates[t] * G[i, k]
            back(points[i], center, radius)


@compiled
def back(point: Array, center: Array, radius: float) -> None:
    """Project a point on the ball, in place."""
    total = 0.0
    for k in range(len(point)):
        total += (point[k] - center[k]) ** 2
    if total > radius * radius:
        scale = radius / math.sqrt(total)
        for k in range(len(point)):
            point[k] = center[k] + scale * (point[k] - center[k])
