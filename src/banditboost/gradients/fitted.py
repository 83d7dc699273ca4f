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
from typing import Any, ClassVar, Self

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe, Questions, Streams
from banditboost.gradients.jackknife import fit_all
from banditboost.gradients.sphere import Control
from banditboost.gradients.surrogate import Model
from banditboost.spaces import Space

FLAT = 1e-9
"""Answers that differ by less, relatively, are taken to be the same."""
NOTHING = 1e-140
"""Nor do answers that differ by less than this differ: its square is no number."""
ENOUGH = 5
"""So many answers and a model has a curvature."""


@dataclass(frozen=True)
class Fitted(Model, kind="gradients.Fitted"):
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
    scaled
        Whether gradients are multiplied by 2/h, with h a mean curvature of the models so far: as if the loss were a squared
        distance, whatever its units. Steps of learners that know the curvature 2 then fit every loss. h is taken to be at least the
        size of slopes over the diameter D of the space, so that linear losses have a scale too, and no gradient is longer than 2D.

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
    >>> probe.queries.round(2).tolist()
    [-0.91, -0.42, 0.37, 0.05, 0.56, 0.12]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).round(1).tolist()
    [-4.0, -3.0, -2.0, -1.0, -0.1, -1.0]
    """

    scaled: bool = False

    unbiased: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Those of every model, and one that is scaled."""
        return (*super().examples(), cls(0.2, scaled=True))

    def model_kind(self, expected: float, dimension: int) -> str:
        """Never a level, which has no slope; a curvature as soon as one number's own slope and curvature can be told apart."""
        if self.model != "auto":
            return self.model
        return "isotropic" if expected >= ENOUGH else "linear"

    @property
    def reach(self) -> float:
        """Queries are projected: anchors may lie anywhere."""
        return 0.0

    def directions(self, space: Space, rng: np.random.Generator, n: int) -> Array:
        """Draw from the ball, not from its surface: on the line two distances would not tell a slope from a bend.

        The first r coordinates of a uniform direction in r + 2 dimensions are uniform in the ball.
        """
        normal = rng.standard_normal((n, space.size + 2))
        inside = space.tangent(normal[:, :-2].reshape(n, *space.shape)).reshape(n, -1)
        lengths = np.sqrt(np.square(inside).sum(axis=1) + np.square(normal[:, -2:]).sum(axis=1))
        return np.asarray(inside / lengths[:, np.newaxis]).reshape(n, *space.shape)

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Step δ from each anchor, but not out of the space."""
        probe = super().probe(anchors, space, streams)
        return probe._replace(queries=space.project(probe.queries))

    def start(self, copies: int, space: Space) -> Memory:
        """Σ 1/R, Σ h/R and Σ s/R over rounds, R being the range of a round's answers and s the size of its slopes; the diameter."""
        return {"scale": np.array([0.0, 0.0, 0.0, space.diameter])} if self.scaled else {}

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Fit once, to all answers; nothing is left to chance."""
        slopes, curvature = self.fit(answers[:, 0], probe, space, expected)
        if self.scaled:
            slopes = _rescaled(slopes, _counted(memory["scale"], slopes, curvature, answers[probe.chosen, 0]))
        return Control(answers[:, 0], slopes)

    def fit(self, answers: Array, probe: Probe, space: Space, expected: float) -> tuple[Array, float]:
        """Return slopes at the anchors, shape (D, size), and the curvature."""
        total = len(answers)
        anchors = np.repeat(probe.anchors, self.queries, axis=0).reshape(total, -1)
        points = anchors.copy()
        points[probe.chosen] = probe.queries.reshape(int(probe.chosen.sum()), -1)
        shape = self.model_kind(expected, space.rank)
        slopes, curvature = fit_all(anchors, points, answers, probe.chosen, self.delta, shape, self.ridge)
        return self.in_tangent(slopes, space), curvature

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Note curvature and slopes."""
        if self.scaled:
            full = np.zeros(len(probe.directions))
            full[probe.chosen] = answers
            memory["scale"][:] = _counted(memory["scale"], *self.fit(full, probe, space, len(answers)), answers)

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import Nothing

        return Nothing()

    def compiled_sphere(
        self,
        copies: int,
        space: Space,
        memory: Memory,
        questions: Questions,
        chance: float = 1.0,
        exactly: bool = False,
        expected: float | None = None,
    ) -> Any:
        """Return the form in `banditboost._compiled.models`: how likely a direction was asked about does not matter."""
        from banditboost._compiled import models

        form = space.compiled_form()
        sphere = super().compiled_sphere(copies, space, memory, questions)._replace(space=form)
        fit = self.compiled_fit(copies, space, copies * self.queries if expected is None else expected)
        return models.Fitted(sphere, fit, form, memory.get("scale", np.empty(0)), FLAT)


def _counted(scale: Array, slopes: Array, curvature: float, answers: Array) -> Array:
    """Return the sums with this round counted in.

    Rounds weigh the less the more their answers differ: one outlier among the losses must not set the scale for long. A
    round whose answers are all the same, up to rounding, has none.
    """
    spread = float(np.ptp(answers)) if len(answers) else 0.0
    if not spread > max(FLAT * float(np.abs(answers).max(initial=0.0)), NOTHING):
        return scale
    size = float(np.sqrt(np.square(slopes / spread).sum(axis=1).mean()))
    return np.asarray(scale + np.array([1 / spread, curvature / spread, size, 0.0]))


def _rescaled(slopes: Array, scale: Array) -> Array:
    """Return slopes times 2/h, none longer than 2D: no squared distance within the space has a steeper slope."""
    weight, curved, sized, diameter = scale
    if not weight > 0:
        return np.zeros_like(slopes)
    curvature = max(curved, sized / diameter) / weight
    scaled = (2.0 / curvature) * slopes
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return np.asarray(scaled * np.minimum(1.0, 2 * diameter / np.maximum(lengths, 2 * diameter)))
