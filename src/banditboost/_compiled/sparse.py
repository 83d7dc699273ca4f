"""The loop for linear learners on sparse contexts, compiled: a round costs a copy as much as its context has non-zeros.

The same algorithm as on dense contexts, in three places written so that no zero is touched:

- Weights are kept as W = scale · V: projecting on the ball changes the scale.
- ‖W‖² is tracked instead of summed: ‖W - s g xᵀ‖² = ‖W‖² - 2 s g·(Wx) + s² ‖g‖² ‖x‖², and R² after a projection. A round adds a
  rounding error of a few times 1e-16 R² and projections never enlarge it, so that after T rounds it is at most T times that.
  Norms are summed anew when a block of rounds begins (4,096 in `evaluate.progressive`) and when scales are multiplied into weights.
- Weights are turned so that those of one feature in all copies lie side by side: a non-zero touches one stretch of memory. Turning
  them there and back is two passes over the weights per block.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import inlined, prefetch, uncounted
from banditboost._core.checks import Array

Indices = NDArray[np.int32]

SMALLEST = 1e-30
"""Below this a scale is multiplied into its weights: far from underflow, and so low that it seldom happens."""


def rounds(W: Array, X: csr_array, rows: NDArray[np.intp], game: Game) -> None:
    """Play len(rows) rounds on the contexts X[rows], canonical CSR; W, shape (N, d, features and intercept), is learned."""
    copies, d, features = W.shape
    intercept = features > X.shape[1]
    indices = X.indices.view(f"u{X.indices.itemsize}")  # what cannot be negative spares a check at every use
    desk, steps, norms = empty_desk(copies, d), np.empty(copies * d), np.einsum("ijk,ijk->i", W, W)
    V = np.array(W.reshape(copies * d, features).T, order="C")
    loop(V, X.data, indices, X.indptr, rows, intercept, game, norms, steps, desk.dots.reshape(-1), desk)
    np.multiply(V.T.reshape(W.shape), desk.scales[:, np.newaxis, np.newaxis], out=W)


@uncounted
def loop(
    V: Array,
    data: Array,
    indices: Indices,
    ends: Indices,
    rows: NDArray[np.intp],
    intercept: bool,
    game: Game,
    norms: Array,
    steps: Array,
    dots: Array,
    desk: Desk,
) -> None:
    """Play, with W = scale · Vᵀ; `norms` are ‖W‖², `dots` is the desk's as one row, `steps` is scratch of that size."""
    for t in range(len(rows)):
        begin, end, ahead = ends[rows[t]], ends[rows[t] + 1], rows[min(t + 2, len(rows) - 1)]
        expect(data, indices, ends[ahead], ends[ahead + 1])
        look(V, data, indices, begin, end, intercept, dots)
        play(t, game, desk)
        length = 1.0 if intercept else 0.0
        for n in range(begin, end):
            length += data[n] * data[n]
        least = plan(length, game.rates[t], game.radius, norms, steps, desk)
        learn(V, data, indices, begin, end, intercept, steps)
        if least < SMALLEST:
            fold(V, norms, desk)


@inlined
def expect(data: Array, indices: Indices, begin: int, end: int) -> None:
    """Ask for the non-zeros begin ... end-1, which are due in a while; a line of memory holds eight numbers or more."""
    for n in range(begin, end, 8):
        prefetch(data, n)
        prefetch(indices, n)
    prefetch(data, end - 1)
    prefetch(indices, end - 1)


@inlined
def look(V: Array, data: Array, indices: Indices, begin: int, end: int, intercept: bool, dots: Array) -> None:
    """Set dots to V·x for every copy, over the non-zeros begin ... end-1."""
    last = V.shape[0] - 1
    for c in range(V.shape[1]):
        dots[c] = V[last, c] if intercept else 0.0
    # Four at a time, since every pass over the sums waits for the one before.
    fours = begin + (end - begin) // 4 * 4
    for n in range(begin, fours, 4):
        k0, k1, k2, k3 = indices[n], indices[n + 1], indices[n + 2], indices[n + 3]
        x0, x1, x2, x3 = data[n], data[n + 1], data[n + 2], data[n + 3]
        for c in range(V.shape[1]):
            dots[c] += x0 * V[k0, c] + x1 * V[k1, c] + x2 * V[k2, c] + x3 * V[k3, c]
    for n in range(fours, end):
        k, x = indices[n], data[n]
        for c in range(V.shape[1]):
            dots[c] += x * V[k, c]


@inlined
def plan(length: float, rate: float, radius: float, norms: Array, steps: Array, desk: Desk) -> float:
    """Set steps to what x, whose squared norm is `length`, is multiplied by to change V, and norms and scales to those after.

    Returns the least scale.
    """
    copies, d = desk.G.shape
    least = 1.0
    for i in range(copies):
        scale, norm = desk.scales[i], norms[i]
        for j in range(d):
            step = rate * desk.G[i, j]
            norm += step * (step * length - 2.0 * scale * desk.dots[i, j])
            steps[i * d + j] = step / scale
        if norm > radius * radius:
            desk.scales[i] *= radius / math.sqrt(norm)
            norm = radius * radius
        norms[i] = norm
        least = min(least, desk.scales[i])
    return least


@inlined
def learn(V: Array, data: Array, indices: Indices, begin: int, end: int, intercept: bool, steps: Array) -> None:
    """V ← V - x stepsᵀ, in the rows where x is not zero."""
    for n in range(begin, end):
        k, x = indices[n], data[n]
        for c in range(V.shape[1]):
            V[k, c] -= x * steps[c]
    if intercept:
        last = V.shape[0] - 1
        for c in range(V.shape[1]):
            V[last, c] -= steps[c]


@inlined
def fold(V: Array, norms: Array, desk: Desk) -> None:
    """Multiply scales into their weights, before they get lost in their size, and sum the norms anew."""
    copies, d = desk.G.shape
    for i in range(copies):
        norms[i] = 0.0
    for k in range(V.shape[0]):
        for i in range(copies):
            for j in range(d):
                w = desk.scales[i] * V[k, i * d + j]
                V[k, i * d + j] = w
                norms[i] += w * w
    for i in range(copies):
        desk.scales[i] = 1.0
