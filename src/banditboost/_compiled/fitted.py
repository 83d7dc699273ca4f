"""The slope of one model of all of a round's answers, compiled (`banditboost.gradients.Fitted`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.gradients import Sphere, ask, estimate
from banditboost._compiled.jit import inlined
from banditboost._compiled.models import Fit, bend, fit, mean_answer, place, slope_at
from banditboost._compiled.spaces import tangent
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk, Round


class Fitted(NamedTuple):
    """The slope of the model of all answers (`banditboost.gradients.Fitted`)."""

    sphere: Sphere
    fit: Fit
    space: Any
    scale: Array
    """Sums over rounds and the diameter, changed in place, shape (4,); empty where gradients are not scaled."""
    flat: float
    """Answers that differ by less than this share of the largest are taken to be the same."""


@implements(estimate, Fitted)
def estimate_by_fit(gradient: Fitted, t: int, d: int, it: Round, desk: Desk) -> None:
    """Fit once, to all answers, and take the slopes at the anchors."""
    ask(t, d, gradient.sphere, it, desk)
    model = gradient.fit
    scale = place(d, desk.anchors, gradient.sphere.delta, model)
    fit(t, d, gradient.sphere, scale, mean_answer(t, gradient.sphere.chosen, gradient.sphere.answers), model)
    for i in range(desk.anchors.shape[0]):
        for j in range(d):
            desk.G[i, j] = slope_at(model, 0, d, j, scale, desk.anchors, i) / scale
        tangent(gradient.space, desk.G, i, d)
    if len(gradient.scale) > 0:
        curvature = 0.0
        for j in range(d):
            curvature += bend(model.kind, model.theta, 0, d, j) / (scale * scale * d)
        rescale(t, d, curvature, gradient, desk.G)


@inlined
def rescale(t: int, d: int, curvature: float, gradient: Fitted, G: Array) -> None:
    """Count this round in, then multiply slopes by 2/h, none to be longer than 2D (`banditboost.gradients.fitted`)."""
    scale, answers, longest = gradient.scale, gradient.sphere.answers, 2.0 * gradient.scale[3]
    total, high, low = 0.0, -math.inf, math.inf
    for q in range(answers.shape[0]):
        if gradient.sphere.chosen[t, q]:
            high, low = max(high, answers[q, 0]), min(low, answers[q, 0])
    spread = high - low
    if spread > gradient.flat * max(abs(high), abs(low)):
        for i in range(G.shape[0]):
            for j in range(d):
                total += (G[i, j] / spread) ** 2
        scale[0] += 1.0 / spread
        scale[1] += curvature / spread
        scale[2] += math.sqrt(total / G.shape[0])
    factor = 0.0
    if scale[0] > 0.0:
        factor = 2.0 * scale[0] / max(scale[1], scale[2] / scale[3])
    for i in range(G.shape[0]):
        length = 0.0
        for j in range(d):
            G[i, j] *= factor
            length += G[i, j] ** 2
        if length > longest * longest:
            for j in range(d):
                G[i, j] *= longest / math.sqrt(length)
