"""Recursive gradients: each copy corrects the previous copy's estimate by the change of one sample's gradient along its step.

d^1 = g(x^1, ξ^1),   d^k = g(x^k, ξ^k) + (1-ρ_k)(d^{k-1} - g(x^{k-1}, ξ^k)),   ρ_k = 1/(k+1)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.chains.convex_hull import Harmonic, Walk, walk
from banditboost.gradients.base import Probe, Streams
from banditboost.gradients.exact import Told
from banditboost.spaces import Space


@dataclass(frozen=True)
class Recursive(Told, kind="gradients.Recursive"):
    """Two gradients per copy with the *same* sample, at its own anchor and at the previous copy's: 2N-1 in all.

    Queries with equal `draws` must be answered from the same sample. Noise that is only added to the gradients would cancel.

    Parameters
    ----------
    weights
        ρ_k, the weights of the recursion; by default those of the source.

    References
    ----------
    Xie, Shen, Zhang, Wang, Qian (2020), "Efficient projection-free online methods with stochastic recursive gradient",
    Algorithm 2 (MORGFW).

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> Recursive().probe(np.array([0.0, 0.5, 0.7]), Interval(), {}).draws.tolist()
    [0, 1, 2, 1, 2]
    """

    weights: Harmonic = field(default_factory=lambda: Harmonic(1.0, 1.0))

    def count(self, copies: int) -> int:
        """Return two queries per copy, except one for the first copy."""
        return 2 * copies - 1

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Query every anchor, and again the anchor before it with the same sample."""
        own, nothing = np.arange(len(anchors)), np.empty((0, *space.shape))
        queries, draws = np.concatenate([anchors, anchors[:-1]]), np.concatenate([own, own[1:]])
        return Probe(queries, nothing, draws, anchors, np.ones(0, dtype=np.bool_))

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Unroll the recursion, which is a chain with steps ρ_k towards (g(x^k) - (1-ρ_k) g(x^{k-1})) / ρ_k."""
        copies = len(probe.anchors)
        lengths = self.weights.lengths(copies)
        lengths[0] = 1.0
        ones = (1,) * len(space.shape)
        rho = lengths[1:].reshape(-1, *ones)
        towards = answers[:copies].copy()
        towards[1:] = (answers[1:copies] - (1 - rho) * answers[copies:]) / rho
        return walk(towards, np.zeros(space.shape), Walk(lengths))
