"""The whole loop for linear learners, compiled: the same trajectory as the plain path, a hundred times as fast.

Random numbers, rates and steps come in as arrays that the plain path's own parts have drawn, so that nothing random and no
schedule is written twice. What is left is arithmetic: plays, chain, queries, answers, gradients, updates.
"""

from __future__ import annotations

import math

import numpy as np

from banditboost.kernels.jit import compiled, inlined
from banditboost.kernels.losses import gradient, value
from banditboost.require import Array

BOX, BALL = range(2)
EXACT, SPHERE = range(2)


@inlined
def project(code: int, low: Array, high: Array, radius: float, points: Array, i: int, out: Array, t: int) -> None:
    """Project points[i] on a box [low, high], or on the ball of that radius about `low`, into out[t]."""
    d = points.shape[1]
    if code == BOX:
        for j in range(d):
            out[t, j] = min(max(points[i, j], low[j]), high[j])
        return
    total = 0.0
    for j in range(d):
        total += (points[i, j] - low[j]) ** 2
    outside = total > radius * radius
    scale = radius / math.sqrt(total) if outside else 1.0
    for j in range(d):
        out[t, j] = low[j] + scale * (points[i, j] - low[j]) if outside else points[i, j]


@inlined
def correct(G: Array, wished: Array, played: Array, i: int) -> None:
    """Take from G[i] its part along the projection, where it pushes further out (`banditboost.booster.corrected`)."""
    total, along = 0.0, 0.0
    for j in range(G.shape[1]):
        away = wished[i, j] - played[i, j]
        total += away * away
        along += G[i, j] * away
    if total > 0.0 and along < 0.0:
        for j in range(G.shape[1]):
            G[i, j] -= along / total * (wished[i, j] - played[i, j])


@compiled
def learn(V: Array, scales: Array, dots: Array, X: Array, t: int, G: Array, rate: float, radius: float) -> None:
    """W[i] ← Π_R(W[i] - rate G[i] X[t]ᵀ) and dots[i] ← V[i]·X[t+1] for every copy, in one pass over the weights.

    A copy's weights are kept as W[i] = scales[i] V[i], so that projecting on the ball changes one number.
    """
    following = min(t + 1, X.shape[0] - 1)
    for i in range(V.shape[0]):
        rescaled, total = rate / scales[i], 0.0
        for j in range(V.shape[1]):
            step, dot = rescaled * G[i, j], 0.0
            for k in range(V.shape[2]):
                v = V[i, j, k] - step * X[t, k]
                V[i, j, k] = v
                total += v * v
                dot += v * X[following, k]
            dots[i, j] = dot
        if scales[i] * scales[i] * total > radius * radius:
            scales[i] = radius / math.sqrt(total)
    for i in range(V.shape[0]):
        if scales[i] < 1e-6:
            fold(V, scales, i)
            for j in range(V.shape[1]):
                dots[i, j] = dot_product(V, i, j, X, following)


@inlined
def fold(V: Array, scales: Array, i: int) -> None:
    """Multiply a copy's scale into its weights."""
    for j in range(V.shape[1]):
        for k in range(V.shape[2]):
            V[i, j, k] *= scales[i]
    scales[i] = 1.0


@inlined
def dot_product(V: Array, i: int, j: int, X: Array, t: int) -> float:
    """V[i, j]·X[t]."""
    total = 0.0
    for k in range(V.shape[2]):
        total += V[i, j, k] * X[t, k]
    return total


@compiled
def rounds(
    W: Array,
    X: Array,
    labels: Array,
    directions: Array,
    noise: Array,
    rates: Array,
    steps: Array,
    start: Array,
    single: bool,
    scale: float,
    weight_radius: float,
    space: int,
    space_low: Array,
    space_high: Array,
    space_radius: float,
    inside: bool,
    ground_low: Array,
    ground_high: Array,
    ground_radius: float,
    loss: int,
    loss_parameter: float,
    estimator: int,
    delta: float,
    factor: float,
    predictions: Array,
    losses: Array,
    asked: Array,
) -> None:
    """Play len(X) rounds: W is learned in place; predictions, their losses and the mean loss at the queries are written.

    Shapes: W (N, d, p), X (T, p), labels (T, d), directions (T, M, d), noise (T, M) for the sphere and (T, N, d) or empty
    for gradients, rates (T,), steps (N,), start (d,). `scale` multiplies W·x to give plays (a learner's γ over the chain's), and
    `factor` is d/δ divided by the queries per copy.
    """
    copies, d, _ = W.shape
    per_copy = directions.shape[1] // copies
    noisy = noise.shape[0] > 0
    wished, plays, G = np.empty((copies, d)), np.empty((copies, d)), np.empty((copies, d))
    anchors, point, query = np.empty((copies, d)), np.empty((1, d)), np.empty((1, d))
    scales, dots = np.ones(copies), np.empty((copies, d))
    for i in range(copies):
        for j in range(d):
            dots[i, j] = dot_product(W, i, j, X, 0)
    for t in range(X.shape[0]):
        for i in range(copies):
            for j in range(d):
                wished[i, j] = scale * scales[i] * dots[i, j]
                plays[i, j] = wished[i, j]
            if inside:
                project(space, ground_low, ground_high, ground_radius, wished, i, plays, i)
        for j in range(d):
            y = start[j]
            for i in range(copies):
                anchors[i, j] = plays[i, j] if single else y
                y = (1.0 - steps[i]) * y + steps[i] * plays[i, j]
            point[0, j] = y
            predictions[t, j] = y
        if not inside:
            project(space, space_low, space_high, space_radius, point, 0, predictions, t)
        losses[t] = value(loss, loss_parameter, predictions, t, labels, t)
        charged = 0.0
        for i in range(copies):
            if estimator == EXACT:
                charged += value(loss, loss_parameter, anchors, i, labels, t)
                gradient(loss, loss_parameter, anchors, i, labels, t, G)
                if noisy:
                    for j in range(d):
                        G[i, j] += noise[t, i, j]
            else:
                for j in range(d):
                    G[i, j] = 0.0
                for q in range(i * per_copy, (i + 1) * per_copy):
                    for j in range(d):
                        query[0, j] = anchors[i, j] + delta * directions[t, q, j]
                    truth = value(loss, loss_parameter, query, 0, labels, t)
                    charged += truth
                    for j in range(d):
                        G[i, j] += factor * (truth + noise[t, q, 0]) * directions[t, q, j]
            if inside:
                correct(G, wished, plays, i)
        asked[t] = charged / (copies if estimator == EXACT else copies * per_copy)
        learn(W, scales, dots, X, t, G, rates[t], weight_radius)
    for i in range(copies):
        fold(W, scales, i)
