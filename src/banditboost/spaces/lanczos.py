"""The largest eigenpairs of symmetric operators, from products with vectors alone.

The method takes the best vector of the Krylov space span{q, Aq, A²q, ...}, on which a small tridiagonal matrix represents A:

    A Q_k = Q_k T_k + β_k q_{k+1} e_k',    T_k s = θ s,    ‖A(Q_k s) - θ(Q_k s)‖ = β_k |s_k|

Several operators are searched side by side, one step of all of them at a time, so that what they share is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.streams import stream

TOLERANCE = 1e-6
"""Largest estimated error of the eigenvalue, relative to ‖A‖, at which the search stops.

On Gaussian matrices, the hardest case tried, the true error was 5e-8.
"""
STEPS = 300
"""Largest number of vectors kept; then the search starts again from the best vector of their span."""
RESTARTS = 10
"""Largest number of searches; the best vector of the last one is returned even where it is less exact than asked for."""
EVERY = 5
"""Steps between two checks of the tridiagonal matrix, each of which costs as much as a step where A is small."""
EARLY = 3
"""The same for the first `EARLY * EVERY` steps, where a search that began at a good guess may be over at any time."""
LITTLE = 0.1
"""Where less than this is left of a vector once known directions are removed, rounding has left ten times as much of them."""
BESIDE = 0.03
"""Weight of the second best vector found in the start of the next search: it may be the best one then."""
NEW = 0.003
"""Weight of a random vector in that start, without which directions that no search has met would never be found."""

Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Apply = Callable[[Array, Indices], Array]
Stop = Callable[[Indices, Array, Array, Array], Bools]


class Pairs(NamedTuple):
    """What `leading_block` found, one row for each operator."""

    values: Array
    """The largest eigenvalues, shape (N,)."""
    vectors: Array
    """Unit vectors with these Rayleigh quotients, shape (N, n)."""
    starts: Array
    """Where to begin the search for similar operators, shape (N, n)."""


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
    return np.asarray(leading_block(lambda vectors, _: apply(vectors[0])[np.newaxis], start[np.newaxis]).vectors[0])


def exact(which: Indices, values: Array, missing: Array, sizes: Array) -> Bools:
    """Say for each operator whether its value is as exact as `TOLERANCE` asks."""
    return np.asarray(missing <= TOLERANCE * sizes)


def leading_block(apply: Apply, starts: Array, stop: Stop = exact) -> Pairs:
    """Return what `leading` would return for several operators, which take their steps together.

    Parameters
    ----------
    apply
        Takes vectors, shape (k, n), and the indices of their operators, and returns the k products.
    starts
        One start vector for each operator, shape (N, n).
    stop
        Takes indices of operators, the largest values found so far, estimates of what is missing in them, and estimates of ‖A‖,
        and says which searches are over.

    Examples
    --------
    >>> diagonals = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 1.0]])
    >>> leading_block(lambda v, i: diagonals[i] * v, np.ones((2, 3))).values.round(6).tolist()
    [3.0, 5.0]
    """
    found = Pairs(np.zeros(len(starts)), np.array(starts), np.zeros(starts.shape))
    left = np.arange(len(starts))
    for _ in range(RESTARTS):
        left = _search(apply, found, left, stop)
        if not len(left):
            break
    return found


def _search(apply: Apply, found: Pairs, which: Indices, stop: Stop) -> Indices:
    """Build one Krylov space for each of some operators, from the vectors found; return those that are not exact enough yet."""
    steps = min(found.vectors.shape[1], STEPS)
    following = _units(found.vectors[which])
    basis = np.empty((len(which), min(steps, EARLY * EVERY), following.shape[1]))
    diagonal, beside, sizes = np.zeros((len(which), steps)), np.zeros((len(which), steps)), np.zeros(len(which))
    late: list[int] = []
    for k in range(steps):
        if k == basis.shape[1]:
            basis = np.concatenate([basis, np.empty_like(basis)], axis=1)
        basis[:, k] = following
        known = basis[:, : k + 1]
        following = apply(following, which)
        diagonal[:, k] = np.einsum("ij,ij->i", following, known[:, k])
        # All known directions are removed, not only the last two, and twice where little is left, as where A is nearly singular.
        for _ in range(2):
            before = np.einsum("ij,ij->i", following, following)
            shares = np.matmul(known, following[:, :, np.newaxis])
            following = following - np.matmul(shares.swapaxes(1, 2), known)[:, 0]
            after = np.einsum("ij,ij->i", following, following)
            if (after > LITTLE**2 * before).all():
                break
        beside[:, k] = np.sqrt(after)
        sizes = np.maximum(sizes, np.abs(diagonal[:, k]) + beside[:, k])
        exhausted = (beside[:, k] <= 1e-14 * sizes) | (k + 1 == following.shape[1])
        last = k + 1 == steps
        if exhausted.any() or last or (k + 1) % (EARLY if k < EARLY * EVERY else EVERY) == 0:
            values, vectors = _top(diagonal[:, : k + 1], beside[:, :k])
            residuals, gaps = beside[:, k] * np.abs(vectors[:, 0, -1]), values[:, 0] - values[:, -1]
            close = gaps * residuals <= residuals**2
            missing = np.where(close, residuals, residuals**2 / np.where(close, 1.0, gaps))
            done = exhausted | stop(which, values[:, 0], missing, sizes)
            if last:
                late, done = which[~done].tolist(), np.ones_like(done)
            if done.any():
                _keep(found, which[done], values[done], np.matmul(vectors[done], known[done]))
                if done.all():
                    break
                more = ~done
                which, following, basis, sizes = which[more], following[more], basis[more], sizes[more]
                diagonal, beside = diagonal[more], beside[more]
        following = following / beside[:, k, np.newaxis]
    return np.array(late, dtype=np.intp)


def _keep(found: Pairs, which: Indices, values: Array, ritz: Array) -> None:
    """Write down the best vector of some operators, and where to begin next time."""
    best = _units(ritz[:, 0])
    found.values[which], found.vectors[which] = values[:, 0], best
    found.starts[which] = best + BESIDE * ritz[:, -1] + NEW * random_start(best.shape[1])


def _top(diagonal: Array, beside: Array) -> tuple[Array, Array]:
    """Return the two largest eigenvalues, falling, of tridiagonal matrices, and their vectors as rows; one where there is one."""
    rows, size = diagonal.shape
    if size <= EARLY * EVERY:
        small = np.zeros((rows, size, size))
        at = np.arange(size)
        small[:, at, at] = diagonal
        small[:, at[1:], at[:-1]] = beside
        values, vectors = np.linalg.eigh(small)
        return values[:, :-3:-1], vectors[:, :, :-3:-1].swapaxes(1, 2)
    from scipy.linalg import eigh_tridiagonal  # a slow import (0.1 s) waits until it is needed

    pairs = [
        eigh_tridiagonal(d, b, select="i", select_range=(size - 2, size - 1))
        for d, b in zip(diagonal, beside, strict=True)
    ]
    return np.array([pair[0][::-1] for pair in pairs]), np.array([pair[1].T[::-1] for pair in pairs])


def _units(vectors: Array) -> Array:
    """Return vectors divided by their lengths."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


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
