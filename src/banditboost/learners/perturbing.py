"""How much to perturb a leader: a scale that grows as far as plays have been seen to change.

With perturbations q_0, q_1, ... that are added one after the other, F_t = G_{t-1} + Σ q_k, and plays x_t that need not be exact,

    Σ_t g_t·x_t - G_T·x*  <=  Σ_k (q_k·x* - min_x q_k·x)  +  Σ_t d_t  +  ε,     d_t = (F_t + g_t)·(x_t - x_{t+1}) >= 0,

on every sequence, where ε is what the last play misses: a sum by parts. d_t, what the next play saves over the last one after
round t, is known for nothing, and is large only where the leader changes. A perturbation is added where the d_t since the last
one add up to the price of that one, s·W with the Gaussian width W of the set; `banditboost.theory.fpl_adaptive_regret` has the
proof that this is never much dearer than the scale that theory prescribes, and needs neither σ nor T.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces import Space

MOST_TIMES = 2.0**1000
"""Scales grow by at most so many times at once, where gradients were next to nothing before."""
FIRST = 1 / 64
"""Price s·W of the first perturbation over that of the first gradient, ‖g‖·D: small, since scales grow fast and never shrink."""


def first_scales(gradients: Array, copies: Iterable[int], space: Space) -> dict[int, float]:
    """Return the first scales of some copies, by their first gradients; copies whose gradient is zero are left out.

    A copy's gradient depends on the copies before it and not on its own perturbation, so that its first scale does not either.
    """
    result = {}
    for i in map(int, copies):
        gradient = gradients[i]
        largest = float(np.abs(gradient).max())
        if largest > 0:
            length = largest * float(np.linalg.norm(gradient / largest))
            result[i] = FIRST * length * space.diameter / space.gaussian_width
    return result


def next_scales(scales: Array, saved: Array, space: Space) -> Array:
    """Return the scales of the next plays: doubled until they pay for what later plays have saved over earlier ones."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = saved / (scales * space.gaussian_width)
        doublings = np.where(ratios > 1, np.ceil(np.log2(np.minimum(ratios, MOST_TIMES))), 0.0)
    return np.asarray(scales * 2.0 ** np.maximum(doublings, 0.0))
