"""Gradients from loss values alone: the sphere estimator.

A noisy value ℓ̃ at y + δv, for a random unit vector v, gives

    g = (d/δ) · ℓ̃(y + δv) · v,          E[g] = ∇ℓ̂(y),   ℓ̂(y) = E[ℓ(y + δu)], u uniform in the unit *ball*

by Stokes' theorem: the gradient of an integral over a ball is an integral of ℓ·v over its sphere. In one dimension
E[g] = (ℓ(y+δ) - ℓ(y-δ)) / 2δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe, Questions
from banditboost.gradients.sphere import Control, Sphere
from banditboost.spaces import Space


@dataclass(frozen=True)
class OnePoint(Sphere, kind="gradients.OnePoint"):
    """The one-point sphere estimator at every anchor, averaged over `queries` independent directions.

    Parameters
    ----------
    delta
        Distance δ of the queries from the anchors. A small δ has a small bias, but the variance grows like 1/δ².
    queries
        Queries per copy: one in Algorithm 2, N for the only copy of the N-FKM baseline.

    References
    ----------
    Flaxman, Kalai, McMahan (2005), Lemma 2.1; Brukhim, Hazan (2020), Algorithm 2, lines 8-10.

    Examples
    --------
    >>> import numpy as np
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), OnePoint(delta=0.5)
    >>> probe = gradient.probe(np.zeros(4), space, {"directions": np.random.default_rng(0)})
    >>> probe.queries.tolist()
    [0.5, -0.5, -0.5, -0.5]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).tolist()
    [0.5, -4.5, -4.5, -4.5]
    """

    @classmethod
    def examples(cls) -> tuple[OnePoint, ...]:
        """Give one query per copy, and several."""
        return (cls(0.2), cls(0.2, queries=3))

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return no control variate."""
        return Control()

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import Nothing

        return Nothing()

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return a form without any choice in it, which is quicker than that of a control variate that is zero."""
        from banditboost._compiled.gradients import OnePoint as Form

        if self.queries > 1:
            return super().compiled_form(copies, space, memory, questions)
        directions, noise = (np.ascontiguousarray(drawn, float) for drawn in (questions.directions, questions.noise))
        return Form(directions, noise, self.delta, space.rank / self.delta)
