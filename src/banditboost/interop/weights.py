"""Weights of rows, as how often a row is played, and an order of rows that does not depend on how they were given.

A row of weight two is the same as that row twice. So that this holds for `fit`, which shuffles, rows that come more than once are
put in an order that depends on their contents alone; rows that all differ are shuffled by their places, as before there were
weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array

MOST = 100
"""Most times that rows are played on average."""


def checked(sample_weight: Any, rows: int) -> Array | None:
    """Return weights as numbers, one for each row; None where there are none. Raise where they are not weights."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D array or scalar, got {weights.ndim}D array.")
    if len(weights) != rows:
        raise ValueError(f"sample_weight must have one number for each of the {rows} rows, got {len(weights)}.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite numbers of at least zero.")
    if not (weights > 0).any():
        raise ValueError("sample_weight must contain at least one weight that is not zero.")
    return weights


def times(weights: Array, rng: np.random.Generator, relative: bool) -> NDArray[np.int64]:
    """Return how often each row is played: the weight, where all are whole numbers, else as often in expectation.

    Parameters
    ----------
    weights
        Numbers of at least zero, not all of them zero.
    rng
        Rounds weights that are not whole up or down.
    relative
        Whether weights that are not all whole count relative to one another: their mean is then one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> times(np.array([2.0, 0.0, 1.0]), rng, True).tolist(), times(np.array([0.001, 0.003]), rng, True).tolist()
    ([2, 0, 1], [0, 2])
    """
    if not (weights == np.round(weights)).all():
        if relative:
            weights = weights / weights.mean()
        weights = np.floor(weights) + (rng.uniform(size=len(weights)) < weights - np.floor(weights))
    if weights.sum() > MOST * len(weights):
        raise ValueError(
            f"sample_weight must be at most {MOST} on average, since a row is played as often as its weight says, got "
            f"{weights.mean():.6g}: divide it by its mean."
        )
    return weights.astype(np.int64)


def row_order(X: Any, y: NDArray[Any], seed: int) -> NDArray[np.intp] | None:
    """Return an order of rows that depends on their contents and a seed alone; None where all rows differ.

    Equal rows are spread like all others.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.zeros(3)
    >>> X[row_order(X, y, 0)].tolist() == X[::-1][row_order(X[::-1], y, 0)].tolist(), row_order(X[:2], y[:2], 0)
    (True, None)
    """
    keys = _hashes(X, y)
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    fresh = np.r_[True, ranked[1:] != ranked[:-1]]
    if fresh.all():
        return None
    place = np.arange(len(keys))
    number = np.empty(len(keys), dtype=np.uint64)
    number[order] = place - np.maximum.accumulate(np.where(fresh, place, 0))
    with np.errstate(over="ignore"):
        mixed = _mix(keys ^ _mix(number + _mix(np.full(1, seed, dtype=np.uint64))))
    return np.lexsort((number, keys, mixed))


def _hashes(X: Any, y: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for the contents of every row and its label."""
    labels = np.unique(y, return_inverse=True)[1].astype(np.float64) if y.dtype.kind not in "biuf" else y
    columns = csr_array(X) if not isinstance(X, np.ndarray) else None
    with np.errstate(over="ignore"):
        keys = _mix(_bits(np.asarray(labels, dtype=np.float64)))
        if columns is not None:
            rows = np.repeat(np.arange(columns.shape[0]), np.diff(columns.indptr))
            parts = _mix(_bits(columns.data) ^ _mix(columns.indices.astype(np.uint64) + np.uint64(1)))
            sums = np.zeros(columns.shape[0], dtype=np.uint64)
            np.add.at(sums, rows, np.where(columns.data != 0, parts, np.uint64(0)))
            return _mix(keys + sums)
        sums = np.zeros(len(X), dtype=np.uint64)
        for place, column in enumerate(X.T):
            parts = _mix(_bits(np.ascontiguousarray(column)) ^ _mix(np.full(1, place + 1, dtype=np.uint64)))
            sums += np.where(column != 0, parts, np.uint64(0))
    return _mix(keys + sums)


def _bits(values: Array) -> NDArray[np.uint64]:
    return (values + 0.0).view(np.uint64)  # the two zeros are one


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread 64 bits (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
