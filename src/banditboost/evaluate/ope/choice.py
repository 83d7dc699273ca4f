"""What each bandwidth's share in the estimate is, and how large the bias of the estimate may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from banditboost._core.checks import Array
from banditboost.evaluate.ope.balance import Balance, balance
from banditboost.evaluate.ope.slope import slope
from banditboost.evaluate.ope.sums import Sums

RULES = ("balanced", "slope")
"""Rules by which bandwidths are chosen."""
CONFIDENCE, BACK = 0.5, 1
"""SLOPE's half-widths, in standard errors, and how many steps narrower than what it chooses the bandwidth in use is."""
HALVED = 2
"""Steps to half a bandwidth."""
EFFECTIVE = 10.0
"""Bandwidths with a smaller effective sample are not tried: their errors cannot be told."""


def tried(sums: Sums) -> NDArray[np.int64]:
    """Return which bandwidths have enough rows for their errors to be known; the widest where none has."""
    enough = np.flatnonzero(sums.effective >= EFFECTIVE)
    return enough if len(enough) else np.arange(len(sums.effective))[-1:]


def choose(sums: Sums, widths: Array, rule: str, level: float) -> Balance:
    """Return the shares of all bandwidths by a rule, and a bound on the bias.

    Parameters
    ----------
    sums
        What rows add up to, for each bandwidth.
    widths
        Bandwidths in one unit, ascending, shape (bandwidths,).
    rule
        One of `RULES`.
    level
        How often SLOPE's bound shall hold.
    """
    among = tried(sums)
    if not np.isfinite(sums.values[among]).all():
        return Balance(np.eye(len(widths))[among[-1]], 0.0)  # the caller says that no row has any weight
    if rule == "balanced":
        some = balance(sums.values[among], sums.covariance[np.ix_(among, among)], widths[among])
        shares = np.zeros(len(widths))
        shares[among] = some.shares
        return Balance(shares, some.bias)
    place = max(0, slope(sums.values[among], CONFIDENCE * sums.errors[among]) - BACK)
    h, halved = int(among[place]), int(among[max(0, place - HALVED)])
    return Balance(np.eye(len(widths))[h], _slopes_bias(sums, h, halved, level))


def _slopes_bias(sums: Sums, h: int, halved: int, level: float) -> float:
    """Return how large the bias of SLOPE's bandwidth may be.

    Where SLOPE's balance holds it is no larger than what chance does; and it is no larger than the difference from half the
    bandwidth, and what chance does to that, as far as the bias there is small.
    """
    sure = float(ndtri(0.5 + level / 2))
    moved = float(sums.values[h] - sums.values[halved])
    noise = sums.covariance
    error = float(np.sqrt(max(noise[h, h] + noise[halved, halved] - 2.0 * noise[h, halved], 0.0)))
    return max(sure * float(sums.errors[h]), abs(moved) + sure * error)
