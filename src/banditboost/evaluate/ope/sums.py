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

    What is asked of an estimate is asked for the *shares* that bandwidths have in it, shape (bandwidths,): where one bandwidth was
    chosen, it has the whole.

    Parameters
    ----------
    bandwidths
        How many there are.
    normalized
        Whether an estimate is the sum of its terms over the sum of weights, or over the number of rows.
    """

    def __init__(self, bandwidths: int, normalized: bool) -> None:
        self.normalized, self.bandwidths = normalized, bandwidths
        self.tops, self.bottoms = np.zeros((GROUPS, bandwidths)), np.zeros((GROUPS, bandwidths))
        self.counts = np.zeros(GROUPS)
        self.weight, self.heaviest = np.zeros(bandwidths), np.zeros(bandwidths)
        self.products = np.zeros((2 * bandwidths, 2 * bandwidths))
        """Sums over rows of the products of any two of their terms and weights, terms first."""
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
        self.heaviest = np.maximum(self.heaviest, weights.max(axis=0))
        both = np.concatenate([terms, weights], axis=1)
        self.products += both.T @ both
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
    def covariance(self) -> Array:
        """That of all estimates, which share their rows, shape (bandwidths, bandwidths): of ratios, by their linearisation."""
        total, groups = self.bottoms.sum(axis=0), self.groups
        with np.errstate(invalid="ignore", divide="ignore"):
            left = (self.tops - self.values * self.bottoms) / total
        return np.asarray(left.T @ left) * (groups / max(groups - 1, 1))

    @property
    def errors(self) -> Array:
        """The standard error of each estimate."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def squares(self) -> Array:
        """Sums over rows of the products of any two weights."""
        return self.products[self.bandwidths :, self.bandwidths :]

    @property
    def effective(self) -> Array:
        """The effective sample size, (Σw)²/Σw², for each bandwidth."""
        squares = np.diag(self.squares)
        return np.divide(self.weight**2, squares, out=np.zeros_like(self.weight), where=squares > 0)

    def effective_of(self, shares: Array) -> float:
        """Return the effective sample size of a combination."""
        squares = float(shares @ self.squares @ shares)
        return float(shares @ self.weight) ** 2 / squares if squares > 0 else 0.0

    def mean_weight(self, shares: Array) -> tuple[float, float]:
        """Return the mean weight of a combination, which is one where all of the policy has support, and its standard error."""
        weight = float(shares @ self.weight) / self.rows
        squares = float(shares @ self.squares @ shares) / self.rows
        return weight, float(np.sqrt(max(squares - weight**2, 0.0) / self.rows))

    def lacking(self, shares: Array) -> float:
        """Return the share of a policy without support, by one minus the mean weight, as far as chance does not explain it."""
        weight, error = self.mean_weight(shares)
        return float(np.clip(1.0 - weight - 2.0 * error, 0.0, 1.0))

    def spread(self, shares: Array) -> tuple[float, float]:
        """Return the sample variance of the terms of a combination, and the length of an interval that holds them.

        Of a ratio, terms are those of its linearisation, w (l - v) over the mean weight. The length is that of single bandwidths,
        added up.
        """
        n, used = self.rows, shares != 0.0
        reach = np.where(used, self.largest - self.least, 0.0)
        if self.normalized:
            mean = np.where(used, self.weight / n, 1.0)
            scaled = np.where(used, shares, 0.0) / mean
            values = np.where(used, self.values, 0.0)
            both = np.concatenate([scaled, -scaled * values])
            reach = (reach + np.abs(values) * self.heaviest) / mean
            squares = float(both @ self.products @ both)
        else:
            k = self.bandwidths
            squares = float(shares @ self.products[:k, :k] @ shares) - n * float(shares @ self.values) ** 2
        return max(squares, 0.0) / max(n - 1, 1), float(np.abs(shares) @ reach)
