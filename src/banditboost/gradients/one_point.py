"""Gradients from loss values alone: the sphere estimator.

Asked at y + δv for a random unit vector v, a noisy value ℓ̃ gives

    g = (d/δ) · ℓ̃(y + δv) · v,          E[g] = ∇ℓ̂(y),   ℓ̂(y) = E[ℓ(y + δu)], u uniform in the unit *ball*

since the flow of ℓ through the sphere is the gradient of its mass in the ball. On the line E[g] = (ℓ(y+δ) - ℓ(y-δ)) / 2δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from banditboost import require
from banditboost.gradients.base import Gradient, Probe
from banditboost.require import Array
from banditboost.spaces import Space


@dataclass(frozen=True)
class OnePoint(Gradient):
    """The one-point sphere estimator at every anchor, averaged over `queries` independent directions.

    Parameters
    ----------
    delta
        Distance δ of the queries from the anchors. Small δ follows the loss closely; the variance grows like 1/δ².
    queries
        Queries per copy. Algorithm 2 asks one; the N-FKM baseline asks N for its only copy.

    References
    ----------
    Flaxman, Kalai, McMahan (2005), Lemma 2.1; Brukhim, Hazan (2020), Algorithm 2, lines 8-10.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), OnePoint(delta=0.5)
    >>> probe = gradient.probe(np.zeros(4), space, np.random.default_rng(0))
    >>> probe.queries.tolist()
    [0.5, -0.5, -0.5, -0.5]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, copies=4).tolist()
    [0.5, -4.5, -4.5, -4.5]
    """

    delta: float = 0.5
    queries: int = 1

    asks: ClassVar[Literal["values", "gradients"]] = "values"

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive("delta", self.delta)
        require.count("queries", self.queries)

    @classmethod
    def examples(cls) -> tuple[OnePoint, ...]:
        """One query a copy, and several."""
        return (cls(0.2), cls(0.2, queries=3))

    @property
    def reach(self) -> float:
        """Queries lie on a sphere of radius δ."""
        return self.delta

    def count(self, copies: int) -> int:
        """`queries` per copy."""
        return copies * self.queries

    def probe(self, anchors: Array, space: Space, rng: np.random.Generator) -> Probe:
        """Step δ from each anchor in random directions of the space's tangent."""
        total = self.count(len(anchors))
        directions = space.directions(rng, total)
        queries = np.repeat(anchors, self.queries, axis=0) + self.delta * directions
        return Probe(queries, directions, np.arange(total))

    def estimate(self, answers: Array, probe: Probe, space: Space, copies: int) -> Array:
        """Average (d/δ)·value·direction over the queries of each copy."""
        ones = (1,) * len(space.shape)
        scaled = (space.rank / self.delta) * answers.reshape(-1, *ones) * probe.directions
        return np.asarray(scaled.reshape(copies, self.queries, *space.shape).mean(axis=1))
