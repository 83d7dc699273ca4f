"""Many runs over the same rounds, side by side, compiled: linear copies, decisions that are numbers.

Column c = i·R + r is copy i of replica r, so that one instruction serves several replicas. A copy's weights are kept as
W = scale · V with V turned, shape (features, columns); ‖W‖² is tracked, as in `sparse.py`, so that no round sums over weights.

In a block of B rounds the weights need not be touched at all. With P = X V the plays of a round are what the block began with, less
what was learned since:

    W_t·x_t = scale (P_t - Σ_{u<t} (x_t·x_u) A_u)          A_u: what round u subtracts along x_u

One Gram matrix X Xᵀ serves all replicas, and the weights learn in one product, V ← V - Xᵀ A. On sparse contexts, or few features,
plays and updates are made directly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.sparse import csr_array

from banditboost._compiled.chains import mix
from banditboost._compiled.gradients import one_point
from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.losses import slope, value_on_the_line
from banditboost._compiled.round import corrected_on_the_line
from banditboost._core.checks import Array

BLOCK = 64
"""Rounds that share one Gram matrix."""
FEW = 40
"""Up to so many features, plays are summed directly."""


class Rules(NamedTuple):
    """What R replicas of N copies are told to do for T rounds, and where their traces go."""

    labels: Array
    """Shape (T, 1)."""
    directions: Array
    """Shape (T, N·q), 1 or -1; empty for gradients that are told."""
    noise: Array
    """Shape (T, N·q) for values, (T, N) for gradients that are told, or empty where those are not blurred."""
    queries: int
    """q: directions per copy."""
    rates: Array
    """Shape (T, R)."""
    steps: Array
    """The chain's, shape (N,)."""
    single: bool
    inside: bool
    given: bool
    """Whether gradients are given, so that nothing is estimated."""
    loss: Any
    low: float
    high: float
    """Ends of the space."""
    numbers: Array
    """Shape (7, R): start of the chain, what multiplies W·x, radius, ends of the ground, δ, d/δ."""
    predictions: Array
    losses: Array
    paid: Array
    """Written, each of shape (T, R)."""


START, SCALE, RADIUS, LOW, HIGH, DELTA, FACTOR = range(7)


class Bench(NamedTuple):
    """What a round is worked out on: rows of one number per column."""

    scales: Array
    norms: Array
    """‖W‖²."""
    wished: Array
    plays: Array
    anchors: Array
    points: Array
    values: Array
    G: Array
    """Shapes (C,); those of points, values and G are (C, 1), as losses read them."""
    reached: Array
    """Shape (R,)."""
    room: Array
    """Shape (1, 1)."""


def empty_bench(V: Array, replicas: int) -> Bench:
    """Scales are 1, norms those of V."""
    columns = V.shape[1]
    wished, plays, anchors = (np.empty(columns, V.dtype) for _ in range(3))
    points, values, G = (np.empty((columns, 1), V.dtype) for _ in range(3))
    norms, reached = np.einsum("kc,kc->c", V, V), np.empty(replicas, V.dtype)
    room = np.empty((1, 1), V.dtype)
    return Bench(np.ones(columns, V.dtype), norms, wished, plays, anchors, points, values, G, reached, room)


def dense_rounds(V: Array, X: Array, intercept: bool, rules: Rules) -> None:
    """Play len(X) rounds; V, shape (features and intercept, N·R), is learned in place."""
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    X = np.ascontiguousarray(X, dtype=V.dtype)
    bench, columns = empty_bench(V, rules.numbers.shape[1]), V.shape[1]
    lengths = np.einsum("tk,tk->t", X, X)
    if X.shape[1] <= FEW:
        dots, steps = np.empty((1, columns), V.dtype), np.empty((1, columns), V.dtype)
        few_rounds(V, X, lengths, dots, steps, smallest(V), rules, bench)
    else:
        multiply: Any = blas.dgemm if V.dtype == np.float64 else blas.sgemm
        A = np.empty((BLOCK, columns), V.dtype)
        for begin in range(0, len(X), BLOCK):
            rows = X[begin : begin + BLOCK]
            # BLAS thinks in columns: what it sees as (C, p) is V turned, without a copy.
            P, gram = multiply(1.0, V.T, rows.T).T, multiply(1.0, rows.T, rows.T, trans_a=True)
            kept = np.ones(columns, V.dtype)
            gram_rounds(begin, P, gram, lengths, A, kept, smallest(V), rules, bench)
            if kept.min() < 1.0:
                V *= kept
            multiply(-1.0, A[: len(rows)].T, rows.T, beta=1.0, c=V.T, trans_b=True, overwrite_c=True)
    V *= bench.scales


def sparse_rounds(V: Array, X: csr_array, rows: NDArray[np.intp], intercept: bool, rules: Rules) -> None:
    """Play len(rows) rounds on the contexts X[rows], canonical CSR."""
    bench, columns = empty_bench(V, rules.numbers.shape[1]), V.shape[1]
    dots, steps = np.empty((1, columns), V.dtype), np.empty((1, columns), V.dtype)
    indices = X.indices.view(f"u{X.indices.itemsize}")
    touched_rounds(V, X.data, indices, X.indptr, rows, intercept, dots, steps, smallest(V), rules, bench)
    V *= bench.scales


def smallest(V: Array) -> float:
    """Return the scale below which it is multiplied into its weights: far from underflow, and so low that it seldom happens."""
    return 1e-100 if V.dtype == np.float64 else 1e-12


@loop
def gram_rounds(
    begin: int,
    P: Array,
    gram: Array,
    lengths: Array,
    A: Array,
    kept: Array,
    smallest: float,
    rules: Rules,
    bench: Bench,
) -> None:
    """Play a block: P, shape (B, C), are the plays of weights as the block began; A is filled with what they learn.

    Weights are to be multiplied by `kept` before they learn it.
    """
    columns = P.shape[1]
    for t in range(P.shape[0]):
        # Four at a time, since every pass over the sums waits for the one before.
        fours = t // 4 * 4
        for u in range(0, fours, 4):
            k0, k1, k2, k3 = gram[t, u], gram[t, u + 1], gram[t, u + 2], gram[t, u + 3]
            for c in range(columns):
                P[t, c] -= k0 * A[u, c] + k1 * A[u + 1, c] + k2 * A[u + 2, c] + k3 * A[u + 3, c]
        for u in range(fours, t):
            k0 = gram[t, u]
            for c in range(columns):
                P[t, c] -= k0 * A[u, c]
        play(begin + t, P, t, rules, bench)
        least = learn(begin + t, lengths[begin + t], P, A, t, rules, bench)
        if least < smallest:
            fold_block(t, smallest, P, A, kept, bench)


@inlined
def fold_block(t: int, smallest: float, P: Array, A: Array, kept: Array, bench: Bench) -> None:
    """Multiply small scales into all that stands for their weights in round t of a block."""
    for c in range(len(kept)):
        scale = bench.scales[c]
        if scale < smallest:
            for u in range(P.shape[0]):
                P[u, c] *= scale
            for u in range(t + 1):
                A[u, c] *= scale
            kept[c] *= scale
            bench.scales[c] = 1.0


@loop
def few_rounds(
    V: Array,
    X: Array,
    lengths: Array,
    dots: Array,
    steps: Array,
    smallest: float,
    rules: Rules,
    bench: Bench,
) -> None:
    """Play with plays and updates made directly."""
    columns = V.shape[1]
    for t in range(X.shape[0]):
        for c in range(columns):
            dots[0, c] = 0.0
        for k in range(V.shape[0]):
            x = X[t, k]
            for c in range(columns):
                dots[0, c] += x * V[k, c]
        play(t, dots, 0, rules, bench)
        least = learn(t, lengths[t], dots, steps, 0, rules, bench)
        for k in range(V.shape[0]):
            x = X[t, k]
            for c in range(columns):
                V[k, c] -= x * steps[0, c]
        if least < smallest:
            fold(V, bench)


@loop
def touched_rounds(
    V: Array,
    data: Array,
    indices: NDArray[np.uint32],
    ends: NDArray[np.int32],
    rows: NDArray[np.intp],
    intercept: bool,
    dots: Array,
    steps: Array,
    smallest: float,
    rules: Rules,
    bench: Bench,
) -> None:
    """Play on sparse contexts: a round touches the weights of its non-zeros."""
    columns, last = V.shape[1], V.shape[0] - 1
    for t in range(len(rows)):
        begin, end = ends[rows[t]], ends[rows[t] + 1]
        length = 1.0 if intercept else 0.0
        for c in range(columns):
            dots[0, c] = V[last, c] if intercept else 0.0
        for n in range(begin, end):
            k, x = indices[n], data[n]
            length += x * x
            for c in range(columns):
                dots[0, c] += x * V[k, c]
        play(t, dots, 0, rules, bench)
        least = learn(t, length, dots, steps, 0, rules, bench)
        for n in range(begin, end):
            k, x = indices[n], data[n]
            for c in range(columns):
                V[k, c] -= x * steps[0, c]
        if intercept:
            for c in range(columns):
                V[last, c] -= steps[0, c]
        if least < smallest:
            fold(V, bench)


@inlined
def fold(V: Array, bench: Bench) -> None:
    """Multiply all scales into their weights, and sum the norms anew."""
    for c in range(V.shape[1]):
        bench.norms[c] = 0.0
    for k in range(V.shape[0]):
        for c in range(V.shape[1]):
            w = bench.scales[c] * V[k, c]
            V[k, c] = w
            bench.norms[c] += w * w
    for c in range(V.shape[1]):
        bench.scales[c] = 1.0


@inlined
def play(t: int, dots: Array, row: int, rules: Rules, bench: Bench) -> None:
    """Play round t: from V·x in dots[row] to the trace and to bench.G."""
    replicas, copies, numbers = rules.numbers.shape[1], len(rules.steps), rules.numbers
    for r in range(replicas):
        bench.reached[r] = numbers[START, r]
    for i in range(copies):
        step = rules.steps[i]
        for r in range(replicas):
            c = i * replicas + r
            wish = numbers[SCALE, r] * bench.scales[c] * dots[row, c]
            played = min(max(wish, numbers[LOW, r]), numbers[HIGH, r]) if rules.inside else wish
            bench.wished[c], bench.plays[c] = wish, played
            bench.anchors[c] = played if rules.single else bench.reached[r]
            bench.reached[r] = mix(bench.reached[r], step, played)
    for r in range(replicas):
        y = bench.reached[r] if rules.inside else min(max(bench.reached[r], rules.low), rules.high)
        rules.predictions[t, r], bench.points[r, 0] = y, y
    weigh(t, replicas, rules, bench)
    for r in range(replicas):
        rules.losses[t, r], rules.paid[t, r] = bench.values[r, 0], 0.0
    if rules.given:
        take(t, rules, bench)
    else:
        estimate(t, rules, bench)


@inlined
def weigh(t: int, total: int, rules: Rules, bench: Bench) -> None:
    """Fill in the losses of the first points."""
    for c in range(total):
        bench.values[c, 0] = value_on_the_line(rules.loss, bench.points[c, 0], rules.labels, t, bench.room)


@inlined
def take(t: int, rules: Rules, bench: Bench) -> None:
    """Gradients at the anchors, blurred where there is noise."""
    replicas, copies = rules.numbers.shape[1], len(rules.steps)
    for c in range(copies * replicas):
        bench.points[c, 0] = bench.anchors[c]
    weigh(t, copies * replicas, rules, bench)
    for i in range(copies):
        blur = rules.noise[t, i] if len(rules.noise) > 0 else 0.0
        for r in range(replicas):
            c = i * replicas + r
            rules.paid[t, r] += bench.values[c, 0] / copies
            slope(rules.loss, bench.points, c, rules.labels, t, 1, bench.G)
            bench.G[c, 0] += blur


@inlined
def estimate(t: int, rules: Rules, bench: Bench) -> None:
    """Gradients from the blurred losses of points about the anchors."""
    replicas, copies, numbers = rules.numbers.shape[1], len(rules.steps), rules.numbers
    share = 1.0 / rules.queries
    for c in range(copies * replicas):
        bench.G[c, 0] = 0.0
    for q in range(rules.queries):
        for i in range(copies):
            v = rules.directions[t, i * rules.queries + q]
            for r in range(replicas):
                bench.points[i * replicas + r, 0] = bench.anchors[i * replicas + r] + v * numbers[DELTA, r]
        weigh(t, copies * replicas, rules, bench)
        for i in range(copies):
            v, blur = rules.directions[t, i * rules.queries + q], rules.noise[t, i * rules.queries + q]
            for r in range(replicas):
                c = i * replicas + r
                rules.paid[t, r] += bench.values[c, 0] * share / copies
                bench.G[c, 0] += one_point(share * numbers[FACTOR, r], bench.values[c, 0] + blur, v)


@inlined
def learn(t: int, length: float, dots: Array, steps: Array, row: int, rules: Rules, bench: Bench) -> float:
    """Fill steps[row] with what x, whose squared norm is `length`, is multiplied by to change V; norms and scales are those after.

    Returns the least scale.
    """
    replicas, copies, numbers, least = rules.numbers.shape[1], len(rules.steps), rules.numbers, 1.0
    for i in range(copies):
        for r in range(replicas):
            c = i * replicas + r
            g = bench.G[c, 0]
            if rules.inside:
                g = corrected_on_the_line(g, bench.wished[c] - bench.plays[c])
            step = rules.rates[t, r] * g
            norm = bench.norms[c] + step * (step * length - 2.0 * bench.scales[c] * dots[row, c])
            steps[row, c] = step / bench.scales[c]
            radius = numbers[RADIUS, r]
            over = norm > radius * radius
            bench.scales[c] *= radius / math.sqrt(norm) if over else 1.0
            bench.norms[c] = radius * radius if over else norm
            least = min(least, bench.scales[c])
    return least
