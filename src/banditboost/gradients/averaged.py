"""Stochastic gradients averaged along the chain: each copy learns from a running mean of the gradients before it.

d^k = (1-ρ_k) d^{k-1} + ρ_k g(x^k),   d^0 = 0,   ρ_k = 2/(k+3)^{2/3}
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.chains.convex_hull import Harmonic, Walk, walk
from banditboost.gradients.base import Probe
from banditboost.gradients.exact import Told
from banditboost.spaces import Space


@dataclass(frozen=True)
class Averaged(Told, kind="gradients.Averaged"):
    """One stochastic gradient per copy, averaged over the copies before it: biased, but with a small variance late in the chain.

    Parameters
    ----------
    weights
        ρ_k, the weights of the averages; by default those of the source.

    References
    ----------
    Chen, Harshaw, Hassani, Karbasi (2018), "Projection-free online optimization with stochastic gradient", Algorithm 1
    (Meta-Frank-Wolfe), with the averaging of Mokhtari, Hassani, Karbasi (2018).

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> probe = Averaged().probe(np.zeros(4), Interval(), {})
    >>> Averaged().estimate(np.ones(4), probe, Interval(), {}).round(3).tolist()
    [0.794, 0.935, 0.974, 0.988]
    """

    weights: Harmonic = field(default_factory=lambda: Harmonic(2.0, 3.0, 2 / 3))

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return the running averages along the chain."""
        return walk(answers, np.zeros(space.shape), Walk(self.weights.lengths(len(answers))))
