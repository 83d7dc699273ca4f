"""The slope of a model of the round's loss, fitted to all answers of the round: biased, with a very small variance.

All N queries of a round evaluate the same convex function. Where a quadratic q describes it well, as for squared losses, its slope

    g_i = ∇q(y^{i-1}),          q fitted to (z_k, loss_k), k = 1 ... N

is the gradient, with the noise of N answers averaged. `Surrogate` leaves out each copy's own answer and corrects by it, which makes
it unbiased for every loss and costs (d/δ) times the noise of that answer. `Fitted` does not rely on symmetry about the anchor, so
that queries may simply be projected on the space, and plays need not keep a distance δ from its border.

Bias: with the misfit r = ℓ - q, E[g_i] - ∇ℓ(y^{i-1}) = -∇r(y^{i-1}) up to the effect of the ridge. For a quadratic loss r is zero.
For quantile losses it is not: predicted quantiles come out too extreme (docs/feedback.md counts by how much).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe, Questions, Streams, carried
from banditboost.gradients.jackknife import fit_all
from banditboost.gradients.sphere import Control
from banditboost.gradients.surrogate import Model
from banditboost.spaces import Space

FLAT = 1e-9
"""Answer ranges below this fraction of the largest absolute answer are treated as zero."""
NOTHING = 1e-140
"""Answer ranges below this are treated as zero, because their squares underflow."""
ENOUGH = 5
"""Smallest expected number of answers in a round for which the model has a curvature."""


@dataclass(frozen=True)
class Fitted(Model, kind="gradients.Fitted"):
    """Gradients of a quadratic fitted to the round's answers.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`; queries outside the space are projected on it.
    model
        As for `Surrogate`, except that ``"auto"`` is isotropic for five answers or more in a round and linear for fewer. The ridge
        makes the solution unique, so that there may be fewer answers than coefficients.
    ridge
        As for `Surrogate`. The best value grows with the noise and with the number of slopes: it is about rank/250 where there are
        about as many answers as coefficients.
    scaled
        True: gradients are multiplied by 2/h, where h is the mean curvature of the models so far, as if the loss were a squared
        distance in any units. The steps of learners that assume the curvature 2 then suit every loss. h is at least the size of the
        slopes over the diameter D of the space, so that linear losses have a scale too, and no gradient is longer than 2D.

    References
    ----------
    Conn, Scheinberg, Vicente (2009), "Introduction to derivative-free optimization", Chapter 4: regression models and the errors of
    their gradients.

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
        """Give every model, and one that is scaled."""
        return (*super().examples(), cls(0.2, scaled=True))

    def model_kind(self, expected: float, dimension: int) -> str:
        """Return "isotropic" for `ENOUGH` expected answers or more, else "linear"; never "level", which has no slope."""
        if self.model != "auto":
            return self.model
        return "isotropic" if expected >= ENOUGH else "linear"

    @property
    def reach(self) -> float:
        """Zero: queries are projected on the space, so that anchors may lie anywhere in it."""
        return 0.0

    def directions(self, space: Space, rng: np.random.Generator, n: int) -> Array:
        """Draw from the unit ball, not from its surface, which in one dimension has two points: too few to see a curvature.

        The first r coordinates of a uniform direction in r + 2 dimensions are uniform in the ball.
        """
        normal = rng.standard_normal((n, space.size + 2))
        inside = space.tangent(normal[:, :-2].reshape(n, *space.shape)).reshape(n, -1)
        lengths = np.sqrt(np.square(inside).sum(axis=1) + np.square(normal[:, -2:]).sum(axis=1))
        return np.asarray(inside / lengths[:, np.newaxis]).reshape(n, *space.shape)

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Choose queries within δ of each anchor, and project them on the space."""
        probe = super().probe(anchors, space, streams)
        return probe._replace(queries=space.project(probe.queries))

    def start(self, copies: int, space: Space) -> Memory:
        """Return the diameter, and sums over rounds of 1/R, h/R and s/R: R is a round's answer range, s the size of its slopes."""
        return {"scale": np.array([0.0, 0.0, 0.0, space.diameter])} if self.scaled else {}

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return the slopes of one model fitted to all answers; the answers themselves as values leave nothing else."""
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

    @property
    def moves(self) -> bool:
        """True where gradients are scaled: they have the curvature 2 then."""
        return self.scaled

    def estimate_at(self, path: Array, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Carry the gradients to the new anchors."""
        return carried(self.estimate(answers, probe, space, memory), probe, path[:-1], space)

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Add this round's curvature and slopes to the sums, where gradients are scaled."""
        if self.scaled:
            full = np.zeros(len(probe.directions))
            full[probe.chosen] = answers
            memory["scale"][:] = _counted(memory["scale"], *self.fit(full, probe, space, len(answers)), answers)

    def resize(self, memory: Memory, old: Space, new: Space) -> None:
        """Note the new diameter."""
        if self.scaled:
            memory["scale"][3] = new.diameter

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
        """Return the form in `banditboost._compiled.fitted`: how likely a direction was asked about does not matter."""
        from banditboost._compiled.fitted import Fitted as Form

        form = space.compiled_form()
        sphere = super().compiled_sphere(copies, space, memory, questions)._replace(space=form)
        fit = self.compiled_fit(copies, space, copies * self.queries if expected is None else expected)
        return Form(sphere, fit, form, memory.get("scale", np.empty(0)), FLAT)


def _counted(scale: Array, slopes: Array, curvature: float, answers: Array) -> Array:
    """Return the sums over rounds with this round added.

    The weight of a round falls with the range of its answers, so that one outlier among the losses does not set the scale for long.
    A round whose answers are equal up to rounding adds nothing.
    """
    spread = float(np.ptp(answers)) if len(answers) else 0.0
    if not spread > max(FLAT * float(np.abs(answers).max(initial=0.0)), NOTHING):
        return scale
    size = float(np.sqrt(np.square(slopes / spread).sum(axis=1).mean()))
    return np.asarray(scale + np.array([1 / spread, curvature / spread, size, 0.0]))


def _rescaled(slopes: Array, scale: Array) -> Array:
    """Return slopes times 2/h, clipped to length 2D, the steepest slope of a squared distance within the space."""
    weight, curved, sized, diameter = scale
    if not weight > 0:
        return np.zeros_like(slopes)
    curvature = max(curved, sized / diameter) / weight
    scaled = (2.0 / curvature) * slopes
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return np.asarray(scaled * np.minimum(1.0, 2 * diameter / np.maximum(lengths, 2 * diameter)))
