"""What a critic sees of a context: features scaled by running statistics, and their products.

The present context is part of the statistics by which it is scaled, so that the first one is shown as zeros. Looking changes
nothing; `see` adds a context to the statistics once its round is over.
"""

from __future__ import annotations

import math

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory

FARTHEST = 4.0
"""Scaled features are cut off at this many standard deviations, so that a single outlier cannot move a critic far."""
FLAT = 1e-10
"""A standard deviation below this share of the mean is taken for rounding, and the feature is shown as zero."""


def statistics(features: int) -> Memory:
    """Return the statistics before the first round."""
    return {"rounds": np.zeros(1), "mean": np.zeros(features), "squares": np.zeros(features)}


def scaled(memory: Memory, context: Array | None) -> Array:
    """Return the features with mean zero and standard deviation one over the rounds so far, this one included.

    Examples
    --------
    >>> memory = statistics(2)
    >>> for x in ([1e6, 3.0], [3e6, 3.0]):
    ...     see(memory, np.array(x))
    >>> scaled(memory, np.array([5e6, 3.0])).round(4).tolist()
    [1.2247, 0.0]
    """
    x = _plain(context)
    rounds, mean, squares = _with(memory, x)
    spread = np.sqrt(squares / rounds)
    varies = spread > FLAT * np.abs(mean)
    return np.clip(np.divide(x - mean, spread, out=np.zeros(x.shape), where=varies), -FARTHEST, FARTHEST)


def see(memory: Memory, context: Array | None) -> None:
    """Add a context to the statistics."""
    memory["rounds"][...], memory["mean"][...], memory["squares"][...] = _with(memory, _plain(context))


def products(z: Array) -> Array:
    """Return all products of two features, less their means and with standard deviation one for independent normal features.

    Examples
    --------
    >>> products(np.array([1.0, 2.0])).round(3).tolist()
    [0.0, 2.0, 2.121]
    """
    rows, columns = np.triu_indices(len(z))
    same = rows == columns
    return np.asarray((z[rows] * z[columns] - same) / np.where(same, math.sqrt(2.0), 1.0))


def _plain(context: Array | None) -> Array:
    return np.zeros(0) if context is None else np.asarray(context, dtype=np.float64)


def _with(memory: Memory, x: Array) -> tuple[Array, Array, Array]:
    """Return count, mean and sum of squared deviations with one context more (Welford's recursion)."""
    rounds = memory["rounds"] + 1
    away = x - memory["mean"]
    mean = memory["mean"] + away / rounds
    return rounds, mean, memory["squares"] + away * (x - mean)
