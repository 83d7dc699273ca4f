"""The slope of a model of the round's loss, fitted to all of its answers: biased, and of very small variance.

All N queries of a round look at the same convex function. Where a quadratic q describes it well, as for the squared loss, its slope

    g_i = ∇q(y^{i-1}),          q fitted to (z_k, loss_k), k = 1 ... N

is the gradient, and the noise of N answers is averaged in it. `Surrogate` leaves out each copy's own answer and corrects by it:
that makes it unbiased for every loss, and costs (d/δ) times the noise of that answer. Since nothing here hangs on symmetry about
the anchor, queries may simply be projected on the space: plays need not keep a distance δ from its border.

Bias: with r = ℓ - q the misfit, g_i - ∇ℓ(y^{i-1}) = -∇r(y^{i-1}) on average, up to ridge; zero for a quadratic loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from banditboost.gradients.base import Probe, Streams
from banditboost.gradients.jackknife import fit_all
from banditboost.gradients.sphere import Control
from banditboost.gradients.surrogate import Model
from banditboost.require import Array
from banditboost.spaces import Space
from banditboost.spec import Memory

ENOUGH = 5
"""So many answers and a model has a curvature."""


@dataclass(frozen=True)
class Fitted(Model):
    """Gradients of a quadratic fitted to the round's answers.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`; queries beyond the space's border are projected on it.
    model
        As for `Surrogate`, but for ``"auto"``: isotropic from five answers a round on, linear below. The ridge settles what
        answers leave open, so that they may be fewer than coefficients.
    ridge
        As for `Surrogate`. The best grows with the noise, and with the number of slopes that share what one loss can vary
        by: about rank/250 where answers are about as many as coefficients.

    References
    ----------
    Conn, Scheinberg, Vicente (2009), "Introduction to derivative-free optimization", Chapter 4: regression models and how far their
    gradients are off.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-1, 1), Fitted(delta=0.5)
    >>> anchors = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 0.5])
    >>> probe = gradient.probe(anchors, space, {"directions": np.random.default_rng(0)})
    >>> probe.queries.tolist()
    [-0.5, -1.0, -0.5, 0.0, 1.0, 1.0]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).round(1).tolist()
    [-4.0, -3.0, -2.0, -1.0, -0.0, -1.0]
    """

    unbiased: ClassVar[bool] = False

    def shape(self, expected: float, dimension: int) -> str:
        """Never a level, which has no slope; a curvature as soon as one number's own slope and curvature can be told apart."""
        if self.model != "auto":
            return self.model
        return "isotropic" if expected >= ENOUGH else "linear"

    @property
    def reach(self) -> float:
        """Queries are projected: anchors may lie anywhere."""
        return 0.0

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Step δ from each anchor, but not out of the space."""
        probe = super().probe(anchors, space, streams)
        return probe._replace(queries=space.project(probe.queries))

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Fit once, to all answers; nothing is left to chance."""
        total = len(answers)
        anchors = np.repeat(probe.anchors, self.queries, axis=0).reshape(total, -1)
        points = anchors.copy()
        points[probe.chosen] = probe.queries.reshape(int(probe.chosen.sum()), -1)
        shape = self.shape(expected, space.rank)
        slopes = fit_all(anchors, points, answers[:, 0], probe.chosen, self.delta, shape, self.ridge)
        return Control(answers[:, 0], self.in_tangent(slopes, space))
