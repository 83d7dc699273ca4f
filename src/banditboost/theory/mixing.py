r"""How far to follow a rival: the regret of the chain `Mix` against the best fixed share.

Following a rival's play by a share ω ∈ [0, 1], from y to y + ω d, changes a loss of curvature 2 by f_t(ω) = ω g_t·d_t + ω² |d_t|²,
and `Mix` plays the share that would have been best so far: follow-the-leader on quadratic functions of one number.

With F_t the sum of the first t of them, whose curvature is H_t = Σ_{s≤t} 2|d_s|², and ω_{t+1} its minimiser on [0, 1], sums
telescope to regret = Σ_t F_t(ω_t) - F_t(ω_{t+1}), and a function of curvature H whose slope at a point is s lies at most s²/2H
above its minimum; what F_{t-1} adds to the slope at its own minimiser does not point away from it. Hence, on every run,

.. math:: \sum_t f_t(\omega_t) - f_t(\omega) \;\le\; \sum_t \frac{f_t'(\omega_t)^2}{2 H_t}.

It needs no statistics, and no label. It is stated where nothing is forgotten and nothing is shrunk: `Mix` does both, since copies
get better and noise does not.

References
----------
Kalai, Vempala (2005), "Efficient algorithms for online decision problems", Section 3 (be the leader); Hazan, Agarwal, Kale (2007),
"Logarithmic regret algorithms for online convex optimization", Theorem 1, for the logarithm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import at_least_zero, count, finite, positive


def leader_regret(slopes: ArrayLike, curvatures: ArrayLike) -> float:
    """Return the bound on the regret of follow-the-leader on an interval, from a run: Σ_t s_t² / 2H_t.

    Parameters
    ----------
    slopes
        s_t = f_t'(ω_t), the slope of the loss of round t at what was played in it.
    curvatures
        The second derivative of the loss of each round, none below zero; H_t is the sum of the first t.

    Examples
    --------
    The first share is 1, where the loss (ω - 0)² has slope 2, and from then on the leader is right:

    >>> leader_regret([2.0, 0.0, 0.0], [2.0, 2.0, 2.0])
    1.0
    """
    s, h = finite("slopes", slopes), finite("curvatures", curvatures)
    if s.ndim != 1 or s.shape != h.shape:
        raise ValueError(f"slopes and curvatures must be two sequences of one length, got {s.shape} and {h.shape}.")
    if (h < 0).any():
        raise ValueError("curvatures must be at least 0.")
    total = np.cumsum(h)
    if (s[total == 0] != 0).any():
        return math.inf
    return float((np.square(s[total > 0]) / (2 * total[total > 0])).sum())


def mix_regret(horizon: int, gradient_bound: float, distance: float, least_distance: float) -> float:
    """Return the bound on the regret of following one rival, against the best fixed share: ((G + 2D) D)² (1 + log T) / 4m².

    Parameters
    ----------
    horizon
        T.
    gradient_bound
        G, a bound on gradients where the rival is met.
    distance, least_distance
        D and m: how far the rival's play is away, at most and at least.

    Examples
    --------
    >>> round(mix_regret(horizon=10_000, gradient_bound=2.0, distance=1.0, least_distance=1.0), 1)
    40.8
    """
    slope = (at_least_zero("gradient_bound", gradient_bound) + 2 * positive("distance", distance)) * distance
    if positive("least_distance", least_distance) > distance:
        raise ValueError(f"least_distance must be at most distance ({distance}), got {least_distance!r}.")
    return slope**2 * (1 + math.log(count("horizon", horizon))) / (4 * least_distance**2)
