"""Features of a round in units of the largest value seen of each, dense or as a list of those that are not zero, compiled.

Both kinds are read alike: entry m of a round is feature `at(shown, m)` with value `unit(shown, c, m)` for copies of kind c.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.jit import inlined
from banditboost._core.checks import Array
from banditboost._core.shown import Shown


@operation
def gather(shown: Any, t: int, scales: Array) -> int:  # type: ignore[empty-body]
    """Read round t and set scales, shape (1 or N, p), to the largest values now; return how many entries the round has."""


@operation
def at(shown: Any, m: int) -> int:  # type: ignore[empty-body]
    """Return which feature entry m is."""


@operation
def unit(shown: Any, c: int, m: int) -> float:  # type: ignore[empty-body]
    """Return the value of entry m over the largest seen."""


@operation
def ratio(shown: Any, c: int, m: int) -> float:  # type: ignore[empty-body]
    """Return the largest value of that feature before this round over the largest now."""


class Dense(NamedTuple):
    """Features of shape (T, C, p), C = 1 or N, the constant included; room for one round."""

    features: Array
    z: Array
    """Scratch, shape (C, p)."""
    ratios: Array
    """Scratch, shape (C, p)."""


@implements(gather, Dense)
def gather_dense(shown: Dense, t: int, scales: Array) -> int:
    """Read all features."""
    kinds, p = scales.shape
    for c in range(kinds):
        for k in range(p):
            x = shown.features[t, c, k]
            size = max(scales[c, k], abs(x))
            shown.z[c, k] = x / size if size > 0.0 else 0.0
            shown.ratios[c, k] = scales[c, k] / size if size > 0.0 else 0.0
            scales[c, k] = size
    return p  # type: ignore[no-any-return]


@implements(at, Dense)
def at_dense(shown: Dense, m: int) -> int:
    """Return the entry itself."""
    return m


@implements(unit, Dense)
def unit_dense(shown: Dense, c: int, m: int) -> float:
    """Return z."""
    return shown.z[c, m]  # type: ignore[no-any-return]


@implements(ratio, Dense)
def ratio_dense(shown: Dense, c: int, m: int) -> float:
    """Return the ratio."""
    return shown.ratios[c, m]  # type: ignore[no-any-return]


class Sparse(NamedTuple):
    """Canonical CSR contexts, which of their rows are the rounds, and room for one round. All copies are shown the same."""

    data: Array
    indices: NDArray[np.int32]
    ends: NDArray[np.int32]
    rows: NDArray[np.intp]
    intercept: bool
    places: NDArray[np.int64]
    """Scratch: the columns of this round, the constant's last, shape (p,)."""
    z: Array
    """Scratch, shape (p,)."""
    ratios: Array
    """Scratch, shape (p,)."""


@implements(gather, Sparse)
def gather_sparse(shown: Sparse, t: int, scales: Array) -> int:
    """Read what is not zero."""
    begin, end = shown.ends[shown.rows[t]], shown.ends[shown.rows[t] + 1]
    entries = 0
    for n in range(begin, end):
        if shown.data[n] != 0.0:
            entries = note(shown, scales, entries, shown.indices[n], shown.data[n])
    if shown.intercept:
        entries = note(shown, scales, entries, scales.shape[1] - 1, 1.0)
    return entries


@inlined
def note(shown: Sparse, scales: Array, entries: int, k: int, x: float) -> int:
    """Append one feature to the list."""
    size = max(scales[0, k], abs(x))
    shown.places[entries], shown.z[entries], shown.ratios[entries] = k, x / size, scales[0, k] / size
    scales[0, k] = size
    return entries + 1


@implements(at, Sparse)
def at_sparse(shown: Sparse, m: int) -> int:
    """Return the column."""
    return shown.places[m]  # type: ignore[no-any-return]


@implements(unit, Sparse)
def unit_sparse(shown: Sparse, c: int, m: int) -> float:
    """Return z."""
    return shown.z[m]  # type: ignore[no-any-return]


@implements(ratio, Sparse)
def ratio_sparse(shown: Sparse, c: int, m: int) -> float:
    """Return the ratio."""
    return shown.ratios[m]  # type: ignore[no-any-return]


def form(shown: Shown, kinds: int, p: int, intercept: bool, in_place: bool) -> Dense | Sparse:
    """Return what copies are shown: sparse contexts where they are, if `in_place`, else all features laid out."""
    if in_place and isinstance(shown.table, csr_array):
        X = shown.table
        return Sparse(
            X.data, X.indices, X.indptr, shown.rows, intercept, np.empty(p, np.int64), np.empty(p), np.empty(p)
        )
    return Dense(shown.with_constant(intercept), np.empty((kinds, p)), np.empty((kinds, p)))


@inlined
def dot(weights: Array, i: int, j: int, shown: Any, c: int, entries: int) -> float:
    """Return what weights[i, j] say about the round."""
    total = 0.0
    for m in range(entries):
        total += weights[i, j, at(shown, m)] * unit(shown, c, m)
    return total
