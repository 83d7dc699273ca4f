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
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import inlined, prefetch
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array

Indices = NDArray[np.int32]

SMALLEST = 1e-30
"""Below this a scale is multiplied into its weights: far from underflow, and so low that it seldom happens."""


class SparseLinear(NamedTuple):
    """Weights W = scale · Vᵀ, one column of V for every copy and coordinate."""

    V: Array
    """Learned, shape (features and intercept, N·d)."""
    scales: Array
    """Learned, shape (N,)."""
    norms: Array
    """‖W‖² of every copy, shape (N,)."""
    data: Array
    indices: Indices
    ends: Indices
    """The contexts, canonical CSR."""
    rows: NDArray[np.intp]
    """Which contexts are the rounds, shape (T,)."""
    intercept: bool
    rates: Array
    """Shape (T,)."""
    radius: float
    dots: Array
    """Scratch: V·x, shape (N·d,)."""
    steps: Array
    """Scratch: what x is multiplied by to change V, shape (N·d,)."""


def form(W: Array, X: csr_array, rows: NDArray[np.intp], rates: Array, radius: float) -> SparseLinear:
    """Return copies that are about to play on the contexts X[rows]; `collect` brings back what they have learned."""
    copies, d, features = W.shape
    indices = X.indices.view(f"u{X.indices.itemsize}")  # what cannot be negative spares a check at every use
    V = np.array(W.reshape(copies * d, features).T, order="C")
    norms, room = np.einsum("ijk,ijk->i", W, W), (np.empty(copies * d), np.empty(copies * d))
    data, places, ends = cast("tuple[Array, Indices, Indices]", (X.data, indices, X.indptr))
    return SparseLinear(
        V, np.ones(copies), norms, data, places, ends, rows, features > X.shape[1], rates, radius, *room
    )


def collect(bank: SparseLinear, W: Array) -> None:
    """Write the weights to W, shape (N, d, features and intercept)."""
    np.multiply(bank.V.T.reshape(W.shape), bank.scales[:, np.newaxis, np.newaxis], out=W)


@implements(look, SparseLinear)
def look_sparse(bank: SparseLinear, t: int, begin: int, desk: Desk) -> None:
    """Write W·x over the non-zeros of x, and ask for those that are due in a while."""
    ahead = bank.rows[min(t + 2, len(bank.rows) - 1)]
    expect(bank.data, bank.indices, bank.ends[ahead], bank.ends[ahead + 1])
    multiply(
        bank.V, bank.data, bank.indices, bank.ends[bank.rows[t]], bank.ends[bank.rows[t] + 1], bank.intercept, bank.dots
    )
    copies = len(bank.scales)
    d = len(bank.dots) // copies
    for i in range(copies):
        for j in range(d):
            desk.outputs[begin + i, j] = bank.scales[i] * bank.dots[i * d + j]


@implements(learn, SparseLinear)
def learn_sparse(bank: SparseLinear, t: int, begin: int, desk: Desk) -> None:
    """W ← Π_R(W - rate g xᵀ), in the rows where x is not zero."""
    first, end = bank.ends[bank.rows[t]], bank.ends[bank.rows[t] + 1]
    length = 1.0 if bank.intercept else 0.0
    for n in range(first, end):
        length += bank.data[n] * bank.data[n]
    least = plan(length, t, begin, bank, desk)
    step(bank.V, bank.data, bank.indices, first, end, bank.intercept, bank.steps)
    if least < SMALLEST:
        fold(bank)


@inlined
def expect(data: Array, indices: Indices, begin: int, end: int) -> None:
    """Ask for the non-zeros begin ... end-1, which are due in a while; a line of memory holds eight numbers or more."""
    for n in range(begin, end, 8):
        prefetch(data, n)
        prefetch(indices, n)
    prefetch(data, end - 1)
    prefetch(indices, end - 1)


@inlined
def multiply(V: Array, data: Array, indices: Indices, begin: int, end: int, intercept: bool, dots: Array) -> None:
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
def plan(length: float, t: int, begin: int, bank: SparseLinear, desk: Desk) -> float:
    """Set steps to what x, whose squared norm is `length`, is multiplied by to change V, and norms and scales to those after.

    Returns the least scale.
    """
    copies, least = len(bank.scales), 1.0
    d = len(bank.dots) // copies
    for i in range(copies):
        scale, norm = bank.scales[i], bank.norms[i]
        for j in range(d):
            stride = bank.rates[t] * desk.G[begin + i, j]
            norm += stride * (stride * length - 2.0 * scale * bank.dots[i * d + j])
            bank.steps[i * d + j] = stride / scale
        if norm > bank.radius * bank.radius:
            bank.scales[i] *= bank.radius / math.sqrt(norm)
            norm = bank.radius * bank.radius
        bank.norms[i] = norm
        least = min(least, bank.scales[i])
    return least


@inlined
def step(V: Array, data: Array, indices: Indices, begin: int, end: int, intercept: bool, steps: Array) -> None:
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
def fold(bank: SparseLinear) -> None:
    """Multiply scales into their weights, before they get lost in their size, and sum the norms anew."""
    V, copies = bank.V, len(bank.scales)
    d = V.shape[1] // copies
    for i in range(copies):
        bank.norms[i] = 0.0
    for k in range(V.shape[0]):
        for i in range(copies):
            for j in range(d):
                w = bank.scales[i] * V[k, i * d + j]
                V[k, i * d + j] = w
                bank.norms[i] += w * w
    for i in range(copies):
        bank.scales[i] = 1.0
