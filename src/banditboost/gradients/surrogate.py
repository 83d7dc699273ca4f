"""A leave-one-out model of the round's loss as control variate: less variance from the same queries.

All N queries of a round evaluate the *same* convex function. For copy i a small model q_{-i} is fitted to the other answers,
and only the part of the loss that it does not explain adds variance:

    g_i = (d/δ) · (loss_i - q_{-i}(z_i)) · v_i + ∇q_{-i}(y^{i-1}),          z_i = y^{i-1} + δ v_i

Every play is fixed before any answer of the round, so given the history v_i is independent of q_{-i}; and for a quadratic q the
sphere estimator of q has the expectation ∇q exactly. Hence g_i has the same expectation as the one-point estimator, the gradient of
the ball-averaged loss, and a variance that shrinks to that of the noise where q fits. It needs no additional query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from banditboost._core.checks import Array, one_of, positive
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe
from banditboost.gradients.jackknife import LEVEL_RIDGE, leave_one_out
from banditboost.gradients.sphere import Control, Sphere
from banditboost.spaces import Space


@dataclass(frozen=True)
class Model(Sphere):
    """Base class of the gradients that fit a small model to the answers of a round."""

    model: Literal["auto", "level", "linear", "isotropic", "diagonal"] = "auto"
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("model", self.model, ("auto", "level", "linear", "isotropic", "diagonal"))
        positive("ridge", self.ridge)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give every model, with more answers than the model has coefficients."""
        return (cls(0.2), cls(0.2, model="linear"), *(cls(0.2, queries=5, model=m) for m in ("isotropic", "diagonal")))

    def model_kind(self, expected: float, dimension: int) -> str:
        """Return the kind of model for the expected number of answers, which are a few more than its coefficients."""
        if self.model != "auto":
            return self.model
        return "isotropic" if expected >= dimension + 4 else "linear" if expected >= dimension + 2 else "level"

    def compiled_fit(self, copies: int, space: Space, expected: float) -> Any:
        """Return the form of the model."""
        from banditboost._compiled.models import empty_fit

        kind, total = self.model_kind(expected, space.rank), copies * self.queries
        return empty_fit(kind, self.ridge, LEVEL_RIDGE, total, space.size)

    def in_tangent(self, slopes: Array, space: Space) -> Array:
        """Return the part of slopes, shape (D, size), that lies in the space's tangent space."""
        if space.rank == space.size:
            return slopes
        return space.tangent(slopes.reshape(-1, *space.shape)).reshape(len(slopes), -1)


@dataclass(frozen=True)
class Surrogate(Model, kind="gradients.Surrogate"):
    """The one-point estimator with a leave-one-out quadratic as control variate: unbiased for the same smoothed gradient.

    With two answers a round or more, a constant that is added to all losses changes no gradient.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`.
    model
        The kind of model: ``"level"`` (a constant), ``"linear"``, ``"isotropic"`` (one curvature for all coordinates),
        ``"diagonal"``, or ``"auto"``: the richest of the first three that the answers of a round can determine.
    ridge
        Ridge penalty on slopes and curvatures, for features scaled by δ and the spread of the anchors.
    limit
        Largest distance of a model, within δ of its anchor, from the mean of the other answers, in units of their range. A model
        that goes farther is scaled down towards the mean. With at least two answers that differ by at most R,
        ‖g_i‖ ≤ (d (1 + limit) + limit) R/δ.
    centred
        True: the model is fitted to answers less the mean of the others, so that a constant that is added to all losses changes
        no gradient. False: to the answers as they are, as in boosters of earlier versions, whose files lack this field.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), Surrogate(delta=0.5)
    >>> anchors = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 0.5, 0.0])
    >>> probe = gradient.probe(anchors, space, {"directions": np.random.default_rng(0)})
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).round(1).tolist()
    [-4.0, -3.0, -2.0, -1.0, 0.0, -1.0, -2.0]
    """

    limit: float = 10.0
    centred: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("limit", self.limit)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give every model, and one that is fitted to the answers as they are."""
        return (*super().examples(), cls(0.2, centred=False))

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return, for every answer, the model fitted to all other answers."""
        total = len(answers)
        directions = probe.directions.reshape(total, -1)
        anchors = np.repeat(probe.anchors, self.queries, axis=0).reshape(total, -1)
        shape = self.model_kind(expected, space.rank)
        points = anchors + self.delta * directions
        fit = leave_one_out(
            anchors, points, answers[:, 0], probe.chosen, self.delta, shape, self.ridge, self.limit, self.centred
        )
        return Control(fit.values, self.in_tangent(fit.slopes, space))

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.models`."""
        from banditboost._compiled import models

        return models.LeaveOneOut(
            fit=self.compiled_fit(copies, space, expected),
            limit=self.limit,
            exactly=exactly,
            centred=self.centred,
            space=space.compiled_form(),
            values=np.empty(copies * self.queries),
            slopes=np.empty((copies * self.queries, space.size)),
        )
