"""All bandwidths together, each by a share of its own, so that bias and noise are in balance.

Estimates with several bandwidths come from the same rows, so that the covariance C of their noise is known. What is not known is
the bias of each: with a symmetric kernel it is a smooth curve b(h) of the bandwidth h that starts at 0 with the slope 0, or, where
the loss has a kink just where the policy plays, with another slope. Such curves are integrated Brownian motions (the prior of cubic
splines: Wahba 1978), with the covariance τ² K between bandwidths:

    V(h) = V + b(h) + noise,   Cov(noise) = C,   Cov(b) = τ² K,   K(g, h) = 3 g² h/2 - g³/2 + k g h for g ≤ h, the widest being 1,

where k is 0, without a slope, or 4, with one. For each τ and k the best linear unbiased estimate of V has shares (C + τ² K)⁻¹ 1,
divided by their sum; they may be negative, as those of kernels of higher order are. All τ and k are weighed by how likely they make
what was found. The smallest τ is the standard error of the most precise estimate, so that the bias of the widest bandwidth
is never taken to be smaller than what chance does.

As in MAGIC (Thomas, Brunskill 2016), a combination of estimates takes the place of a choice; bias has a model here in place of its
estimate, which would be as noisy as the narrowest bandwidth. Numbers below were settled on logs of other worlds than those that
the pages report.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array

SCALES = np.geomspace(1.0, 100.0, 13)
"""Standard deviations of the widest bandwidth's bias that are thought possible, in standard errors of the most precise
estimate."""
SLOPES = (0.0, 4.0)
"""Variances of the slope at 0 that are thought possible, in units of that of the curve at the widest bandwidth."""
RADIUS = 2.0
"""How many standard deviations of the bias are a bound on it."""
JITTER = 1e-9
"""Added to the diagonal of covariances, as a share of it, so that equal estimates do no harm."""


class Balance(NamedTuple):
    """Shares of bandwidths, which sum to one, and a bound on the bias of the combination."""

    shares: Array
    bias: float


def balance(values: Array, covariance: Array, widths: Array) -> Balance:
    """Return the shares of bandwidths in the estimate.

    Parameters
    ----------
    values
        The estimate with each bandwidth, shape (k,).
    covariance
        That of their noise, shape (k, k).
    widths
        The bandwidths, ascending, in any unit.

    Examples
    --------
    Where narrow bandwidths agree with wide ones, both have their share; where they contradict, the narrowest prevails:

    >>> noise = np.diag([0.04, 0.01, 0.0025])
    >>> for values in ([1.0, 1.05, 1.0], [1.0, 1.05, 3.0]):
    ...     found = balance(np.array(values), noise, np.array([0.25, 0.5, 1.0]))
    ...     print(found.shares.round(2), f"{found.bias:.2f}")
    [0.29 0.6  0.12] 0.61
    [ 1.31 -0.24 -0.07] 1.17
    """
    k, errors = len(values), np.sqrt(np.diag(covariance))
    least = float(errors.min())
    if least == 0.0:  # nothing is left to chance: the narrowest bandwidth has the smallest bias
        return Balance(np.eye(k)[0], 0.0)
    noise = covariance / least**2 + JITTER * np.diag(np.square(errors / least))
    columns = np.column_stack([np.ones(k), (values - values[0]) / least])
    shares, biases, likely = [], [], []
    for slope in SLOPES:
        curves = smooth_curves(widths / widths[-1], slope)
        for scale in SCALES:
            bias = scale**2 * curves
            solved = np.linalg.solve(noise + bias, columns)
            (total, level), (_, size) = columns.T @ solved
            likely.append(-0.5 * (np.linalg.slogdet(noise + bias)[1] + np.log(total) + size - level**2 / total))
            shares.append(solved[:, 0] / total)
            biases.append(bias)
    weights = np.exp(np.array(likely) - max(likely))
    weights /= weights.sum()
    found = weights @ np.array(shares)
    spread = np.sqrt(found @ np.tensordot(weights, np.array(biases), axes=1) @ found)
    return Balance(found, float(RADIUS * least * spread))


def smooth_curves(at: Array, slope: float = 0.0) -> Array:
    """Return the covariances of an integrated Brownian motion whose variance at 1 is one, and of a slope of that variance.

    Examples
    --------
    >>> smooth_curves(np.array([0.5, 1.0])).tolist()
    [[0.125, 0.3125], [0.3125, 1.0]]
    """
    less, more = np.minimum.outer(at, at), np.maximum.outer(at, at)
    return np.asarray(1.5 * less**2 * more - 0.5 * less**3 + slope * less * more)
