"""Features of a round as a list of those that are not zero, in units of the largest value seen of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array


class Sparse(NamedTuple):
    """Canonical CSR contexts, which of their rows are the rounds, and room for one round."""

    data: Array
    indices: NDArray[np.int32]
    ends: NDArray[np.int32]
    rows: NDArray[np.intp]
    intercept: bool
    at: NDArray[np.int64]
    """Scratch: the columns of this round, the constant's last, shape (p,)."""
    z: Array
    """Scratch: their values over the largest seen, shape (p,)."""
    ratios: Array
    """Scratch: the largest value before over the largest now, shape (p,)."""


def sparse(contexts: csr_array, rows: NDArray[np.intp], intercept: bool) -> Sparse:
    """Lay out contexts as the loops read them."""
    p = contexts.shape[1] + intercept
    scratch = np.empty(p, dtype=np.int64), np.empty(p), np.empty(p)
    return Sparse(contexts.data, contexts.indices, contexts.indptr, rows, intercept, *scratch)


@inlined
def gather(t: int, X: Sparse, scales: Array) -> int:
    """Set at, z and ratios to those of round t, and scales, shape (1, p), to the largest values now; return how many."""
    begin, end = X.ends[X.rows[t]], X.ends[X.rows[t] + 1]
    touched = 0
    for n in range(begin, end):
        if X.data[n] != 0.0:
            touched = note(X, scales, touched, X.indices[n], X.data[n])
    if X.intercept:
        touched = note(X, scales, touched, scales.shape[1] - 1, 1.0)
    return touched


@inlined
def note(X: Sparse, scales: Array, touched: int, k: int, x: float) -> int:
    """Append one feature to the list."""
    size = max(scales[0, k], abs(x))
    X.at[touched], X.z[touched], X.ratios[touched] = k, x / size, scales[0, k] / size
    scales[0, k] = size
    return touched + 1


@inlined
def dot(weights: Array, i: int, j: int, X: Sparse, touched: int) -> float:
    """Return what weights[i, j] say about the round."""
    total = 0.0
    for m in range(touched):
        total += weights[i, j, X.at[m]] * X.z[m]
    return total
