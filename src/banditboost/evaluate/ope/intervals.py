"""Intervals for a mean of terms: the bootstrap over groups of rounds, and empirical Bernstein."""

from __future__ import annotations

import math

import numpy as np

from banditboost._core.checks import Array

REPLICATES = 1000
"""How many times the bootstrap draws."""
AT_A_TIME = 100
"""Replicates drawn at a time, so that memory stays small."""


def bernstein(variance: float, reach: float, n: int, level: float) -> float:
    """Return the half-width of a two-sided empirical Bernstein interval for the mean of n terms.

    Maurer, Pontil (2009), "Empirical Bernstein Bounds and Sample Variance Penalization", Theorem 4, once for either side: with
    δ = (1 - level)/2 on each, √(2 V ln(2/δ)/n) + 7 b ln(2/δ)/(3 (n - 1)), where V is the sample variance and b, the `reach`, the
    length of an interval that holds all terms.

    Examples
    --------
    >>> print(f"{bernstein(variance=1.0, reach=4.0, n=1000, level=0.95):.4f}")
    0.1346
    """
    log = math.log(4.0 / (1.0 - level))
    return math.sqrt(2.0 * variance * log / n) + 7.0 * reach * log / (3.0 * (n - 1))


def bootstrap(
    tops: Array, bottoms: Array, shares: Array, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the bootstrap's percentile interval for a combination of ratios of sums, from groups drawn with replacement.

    Parameters
    ----------
    tops, bottoms
        Sums over the rounds of each group: of terms, and of what they are divided by (numbers of rows, or weights), shape
        (groups, ratios).
    shares
        The share of each ratio in the combination; those with none are not looked at.
    level
        How often the interval shall hold the truth.
    rng
        Where draws come from.
    """
    used = shares != 0.0
    groups, k, found = len(tops), int(used.sum()), []
    both = np.concatenate([tops[:, used], bottoms[:, used]], axis=1)
    chances = np.full(groups, 1.0 / groups)
    for _ in range(0, REPLICATES, AT_A_TIME):
        sums = rng.multinomial(groups, chances, size=AT_A_TIME) @ both
        there = (sums[:, k:] > 0).all(axis=1)
        found.append(sums[there, :k] / sums[there, k:] @ shares[used])
    low, high = np.quantile(np.concatenate(found), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)
