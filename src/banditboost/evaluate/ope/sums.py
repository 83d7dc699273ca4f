"""Sums over rows, by which estimates and their errors are found in one pass, whatever the length of the log.

Rounds are dealt out to groups in turn. Where there are no more rounds than groups, a group is a round, and the bootstrap
over groups
is the usual one; with more, groups are sums of as many rounds each, which are drawn in their place. Rows of one ticket
belong to one
round: their answers are not independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

GROUPS = 5000
"""Most groups."""


class Sums:
    """Sums of terms and weights for each of several bandwidths.

    Parameters
    ----------
    bandwidths
        How many there are.
    normalized
        Whether an estimate is the sum of its terms over the sum of weights, or over the number of rows.
    """

    def __init__(self, bandwidths: int, normalized: bool) -> None:
        self.normalized = normalized
        self.tops, self.bottoms = np.zeros((GROUPS, bandwidths)), np.zeros((GROUPS, bandwidths))
        self.counts = np.zeros(GROUPS)
        self.weight, self.squares, self.heaviest = (np.zeros(bandwidths) for _ in range(3))
        self.moments = np.zeros((3, bandwidths))
        """Sums of the squares of terms, of terms times weights, and of the squares of weights."""
        self.least, self.largest = np.full(bandwidths, np.inf), np.full(bandwidths, -np.inf)
        self.rows = 0

    def add(self, rounds: NDArray[np.int64], terms: Array, weights: Array) -> None:
        """Add rows: the number of each one's round, and its term and its weight for each bandwidth, shape (n, bandwidths)."""
        group = rounds % GROUPS
        self.counts += np.bincount(group, minlength=GROUPS)
        for h in range(terms.shape[1]):
            self.tops[:, h] += np.bincount(group, terms[:, h], GROUPS)
            self.bottoms[:, h] += np.bincount(group, weights[:, h] if self.normalized else None, GROUPS)
        self.weight += weights.sum(axis=0)
        self.squares += np.square(weights).sum(axis=0)
        self.heaviest = np.maximum(self.heaviest, weights.max(axis=0))
        self.moments += np.stack([(terms * terms).sum(axis=0), (terms * weights).sum(axis=0), (weights**2).sum(axis=0)])
        self.least = np.minimum(self.least, terms.min(axis=0))
        self.largest = np.maximum(self.largest, terms.max(axis=0))
        self.rows += len(terms)

    @property
    def groups(self) -> int:
        """How many groups have rows."""
        return int((self.counts > 0).sum())

    @property
    def values(self) -> Array:
        """The estimate for each bandwidth; NaN where no row has weight."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.tops.sum(axis=0) / self.bottoms.sum(axis=0))

    @property
    def errors(self) -> Array:
        """The standard error of each estimate: of a ratio, by its linearisation."""
        left = self.tops - self.values * self.bottoms
        total, groups = self.bottoms.sum(axis=0), self.groups
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(np.square(left).sum(axis=0) * groups / max(groups - 1, 1)) / total)

    def difference(self, h: int, other: int) -> tuple[float, float]:
        """Return the difference of the estimates with two bandwidths, which share their rows, and its standard error."""
        total, groups = self.bottoms.sum(axis=0), self.groups
        left = (self.tops - self.values * self.bottoms) / total
        error = np.sqrt(np.square(left[:, h] - left[:, other]).sum() * groups / max(groups - 1, 1))
        return float(self.values[h] - self.values[other]), float(error)

    @property
    def effective(self) -> Array:
        """The effective sample size, (Σw)²/Σw², for each bandwidth."""
        return np.divide(self.weight**2, self.squares, out=np.zeros_like(self.weight), where=self.squares > 0)

    def lacking(self, h: int) -> float:
        """Return the share of a policy without support, by one minus the mean weight, as far as chance does not explain it."""
        weight = float(self.weight[h]) / self.rows
        error = np.sqrt(max(float(self.squares[h]) / self.rows - weight**2, 0.0) / self.rows)
        return float(np.clip(1.0 - weight - 2.0 * error, 0.0, 1.0))

    def spread(self, h: int) -> tuple[float, float]:
        """Return the sample variance of the terms of one bandwidth, and the length of an interval that holds them.

        Of a ratio, terms are those of its linearisation, w (l - v) over the mean weight.
        """
        n, value = self.rows, float(self.values[h])
        if not self.normalized:
            return (float(self.moments[0, h]) - n * value**2) / max(n - 1, 1), float(self.largest[h] - self.least[h])
        mean = float(self.weight[h]) / n
        squares = self.moments[0, h] - 2 * value * self.moments[1, h] + value**2 * self.moments[2, h]
        reach = self.largest[h] - self.least[h] + abs(value) * self.heaviest[h]
        return float(squares) / mean**2 / max(n - 1, 1), float(reach) / mean
