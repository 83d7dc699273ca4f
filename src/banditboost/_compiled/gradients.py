"""How answers become gradients, compiled: gradients that are given, and estimates from loss values (`banditboost.gradients`).

Directions, noise and who asks come in as arrays that the plain path's own parts have drawn. From values, g = (d/δ)(answer - c)v + s
for every direction v about an anchor, where c is a control variate and s its slope: what c is, each estimator says for itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.jit import called, inlined, loop
from banditboost._compiled.lanes import ABREAST, MOST, add, add_product, load, numbers, spread, store, times
from banditboost._compiled.losses import slope, value, value_on_the_line, values_abreast
from banditboost._compiled.spaces import project
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk, Round


WINDOW = 300.0
"""Rounds over which the curvature of given gradients is averaged."""
OUTLYING = 30.0
"""Gradients count up to so many times their usual size."""
VANISHED, EARLY = 1e-12, 30.0
"""Where squared gradients become a smaller share than this of those in the first rounds, all is forgotten that was seen before."""


@operation
def estimate(gradient: Any, t: int, d: int, it: Round, desk: Desk) -> None:
    """Ask about round t and fill desk.G with the gradients at desk.anchors; write the mean loss at the queries to it.paid[t]."""


class Given(NamedTuple):
    """Gradients that the world hands over."""

    noise: Array
    """Shape (T, N, d); empty where gradients are exact."""


@implements(estimate, Given)
def take(gradient: Given, t: int, d: int, it: Round, desk: Desk) -> None:
    """Take the gradients at the anchors, with noise added where there is any."""
    charged, copies = 0.0, desk.anchors.shape[0]
    for i in range(copies):
        charged += value(it.loss, desk.anchors, i, it.labels, t, d)
        slope(it.loss, desk.anchors, i, it.labels, t, d, desk.G)
        if len(gradient.noise) > 0:
            for j in range(d):
                desk.G[i, j] += gradient.noise[t, i, j]
    it.paid[t] = charged / copies


class Measured(NamedTuple):
    """Gradients that the world hands over, scaled by the curvature that they show (`gradients.Stochastic`)."""

    given: Given
    scale: Array
    """Rounds, and means of squared changes of anchors, of gradients times those changes, and of squared gradients; shape (4,)."""
    extent: Array
    """Shape (d,)."""


@implements(estimate, Measured)
def take_measured(gradient: Measured, t: int, d: int, it: Round, desk: Desk) -> None:
    """Take the gradients at the anchors, and scale them."""
    take(gradient.given, t, d, it, desk)
    rescale(gradient.scale, gradient.extent, desk.anchors, desk.G)


@called
def rescale(scale: Array, extent: Array, anchors: Array, G: Array) -> None:
    """Count a round in, and multiply its gradients by 2/h, in units of the extents.

    A gradient counts at most thirty times the usual one, or the mean of the others in its round. Where all are soon a millionth of
    the first, that was an outlier.
    """
    moved, bent, size, d = 0.0, 0.0, 0.0, anchors.shape[1]
    total, largest = 0.0, 0.0
    for i in range(anchors.shape[0]):
        for j in range(d):
            total += abs(G[i, j] * extent[j])
            largest = max(largest, abs(G[i, j] * extent[j]))
    others = (total - largest) / (anchors.shape[0] * d - 1) if anchors.shape[0] * d > 1 else 0.0
    usual = max(math.sqrt(scale[3]), others)
    most = OUTLYING * usual if scale[0] >= 3.0 and usual > 0.0 else math.inf
    for i in range(anchors.shape[0]):
        for j in range(d):
            G[i, j] = min(max(G[i, j], -most / extent[j]), most / extent[j])
            size += (G[i, j] * extent[j]) ** 2 / anchors.shape[0]
            if i > 0:
                step = anchors[i, j] - anchors[i - 1, j]
                moved += (step / extent[j]) ** 2
                bent += (G[i, j] - G[i - 1, j]) * step
    scale[0] = 1.0 if scale[0] <= EARLY and 0.0 < size < VANISHED * scale[3] else scale[0] + 1.0
    rate = 1.0 / min(scale[0], WINDOW)
    scale[1] += (moved - scale[1]) * rate
    scale[2] += (bent - scale[2]) * rate
    scale[3] += (size - scale[3]) * rate
    least = math.sqrt(scale[3])
    curvature = max(scale[2] / scale[1], least) if scale[1] > 0.0 else 4.0 * least  # small steps until anchors differ
    for i in range(anchors.shape[0]):
        for j in range(d):
            G[i, j] = 2.0 * G[i, j] * extent[j] ** 2 / curvature if curvature > 0.0 else 0.0


@loop
def measure(scale: Array, extent: Array, anchors: Array, G: Array) -> None:
    """Count a round in, and scale its gradients in place."""
    rescale(scale, extent, anchors, G)


@inlined
def one_point(factor: float, answer: float, v: float) -> float:
    """Return one coordinate of the sphere estimator, (d/δ) · answer · v."""
    return factor * answer * v


class OnePoint(NamedTuple):
    """One value for every copy, which counts as it is."""

    directions: Array
    """Shape (T, N, d)."""
    noise: Array
    """Shape (T, N, 1)."""
    delta: float
    factor: float
    """d/δ."""


@implements(estimate, OnePoint)
def estimate_one_point(gradient: OnePoint, t: int, d: int, it: Round, desk: Desk) -> None:
    """Estimate every copy's gradient from its one value."""
    charged, copies = 0.0, desk.anchors.shape[0]
    behind = (len(gradient.directions) - t - 1) * copies  # how many numbers may be read behind this round's own
    if d == 1 and behind >= MOST:
        estimate_abreast(gradient, t, it, desk)
        return
    for i in range(copies):
        if d == 1:  # without a row to write, several copies are worked out at once
            v = gradient.directions[t, i, 0]
            truth = value_on_the_line(it.loss, desk.anchors[i, 0] + gradient.delta * v, it.labels, t, desk.end)
        else:
            for j in range(d):
                desk.end[0, j] = desk.anchors[i, j] + gradient.delta * gradient.directions[t, i, j]
            truth = value(it.loss, desk.end, 0, it.labels, t, d)
        charged += truth
        answer = truth + gradient.noise[t, i, 0]
        for j in range(d):
            desk.G[i, j] = one_point(gradient.factor, answer, gradient.directions[t, i, j])
    it.paid[t] = charged / copies


@inlined
def estimate_abreast(gradient: OnePoint, t: int, it: Round, desk: Desk) -> None:
    """Do the same on the line, several copies at once."""
    charged, copies = 0.0, desk.anchors.shape[0]
    for c in range(0, copies, numbers(ABREAST)):
        v = load(ABREAST, gradient.directions, t * copies + c)
        store(desk.values, c, add_product(load(ABREAST, desk.anchors, c), spread(ABREAST, gradient.delta), v))
        values_abreast(it.loss, desk.values, c, min(c + numbers(ABREAST), copies), it.labels, t, desk.end)
        answer = add(load(ABREAST, desk.values, c), load(ABREAST, gradient.noise, t * copies + c))
        store(desk.G, c, times(times(spread(ABREAST, gradient.factor), answer), v))
    for i in range(copies):
        charged += desk.values[i, 0]
    it.paid[t] = charged / copies


@operation
def usual(control: Any, q: int, answers: Array) -> float:  # type: ignore[empty-body]
    """Return the control variate's value for direction q, given the round's answers, shape (D, sides)."""


@operation
def prepare(control: Any, t: int, d: int, sphere: Sphere, desk: Desk) -> None:
    """Work out what control variates a round's answers imply, before they are used."""


@operation
def add_slope(control: Any, q: int, i: int, d: int, share: float, weight: float, G: Array) -> None:
    """Add the control variate's slope for direction q to G[i]; a direction counts `share`, or `weight` where it was asked about."""


@operation
def remember(control: Any, t: int, asked: int, sphere: Sphere) -> None:
    """Note what later rounds compare with."""


class Sphere(NamedTuple):
    """Values at one or both sides of some directions, less a control variate. D = N·q directions."""

    directions: Array
    """Shape (T, D, d)."""
    pulls: Array
    """What answers are multiplied with: the directions, or their signs. Shape (T, D, d)."""
    noise: Array
    """Shape (T, D, sides)."""
    chosen: NDArray[np.bool_]
    """Which directions are asked about, shape (T, D)."""
    delta: float
    factor: float
    """d/δ over the sides."""
    weight: float
    """One over the probability of being asked about."""
    space: Any
    """The space on which queries are projected; `Anywhere` where they are not."""
    control: Any
    answers: Array
    """Scratch, shape (D, sides)."""
    points: Array
    """Scratch: the queries, those on the first sides, shape (D, d)."""


@inlined
def ask(t: int, d: int, gradient: Sphere, it: Round, desk: Desk) -> int:
    """Fill points and answers, and it.paid[t]; return how many directions were asked about."""
    asked, charged, sides = 0, 0.0, gradient.answers.shape[1]
    per_copy = gradient.points.shape[0] // desk.anchors.shape[0]
    for i in range(desk.anchors.shape[0]):
        for q in range(i * per_copy, (i + 1) * per_copy):
            for j in range(d):
                gradient.points[q, j] = desk.anchors[i, j] + gradient.delta * gradient.directions[t, q, j]
            if not gradient.chosen[t, q]:
                gradient.answers[q, 0] = 0.0
                continue
            project(gradient.space, gradient.points, q, d, gradient.points, q)
            asked += 1
            truth = value(it.loss, gradient.points, q, it.labels, t, d)
            charged += truth
            gradient.answers[q, 0] = truth + gradient.noise[t, q, 0]
            if sides == 2:
                for j in range(d):
                    desk.end[0, j] = 2.0 * desk.anchors[i, j] - gradient.points[q, j]
                truth = value(it.loss, desk.end, 0, it.labels, t, d)
                charged += truth
                gradient.answers[q, 1] = truth + gradient.noise[t, q, 1]
    it.paid[t] = charged / (asked * sides) if asked > 0 else it.losses[t]
    return asked


@implements(estimate, Sphere)
def estimate_on_sphere(gradient: Sphere, t: int, d: int, it: Round, desk: Desk) -> None:
    """Average (d/δ)(answer - c)v + s over the directions of each copy."""
    asked = ask(t, d, gradient, it, desk)
    prepare(gradient.control, t, d, gradient, desk)
    per_copy = gradient.points.shape[0] // desk.anchors.shape[0]
    share = 1.0 / per_copy
    for i in range(desk.anchors.shape[0]):
        for j in range(d):
            desk.G[i, j] = 0.0
        for q in range(i * per_copy, (i + 1) * per_copy):
            weight = share * gradient.weight if gradient.chosen[t, q] else 0.0
            surprise = gradient.answers[q, 0] - usual(gradient.control, q, gradient.answers)
            for j in range(d):
                desk.G[i, j] += one_point(weight * gradient.factor, surprise, gradient.pulls[t, q, j])
            add_slope(gradient.control, q, i, d, share, weight, desk.G)
    remember(gradient.control, t, asked, gradient)


class Nothing(NamedTuple):
    """No control variate: answers count as they are."""


@implements(usual, Nothing)
def usual_nothing(control: Nothing, q: int, answers: Array) -> float:
    """Return zero."""
    return 0.0


class RunningMean(NamedTuple):
    """The mean of earlier rounds' answers."""

    mean: Array
    """Rounds and mean, changed in place, shape (2,)."""
    window: float


@implements(usual, RunningMean)
def usual_mean(control: RunningMean, q: int, answers: Array) -> float:
    """Return the mean."""
    return control.mean[1]  # type: ignore[no-any-return]


@implements(remember, RunningMean)
def remember_mean(control: RunningMean, t: int, asked: int, sphere: Sphere) -> None:
    """Move the mean towards the round's; rounds without answers do not count."""
    if asked > 0:
        total = 0.0
        for q in range(sphere.chosen.shape[1]):
            if sphere.chosen[t, q]:
                total += sphere.answers[q, 0]
        control.mean[0] += 1.0
        control.mean[1] += (total / asked - control.mean[1]) / min(control.mean[0], control.window)


class LastAnswer(NamedTuple):
    """Each direction's own last answer."""

    last: Array
    """Changed in place, shape (D,)."""


@implements(usual, LastAnswer)
def usual_last(control: LastAnswer, q: int, answers: Array) -> float:
    """Return the last answer."""
    return control.last[q]  # type: ignore[no-any-return]


@implements(remember, LastAnswer)
def remember_last(control: LastAnswer, t: int, asked: int, sphere: Sphere) -> None:
    """Keep this round's answers."""
    for q in range(sphere.chosen.shape[1]):
        if sphere.chosen[t, q]:
            control.last[q] = sphere.answers[q, 0]


class OtherSide(NamedTuple):
    """The answer at the opposite side."""


@implements(usual, OtherSide)
def usual_other_side(control: OtherSide, q: int, answers: Array) -> float:
    """Return the second answer about the same direction."""
    return answers[q, 1]  # type: ignore[no-any-return]


def _nothing_to_prepare(control: Any, t: int, d: int, sphere: Sphere, desk: Desk) -> None:
    """Do nothing."""


def _no_slope(control: Any, q: int, i: int, d: int, share: float, weight: float, G: Array) -> None:
    """Do nothing: a constant has no slope."""


def _nothing_to_remember(control: Any, t: int, asked: int, sphere: Sphere) -> None:
    """Do nothing."""


for _form in (Nothing, RunningMean, LastAnswer, OtherSide):
    implements(prepare, _form)(_nothing_to_prepare)
    implements(add_slope, _form)(_no_slope)
for _form in (Nothing, OtherSide):
    implements(remember, _form)(_nothing_to_remember)
