"""The same queries, used better: a jackknifed model of the round's loss as control variate.

All N queries of a round look at the *same* convex function. For copy i a small model q_{-i} is fitted to the other answers,
and only what it does not explain is left to chance:

    g_i = (d/δ) · (loss_i - q_{-i}(z_i)) · v_i + ∇q_{-i}(y^{i-1}),          z_i = y^{i-1} + δ v_i

Every play is fixed before any answer of the round, so given the history v_i is independent of q_{-i}; and for a quadratic q the
sphere estimator of q has mean ∇q exactly. Hence g_i has the same mean as the one-point estimator, the gradient of the
ball-averaged loss, and a variance that shrinks to the noise where q fits. It costs no query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from banditboost.gradients.base import Probe
from banditboost.gradients.jackknife import leave_one_out
from banditboost.gradients.one_point import OnePoint
from banditboost.require import Array, one_of, positive
from banditboost.spaces import Space


@dataclass(frozen=True)
class Surrogate(OnePoint):
    """The one-point queries with a jackknifed quadratic as control variate: unbiased for the same smoothed gradient.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`.
    model
        Curvature of the model: ``"none"`` (linear), ``"isotropic"`` (one curvature for all coordinates), ``"diagonal"``, or
        ``"auto"``: isotropic where the answers outnumber its d + 2 coefficients by a few, else linear.
    ridge
        Penalty on slopes and curvatures, in units of features scaled by δ and the spread of the anchors.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), Surrogate(delta=0.5)
    >>> probe = gradient.probe(np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 0.5, 0.0]), space, np.random.default_rng(0))
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, copies=7).round(1).tolist()
    [-4.0, -3.0, -2.0, -1.0, 0.0, -1.0, -2.0]
    """

    model: Literal["auto", "none", "isotropic", "diagonal"] = "auto"
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("model", self.model, ("auto", "none", "isotropic", "diagonal"))
        positive("ridge", self.ridge)

    @classmethod
    def examples(cls) -> tuple[Surrogate, ...]:
        """Every model."""
        return (cls(0.2), cls(0.2, queries=3), cls(0.2, model="none"), cls(0.2, model="diagonal"))

    def estimate(self, answers: Array, probe: Probe, space: Space, copies: int) -> Array:
        """Fit to all answers but one, for every answer, and average over the queries of each copy."""
        total = len(answers)
        if total == 1:  # nobody else to learn from
            return super().estimate(answers, probe, space, copies)
        points, directions = probe.queries.reshape(total, -1), probe.directions.reshape(total, -1)
        # Centre and scale come from the anchors, which are known before the directions are drawn; not from the queries.
        anchors = points - self.delta * directions
        fit = leave_one_out(points, answers, anchors, self.delta, self.curvature(total, space.rank), self.ridge)
        slopes = fit.slopes if space.rank == space.size else space.tangent(fit.slopes.reshape(-1, *space.shape))
        gradients = (space.rank / self.delta) * fit.surprises[:, np.newaxis] * directions + slopes.reshape(total, -1)
        return np.asarray(gradients.reshape(copies, self.queries, *space.shape).mean(axis=1))

    def curvature(self, answers: int, dimension: int) -> str:
        """Return the model's curvature for so many answers."""
        if self.model != "auto":
            return self.model
        return "isotropic" if answers >= dimension + 4 else "none"
