"""The largest eigenpair of a symmetric operator, from products with vectors alone.

The method takes the best vector of the Krylov space span{q, Aq, A²q, ...}, on which a small tridiagonal matrix represents A:

    A Q_k = Q_k T_k + β_k q_{k+1} e_k',    T_k s = θ s,    ‖A(Q_k s) - θ(Q_k s)‖ = β_k |s_k|
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.streams import stream

TOLERANCE = 1e-6
"""Largest estimated error of the eigenvalue, relative to ‖A‖, at which the search stops.

On Gaussian matrices, the hardest case tried, the true error was 5e-8.
"""
STEPS = 300
"""Largest number of vectors kept; then the search starts again from the best vector of their span."""
RESTARTS = 10
"""Largest number of searches; the best vector of the last one is returned even where it is less exact than `TOLERANCE`."""
EVERY = 5
"""Steps between two checks of the tridiagonal matrix, each of which costs as much as a step where A is small."""


def leading(apply: Callable[[Array], Array], start: Array) -> Array:
    """Return a unit vector whose Rayleigh quotient is the largest eigenvalue of the symmetric operator `apply`.

    With the residual r of the best pair found and its distance g from the second best, the error of the value is about
    min(r, r²/g); the search ends where that is at most `TOLERANCE` times ‖A‖. All vectors are kept orthogonal to each other, so
    repeated eigenvalues do no harm.

    Parameters
    ----------
    apply
        The map v ↦ Av.
    start
        The start vector: random, or a guess near the answer with a random part added (`mixed`), because directions orthogonal to
        the start are never found.

    References
    ----------
    Golub, Van Loan, *Matrix Computations*, 4th edition (2013), Algorithm 10.1.1, with full reorthogonalisation; the error of the
    value: Parlett, *The Symmetric Eigenvalue Problem* (1998), section 11.7.

    Examples
    --------
    >>> diagonal = np.array([1.0, 3.0, 2.0])
    >>> np.abs(leading(lambda v: diagonal * v, np.ones(3))).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    vector = start
    for _ in range(RESTARTS):
        vector, done = _search(apply, vector)
        if done:
            break
    return vector


def _search(apply: Callable[[Array], Array], start: Array) -> tuple[Array, bool]:
    """Build one Krylov space; return the best vector in it, and whether it is exact enough."""
    from scipy.linalg import eigh_tridiagonal  # a slow import (0.1 s) waits until it is needed

    steps = min(len(start), STEPS)
    basis, diagonal, beside = np.empty((steps, len(start))), np.empty(steps), np.empty(steps)
    following = start / np.linalg.norm(start)
    size = 0.0
    for k in range(steps):
        basis[k] = following
        known = basis[: k + 1]
        following = apply(following)
        diagonal[k] = following @ known[k]
        # All known directions are removed, not only the last two, and twice: once leaves too much where A is nearly singular.
        for _ in range(2):
            following = following - (known @ following) @ known
        beside[k] = np.linalg.norm(following)
        size = max(size, abs(diagonal[k]) + beside[k])
        exhausted = bool(beside[k] <= 1e-14 * size) or k + 1 == len(start)
        if exhausted or (k + 1) % EVERY == 0 or k + 1 == steps:
            values, vectors = eigh_tridiagonal(
                diagonal[: k + 1], beside[:k], select="i", select_range=(max(0, k - 1), k)
            )
            residual, gap = beside[k] * abs(vectors[-1, -1]), values[-1] - values[0]
            missing = min(residual, residual**2 / gap) if gap > 0 else residual
            if exhausted or missing <= TOLERANCE * size:
                break
        following = following / beside[k]
    best = np.asarray(vectors[:, -1] @ known)
    return best / np.linalg.norm(best), bool(exhausted or missing <= TOLERANCE * size)


@lru_cache(maxsize=8)
def random_start(size: int) -> Array:
    """Draw the start vector for a size, always the same one, so that an oracle's answer depends on its gradient alone."""
    start = stream(0, "directions").standard_normal(size)
    start /= np.linalg.norm(start)
    start.flags.writeable = False
    return start


def mixed(start: Array | None, size: int) -> Array:
    """Add a tenth of the random start to a guess, which might be orthogonal to the answer.

    Without a guess, or with a guess of zero, return the random start alone.
    """
    length = 0.0 if start is None else float(np.linalg.norm(start))
    return random_start(size) if start is None or length == 0 else start / length + 0.1 * random_start(size)
